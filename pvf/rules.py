"""Rules that choose one of many candidates from a training and a validation part.

A rule looks at `Evidence`: candidates fitted once on the training part, and whatever else of them
a rule asks for (predictions, out-of-bag rows, folds, laws under perturbation), each computed once
and shared by all rules. A new rule is one class with a method ``scores``.
"""

from __future__ import annotations

import functools
import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, ClassVar, Protocol

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold

from pvf import _checks as check
from pvf._blocks import rows_of
from pvf._checks import shown
from pvf._seeds import child_seed, seed_sequence
from pvf._types import Array, ArrayLike, Flags, Indices, NDArray
from pvf.metrics import count_metric
from pvf.perturbation import GaussianNoise, Mechanism, NominalFlip, Perturbation
from pvf.validation import is_tied_best

#: Probabilities are cut here before a log loss, so that one wrong certainty is not all that counts.
CERTAINTY = 1e-3
#: Levels of noise among which PVF's σ is chosen inside the training part.
SIGMAS = (0.01, 0.1, 0.3)


class Candidates(Protocol):
    """What a rule needs of a set of candidates; `Estimators` gives it for scikit-learn's models."""

    complexity: Array  # (n_candidates,), the least complex smallest
    flag_error: float  # largest standard error of `flag_probability`; 0 where nothing is drawn

    def fit(self, X: Any, y: Flags, seed: np.random.SeedSequence) -> Any:
        """Fit all candidates on some rows."""

    def probability(self, fitted: Any, X: Any) -> Array:
        """Return probabilities of a case, of shape (n_candidates, n_samples)."""

    def flag_probability(
        self, fitted: Any, X: Any, sigma: float, seed: np.random.SeedSequence
    ) -> Array:
        """Return how probably each candidate flags each sample once that is perturbed."""

    def trained_on(self, fitted: Any) -> Flags | None:
        """Return which of the rows given to `fit` each candidate saw; None where it saw all."""


class Estimators:
    """Scikit-learn's classifiers as candidates.

    Parameters
    ----------
    models : sequence of estimators
        Unfitted classifiers with ``predict_proba`` or ``decision_function``; they are cloned.
    n_draws : int, default=200
        Perturbed copies of each sample from which `flag_probability` is estimated; its standard
        error is at most ``0.5 / sqrt(n_draws)``.
    flip_probability : float, default=0.1
        ξ of the nominal flips.

    Notes
    -----
    Numeric columns get noise of σ times the standard deviation of the training rows; columns of
    any other kind flip, unless they are constant there.
    """

    def __init__(
        self, models: Sequence[Any], *, n_draws: int = 200, flip_probability: float = 0.1
    ) -> None:
        if not isinstance(models, list | tuple) or not models:
            raise TypeError(f"models must be a list of estimators, got {shown(models)}.")
        for model in models:
            if isinstance(model, type) or not (hasattr(model, "fit") and hasattr(model, "predict")):
                raise TypeError(f"models must be unfitted classifiers, got {shown(model)}.")
        self.models = list(models)
        self.n_draws = check.integer("n_draws", n_draws, 1)
        self.flip_probability = check.number("flip_probability", flip_probability, 0, 1)
        self.complexity = np.arange(len(models), dtype=float)
        self.flag_error = 0.5 / float(np.sqrt(n_draws))

    def fit(self, X: Any, y: Flags, seed: np.random.SeedSequence) -> Any:
        """Fit clones of the models, and learn the columns' spread."""
        del seed  # scikit-learn's models have their own
        return [clone(model).fit(X, y) for model in self.models], X

    def probability(self, fitted: Any, X: Any) -> Array:
        """Return probabilities of a case; of models without them, the logistic of their scores."""
        return np.array([_case_probability(model, X) for model in fitted[0]])

    def flag_probability(
        self, fitted: Any, X: Any, sigma: float, seed: np.random.SeedSequence
    ) -> Array:
        """Estimate by stacked sampling how probably each model flags each perturbed sample."""
        models, X_train = fitted
        sampler = _perturbation(X_train, sigma, self.flip_probability).prepare(X)
        draws = sampler.draw(self.n_draws, np.random.default_rng(seed))
        stacked = sampler.assemble([draws], self.n_draws)
        flagged = self.probability((models, None), stacked) > 0.5
        return flagged.reshape(len(models), self.n_draws, -1).mean(axis=1)

    def trained_on(self, fitted: Any) -> Flags | None:
        """Return None: every model sees all rows."""
        del fitted
        return None


