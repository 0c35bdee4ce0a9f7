"""Zhang, Barr et al. (2019), run again."""

from studies.pmv2019.picks import PICKS
from studies.pmv2019.rules import SIDE_BY_SIDE
from studies.pmv2019.table1 import DISTANCES, TABLE1, TABLE1_RUNS
from studies.pmv2019.tuning import DEPTHS, GRID_DEPTHS, HIDDEN_SIZES, MEMORISERS, TREE_GAPS

__all__ = ["STUDIES"]

#: The studies of this package, in the order of its chapter.
STUDIES = (
    TABLE1,
    TABLE1_RUNS,
    DISTANCES,
    PICKS,
    MEMORISERS,
    TREE_GAPS,
    DEPTHS,
    GRID_DEPTHS,
    HIDDEN_SIZES,
    SIDE_BY_SIDE,
)
