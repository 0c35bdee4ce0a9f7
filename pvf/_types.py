"""Types that many modules name."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

if TYPE_CHECKING:
    from matplotlib.axes import Axes  # which is loaded when something is drawn
else:
    Axes = Any

__all__ = ["Array", "ArrayLike", "Axes", "Flags", "Indices", "NDArray", "Scorer"]

Array = NDArray[np.float64]
Flags = NDArray[np.bool_]
Indices = NDArray[np.intp]
Scorer = Callable[..., float]
