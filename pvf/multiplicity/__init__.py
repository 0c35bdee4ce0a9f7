"""Predictive multiplicity: Rashomon sets, their capacity, and what else measures them."""

from pvf.multiplicity.capacity import (
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

__all__ = [
    "MultiplicityDisplay",
    "ambiguity",
    "capacity_tail",
    "decisions",
    "discrepancy",
    "greedy_subset",
    "multiplicity_table",
    "perturb_scores",
    "rashomon_capacity",
    "rashomon_set",
]
