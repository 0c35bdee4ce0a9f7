"""The clinical experiment of the PVF-IE paper (section 4.3 and Appendix D).

Small cohorts are emulated by disjoint subsets of one data set. In each, five stratified splits
give a training and a validation part; a hundred shallow trees, each grown on 70% of the training
part, are the candidates; the traditional method picks the best on the validation part, PVF the
best on its perturbed copies; and everybody outside the subset is the external test.

Two routes lead to the perturbed scores. With noise common to all candidates, perturbed sets are
drawn and predicted. With noise of their own for each candidate, which is Algorithm 1 to the
letter, no noise needs drawing: a leaf of a tree is a box, so the probability that a perturbed
sample lands in a box that says "case" is a sum over such boxes of products of one probability a
column: normal for a numeric column, a sum over the levels in the interval for a nominal or ordinal
one. The true and false positives of a set are then sums of binomials.

What the paper leaves open for the cervical data is a setting of `Experiment`. Two things
hold throughout. The levels that a category can change to are those of the whole table: they are
the answers that the form allows, which nobody needs outcomes to know, and a training part of 80
often lacks the rare ones. And a category that is constant in a training part stays as it is: no
tree of that part can split on it, so no score would notice.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cache
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy.special import ndtr
from sklearn import config_context
from sklearn.model_selection import StratifiedKFold, StratifiedShuffleSplit
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from pvf import counts
from pvf._blocks import perturbed_counts
from pvf._types import Array, Flags, Indices
from pvf.perturbation import GaussianNoise, Mechanism, NominalFlip, OrdinalShift, Perturbation
from pvf.validation import is_tied_best, set_seed
from studies.data import datasets
from studies.kit.study import Settings, setting

#: Intervention capacities γ of the paper.
CAPACITIES = (0.1, 0.3, 0.5, 0.7, 0.9)

#: The metrics that models are selected and judged by.
METRICS = (*(f"IE@{capacity}" for capacity in CAPACITIES), "F1")

#: Standard deviations σ of the noise, in standard deviations of the training part (Appendix D).
SIGMAS = (1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.2, 0.3, 0.4, 0.5)

#: How a method chooses among candidates that tie: the first or the last in the pool; "random",
#: each method for itself; or "shared", both by one random order of the pool.
TIE_RULES = ("first", "last", "random", "shared")

#: The tie rules that pick an end of the pool.
END_RULES = {"first": 0, "last": -1}

#: The data sets, each with its number of disjoint subsets (Appendix D).
DATASETS = {"breast-cancer": 5, "cervical-cancer": 6}

#: What the cervical data leave open, each choice with all that it can be; the first is ours.
CERVICAL_CHOICES = {
    "missing": ("complete-case", "knn", "knn-inside"),
    "other_targets": ("drop", "keep"),
    "earlier_diagnoses": ("keep", "drop"),
}

#: What scales the columns, and how the subsets are drawn.
SCALINGS = ("train", "all", "none")
SUBSETS = ("plain", "stratified")


@dataclass(frozen=True)
class Experiment(Settings):
    """What the experiment can be told; by default it runs on breast cancer."""

    dataset: str = setting("breast-cancer", "data set", choices=tuple(DATASETS))
    n_repetitions: int = setting(1, "runs of the whole experiment", full=50, paper="1", low=1)
    sigmas: tuple[float, ...] = setting(SIGMAS, "noise σ, in standard deviations", paper="same")
    n_candidates: int = setting(100, "trees to choose from", paper="100", low=1)
    max_depth: int = setting(4, "depth of a tree", paper="4", low=1)
    subsample: float = setting(0.7, "share of the training part that grows a tree", low=0, high=1)
    subset_size: int = setting(100, "patients in a subset", paper="100", low=1)
    n_splits: int = setting(5, "splits of a subset", paper="5", low=2)
    n_sets: int = setting(100, "perturbed sets M", paper="100", low=1)
    n_replicas: int = setting(7, "copies k of each validation patient", paper="7", low=1)
    aggregate: float = setting(0.25, "quantile of the M scores", paper="0.25", low=0, high=1)
    common_noise: bool = setting(False, "all trees see the same sets", paper="False")  # noqa: FBT003
    missing: str = setting("complete-case", "gaps", choices=CERVICAL_CHOICES["missing"])
    other_targets: str = setting(
        "drop", "other outcomes as features", choices=CERVICAL_CHOICES["other_targets"]
    )
    earlier_diagnoses: str = setting(
        "keep", "earlier diagnoses as features", choices=CERVICAL_CHOICES["earlier_diagnoses"]
    )
    scaling: str = setting("train", "patients that scale the columns", choices=SCALINGS)
    subsets: str = setting("plain", "how subsets are drawn", choices=SUBSETS)
    mixed: bool = setting(True, "categories flip or shift, or get noise")  # noqa: FBT003
    change_probability: float = setting(0.1, "ξ of flips and shifts", paper="0.1", low=0, high=1)
    shift_decay: float = setting(0.1, "λ of shifts", paper="0.1", low=0)
    external: str = setting("others", "who tests the choices", choices=("others", "subset"))
    digits: int = setting(-1, "digits that scores are rounded to; -1: none", low=-1, high=9)
    seed: int = setting(20261127, "seed of all repetitions", low=0)

    def __post_init__(self) -> None:
        """Refuse also what no single field shows."""
        super().__post_init__()
        if not self.sigmas or min(self.sigmas) <= 0:
            raise ValueError(f"sigmas must be above 0, got {self.sigmas}.")
        if self.subset_size < 2 * self.n_splits:
            raise ValueError(
                f"subset_size must be at least {2 * self.n_splits}, got {self.subset_size}."
            )
        for name, choices in CERVICAL_CHOICES.items():
            value = getattr(self, name)
            if self.dataset != "cervical-cancer" and value != choices[0]:
                raise ValueError(f"{name} is a choice of the cervical data only, got {value!r}.")


@dataclass(frozen=True)
class CervicalExperiment(Experiment):
    """The same on cervical cancer."""

    dataset: str = setting("cervical-cancer", "data set", choices=tuple(DATASETS))


def need_data(*names: str) -> None:
    """Say at once, and not in a worker, that a data set is missing."""
    for name in names:
        outcomes(asdict(Experiment(dataset=name)))


def repetitions(settings: Experiment) -> range:
    """Return the numbers of the repetitions; missing data are noticed here, before any work."""
    need_data(settings.dataset)
    return range(settings.n_repetitions)


def run_experiment(dataset: str = "breast-cancer", **changed: Any) -> pd.DataFrame:
    """Run the experiment and return one row for each split, σ, metric and tie rule."""
    settings = Experiment(dataset=dataset, **changed)
    frames = [one_repetition(block, settings) for block in repetitions(settings)]
    return pd.concat(frames, ignore_index=True)


class Problem(NamedTuple):
    """One selection problem: a validation part, candidates, and how good each truly is."""

    X_validation: Array
    y_validation: Flags
    external: Array  # (n_metrics, n_candidates)
    trees: list[DecisionTreeClassifier]
    n_redrawn: int
    prevalence: float = np.nan  # among the external patients
    #: What changes a category, by column, fitted on the scaled levels; None for a category that
    #: stays as it is. All other columns are numeric.
    categories: Mapping[int, NominalFlip | OrdinalShift | None] = MappingProxyType({})


class Cohort(NamedTuple):
    """All patients of a data set."""

    X: Array
    y: Flags
    kinds: tuple[datasets.Kind, ...]  # of each column


def _cohort_of(settings: Mapping[str, Any]) -> Cohort:
    return _cohort(settings["dataset"], *(settings[name] for name in CERVICAL_CHOICES))


@cache
def _cohort(
    dataset: str,
    missing: str = "complete-case",
    other_targets: str = "drop",
    earlier_diagnoses: str = "keep",
) -> Cohort:
    if dataset == "breast-cancer":
        data = datasets.load_breast_cancer()
    else:
        data = datasets.load_cervical_cancer(
            missing="keep" if missing == "knn-inside" else missing,
            other_targets=other_targets,
            earlier_diagnoses=earlier_diagnoses,
        )
    return Cohort(data.X.to_numpy(dtype=float), data.y.to_numpy() == 1, tuple(data.kinds.values()))


class Split(NamedTuple):
    """One split of one subset: who is in which part, by row of the cohort, and the problem."""

    subset: int
    split: int
    train: Indices
    validation: Indices
    external: Indices
    problem: Problem
    n_redrawn_partitions: int


def splits(block: int, settings: Mapping[str, Any]) -> Iterator[Split]:
    """Make the splits of one repetition, with their candidates.

    Parameters
    ----------
    block : int
        Number of the repetition.
    settings : mapping
        The arguments of `run_experiment` that say how data and candidates are made.

    Yields
    ------
    Split
    """
    cohort = _cohort_of(settings)
    y = cohort.y
    rng = np.random.default_rng(np.random.SeedSequence(settings["seed"], spawn_key=(block,)))
    subsets, n_redrawn_partitions = _subsets(y, rng, settings)
    for subset, inside in enumerate(subsets):
        others = np.setdiff1d(np.arange(len(y)), inside)
        folds = StratifiedKFold(
            settings["n_splits"], shuffle=True, random_state=int(rng.integers(2**31))
        )
        for split, (train, validation) in enumerate(folds.split(inside, y[inside])):
            external = others if settings.get("external", "others") == "others" else inside[train]
            rows = (inside[train], inside[validation], external)
            problem = _make_split(cohort, *rows, rng, settings)
            yield Split(subset, split, *rows, problem, n_redrawn_partitions)


def one_repetition(block: int, given: Experiment) -> pd.DataFrame:
    """Run one whole experiment, all subsets and splits.

    Returns
    -------
    DataFrame
        Columns ``repetition, subset, split, sigma, metric, tie_break``; ``win``, ``loss`` and
        ``tie``: whether PVF's choice is externally better, worse or equal (under a random tie
        rule the exact probability); ``gain``: the external metric of PVF's choice less that of
        the traditional one (its expectation); ``within``: whether PVF's choice is one of the
        candidates that tie under the traditional method, and ``gain_within``: by how much it then
        betters the mean of these; ``n_tied_pvf``, ``n_tied_traditional``: how many
        candidates share the best score; ``external_traditional``, ``external_average`` and
        ``external_best``: the external metric of the traditional choice (its expectation), of
        the mean candidate and of the best one; ``prevalence`` among the external patients;
        ``n_redrawn``: subsamples of the split that were drawn again since they held one class
        only; ``n_redrawn_partitions``: how often the subsets were drawn again.
    """
    settings = asdict(given)
    frames = []
    for part in splits(block, settings):
        key = (block, part.subset, part.split)
        frame = judge(part.problem, key, settings)
        frames.append(
            frame.assign(
                repetition=block,
                subset=part.subset,
                split=part.split,
                n_redrawn_partitions=part.n_redrawn_partitions,
            )
        )
    keys = ["repetition", "subset", "split", "sigma", "metric", "tie_break"]
    table = pd.concat(frames, ignore_index=True)
    last = ["n_redrawn_partitions"]
    between = [column for column in table.columns if column not in keys + last]
    return table[keys + between + last]


def _subsets(
    y: Flags, rng: np.random.Generator, settings: Mapping[str, Any]
) -> tuple[list[Indices], int]:
    """Return disjoint subsets, and how often they were drawn again.

    Every subset needs a case and a control for each of its validation parts.
    """
    size, n_subsets = settings["subset_size"], DATASETS[settings["dataset"]]
    n_subsets = min(n_subsets, len(y) // size)
    if settings["subsets"] == "stratified":
        return _stratified_subsets(y, rng, size, n_subsets), 0
    for n_redrawn in range(1000):
        order = rng.permutation(len(y))
        parts = [order[start : start + size] for start in range(0, n_subsets * size, size)]
        cases = [int(y[part].sum()) for part in parts]
        if min(cases) >= settings["n_splits"] <= size - max(cases):
            return parts, n_redrawn
    raise ValueError(
        f"subset_size must leave {settings['n_splits']} cases and controls in every subset, got "
        f"{size}."
    )


def _stratified_subsets(
    y: Flags, rng: np.random.Generator, size: int, n_subsets: int
) -> list[Indices]:
    left, parts = np.arange(len(y)), []
    for _ in range(n_subsets):
        splitter = StratifiedShuffleSplit(1, train_size=size, random_state=int(rng.integers(2**31)))
        chosen, rest = next(splitter.split(left, y[left]))
        parts.append(left[chosen])
        left = left[np.sort(rest)]
    return parts


def _make_split(
    cohort: Cohort,
    train: Indices,
    validation: Indices,
    external: Indices,
    rng: np.random.Generator,
    settings: Mapping[str, Any],
) -> Problem:
    y = cohort.y
    X = _scaled(cohort, train, settings)
    size = round(settings["subsample"] * len(train))
    how = settings["n_candidates"], size, settings["max_depth"]
    trees, _, n_redrawn = grow_trees(X[train], y[train], *how, rng)
    return Problem(
        X[validation],
        y[validation],
        _plain_scores(trees, X[external], y[external]),
        trees,
        n_redrawn,
        float(y[external].mean()),
        _category_changes(X, train, cohort.kinds, settings),
    )


def grow_trees(
    X: Array, y: Flags, n_trees: int, size: int, max_depth: int, rng: np.random.Generator
) -> tuple[list[DecisionTreeClassifier], Flags, int]:
    """Grow trees, each on a subsample of its own; one of a single class is drawn again.

    Returned are also who grew each tree, (n_trees, n_samples), and how often rows were drawn again.
    """
    X = X.astype(np.float32)  # as every tree would itself
    grew, trees, n_redrawn = np.zeros((n_trees, len(y)), dtype=bool), [], 0
    with config_context(skip_parameter_validation=True):
        for mine in grew:
            rows = rng.choice(len(y), size, replace=False)
            while y[rows].all() or not y[rows].any():
                rows = rng.choice(len(y), size, replace=False)
                n_redrawn += 1
            mine[rows] = True
            tree = DecisionTreeClassifier(
                max_depth=max_depth, random_state=int(rng.integers(2**31))
            )
            trees.append(tree.fit(X[rows], y[rows], check_input=False))
    return trees, grew, n_redrawn


def _scaled(cohort: Cohort, train: Indices, settings: Mapping[str, Any]) -> Array:
    """Return all patients' features, imputed and scaled."""
    X = cohort.X
    if settings.get("missing") == "knn-inside":
        kinds = dict(zip(map(str, range(X.shape[1])), cohort.kinds, strict=True))
        frame = pd.DataFrame(X, columns=list(kinds))
        imputer = datasets.knn_imputer(kinds).fit(frame.iloc[train])
        X = imputer.transform(frame).to_numpy()
    scaling = settings.get("scaling", "train")
    if scaling == "none":
        return X
    scaled: Array = StandardScaler().fit(X[train] if scaling == "train" else X).transform(X)
    return scaled


