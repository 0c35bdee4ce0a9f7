"""Speed and memory of Rashomon Capacity and of the exact Rashomon set."""

import functools
import subprocess
import sys
from pathlib import Path

import literal_multiplicity as literal
import numpy as np
from bench import Line, timed

import pvf

HERE = Path(__file__).resolve().parent


def many_class_scores(n_models, n_samples, n_classes, seed=0):
    """Scores of models that agree about as well as retrained networks do."""
    rng = np.random.default_rng(seed)
    centre = rng.dirichlet(np.full(n_classes, 0.5), n_samples)
    weight = rng.standard_gamma(
        np.broadcast_to(30 * centre + 0.05, (n_models, n_samples, n_classes))
    )
    return weight / weight.sum(axis=2, keepdims=True)


def literal_two_classes(positive):
    """Run the literal per-sample loop on two classes."""
    return [
        literal.blahut_arimoto(np.column_stack([1 - scores, scores]))[0] for scores in positive.T
    ]


def bench_two_classes():
    """Time the closed form for 50,000 samples and 100 models."""
    scores = np.random.default_rng(0).beta(3, 3, (100, 50_000))
    pvf.rashomon_capacity(scores[:, :10])
    fast, capacity = timed(functools.partial(pvf.rashomon_capacity, scores))
    few = 20
    slow, found = timed(functools.partial(literal_two_classes, scores[:, :few]))
    assert (np.array(found) <= np.log2(capacity[:few]) + 1e-12).all()  # a lower bound, always
    per_sample = slow / few * scores.shape[1]
    return [
        Line("two-class capacity, 50,000 samples x 100 models", fast, "s", at_most=2),
        Line(f"    plain Blahut-Arimoto loop, from {few} samples", per_sample, "s"),
        Line("    times faster", per_sample / fast, "x", at_least=20),
    ]


def bench_many_classes():
    """Time the certified many-class capacity against the plain loop over samples."""
    lines = []
    few = 40
    for n_models, n_classes in ((100, 3), (100, 10)):
        scores = many_class_scores(n_models, 2000, n_classes)
        pvf.rashomon_capacity(scores[:, :10])
        fast, (capacity, gap) = timed(
            functools.partial(pvf.rashomon_capacity, scores, return_gap=True)
        )
        slow, found = timed(
            lambda scores=scores: [literal.blahut_arimoto(scores[:, i])[0] for i in range(few)]
        )
        short = np.log2(capacity[:few]) - np.array(found)
        name = f"{n_models} models, {n_classes} classes"
        per_sample = 1e3 * fast / scores.shape[1]
        lines += [
            Line(f"certified capacity, {name}, per sample", per_sample, "ms"),
            Line("    largest certified gap, in 1e-9 bits", gap.max() * 1e9, "", at_most=1),
            Line("    plain Blahut-Arimoto loop, per sample", 1e3 * slow / few, "ms"),
            Line("    by which it is short at worst, in 1e-9 bits", short.max() * 1e9, ""),
            Line("    times faster", slow / few / (fast / scores.shape[1]), "x", at_least=5),
        ]
    return lines


_MILLION = """
import time
import numpy as np
import pvf

def resident(field):
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith(field)) / 1024

rng = np.random.default_rng(0)
scores = np.empty((100, 1_000_000))
for row in scores:
    rng.random(out=row)
pvf.rashomon_capacity(scores[:, :10])
before = resident("VmRSS:")
start = time.perf_counter()
capacity = pvf.rashomon_capacity(scores)
print(time.perf_counter() - start, resident("VmHWM:") - before)
"""


def bench_million_samples():
    """Time a million samples of 100 models, and measure the memory beyond the scores."""
    if not Path("/proc/self/status").exists():
        print("peak memory: read from /proc, which this system lacks; not measured")
        return []
    done = subprocess.run(
        [sys.executable, "-c", _MILLION],
        check=True,
        capture_output=True,
        text=True,
        cwd=HERE.parent,
    )
    seconds, megabytes = map(float, done.stdout.split())
    return [
        Line("two-class capacity, 1,000,000 samples x 100 models", seconds, "s", at_most=20),
        Line("    peak memory beyond the scores", megabytes, "MiB", at_most=256 + 100),
    ]


def bench_exact_perturbation():
    """Time the exact extreme scores against one general solver call per sample."""
    from sklearn.datasets import make_classification  # noqa: PLC0415
    from sklearn.linear_model import LogisticRegression  # noqa: PLC0415

    X, y = make_classification(5000, 20, n_informative=10, flip_y=0.2, random_state=0)
    model = LogisticRegression(tol=1e-8, max_iter=1000).fit(X, y)
    fast, (scores, gap) = timed(
        lambda: pvf.perturb_scores(model, X, y, X[:1000], 0.01, return_gap=True)
    )
    design = np.column_stack([X, np.ones(len(X))])
    ridge = np.append(np.full(20, 1 / len(y)), 0)
    share = np.full(len(y), 1 / len(y))
    few = 3
    slow, found = timed(
        lambda: [literal.largest_logit(x, design, y, ridge, share, 0.01) for x in design[:few]]
    )
    difference = np.abs(1 / (1 + np.exp(-np.array(found))) - scores[1, :few]).max()
    name = "exact extreme scores, 5,000 training rows, 20 features, per score"
    per_score = 1e3 * fast / scores.size
    return [
        Line(name, per_score, "ms"),
        Line("    largest certified gap, in 1e-9", gap.max() * 1e9, "", at_most=1),
        Line("    SLSQP, per score", 1e3 * slow / few, "ms"),
        Line("    largest difference, in 1e-9", difference * 1e9, "", at_most=5000),
        Line("    times faster", 1e3 * slow / few / per_score, "x", at_least=20),
    ]


BENCHES = [bench_two_classes, bench_many_classes, bench_million_samples, bench_exact_perturbation]
