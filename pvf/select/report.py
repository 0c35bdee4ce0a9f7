"""A report of a selection on a reader's own data: one HTML page, Markdown or JSON.

The notebook `90_your_data` shows the same tables and figures, but for a drawn tree. A page holds
its figures inside and asks no other host for anything; every text from the data is escaped.
"""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable, Mapping
from functools import partial
from importlib.metadata import version
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
from pvf.render import environment
from pvf.select.candidates import model_in_words, parts_of, terms_of
from pvf.select.choose import RULES, Selection
from pvf.select.columns import kinds_frame
from pvf.select.read import OwnData
from pvf.select.sentences import sentence, texts
from pvf.validation import PerturbationValidationResult, tied_best

# --- tables ---------------------------------------------------------------------------------------


def _written(name: str, rows: Mapping[Any, Any], index: str) -> pd.DataFrame:
    """Return rows as text, by the titles and cells that ``tables.toml`` has for a table."""
    cells = texts("tables.toml")[name]
    made = {title: environment("markdown").from_string(cell) for title, cell in cells.items()}
    shown = [{title: cell.render(row=row) for title, cell in made.items()} for row in rows.values()]
    return pd.DataFrame(shown, columns=list(cells), index=pd.Index(list(rows), name=index))


def columns_table(selection: Selection) -> pd.DataFrame:
    """Return what each column was taken for, and why."""
    return kinds_frame(selection.data.columns)


def parts_table(selection: Selection) -> pd.DataFrame:
    """Return patients and cases of each part of a split."""
    rows = {}
    for name in ("train", "validation", "test"):
        counts = [selection.data.count(getattr(parts, name)) for parts in selection.parts]
        rows[name] = {"part": name, "mean": np.mean(counts, axis=0)}
    return _written("parts", rows, "part")


def choices_table(selection: Selection) -> pd.DataFrame:
    """Return each rule's choice, its score over all splits, and in how many splits it is chosen."""
    rows = {
        rule: {
            "choice": name,
            "score": selection.scores.loc[name, rule],
            "times": selection.chosen_in(name, rule),
            "n": len(selection.parts),
        }
        for rule, name in selection.chosen.items()
    }
    return _written("choices", rows, "rule")


def leaders_table(selection: Selection, n_models: int = 10) -> pd.DataFrame:
    """Return the candidates that lead under PVF, with their scores and ranks under each rule."""
    scores = selection.scores.sort_values("PVF", ascending=False, kind="stable")
    ranks = scores.rank(ascending=False, method="min")
    shown = scores.map("{:.3f}".format) + ranks.map(" ({:.0f})".format)
    return shown.head(n_models)


def judged_table(selection: Selection) -> pd.DataFrame:
    """Return what each way of filling the places reaches on the test parts, for people."""
    judged = selection.judged
    certain = np.isclose(judged["low"], judged["high"], rtol=1e-12)
    return _written("judged", judged.assign(certain=certain).to_dict("index"), "way")


def calibration_table(selection: Selection) -> pd.DataFrame:
    """Return mean score and share of cases by fifths of the score, for people."""
    return _written("calibration", selection.calibration.to_dict("index"), "fifth")


def sigma_table(selection: Selection) -> pd.DataFrame:
    """Return PVF's choice at each noise level."""
    return _written("sigma", selection.sigmas.to_dict("index"), "σ")


def differences_table(selection: Selection) -> pd.DataFrame:
    """Return paired differences in IE on the test parts, for people."""
    return _written("differences", selection.differences.to_dict("index"), "pair")


def contested_table(selection: Selection, n_worst: int = 8) -> pd.DataFrame:
    """Return the test patients about whom good models disagree most, by line of the file."""
    table = selection.multiplicity
    if table is None:
        return _written("contested", {}, "line")
    worst = table.sort_values("capacity", ascending=False, kind="stable").head(n_worst)
    return _written("contested", worst.to_dict("index"), "line")


def settings_table(selection: Selection) -> pd.DataFrame:
    """Return everything that reproduces the result."""
    listed = {
        name: ", ".join(f"{item:g}" for item in value) if isinstance(value, list) else str(value)
        for name, value in selection.settings.items()
    }
    versions = {name: version(name) for name in ("numpy", "pandas", "scikit-learn", "scipy")}
    facts = {"data": selection.data, "versions": {"pvf": pvf.__version__} | versions}
    made = _written("settings", {"value": facts}, "setting").T
    return pd.concat([pd.DataFrame({"value": listed}), made]).rename_axis("setting")


