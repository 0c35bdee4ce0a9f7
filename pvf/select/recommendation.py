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
    model, n_splits = selection.recommended, len(selection.parts)
    times = selection.chosen_in(model)
    agreed = f"chosen in {times} of {n_splits} splits"
    if forbidding:
        return f"No model can be recommended before this is settled: {forbidding[0]}", False
    if not selection.judged.loc["by score", "low"] > 1:
        return (
            f"No model can be recommended on these data: '{model}' would be the choice ({agreed}), "
            "but what is chosen this way may be no better than drawing patients at random."
        ), False
    if times < n_splits / 2:
        return (
            f"No one model stands out: '{model}' has the best score over all splits ({agreed}), "
            "and other patients would have led to another choice."
        ), False
    if not selection.differences.loc["by score − simplest", "low"] > 0:
        return (
            f"'{model}' leads ({agreed}), but it is not shown to be better than "
            f"'{selection.simplest}' alone."
        ), False
    return f"Use '{model}': {agreed}.", True


def _reasons(selection: Selection) -> Iterator[str]:
    judged, settings = selection.judged, selection.settings
    row, label = judged.loc["by score"], judged.loc["by label"]
    yield (
        f"{settings['places']:.4g} places for {settings['per']:.4g} patients reach "
        f"{row['reached']:.2f} cases (95% interval {row['reached_low']:.2f} to "
        f"{row['reached_high']:.2f}) if they go to the highest scores; by label, with lots among "
        f"the flagged, {label['reached']:.2f} ({label['reached_low']:.2f} to "
        f"{label['reached_high']:.2f}); drawn at random {judged.loc['by chance', 'reached']:.2f}; "
        f"at best {judged.loc['best possible', 'reached']:.2f}."
    )
    yield (
        f"Intervention Efficiency by score is {row['IE']:.2f} (95% interval {row['low']:.2f} to "
        f"{row['high']:.2f}; 1 is chance): the mean over {len(selection.parts)} splits of what "
        f"{_NAMES[settings['rule']]} chose in each, on patients who had no part in that choice."
    )
    simple, gain = judged.loc["simplest"], selection.differences.loc["by score − simplest"]
    yield (
        f"'{selection.simplest}' alone reaches {simple['reached']:.2f} cases; "
        + _difference_in_words("the difference in Intervention Efficiency", gain)
    )
    yield _why_this_rule(selection)
    for rule, name in selection.chosen.items():
        if name != selection.recommended:
            said = _NAMES[rule][0].upper() + _NAMES[rule][1:]
            yield (
                f"{said} selects '{name}' (chosen in {selection.chosen_in(name, rule)} of "
                f"{len(selection.parts)} splits), worth {judged.loc[rule, 'IE']:.2f} by score."
            )


def _why_this_rule(selection: Selection) -> str:
    rule, line = selection.settings["rule"], selection.advice
    why = " over all splits" if rule == line.rule else ", as was asked for"
    return f"The recommendation follows {_NAMES[rule]}{why}. {line}"


def _difference_in_words(what: str, row: object) -> str:
    if row["same"]:  # type: ignore[index]
        return "both put the patients in the same order."
    low, high = row["low"], row["high"]  # type: ignore[index]
    clear = "" if low > 0 or high < 0 else ", which may be nothing"
    return (
        f"{what} is {row['difference']:+.2f} "  # type: ignore[index]
        f"(95% interval {low:+.2f} to {high:+.2f}){clear}."
    )


def _caveats(selection: Selection) -> Iterator[Caution]:
    looked_at = columns_looked_at(selection.models[selection.recommended], selection.data.X)
    for caution in selection.data.warnings:
        yield replace(caution, rank=0) if caution.column in looked_at else caution
    yield from _of_choice(selection)
    yield from _of_models(selection)
    left_out = [c for c in selection.data.columns if not c.is_feature and c.guessed]
    if left_out:
        listed = ", ".join(f"{column.name} ({column.kind})" for column in left_out)
        yield Caution(2, f"Left out by a guess at their kind: {listed}.")
    yield Caution(
        2, "Only patients of another time or place show whether the model holds elsewhere."
    )


def _of_choice(selection: Selection) -> Iterator[Caution]:
    model, data = selection.recommended, selection.data
    if selection.differences.loc["by score − simplest", "high"] < 0:
        yield Caution(
            1,
            f"'{selection.simplest}' alone reaches more cases than what is chosen: a model of that "
            "column is simpler, and better here.",
        )
    backers = [rule for rule in RULES if model in selection.tied[rule]]
    if len(backers) < len(RULES):
        others = " and ".join(_NAMES[rule] for rule in RULES if rule not in backers)
        verb = "selects" if len(RULES) - len(backers) == 1 else "select"
        yield Caution(1, f"The choice depends on the rule: {others} {verb} another model.")
    if data.n_cases < FEW_CASES:
        yield Caution(
            1,
            f"There are {data.n_cases} cases among {data.n_persons} patients, few for ranking "
            f"{len(selection.models)} candidates.",
        )
    choices = selection.sigmas["choice"]
    if not any(column.kind == "numeric" for column in data.features):
        yield Caution(2, "No column is numeric, so the noise level σ has no effect.")
    elif choices.nunique() > 1:
        listed = "; ".join(f"σ = {level:g}: {name}" for level, name in choices.items())
        weight = 1 if selection.settings["rule"] == "PVF" else 2
        yield Caution(weight, f"PVF's choice depends on the noise level ({listed}).")


def _of_models(selection: Selection) -> Iterator[Caution]:
    summary, model = selection.multiplicity_summary, selection.recommended
    for name, why in selection.left_out.items():
        yield Caution(1, f"Candidate {name!r} could not be fitted and was left out: {why}")
    if selection.multiplicity is None:
        yield Caution(
            2,
            "Rashomon Capacity was not computed: it takes two or more good candidates that give "
            f"probabilities, and there are {summary['n_good']:.0f}.",
        )
    elif summary["conflicting"] > 0:
        yield Caution(
            1,
            f"For {100 * summary['conflicting']:.0f}% of the patients the label depends on which "
            f"of {summary['n_good']:.0f} about equally good models is taken; Rashomon Capacity is "
            f"{summary['mean_capacity']:.3f} on average and {summary['largest_capacity']:.3f} at "
            "most, of 2.",
        )
    if model.startswith(("logistic:", "tree:")):
        yield Caution(
            2,
            "The built-in candidates weigh both outcomes the same, so their scores are no risks; "
            "give the places to the highest scores, and draw no lots among the flagged.",
        )
