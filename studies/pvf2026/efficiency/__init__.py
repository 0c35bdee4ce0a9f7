"""Intervention Efficiency: Proposition 3.1 checked in independent ways."""

from studies.pvf2026.efficiency.run import EFFICIENCY

__all__ = ["EFFICIENCY", "STUDIES"]

STUDIES = (EFFICIENCY,)