def outcomes(settings: Mapping[str, Any]) -> Flags:
    """Return who of all patients is a case; the order is that of `scaled_features`."""
    return _cohort_of(settings).y


def scaled_features(train: Indices, settings: Mapping[str, Any]) -> Array:
    """Return all patients' features as the candidates of a split see them.

    Parameters
    ----------
    train : ndarray of int
        The training part, by row of the cohort.
    settings : mapping
        As in `splits`.

    Returns
    -------
    ndarray of shape (n_patients, n_features)
    """
    return _scaled(_cohort_of(settings), train, settings)


def tree_scores(trees: Sequence[Any], X: Array) -> Array:
    """Return each tree's probability of a case, (n_trees, n_patients)."""
    X = X.astype(np.float32)  # as every tree would itself
    return np.array([tree.predict_proba(X, check_input=False)[:, 1] for tree in trees])


def _category_changes(
    X: Array, train: Indices, kinds: Sequence[str], settings: Mapping[str, Any]
) -> dict[int, NominalFlip | OrdinalShift | None]:
    """Return the mechanism of each nominal and ordinal column, with the whole table's levels."""
    if not settings.get("mixed", True):
        return {}
    changes: dict[int, NominalFlip | OrdinalShift | None] = {}
    for f, kind in enumerate(kinds):
        if kind == "numeric":
            continue
        constant = (X[train, f] == X[train[0], f]).all()
        probability = settings["change_probability"]
        mechanism = (
            NominalFlip(probability)
            if kind == "nominal"
            else OrdinalShift(probability, settings["shift_decay"])
        )
        changes[f] = None if constant else mechanism.fit(X[:, f])
    return changes


