"""What a selection amounts to, in plain words; every word and number is computed from it.

Whether a model should be used is read off the test parts, on which nobody judges a choice that he
or she had a part in, and off how often the splits agree.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from pvf.select.in_words import columns_looked_at, cut_off, model_in_words, worked_person
from pvf.select.read import Caution
from pvf.select.sentences import sentence
from pvf.select.splits import RULES

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
    model = selection.recommended
    cautions = sorted(_caveats(selection), key=lambda caution: caution.rank)
    headline, usable = _headline(selection, [c.text for c in cautions if c.rank == 0])
    fitted = selection.models[model]
    return Recommendation(
        model=model,
        usable=usable,
        headline=headline,
        reasons=tuple(_reasons(selection)),
        model_in_words=(
            *model_in_words(fitted),
            cut_off(fitted, selection.data.X, selection.settings["capacity"]),
            worked_person(fitted, selection.data.X, selection.data.columns),
        ),
        caveats=tuple(caution.text for caution in cautions),
        weights=tuple(caution.weight for caution in cautions),
    )


def _headline(selection: Selection, forbidding: list[str]) -> tuple[str, bool]:
    facts = {"model": selection.recommended, "n": len(selection.parts)}
    facts["times"] = times = selection.chosen_in(selection.recommended)
    if forbidding:
        return sentence("settle_first", caution=forbidding[0]), False
    if not selection.judged.loc["by score", "low"] > 1:
        return sentence("chance", **facts), False
    if times < len(selection.parts) / 2:
        return sentence("no_one_model", **facts), False
    if not selection.differences.loc["by score − simplest", "low"] > 0:
        return sentence("no_better_than_one", **facts, simplest=selection.simplest), False
    return sentence("use", **facts), True


def _reasons(selection: Selection) -> Iterator[str]:
    way, settings, n_splits = selection.judged.T, selection.settings, len(selection.parts)
    rule, gain = settings["rule"], selection.differences.loc["by score − simplest"]
    ends = {"at_random": way["by chance"], "at_best": way["best possible"]}
    yield sentence("places", settings=settings, row=way["by score"], label=way["by label"], **ends)
    yield sentence("efficiency", row=way["by score"], n_splits=n_splits, rule=_NAMES[rule])
    yield sentence("one_column", simplest=selection.simplest, row=way["simplest"], gain=gain)
    advised = rule == selection.advice.rule
    yield sentence("rule_followed", rule=_NAMES[rule], advised=advised, advice=selection.advice)
    for other, name in selection.chosen.items():
        if name != selection.recommended:
            facts = {"times": selection.chosen_in(name, other), "n": n_splits, "row": way[other]}
            yield sentence("other_choice", rule=_NAMES[other], model=name, **facts)


def _caveats(selection: Selection) -> Iterator[Caution]:
    looked_at = columns_looked_at(selection.models[selection.recommended], selection.data.X)
    for caution in selection.data.warnings:
        yield replace(caution, rank=0) if caution.column in looked_at else caution
    yield from _of_choice(selection)
    yield from _of_models(selection)
    left_out = [c for c in selection.data.columns if not c.is_feature and c.guessed]
    if left_out:
        yield Caution(2, sentence("left_out", columns=left_out))
    yield Caution(2, sentence("elsewhere"))


def _of_choice(selection: Selection) -> Iterator[Caution]:
    model, data = selection.recommended, selection.data
    if selection.differences.loc["by score − simplest", "high"] < 0:
        yield Caution(1, sentence("better_alone", simplest=selection.simplest))
    others = [_NAMES[rule] for rule in RULES if model not in selection.tied[rule]]
    if others:
        yield Caution(1, sentence("depends_on_rule", others=others))
    if data.n_cases < FEW_CASES:
        counts = {"n_cases": data.n_cases, "n_persons": data.n_persons}
        yield Caution(1, sentence("few", **counts, n_models=len(selection.models)))
    choices = selection.sigmas["choice"]
    if not any(column.kind == "numeric" for column in data.features):
        yield Caution(2, "No column is numeric, so the noise level σ has no effect.")
    elif choices.nunique() > 1:
        weight = 1 if selection.settings["rule"] == "PVF" else 2
        yield Caution(weight, sentence("depends_on_noise", choices=choices))


def _of_models(selection: Selection) -> Iterator[Caution]:
    summary, model = selection.multiplicity_summary, selection.recommended
    for name, why in selection.left_out.items():
        yield Caution(1, sentence("not_fitted", name=name, why=why))
    if selection.multiplicity is None:
        yield Caution(2, sentence("no_capacity", n_good=summary["n_good"]))
    elif summary["conflicting"] > 0:
        yield Caution(1, sentence("conflicting", it=summary))
    if model.startswith(("logistic:", "tree:")):
        yield Caution(2, sentence("no_risks"))
