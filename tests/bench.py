"""Measure speed and memory; each line states what is demanded, and the exit code whether it holds.

``python tests/bench.py`` runs every measurement, ``python tests/bench.py NAME`` those whose name
holds NAME. Other measurements join from files ``tests/bench_*.py`` with a list ``BENCHES`` of
functions, each of which returns a `Line` or several.
"""

import functools
import importlib
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]  # for a checkout that is not installed


@dataclass(frozen=True)
class Line:
    """One measured number and the bound that it is held to."""

    name: str
    value: float
    unit: str
    at_least: float | None = None
    at_most: float | None = None

    @property
    def holds(self):
        """Whether the number keeps its bounds."""
        above = self.at_least is None or self.value >= self.at_least
        return above and (self.at_most is None or self.value <= self.at_most)

    def __str__(self):
        demanded = " ".join(
            f"{word} {bound:g} {self.unit}".rstrip()
            for word, bound in (("at least", self.at_least), ("at most", self.at_most))
            if bound is not None
        )
        verdict = "ok" if self.holds else "MISSED"
        end = f"   demanded: {demanded}: {verdict}" if demanded else ""
        return f"{self.name:<72} {self.value:10.2f} {self.unit:<4}{end}".rstrip()


def timed(function):
    """Return (seconds, result) of one call."""
    start = time.perf_counter()
    result = function()
    return time.perf_counter() - start, result


def hundred_trees():
    """Return 100 depth-4 trees of 70% subsamples, and 20 samples of 30 features to validate on."""
    import numpy as np  # noqa: PLC0415  a bench may run alone, without the others' imports
    from sklearn.datasets import make_classification  # noqa: PLC0415
    from sklearn.tree import DecisionTreeClassifier  # noqa: PLC0415

    rng = np.random.default_rng(0)
    X, y = make_classification(120, 30, n_informative=6, weights=[0.6], random_state=0)
    trees = []
    for _ in range(100):
        rows = rng.choice(100, 70, replace=False)
        tree = DecisionTreeClassifier(max_depth=4, random_state=int(rng.integers(2**31)))
        trees.append(tree.fit(X[rows], y[rows]))
    return trees, X[100:], y[100:]


def bench_literal_loop():
    """Time Algorithm 1 against the literal loop, on the same sets with the same scores."""
    import literal  # noqa: PLC0415  a bench may run alone, without the others' imports
    import numpy as np  # noqa: PLC0415

    import pvf  # noqa: PLC0415

    trees, X, y = hundred_trees()
    run = functools.partial(
        pvf.perturbation_validation,
        trees,
        X,
        y,
        perturbation=pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X),
        scoring=pvf.intervention_efficiency_scorer(0.3),
        n_sets=100,
        n_replicas=7,
        random_state=0,
    )
    run(n_sets=2)  # what is imported at first use is no part of the measurement

    def literal_scores(*, common_noise):
        def generator(q, m):
            key = (0, m) if common_noise else (1, q, m)
            return np.random.default_rng(np.random.SeedSequence(0, spawn_key=key))

        perturbers = [literal.add_noise(0.2)] * 30
        metric = literal.efficiency(0.3)
        quartile = functools.partial(np.quantile, q=0.25)
        return literal.validate(trees, X, y, perturbers, metric, 100, 7, quartile, generator)[0]

    lines = []
    for common_noise, name in ((True, "common noise (default)"), (False, "noise for each model")):
        slow, expected = timed(functools.partial(literal_scores, common_noise=common_noise))
        fast, result = timed(functools.partial(run, common_noise=common_noise))
        np.testing.assert_allclose(result.scores, expected, rtol=1e-12)
        lines += [
            Line(f"literal loop, {name}: 100 trees, 20 rows, 30 features, M=100, k=7", slow, "s"),
            Line("    perturbation_validation, same scores", fast, "s"),
            Line("    times faster", slow / fast, "x", at_least=20 if common_noise else None),
        ]
    return lines


_MEMORY = """
import numpy as np
from sklearn.tree import DecisionTreeClassifier
import pvf

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

rng = np.random.default_rng(0)
X = rng.standard_normal(({n}, 30))
y = (X[:, 0] + rng.standard_normal({n}) > 0).astype(int)
trees = [DecisionTreeClassifier(max_depth=d).fit(X[:500], y[:500]) for d in (1, 2)]
perturbation = pvf.Perturbation(pvf.GaussianNoise(0.2)).fit(X)
settings = dict(perturbation=perturbation, random_state=0)
pvf.perturbation_validation(trees, X[:9], y[:9], scoring={scoring!r}, n_sets=2, **settings)
before = resident("VmRSS:")
pvf.perturbation_validation(
    trees, X, y, scoring={scoring!r}, n_sets=100, n_replicas=7, memory_budget={budget}, **settings
)
print(resident("VmHWM:") - before)
"""


def bench_memory():
    """Measure the rise of peak memory with 10 million perturbed rows, in a fresh process."""
    if not Path("/proc/self/status").exists():
        print("peak memory: read from /proc, which this system lacks; not measured")
        return []
    budget = 256
    lines = []
    for scoring in ("f1", "roc_auc"):
        script = _MEMORY.format(n=14286, scoring=scoring, budget=budget)
        done = subprocess.run(
            [sys.executable, "-c", script],
            check=True,
            capture_output=True,
            text=True,
            cwd=HERE.parent,
        )
        name = f"peak memory, M*k*n = 10 million rows of 30 features, 2 trees, {scoring}"
        lines.append(Line(name, float(done.stdout), "MiB", at_most=budget + 100))
    return lines


BENCHES = [bench_literal_loop, bench_memory]


def all_benches():
    """Return the measurements of this file and of its siblings."""
    siblings = [importlib.import_module(path.stem) for path in sorted(HERE.glob("bench_*.py"))]
    return [*BENCHES, *(bench for module in siblings for bench in module.BENCHES)]


def main(pattern=""):
    """Run and print the measurements; return how many bounds were missed."""
    n_missed = 0
    for bench in all_benches():
        if pattern in bench.__name__:
            lines = bench()
            for line in [lines] if isinstance(lines, Line) else lines:
                print(line, flush=True)
                n_missed += not line.holds
    return n_missed


if __name__ == "__main__":
    sys.exit(min(main(*sys.argv[1:2]), 1))