def judge(problem: Problem, key: tuple[int, ...], settings: dict[str, Any]) -> pd.DataFrame:
    """Select by both methods at every σ and compare what the choices are worth.

    Parameters
    ----------
    problem : Problem
    key : tuple of int
        Names the problem under the seed.
    settings : dict
        ``sigmas``, ``n_sets``, ``n_replicas``, ``aggregate``, ``seed`` and, optionally,
        ``common_noise``, as in `run_experiment`.

    Returns
    -------
    DataFrame
        The columns of `run_experiment` from ``sigma`` on.
    """
    best_traditional = is_tied_best(_rounded(validation_scores(problem), settings))
    rows = []
    for sigma, best_pvf in best_by_pvf(problem, key, settings):
        for m, metric in enumerate(METRICS):
            external = _rounded(problem.external[m], settings)
            for rule in TIE_RULES:
                outcome = _outcome(best_pvf[m], best_traditional[m], external, rule)
                outcome["external_traditional"] = _expected(best_traditional[m], external, rule)
                outcome |= {"external_average": external.mean(), "external_best": external.max()}
                rows.append({"sigma": sigma, "metric": metric, "tie_break": rule, **outcome})
    return pd.DataFrame(rows).assign(prevalence=problem.prevalence, n_redrawn=problem.n_redrawn)