def reporting_table(selection: Selection) -> pd.DataFrame:
    """Return what the selection can say to each item of TRIPOD+AI and PROBAST+AI, and what not."""
    facts = {"it": selection, "data": selection.data, "said": selection.recommendation}
    parts = parts_table(selection).to_dict("index")
    facts |= {"parts": parts, "pvf": pvf.__version__, "repr": repr}
    made = environment("markdown").from_string
    rows = {
        item: [made(known).render(facts), people]
        for item, (known, people) in texts("reporting.toml").items()
    }
    columns = ["from the selection", "to be filled in by people"]
    return pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("item")


#: The tables of a report; its template calls them by their names without the ending.
TABLES: tuple[Callable[[Selection], pd.DataFrame], ...] = (
    columns_table,
    parts_table,
    choices_table,
    leaders_table,
    sigma_table,
    judged_table,
    differences_table,
    calibration_table,
    contested_table,
    settings_table,
    reporting_table,
)


# --- figures --------------------------------------------------------------------------------------


def places_figure(selection: Selection) -> Figure:
    """Draw the cases that the places reach by score, label, one column, chance, and at best."""
    simplest = plotting.label(selection.simplest)
    said = texts("tables.toml")["ways"]
    ways = {way: text.format(simplest=simplest) for way, text in said.items()}
    rows = selection.judged.loc[list(ways)]
    with plotting.style():
        axes = plotting.new_axes(figsize=(6.8, 2.6))
        place = np.arange(len(ways))[::-1]
        low, high = rows["reached"] - rows["reached_low"], rows["reached_high"] - rows["reached"]
        axes.errorbar(rows["reached"], place, xerr=[low, high], fmt="o", capsize=3)
        axes.set_yticks(place, list(ways.values()))
        plotting.as_written(axes.get_yticklabels())
        axes.set_xlim(left=0)
        axes.set_xlabel(sentence("places_axis", settings=selection.settings))
    return _figure(axes, "places", reached=dict(zip(ways.values(), rows["reached"], strict=True)))


def model_figure(selection: Selection) -> Figure | None:
    """Draw the recommended model where it is a tree; other models are told in words."""
    model = selection.models[selection.recommended]
    encoder, tree = parts_of(model)
    if encoder is None or not isinstance(tree, DecisionTreeClassifier):
        return None
    size = 1.6 + 1.1 * tree.get_n_leaves(), 1.4 + 1.3 * tree.get_depth()
    names = [plotting.label(term) for term, _ in terms_of(encoder)]
    shown: dict[str, Any] = {"class_names": ["do not flag", "flag"], "filled": True, "fontsize": 7}
    with plotting.style():
        axes = plotting.new_axes(figsize=size)
        plot_tree(tree, feature_names=names, impurity=False, proportion=True, ax=axes, **shown)
        plotting.as_written(axes.texts)
    return _figure(axes, "model", words=model_in_words(model)[:-1])


def calibration_figure(selection: Selection) -> Figure:
    """Draw the share of cases over the mean score, by fifths of the score on the test parts."""
    rows = selection.calibration
    score, share = rows["mean score"], rows["share of cases"]
    may_be_risk = bool(score.between(0, 1).all())
    with plotting.style():
        axes = plotting.new_axes(figsize=(4.6, 3.4))
        if may_be_risk:
            axes.plot([0, 1], [0, 1], color="0.5", linestyle="--")
        ends = [share - rows["low"], rows["high"] - share]
        axes.errorbar(score, share, yerr=ends, fmt="o-", capsize=3)
        axes.set(xlabel="mean score of a fifth of the patients", ylabel="share of cases among them")
    return _figure(axes, "calibration", shares=share, may_be_risk=may_be_risk)


def scores_figure(selection: Selection) -> Figure:
    """Draw the scores of the leading candidates on the perturbed validation sets."""
    with plotting.style():
        axes = selection.validation.plot(n_models=12)
        axes.set_xlabel("Intervention Efficiency on the perturbed validation sets")
    return _figure(axes, "scores", best=selection.validation)


