"""Exact laws of perturbed scores: nothing is drawn where the law is known.

A perturbed set's score by counts depends on its true and false positives alone, which are sums of
independent binomials: k copies of each sample, each flagged with the sample's flip probability.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from scipy import fft, special, stats

from pvf import _checks as check
from pvf import plotting
from pvf._checks import naming
from pvf._ensembles import Law, NoLawError
from pvf._flip import Noise, law_of_flags
from pvf._seeds import generator_of
from pvf._types import Array, Flags, Indices
from pvf.metrics import count_metric
from pvf.perturbation import JointPerturbation, TableSampler, fitted_perturbation, sampler_of

if TYPE_CHECKING:
    from matplotlib.axes import Axes

METHODS = ("auto", "exact", "sample")
Method = Literal["auto", "exact", "sample"]
_TAIL = 1e-13  # of a law of counts, left out at each end where the joint law would be large
_NEVER = 1e-300  # chances below this are 0; SciPy's binomial overflows near 1e-308
_MOST_PAIRS = 2**18
_MOST_ERROR = 1e-2  # of the cdf of a score that counts as known
_BATCHES = 20  # of draws, at least
_MOST_ROWS = 200_000  # that are predicted at a time
_EPSILON = float(np.finfo(float).eps)
_DIRECT = 1000  # counts up to which laws are convolved by plain sums


@dataclass(frozen=True, eq=False, repr=False)
class FlipProbability:
    """How likely a perturbed copy of each sample is flagged; `numpy.asarray` gives the numbers.

    Attributes
    ----------
    probability : ndarray of shape (n_samples,)
    standard_error : ndarray of shape (n_samples,)
        0 where ``exact``; else each estimate's standard error.
    exact : bool
        Whether the law is known, so that nothing was drawn.
    error : float
        How far a known probability may be off, at most: what was left out of sums over many boxes
        or values.
    """

    probability: Array
    standard_error: Array
    exact: bool
    error: float = 0.0

    def __post_init__(self) -> None:
        """Check that the parts fit together."""
        probability = check.interval("probability", self.probability, 0, 1)
        check.shape("probability", probability, (-1,))
        error = check.interval("standard_error", self.standard_error, 0, np.inf)
        check.shape("standard_error", error, probability.shape, as_in="probability")
        check.flag("exact", self.exact)
        check.number("error", self.error, 0, 1)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> NDArray[Any]:
        return np.array(self.probability, dtype=dtype, copy=copy)

    def __len__(self) -> int:
        return len(self.probability)

    def __repr__(self) -> str:
        how = f"exact within {self.error:.1g}" if self.error else "exact"
        if not self.exact:
            how = f"standard error up to {self.standard_error.max():.2g}"
        return f"FlipProbability({len(self)} samples, {how})"


def flip_probability(
    model: Any,
    X: Any,
    perturbation: JointPerturbation,
    *,
    pos_label: Any = None,
    method: str = "auto",
    n_draws: int = 1000,
    random_state: Any = None,
) -> FlipProbability:
    """Return, for each sample, the probability that a perturbed copy is flagged.

    Known for classifiers of two classes under Gaussian noise, nominal flips and ordinal shifts,
    also behind scalers, imputers and encoders: linear ones, trees, small forests and bagged trees
    (by the mean of their trees' probabilities, as scikit-learn predicts), and gradient boosting and
    AdaBoost of stumps, or of few larger trees; Gaussian naive Bayes by numerical inversion. Where
    something is left out, ``error`` bounds it. Everything else is drawn, in strata.

    Parameters
    ----------
    model : fitted classifier
    X : frame or array of shape (n_samples, n_features)
    perturbation : Perturbation
        If it is not fitted, a copy is fitted on ``X``.
    pos_label : label, optional
        What counts as flagged; the second of the model's ``classes_`` by default.
    method : {"auto", "exact", "sample"}, default="auto"
        Whether the law is taken where it is known, must be known, or copies are drawn.
    n_draws : int, default=1000
        Copies of each sample, where they are drawn: stratified, in 20 batches or more whose spread
        gives the standard error.
    random_state : int, SeedSequence, Generator, RandomState or None
        Seed of the draws.

    Returns
    -------
    FlipProbability

    Raises
    ------
    ValueError, TypeError
        An argument is of the wrong kind, or ``method="exact"`` finds no law.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X = np.arange(4.0)[:, None]
    >>> stump = DecisionTreeClassifier(max_depth=1).fit(X, [0, 0, 1, 1])
    >>> noise = pvf.Perturbation(pvf.GaussianNoise(1.0))
    >>> np.asarray(flip_probability(stump, X, noise)).round(3)
    array([0.067, 0.309, 0.691, 0.933])
    """
    check.choice("method", method, METHODS)
    check.integer("n_draws", n_draws, 2)
    _check_samples(X)
    check.fitted("model", model)
    classes = getattr(model, "classes_", None)
    if pos_label is None and classes is None:
        raise ValueError("pos_label must name the case, since model has no classes_.")
    case = classes[-1] if pos_label is None else check.label("pos_label", pos_label)  # type: ignore[index]
    if classes is not None and case not in classes:
        raise ValueError(f"pos_label must be one of {list(classes)}, got {pos_label!r}.")
    rng = generator_of(random_state)
    perturbation = fitted_perturbation(perturbation, X)
    with naming("X"):
        model.predict(X)  # its own errors come first
    if method != "sample":
        try:
            return _exact(*law_of_flags(model, Noise(perturbation, X)), classes, case)
        except NoLawError as error:
            if method == "exact":
                raise ValueError(f"method='exact': {error}; take 'auto' or 'sample'.") from error
    return _drawn(model, X, sampler_of(perturbation, X), case, n_draws, rng)


class _Strata:
    """A generator whose numbers fall one into each of as many strata as there are replicas."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def __getattr__(self, name: str) -> Any:
        return getattr(self._rng, name)

    def random(self, shape: tuple[int, ...]) -> Array:
        places = np.arange(shape[0]).reshape(-1, *[1] * (len(shape) - 1))
        strata = self._rng.permuted(np.broadcast_to(places, shape), axis=0)
        return np.minimum((strata + self._rng.random(shape)) / shape[0], 1 - _EPSILON)

    def standard_normal(self, shape: tuple[int, ...]) -> Array:
        return special.ndtri(np.maximum(self.random(shape), _NEVER))


def _drawn(
    model: Any, X: Any, sampler: TableSampler, case: Any, n_draws: int, rng: np.random.Generator
) -> FlipProbability:
    """Return shares of flagged copies, which are drawn in batches that are each stratified.

    In a batch of m copies each column's numbers fall one into each of m equally likely strata, in
    an order of their own for each sample (a Latin hypercube; McKay, Beckman and Conover 1979). The
    batches are independent, so their spread shows the error that is left. What is perturbed by
    mechanisms of another's making is drawn without strata.
    """
    source: Any = _Strata(rng) if sampler.can_be_split else rng
    n_samples = len(X)
    n_batches = min(n_draws, max(_BATCHES, -(-n_draws * n_samples // _MOST_ROWS)))
    sizes = np.diff(np.linspace(0, n_draws, n_batches + 1).astype(int))
    shares = np.empty((n_batches, n_samples))
    for batch, size in enumerate(sizes.tolist()):
        table = sampler.assemble([sampler.draw(size, source)], size)
        flagged = np.asarray(model.predict(table)) == case
        shares[batch] = flagged.reshape(size, n_samples).mean(axis=0)
    weight = sizes[:, None] / n_draws
    found = np.clip((weight * shares).sum(axis=0), 0, 1)
    spread = (weight**2 * (shares - found) ** 2).sum(axis=0) * n_batches / (n_batches - 1)
    least = 1 / (n_draws + 2)  # so that no error is 0 where all copies were alike
    error = np.maximum(np.sqrt(spread), np.sqrt(least * (1 - least) / n_draws))
    return FlipProbability(found, error, exact=False)


@dataclass(frozen=True, eq=False, repr=False)
class ScoreLaw:
    """The law of a model's score on a perturbed set.

    Attributes
    ----------
    support : ndarray of shape (n_values,)
        Scores, ascending.
    probabilities : ndarray of shape (n_values,)
    flips : FlipProbability or None
        The law's source.
    error : float
        How much probability was left out, at most.
    """

    support: Array
    probabilities: Array
    flips: FlipProbability | None = None
    error: float = 0.0

    def __repr__(self) -> str:
        how = "exact" if not self.error else f"cdf within {self.error:.1g}"
        if self.flips is not None and not self.flips.exact:
            largest = self.flips.standard_error.max()
            how = f"from drawn flips, standard error up to {largest:.2g}"
        return f"ScoreLaw(mean {self.mean:.4g}, {len(self.support)} values, {how})"

    @property
    def mean(self) -> float:
        """The expected score."""
        return float(self.support @ self.probabilities)

    @property
    def sd(self) -> float:
        """The score's standard deviation from set to set."""
        return float(np.sqrt((self.support - self.mean) ** 2 @ self.probabilities))

    def cdf(self, score: ArrayLike) -> Array:
        """Return the probability of a score at most this, one for each given."""
        below = np.concatenate([[0.0], np.cumsum(self.probabilities)])
        scores = check.interval("score", score, -np.inf, np.inf)
        found = below[np.searchsorted(self.support, scores, side="right")]
        return np.minimum(found, 1)

    def quantile(self, q: float) -> float:
        """Return the least score that the law stays at or below with probability q."""
        check.number("q", q, 0, 1)
        index = np.searchsorted(np.cumsum(self.probabilities), q - 1e-12)
        return float(self.support[min(int(index), len(self.support) - 1)])

    def of_quantile(self, q: float, n_sets: int) -> ScoreLaw:
        """Return the law of `numpy.quantile` (linear) of the scores of ``n_sets`` sets."""
        check.number("q", q, 0, 1)
        check.integer("n_sets", n_sets, 1, 2000)  # beyond, factors would overflow
        place = (n_sets - 1) * q
        rank, share = int(place) + 1, place - int(place)
        upto = np.minimum(np.cumsum(self.probabilities), 1)
        upto[-1] = 1
        before = np.concatenate([[0.0], upto[:-1]])
        at = stats.binom.sf(rank - 1, n_sets, upto) - stats.binom.sf(rank - 1, n_sets, before)
        if share == 0:
            return _merged(self.support, np.maximum(at, 0), self.flips, self.error * n_sets)
        # Neighbours in rank at a < b: exactly ``rank`` scores up to a, the others from b on.
        log_choose = float(stats.binom.logpmf(rank, n_sets, 0.5)) + n_sets * np.log(2)
        some = np.exp(log_choose / 2)
        first = some * (upto**rank - before**rank)
        rest = n_sets - rank
        second = some * ((1 - before) ** rest - np.maximum(1 - upto, 0) ** rest)
        with np.errstate(over="ignore"):  # below the diagonal, which is left out
            apart = np.triu(np.outer(first, second), 1)
        same = np.maximum(at - apart.sum(axis=1), 0)
        low, high = np.nonzero(apart > 0)
        between = (1 - share) * self.support[low] + share * self.support[high]
        values = np.concatenate([self.support, between])
        chances = np.concatenate([same, apart[low, high]])
        order = np.argsort(values)
        return _merged(values[order], chances[order], self.flips, self.error * n_sets)

    def samples(self, scale: float | None = None) -> pd.DataFrame:
        """Return how likely each sample's copies are flagged, and how far its decision is safe.

        Parameters
        ----------
        scale : float, optional
            σ of Gaussian noise that acts alike on all columns. With it ``radius`` says within which
            distance no shift of the sample changes what most of its copies are predicted: σ times
            the normal quantile of the majority's probability, less two standard errors (Cohen,
            Rosenfeld and Kolter 2019, theorem 1).

        Returns
        -------
        DataFrame
            ``flip_probability``, ``standard_error`` and, with ``scale``, ``radius``.
        """
        if self.flips is None:
            raise ValueError("samples needs flips, which this law was made without.")
        chance, error = self.flips.probability, self.flips.standard_error
        frame = pd.DataFrame({"flip_probability": chance, "standard_error": error})
        if scale is not None:
            check.number("scale", scale, 0)
            majority = np.clip(np.maximum(chance, 1 - chance) - 2 * error, 0.5, 1)
            frame["radius"] = scale * special.ndtri(majority)
        return frame

    def plot(self, ax: Axes | None = None, *, samples: bool = False) -> Axes:
        """Draw the law, or each sample's probability of being flagged (Riley and Collins 2023).

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw; a new figure by default.
        samples : bool, default=False
            Draw the samples, in order of their probability, with two standard errors.

        Returns
        -------
        matplotlib Axes
        """
        check.flag("samples", samples)
        ax = check.axes(ax) or plotting.new_axes(figsize=(5.0, 3.2))
        color = plotting.PALETTE[0]
        if not samples:
            ax.vlines(self.support, 0, self.probabilities, color=color)
            ax.set(xlabel="score on a perturbed set", ylabel="probability", ylim=(0, None))
            return ax
        rows = self.samples().sort_values("flip_probability", kind="stable")
        error = 2 * rows["standard_error"]
        ax.errorbar(
            range(len(rows)), rows["flip_probability"], error, fmt="o", markersize=4, color=color
        )
        ax.set(xlabel="sample, by probability", ylabel="probability of being flagged")
        return ax

    def to_frame(self) -> pd.DataFrame:
        """Return the law as a table of scores and probabilities."""
        return pd.DataFrame({"score": self.support, "probability": self.probabilities})


def score_law(
    model: Any,
    X: Any,
    y: ArrayLike,
    *,
    perturbation: JointPerturbation,
    scoring: str | Callable[..., Any],
    n_replicas: int = 7,
    pos_label: Any = None,
    method: str = "auto",
    n_draws: int = 1000,
    random_state: Any = 0,
) -> ScoreLaw:
    """Return the law of a model's score on a perturbed set.

    Parameters
    ----------
    model, X, perturbation
        As in `flip_probability`.
    y : array-like of shape (n_samples,)
        Labels of two classes.
    scoring : str or callable
        A scorer that counts right and wrong predictions (accuracy, balanced accuracy, precision,
        recall, F-beta, Intervention Efficiency), or a function of (tp, fp, n_pos, n_neg).
    n_replicas : int, default=7
        Number k of copies of each sample in a set.
    pos_label : label, optional
        The case of a function of counts; the larger label by default.
    method, n_draws, random_state
        As in `flip_probability`: where it is drawn, the law follows from the drawn flips, and says
        so.

    Returns
    -------
    ScoreLaw

    Raises
    ------
    ValueError, TypeError
        The metric is no function of counts, ``method="exact"`` finds no law, or an argument is of
        the wrong kind.

    Examples
    --------
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> import pvf
    >>> X, y = np.arange(4.0)[:, None], np.array([0, 0, 1, 1])
    >>> stump = DecisionTreeClassifier(max_depth=1).fit(X, y)
    >>> noise = pvf.Perturbation(pvf.GaussianNoise(1.0))
    >>> law = score_law(stump, X, y, perturbation=noise, scoring="accuracy")
    >>> round(law.mean, 3), round(law.quantile(0.25), 3)
    (0.812, 0.75)
    """
    labels = check.column("y", y)
    _check_samples(X, len(labels))
    check.integer("n_replicas", n_replicas, 1)
    classes = np.unique(labels)
    if len(classes) != 2:
        raise ValueError(f"y must have two classes, got {classes.tolist()}.")
    case, metric = _metric(scoring, classes, pos_label)
    check.fitted("model", model)
    _check_classes(model, classes)
    how: dict[str, Any] = {"method": method, "n_draws": n_draws, "random_state": random_state}
    flips = flip_probability(model, X, perturbation, pos_label=case, **how)
    return next(_laws_of_counts([flips], labels == case, n_replicas, metric))


def laws_where_known(
    models: Sequence[Any],
    X: Any,
    labels: NDArray[Any],
    perturbation: JointPerturbation,
    metrics: Sequence[tuple[Any, Callable[..., Any]] | None],
    n_replicas: int,
) -> list[list[ScoreLaw | NoLawError]]:
    """Return, for each metric and model, the score's law or why none is known.

    Parameters
    ----------
    models : list of fitted estimators
    X, labels, n_replicas
        As in `perturbation_validation`.
    perturbation : Perturbation
        Fitted.
    metrics : list of (case label, function of counts)
        None for what is no function of counts.

    Returns
    -------
    list of list of ScoreLaw or NoLawError
        One list for each metric.
    """
    classes = np.unique(labels)
    flagged = _flagged_second(models, X, classes, perturbation)
    known = [law for law in flagged if not isinstance(law, NoLawError)]

    def laws(metric: tuple[Any, Callable[..., Any]] | None) -> list[ScoreLaw | NoLawError]:
        if metric is None:
            none = NoLawError("scoring is no known function of true and false positives")
            return [none for _ in models]
        flips = [_exact(*law, classes, metric[0]) for law in known]
        of_known = _laws_of_counts(flips, labels == metric[0], n_replicas, metric[1])
        return [law if isinstance(law, NoLawError) else _close(next(of_known)) for law in flagged]

    return [laws(metric) for metric in metrics]


def _close(law: ScoreLaw) -> ScoreLaw | NoLawError:
    """Return a law that is close enough to be called known."""
    if law.error > _MOST_ERROR:
        return NoLawError(f"the cdf of its score is known within {law.error:.1g} only")
    return law


def _flagged_second(
    models: Sequence[Any], X: Any, classes: NDArray[Any], perturbation: JointPerturbation
) -> list[Law | NoLawError]:
    """Return how likely each sample is predicted the second class by each model, where known."""
    found: list[Law | NoLawError] = []
    try:
        noise = Noise(perturbation, X)
    except NoLawError as error:
        return [error for _ in models]
    for model in models:
        try:
            _check_classes(model, classes)
            found.append(law_of_flags(model, noise))
        except ValueError as error:  # no law, or a classifier of other classes
            found.append(error if isinstance(error, NoLawError) else NoLawError(str(error)))
    return found


def _check_samples(X: Any, n_samples: int | None = None) -> None:
    check.samples("X", X, n_samples)
    check.table("X", X)


def _check_classes(model: Any, classes: NDArray[Any]) -> None:
    """Refuse what predicts other classes than those of ``y``."""
    if not np.array_equal(getattr(model, "classes_", ()), classes):
        raise ValueError(f"model must have the classes {classes.tolist()} of y.")


def _exact(second: Array, error: Array, classes: Any, case: Any) -> FlipProbability:
    """Return the probabilities that the case is predicted, given those of the second class."""
    law = second if case == classes[-1] else 1 - second
    return FlipProbability(law, np.zeros_like(law), exact=True, error=float(error.max()))


def _laws_of_counts(
    flips: Sequence[FlipProbability], is_case: Flags, n_replicas: int, metric: Callable[..., Any]
) -> Iterator[ScoreLaw]:
    """Yield the law of each model's score; what all models share is computed once."""
    n_pos, n_neg = n_replicas * int(is_case.sum()), n_replicas * int((~is_case).sum())
    lost = _rounding(n_pos + 1) + _rounding(n_neg + 1)
    errors = [lost + (n_pos + n_neg) * one.error for one in flips]
    shape = n_pos + 1, n_neg + 1
    if max(shape) > _DIRECT or shape[0] * shape[1] > _MOST_PAIRS:
        for one, error in zip(flips, errors, strict=True):
            yield _long_law(one, error, is_case, n_replicas, metric)
        return
    chances = np.array([one.probability for one in flips]).reshape(-1, len(is_case))
    of_tp, of_fp = (_direct_laws(chances[:, some], n_replicas) for some in (is_case, ~is_case))
    counts = np.arange(shape[0])[:, None], np.arange(shape[1])
    scores = np.broadcast_to(metric(*counts, n_pos, n_neg), shape).ravel()
    order = np.argsort(scores)
    for one, error, tp, fp in zip(flips, errors, of_tp, of_fp, strict=True):
        yield _merged(scores[order], np.outer(tp, fp).ravel()[order], one, error)


def _long_law(
    flips: FlipProbability,
    error: float,
    is_case: Flags,
    n_replicas: int,
    metric: Callable[..., Any],
) -> ScoreLaw:
    """Return the law of the score on a large set, without the counts that hardly ever occur."""
    n_pos, n_neg = n_replicas * int(is_case.sum()), n_replicas * int((~is_case).sum())
    chances = flips.probability
    laws = [_window(counts_law(chances[some], n_replicas)) for some in (is_case, ~is_case)]
    (tp, of_tp), (fp, of_fp) = laws
    joint = np.outer(of_tp, of_fp)
    if joint.size > _MOST_PAIRS:
        least = _TAIL / joint.size
        error += _TAIL
        i, j = np.nonzero(joint > least)
        tp, fp, joint = tp[i], fp[j], joint[i, j]
    else:
        tp = tp[:, None]
    scores = np.broadcast_to(metric(tp, fp, n_pos, n_neg), joint.shape).ravel()
    order = np.argsort(scores)
    return _merged(scores[order], joint.ravel()[order], flips, error)


def _metric(scoring: Any, classes: NDArray[Any], pos_label: Any) -> tuple[Any, Callable[..., Any]]:
    """Return the case label and the score as a function of counts."""
    names: list[str] = []
    if callable(scoring) and not isinstance(scoring, type):
        try:
            names = list(inspect.signature(scoring).parameters)[:4]
        except (TypeError, ValueError):
            names = []
    if names == ["tp", "fp", "n_pos", "n_neg"]:
        case = classes[1] if pos_label is None else check.label("pos_label", pos_label)
        if case not in classes:
            raise ValueError(f"pos_label must be one of {classes.tolist()}, got {pos_label!r}.")
        return case, scoring  # type: ignore[return-value]
    found = count_metric(check.scorer(scoring), classes)
    if found is None:
        raise ValueError(
            f"scoring {scoring!r} is no known function of true and false positives; draw sets with "
            "perturbation_validation, or give a function of (tp, fp, n_pos, n_neg)."
        )
    if pos_label is not None and check.label("pos_label", pos_label) != found[0]:
        raise ValueError(f"pos_label is {found[0]!r} by scoring, got {pos_label!r}.")
    return found


def counts_law(chances: Array, n_replicas: int) -> Array:
    """Return the law of the sum of Bin(k, p) over samples, by pairwise convolution."""
    n_counts = n_replicas * len(chances) + 1
    chances = np.where(chances < _NEVER, 0.0, chances)
    if n_counts > _DIRECT:  # the sum of one copy of each sample, to the power k by Fourier
        size = fft.next_fast_len(n_counts, real=True)
        power = fft.rfft(_sum_of_flips(chances), size) ** n_replicas
        law = np.maximum(fft.irfft(power, size)[:n_counts], 0)
        return law / law.sum()
    return _direct_laws(chances[None], n_replicas)[0]


def _direct_laws(chances: Array, n_replicas: int) -> list[Array]:
    """Return `counts_law` of each model by plain sums; ``chances`` are of models times samples."""
    chances = np.where(chances < _NEVER, 0.0, chances)
    found = []
    for of_samples in stats.binom.pmf(np.arange(n_replicas + 1), n_replicas, chances[:, :, None]):
        laws = list(of_samples)
        while len(laws) > 1:
            pairs = zip(laws[::2], laws[1::2], strict=False)
            odd = laws[-1:] if len(laws) % 2 else []
            laws = [np.convolve(a, b) for a, b in pairs] + odd
        found.append(laws[0] / laws[0].sum())
    return found


def _sum_of_flips(chances: Array) -> Array:
    """Return the law of how many samples are flagged, one copy of each, by pairwise convolution."""
    laws = np.stack([1 - chances, chances], axis=1)
    while len(laws) > 1:
        if len(laws) % 2:
            laws = np.vstack([laws, np.eye(1, laws.shape[1])])
        n_counts = 2 * laws.shape[1] - 1
        size = fft.next_fast_len(n_counts, real=True)
        waves = fft.rfft(laws, size, axis=1)
        laws = np.maximum(fft.irfft(waves[::2] * waves[1::2], size, axis=1)[:, :n_counts], 0)
    return laws[0, : len(chances) + 1]


def _rounding(n_counts: int) -> float:
    """Return how much of a law tails and the FFT's rounding may take; direct sums lose nothing."""
    is_direct = n_counts <= _DIRECT
    return 0.0 if is_direct else 2 * _TAIL + _EPSILON * n_counts * float(np.log2(n_counts))


def _window(law: Array) -> tuple[Indices, Array]:
    """Return the counts of a law and their probabilities, of a long one without its tails."""
    start, end = 0, len(law)
    if len(law) > _DIRECT:
        start = int(np.searchsorted(np.cumsum(law), _TAIL))
        end -= int(np.searchsorted(np.cumsum(law[::-1]), _TAIL))
    return np.arange(start, end), law[start:end]


def _merged(scores: Array, chances: Array, flips: FlipProbability | None, error: float) -> ScoreLaw:
    """Return a law in which scores, ascending, that differ by rounding alone are one."""
    some = chances > 0
    scores, chances = np.asarray(scores, dtype=np.float64)[some], chances[some]
    if np.isnan(scores).any():
        raise ValueError("scoring gave NaN for counts that can occur; it must give a number.")
    with np.errstate(invalid="ignore"):
        gaps = np.diff(scores) > 1e-12 * np.maximum(1, np.abs(scores[1:]))
    starts = np.concatenate([[0], np.flatnonzero(gaps) + 1])
    return ScoreLaw(scores[starts], np.add.reduceat(chances, starts), flips, error)
