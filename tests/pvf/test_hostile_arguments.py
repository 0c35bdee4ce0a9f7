"""Every argument of every public function against values that it can't mean.

The functions and arguments come from the package itself, so that a new one can't be left out: it
fails here until it has a call that works and, where a strange value is meant to be taken, a line
in `LEGAL`. Everything else must be refused at once, by an error that names the argument.
"""

import copy
import dataclasses
import inspect
import re
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import pvf
import pvf.pmv
import pvf.selection

MODULES = (pvf, pvf.pmv, pvf.selection)
SECONDS = 10  # far more than a refusal takes, and far less than the work that it saves


@pytest.fixture(autouse=True)
def close_figures():
    yield
    plt.close("all")


# --- A call of each that works ------------------------------------------------------------------

WORK = {"done": 0}  # fits and draws


class Tree(DecisionTreeClassifier):
    """A tree that counts how often it is fitted."""

    def fit(self, X, y, **settings):
        """Fit, and count it."""
        WORK["done"] += 1
        return super().fit(X, y, **settings)


class Noise(pvf.GaussianNoise):
    """Noise that counts how often it is added."""

    def _noisy(self, values, draws):
        WORK["done"] += 1
        return super()._noisy(values, draws)


RNG = np.random.default_rng(0)
X = RNG.normal(size=(40, 2))
Y = (X[:, 0] + RNG.normal(size=40) > 0).astype(int)
SCORES = RNG.uniform(0.1, 0.9, size=(3, 4))
MODELS = [Tree(max_depth=depth).fit(X, Y) for depth in (1, 3)]
NOISE = pvf.Perturbation(Noise(0.2))
LABELS = {"y_true": np.array([1, 0, 0, 1, 0]), "y_pred": np.array([1, 0, 1, 0, 0])}
LEVELS = np.array([0, 0.2, 0.4])
FEW = {"n_splits": 2, "n_bootstraps": 0, "n_sets": 2, "n_replicas": 1, "factors": (1.0,)}
RESULT = pvf.perturbation_validation(
    MODELS, X, Y, perturbation=NOISE, scoring="f1", n_sets=3, n_replicas=2, random_state=0
)
DISPLAY = {"capacity": np.array([0.2, 0.5]), "efficiency": np.array([2, 1.5]), "prevalence": 0.4}
DRAWN = pvf.InterventionEfficiencyDisplay(**DISPLAY)
PMV = {"noise_levels": LEVELS, "accuracies": np.array([[0.9, 0.7, 0.6]])}
CARD = pvf.model_card(RESULT)
FITTED = pvf.Perturbation(Noise(0.2)).fit(X)
AUDIT = pvf.audit(MODELS, X, Y, scoring="f1", perturbation=NOISE, **FEW)
MULTIPLICITY = pvf.MultiplicityDisplay.from_scores(SCORES)

PLAIN = DecisionTreeClassifier(max_depth=1).fit(X, Y)
PLAIN_NOISE = pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X)
EXACT_RESULT = pvf.perturbation_validation(
    [PLAIN], X, Y, perturbation=PLAIN_NOISE, scoring="f1", method="exact"
)
LAW = pvf.score_law(PLAIN, X, Y, perturbation=PLAIN_NOISE, scoring="f1")

