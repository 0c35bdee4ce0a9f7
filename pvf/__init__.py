"""Reproducible model selection under the Rashomon effect."""

from pvf.audit import AuditResult, audit
from pvf.efficiency_display import InterventionEfficiencyDisplay
from pvf.exact import FlipProbability, ScoreLaw, flip_probability, score_law
from pvf.groups import efficiency_by_group, net_benefit
from pvf.intervals import (
    cases_needed,
    intervention_efficiency_difference_interval,
    intervention_efficiency_interval,
)
from pvf.metrics import (
    intervention_efficiency,
    intervention_efficiency_counts,
    intervention_efficiency_score,
    intervention_efficiency_scorer,
)
from pvf.model_card import ModelCard, model_card
from pvf.multiplicity import (
    MultiplicityDisplay,
    ambiguity,
    capacity_lists,
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
from pvf.validation import PerturbationValidationResult, perturbation_validation

__version__ = "0.1.0"

__all__ = [
    "AuditResult",
    "CorrelatedNoise",
    "FlipProbability",
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
    "ScoreLaw",
    "WhereObserved",
    "ambiguity",
    "audit",
    "capacity_lists",
    "capacity_tail",
    "cases_needed",
    "decisions",
    "discrepancy",
    "efficiency_by_group",
    "flip_probability",
    "greedy_subset",
    "intervention_efficiency",
    "intervention_efficiency_counts",
    "intervention_efficiency_difference_interval",
    "intervention_efficiency_interval",
    "intervention_efficiency_score",
    "intervention_efficiency_scorer",
    "model_card",
    "multiplicity_table",
    "net_benefit",
    "perturb_scores",
    "perturbation_scorer",
    "perturbation_validation",
    "perturbed_model_validation",
    "pmv_scorer",
    "rashomon_capacity",
    "rashomon_set",
    "refit_by",
    "score_law",
]
