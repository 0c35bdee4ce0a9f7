"""Tables, figures and verdicts of the chapter on Rashomon Capacity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import PercentFormatter
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pvf import plotting
from pvf.multiplicity import (
    ambiguity,
    decisions,
    discrepancy,
    rashomon_capacity,
)
from studies.capacity2022 import run as multiplicity
from studies.data.datasets import DataUnavailableError
from studies.kit.claims import Finding, verdict
from studies.kit.results import read_result

__all__ = [
    "CLAIMS",
    "EQUATION_7",
    "TERNARY",
    "broken_properties",
    "check_definition",
    "check_support",
    "decide_ambiguity",
    "decide_awp_against_sampling",
    "decide_definition",
    "decide_equation_7",
    "decide_greedy",
    "decide_growth",
    "decide_remedies",
    "decide_share_above_one",
    "decide_support",
    "decide_ternary",
    "figure_of_costs",
    "figure_of_curves",
    "figure_of_epochs",
    "figure_of_greedy",
    "figure_of_simplex",
    "figure_of_tails",
    "known_truth",
    "live_networks",
    "means",
    "missing_data",
    "paper_examples",
    "readable_decisions",
    "readable_logistic",
    "readable_networks",
    "readable_penalties",
    "readable_provenances",
    "readable_remedies",
    "readable_trainings",
]

Array = NDArray[np.float64]

CLAIMS = tuple(f"RC-{number}" for number in range(1, 11))
#: Scores of the two sets of equation (7), for one sample, of both classes.
EQUATION_7 = {
    "three models": [[0.45, 0.55], [0.50, 0.50], [0.60, 0.40]],
    "two models": [[0.85, 0.15], [0.10, 0.90]],
}
#: Scores of section 3.3.
TERNARY = [[0.49, 0.51, 0.0], [0.51, 0.49, 0.0]]
_DATASETS = {"adult": "Adult", "compas": "COMPAS"}
_MARKERS = ("o", "s", "D", "^", "v", "P")
_EPSILON = "Rashomon parameter ε (nats of loss)"
_TAIL = "Rashomon Capacity (effective classes)"


def _one(rows: ArrayLike) -> float:
    """Return the capacity of one sample from its scores, (models × classes)."""
    return float(rashomon_capacity(np.asarray(rows, dtype=float)[:, None, :])[0])


# --- means over splits ----------------------------------------------------------------------------


def means(table: pd.DataFrame, by: Sequence[str], columns: Sequence[str]) -> pd.DataFrame:
    """Mean over the splits, with standard error and 95% t interval.

    Parameters
    ----------
    table : DataFrame
        With a column ``repetition``, one row a repetition in each group.
    by : sequence of str
        What makes a group.
    columns : sequence of str
        What is averaged.

    Returns
    -------
    DataFrame
        One row a group; for each column the mean under its own name, ``_error``, ``_low`` and
        ``_high``.

    Raises
    ------
    ValueError
        If a group has a repetition twice.

    Examples
    --------
    >>> table = pd.DataFrame({"repetition": [0, 1], "way": ["a", "a"], "mean": [1.0, 2.0]})
    >>> means(table, ["way"], ["mean"])[["mean", "mean_error"]].iloc[0].tolist()
    [1.5, 0.5]
    """
    if table.duplicated([*by, "repetition"]).any():
        raise ValueError(f"by must make groups of single repetitions, got {list(by)}.")
    groups = table.groupby(list(by), sort=False, dropna=False)
    found = groups[list(columns)].mean()
    n = groups.size()
    for column in columns:
        error = groups[column].sem()
        half = stats.t.ppf(0.975, np.maximum(n - 1, 1)) * error
        found[f"{column}_error"] = error
        found[f"{column}_low"], found[f"{column}_high"] = found[column] - half, found[column] + half
    return found.reset_index()


def _difference(one: pd.DataFrame, two: pd.DataFrame, column: str) -> tuple[float, float, float]:
    """Return mean and 95% t interval of one minus two, split by split."""
    values = (one.set_index("repetition")[column] - two.set_index("repetition")[column]).dropna()
    if len(values) < 2:
        raise ValueError(f"tables must share at least 2 repetitions, got {len(values)}.")
    half = float(stats.t.ppf(0.975, len(values) - 1) * values.sem())
    middle = float(values.mean())
    return middle, middle - half, middle + half


def _last(networks: pd.DataFrame, dataset: str, training: str = "standardised") -> pd.DataFrame:
    """Return the rows after the last epoch of a training."""
    rows = networks[(networks["dataset"] == dataset) & (networks["training"] == training)]
    return rows[rows["epochs"] == rows["epochs"].max()]


# --- Definition 1, and the paper's examples -------------------------------------------------------


def paper_examples() -> pd.DataFrame:
    """Compute the examples that the paper gives in words.

    Returns
    -------
    DataFrame
        One row an example: ``models``, ``scores``, ``decisions`` (the capacities of both).

    Examples
    --------
    >>> paper_examples().round(3).iloc[:, 1:]
       models  scores  decisions
    0       3   1.011        2.0
    1       2   1.375        2.0
    2       2   1.000        2.0
    """
    examples = {
        "equation (7), three models": EQUATION_7["three models"],
        "equation (7), two models": EQUATION_7["two models"],
        "section 3.3, three classes": TERNARY,
    }
    rows = []
    for name, given in examples.items():
        scores = np.array(given)[:, None, :]
        rows.append(
            {
                "example": name,
                "models": len(given),
                "scores": float(rashomon_capacity(scores)[0]),
                "decisions": float(rashomon_capacity(decisions(scores))[0]),
            }
        )
    return pd.DataFrame(rows)


#: The four properties of Definition 1.
PROPERTIES = ("1 ≤ m ≤ c", "1 only for one score", "c only with all vertices", "monotone")


def check_definition(n_sets: int = 200, *, seed: int = 0) -> pd.DataFrame:
    """Look for sets of scores that break a property of Definition 1.

    Parameters
    ----------
    n_sets : int, default=200
        Random sets for each of two to five classes, of one to six models.
    seed : int, default=0

    Returns
    -------
    DataFrame
        One row a property: ``property``, how many sets were ``checked`` and how many ``broke`` it.
    """
    rng = np.random.default_rng(seed)
    broke = np.zeros((0, len(PROPERTIES)), dtype=bool)
    for n_classes in (2, 3, 4, 5):
        for _ in range(n_sets // 4 + 1):
            rows = rng.dirichlet(np.full(n_classes, 0.5), int(rng.integers(2, 7)))
            broke = np.vstack([broke, broken_properties(rows)])
    return pd.DataFrame({"property": PROPERTIES, "checked": len(broke), "broke": broke.sum(axis=0)})


def broken_properties(rows: Array, capacity: Any = _one) -> list[bool]:
    """Tell which properties of Definition 1 a metric breaks on a set, its parts and additions.

    Parameters
    ----------
    rows : ndarray of shape (n_models, n_classes)
        Scores of one sample.
    capacity : callable
        The metric, from such an array to a number.

    Returns
    -------
    list of bool
        In the order of the definition.
    """
    n_classes = rows.shape[1]
    vertices = np.eye(n_classes)
    value, alone = capacity(rows), capacity(np.repeat(rows[:1], 3, axis=0))
    everything, nearly = (
        capacity(np.vstack([rows, corners])) for corners in (vertices, vertices[:-1])
    )
    small = 1e-7
    return [
        not 1 - small <= value <= n_classes + small,
        abs(alone - 1) > small or (np.ptp(rows, axis=0).max() > 1e-3 and value <= 1),
        abs(everything - n_classes) > small or nearly > n_classes - 1e-12,
        capacity(rows[:-1] if len(rows) > 2 else np.repeat(rows[:1], 2, axis=0)) > value + small,
    ]


def check_support(n_sets: int = 100, n_models: int = 12, *, seed: int = 0) -> pd.DataFrame:
    """Compute the capacity again on the models that carry it (Proposition 2).

    Parameters
    ----------
    n_sets, n_models : int
        Random sets for each number of classes, and their size.
    seed : int, default=0

    Returns
    -------
    DataFrame
        One row a number of ``classes``: the most models with a weight (``largest_support``) and
        the largest ``loss`` of capacity, in bits, when all others are left out.
    """
    rng = np.random.default_rng(seed)
    found = []
    for n_classes in (2, 3, 5, 8):
        scores = rng.dirichlet(np.full(n_classes, 0.7), (n_models, n_sets))
        capacity, weights = rashomon_capacity(scores, return_weights=True)
        size = (weights > 0).sum(axis=0)
        loss = [np.log2(capacity[i] / _one(scores[weights[:, i] > 0, i])) for i in range(n_sets)]
        found.append(
            {
                "classes": n_classes,
                "models": n_models,
                "largest_support": int(size.max()),
                "loss": float(np.abs(loss).max()),
            }
        )
    return pd.DataFrame(found)


@plotting.style()
def figure_of_simplex() -> Figure:
    """Draw three sets of scores on the simplex of three classes, with their centroids.

    Returns
    -------
    matplotlib Figure
    """
    sets = {
        "nearly one score": [[0.5, 0.3, 0.2], [0.45, 0.33, 0.22], [0.52, 0.25, 0.23]],
        "two classes in conflict": [[0.9, 0.05, 0.05], [0.06, 0.88, 0.06], [0.5, 0.4, 0.1]],
        "every class given": [[1.0, 0, 0], [0, 1.0, 0], [0, 0, 1.0], [0.4, 0.3, 0.3]],
    }
    figure, panels = plt.subplots(1, len(sets), figsize=(7.4, 2.6))
    plt.close(figure)
    for axes, (title, given) in zip(panels, sets.items(), strict=True):
        _draw_simplex(axes, title, np.array(given))
    return figure


#: Where the corners of the simplex lie on the page.
_CORNERS = np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])


def _draw_simplex(axes: Axes, title: str, rows: Array) -> None:
    capacity, weights = rashomon_capacity(rows[:, None, :], return_weights=True)
    weight = weights[:, 0]
    outline = np.vstack([_CORNERS, _CORNERS[:1]])
    axes.plot(*outline.T, color="0.5", linewidth=1)
    centre = weight @ rows @ _CORNERS
    for point, share in zip(rows @ _CORNERS, weight, strict=True):
        if share > 0:
            axes.plot(*np.vstack([point, centre]).T, color="0.75", linewidth=1, zorder=1)
        axes.plot(
            *point,
            "o",
            color=plotting.PALETTE[0],
            markerfacecolor=plotting.PALETTE[0] if share > 0 else "white",
            markersize=7,
        )
    axes.plot(*centre, "+", color=plotting.PALETTE[1], markersize=13, markeredgewidth=2.5)
    for number, (corner, away) in enumerate(
        zip(_CORNERS, ((-8, -10), (8, -10), (0, 6)), strict=True)
    ):
        axes.annotate(
            f"class {number + 1}", corner, away, textcoords="offset points", ha="center", size=8
        )
    axes.set_title(f"{title}\n{capacity[0]:.3f} effective classes", size=9, loc="center")
    axes.set(aspect="equal", xlim=(-0.15, 1.15), ylim=(-0.15, 1.0))
    axes.axis("off")


# --- a known truth --------------------------------------------------------------------------------


def known_truth(
    *, n_models: int = 100, epsilons: Sequence[float] = (0.01, 0.05), seed: int = 0
) -> pd.DataFrame:
    """Run the four ways to look for models on simulated data, where the best possible is known.

    Parameters
    ----------
    n_models : int, default=100
        Sampled models.
    epsilons : sequence of float
    seed : int, default=0

    Returns
    -------
    DataFrame
        From `studies.capacity2022.run.logistic_ways`.
    """
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((1200, 5))
    logit = X @ [1.0, -0.7, 0.4, 0.0, 0.0] - 0.3
    y = (rng.random(len(X)) < 1 / (1 + np.exp(-logit))).astype(int)
    parts = multiplicity.make_parts(X, y, 1 / 6, seed=seed, repetition=0, scaling="standard")
    seeds = [int(value) for value in np.random.SeedSequence(seed).generate_state(n_models)]
    return multiplicity.logistic_ways(parts, epsilons, C=1.0, seeds=seeds)


def live_networks(full: pd.DataFrame, *, n_models: int, n_repetitions: int, seed: int) -> str:
    """Sample networks on this machine, if the data are here, and hold them against the table.

    Parameters
    ----------
    full : DataFrame
        The committed results of `studies.capacity2022.run.run_networks`.
    n_models, n_repetitions, seed : int
        As there.

    Returns
    -------
    str
        One paragraph in Markdown: what was found, or what is missing and what would run.
    """
    try:
        table = multiplicity.run_networks(
            datasets=["compas"],
            trainings=["standardised"],
            n_models=n_models,
            n_repetitions=n_repetitions,
            seed=seed,
            n_jobs=-1 if n_repetitions > 1 else 1,
        )
    except DataUnavailableError as error:
        return (
            "**The live part of this page did not run**: the COMPAS data are not on this machine. "
            "All numbers and figures below come from the committed full results; nothing stands in "
            f"for the data. {str(error).splitlines()[0]}"
        )
    ours, theirs = (
        _last(part, "compas").query("way == 'seeds' and epsilon == 0.01") for part in (table, full)
    )
    splits = f"each of {n_repetitions} splits" if n_repetitions > 1 else "one split"
    return (
        f"This run trained {n_models} networks on COMPAS in {splits}: at ε = 0.01 the mean "
        f"capacity is {ours['mean'].mean():.4f} and the top 5% have "
        f"{ours['tail5'].mean():.3f}. The full results, with "
        f"{int(theirs['n_trained'].max())} networks in each of "
        f"{theirs['repetition'].nunique()} splits, have {theirs['mean'].mean():.4f} and "
        f"{theirs['tail5'].mean():.3f}; more models disagree more."
    )


def readable_provenances(names: Sequence[str]) -> pd.DataFrame:
    """Return where full-scale tables come from, one row a table.

    Parameters
    ----------
    names : sequence of str
        Of tables in ``book/results``.

    Returns
    -------
    DataFrame
    """
    rows = {}
    for name in names:
        facts = read_result(name)[1]
        rows[name] = {
            "commit": facts["git"]["commit"][:10],
            "seed": facts["seed"],
            "settings": ", ".join(f"{key} = {value}" for key, value in facts["settings"].items()),
            "minutes": f"{facts['wall_time'] / 60:.1f}",
            "cores": facts["machine"]["cores"],
            "scikit-learn": facts["packages"]["scikit-learn"],
            "PyTorch": facts["packages"].get("torch", "–"),
        }
    return pd.DataFrame.from_dict(rows, orient="index")


def missing_data() -> pd.DataFrame:
    """Return what the paper shows on data that are not to be had freely, and what would run.

    Returns
    -------
    DataFrame
        One row a data set.
    """
    rows = [
        {
            "data set": "HSLS:09",
            "missing here": "the public-use student file of the US National Center for Education "
            "Statistics, which has to be asked for; the authors' imputed copy is not published",
            "loader": "studies.data.datasets.load_hsls()",
            "what would run": "run_networks and run_awp on its features, as for COMPAS",
        },
        {
            "data set": "CIFAR-10",
            "missing here": "60,000 pictures, ten classes, a pretrained VGG16, and the graphics "
            "card to perturb it",
            "loader": "studies.data.datasets.load_cifar10()",
            "what would run": "perturb_scores on the network and rashomon_capacity of ten classes, "
            "both of which take any number of classes",
        },
    ]
    return pd.DataFrame(rows).set_index("data set")


# --- tables ---------------------------------------------------------------------------------------


def _with_error(found: pd.DataFrame, column: str, spec: str = ".3f") -> list[str]:
    return [
        f"{middle:{spec}}" if np.isnan(error) else f"{middle:{spec}}\u00a0±\u00a0{error:{spec}}"
        for middle, error in zip(found[column], found[f"{column}_error"], strict=True)
    ]


_WAYS = {
    "seeds": "sampling, other seeds",
    "resamples": "sampling, resampled data",
    "AWP": "AWP, gradient steps",
    "exact": "exact optimum",
}


def readable_logistic(table: pd.DataFrame, *, epsilon: float = 0.01) -> pd.DataFrame:
    """Set what each way finds around a logistic regression beside what is possible, with its cost.

    Parameters
    ----------
    table : DataFrame
        From `studies.capacity2022.run.run_logistic`, or of `known_truth`.
    epsilon : float, default=0.01

    Returns
    -------
    DataFrame
        One row a data set and way.
    """
    rows = _weakest_penalty(table)
    rows = rows[rows["epsilon"] == epsilon]
    if "dataset" not in rows:
        rows = rows.assign(dataset="simulated", repetition=0)
    columns = ["mean", "tail5", "ambiguity", "seconds", "n_trained"]
    found = means(rows, ["dataset", "way"], columns)
    best = found[found["way"] == "exact"].set_index("dataset")["mean"]
    found["share"] = 100 * (found["mean"] - 1) / (found["dataset"].map(best) - 1)
    return pd.DataFrame(
        {
            "data": found["dataset"].map(lambda name: _DATASETS.get(name, name)),
            "way": found["way"].map(_WAYS),
            "models trained": found["n_trained"].map("{:.0f}".format),
            "seconds": found["seconds"].map("{:.2f}".format),
            "mean capacity": _with_error(found, "mean", ".4f"),
            "top 5%": _with_error(found, "tail5"),
            "of the possible (%)": found["share"].map("{:.1f}".format),
            "decisions in conflict (%)": (100 * found["ambiguity"]).map("{:.1f}".format),
        }
    ).set_index(["data", "way"])


def _weakest_penalty(table: pd.DataFrame) -> pd.DataFrame:
    return table if "penalty" not in table else table[table["penalty"] == table["penalty"].max()]


def readable_networks(
    networks: pd.DataFrame, awp: pd.DataFrame, *, epsilon: float = 0.01
) -> pd.DataFrame:
    """Set sampling beside AWP on the same persons and networks, with their cost.

    Parameters
    ----------
    networks, awp : DataFrame
        From `studies.capacity2022.run.run_networks` and `run_awp`.
    epsilon : float, default=0.01

    Returns
    -------
    DataFrame
        One row a data set and way.
    """
    frames = []
    for dataset, name in _DATASETS.items():
        for way, rows in _paired_ways(networks, awp, dataset).items():
            columns = ["mean", "tail1", "tail5", "above", "ambiguity", "n_models", "seconds"]
            rows = rows[rows["epsilon"] == epsilon]  # noqa: PLW2901
            found = means(rows, ["n_trained"], columns)
            seconds = _seconds_for_all(networks, rows, dataset)
            frames.append(
                pd.DataFrame(
                    {
                        "data": name,
                        "way": way,
                        "models trained": found["n_trained"].map("{:.0f}".format),
                        "seconds": found["seconds"].map("{:.0f}".format),
                        "for all persons": [f"{seconds:.0f}"],
                        "mean capacity": _with_error(found, "mean", ".4f"),
                        "top 5%": _with_error(found, "tail5"),
                        "top 1%": _with_error(found, "tail1"),
                        "above 1.01 (%)": (100 * found["above"]).map("{:.0f}".format),
                        "decisions in conflict (%)": (100 * found["ambiguity"]).map(
                            "{:.0f}".format
                        ),
                    }
                )
            )
    return pd.concat(frames).set_index(["data", "way"])


def _seconds_for_all(networks: pd.DataFrame, rows: pd.DataFrame, dataset: str) -> float:
    """Return the time for the whole test part: searches are made for each person, training once."""
    seconds = float(rows["seconds"].mean())
    if rows["way"].iloc[0] != "AWP":
        return seconds
    everybody = _last(networks, dataset).query("way == 'seeds'")["n_samples"].iloc[0]
    return seconds * float(everybody) / float(rows["n_samples"].iloc[0])


def _paired_ways(
    networks: pd.DataFrame, awp: pd.DataFrame, dataset: str
) -> dict[str, pd.DataFrame]:
    """Return the rows of sampling and of AWP on the same persons."""
    sampled = _last(networks, dataset)
    return {
        "sampling, other seeds": sampled[sampled["way"] == "seeds, some samples"],
        "AWP, gradient steps": _perturbed(awp, dataset, "standardised"),
    }


def _perturbed(awp: pd.DataFrame, dataset: str, training: str) -> pd.DataFrame:
    return awp[(awp["dataset"] == dataset) & (awp["training"] == training)]


def readable_decisions(networks: pd.DataFrame, awp: pd.DataFrame) -> pd.DataFrame:
    """Set multiplicity in scores beside multiplicity in decisions, over epsilon.

    Parameters
    ----------
    networks, awp : DataFrame
        From `studies.capacity2022.run.run_networks` and `run_awp`.

    Returns
    -------
    DataFrame
        One row a data set, way and epsilon.
    """
    frames = []
    for dataset, name in _DATASETS.items():
        sampled = _last(networks, dataset)
        ways = {
            "sampling": sampled[sampled["way"] == "seeds"],
            "AWP": _paired_ways(networks, awp, dataset)["AWP, gradient steps"],
        }
        for way, rows in ways.items():
            found = means(
                rows, ["epsilon"], ["n_models", "above", "mean", "ambiguity", "discrepancy"]
            )
            percent = {
                column: [
                    "–" if np.isnan(value) else f"{100 * value:.1f}" for value in found[column]
                ]
                for column in ("above", "ambiguity", "discrepancy")
            }
            frames.append(
                pd.DataFrame(
                    {
                        "data": name,
                        "way": way,
                        "ε": found["epsilon"].map("{:g}".format),
                        "models": found["n_models"].map("{:.0f}".format),
                        "scores: mean capacity": found["mean"].map("{:.4f}".format),
                        "scores: above 1.01 (%)": percent["above"],
                        "decisions: ambiguity (%)": percent["ambiguity"],
                        "decisions: discrepancy (%)": percent["discrepancy"],
                    }
                )
            )
    return pd.concat(frames).set_index(["data", "way", "ε"])


def readable_remedies(networks: pd.DataFrame, *, epsilon: float = 0.05) -> pd.DataFrame:
    """Set each remedy beside what it starts from.

    Parameters
    ----------
    networks : DataFrame
        From `studies.capacity2022.run.run_networks`.
    epsilon : float, default=0.05

    Returns
    -------
    DataFrame
        One row a data set and way.
    """
    frames = []
    for dataset, name in _DATASETS.items():
        rows = _last(networks, dataset)
        rows = rows[(rows["epsilon"] == epsilon) & ~rows["way"].str.startswith("seeds")]
        found = means(
            rows, ["way"], ["mean", "tail5", "calibration_error", "n_models", "ambiguity"]
        )
        frames.append(
            pd.DataFrame(
                {
                    "data": name,
                    "models": found["way"],
                    "in the set": found["n_models"].map("{:.0f}".format),
                    "mean capacity": _with_error(found, "mean", ".4f"),
                    "top 5%": _with_error(found, "tail5"),
                    "decisions in conflict (%)": (100 * found["ambiguity"]).map("{:.1f}".format),
                    "calibration error": _with_error(found, "calibration_error"),
                }
            )
        )
    return pd.concat(frames).set_index(["data", "models"])


def readable_trainings(
    networks: pd.DataFrame, awp: pd.DataFrame, *, epsilon: float = 0.05
) -> pd.DataFrame:
    """Set the trainings of networks side by side, at one epsilon.

    Parameters
    ----------
    networks, awp : DataFrame
        From `studies.capacity2022.run.run_networks` and `run_awp`.
    epsilon : float, default=0.05

    Returns
    -------
    DataFrame
        One row a data set, network and way.
    """
    frames = []
    columns = ["loss", "accuracy", "n_models", "n_trained", "mean", "tail5", "ambiguity"]
    for dataset, name in _DATASETS.items():
        kinds = {
            ("two layers, standardised", "sampling"): _last(networks, dataset),
            ("two layers, unscaled", "sampling"): _last(networks, dataset, "unscaled"),
            ("two layers, standardised", "AWP"): _perturbed(awp, dataset, "standardised"),
            ("the paper's, unscaled", "AWP"): _perturbed(awp, dataset, "paper"),
        }
        for (network, way), rows in kinds.items():
            shown = rows[rows["way"].isin(["seeds", "AWP"]) & (rows["epsilon"] == epsilon)]
            found = means(shown, ["n_samples"], columns)
            members = [
                f"{inside:.0f} of {trained:.0f}" if way == "sampling" else "–"
                for inside, trained in zip(found["n_models"], found["n_trained"], strict=True)
            ]
            frames.append(
                pd.DataFrame(
                    {
                        "data": name,
                        "network": network,
                        "way": way,
                        "within ε": members,
                        "loss": found["loss"].map("{:.3f}".format),
                        "accuracy": found["accuracy"].map("{:.3f}".format),
                        "mean capacity": _with_error(found, "mean", ".4f"),
                        "top 5%": _with_error(found, "tail5"),
                        "decisions in conflict (%)": _percent(found["ambiguity"]),
                    }
                )
            )
    return pd.concat(frames).set_index(["data", "network", "way"])


def _percent(values: pd.Series, digits: int = 1) -> list[str]:
    return ["–" if np.isnan(value) else f"{100 * value:.{digits}f}" for value in values]


def readable_penalties(logistic: pd.DataFrame, *, epsilon: float = 0.01) -> pd.DataFrame:
    """Set the capacity of penalised logistic regressions over the strength of the penalty.

    Parameters
    ----------
    logistic : DataFrame
        From `studies.capacity2022.run.run_logistic`.
    epsilon : float, default=0.01

    Returns
    -------
    DataFrame
        One row a data set and penalty.
    """
    rows = logistic[(logistic["way"] == "exact") & (logistic["epsilon"] == epsilon)]
    found = means(rows, ["dataset", "penalty"], ["mean", "tail5", "ambiguity", "accuracy"])
    return pd.DataFrame(
        {
            "data": found["dataset"].map(_DATASETS),
            "C for 1,000 persons": found["penalty"].map("{:g}".format),
            "accuracy": found["accuracy"].map("{:.3f}".format),
            "mean capacity": _with_error(found, "mean", ".4f"),
            "top 5%": _with_error(found, "tail5"),
            "decisions in conflict (%)": _percent(found["ambiguity"]),
        }
    ).set_index(["data", "C for 1,000 persons"])


# --- figures --------------------------------------------------------------------------------------


def _panels(n: int, size: tuple[float, float], **options: Any) -> tuple[Figure, list[Axes]]:
    """Make a figure that a notebook shows once, where it is returned."""
    figure, panels = plt.subplots(1, n, figsize=size, squeeze=False, **options)
    plt.close(figure)
    return figure, list(panels[0])


@plotting.style()
def figure_of_tails(networks: pd.DataFrame, awp: pd.DataFrame) -> Figure:
    """Draw the mean capacity of the top 1% and 5% over epsilon, as the paper's Fig. 3 does.

    Parameters
    ----------
    networks, awp : DataFrame
        From `studies.capacity2022.run.run_networks` and `run_awp`.

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(2, (7.4, 3.5), sharey=True)
    for axes, (dataset, name) in zip(panels, _DATASETS.items(), strict=True):
        for number, (way, rows) in enumerate(_paired_ways(networks, awp, dataset).items()):
            found = means(rows, ["epsilon"], ["tail1", "tail5"])
            for column, dash, label in (("tail1", "-", "top 1%"), ("tail5", "--", "top 5%")):
                axes.errorbar(
                    found["epsilon"],
                    found[column],
                    found[f"{column}_error"],
                    fmt=_MARKERS[number],
                    linestyle=dash,
                    color=plotting.PALETTE[number],
                    markerfacecolor="white" if dash == "--" else plotting.PALETTE[number],
                    markersize=5,
                    capsize=3,
                    label=f"{way.split(',')[0]}, {label}",
                )
        axes.set(title=name, xlabel=_EPSILON, ylim=(0.98, 2.02), xlim=(0, 0.105))
    panels[0].set_ylabel(f"Mean {_TAIL.replace('Rashomon Capacity', 'capacity')}")
    panels[0].legend(loc="center right", fontsize=8)
    return figure


