"""What a selection amounts to, in plain words; every word and number is computed from it.

Which model is recommended is PVF's choice, ties being broken by what the other rules say
(`pvf.select.choose.recommended_model`). Whether any model should be used is
read off the test part, by which nothing was selected.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import pandas as pd

from pvf.select.choose import RULES, Selection

__all__ = ["Recommendation", "recommend"]

#: Cases in the validation part below which the report says that they are few.
FEW_CASES = 30


@dataclass(frozen=True)
class Recommendation:
    """A model, or none, and why.

    Attributes
    ----------
    model : str
        The candidate recommended, or that would be if any could be.
    usable : bool
        Whether it is better than chance on the test part, by its 95% interval.
    headline : str
        One sentence.
    reasons, caveats : tuple of str
        Sentences; caveats are in order of weight.
    """

    model: str
    usable: bool
    headline: str
    reasons: tuple[str, ...]
    caveats: tuple[str, ...]


def recommend(selection: Selection) -> Recommendation:
    """Turn a selection into a recommendation with its caveats.

    Parameters
    ----------
    selection : Selection
        From `pvf.select.choose.select`.

    Returns
    -------
    Recommendation
    """
    model, agreement = selection.recommended, _agreement(selection)
    usable = bool(selection.judged.loc["recommended", "low"] > 1)
    if usable:
        headline = f"Use '{model}': {agreement}."
    else:
        headline = (
            f"No model can be recommended on these data: '{model}' would be the choice "
            f"({agreement}), but it may be no better than drawing patients at random."
        )
    return Recommendation(
        model=model,
        usable=usable,
        headline=headline,
        reasons=tuple(_reasons(selection, model)),
        caveats=tuple(_caveats(selection, model)),
    )


_NAMES = {"traditional": "the traditional rule", "PVF": "PVF", "PMV": "PMV"}


def _backers(selection: Selection) -> list[str]:
    """Return the rules that hold the recommended model to be best."""
    return [rule for rule in RULES if selection.recommended in selection.tied[rule]]


def _agreement(selection: Selection) -> str:
    backers = _backers(selection)
    named = " and ".join(_NAMES[rule] for rule in backers)
    others = " and ".join(_NAMES[rule] for rule in RULES if rule not in backers)
    words = {
        1: "the three rules disagree, and this is PVF's choice",
        2: f"{named} hold it to be best, {others} does not",
        3: "the traditional rule, PVF and PMV all hold it to be best",
    }
    return words[len(backers)]


def _reasons(selection: Selection, model: str) -> Iterator[str]:
    row, gamma = selection.judged.loc["recommended"], selection.settings["capacity"]
    n_test = len(selection.parts.test)
    n_cases = int(selection.part("test")[1].sum())
    yield (
        f"On the {n_test} test patients, {n_cases} of them cases, room for {100 * gamma:g}% means "
        f"{gamma * n_test:.3g} interventions. By this model's advice they reach "
        f"{row['reached']:.2f} cases in expectation; drawn at random they would reach "
        f"{row['reached_by_chance']:.2f}. Intervention Efficiency is {row['IE']:.2f} "
        f"(95% interval {row['low']:.2f} to {row['high']:.2f}; 1 is chance)."
    )
    others = {r: m for r, m in selection.chosen.items() if m != model}
    for other, name in others.items():
        yield (
            f"{_NAMES[other][0].upper()}{_NAMES[other][1:]} selects '{name}', with an Intervention "
            f"Efficiency of {selection.judged.loc[other, 'IE']:.2f} on the same patients."
        )


def _caveats(selection: Selection, model: str) -> Iterator[str]:
    yield from _caveats_of_choice(selection)
    yield from _caveats_of_ties(selection, model)
    yield from _caveats_of_models(selection, model)
    yield from selection.data.cautions
    yield from _caveats_of_data(selection)


def _caveats_of_choice(selection: Selection) -> Iterator[str]:
    facts, n_models = selection.stability, len(selection.models)
    if len(_backers(selection)) < len(RULES):
        yield "The rules do not agree on one best model, so the choice depends on the rule."
    if facts["n_cases"] < FEW_CASES:
        yield (
            f"The validation part has {facts['n_cases']} cases among {facts['n_patients']} "
            f"patients, too few to rank {n_models} candidates by: one case more or less changes "
            f"Intervention Efficiency by {facts['step']:.2f}."
        )
    if facts["not_worse"]:
        yield (
            f"By the validation part, {facts['not_worse']} of the other {n_models - 1} candidates "
            "cannot be told from the traditional choice (95% bootstrap intervals); in "
            f"{100 * facts['best_again']:.0f}% of the resamples it is among the best again."
        )
    difference = selection.differences.loc["PVF − traditional"]
    if selection.chosen["PVF"] != selection.chosen["traditional"]:
        clear = difference["low"] > 0 or difference["high"] < 0
        yield (
            "On the test part PVF's choice less the traditional one is "
            f"{difference['difference']:+.2f} in Intervention Efficiency (95% interval "
            f"{difference['low']:+.2f} to {difference['high']:+.2f})"
            + (", a difference." if clear else ", which may be nothing.")
        )


def _caveats_of_ties(selection: Selection, model: str) -> Iterator[str]:
    for rule in RULES:
        n_tied = len(selection.tied[rule])
        if n_tied > 1:
            among = "is" if model in selection.tied[rule] else "is not"
            yield (
                f"{n_tied} of {len(selection.models)} candidates tie for the best under "
                f"{_NAMES[rule]}, whose choice is the first of them in the pool; '{model}' {among} "
                "among them."
            )
    choices = selection.sigmas["choice"]
    if not any(column.kind == "numeric" for column in selection.data.features):
        yield "No column is numeric, so the noise level σ has no effect."
    elif (choices != choices.iloc[0]).any():
        yield f"PVF's choice depends on the noise level ({_runs_of(choices)})."


def _runs_of(choices: pd.Series) -> str:
    """Say which choice holds from which σ to which."""
    run = (choices != choices.shift()).cumsum()
    spans = [
        (f"{part.index[0]:g}" + (f" to {part.index[-1]:g}" if len(part) > 1 else ""), part.iloc[0])
        for _, part in choices.groupby(run)
    ]
    return "; ".join(f"σ = {span}: {name}" for span, name in spans)


def _caveats_of_models(selection: Selection, model: str) -> Iterator[str]:
    summary = selection.multiplicity_summary
    if selection.multiplicity is None:
        yield (
            "Rashomon Capacity was not computed: it takes two or more good candidates that give "
            f"probabilities, and there are {summary['n_good']:.0f}."
        )
    elif summary["conflicting"] > 0:
        yield (
            f"For {100 * summary['conflicting']:.0f}% of the test patients the decision depends on "
            f"which of {summary['n_good']:.0f} about equally good models is taken; Rashomon "
            f"Capacity is {summary['mean_capacity']:.3f} on average and "
            f"{summary['largest_capacity']:.3f} at most, of 2."
        )
    flagged = selection.judged.loc["recommended", "flagged"]
    if flagged in (0, len(selection.parts.test)):
        whom = "everybody" if flagged else "nobody"
        yield f"The model flags {whom} in the test part, which is the same as drawing at random."
    if model.startswith(("logistic:", "tree:")):
        yield (
            "The built-in candidates weigh both outcomes the same, so their probabilities are not "
            "risks; use the flags."
        )


def _caveats_of_data(selection: Selection) -> Iterator[str]:
    left_out = [c for c in selection.data.columns if not c.is_feature and c.guessed]
    if left_out:
        listed = ", ".join(f"{column.name} ({column.kind})" for column in left_out)
        yield f"Left out by a guess at their kind: {listed}."
    yield (
        f"All this rests on one random split (seed {selection.settings['seed']}) of one data set; "
        "another seed shows how much that matters, and only other patients show whether the model "
        "holds elsewhere."
    )
