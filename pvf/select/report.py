"""A report of a selection on a reader's own data: one HTML page, Markdown or JSON.

The same tables and figures are shown by the notebook `90_your_data`. A page holds its figures
inside and asks no other host for anything; every text from the data is escaped.
"""

from __future__ import annotations

import dataclasses
import json
import tomllib
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
from importlib.resources import files
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pandas as pd
from sklearn.tree import DecisionTreeClassifier, plot_tree

import pvf
from pvf import plotting, render
from pvf.model_card import ModelCard
from pvf.multiplicity import MultiplicityDisplay
from pvf.plotting import Figure
from pvf.select.choose import RULES, Selection
from pvf.select.columns import kinds_frame
from pvf.select.in_words import model_in_words, parts_of, terms_of
from pvf.select.read import OwnData
from pvf.validation import PerturbationValidationResult, tied_best

FORMATS = (".html", ".md", ".json")
#: The file in ``pvf/templates`` by which a report is written.
_TEMPLATE = "report.j2"
#: The file in ``pvf/templates`` that lists the items of guidelines.
_ITEMS = "reporting.toml"


# --- tables ---------------------------------------------------------------------------------------


def _for_people(table: pd.DataFrame, titles: Mapping[str, tuple[str, str]]) -> pd.DataFrame:
    """Return columns of a table as text, each under its title and in its format."""
    shown = {title: table[name].map(form.format) for title, (name, form) in titles.items()}
    return pd.DataFrame(shown, index=table.index)


def _intervals(table: pd.DataFrame, low: str = "low", high: str = "high") -> list[str]:
    return [f"{a:.2f} to {b:.2f}" for a, b in zip(table[low], table[high], strict=True)]


def columns_table(selection: Selection) -> pd.DataFrame:
    """Return what each column was taken for, and why."""
    return kinds_frame(selection.data.columns)


def parts_table(selection: Selection) -> pd.DataFrame:
    """Return patients and cases of each part of a split."""
    uses = {
        "train": "candidates are fitted, and imputation learns",
        "validation": "the rules select",
        "test": "what was selected is judged",
    }
    rows = []
    for name, use in uses.items():
        counts = [selection.data.count(getattr(parts, name)) for parts in selection.parts]
        n_persons, n_cases = np.mean(counts, axis=0)
        rows.append((name, f"{n_persons:.4g}", f"{n_cases:.3g}", use))
    columns = ["part", "patients", "cases", "used for"]
    return pd.DataFrame(rows, columns=columns).set_index("part")


def choices_table(selection: Selection) -> pd.DataFrame:
    """Return each rule's choice, its score over all splits, and in how many splits it is chosen."""
    rows = []
    for rule, name in selection.chosen.items():
        times = f"{selection.chosen_in(name, rule)} of {len(selection.parts)}"
        rows.append((rule, name, f"{selection.scores.loc[name, rule]:.3f}", times))
    columns = ["rule", "choice", "score", "chosen in"]
    return pd.DataFrame(rows, columns=columns).set_index("rule")


def leaders_table(selection: Selection, n_models: int = 10) -> pd.DataFrame:
    """Return the candidates that lead under PVF, with their scores and ranks under each rule."""
    scores = selection.scores
    ranks = scores.rank(ascending=False, method="min").astype(int)
    leading = scores.sort_values("PVF", ascending=False, kind="stable").index[:n_models]
    shown = {
        rule: [f"{scores.loc[m, rule]:.3f} ({ranks.loc[m, rule]})" for m in leading]
        for rule in RULES
    }
    return pd.DataFrame(shown, index=leading)


def judged_table(selection: Selection) -> pd.DataFrame:
    """Return what each way of filling the places reaches on the test parts, for people."""
    judged = selection.judged
    certain = np.isclose(judged["low"], judged["high"], rtol=1e-12)
    shown = _for_people(judged, {"cases reached": ("reached", "{:.2f}"), "IE": ("IE", "{:.2f}")})
    for place, title, ends in (
        (1, "95% interval", ("reached_low", "reached_high")),
        (3, "95% interval of IE", ("low", "high")),
    ):
        shown.insert(place, title, np.where(certain, "–", _intervals(judged, *ends)))
    return shown