#: A call that works: the function, or what makes it, where only its name tells which, and its
#: arguments. Those that are left out have their defaults.
CALLS: dict[str, tuple[Callable[..., Any], dict[str, Any]]] = {
    "AuditResult": (
        pvf.AuditResult,
        {f.name: getattr(AUDIT, f.name) for f in dataclasses.fields(AUDIT)},
    ),
    "AuditResult.to_frame": (AUDIT.to_frame, {}),
    "audit": (
        pvf.audit,
        {"models": MODELS, "X": X, "y": Y, "scoring": "f1", "perturbation": NOISE, **FEW},
    ),
    "FlipProbability": (
        pvf.FlipProbability,
        {"probability": np.array([0.2, 0.5]), "standard_error": np.zeros(2), "exact": True},
    ),
    "ScoreLaw.cdf": (LAW.cdf, {"score": np.array([0.2, 0.5])}),
    "ScoreLaw.of_quantile": (LAW.of_quantile, {"q": 0.25, "n_sets": 3}),
    "ScoreLaw.plot": (LAW.plot, {}),
    "ScoreLaw.quantile": (LAW.quantile, {"q": 0.25}),
    "ScoreLaw.samples": (LAW.samples, {}),
    "ScoreLaw.to_frame": (LAW.to_frame, {}),
    "flip_probability": (
        pvf.flip_probability,
        {"model": PLAIN, "X": X, "perturbation": PLAIN_NOISE, "n_draws": 10},
    ),
    "score_law": (
        pvf.score_law,
        {"model": PLAIN, "X": X, "y": Y, "perturbation": PLAIN_NOISE, "scoring": "f1"},
    ),
    "GaussianNoise": (pvf.GaussianNoise, {"scale": 0.1}),
    "GaussianNoise.fit": (pvf.GaussianNoise(0.1).fit, {"column": X[:, 0]}),
    "GaussianNoise.prepare": (pvf.GaussianNoise(0.1).prepare, {"column": X[:, 0]}),
    "GaussianNoise.sample": (
        pvf.GaussianNoise(0.1).sample,
        {"column": X[:, 0], "size": 2, "rng": np.random.default_rng(0)},
    ),
    "InterventionEfficiencyDisplay": (pvf.InterventionEfficiencyDisplay, DISPLAY),
    "InterventionEfficiencyDisplay.from_estimator": (
        pvf.InterventionEfficiencyDisplay.from_estimator,
        {"estimator": MODELS[0], "X": X, "y": Y},
    ),
    "InterventionEfficiencyDisplay.from_predictions": (
        pvf.InterventionEfficiencyDisplay.from_predictions,
        {**LABELS, "capacity": np.array([0.2, 0.5]), "sample_weight": np.ones(5)},
    ),
    "InterventionEfficiencyDisplay.plot": (DRAWN.plot, {}),
    "InterventionEfficiencyDisplay.to_frame": (DRAWN.to_frame, {}),
    "ModelCard": (
        pvf.ModelCard,
        {"title": CARD.title, "facts": CARD.facts, "details": CARD.details},
    ),
    "ModelCard.save": (CARD.save, {"path": "/dev/null/card.md"}),
    "ModelCard.to_html": (CARD.to_html, {}),
    "ModelCard.to_markdown": (CARD.to_markdown, {}),
    "MultiplicityDisplay": (
        pvf.MultiplicityDisplay,
        {"capacity": np.array([1.1, 1.5]), "scores": SCORES[:, :2]},
    ),
    "MultiplicityDisplay.from_scores": (
        pvf.MultiplicityDisplay.from_scores,
        {"scores": SCORES, "samples": np.array(["a", "b", "c", "d"])},
    ),
    "MultiplicityDisplay.from_estimators": (
        pvf.MultiplicityDisplay.from_estimators,
        {"models": MODELS, "X": X, "y": Y, "samples": np.arange(40)},
    ),
    "MultiplicityDisplay.to_frame": (MULTIPLICITY.to_frame, {}),
    "MultiplicityDisplay.plot": (MULTIPLICITY.plot, {"kind": "worst"}),
    "NominalFlip": (pvf.NominalFlip, {"probability": 0.1}),
    "NominalFlip.fit": (pvf.NominalFlip(0.1).fit, {"column": Y}),
    "NominalFlip.prepare": (pvf.NominalFlip(0.1).fit(Y).prepare, {"column": Y}),
    "NominalFlip.sample": (
        pvf.NominalFlip(0.1).fit(Y).sample,
        {"column": Y, "size": 2, "rng": np.random.default_rng(0)},
    ),
    "OrdinalShift": (
        pvf.OrdinalShift,
        {"probability": 0.1, "decay": 1.0, "order": ["a", "b"], "values": np.array([0.0, 1.5])},
    ),
    "OrdinalShift.fit": (pvf.OrdinalShift(0.1, 1).fit, {"column": Y}),
    "OrdinalShift.prepare": (pvf.OrdinalShift(0.1, 1).fit(Y).prepare, {"column": Y}),
    "OrdinalShift.sample": (
        pvf.OrdinalShift(0.1, 1).fit(Y).sample,
        {"column": Y, "size": 2, "rng": np.random.default_rng(0)},
    ),
    "Perturbation": (pvf.Perturbation, {"mechanisms": pvf.GaussianNoise(0.1)}),
    "Perturbation.fit": (pvf.Perturbation(pvf.GaussianNoise(0.1)).fit, {"X": X}),
    "Perturbation.prepare": (FITTED.prepare, {"X": X}),
    "Perturbation.sample": (
        FITTED.sample,
        {"X": X, "n_replicas": 2, "rng": np.random.default_rng(0)},
    ),
    "PerturbationValidationResult": (
        pvf.PerturbationValidationResult,
        {part.name: getattr(RESULT, part.name) for part in dataclasses.fields(RESULT)},
    ),
    "PerturbationValidationResult.plot": (RESULT.plot, {}),
    "PerturbationValidationResult.samples": (EXACT_RESULT.samples, {}),
    "PerturbationValidationResult.to_frame": (RESULT.to_frame, {}),
    "PerturbedModelValidationResult": (pvf.PerturbedModelValidationResult, PMV),
    "PerturbedModelValidationResult.plot": (pvf.PerturbedModelValidationResult(**PMV).plot, {}),
    "PerturbedModelValidationResult.to_frame": (
        pvf.PerturbedModelValidationResult(**PMV).to_frame,
        {},
    ),
    "ambiguity": (pvf.ambiguity, {"scores": SCORES}),
    "capacity_tail": (pvf.capacity_tail, {"capacity": np.array([1.0, 1.5]), "share": 0.5}),
    "cross_validation_criterion": (pvf.selection.cross_validation_criterion, {}),
    "capacity_lists": (pvf.capacity_lists, {"scores": SCORES, "capacity": 0.5}),
    "cases_needed": (
        pvf.cases_needed,
        {"efficiency": 2.0, "half_width": 0.5, "capacity": 0.2, "prevalence": 0.3},
    ),
    "efficiency_by_group": (
        pvf.efficiency_by_group,
        {**LABELS, "groups": np.array(list("aabbb")), "capacity": 0.4},
    ),
    "intervention_efficiency_difference_interval": (
        pvf.intervention_efficiency_difference_interval,
        {
            "y_true": LABELS["y_true"],
            "first": LABELS["y_pred"],
            "second": LABELS["y_true"],
            "capacity": 0.4,
        },
    ),
    "intervention_efficiency_interval": (
        pvf.intervention_efficiency_interval,
        {**LABELS, "capacity": 0.4},
    ),
    "net_benefit": (
        pvf.net_benefit,
        {
            "y_true": LABELS["y_true"],
            "y_score": np.array([0.9, 0.4, 0.3, 0.6, 0.1]),
            "threshold": 0.2,
        },
    ),
    "decisions": (pvf.decisions, {"scores": SCORES}),
    "discrepancy": (pvf.discrepancy, {"scores": SCORES}),
    "flip_labels": (pvf.pmv.flip_labels, {"y": Y, "noise_level": 0.2}),
    "greedy_subset": (pvf.greedy_subset, {"scores": SCORES, "size": 2}),
    "holdout_criterion": (pvf.selection.holdout_criterion, {}),
    "intervention_efficiency": (
        pvf.intervention_efficiency,
        {
            "precision": np.array([0.5, 0.6]),
            "recall": np.array([0.8, 0.7]),
            "prevalence": np.array([0.1, 0.2]),
            "capacity": np.array([0.2, 0.3]),
        },
    ),
    "intervention_efficiency_counts": (
        pvf.intervention_efficiency_counts,
        {
            "tp": np.array([8, 7]),
            "fp": np.array([8, 9]),
            "n_pos": np.array([10, 10]),
            "n_neg": np.array([90, 90]),
            "capacity": np.array([0.2, 0.3]),
        },
    ),
    "intervention_efficiency_score": (
        pvf.intervention_efficiency_score,
        {**LABELS, "capacity": np.array([0.2, 0.3]), "sample_weight": np.ones(5)},
    ),
    "intervention_efficiency_scorer": (pvf.intervention_efficiency_scorer, {"capacity": 0.3}),
    "model_card": (pvf.model_card, {"result": RESULT, "X": X, "y": Y, "scoring": "f1"}),
    "multiplicity_table": (pvf.multiplicity_table, {"scores": SCORES}),
    "perturb_scores": (
        pvf.perturb_scores,
        {
            "model": LogisticRegression().fit(X, Y),
            "X_train": X,
            "y_train": Y,
            "X": X[:2],
            "epsilon": 0.01,
            "sample_weight": np.ones(40),
        },
    ),
    "perturbation_scorer": (
        pvf.perturbation_scorer,
        {"scoring": "f1", "perturbation": NOISE},
    ),
    "perturbation_validation": (
        pvf.perturbation_validation,
        {
            "models": MODELS,
            "X": X,
            "y": Y,
            "perturbation": NOISE,
            "scoring": "f1",
            "n_sets": 2,
            "n_replicas": 2,
        },
    ),
    "perturbed_model_validation": (
        pvf.perturbed_model_validation,
        {"estimator": Tree(), "X": X, "y": Y, "noise_levels": LEVELS},
    ),
    "pmv_scorer": (pvf.pmv_scorer, {"noise_levels": LEVELS}),
    "rank_models": (
        pvf.selection.rank_models,
        {"models": {"tree": Tree()}, "X": X, "y": Y, "criteria": {"one": lambda *_: 1.0}},
    ),
    "rashomon_capacity": (pvf.rashomon_capacity, {"scores": SCORES}),
    "rashomon_set": (pvf.rashomon_set, {"losses": np.array([0.1, 0.2]), "epsilon": 0.1}),
    "with_random_states": (
        pvf.pmv.with_random_states,
        {"estimator": Tree(), "rng": np.random.default_rng(0)},
    ),
}

