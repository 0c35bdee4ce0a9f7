"""The study's table for practitioners as the file that `pvf select` reads its default rule from."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pandas as pd

import pvf
from pvf.advice import FILE
from studies.rules import RULES_STUDY
from studies.rules.questions import BANDS, wall_lines
from studies.rules.run import RULES

CAPACITIES = (0.1, 0.3, 0.5)


def lines(estimates: pd.DataFrame) -> list[dict[str, Any]]:
    """Return the table's lines for Intervention Efficiency by labels, rounded as it is printed."""
    return [
        {
            "capacity": capacity,
            "least": BANDS[cases][0],
            "below": BANDS[cases][1] if BANDS[cases][1] < float("inf") else None,
            "cases": cases,
            "pool": pool,
            "advised": RULES[share["rule"]],
            "share": [round(float(share[key]), 2) for key in ("estimate", "low", "high")],
            "lead": [round(float(lead[key]), 2) for key in ("estimate", "low", "high")],
            "tables": int(share["n"]),
        }
        for capacity in CAPACITIES
        for cases, pool, share, lead, _ in wall_lines(estimates, f"IE@{capacity:g}")
    ]


def write(folder: Path | None = None) -> Path:
    """Write the file into the library, or into another folder, and return its path."""
    folder = Path(pvf.__file__).parent / "templates" if folder is None else folder
    text = ",\n".join(json.dumps(line, ensure_ascii=False) for line in lines(RULES_STUDY.reference))
    path = folder / FILE
    path.write_text(f"[\n{text}\n]\n", encoding="utf-8")
    return path


if __name__ == "__main__":
    print(write())