def _rounded(scores: NDArray, settings: Mapping[str, Any]) -> Array:
    """Return scores as they are, or with the digits that the settings ask for."""
    digits = settings.get("digits", -1)
    return scores if digits < 0 else np.round(scores, digits)


def validation_scores(problem: Problem) -> Array:
    """Return the traditional criterion, of shape (n_metrics, n_candidates)."""
    return _plain_scores(problem.trees, problem.X_validation, problem.y_validation)


def best_by_pvf(
    problem: Problem, key: tuple[int, ...], settings: Mapping[str, Any]
) -> Iterator[tuple[float, Flags]]:
    """Mark PVF's best candidates at every σ.

    Parameters
    ----------
    problem, key, settings
        As in `judge`.

    Yields
    ------
    sigma : float
    best : ndarray of bool of shape (n_metrics, n_candidates)
        All that tie.
    """
    boxes = _Boxes(problem.trees, problem.X_validation, problem.categories)
    n_pos = settings["n_replicas"] * int(problem.y_validation.sum())
    n_neg = settings["n_replicas"] * len(problem.y_validation) - n_pos
    for position, sigma in enumerate(settings["sigmas"]):
        seed = np.random.SeedSequence(settings["seed"], spawn_key=(*key, position))
        scale = (settings["n_sets"], settings["n_replicas"])
        if settings.get("common_noise"):
            tp, fp = _common_counts(problem, sigma, seed, *scale)
        else:
            tp, fp = _separate_counts(problem, sigma, seed, *scale, boxes=boxes)
        scores = scores_from_counts(tp, fp, n_pos, n_neg)
        yield (
            sigma,
            is_tied_best(_rounded(np.quantile(scores, settings["aggregate"], axis=-1), settings)),
        )