def _case_probability(model: Any, X: Any) -> Array:
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X)[:, 1], dtype=float)
    return expit(np.asarray(model.decision_function(X), dtype=float))


def _perturbation(X: Any, sigma: float, flip_probability: float) -> Perturbation:
    """Return noise for numeric columns and flips for others, fitted on training rows."""
    frame = pd.DataFrame(X)
    mechanisms: dict[int, Mechanism] = {}
    for place, name in enumerate(frame.columns):
        column = frame[name]
        if pd.api.types.is_bool_dtype(column) or not pd.api.types.is_numeric_dtype(column):
            if len(pd.unique(column)) > 1:
                mechanisms[place] = NominalFlip(flip_probability)
        elif (spread := float(column.std(ddof=0))) > 0:
            mechanisms[place] = GaussianNoise(sigma * spread)
    return Perturbation(mechanisms).fit(X)


def _kept(method: Callable[..., Any]) -> Callable[..., Any]:
    """Let evidence compute what a method returns once for each set of positional arguments."""
    signature = inspect.signature(method)

    @functools.wraps(method)
    def kept(self: Evidence, *args: Any, **kwargs: Any) -> Any:
        given = signature.bind(self, *args, **kwargs)
        given.apply_defaults()
        return self.kept((method.__name__, *given.args[1:]), lambda: method(*given.args))

    return kept