#: Mechanisms that take a column of numbers, or the two labels; each method of theirs is called.
MECHANISMS = {
    "GaussianNoise": (pvf.GaussianNoise(0.1, low=-9.5, high=9.5), X[:, 0]),
    "RelativeNoise": (pvf.RelativeNoise(0.1, low=-9.5, high=9.5), X[:, 0]),
    "RoundingError": (pvf.RoundingError(0.1, low=-9.5, high=9.5), X[:, 0]),
    "CorrelatedNoise": (pvf.CorrelatedNoise(np.eye(2)), X),
    "NominalFlip": (pvf.NominalFlip(0.1), Y),
    "OrdinalShift": (pvf.OrdinalShift(0.1, 1.0), Y),
    "Misclassification": (pvf.Misclassification(np.eye(2), levels=[0, 1]), Y),
    "Missingness": (pvf.Missingness(0.1), X[:, 0]),
    "WhereObserved": (pvf.WhereObserved(pvf.GaussianNoise(0.1)), X[:, 0]),
}
for _name, (_mechanism, _column) in MECHANISMS.items():
    _fitted = copy.deepcopy(_mechanism).fit(_column)
    CALLS.setdefault(_name, (type(_mechanism), _mechanism.get_params(deep=False)))
    _sampled = {"column": _column, "size": 2, "rng": np.random.default_rng(0)}
    CALLS |= {
        f"{_name}.fit": (copy.deepcopy(_mechanism).fit, {"column": _column}),
        f"{_name}.prepare": (_fitted.prepare, {"column": _column}),
        f"{_name}.sample": (_fitted.sample, _sampled),
        f"{_name}.scaled": (_mechanism.scaled, {"factor": 0.5}),
        f"{_name}.get_params": (_mechanism.get_params, {}),
        f"{_name}.set_params": (copy.deepcopy(_mechanism).set_params, {}),
    }
    if hasattr(_fitted, "levels_"):
        CALLS[f"{_name}.transition_probabilities"] = (_fitted.transition_probabilities, {})