def _expected(tied: Flags, external: Array, rule: str) -> float:
    """Return what a method's choice among its tied candidates is worth on average."""
    values = external[tied]
    return float(values[END_RULES[rule]] if rule in END_RULES else values.mean())


def scores_from_counts(tp: NDArray, fp: NDArray, n_pos: float, n_neg: float) -> Array:
    """Return every metric of `METRICS`, stacked along a new first axis."""
    efficiencies = [
        counts.intervention_efficiency(tp, fp, n_pos, n_neg, gamma) for gamma in CAPACITIES
    ]
    return np.stack([*efficiencies, counts.f1(tp, fp, n_pos, n_neg)])


def counted(flagged: NDArray, y: Flags) -> tuple[NDArray, NDArray, int, int]:
    """Return true and false positives of each row of flags, and the numbers of cases and others."""
    return flagged[:, y].sum(axis=1), flagged[:, ~y].sum(axis=1), int(y.sum()), int((~y).sum())


def _plain_scores(trees: Sequence[DecisionTreeClassifier], X: Array, y: Flags) -> Array:
    """Return scores of shape (n_metrics, n_candidates) on a set as it is."""
    X = X.astype(np.float32)
    flagged = np.array([tree.predict(X, check_input=False) for tree in trees])
    return scores_from_counts(*counted(flagged, y))


