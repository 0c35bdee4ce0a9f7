"""Reproducible model selection under the Rashomon effect."""

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
from pvf.perturbation import (
    CorrelatedNoise,
    GaussianNoise,
    Mechanism,
    Misclassification,
    Missingness,
    NominalFlip,
    OrdinalShift,
    Perturbation,
    RelativeNoise,
    RoundingError,
    WhereObserved,
)
from pvf.pmv import PerturbedModelValidationResult, perturbed_model_validation, pmv_scorer
from pvf.scorer import perturbation_scorer
from pvf.selection import refit_by
from pvf.validation import (
    PerturbationValidationResult,
    perturbation_validation,
)

__version__ = "0.1.0"

__all__ = [
    "CorrelatedNoise",
    "GaussianNoise",
    "InterventionEfficiencyDisplay",
    "Mechanism",
    "Misclassification",
    "Missingness",
    "ModelCard",
    "MultiplicityDisplay",
    "NominalFlip",
    "OrdinalShift",
    "Perturbation",
    "PerturbationValidationResult",
    "PerturbedModelValidationResult",
    "RelativeNoise",
    "RoundingError",
    "WhereObserved",
    "ambiguity",
    "capacity_tail",
    "decisions",
    "discrepancy",
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
    "refit_by",
]