def multiplicity_figure(selection: Selection) -> Figure:
    """Draw the distribution of Rashomon Capacity over test patients, or say why there is none."""
    table, facts = selection.multiplicity, selection.multiplicity_summary
    if table is None:
        axes = plotting.new_axes(figsize=(6.8, 1.2))
        axes.set_axis_off()
        axes.text(0, 0.5, sentence("multiplicity_alt", n_patients=0, it=facts))
    else:
        axes = MultiplicityDisplay(table["capacity"].to_numpy()).plot(kind="distribution").ax_
    return _figure(axes, "multiplicity", n_patients=0 if table is None else len(table), it=facts)


def _figure(axes: Any, name: str, **facts: Any) -> Figure:
    """Return a figure with its words, closed: a notebook would show an open one twice."""
    import matplotlib.pyplot as plt  # noqa: PLC0415  loaded when something is drawn

    plt.close(axes.figure)
    words = [sentence(f"{name}_{what}", **facts) for what in ("caption", "alt")]
    return Figure(axes.figure, *words)


#: The figures of a report; its template calls them by their names without the ending.
FIGURES = (places_figure, model_figure, calibration_figure, scores_figure, multiplicity_figure)


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
    data, choices = selection.data, selection.choices
    facts = ("sha256", "target", "positive", "notes", "n_persons", "n_cases", "group")
    return {
        "recommendation": dataclasses.asdict(selection.recommendation),
        "choices": selection.chosen,
        "tied": selection.tied,
        "judged": _plain(selection.judged, "index"),
        "differences": _plain(selection.differences, "index"),
        "sigmas": _plain(selection.sigmas.reset_index()),
        "chosen_in": {rule: choices[rule].value_counts().to_dict() for rule in RULES},
        "calibration": _plain(selection.calibration),
        "left_out": selection.left_out,
        "multiplicity": selection.multiplicity_summary,
        "columns": _plain(columns_table(selection).reset_index()),
        "parts": _plain(parts_table(selection), "index"),
        "data": {"file": data.name}
        | {name.removeprefix("n_"): getattr(data, name) for name in facts},
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
    return render.as_page("report.j2", _page(selection))


def as_markdown(selection: Selection) -> str:
    """Return the report as Markdown, its figures inside as data URIs."""
    return render.as_markdown("report.j2", _page(selection))


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
    writers = {".html": as_html, ".md": as_markdown, ".json": as_json}
    return render.save(path, {end: partial(write, selection) for end, write in writers.items()})


def _page(selection: Selection) -> dict[str, Any]:
    """Return what the report shows; its words and their order are the template's."""
    data, drawn = selection.data, {make.__name__: make(selection) for make in FIGURES}
    facts = ("n_persons", "n_cases", "name", "target", "positive", "notes")
    return {
        "title": f"Which model for {data.target}?",
        "recommendation": dataclasses.asdict(selection.recommendation),
        "ranked_caveats": selection.recommendation.ranked_caveats,
        "data": {name: getattr(data, name) for name in facts},
        "tables": {make.__name__.removesuffix("_table"): make(selection) for make in TABLES},
        "figures": {
            name.removesuffix("_figure"): figure and figure.facts()
            for name, figure in drawn.items()
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
    data, row = selection.data, selection.judged.loc["by score"]
    chosen_in = f"{selection.chosen_in(selection.recommended)} of {len(selection.parts)} splits"
    worth = f"{row['IE']:.2f} (95% interval {row['low']:.2f} to {row['high']:.2f})"
    where = "Intervention Efficiency by score, on patients without a part in the choice"
    return pvf.model_card(
        _recommended_first(selection),
        capacity=selection.settings["capacity"],
        metric="Intervention Efficiency",
        external={where: worth},
        title=f"Model card: {selection.recommended}",
        data_name=f"{data.name}, outcome {data.target}",
        data={"Patients": data.n_persons, "Cases": data.n_cases, "Chosen in": chosen_in}
        | {"Rule advised for such a pool": selection.advice.advised},
        unit="patients",
        limits=selection.recommendation.caveats,
        random_state=selection.settings["seed"],
    )


def _recommended_first(selection: Selection) -> PerturbationValidationResult:
    """Return PVF's result with the recommended model in front, so that it wins its ties."""
    result = selection.validation
    first = result.names.index(selection.recommended)
    order = sorted(range(len(result.names)), key=lambda place: place != first)
    rows = {name: getattr(result, name)[order] for name in ("scores", "aggregated", "unperturbed")}
    rows |= {
        name: tuple(getattr(result, name)[place] for place in order) for name in ("models", "names")
    }
    return dataclasses.replace(result, **rows, tied=tied_best(rows["aggregated"]), best_index=0)