CALLS |= {
    "Perturbation.get_params": (NOISE.get_params, {}),
    "Perturbation.set_params": (pvf.Perturbation(Noise(0.2)).set_params, {}),
    "Perturbation.scaled": (pvf.Perturbation(pvf.GaussianNoise(0.2)).scaled, {"factor": 0.5}),
    "Perturbation.from_measurement_error": (
        pvf.Perturbation.from_measurement_error,
        {"errors": {"age": 1}, "bounds": {"age": (0, 1)}},
    ),
    "refit_by": (pvf.refit_by, {"rule": "pvf"}),
}

# --- Values that nobody can mean ----------------------------------------------------------------


def hostile() -> dict[str, Any]:
    """Return the values, made anew for each argument: a generator can be read once only."""
    return {
        "None": None,
        "text": "no such thing",
        "bytes": b"no such thing",
        "nan": np.nan,
        "inf": np.inf,
        "-inf": -np.inf,
        "complex": 0.5 + 9j,
        "complex array": np.array([0.5 + 9j, 0.5]),
        "masked": np.ma.masked_array([0.5, 0.5], [True, False]),
        "masked in a list": [np.ma.masked_array([0.5, 0.5], [True, False])] * 2,
        "ragged": [[0.5], [0.5, 0.5]],
        "object": object(),
        "class": dict,
        "empty": [],
        "bool": True,
        "1.5": 1.5,
        "-1": -1,
        "10**30": 10**30,
        "-10**400": -(10**400),
        "set": {1},
        "dict": {"a": 1},
        "texts": ["a", "b"],
        "generator": (number for number in [1]),
        "three axes": np.zeros((2, 2, 2)),
    }