class Evidence:
    """What rules may look at: candidates, a training and a validation part.

    Parameters
    ----------
    candidates : sequence of estimators, or Candidates
        Unfitted.
    X_train, X_val : frame or array of shape (n_samples, n_features)
    y_train, y_val : array-like of shape (n_samples,)
        Labels of two classes; the larger is the case.
    random_state : int or SeedSequence, default=0
        Seed of folds, noise and everything else that is drawn.

    Attributes
    ----------
    fitted
        The candidates, fitted on the training part.

    Raises
    ------
    ValueError, TypeError
        The parts do not fit together, or a part lacks a class.

    Examples
    --------
    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = make_moons(120, noise=0.3, random_state=0)
    >>> trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 4, 8)]
    >>> evidence = Evidence(trees, X[:90], y[:90], X[90:], y[90:])
    >>> HoldOut("f1").choose(evidence).index, RepeatedCV("f1").choose(evidence).index
    (1, 2)
    """

    def __init__(
        self,
        candidates: Sequence[Any] | Candidates,
        X_train: Any,
        y_train: ArrayLike,
        X_val: Any,
        y_val: ArrayLike,
        *,
        random_state: Any = 0,
    ) -> None:
        labels = [check.column("y_train", y_train), check.column("y_val", y_val)]
        check.samples("X_train", X_train, len(labels[0]), "y_train")
        check.samples("X_val", X_val, len(labels[1]), "y_val")
        classes = pd.unique(np.concatenate(labels))
        if len(classes) != 2 or any(len(pd.unique(part)) < 2 for part in labels):
            raise ValueError(
                f"y_train and y_val must each hold the same two classes, got {shown(classes)}."
            )
        given: Any = candidates
        is_list = isinstance(given, list | tuple)
        self.candidates: Candidates = Estimators(given) if is_list else given
        case = max(classes.tolist())
        self.X_train, self.X_val = X_train, X_val
        self.y_train, self.y_val = labels[0] == case, labels[1] == case
        self._seed = seed_sequence(random_state)
        self._found: dict[Any, Any] = {}

    def seed(self, *key: int) -> np.random.SeedSequence:
        """Return the seed of one of the things that are drawn."""
        return child_seed(self._seed, *key)

    @cached_property
    def fitted(self) -> Any:
        """The candidates, fitted on the training part."""
        return self.candidates.fit(self.X_train, self.y_train, self.seed(0))

    @cached_property
    def probability(self) -> Array:
        """Probabilities of a case on the validation part, (n_candidates, n_validation)."""
        return self.candidates.probability(self.fitted, self.X_val)

    @cached_property
    def log_loss(self) -> Array:
        """Each candidate's log loss on the validation part, certainty cut at `CERTAINTY`."""
        return mean_log_loss(self.probability, self.y_val)

    @cached_property
    def X(self) -> Any:  # noqa: N802  scikit-learn's name
        """Training and validation rows together."""
        parts = [self.X_train, self.X_val]
        if isinstance(self.X_train, pd.DataFrame):
            return pd.concat(parts, ignore_index=True)
        return np.concatenate(parts)

    @cached_property
    def y(self) -> Flags:
        """Who is a case among the training and validation rows."""
        return np.concatenate([self.y_train, self.y_val])

    @cached_property
    def unseen(self) -> Flags:
        """Which rows of the cohort each candidate did not see."""
        seen = self.candidates.trained_on(self.fitted)
        if seen is None:
            raise ValueError("candidates see all training rows: there is nothing out of bag.")
        return np.hstack([~seen, np.ones_like(self.probability, dtype=bool)])

    def kept(self, key: Any, compute: Callable[[], Any]) -> Any:
        """Return what was computed under a key before, or compute it now."""
        if key not in self._found:
            self._found[key] = compute()
        return self._found[key]

    @cached_property
    def train_probability(self) -> Array:
        """Probabilities of a case on the training part."""
        return self.candidates.probability(self.fitted, self.X_train)

    @_kept
    def noisy(self, sigma: float, part: str = "val") -> Array:
        """Return the probabilities of a flag on the perturbed validation (or training) rows."""
        X, key = (self.X_val, 1) if part == "val" else (self.X_train, 2)
        return self.candidates.flag_probability(self.fitted, X, sigma, self.seed(key))

    def _folds(self, y: Flags, n_splits: int, repeat: int) -> list[Indices]:
        least = min(int(y.sum()), int((~y).sum()))
        if least < n_splits:
            raise ValueError(f"n_splits is {n_splits}, but one class has {least} samples only.")
        seed = int(self.seed(3, repeat).generate_state(1)[0])
        folds = StratifiedKFold(n_splits, shuffle=True, random_state=seed)
        return [test for _, test in folds.split(np.zeros(len(y)), y)]

    @_kept
    def folds(self, n_splits: int, repeat: int = 0) -> list[tuple[Indices, Any]]:
        """Return each fold's rows of the whole cohort, and the candidates fitted on the others."""
        found = []
        for number, test in enumerate(self._folds(self.y, n_splits, repeat)):
            rest = np.setdiff1d(np.arange(len(self.y)), test)
            seed = self.seed(4, repeat, number)
            found.append((test, self.candidates.fit(rows_of(self.X, rest), self.y[rest], seed)))
        return found

    @_kept
    def fold_flags(self, n_splits: int, repeat: int = 0) -> Flags:
        """Return whom the candidates flag that were fitted without that person's fold."""
        found = np.empty((len(self.candidates.complexity), len(self.y)), dtype=bool)
        for test, fitted in self.folds(n_splits, repeat):
            found[:, test] = self.candidates.probability(fitted, rows_of(self.X, test)) > 0.5
        return found

    @_kept
    def rotations(self, n_splits: int) -> list[tuple[Indices, Indices, Any, Flags]]:
        """Return splits of the training part in three: rows to choose on, rows to judge on.

        With each come the candidates, fitted on all other training rows, and whom of the rows to
        judge on they flag. Every training row is judged once.
        """
        parts, found = self._folds(self.y_train, n_splits, 0), []
        for number, judge in enumerate(parts):
            choose = parts[(number + 1) % n_splits]
            rest = np.setdiff1d(np.arange(len(self.y_train)), np.concatenate([judge, choose]))
            rows, seed = rows_of(self.X_train, rest), self.seed(6, number)
            fitted = self.candidates.fit(rows, self.y_train[rest], seed)
            seen = self.candidates.probability(fitted, rows_of(self.X_train, judge))
            found.append((choose, judge, fitted, seen > 0.5))
        return found

    @_kept
    def law(self, sigma: float, n_replicas: int, out_of_bag: bool = False) -> CountLaw:
        """Return the law of counts on perturbed validation rows, and on out-of-bag ones."""
        probability = self.noisy(sigma)
        if not out_of_bag:
            return CountLaw(probability, self.y_val, n_replicas)
        both = np.hstack([self.noisy(sigma, "train"), probability])
        return CountLaw(both, self.y, n_replicas, self.unseen)

    @_kept
    def fold_law(self, sigma: float, n_splits: int, n_replicas: int) -> CountLaw:
        """Return the law of counts on the perturbed rows of all folds."""
        chances = np.empty((len(self.candidates.complexity), len(self.y)))
        for number, (test, fitted) in enumerate(self.folds(n_splits)):
            rows, seed = rows_of(self.X, test), self.seed(5, number)
            chances[:, test] = self.candidates.flag_probability(fitted, rows, sigma, seed)
        return CountLaw(chances, self.y, n_replicas)

    @_kept
    def rotation_laws(self, sigma: float, n_splits: int, n_replicas: int) -> list[CountLaw]:
        """Return, for each rotation, the law of counts on its perturbed rows."""
        laws = []
        for number, (choose, _, fitted, _) in enumerate(self.rotations(n_splits)):
            rows, seed = rows_of(self.X_train, choose), self.seed(7, number)
            chances = self.candidates.flag_probability(fitted, rows, sigma, seed)
            laws.append(CountLaw(chances, self.y_train[choose], n_replicas))
        return laws


