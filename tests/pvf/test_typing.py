"""A user's script passes mypy --strict."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("mypy")

SCRIPT = """
import numpy as np
import pandas as pd
import pvf

X, y = np.zeros((4, 2)), np.array([0, 1, 0, 1])
noise = pvf.Perturbation.from_measurement_error({0: 5, 1: "10%"}, bounds={1: (0, None)})
result = pvf.perturbation_validation([], X, y, perturbation=noise, scoring="f1")
best: str = result.best_name
frame: pd.DataFrame = result.to_frame()
both = pvf.perturbation_validation(
    {}, X, y, perturbation=noise, scoring={"a": "f1"}, tie_break="last"
)
one: float = float(both["a"].aggregated[0])
scorer = pvf.perturbation_scorer("f1", perturbation=noise, random_state=np.random.default_rng(0))
value: float = scorer(None, X, y)
audit = pvf.audit({}, X, y, scoring="f1", perturbation=noise, factors=(0.5, 1))
lead: pd.DataFrame = audit.differences
chosen: str = audit.best_name
shares: dict[str, float] = audit.summary
display: pvf.MultiplicityDisplay = pvf.MultiplicityDisplay.from_estimators([], X, y)
rule = pvf.refit_by("one_standard_error", complexity="max_depth")
mechanism: pvf.Mechanism = pvf.GaussianNoise(1.0, low=0, at_bounds="truncate")
"""


def strict(path: Path, script: str) -> str:
    path.write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports"]
    root = Path(__file__).parents[2]
    done = subprocess.run(
        [*command, str(path)], cwd=root, capture_output=True, text=True, check=False
    )
    return "\n".join(line for line in done.stdout.splitlines() if path.name in line)


@pytest.mark.slow
def test_a_user_s_script_is_strictly_typed(tmp_path):
    """Results have types, choices are literal, and slips are found."""
    assert strict(tmp_path / "good.py", SCRIPT) == ""
    wrong = strict(tmp_path / "wrong.py", SCRIPT + 'a: int = result.best_name\npvf.refit_by("x")\n')
    assert "[assignment]" in wrong
    assert "[arg-type]" in wrong
