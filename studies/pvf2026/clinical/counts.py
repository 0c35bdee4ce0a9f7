"""The tables of both data sets, counted: rows, columns, cases and gaps."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pandas as pd

from studies.data import datasets
from studies.data.files import obtain
from studies.data.tables import registry
from studies.kit.study import Settings, Study, setting


def breast_arithmetic() -> pd.DataFrame:
    """Count the breast-cancer table's rows, cases and gaps.

    Returns
    -------
    DataFrame
        One row: ``samples``, ``positives`` and ``missing`` (entries).

    Examples
    --------
    >>> breast_arithmetic().loc[0].to_dict()
    {'samples': 569, 'positives': 212, 'missing': 0}
    """
    data = datasets.load_breast_cancer()
    gaps = int(data.X.isna().sum().sum())
    return pd.DataFrame(
        {"samples": [len(data.X)], "positives": [int(data.y.sum())], "missing": [gaps]}
    )


def cervical_arithmetic() -> pd.DataFrame:
    """Count the cervical table's rows, columns and cases, step by step.

    Returns
    -------
    DataFrame
        One row a step: ``step``, ``rows``, ``columns`` (features and outcomes), ``features``,
        ``positives`` (of the Schiller test) and ``gaps`` (missing entries).

    Raises
    ------
    DataUnavailableError
        There is no copy of the data and none can be downloaded.
    """
    published = obtain("cervical_cancer")[0]
    targets = list(datasets.CERVICAL_TARGETS)
    dense = published.loc[:, published.isna().mean() <= 0.5]
    steps = {
        "as published": published,
        "without columns over half missing": dense,
        "of these, complete rows": dense.dropna(),
        "instead, gaps filled by 5-NN": datasets.load_cervical_cancer(missing="knn").X.join(
            published[targets]
        ),
        "complete rows of all columns": published.dropna(),
    }
    rows = [
        {
            "step": step,
            "rows": len(frame),
            "columns": frame.shape[1],
            "features": frame.shape[1] - len(targets),
            "positives": int(frame["Schiller"].sum()),
            "gaps": int(frame.isna().sum().sum()),
        }
        for step, frame in steps.items()
    ]
    return pd.DataFrame(rows)


def cervical_columns() -> pd.DataFrame:
    """Return each feature's kind and meaning, as published; no data are needed.

    Examples
    --------
    >>> cervical_columns()["kind"].value_counts().to_dict()
    {'nominal': 20, 'numeric': 8, 'ordinal': 4}
    """
    columns = registry()["cervical_cancer"]["columns"]
    table = pd.DataFrame.from_dict(
        columns, orient="index", columns=["kind", "meaning, and why this kind"]
    )
    return table.drop(index=list(datasets.CERVICAL_TARGETS)).rename_axis("column")


@dataclass(frozen=True)
class Counted(Settings):
    """Counting takes no settings; nothing is drawn."""

    seed: int = setting(0, "not used")


def estimate(table: pd.DataFrame) -> pd.DataFrame:
    """Return counts in the schema of estimates; they are exact."""
    steps = table if "step" in table else table.assign(step="as published")
    long = steps.melt("step", var_name="quantity", value_name="estimate")
    return long.assign(low=long["estimate"], high=long["estimate"], n=1, unit="")


BREAST_COUNTS = Study(
    name="breast_data",
    settings=Counted,
    blocks=lambda _: [0],
    block=lambda *_: breast_arithmetic(),
    estimate=estimate,
)
COUNTS = replace(BREAST_COUNTS, name="cervical_data", block=lambda *_: cervical_arithmetic())