def mean_log_loss(probability: Array, y: Flags) -> Array:
    """Return the mean log loss along the last axis, certainty cut at `CERTAINTY`."""
    p = np.clip(probability, CERTAINTY, 1 - CERTAINTY)
    return -np.log(np.where(y, p, 1 - p)).mean(axis=-1)


@dataclass(frozen=True, eq=False)
class Choice:
    """What a rule found.

    Attributes
    ----------
    scores : ndarray of shape (n_candidates,)
        The rule's criterion; the largest is best.
    tied : ndarray of int
        All candidates among which the rule has no preference.
    index : int
        The one of ``tied`` that chance picked.
    flag_error : float
        Largest standard error of the flag probabilities behind the scores; 0 where they are exact
        or the rule needs none.
    """

    scores: Array
    tied: Indices
    index: int
    flag_error: float = 0.0

    def __repr__(self) -> str:
        drawn = f", flag probabilities ±{self.flag_error:.2g}" if self.flag_error else ""
        score = self.scores[self.index]
        return f"Choice(index={self.index}, score={score:.4g}, {len(self.tied)} tied{drawn})"


@dataclass(frozen=True)
class Rule(ABC):
    """A rule of choice.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        A scikit-learn scorer or its name that counts right and wrong predictions of two classes,
        such as ``"f1"`` or what `pvf.intervention_efficiency_scorer` makes.

    Examples
    --------
    A new rule is one class with one method; this one chooses by the Brier score.

    >>> from sklearn.datasets import make_moons
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> class BrierScore(Rule):
    ...     def scores(self, evidence):
    ...         return -((evidence.probability - evidence.y_val) ** 2).mean(axis=1)
    >>> X, y = make_moons(120, noise=0.3, random_state=0)
    >>> trees = [DecisionTreeClassifier(max_depth=d, random_state=0) for d in (1, 2, 4, 8)]
    >>> BrierScore().choose(Evidence(trees, X[:90], y[:90], X[90:], y[90:])).index
    1
    """

    scoring: Any = "f1"
    perturbs: ClassVar[bool] = False  # whether flag probabilities stand behind its scores

    def __post_init__(self) -> None:
        """Check the arguments that several rules have."""
        for name, least in {"n_splits": 2, "n_repeats": 1, "n_replicas": 1}.items():
            check.integer(name, getattr(self, name, least), least)
        check.number("share", getattr(self, "share", 0), 0, 1)

    @abstractmethod
    def scores(self, evidence: Evidence) -> Array:
        """Return the criterion of each candidate; the largest is best."""

    def tied(self, evidence: Evidence) -> Indices:
        """Return all candidates among which the rule has no preference."""
        return np.flatnonzero(is_tied_best(self.scores(evidence)))

    def choose(self, evidence: Evidence) -> Choice:
        """Choose one candidate; of those that tie, one at random by the evidence's seed.

        Parameters
        ----------
        evidence : Evidence

        Returns
        -------
        Choice
        """
        check.kind("evidence", evidence, Evidence, "be an Evidence")
        tied = self.tied(evidence)
        index = int(np.random.default_rng(evidence.seed(8)).choice(tied))
        error = evidence.candidates.flag_error if self.perturbs else 0.0
        return Choice(self.scores(evidence), tied, index, error)

    def _of(self, flagged: NDArray, y: Flags, mask: Flags | None = None) -> Array:
        """Score predictions, of shape (n_candidates, n_samples), where the mask says so."""
        inside = np.ones_like(flagged, dtype=bool) if mask is None else mask
        hit = flagged * inside
        table = (hit[:, y].sum(1), hit[:, ~y].sum(1), inside[:, y].sum(1), inside[:, ~y].sum(1))
        return _count_score(self.scoring)(*table)