def _common_counts(
    problem: Problem, sigma: float, seed: np.random.SeedSequence, n_sets: int, n_replicas: int
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of shape (n_candidates, n_sets) on perturbed sets that all share."""
    X = problem.X_validation
    sampler = _perturbation(problem, sigma).prepare(X)
    return perturbed_counts(
        problem.trees,
        sampler,
        problem.y_validation,
        case_label=True,
        n_replicas=n_replicas,
        seeds=[set_seed(seed, None, m) for m in range(n_sets)],
    )


def _perturbation(problem: Problem, sigma: float) -> Perturbation:
    """Return the split's perturbation, fitted: noise on numbers, changes of categories."""
    X = problem.X_validation
    mechanisms: dict[int, Mechanism] = {
        f: GaussianNoise(sigma) for f in range(X.shape[1]) if f not in problem.categories
    }
    changes = {f: change for f, change in problem.categories.items() if change is not None}
    # A table in which every category has all its levels, each column's cycled to one length.
    n_rows = max([len(X), *(len(change.levels_) for change in changes.values())])
    levels = np.resize(X, (n_rows, X.shape[1]))
    for f, change in changes.items():
        levels[:, f] = np.resize(change.levels_, n_rows)
    return Perturbation({**mechanisms, **changes}).fit(levels)


def _separate_counts(
    problem: Problem,
    sigma: float,
    seed: np.random.SeedSequence,
    n_sets: int,
    n_replicas: int,
    *,
    boxes: _Boxes | None = None,
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return counts of shape (n_candidates, n_sets) on sets of each candidate's own."""
    boxes = boxes or _Boxes(problem.trees, problem.X_validation, problem.categories)
    probability = boxes.flag_probability(sigma)
    counts = np.empty((*probability.shape, n_sets), dtype=np.int64)
    certain = (probability == 0) | (probability == 1)
    counts[certain] = (n_replicas * probability[certain])[:, None]
    rng = np.random.default_rng(seed)
    counts[~certain] = rng.binomial(
        n_replicas, probability[~certain][:, None], size=((~certain).sum(), n_sets)
    )
    is_case = problem.y_validation
    return counts[:, is_case].sum(axis=1), counts[:, ~is_case].sum(axis=1)


def flag_probability(
    trees: Sequence[DecisionTreeClassifier],
    X: Array,
    sigma: float,
    categories: Mapping[int, NominalFlip | OrdinalShift | None] = MappingProxyType({}),
) -> Array:
    r"""Return the probability that a tree flags a perturbed sample.

    A leaf that says "case" is a box, an interval :math:`(a_f, b_f]` for each feature f on its
    path, and the columns are perturbed independently, so

    .. math::

        \Pr(\text{flagged} \mid x) = \sum_{\text{leaves}} \prod_f
        \Pr(a_f < x'_f \le b_f \mid x_f),

    which is :math:`\Phi((b_f - x_f) / \sigma) - \Phi((a_f - x_f) / \sigma)` for a column with
    noise and, for a category, the sum of the probabilities of all levels in the interval.

    Parameters
    ----------
    trees : sequence of fitted DecisionTreeClassifier
        Each of two classes, of which the second is the case.
    X : ndarray of shape (n_samples, n_features)
    sigma : float
        Standard deviation of the noise, above 0, the same for every numeric feature.
    categories : mapping of int to fitted mechanism or None, optional
        The nominal and ordinal columns, by position; None for one that stays as it is.

    Returns
    -------
    ndarray of shape (n_trees, n_samples)

    Examples
    --------
    >>> tree = DecisionTreeClassifier(max_depth=1).fit([[0.0], [1.0]], [False, True])
    >>> flag_probability([tree], np.array([[0.5], [1.0], [9.0]]), 0.5).round(3)
    array([[0.5  , 0.841, 1.   ]])
    """
    return _Boxes(trees, X, categories).flag_probability(sigma)


class _Boxes:
    """The boxes of many trees, with all that does not depend on σ worked out once."""

    def __init__(
        self,
        trees: Sequence[DecisionTreeClassifier],
        X: Array,
        categories: Mapping[int, NominalFlip | OrdinalShift | None],
    ) -> None:
        self.shape = (len(trees), len(X))
        boxes = [(owner, box) for owner, tree in enumerate(trees) for box in _case_boxes(tree)]
        self.certain = [owner for owner, box in boxes if not box]  # trees that are one leaf
        boxes = [(owner, box) for owner, box in boxes if box]
        self.owners = np.array([owner for owner, _ in boxes], dtype=int)
        self.starts = np.cumsum([0, *[len(box) for _, box in boxes]])[:-1]
        sides = [(f, *interval) for _, box in boxes for f, interval in box.items()]
        feature = np.array([side[0] for side in sides], dtype=int)
        low = np.array([side[1] for side in sides], dtype=float)
        high = np.array([side[2] for side in sides], dtype=float)
        self.inside = np.empty((len(sides), len(X)))
        for f, change in categories.items():
            here = feature == f
            self.inside[here] = _level_probability(change, X[:, f], low[here], high[here])
        self.noisy = np.flatnonzero(~np.isin(feature, list(categories)))
        values = X[:, feature[self.noisy]].T
        self.to_low = low[self.noisy][:, None] - values
        self.to_high = high[self.noisy][:, None] - values

    def flag_probability(self, sigma: float) -> Array:
        """Return the probability that each tree flags each sample."""
        probability = np.zeros(self.shape)
        probability[self.certain] = 1.0
        if self.owners.size:
            self.inside[self.noisy] = ndtr(self.to_high / sigma) - ndtr(self.to_low / sigma)
            of_box = np.multiply.reduceat(self.inside, self.starts, axis=0)
            np.add.at(probability, self.owners, of_box)
        return np.clip(probability, 0.0, 1.0)


def _level_probability(
    change: NominalFlip | OrdinalShift | None, column: Array, low: Array, high: Array
) -> Array:
    """Return the probability that a changed category lies in ``(low, high]``.

    The shape is (n_intervals, n_samples).
    """
    levels, codes = np.unique(column, return_inverse=True)
    moves = np.eye(len(levels))
    if change is not None:
        levels = change.levels_.to_numpy(dtype=float)
        codes = change.levels_.get_indexer(pd.Index(column))
        moves = change.transition_probabilities()
    seen = levels.astype(np.float32)  # as a tree sees them
    inside = (low[:, None] < seen) & (seen <= high[:, None])
    return inside.astype(float) @ moves[codes].T


def _case_boxes(tree: DecisionTreeClassifier) -> list[dict[int, tuple[float, float]]]:
    """Return the leaves that say "case", each as ``{feature: (low, high)}``."""
    nodes = tree.tree_
    boxes: list[dict[int, tuple[float, float]]] = []
    todo: list[tuple[int, dict[int, tuple[float, float]]]] = [(0, {})]
    while todo:
        node, box = todo.pop()
        left, right = nodes.children_left[node], nodes.children_right[node]
        if left == right:
            if nodes.value[node, 0].argmax() == 1:
                boxes.append(box)
            continue
        feature, threshold = int(nodes.feature[node]), float(nodes.threshold[node])
        low, high = box.get(feature, (-np.inf, np.inf))
        todo.append((left, {**box, feature: (low, min(high, threshold))}))
        todo.append((right, {**box, feature: (max(low, threshold), high)}))
    return boxes


def _outcome(pvf: Flags, traditional: Flags, external: Array, rule: str) -> dict[str, float]:
    """Compare the two methods' choices under a tie rule, given each one's best candidates."""
    a, b = np.flatnonzero(pvf), np.flatnonzero(traditional)
    counts = {"n_tied_pvf": len(a), "n_tied_traditional": len(b)}
    if rule in END_RULES:
        a, b = a[[END_RULES[rule]]], b[[END_RULES[rule]]]
    comparison = _compare_shared(external, a, b) if rule == "shared" else _compare(external, a, b)
    win, loss, tie, gain = (float(value) for value in comparison)
    above_ties = external[a] - external[traditional].mean()
    return {
        "win": win,
        "loss": loss,
        "tie": tie,
        "gain": gain,
        "within": float(traditional[a].mean()),
        "gain_within": float((above_ties * traditional[a]).mean()),
        **counts,
    }


def _compare(external: Array, a: Indices, b: Indices) -> Array:
    """Return win, loss, tie and gain of choices uniform on ``a`` and ``b``, independently."""
    if not a.size or not b.size:
        return np.zeros(4)
    difference = external[a][:, None] - external[b][None, :]
    win, loss = (difference > 1e-12).mean(), (difference < -1e-12).mean()
    return np.array([win, loss, 1 - win - loss, difference.mean()])


def _compare_shared(external: Array, a: Indices, b: Indices) -> Array:
    """Return the same where one random order of the pool breaks both ties.

    Where the order's first member of the union lies in both sets, the choices agree; else it is
    one method's choice, and the other's is uniform on its own set.
    """
    union = np.union1d(a, b)
    only_a, only_b = np.setdiff1d(a, b), np.setdiff1d(b, a)
    agree = np.array([0.0, 0.0, len(union) - len(only_a) - len(only_b), 0.0])
    from_a, from_b = _compare(external, only_a, b), _compare(external, a, only_b)
    return (agree + len(only_a) * from_a + len(only_b) * from_b) / len(union)


def in_percent(table: pd.DataFrame) -> pd.DataFrame:
    """Return a table's shares in percent of splits, and the lead, wins less losses."""
    rows = table.assign(lead=table["win"] - table["loss"])
    shares = [name for name in ("win", "loss", "tie", "lead", "within") if name in rows]
    return rows.assign(**(100 * rows[shares]))


def by_repetition(table: pd.DataFrame, *, extra: Sequence[str] = ()) -> pd.DataFrame:
    """Return each repetition's shares: what one run of the paper's experiment would report.

    Parameters
    ----------
    table : DataFrame
        From `run_experiment`.
    extra : sequence of str, optional
        Further columns to average.

    Returns
    -------
    DataFrame
        One row for each repetition, σ, metric and tie rule: the means of ``win``, ``loss``,
        ``tie``, ``gain``, ``within``, ``gain_within``, ``n_tied_pvf`` and ``n_tied_traditional``
        over its splits, and of the columns in ``extra``.

    Examples
    --------
    >>> by_repetition(run_experiment(sigmas=[0.2], n_candidates=10, n_sets=20)).shape
    (24, 12)
    """
    keys = ["repetition", "sigma", "metric", "tie_break"]
    values = ["win", "loss", "tie", "gain", "within", "gain_within"]
    values += ["n_tied_pvf", "n_tied_traditional", *extra]
    return table.groupby(keys, sort=False)[values].mean().reset_index()


def reached_cases(table: pd.DataFrame, *, tie_break: str = "first") -> pd.DataFrame:
    r"""Return how many cases the chosen models reach among a hundred external patients.

    A model with Intervention Efficiency e at capacity γ, in a population with prevalence π,
    reaches :math:`100\, e\, \gamma\, \pi` cases in a hundred patients.

    Parameters
    ----------
    table : DataFrame
        From `run_experiment`.
    tie_break : str, default="first"

    Returns
    -------
    DataFrame
        One row for each repetition, σ and capacity: ``capacity``, and the mean over splits of
        ``traditional``, ``pvf``, ``average`` (a candidate taken at random) and ``best`` (the best
        candidate, which nobody can know), and of ``chance`` (patients taken at random) and
        ``cases`` (all there are).

    Examples
    --------
    >>> reached = reached_cases(run_experiment(sigmas=[0.2], n_candidates=10, n_sets=20))
    >>> bool((reached["chance"] < reached["traditional"]).all())
    True
    """
    chosen = table[(table["tie_break"] == tie_break) & (table["metric"] != "F1")]
    capacity = chosen["metric"].str.removeprefix("IE@").astype(float)
    scale = 100 * capacity * chosen["prevalence"]
    columns = {
        "traditional": scale * chosen["external_traditional"],
        "pvf": scale * (chosen["external_traditional"] + chosen["gain"]),
        "average": scale * chosen["external_average"],
        "best": scale * chosen["external_best"],
        "chance": scale,
        "cases": 100 * chosen["prevalence"],
    }
    keys = ["repetition", "sigma", "capacity"]
    frame = chosen[["repetition", "sigma"]].assign(capacity=capacity, **columns)
    return frame.groupby(keys, sort=False).mean().reset_index()
