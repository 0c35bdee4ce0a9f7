"""The synthetic sweep, flipped labels, and the cost of perturbation validation."""

from studies.pvf2026.synthetic.cost import COST
from studies.pvf2026.synthetic.label_noise import GAPS, LOSSES
from studies.pvf2026.synthetic.many_sets import SYNTHETIC_SETS
from studies.pvf2026.synthetic.run import HALF, SWEEP

__all__ = ["COST", "GAPS", "HALF", "LOSSES", "STUDIES", "SWEEP", "SYNTHETIC_SETS"]

STUDIES = (SWEEP, HALF, SYNTHETIC_SETS, GAPS, LOSSES, COST)