@cache
def _count_score(scoring: Any) -> Callable[..., Array]:
    """Return a score as a function of true and false positives, cases and others."""
    found = count_metric(check.scorer(scoring), np.array([0, 1]))
    if found is None or found[0] != 1:
        raise ValueError(
            "scoring must count right and wrong predictions of two classes, such as 'f1' or an "
            f"intervention_efficiency_scorer, got {shown(scoring)}."
        )
    return found[1]


@dataclass(frozen=True)
class HoldOut(Rule):
    """The score on the validation part: the papers' traditional method.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`, or ``"neg_log_loss"`` or ``"roc_auc"``.
    ties : {"random", "log_loss"}, default="random"
        Whether chance or the smaller log loss decides between equal scores.
    """

    ties: str = "random"

    def __post_init__(self) -> None:
        """Check the arguments."""
        check.choice("ties", self.ties, ("random", "log_loss"))

    def scores(self, evidence: Evidence) -> Array:
        """Return each candidate's score on the validation part."""
        if self.scoring == "neg_log_loss":
            return -evidence.log_loss
        if self.scoring == "roc_auc":
            y, n_pos = evidence.y_val, int(evidence.y_val.sum())
            ranks = stats.rankdata(evidence.probability, axis=1)[:, y].sum(axis=1)
            return (ranks - n_pos * (n_pos + 1) / 2) / (n_pos * (len(y) - n_pos))
        return self._of(evidence.probability > 0.5, evidence.y_val)

    def tied(self, evidence: Evidence) -> Indices:
        """Return the best, by log loss among equal scores where the rule says so."""
        tied = super().tied(evidence)
        if self.ties == "random":
            return tied
        return tied[is_tied_best(-evidence.log_loss[tied])]


@dataclass(frozen=True)
class BootstrapQuartile(Rule):
    """A quantile of the score over bootstrap resamples of the validation part, without noise.

    Cases and others are resampled apart, so the resampled counts are binomial and the quantile is
    exact: nothing is drawn.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`.
    share : float in [0, 1], default=0.25
        Which quantile.
    """

    share: float = 0.25

    def scores(self, evidence: Evidence) -> Array:
        """Return the quantile of each candidate's score over resamples."""
        flagged, y = evidence.probability > 0.5, evidence.y_val
        rates = [flagged[:, part].mean(axis=1)[:, None] for part in (y, ~y)]
        return law_quantile(_count_score(self.scoring), np.where(y, *rates), y, 1, self.share)


@dataclass(frozen=True)
class Shrunken(Rule):
    """The hold-out score of counts that are drawn towards the candidates' mean.

    Each candidate's shares of flagged cases and of flagged others are beta-binomial over the
    candidates; the prior is fitted by moments, and the score is that of the posterior means.
    """

    def scores(self, evidence: Evidence) -> Array:
        """Return the score of each candidate's shrunken counts."""
        flagged, y = evidence.probability > 0.5, evidence.y_val
        tp, fp = (_shrunken(flagged[:, part].sum(axis=1), int(part.sum())) for part in (y, ~y))
        return _count_score(self.scoring)(tp, fp, int(y.sum()), int((~y).sum()))


