"""All studies: the only place that names them all, and how their full tables are made."""

from __future__ import annotations

import time
from pathlib import Path

from studies import capacity2022, pmv2019
from studies.kit.digest import table_code
from studies.kit.results import results_folder, resumed, write_result
from studies.kit.study import Study
from studies.pvf2026 import clinical, convergence, efficiency, synthetic
from studies.pvf2026.clinical import variants
from studies.pvf2026.clinical.many_sets import MANY_SETS
from studies.rules import POWER, RULES_STUDY

#: Every study by its name, which is also its table's.
ALL: tuple[Study, ...] = (
    *efficiency.STUDIES,
    *synthetic.STUDIES,
    *clinical.STUDIES,
    *variants.STUDIES,
    MANY_SETS,
    *convergence.STUDIES,
    *pmv2019.STUDIES,
    *capacity2022.STUDIES,
    POWER,
    RULES_STUDY,
)
STUDIES = {study.name: study for study in ALL}


def make_table(
    name: str, *, n_jobs: int | None = None, out: Path | None = None, folder: Path | None = None
) -> Path:
    """Compute a study's full table, write it with its provenance, and return the CSV's path.

    Parameters
    ----------
    name : str
        A key of `STUDIES`.
    n_jobs : int or None
        Workers, as joblib takes them.
    out : path, optional
        Folder of resumable blocks.
    folder : path, optional
        Where to write the table; ``book/results`` of the repository by default.

    Raises
    ------
    ValueError
        There is no such table.
    """
    if name not in STUDIES:
        raise ValueError(f"name must be one of {sorted(STUDIES)}, got {name!r}.")
    study = STUDIES[name]
    folder = results_folder() if folder is None else folder  # fails before the work, not after
    start = time.perf_counter()
    frame = study.full_table(n_jobs=n_jobs, out=out)
    cost = frame.attrs["cost"]
    # of earlier calls, whose blocks are there, too
    seconds = time.perf_counter() - start + cost["wall_time"] - cost["this_call"]
    settings, seed = study.recorded()
    return write_result(
        frame,
        name,
        settings=settings,
        seed=seed,
        wall_time=seconds,
        folder=folder,
        notes=f"{study.notes} {resumed(cost)}".strip(),
        cost=cost,
        code=_code(name),
    )


def _code(name: str) -> dict[str, str] | None:
    """Return digests of a table's code; None for one that was added while running."""
    try:
        return table_code(name)
    except ValueError:
        return None