def spoiled(base: np.ndarray) -> dict[str, Any]:
    """Return arrays like one that works, each with one thing wrong."""
    masked = np.ma.masked_array(base, np.zeros(base.shape, dtype=bool))
    masked[(0,) * base.ndim] = np.ma.masked
    found = {
        "own, masked": masked,
        "own, shorter": base[:-1],
        "own, an axis more": base[None],
        "own, a cell of text": with_cell(base, "no such thing"),
        "own, a cell of None": with_cell(base, None),
    }
    if base.dtype.kind in "biuf":
        found |= {
            "own, complex": base + 1j,
            "own, a complex cell": with_cell(base, 1j),
            "own, a nan": with_cell(base.astype(float), np.nan),
            "own, an inf": with_cell(base.astype(float), np.inf),
        }
    return found


def with_cell(base: np.ndarray, value: Any) -> np.ndarray:
    """Return a copy with one cell changed."""
    holds = base.dtype.kind == "f" and isinstance(value, float)
    copy = base.astype(base.dtype if holds else object)
    copy[(0,) * base.ndim] = value
    return copy


#: Values that only one argument can't mean.
OWN = {"n_jobs": {"0": 0}, "share": {"0": 0}, "validation_share": {"0": 0, "1": 1}}

OTHER_SHAPES = {"own, shorter", "own, an axis more"}  # that broadcast
GAPS = {"own, a cell of None", "own, a nan"}
AXES = {"own, an axis more", "three axes"}
SEEDS = {"10**30"}  # a seed has no upper end