@plotting.style()
def figure_of_curves(networks: pd.DataFrame, awp: pd.DataFrame) -> Figure:
    """Draw the cumulative distribution of the capacity that AWP finds, one line an epsilon.

    Parameters
    ----------
    networks, awp : DataFrame
        From `studies.capacity2022.run.run_networks` and `run_awp`; sampling at the smallest
        epsilon stands beside AWP.

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(2, (7.4, 3.5), sharey=True)
    columns = [f"q{q}" for q in multiplicity.QUANTILES]
    shares = np.array(multiplicity.QUANTILES) / 100
    for axes, (dataset, name) in zip(panels, _DATASETS.items(), strict=True):
        ways = _paired_ways(networks, awp, dataset)
        lines = {
            f"AWP, ε = {epsilon:g}": rows
            for epsilon, rows in ways["AWP, gradient steps"].groupby("epsilon")
        }
        sampled = ways["sampling, other seeds"]
        smallest = sampled["epsilon"].min()
        lines[f"sampling, ε = {smallest:g}"] = sampled[sampled["epsilon"] == smallest]
        for number, (label, rows) in enumerate(lines.items()):
            found = means(rows, ["way"], columns)
            low, middle, high = (
                found[[f"{column}{end}" for column in columns]].to_numpy()[0]
                for end in ("_low", "", "_high")
            )
            colour = plotting.PALETTE[number]
            axes.plot(middle, shares, color=colour, linestyle="-:"[label[0] == "s"], label=label)
            axes.fill_betweenx(
                shares,
                np.clip(low, 1, 2),
                np.clip(high, 1, 2),
                color=colour,
                alpha=0.15,
                linewidth=0,
            )
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set(title=name, xlabel=_TAIL, xlim=(0.98, 2.02), ylim=(0, 1.02))
    panels[0].set_ylabel("Share of persons at or below")
    panels[1].legend(loc="lower right", fontsize=8)
    return figure


@plotting.style()
def figure_of_epochs(networks: pd.DataFrame, *, epsilon: float = 0.01) -> Figure:
    """Draw loss, and capacity of the sampled set, over the epochs of training on COMPAS.

    Parameters
    ----------
    networks : DataFrame
        From `studies.capacity2022.run.run_networks`.
    epsilon : float, default=0.01

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(2, (7.4, 3.3))
    rows = networks[
        (networks["dataset"] == "compas")
        & (networks["way"] == "seeds")
        & (networks["epsilon"] == epsilon)
    ]
    labels = {"slow": "the paper's optimiser (SGD)", "standardised": "Adam"}
    for number, (training, label) in enumerate(labels.items()):
        found = means(rows[rows["training"] == training], ["epochs"], ["loss", "mean"])
        for axes, column in zip(panels, ("loss", "mean"), strict=True):
            axes.errorbar(
                found["epochs"],
                found[column],
                found[f"{column}_error"],
                fmt=_MARKERS[number] + "-",
                color=plotting.PALETTE[number],
                markersize=5,
                capsize=3,
                label=label,
            )
    for axes, text in zip(
        panels, ("Loss of the best model (nats)", "Mean capacity (effective classes)"), strict=True
    ):
        axes.set(xscale="log", xlabel="Epochs of training", ylabel=text)
        marks = sorted(rows.loc[rows["training"].isin(labels), "epochs"].unique())
        axes.set_xticks(marks, [str(mark) for mark in marks])
        axes.minorticks_off()
    panels[0].axhline(np.log(2), color="0.5", linestyle=":", linewidth=1)
    panels[0].annotate("a coin", (1, np.log(2)), (0, 3), textcoords="offset points", size=8)
    panels[0].legend(loc="lower left", fontsize=8)
    return figure