def calibration_table(selection: Selection) -> pd.DataFrame:
    """Return mean score and share of cases by fifths of the score, for people."""
    table, two = selection.calibration, "{:.2f}"
    names = ("mean score", "share of cases")
    shown = _for_people(table, {"rows": ("rows", "{}")} | {name: (name, two) for name in names})
    return shown.assign(**{"95% interval": _intervals(table)})


def sigma_table(selection: Selection) -> pd.DataFrame:
    """Return PVF's choice at each noise level."""
    table = selection.sigmas.assign(ties=selection.sigmas["n_tied"] - 1)
    table["traditional"] = np.where(table["traditional"], "yes", "no")
    titles = {
        "choice": ("choice", "{}"),
        "score": ("score", "{:.3f}"),
        "ties with": ("ties", "{}"),
        "best by the traditional rule": ("traditional", "{}"),
    }
    return _for_people(table, titles).rename_axis("σ")


def differences_table(selection: Selection) -> pd.DataFrame:
    """Return paired differences in IE on the test parts, for people."""
    table = selection.differences
    shown = table[["difference", "low", "high"]].map("{:+.2f}".format)
    shown[table["same"]] = "the same order"
    return shown


def contested_table(selection: Selection, n_worst: int = 8) -> pd.DataFrame:
    """Return the test patients about whom good models disagree most, by line of the file."""
    columns = ["capacity", "lowest", "highest", "conflict_share"]
    table = pd.DataFrame(columns=columns, dtype=float)
    if selection.multiplicity is not None:
        table = selection.multiplicity[columns]
    titles = {
        "Rashomon Capacity": ("capacity", "{:.3f}"),
        "lowest score": ("lowest", "{:.2f}"),
        "highest score": ("highest", "{:.2f}"),
        "decide otherwise": ("conflict_share", "{:.0%}"),
    }
    worst = table.sort_values("capacity", ascending=False, kind="stable").head(n_worst)
    return _for_people(worst, titles)


def settings_table(selection: Selection) -> pd.DataFrame:
    """Return everything that reproduces the result."""
    listed = {
        name: ", ".join(f"{item:g}" for item in value) if isinstance(value, list) else str(value)
        for name, value in selection.settings.items()
    }
    packages = ("numpy", "pandas", "scikit-learn", "scipy")
    listed |= {
        "file": selection.data.name,
        "file's SHA-256": selection.data.sha256,
        "target": f"{selection.data.target} (a case: {selection.data.positive})",
        "versions": ", ".join([f"pvf {pvf.__version__}", *(f"{p} {version(p)}" for p in packages)]),
    }
    return pd.DataFrame({"value": listed}).rename_axis("setting")