#: What is meant to be taken, strange as it looks. ``None`` where it is the default needs no line.
LEGAL: dict[str, set[str]] = {
    "AuditResult:multiplicity": {"None"},
    "AuditResult:summary": {"dict"},
    "audit:X": GAPS,  # trees take gaps
    "audit:epsilon": {"1.5", "10**30"},
    "audit:factors": {"empty", "set", "generator"},
    "audit:n_jobs": {"-1"},
    "audit:progress": {"bool"},
    "audit:random_state": SEEDS | {"None"},
    "ScoreLaw.cdf:score": {"1.5", "-1", "10**30", "own, shorter", "empty"} | AXES,
    "flip_probability:X": GAPS | {"own, shorter"},  # trees take gaps, which are drawn then
    "flip_probability:pos_label": {"bool"},
    "flip_probability:random_state": SEEDS,
    "score_law:X": GAPS,
    "score_law:pos_label": {"bool"},
    "score_law:random_state": SEEDS | {"None"},
    "InterventionEfficiencyDisplay:n_people": {"1.5", "10**30"},  # weights
    "capacity_lists:scores": {"three axes", "own, shorter", "own, an inf"},
    "cases_needed:efficiency": {"1.5"},
    "cases_needed:half_width": {"1.5", "10**30"},
    "efficiency_by_group:groups": {"own, a cell of text"},
    "efficiency_by_group:pos_label": {"bool"},
    "intervention_efficiency_difference_interval:pos_label": {"bool"},
    "intervention_efficiency_difference_interval:random_state": SEEDS,
    "intervention_efficiency_interval:pos_label": {"bool"},
    "intervention_efficiency_interval:random_state": SEEDS,
    "intervention_efficiency_scorer:capacity": {"10**30"},  # places, out of samples seen later
    "net_benefit:pos_label": {"bool"},
    "ScoreLaw.plot:samples": {"bool"},
    "FlipProbability:exact": {"bool"},
    "ScoreLaw.samples:scale": {"1.5", "10**30"},
    "PerturbationValidationResult.samples:scale": {"1.5", "10**30"},
    "GaussianNoise:scale": {"1.5", "10**30"},
    "GaussianNoise.fit:column": {"own, shorter"},
    "GaussianNoise.prepare:column": {"own, shorter"},
    "GaussianNoise.sample:column": {"own, shorter"},
    "InterventionEfficiencyDisplay:efficiency": GAPS,
    "InterventionEfficiencyDisplay:name": {"text"},
    "InterventionEfficiencyDisplay.from_estimator:X": GAPS,  # trees take them
    "InterventionEfficiencyDisplay.from_estimator:name": {"text"},
    "InterventionEfficiencyDisplay.from_predictions:capacity": {"own, shorter"},
    "InterventionEfficiencyDisplay.from_predictions:name": {"text"},
    "InterventionEfficiencyDisplay.from_predictions:pos_label": {"bool"},  # True is 1
    "InterventionEfficiencyDisplay.from_predictions:random_state": SEEDS,
    "InterventionEfficiencyDisplay.plot:name": {"text"},
    "ModelCard:details": {"dict"},
    "ModelCard:facts": {"dict"},
    "ModelCard:title": {"text"},
    "MultiplicityDisplay:name": {"text"},
    "MultiplicityDisplay:samples": {"texts"},
    "MultiplicityDisplay:scores": {"own, shorter"},
    "MultiplicityDisplay.from_estimators:X": GAPS,  # trees take them
    "MultiplicityDisplay.from_estimators:epsilon": {"1.5", "10**30"},
    "MultiplicityDisplay.from_estimators:n_jobs": {"-1"},
    "MultiplicityDisplay.from_estimators:name": {"text"},
    "MultiplicityDisplay.from_estimators:samples": GAPS | {"own, a cell of text", "own, an inf"},
    "MultiplicityDisplay.from_estimators:tol": {"1.5", "10**30"},
    "MultiplicityDisplay.from_scores:n_jobs": {"-1"},
    "MultiplicityDisplay.from_scores:name": {"text"},
    "MultiplicityDisplay.from_scores:samples": {"own, a cell of text", "own, a cell of None"},
    "MultiplicityDisplay.from_scores:scores": {"own, shorter"},
    "MultiplicityDisplay.from_scores:tol": {"1.5", "10**30"},
    "NominalFlip.fit:column": {"texts", "own, shorter"},
    "NominalFlip.prepare:column": {"own, shorter", "empty"},
    "NominalFlip.sample:column": {"own, shorter"},
    "OrdinalShift:decay": {"1.5", "10**30"},
    "OrdinalShift:order": {"texts"},
    "OrdinalShift.fit:column": {"own, shorter"},
    "OrdinalShift.prepare:column": {"own, shorter", "empty"},
    "OrdinalShift.sample:column": {"own, shorter"},
    "Perturbation:mechanisms": {"empty"},  # every column stays as it is
    "Perturbation.fit:X": {"own, shorter"},
    "Perturbation.prepare:X": {"own, shorter"},
    "Perturbation.sample:X": {"own, shorter"},
    "PerturbationValidationResult:aggregated": {"own, an inf"},
    "PerturbationValidationResult:scores": {"own, an inf"},
    "PerturbationValidationResult:seed": SEEDS,
    "PerturbationValidationResult:unperturbed": {"own, an inf"},
    "PerturbedModelValidationResult.plot:label": {"text"},
    "ambiguity:base": {"-1"},  # the last model
    "ambiguity:scores": {"own, shorter"},
    "capacity_tail:capacity": {"own, shorter"},
    "decisions:scores": {"own, shorter"},
    "discrepancy:base": {"-1"},
    "discrepancy:scores": {"own, shorter"},
    "flip_labels:random_state": SEEDS,
    "flip_labels:y": {"own, shorter"},
    "greedy_subset:random_state": SEEDS,
    "greedy_subset:return_path": {"bool"},
    "greedy_subset:scores": {"own, shorter"},
    "greedy_subset:tol": {"1.5", "10**30"},
    "intervention_efficiency:capacity": OTHER_SHAPES,
    "intervention_efficiency:precision": OTHER_SHAPES | {"three axes"},
    "intervention_efficiency:prevalence": OTHER_SHAPES,
    "intervention_efficiency:recall": OTHER_SHAPES | {"three axes"},
    "intervention_efficiency_counts:capacity": OTHER_SHAPES,
    "intervention_efficiency_counts:fp": OTHER_SHAPES | {"three axes", "1.5"},  # weights
    "intervention_efficiency_counts:n_neg": OTHER_SHAPES | {"10**30"},
    "intervention_efficiency_counts:n_pos": OTHER_SHAPES | {"10**30"},
    "intervention_efficiency_counts:tp": OTHER_SHAPES | {"three axes", "1.5"},
    "intervention_efficiency_score:capacity": OTHER_SHAPES | {"empty"},
    "intervention_efficiency_score:pos_label": {"bool"},
    "intervention_efficiency_score:zero_division": {"nan", "1.5", "-1", "10**30"},
    "intervention_efficiency_scorer:pos_label": {  # the labels are seen later
        *("text", "bytes", "inf", "-inf", "bool", "1.5", "-1", "10**30", "-10**400"),
    },
    "model_card:X": GAPS,  # with which the trees give the result's scores all the same
    "model_card:data": {"dict"},
    "model_card:data_name": {"text"},
    "model_card:epsilon": {"1.5", "10**30"},
    "model_card:external": {"dict"},
    "model_card:intended_use": {"text"},
    "model_card:limits": {"empty", "texts"},
    "model_card:metric": {"text"},
    "model_card:pos_label": {"bool"},
    "model_card:random_state": SEEDS | {"None"},
    "model_card:title": {"text"},
    "model_card:unit": {"text"},
    "multiplicity_table:base": {"-1"},
    "multiplicity_table:n_jobs": {"-1"},
    "multiplicity_table:scores": {"own, shorter"},
    "multiplicity_table:tol": {"1.5", "10**30"},
    "perturb_scores:X": {"own, shorter"},
    "perturb_scores:epsilon": {"1.5", "10**30"},
    "perturb_scores:learning_rate": {"1.5", "10**30"},
    "perturb_scores:memory_budget": {"1.5", "10**30"},
    "perturb_scores:n_jobs": {"-1"},
    "perturb_scores:return_gap": {"bool"},
    "perturb_scores:tol": {"1.5", "10**30"},
    "perturbation_scorer:random_state": SEEDS,
    "perturbation_validation:common_noise": {"bool"},
    "perturbation_validation:memory_budget": {"1.5", "10**30"},
    "perturbation_validation:n_jobs": {"-1"},
    "perturbation_validation:random_state": SEEDS,
    "perturbed_model_validation:X": GAPS,
    "perturbed_model_validation:n_jobs": {"-1"},
    "perturbed_model_validation:noise_levels": {"own, shorter"},
    "perturbed_model_validation:random_state": SEEDS,
    "pmv_scorer:noise_levels": {"own, shorter"},
    "pmv_scorer:random_state": SEEDS,
    "rank_models:X": GAPS | {"own, a cell of text", "own, an inf"},  # as the criteria take it
    "rashomon_capacity:memory_budget": {"1.5", "10**30"},
    "rashomon_capacity:n_jobs": {"-1"},
    "rashomon_capacity:return_gap": {"bool"},
    "rashomon_capacity:return_weights": {"bool"},
    "rashomon_capacity:scores": {"own, shorter"},
    "rashomon_capacity:tol": {"1.5", "10**30"},
    "rashomon_set:epsilon": {"1.5", "10**30"},
    "rashomon_set:losses": {"own, shorter"},
    "rashomon_set:reference": {"1.5", "-1"},
}

