"""Predictive multiplicity: Rashomon sets, their capacity, and what else measures them."""

from pvf.multiplicity.capacity import capacity_tail, rashomon_capacity
from pvf.multiplicity.display import MultiplicityDisplay
from pvf.multiplicity.measures import (
    ambiguity,
    capacity_lists,
    decisions,
    discrepancy,
    multiplicity_table,
    rashomon_set,
)
from pvf.multiplicity.perturb import perturb_scores
from pvf.multiplicity.subset import greedy_subset

__all__ = [
    "MultiplicityDisplay",
    "ambiguity",
    "capacity_lists",
    "capacity_tail",
    "decisions",
    "discrepancy",
    "greedy_subset",
    "multiplicity_table",
    "perturb_scores",
    "rashomon_capacity",
    "rashomon_set",
]
