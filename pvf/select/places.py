"""How many cases are reached when places are filled by score, and how certain that is.

The one place where `pvf.select` judges: by score (the highest first) and by label (the flagged
first, lots among equals) are the same function of two scores. Labels given a place by lot are
Intervention Efficiency as `pvf.counts.intervention_efficiency` defines it; the tests hold the two
together.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pvf._score_draws import interval

Scores = Sequence[NDArray[np.float64]]


def reached_share(
    score: NDArray[np.float64],
    case: NDArray[np.bool_],
    capacity: float,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Return the share of the cases that get a place, the highest scores first, lots among equals.

    Parameters
    ----------
    score : ndarray of shape (n_persons,)
    case : ndarray of bool of shape (n_persons,)
    capacity : float in (0, 1]
        Places, as a share of all persons.
    weight : ndarray of shape (n_draws, n_persons), optional
        How much each person counts, in each draw. By default once, in one draw.

    Returns
    -------
    ndarray of shape (n_draws,)
        Over the capacity it is Intervention Efficiency.

    Examples
    --------
    >>> case = np.array([True, False, True, False])
    >>> reached_share(np.array([0.9, 0.8, 0.3, 0.1]), case, 0.5)
    array([0.5])
    >>> reached_share(np.array([1.0, 0, 0, 0]), case, 0.5)  # the second place by lot among three
    array([0.66666667])
    """
    order = np.argsort(-score, kind="stable")
    ranked = score[order]
    first = np.flatnonzero(np.append(True, ranked[1:] != ranked[:-1]))
    drawn = np.ones((1, len(score))) if weight is None else weight
    drawn = drawn[:, order]
    group = np.add.reduceat(drawn, first, axis=1)
    cases = np.add.reduceat(drawn * case[order], first, axis=1)
    before = np.cumsum(group, axis=1) - group
    places = capacity * group.sum(axis=1, keepdims=True)
    served = np.clip((places - before) / np.where(group > 0, group, 1), 0, 1)
    return (cases * served).sum(axis=1) / cases.sum(axis=1)


@dataclass(frozen=True, eq=False)
class Way:
    """A way of filling the places on the test parts of several splits.

    Attributes
    ----------
    shares : ndarray of shape (n_splits,)
        Of the cases, who get a place.
    drawn : ndarray of shape (n_splits, n_draws)
        Plausible values of these.
    order : list of ndarray, one a split
        Ranks of the persons.
    """

    shares: NDArray[np.float64]
    drawn: NDArray[np.float64]
    order: list[NDArray[np.intp]]


class Judge:
    """Intervention Efficiency and cases reached on the test parts of several splits.

    A person counts with one weight in all test parts, drawn anew for each of the draws (a Bayesian
    bootstrap). There are also four that nobody is, half a person each in all parts together: a case
    and another above all scores, and a case and another below; they are Jeffreys' prior, without
    which a faultless choice would have an interval of no width. All choices share the draws, so
    that differences are paired. The models are taken as they are.

    Parameters
    ----------
    rows, cases : sequence of ndarray, one a split
        Numbers of the persons in the test part, and whether each is a case.
    capacity : float in (0, 1]
    per : float
        Cases reached are counted among so many persons.
    n_draws, seed : int
    """

    def __init__(
        self,
        rows: Sequence[NDArray[np.intp]],
        cases: Sequence[NDArray[np.bool_]],
        *,
        capacity: float,
        per: float,
        n_draws: int,
        seed: int,
    ) -> None:
        rng = np.random.default_rng(seed)
        n_persons = 1 + max(int(part.max()) for part in rows)
        self._weight = rng.standard_exponential((n_draws, n_persons))
        self._ghosts = rng.standard_gamma(0.5, (n_draws, 4))
        self.rows, self.cases, self.capacity = rows, cases, capacity
        self._cases_among = per * np.array([case.mean() for case in cases])

    def way(self, scores: Scores) -> Way:
        """Judge one way of filling the places."""
        parts = list(zip(self.rows, self.cases, scores, strict=True))
        return Way(
            shares=np.array([reached_share(s, c, self.capacity)[0] for _, c, s in parts]),
            drawn=np.array([self._drawn_share(*part) for part in parts]),
            order=[np.unique(score, return_inverse=True)[1] for score in scores],
        )

    def _drawn_share(
        self, rows: NDArray[np.intp], case: NDArray[np.bool_], score: NDArray[np.float64]
    ) -> NDArray[np.float64]:
        finite = np.concatenate([score, [score.max() + 1] * 2, [score.min() - 1] * 2])
        is_case = np.concatenate([case, [True, False, True, False]])
        ghosts = self._ghosts * len(rows) / self._weight.shape[1]  # half a person in all parts
        weight = np.hstack([self._weight[:, rows], ghosts])
        of_cases, of_others = (weight @ mine.astype(float) for mine in (is_case, ~is_case))
        n_cases, n_others = case.sum(), (~case).sum()  # the classes keep their shares
        weight *= np.where(is_case, (n_cases / of_cases)[:, None], (n_others / of_others)[:, None])
        return reached_share(finite, is_case, self.capacity, weight)

    def of(self, way: Way) -> dict[str, float]:
        """Return ``IE`` and cases ``reached``, each with its 95% interval."""
        facts = {}
        for name, ends, factor in (
            ("IE", ("low", "high"), 1 / self.capacity),
            ("reached", ("reached_low", "reached_high"), self._cases_among),
        ):
            facts[name] = float((way.shares * factor).mean())
            span = interval((way.drawn.T * factor).mean(axis=1), 0.95, facts[name])
            facts |= dict(zip(ends, span, strict=True))
        return facts

    def by_chance(self) -> dict[str, float]:
        """Return the same of places that are drawn at random; the intervals have no width."""
        return self._sure(np.full(len(self.cases), self.capacity))

    def best_possible(self) -> dict[str, float]:
        """Return the same of a choice that knew the outcomes; the intervals have no width."""
        known = [reached_share(c.astype(float), c, self.capacity)[0] for c in self.cases]
        return self._sure(np.array(known))

    def _sure(self, shares: NDArray[np.float64]) -> dict[str, float]:
        return self.of(Way(shares, shares[:, None], []))

    def difference(self, one: Way, other: Way) -> dict[str, float]:
        """Return by how much one choice is better than another, with a 95% interval.

        Where the two give the same order in every part, the interval has no width, and ``same``
        is true.
        """
        estimate = float((one.shares - other.shares).mean() / self.capacity)
        drawn = (one.drawn - other.drawn).mean(axis=0) / self.capacity
        low, high = interval(drawn, 0.95, estimate)
        same = all(np.array_equal(a, b) for a, b in zip(one.order, other.order, strict=True))
        return {"difference": estimate, "low": low, "high": high, "same": same}