def reporting_table(selection: Selection) -> pd.DataFrame:
    """Return what the selection can say to each item of TRIPOD+AI and PROBAST+AI, and what not."""
    data, said = selection.data, selection.recommendation
    gaps = [f"{column.name} {column.n_missing}" for column in data.features if column.n_missing]
    parts = parts_table(selection)
    by_person = f"By {data.group}: rows of one person stay on one side of a split."
    facts = {
        **selection.settings,
        "target": data.target,
        "positive": repr(data.positive),
        "places": f"{selection.settings['places']:.4g}",
        "per": f"{selection.settings['per']:.4g}",
        "file": data.name,
        "sha256": data.sha256,
        "notes": " ".join(data.notes),
        "features": ", ".join(f"{column.name} ({column.kind})" for column in data.features),
        "n_features": len(data.features),
        "persons": data.n_persons,
        "cases": data.n_cases,
        "missing": f"Missing: {', '.join(gaps) or 'nothing'}.",
        "n_splits": len(selection.parts),
        "n_models": len(selection.models),
        "clusters": by_person if data.group else "Every row counts as a person of its own.",
        "parts": ", ".join(
            f"{p} {r['patients']} ({r['cases']} cases)" for p, r in parts.iterrows()
        ),
        "pvf": pvf.__version__,
        "cut_off": said.model_in_words[-2],
        "model": " ".join(said.model_in_words),
        "reached": said.reasons[0],
        "headline": said.headline,
        "caveats": " ".join(said.caveats),
        "leaks": " ".join(text for text in data.cautions if "outcome" in text)
        or "No column tells the outcomes apart by itself.",
    }
    items = tomllib.loads((files("pvf") / "templates" / _ITEMS).read_text(encoding="utf-8"))
    rows = {item: [known.format_map(facts), people] for item, (known, people) in items.items()}
    columns = ["from the selection", "to be filled in by people"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("item")


#: The tables of a report; its template calls them by their names without the ending.
TABLES: tuple[Callable[[Selection], pd.DataFrame], ...] = (
    *(columns_table, parts_table, choices_table, leaders_table, sigma_table, judged_table),
    *(differences_table, calibration_table, contested_table, settings_table, reporting_table),
)


# --- figures --------------------------------------------------------------------------------------


def places_figure(selection: Selection) -> Figure:
    """Draw the cases that the places reach by score, label, one column, chance, and at best."""
    settings = selection.settings
    ways = {
        "by score": "by score",
        "by label": "by label, lots among the flagged",
        "simplest": f"by {plotting.label(selection.simplest)} alone",
        "by chance": "by chance",
        "best possible": "by knowing the outcome",
    }
    rows = selection.judged.loc[list(ways)]
    with plotting.style():
        axes = plotting.new_axes(figsize=(6.8, 2.6))
        place = np.arange(len(ways))[::-1]
        low, high = rows["reached"] - rows["reached_low"], rows["reached_high"] - rows["reached"]
        axes.errorbar(rows["reached"], place, xerr=[low, high], fmt="o", capsize=3)
        axes.set_yticks(place, list(ways.values()))
        plotting.as_written(axes.get_yticklabels())
        axes.set_xlim(left=0)
        axes.set_xlabel(
            f"cases reached by {settings['places']:.4g} places for {settings['per']:.4g} patients"
        )
    listed = "; ".join(f"{ways[way]} {row['reached']:.2f}" for way, row in rows.iterrows())
    return Figure(
        _closed(axes),
        "Cases that the places reach, on patients who had no part in the choice, with 95% "
        "intervals.",
        f"Dots with bars: {listed}.",
    )


def model_figure(selection: Selection) -> Figure | None:
    """Draw the recommended model where it is a tree; other models are told in words."""
    model = selection.models[selection.recommended]
    encoder, tree = parts_of(model)
    if encoder is None or not isinstance(tree, DecisionTreeClassifier):
        return None
    size = 1.6 + 1.1 * tree.get_n_leaves(), 1.4 + 1.3 * tree.get_depth()
    names = [plotting.label(term) for term in terms_of(encoder)]
    with plotting.style():
        axes = plotting.new_axes(figsize=size)
        plot_tree(
            tree,
            feature_names=names,
            class_names=["do not flag", "flag"],
            impurity=False,
            proportion=True,
            filled=True,
            fontsize=7,
            ax=axes,
        )
        plotting.as_written(axes.texts)
    return Figure(
        _closed(axes),
        "The recommended tree; to the left where the condition holds. Shares are of the rows, then "
        "of the two outcomes, which weigh the same.",
        "A tree: " + " ".join(model_in_words(model)[:-1]),
    )


def scores_figure(selection: Selection) -> Figure:
    """Draw the scores of the leading candidates on the perturbed validation sets."""
    best = selection.validation
    with plotting.style():
        axes = best.plot(n_models=12)
        axes.set_xlabel("Intervention Efficiency on the perturbed validation sets")
    return Figure(
        _closed(axes),
        "Scores of the leading candidates on the perturbed validation sets: box, middle half; "
        "whiskers, extremes; diamond, aggregated score; cross, unperturbed score.",
        f"Box plots of {min(12, len(best.names))} candidates. PVF selects {best.best_name}, with "
        f"an aggregated score of {best.aggregated[best.best_index]:.2f}, as "
        f"{render.counted(len(best.tied) - 1, 'other')} have.",
    )


def multiplicity_figure(selection: Selection) -> Figure:
    """Draw the distribution of Rashomon Capacity over test patients, or say why there is none."""
    table, facts = selection.multiplicity, selection.multiplicity_summary
    if table is None:
        axes = plotting.new_axes(figsize=(6.8, 1.2))
        axes.set_axis_off()
        why = "Not computed: it takes two or more good candidates that give probabilities."
        axes.text(0, 0.5, why)
        return Figure(_closed(axes), "Rashomon Capacity of the patients.", why)
    axes = MultiplicityDisplay(table["capacity"].to_numpy()).plot(kind="distribution").ax_
    return Figure(
        _closed(axes),
        f"Rashomon Capacity of {facts['n_good']:.0f} good candidates for the patients: the "
        "share of patients with at most this many effective classes, 1 to 2.",
        f"Cumulative distribution of Rashomon Capacity over {len(table)} patients; mean "
        f"{facts['mean_capacity']:.3f}, largest {facts['largest_capacity']:.3f}.",
    )


def _closed(axes: Any) -> Any:
    """Return the figure, which a notebook would show twice if it stayed open."""
    import matplotlib.pyplot as plt  # noqa: PLC0415  loaded when something is drawn

    plt.close(axes.figure)
    return axes.figure


# --- the report -----------------------------------------------------------------------------------


def summary(selection: Selection) -> dict[str, Any]:
    """Return the result as plain values, for JSON.

    Parameters
    ----------
    selection : Selection

    Returns
    -------
    dict
        ``recommendation``, ``choices``, ``tied``, ``judged``, ``differences``, ``sigmas``,
        ``chosen_in``, ``calibration``, ``left_out``, ``multiplicity``, ``columns``, ``parts``,
        ``data``, ``settings``.
    """
    data = selection.data
    return {
        "recommendation": dataclasses.asdict(selection.recommendation),
        "choices": selection.chosen,
        "tied": selection.tied,
        "judged": _plain(selection.judged, "index"),
        "differences": _plain(selection.differences, "index"),
        "sigmas": _plain(selection.sigmas.reset_index()),
        "chosen_in": {
            rule: {str(name): int(n) for name, n in selection.choices[rule].value_counts().items()}
            for rule in RULES
        },
        "calibration": _plain(selection.calibration),
        "left_out": selection.left_out,
        "multiplicity": selection.multiplicity_summary,
        "columns": _plain(columns_table(selection).reset_index()),
        "parts": _plain(parts_table(selection), "index"),
        "data": {"file": data.name, "sha256": data.sha256, "target": data.target}
        | {"positive": data.positive, "notes": list(data.notes), "persons": data.n_persons}
        | {"cases": data.n_cases, "group": data.group},
        "settings": {**selection.settings, "pvf": pvf.__version__},
    }


def _plain(table: pd.DataFrame, orient: Literal["records", "index"] = "records") -> Any:
    return json.loads(table.to_json(orient=orient))


def notes_text(data: OwnData) -> str:
    """Return what was done on reading, as Markdown."""
    return render.as_markdown("notes.j2", {"notes": data.notes})


def recommendation_text(selection: Selection) -> str:
    """Return the recommendation, its reasons and caveats as Markdown without headings."""
    said = selection.recommendation
    facts = dataclasses.asdict(said) | {"caveats": said.ranked_caveats}
    return render.as_markdown("recommendation.j2", facts)


def as_json(selection: Selection) -> str:
    """Return `summary` as JSON text; what has no value is null."""
    return json.dumps(summary(selection), indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def as_html(selection: Selection) -> str:
    """Return the report as one HTML page that needs no other file and no network."""
    return render.as_page(_TEMPLATE, _page(selection))


def as_markdown(selection: Selection) -> str:
    """Return the report as Markdown, its figures inside as data URIs."""
    return render.as_markdown(_TEMPLATE, _page(selection))


def write_report(selection: Selection, path: str | Path) -> Path:
    """Write the report in one step; the ending of the file's name says as what.

    Parameters
    ----------
    selection : Selection
    path : path-like
        Ends in ``.html``, ``.md`` or ``.json``; its folder must exist.

    Returns
    -------
    Path

    Raises
    ------
    ValueError
        If the ending is another.
    OSError
        If the file cannot be written; one of that name stays as it was.
    """
    as_text = dict(zip(FORMATS, (as_html, as_markdown, as_json), strict=True))
    return render.save(path, {end: partial(write, selection) for end, write in as_text.items()})


def _page(selection: Selection) -> dict[str, Any]:
    """Return what the report shows; its words and their order are the template's."""
    data = selection.data
    return {
        "title": f"Which model for {data.target}?",
        "recommendation": dataclasses.asdict(selection.recommendation),
        "ranked_caveats": selection.recommendation.ranked_caveats,
        "data": {
            "patients": data.n_persons,
            "cases": data.n_cases,
            "name": data.name,
            "target": data.target,
            "positive": data.positive,
            "notes": data.notes,
        },
        "tables": {make.__name__.removesuffix("_table"): make(selection) for make in TABLES},
        "figures": {
            "model": drawn.facts() if (drawn := model_figure(selection)) else None,
            "scores": scores_figure(selection).facts(),
            "places": places_figure(selection).facts(),
            "multiplicity": multiplicity_figure(selection).facts(),
        },
        "card": card(selection).page["card"],
    }


def card(selection: Selection) -> ModelCard:
    """Return the model card of the recommended model.

    Parameters
    ----------
    selection : Selection

    Returns
    -------
    ModelCard
        Of PVF's result over all splits, the recommended model being the first of those that
        tie; its numbers are those of the selection.
    """
    settings, judged = selection.settings, selection.judged
    row = judged.loc["by score"]
    return pvf.model_card(
        _recommended_first(selection),
        capacity=settings["capacity"],
        metric="Intervention Efficiency",
        external={
            "Intervention Efficiency by score, on patients without a part in the choice": (
                f"{row['IE']:.2f} (95% interval {row['low']:.2f} to {row['high']:.2f})"
            )
        },
        title=f"Model card: {selection.recommended}",
        data_name=f"{selection.data.name}, outcome {selection.data.target}",
        data={
            "Patients": selection.data.n_persons,
            "Cases": selection.data.n_cases,
            "Chosen in": f"{selection.chosen_in(selection.recommended)} of "
            f"{len(selection.parts)} splits",
            "Rule advised for such a pool": selection.advice.advised,
        },
        unit="patients",
        limits=selection.recommendation.caveats,
        random_state=settings["seed"],
    )


def _recommended_first(selection: Selection) -> PerturbationValidationResult:
    """Return PVF's result with the recommended model in front, so that it wins its ties."""
    result = selection.validation
    first = result.names.index(selection.recommended)
    order = [first, *(place for place in range(len(result.names)) if place != first)]
    aggregated = result.aggregated[order]
    return dataclasses.replace(
        result,
        scores=None if result.scores is None else result.scores[order],
        aggregated=aggregated,
        unperturbed=result.unperturbed[order],
        models=tuple(result.models[place] for place in order),
        names=tuple(result.names[place] for place in order),
        tied=tied_best(aggregated),
        best_index=0,
    )