def _shrunken(hits: Indices, n: int) -> Array:
    """Return expected hits given a beta prior that is fitted to all candidates by moments."""
    rates = hits / n
    mean, within = rates.mean(), rates.mean() * (1 - rates.mean())
    excess = rates.var() - within / n  # what binomial chance does not explain
    if excess <= 0 or n == 1:
        return np.full(len(hits), n * mean)
    strength = max((within - rates.var()) / excess, 0.0)
    return n * (hits + strength * mean) / (n + strength)


@dataclass(frozen=True)
class OutOfBag(Rule):
    """The score on validation rows and each candidate's own out-of-bag rows together."""

    def scores(self, evidence: Evidence) -> Array:
        """Return each candidate's score over both kinds of rows that it did not see."""
        flagged = np.hstack([evidence.train_probability, evidence.probability]) > 0.5
        return self._of(flagged, evidence.y, evidence.unseen)


@dataclass(frozen=True)
class RepeatedCV(Rule):
    """Cross-validation of the candidate's recipe on the training and validation rows together.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`; taken of the counts of all folds of one repetition.
    n_splits, n_repeats : int, default=5 and 1
        Stratified folds, and how often other folds are cut; the scores are averaged.
    """

    n_splits: int = 5
    n_repeats: int = 1

    def scores(self, evidence: Evidence) -> Array:
        """Return each recipe's score over the held-out folds."""
        found = [
            self._of(evidence.fold_flags(self.n_splits, repeat), evidence.y)
            for repeat in range(self.n_repeats)
        ]
        return np.mean(found, axis=0)


@dataclass(frozen=True)
class OneStandardError(Rule):
    """The least complex candidate within one standard error of cross-validation's best.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`; taken in each fold.
    n_splits : int, default=5
        Stratified folds of the training and validation rows together.

    References
    ----------
    Breiman, Friedman, Olshen and Stone (1984), Classification and Regression Trees, 3.4.3.
    """

    n_splits: int = 5

    def scores(self, evidence: Evidence) -> Array:
        """Return each recipe's mean score over folds."""
        return self._by_fold(evidence).mean(axis=0)

    def tied(self, evidence: Evidence) -> Indices:
        """Return the least complex within one standard error of the best mean."""
        each = self._by_fold(evidence)
        mean, error = each.mean(axis=0), stats.sem(each, axis=0)
        near = mean >= mean.max() - error[mean.argmax()] - 1e-12
        complexity = np.where(near, evidence.candidates.complexity, np.inf)
        return np.flatnonzero(complexity == complexity.min())

    def _by_fold(self, evidence: Evidence) -> Array:
        flagged = evidence.fold_flags(self.n_splits)
        parts = [test for test, _ in evidence.folds(self.n_splits)]
        return np.array([self._of(flagged[:, part], evidence.y[part]) for part in parts])


@dataclass(frozen=True)
class PerturbationValidation(Rule):
    """PVF: a quantile of the score over perturbed copies of the validation part.

    The quantile is that of the score's law, the limit of many perturbed sets: it is exact where
    the candidates' flag probabilities are, and otherwise as good as these.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`.
    sigma : float or "nested", default=0.3
        Noise in standard deviations of the training rows, above 0; or chosen inside the training
        part among ``sigmas``: candidates are fitted on three folds of five, PVF chooses on the
        fourth and the choice is judged on the fifth, each fold in turn.
    sigmas : sequence of float, default=(0.01, 0.1, 0.3)
        What "nested" chooses from; of equally good ones the smallest.
    out_of_bag : bool, default=False
        Whether each candidate's own out-of-bag rows are perturbed and counted too.
    n_replicas : int, default=7
        Copies of each row in a perturbed set, the paper's k.
    share : float in [0, 1], default=0.25
        Which quantile.

    References
    ----------
    Zhang, Tran and Weng (2026), Algorithm 1.
    """

    sigma: float | str = 0.3
    sigmas: tuple[float, ...] = SIGMAS
    out_of_bag: bool = False
    n_replicas: int = 7
    share: float = 0.25
    n_splits: ClassVar[int] = 5
    perturbs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        if self.sigma != "nested":
            if isinstance(self.sigma, str):
                raise ValueError(f"sigma must be above 0 or 'nested', got {self.sigma!r}.")
            check.interval("sigma", self.sigma, 0, np.inf, left_open=True)
        check.interval("sigmas", self.sigmas, 0, np.inf, left_open=True)
        check.flag("out_of_bag", self.out_of_bag)

    def scores(self, evidence: Evidence) -> Array:
        """Return the quantile of each candidate's law."""
        sigma = self.chosen_sigma(evidence)
        law = evidence.law(sigma, self.n_replicas, out_of_bag=self.out_of_bag)
        return law.quantile(_count_score(self.scoring), self.share)

    def chosen_sigma(self, evidence: Evidence) -> float:
        """Return σ: the one given, or the one that is best inside the training part."""
        if self.sigma != "nested":
            return float(self.sigma)
        found = evidence.kept(("sigma", self), lambda: list(self._judged(evidence)))
        return self.sigmas[int(is_tied_best(np.array(found)).argmax())]

    def _judged(self, evidence: Evidence) -> Iterator[float]:
        """Yield, for each σ, the score of PVF's choices over all rows to judge on."""
        y, score = evidence.y_train, _count_score(self.scoring)
        parts = evidence.rotations(self.n_splits)
        for sigma in self.sigmas:
            table = np.zeros(4)
            laws = evidence.rotation_laws(sigma, self.n_splits, self.n_replicas)
            for law, (_, judge, _, flagged) in zip(laws, parts, strict=True):
                best = is_tied_best(law.quantile(score, self.share))
                hits = flagged[best].mean(axis=0)  # ties are shared
                cases = y[judge]
                table += [hits[cases].sum(), hits[~cases].sum(), cases.sum(), (~cases).sum()]
            yield float(score(*table))


