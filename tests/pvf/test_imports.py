"""What `import pvf` brings along, and what is said where an optional package is missing."""

import subprocess
import sys

import pytest

from pvf.multiplicity import networks

HEAVY = ("matplotlib", "seaborn", "torch", "numba")


def run(script: str) -> None:
    """Run a script in a fresh interpreter."""
    subprocess.run([sys.executable, "-c", script], check=True)


def test_import_brings_nothing_that_only_some_need():
    """Importing all of pvf, with its networks, loads no plots, PyTorch or compiler."""
    run(
        "import sys, pvf, pvf.selection, pvf.multiplicity.networks\n"
        f"assert not [name for name in {HEAVY} if name in sys.modules]\n"
    )


def test_pytorch_is_imported_only_for_modules():
    """Perturbing a logistic regression leaves PyTorch alone."""
    run(
        "import sys, pvf, numpy as np\n"
        "from sklearn.linear_model import LogisticRegression\n"
        "X = np.arange(12.0).reshape(6, 2) % 5; y = np.array([0, 1, 0, 1, 1, 0])\n"
        "pvf.perturb_scores(LogisticRegression().fit(X, y), X, y, X, 0.1)\n"
        "assert 'torch' not in sys.modules\n"
    )


def test_missing_pytorch_is_named(monkeypatch):
    """Where PyTorch is missing, the error says how to install it."""
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ModuleNotFoundError, match=r"pip install 'pvf\[torch\]'"):
        networks.torch.ones(1)