#: What has no call here yet: results that nobody makes by hand, and the rules of choice.
NOT_HELD = {
    "BootstrapQuartile",
    "Evidence",
    "HoldOut",
    "OneStandardError",
    "OutOfBag",
    "PMVRule",
    "PVFInsideCV",
    "PerturbationValidation",
    "RepeatedCV",
    "Rule",
    "ScoreLaw",
    "Shrunken",
}

#: Samples of a kind that only the user's estimator can refuse, when it is first fitted to them.
REFUSED_BY_THE_ESTIMATOR = {"perturbed_model_validation:X"}


# --- The table ----------------------------------------------------------------------------------

_SHORTER, _ROOM = {"own, shorter"}, {"1.5", "-1", "10**30"}
_STRONGER = {"1.5", "10**30"}
_ANY = _SHORTER | GAPS | {"texts", "own, a cell of text", "own, an inf"}
_COLUMNS = {
    **dict.fromkeys(("GaussianNoise", "RelativeNoise", "RoundingError"), _SHORTER),
    **dict.fromkeys(("NominalFlip", "OrdinalShift", "Misclassification"), _SHORTER),
    "CorrelatedNoise": _SHORTER | GAPS,
    "WhereObserved": _SHORTER | {"own, a nan"},
    "Missingness": _ANY,
}
for _name, _taken in _COLUMNS.items():
    for _method in ("fit", "prepare", "sample"):
        _where = f"{_name}.{_method}:column"
        LEGAL[_where] = LEGAL.get(_where, set()) | _taken
    LEGAL[f"{_name}.scaled:factor"] = _STRONGER
    LEGAL[f"{_name}.get_params:deep"] = {"bool"}
for _name in ("Misclassification", "Missingness"):
    LEGAL[f"{_name}.prepare:column"] = LEGAL[f"{_name}.prepare:column"] | {"empty"}
for _name in ("GaussianNoise", "RelativeNoise", "RoundingError"):
    LEGAL |= {f"{_name}:low": _ROOM - {"10**30"}, f"{_name}:high": _ROOM}
LEGAL["GaussianNoise:low"] = _ROOM  # there is no upper bound
for _method in ("fit", "prepare", "sample"):  # gaps pass through
    LEGAL[f"Perturbation.{_method}:X"] = _SHORTER | GAPS
