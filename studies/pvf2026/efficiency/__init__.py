"""Intervention Efficiency: Proposition 3.1 checked in independent ways."""

from studies.pvf2026.efficiency.by_rank import BY_RANK
from studies.pvf2026.efficiency.run import EFFICIENCY

__all__ = ["BY_RANK", "EFFICIENCY", "STUDIES"]

STUDIES = (EFFICIENCY, BY_RANK)
