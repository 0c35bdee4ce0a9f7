"""What the sensitivity analysis of Appendix E costs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd

from studies.kit.claims import claims


def cost(provenances: Mapping[str, Mapping[str, Any]]) -> pd.DataFrame:
    """Set the paper's run time beside ours, for the experiment as the paper ran it: once.

    Parameters
    ----------
    provenances : mapping of str to mapping
        Data set to the provenance of its full results, from `studies.kit.results.read_result`.

    Returns
    -------
    DataFrame
        One row for each data set, their sum and the paper: ``minutes``, ``cores``,
        ``core-minutes``. A repetition's time is the mean over the full run.
    """
    rows = {
        name: (
            facts["wall_time"] / 60 / facts["settings"]["n_repetitions"],
            facts["machine"]["cores"],
        )
        for name, facts in provenances.items()
    }
    minutes = [value for value, _ in rows.values()]
    rows["both"] = (float(np.sum(minutes)), max(cores for _, cores in rows.values()))
    paper = claims()["REAL-1"]["numbers"]
    rows["the paper, both"] = (paper["minutes"], paper["cores"])
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["minutes", "cores"])
    return table.assign(**{"core-minutes": table["minutes"] * table["cores"]})