@dataclass(frozen=True)
class PVFInsideCV(Rule):
    """PVF on the held-out folds of cross-validation in place of one validation part.

    Parameters
    ----------
    scoring : str or scorer, default="f1"
        As in `Rule`.
    sigma : float, default=0.3
        Noise in standard deviations of each fold's training rows, above 0.
    n_splits, n_replicas, share
        Folds, and k and the quantile as in `PerturbationValidation`.
    """

    sigma: float = 0.3
    n_splits: int = 5
    n_replicas: int = 7
    share: float = 0.25
    perturbs: ClassVar[bool] = True

    def __post_init__(self) -> None:
        """Check the arguments."""
        super().__post_init__()
        check.interval("sigma", self.sigma, 0, np.inf, left_open=True)

    def scores(self, evidence: Evidence) -> Array:
        """Return the quantile of the law of each recipe's score over all folds."""
        law = evidence.fold_law(self.sigma, self.n_splits, self.n_replicas)
        return law.quantile(_count_score(self.scoring), self.share)


@dataclass(frozen=True)
class PMVRule(Rule):
    """Perturbed Model Validation: how fast training accuracy falls as labels are flipped.

    Parameters
    ----------
    scoring : ignored
        PMV has a criterion of its own.
    noise_levels : sequence of float, default=(0.0, 0.1, 0.2, 0.3)
        Shares of each class whose labels are flipped, rounded to whole labels.

    References
    ----------
    Zhang, Barr and Paisley (2019), equation 1.
    """

    noise_levels: tuple[float, ...] = field(default=(0.0, 0.1, 0.2, 0.3))

    def __post_init__(self) -> None:
        """Check the arguments."""
        levels = check.interval("noise_levels", self.noise_levels, 0, 0.5)
        if levels.ndim != 1 or len(np.unique(levels)) < 2:
            raise ValueError(f"noise_levels must be two or more, got {shown(self.noise_levels)}.")

    def scores(self, evidence: Evidence) -> Array:
        """Return the rate at which each recipe's accuracy falls, on all rows at hand."""
        return evidence.kept(("pmv", self.noise_levels), lambda: self._slopes(evidence))

    def _slopes(self, evidence: Evidence) -> Array:
        X, y, accuracies = evidence.X, evidence.y, []
        for number, level in enumerate(self.noise_levels):
            rng = np.random.default_rng(evidence.seed(9, number))
            noisy = y.copy()
            for part in (np.flatnonzero(y), np.flatnonzero(~y)):
                chosen = rng.choice(part, round(level * len(part)), replace=False)
                noisy[chosen] = ~noisy[chosen]
            fitted = evidence.candidates.fit(X, noisy, evidence.seed(10, number))
            flagged = evidence.candidates.probability(fitted, X) > 0.5
            accuracies.append((flagged == noisy).mean(axis=1))
        centred = np.array(self.noise_levels) - np.mean(self.noise_levels)
        return np.abs(centred @ np.array(accuracies) / (centred @ centred))


