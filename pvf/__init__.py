"""Reproducible model selection under the Rashomon effect."""

from pvf.exact import FlipProbability, ScoreLaw, flip_probability, score_law
from pvf.metrics import (
    InterventionEfficiencyDisplay,
    intervention_efficiency,
    intervention_efficiency_counts,
    intervention_efficiency_score,
    intervention_efficiency_scorer,
)
from pvf.model_card import ModelCard, model_card
from pvf.multiplicity import (
    MultiplicityDisplay,
    ambiguity,
    capacity_tail,
    decisions,
    discrepancy,
    greedy_subset,
    multiplicity_table,
    perturb_scores,
    rashomon_capacity,
    rashomon_set,
)
from pvf.perturbation import GaussianNoise, NominalFlip, OrdinalShift, Perturbation
from pvf.pmv import PerturbedModelValidationResult, perturbed_model_validation, pmv_scorer
from pvf.validation import (
    PerturbationValidationResult,
    perturbation_scorer,
    perturbation_validation,
)

__version__ = "0.1.0"

__all__ = [
    "FlipProbability",
    "GaussianNoise",
    "InterventionEfficiencyDisplay",
    "ModelCard",
    "MultiplicityDisplay",
    "NominalFlip",
    "OrdinalShift",
    "Perturbation",
    "PerturbationValidationResult",
    "PerturbedModelValidationResult",
    "ScoreLaw",
    "ambiguity",
    "capacity_tail",
    "decisions",
    "discrepancy",
    "flip_probability",
    "greedy_subset",
    "intervention_efficiency",
    "intervention_efficiency_counts",
    "intervention_efficiency_score",
    "intervention_efficiency_scorer",
    "model_card",
    "multiplicity_table",
    "perturb_scores",
    "perturbation_scorer",
    "perturbation_validation",
    "perturbed_model_validation",
    "pmv_scorer",
    "rashomon_capacity",
    "rashomon_set",
    "score_law",
]
