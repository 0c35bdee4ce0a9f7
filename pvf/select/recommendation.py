"""What a selection amounts to, in plain words; every word and number is computed from it.

Whether a model should be used is read off the test parts, on which nobody judges a choice that he
or she had a part in, and off how often the splits agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pvf.select.in_words import cut_off, model_in_words, worked_person
from pvf.select.read import Caution
from pvf.select.sentences import paragraphs, sentence
from pvf.select.settings import RULES

if TYPE_CHECKING:
    from pvf.select.choose import Selection

#: Cases below which the report says that they are few: Collins, Ogundimu and Altman (2016).
FEW_CASES = 100
_NAMES = {"traditional": "the traditional rule", "PVF": "PVF", "PMV": "PMV"}


@dataclass(frozen=True)
class Recommendation:
    """A model, or none, and why.

    Attributes
    ----------
    model : str
        The candidate recommended, or that would be if any could be.
    usable : bool
        Whether the headline says "Use".
    headline : str
        One sentence.
    reasons, model_in_words, caveats : tuple of str
        Sentences; caveats are in order of weight.
    weights : tuple of str
        For each caveat "forbids", "weakens" or "informs".
    """

    model: str
    usable: bool
    headline: str
    reasons: tuple[str, ...]
    model_in_words: tuple[str, ...]
    caveats: tuple[str, ...]
    weights: tuple[str, ...]

    @property
    def ranked_caveats(self) -> list[str]:
        """The caveats, each with its weight before it."""
        return [f"{w}: {c}" for w, c in zip(self.weights, self.caveats, strict=True)]


def recommend(selection: Selection) -> Recommendation:
    """Turn a selection into a recommendation with its caveats.

    Parameters
    ----------
    selection : Selection
        From `pvf.select.choose.select`.

    Returns
    -------
    Recommendation
        "Use" only where no caution forbids it, the intervals of the difference to chance and to
        the column that is best alone are above zero, and half of the splits choose the model. A
        caution of a column that the model looks at, and that may not be known in time, forbids it.
    """
    model, X = selection.models[selection.recommended], selection.data.X
    cautions = sorted(_caveats(selection), key=lambda caution: caution.rank)
    headline, usable = _headline(selection, [c.text for c in cautions if c.rank == 0])
    last_place = cut_off(model, X, selection.settings["capacity"])
    someone = worked_person(model, X, selection.data.columns)
    return Recommendation(
        model=selection.recommended,
        usable=usable,
        headline=headline,
        reasons=tuple(paragraphs("reasons", it=selection, names=_NAMES)),
        model_in_words=(*model_in_words(model), last_place, someone),
        caveats=tuple(caution.text for caution in cautions),
        weights=tuple(caution.weight for caution in cautions),
    )


def _headline(selection: Selection, forbidding: list[str]) -> tuple[str, bool]:
    """Return the first of the sentences that holds, and whether it is "Use"."""
    times = selection.chosen_in(selection.recommended)
    holds = {
        "settle_first": bool(forbidding),
        "chance": not selection.judged.loc["by score", "low"] > 1,
        "no_one_model": times < len(selection.parts) / 2,
        "no_better_than_one": not selection.differences.loc["by score − simplest", "low"] > 0,
        "use": True,
    }
    name = next(name for name, it_holds in holds.items() if it_holds)
    facts = {"times": times, "caution": "".join(forbidding[:1])}
    return sentence(name, it=selection, **facts), name == "use"


def _caveats(selection: Selection) -> Iterator[Caution]:
    """Yield the cautions of the data, then those sentences of the table below that hold."""
    for caution in selection.data.warnings:
        yield replace(caution, rank=0) if caution.column in selection.looked_at else caution
    data, rule, model = selection.data, selection.settings["rule"], selection.recommended
    others = [_NAMES[name] for name in RULES if model not in selection.tied[name]]
    noise = any(column.kind == "numeric" for column in data.features)
    differ = noise and selection.sigmas["choice"].nunique() > 1
    guessed = [column for column in data.columns if not column.is_feature and column.guessed]
    holds = {
        "better_alone": (1, selection.differences.loc["by score − simplest", "high"] < 0),
        "depends_on_rule": (1, others),
        "few": (1, data.n_cases < FEW_CASES),
        "no_noise": (2, not noise),
        "depends_on_noise": (1 if rule == "PVF" else 2, differ),
        "not_fitted": (1, selection.left_out),
        "no_capacity": (2, selection.multiplicity is None),
        "conflicting": (1, selection.multiplicity_summary.get("conflicting", 0) > 0),
        "no_risks": (2, model.startswith(("logistic:", "tree:"))),
        "left_out": (2, guessed),
        "known_in_time": (2, True),
        "elsewhere": (2, True),
    }
    for name, (rank, it_holds) in holds.items():
        if it_holds:
            for text in paragraphs(name, it=selection, others=others, columns=guessed):
                yield Caution(rank, text)