def law_quantile(
    score: Callable[..., Array],
    probability: Array,
    y: Flags,
    n_replicas: int = 1,
    share: float = 0.25,
    *,
    mask: Flags | None = None,
) -> Array:
    """Return a quantile of a score whose flags are independent, without drawing any.

    Parameters
    ----------
    score : callable
        Of true positives, false positives, cases and others.
    probability : ndarray of shape (n_candidates, n_samples)
        Probability that a copy of a sample is flagged.
    y : ndarray of bool of shape (n_samples,)
        Who is a case.
    n_replicas : int, default=1
        Independent copies of each sample.
    share : float, default=0.25
        Which quantile: the smallest value that the score does not exceed with at least this
        probability.
    mask : ndarray of bool of shape (n_candidates, n_samples), optional
        Which samples count for which candidate; all by default.

    Returns
    -------
    ndarray of shape (n_candidates,)
        Exact up to counts of less than 1e-9 in probability.

    Examples
    --------
    >>> from pvf.counts import recall
    >>> y = np.array([True, True, False])
    >>> law_quantile(recall, np.array([[0.5, 0.5, 0.0], [1.0, 0.9, 0.0]]), y, share=0.5)
    array([0.5, 1. ])
    """
    return CountLaw(probability, y, n_replicas, mask).quantile(score, share)


class CountLaw:
    """The joint law of true and false positives where flags are independent.

    Parameters
    ----------
    probability, y, n_replicas, mask
        As in `law_quantile`.
    """

    def __init__(
        self, probability: Array, y: Flags, n_replicas: int = 1, mask: Flags | None = None
    ) -> None:
        inside = np.ones(probability.shape, dtype=bool) if mask is None else mask
        p = np.where(inside, probability, 0.0)
        (tp, of_tp), (fp, of_fp) = (_window(_count_law(p[:, part], n_replicas)) for part in (y, ~y))
        n_pos, n_neg = (n_replicas * inside[:, part].sum(axis=1) for part in (y, ~y))
        sizes = (n_pos[:, None, None], n_neg[:, None, None])
        self.table = (tp[:, :, None], fp[:, None, :], *sizes)
        self.weight = (of_tp[:, :, None] * of_fp[:, None, :]).reshape(len(p), -1)

    def quantile(self, score: Callable[..., Array], share: float) -> Array:
        """Return each candidate's quantile of a score of true and false positives."""
        values = score(*self.table).reshape(self.weight.shape)
        order = np.argsort(values, axis=1)
        below = np.cumsum(np.take_along_axis(self.weight, order, axis=1), axis=1)
        place = (below >= share - 1e-7).argmax(axis=1)
        return np.take_along_axis(values, np.take_along_axis(order, place[:, None], 1), 1)[:, 0]


def _count_law(p: Array, n_replicas: int) -> Array:
    """Return the law of how many of all copies are flagged, (n_candidates, n_copies + 1)."""
    law = np.zeros((len(p), p.shape[1] + 1))
    law[:, 0] = 1.0
    for column in p.T[:, :, None]:
        law[:, 1:] = law[:, 1:] * (1 - column) + law[:, :-1] * column
        law[:, :1] *= 1 - column
    if n_replicas == 1:
        return law
    size = n_replicas * p.shape[1] + 1
    power = np.fft.irfft(np.fft.rfft(law, size, axis=1) ** n_replicas, size, axis=1)
    return np.clip(power, 0.0, 1.0)


def _window(law: Array) -> tuple[Indices, Array]:
    """Return the counts that carry the law, as many for each candidate, and their probabilities."""
    below = np.cumsum(law, axis=1)
    first = (below > 1e-9).argmax(axis=1)
    last = (below >= below[:, -1:] - 1e-9).argmax(axis=1)
    width = int((last - first).max()) + 1
    first = np.minimum(first, law.shape[1] - width)
    places = first[:, None] + np.arange(width)
    return places, np.take_along_axis(law, places, axis=1)
