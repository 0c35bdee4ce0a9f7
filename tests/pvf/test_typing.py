"""A user's script passes mypy --strict, and pyright."""

import json
import shutil
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


ROOT = Path(__file__).parents[2]
SLIPS = 'a: int = result.best_name\npvf.refit_by("x")\n'
PYRIGHT = shutil.which("pyright") or shutil.which("basedpyright")


def strict(path: Path, script: str) -> str:
    path.write_text(script)
    command = [sys.executable, "-m", "mypy", "--strict", "--ignore-missing-imports"]
    done = subprocess.run(
        [*command, str(path)], cwd=ROOT, capture_output=True, text=True, check=False
    )
    return "\n".join(line for line in done.stdout.splitlines() if path.name in line)


@pytest.mark.slow
def test_a_user_s_script_is_strictly_typed(tmp_path):
    """Results have types, choices are literal, and slips are found."""
    assert strict(tmp_path / "good.py", SCRIPT) == ""
    wrong = strict(tmp_path / "wrong.py", SCRIPT + SLIPS)
    assert "[assignment]" in wrong
    assert "[arg-type]" in wrong


@pytest.mark.slow
@pytest.mark.skipif(PYRIGHT is None, reason="needs pyright or basedpyright, which bring Node.js")
@pytest.mark.parametrize(("more", "rules"), [("", []), (SLIPS, ["Assignment", "Argument"])])
def test_pyright_says_the_same(tmp_path, more, rules):
    """In its strict mode, but for stubs that other packages lack."""
    (tmp_path / "script.py").write_text(SCRIPT + more)
    settings = {"typeCheckingMode": "strict", "extraPaths": [str(ROOT)]}
    settings["reportMissingTypeStubs"] = False
    (tmp_path / "pyrightconfig.json").write_text(json.dumps(settings))
    command = [str(PYRIGHT), "--outputjson", "--pythonpath", sys.executable, "-p", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    found = [one["rule"] for one in json.loads(done.stdout)["generalDiagnostics"]]
    assert [rule in name for rule, name in zip(rules, found, strict=True)] == [True] * len(rules)