@plotting.style()
def figure_of_costs(
    logistic: pd.DataFrame,
    networks: pd.DataFrame,
    awp: pd.DataFrame,
    *,
    epsilon: float = 0.01,
) -> Figure:
    """Draw the capacity that each way finds against the time that it takes.

    Parameters
    ----------
    logistic, networks, awp : DataFrame
        From `studies.capacity2022.run`.
    epsilon : float, default=0.01

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(2, (7.4, 3.7), sharey=True, sharex=True)
    for axes, (dataset, name) in zip(panels, _DATASETS.items(), strict=True):
        rows = _weakest_penalty(logistic[logistic["dataset"] == dataset])
        ways = {
            f"logistic: {_WAYS[way]}": (rows[rows["way"] == way], 0) for way in multiplicity.WAYS
        }
        for way, found in _paired_ways(networks, awp, dataset).items():
            ways[f"network: {way}"] = (found, 1)
        for number, (label, (found, colour)) in enumerate(ways.items()):
            found = found[found["epsilon"] == epsilon]  # noqa: PLW2901
            point = means(found, ["way"], ["mean", "seconds"]).iloc[0]
            axes.errorbar(
                point["seconds"],
                point["mean"] - 1,
                point["mean_error"],
                fmt=_MARKERS[number],
                color=plotting.PALETTE[colour],
                markersize=7,
                capsize=3,
                label=f"{label} ({int(found['n_trained'].iloc[0])} trained)",
            )
        axes.set(title=name, xscale="log", yscale="log", xlabel="Time (seconds)")
        axes.set_xticks([0.1, 1, 10, 100, 1000], ["0.1", "1", "10", "100", "1000"])
        axes.minorticks_off()
    panels[0].set_ylabel(f"Mean capacity above 1, ε = {epsilon:g}")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, fontsize=8)
    return figure


@plotting.style()
def figure_of_greedy(greedy: pd.DataFrame) -> Figure:
    """Draw what part of the capacity a subset keeps, over its size.

    Parameters
    ----------
    greedy : DataFrame
        From `studies.capacity2022.run.run_greedy`.

    Returns
    -------
    matplotlib Figure
    """
    figure, panels = _panels(2, (7.4, 3.4), sharey=True)
    by = ["training", "repetition", "rule", "judged", "size"]
    table = greedy.groupby(by, as_index=False)["share"].mean()
    styles = {
        ("greedy", "same samples"): ("greedy, on the persons it saw", "-"),
        ("greedy", "other samples"): ("greedy, on other persons", "--"),
        ("random", "other samples"): ("at random", ":"),
    }
    titles = {"standardised": "Standardised features", "unscaled": "Features as they are"}
    for axes, (training, title) in zip(panels, titles.items(), strict=True):
        of_training = table[table["training"] == training]
        for number, ((rule, judged), (label, dash)) in enumerate(styles.items()):
            rows = of_training[(of_training["rule"] == rule) & (of_training["judged"] == judged)]
            found = means(rows, ["size"], ["share"])
            colour = plotting.PALETTE[number]
            axes.plot(found["size"], found["share"], dash, color=colour, label=label)
            low, high = (found["share"] + side * found["share_error"] for side in (-1, 1))
            axes.fill_between(found["size"], low, high, color=colour, alpha=0.15, linewidth=0)
        axes.axvline(10, color="0.5", linestyle=":", linewidth=1)
        axes.yaxis.set_major_formatter(PercentFormatter(1))
        axes.set(title=title, xlabel="Models chosen", ylim=(0, 1.02))
    panels[0].set_ylabel("Share of mean capacity above 1 kept")
    panels[1].legend(loc="lower right", fontsize=8)
    return figure


# --- verdicts -------------------------------------------------------------------------------------

Claim = Mapping[str, Any]
Tables = Mapping[str, pd.DataFrame]


def decide_definition(claim: Claim, tables: Tables) -> Finding:
    """RC-1: no set of scores breaks a property of Definition 1."""
    del claim, tables
    checked = check_definition()
    broke = int(checked["broke"].sum())
    return Finding(
        verdict(reproduced=broke == 0, direction=False),
        f"{broke} of {checked['checked'].iloc[0]} random sets of scores, of two to five classes, "
        "break one of the four properties.",
        float(broke),
    )


def decide_equation_7(claim: Claim, tables: Tables) -> Finding:
    """RC-2: the smaller set of equation (7) has the larger capacity."""
    del claim, tables
    three, two = (_one(EQUATION_7[name]) for name in ("three models", "two models"))
    return Finding(
        verdict(reproduced=two > three, direction=False),
        f"Two models that contradict each other have capacity {two:.3f}, three similar ones "
        f"{three:.3f}.",
        two - three,
    )


def decide_ternary(claim: Claim, tables: Tables) -> Finding:
    """RC-3: the ternary example is near 1 in scores and 2 in decisions."""
    del tables
    paper, rows = claim["numbers"], np.array(TERNARY)
    scores = _one(rows)
    calls = _one(decisions(rows[:, None, :])[:, 0])
    holds = abs(scores - paper["scores"]) < 0.01 and abs(calls - paper["decisions"]) < 1e-6
    return Finding(
        verdict(reproduced=holds, direction=calls > scores),
        f"The scores' capacity is {scores:.4f}, that of the decisions {calls:.4f}.",
        scores,
    )


def decide_support(claim: Claim, tables: Tables) -> Finding:
    """RC-4: at most c models carry the whole capacity."""
    del claim, tables
    found = check_support()
    holds = (found["largest_support"] <= found["classes"]).all() and (found["loss"] < 1e-8).all()
    return Finding(
        verdict(reproduced=bool(holds), direction=False),
        f"Of {found['models'].iloc[0]} models never more than c have a weight, for c = "
        f"{', '.join(map(str, found['classes']))}, and without all others at most "
        f"{found['loss'].max():.0e} bits are lost.",
        float(found["loss"].max()),
    )


def decide_ambiguity(claim: Claim, tables: Tables) -> Finding:
    """RC-5: ambiguity and discrepancy are no metrics in the sense of Definition 1."""
    del claim, tables
    apart = np.array([[0.6], [0.9]])  # different scores, the same decision
    blind = ambiguity(apart) == discrepancy(apart) == 0 and rashomon_capacity(apart)[0] > 1
    rng = np.random.default_rng(0)
    scores = rng.beta(2, 2, (5, 2000))
    conflicting = float((rashomon_capacity(decisions(scores)) > 1).mean())
    spread = float((rashomon_capacity(scores) > 1).mean())
    counted = ambiguity(scores)
    return Finding(
        verdict(reproduced=bool(blind) and counted == conflicting, direction=bool(blind)),
        f"Scores of 0.6 and 0.9 differ, yet both measures are 0, so they fail property 2. On "
        f"{scores.shape[1]:,} random samples the ambiguity is {counted:.4f}, and {conflicting:.4f} "
        f"have a capacity above 1 in decisions, {spread:.4f} in scores: the paper's sentence that "
        "ambiguity counts the samples with a capacity holds for decisions only.",
        counted,
    )


def decide_growth(claim: Claim, tables: Tables) -> Finding:
    """RC-6: the tail of the capacity grows with epsilon, for sampling and for AWP."""
    del claim
    networks, awp = tables["capacity_networks"], tables["capacity_awp"]
    grown: dict[str, list[bool]] = {
        "AWP": [],
        "sampling, unscaled": [],
        "sampling, standardised": [],
    }
    says, decisive = [], []
    for dataset, name in _DATASETS.items():
        sampled, perturbed = _paired_ways(networks, awp, dataset).values()
        unscaled = _last(networks, dataset, "unscaled").query("way == 'seeds'")
        for way, rows in zip(grown, (perturbed, unscaled, sampled), strict=True):
            first, last = (
                rows[rows["epsilon"] == epsilon]
                for epsilon in (rows["epsilon"].min(), rows["epsilon"].max())
            )
            middle, low, high = _difference(last, first, "tail5")
            grown[way].append(low > 0)
            if way != "sampling, standardised":
                decisive.append((middle, low, high))
            says.append(f"{name}, {way} {middle:+.3f} ({low:.3f} to {high:.3f})")
    as_authors = all(grown["AWP"]) and all(grown["sampling, unscaled"])
    return Finding(
        verdict(reproduced=as_authors, direction=all(grown["AWP"])),
        "Change of the top 5% from ε = 0.01 to 0.1: "
        + "; ".join(says)
        + "."
        + _why_level(networks),
        *min(decisive),
    )


def _why_level(networks: pd.DataFrame) -> str:
    """Say how many of the sampled networks a larger epsilon adds, and on unscaled features."""
    says = []
    for dataset, name in _DATASETS.items():
        for training, what in (("standardised", ""), ("unscaled", " without scaling")):
            rows = _last(networks, dataset, training).query("way == 'seeds'")
            inside = rows.groupby("epsilon")["n_models"].mean()
            says.append(
                f"{name}{what} {inside.iloc[0]:.0f} at ε = {inside.index[0]:g} and "
                f"{inside.iloc[-1]:.0f} at {inside.index[-1]:g} of {rows['n_trained'].max()}"
            )
    return " Sampled networks within ε: " + "; ".join(says) + "."


def decide_awp_against_sampling(claim: Claim, tables: Tables) -> Finding:
    """RC-7: AWP finds more capacity than sampling, and costs less."""
    del claim
    networks, awp = tables["capacity_networks"], tables["capacity_awp"]
    more, cheaper, says, first = [], [], [], []
    for dataset, name in _DATASETS.items():
        sampled, perturbed = _paired_ways(networks, awp, dataset).values()
        for _, rows in perturbed.groupby("epsilon"):
            epsilon = rows["epsilon"].iloc[0]
            same = sampled[sampled["epsilon"] == epsilon]
            _, low, _ = _difference(rows, same, "tail5")
            more.append(low > 0)
        small = perturbed["epsilon"].min()
        one, two = (part[part["epsilon"] == small] for part in (perturbed, sampled))
        middle, low, high = _difference(one, two, "tail5")
        first.append((middle, low, high))
        everybody = _last(networks, dataset).query("way == 'seeds'")["n_samples"].iloc[0]
        spent = _seconds_for_all(networks, one, dataset)
        cheaper.append(spent < two["seconds"].mean())
        says.append(
            f"{name}: at ε = {small:g} the top 5% have {middle:.3f} more ({low:.3f} to "
            f"{high:.3f}); "
            f"1 trained network for {int(two['n_trained'].iloc[0])}, but about {spent:.0f} s for "
            f"all {everybody:,} persons of the test part, against {two['seconds'].mean():.0f} s"
        )
    return Finding(
        verdict(reproduced=all(more) and all(cheaper), direction=all(more)),
        "; ".join(says) + ".",
        *min(first),
    )


def decide_share_above_one(claim: Claim, tables: Tables) -> Finding:
    """RC-8: at epsilon 0.01 many samples have a capacity above 1."""
    del claim
    awp = tables["capacity_awp"]
    rows = awp[(awp["epsilon"] == 0.01) & (awp["training"] == "standardised")]
    found = means(rows, ["dataset"], ["above", "ambiguity"])
    says = [
        f"{_DATASETS[row['dataset']]} {100 * row['above']:.0f}% ({100 * row['above_low']:.0f} to "
        f"{100 * min(row['above_high'], 1):.0f}) of persons, and {100 * row['ambiguity']:.0f}% get "
        "conflicting decisions"
        for _, row in found.iterrows()
    ]
    least = found.loc[found["above"].idxmin()]
    return Finding(
        verdict(
            reproduced=bool((found["above_low"] > 0.05).all()),
            direction=bool((found["above_low"] > 0).all()),
        ),
        "Above 1.01 effective classes at ε = 0.01, by AWP: " + "; ".join(says) + ". HSLS and "
        "CIFAR-10 could not be tested: their data are not to be had here.",
        100 * float(least["above"]),
        100 * float(least["above_low"]),
        100 * min(float(least["above_high"]), 1.0),
    )


def decide_greedy(claim: Claim, tables: Tables) -> Finding:
    """RC-9: ten greedily chosen models of 163 keep the distribution of the capacity."""
    chosen = claim["numbers"]["chosen"]
    table = tables["capacity_greedy"]
    table = table[
        (table["rule"] == "greedy")
        & (table["size"] == chosen)
        & (table["judged"] == "other samples")
    ]
    columns = ["share", "share_tail", "distance", "set_size"]
    splits = table.groupby(["training", "repetition"], as_index=False)[columns].mean()
    found = means(splits, ["training"], columns).set_index("training")
    found["share_high"] = found["share_high"].clip(upper=1)  # a part of the whole
    words = {"unscaled": "trained on features as they are", "standardised": "on standardised ones"}
    says = [
        f"{what}, {100 * row['share']:.0f}% ({100 * row['share_low']:.0f} to "
        f"{100 * row['share_high']:.0f}) of the mean capacity above 1 and "
        f"{100 * row['share_tail']:.0f}% of that of the top 5%, the distributions being at most "
        f"{100 * row['distance']:.0f} percentage points apart"
        for what, row in ((words[name], found.loc[name]) for name in words)
    ]
    row = found.loc["unscaled"]  # as the authors' networks
    return Finding(
        verdict(
            reproduced=bool(row["share_low"] >= 0.9 and row["distance"] <= 0.1),
            direction=bool(row["share_low"] >= 0.5),
        ),
        f"{chosen} of {row['set_size']:.0f} networks keep, on persons that the choice did not see: "
        + "; ".join(says)
        + ".",
        100 * float(row["share"]),
        100 * float(row["share_low"]),
        100 * float(row["share_high"]),
    )


def decide_remedies(claim: Claim, tables: Tables) -> Finding:
    """RC-10: penalties and ensembles lower the capacity; calibration need not."""
    del claim
    networks, logistic = tables["capacity_networks"], tables["capacity_logistic"]
    exact = logistic[(logistic["way"] == "exact") & (logistic["epsilon"] == 0.01)]
    lower, kept, says, effects = [], [], [], []
    for dataset, name in _DATASETS.items():
        rows = exact[exact["dataset"] == dataset]
        strong, weak = (
            rows[rows["penalty"] == value]
            for value in (rows["penalty"].min(), rows["penalty"].max())
        )
        _, low, high = penalty = _difference(strong, weak, "mean")
        lower.append(high < 0)
        ways = _last(networks, dataset).query("epsilon == 0.05").groupby("way")
        alone = f"{int(ways.get_group('seeds')['n_trained'].iloc[0]) // 5} alone"
        together = _difference(ways.get_group("ensembles of 5"), ways.get_group(alone), "mean")
        lower.append(together[2] < 0)
        effects += [penalty, together]
        calibrated = {
            way: _difference(ways.get_group(way), ways.get_group("as trained"), "mean")
            for way in ("Platt", "isotonic")
        }
        kept.append(max(low for _, low, _ in calibrated.values()) > 0)
        says.append(
            f"{name}: strongest penalty {penalty[0]:+.4f} ({low:.4f} to {high:.4f}), ensembles of "
            f"five {together[0]:+.4f} ({together[1]:.4f} to {together[2]:.4f}), calibration "
            + ", ".join(f"{way} {middle:+.4f}" for way, (middle, _, _) in calibrated.items())
        )
    return Finding(
        verdict(reproduced=all(lower) and all(kept), direction=all(lower)),
        "Change of the mean capacity. " + "; ".join(says) + ".",
        *max(effects),
    )