LEGAL |= {
    "RelativeNoise:share": {"0", *_STRONGER},
    "RoundingError:step": _STRONGER,
    "Misclassification:levels": {"texts"},
    "WhereObserved:levels": {"texts"},
    "Perturbation.get_params:deep": {"bool"},
    "Perturbation.scaled:factor": _STRONGER,
    "perturbation_validation:X": LEGAL.get("perturbation_validation:X", set()) | GAPS,
    "perturbation_validation:progress": {"bool"},
    "refit_by:metric": {"text"},
    "refit_by:complexity": {"text"},
}


def public_callables() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return the package's public functions, constructors and methods, by name."""
    names = {name: getattr(module, name) for module in MODULES for name in module.__all__}
    for name, member in sorted(names.items()):
        if inspect.isfunction(member):
            yield name, member
        elif name in NOT_HELD and name != "ScoreLaw":
            continue
        elif inspect.isclass(member) and not getattr(member, "_is_protocol", False):
            if name not in NOT_HELD:
                yield name, member
            for method, function in inspect.getmembers(member, callable):
                if not method.startswith("_"):
                    yield f"{name}.{method}", function


def arguments_of(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    """Return the parameters that a caller gives; those of ``**kwargs`` go to Matplotlib."""
    bound = CALLS[name][0] if name in CALLS else function
    passed_on = (inspect.Parameter.VAR_KEYWORD, inspect.Parameter.VAR_POSITIONAL)
    parameters = inspect.signature(bound).parameters.values()
    return [parameter for parameter in parameters if parameter.kind not in passed_on]


def table() -> Iterator[tuple[str, str, str, Any]]:
    """Return each function, argument and hostile value."""
    for name, function in public_callables():
        for parameter in arguments_of(name, function):
            base = CALLS.get(name, (None, {}))[1].get(parameter.name)
            own = spoiled(base) if isinstance(base, np.ndarray) else OWN.get(parameter.name, {})
            for kind, value in (hostile() | own).items():
                if not (value is None and parameter.default is None):
                    yield name, parameter.name, kind, value


TABLE = list(table())


def test_every_public_function_has_a_call_that_works():
    """A new function needs a call here, and each argument without a default a value."""
    assert {name for name, _ in public_callables()} == set(CALLS)
    for name, (function, arguments) in CALLS.items():
        for parameter in arguments_of(name, function):
            assert parameter.name in arguments or parameter.default is not parameter.empty
        if name != "ModelCard.save":
            function(**arguments)


def test_no_legal_value_is_declared_in_vain():
    """Each line of the list of legal values belongs to a row of the table."""
    rows = {f"{name}:{argument}:{kind}" for name, argument, kind, _ in TABLE}
    declared = {f"{where}:{kind}" for where, kinds in LEGAL.items() for kind in kinds}
    assert declared <= rows


def outcome(name: str, argument: str, value: Any) -> Exception | None:
    """Return the error that a call ends in, if it does."""
    function, arguments = CALLS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            function(**{**arguments, argument: value})
        except Exception as error:
            return error
    return None


def faults(name: str, argument: str, kind: str, value: Any) -> Iterator[str]:
    """Return what is wrong with how a function took a value, if anything is."""
    where = f"{name}:{argument}"
    start, work = time.perf_counter(), WORK["done"]
    error = outcome(name, argument, value)
    seconds, work = time.perf_counter() - start, WORK["done"] - work
    if kind in LEGAL.get(where, set()):
        if error is not None:
            yield f"is legal, and ended in {error!r}"
        return
    if not isinstance(error, TypeError | ValueError):
        yield "was taken" if error is None else f"ended in {error!r}"
    elif not re.search(rf"\b{re.escape(argument)}\b", str(error)):
        yield f"ended in an error that doesn't name the argument: {error!r}"
    if len(str(error)) > 1000:
        yield f"ended in an error of {len(str(error))} characters"
    if seconds > SECONDS:
        yield f"took {seconds:.0f} s"
    if error is not None and work and where not in REFUSED_BY_THE_ESTIMATOR:
        yield f"was refused after {work} fits or draws"


@pytest.mark.parametrize("name", sorted(CALLS))
def test_hostile_values_are_refused_by_name(name):
    """Each value ends at once in an error that names the argument, or is declared legal."""
    rows = [row for row in TABLE if row[0] == name]
    found = {f"{row[1]}:{row[2]}": list(faults(*row)) for row in rows}
    assert {row: said for row, said in found.items() if said} == {}
