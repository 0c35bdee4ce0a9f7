"""How many cases are reached when places are filled by score, and how certain that is.

The one place where `pvf.select` judges: by score (the highest first) and by label (the flagged
first, lots among equals) are the same function of two scores. Labels given a place by lot are
Intervention Efficiency as `pvf.counts.intervention_efficiency` defines it; the tests hold the two
together.
"""

from __future__ import annotations

from collections.abc import Sequence

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

    def shares(self, scores: Scores) -> NDArray[np.float64]:
        """Return the share of the cases that get a place, in each split."""
        parts = zip(scores, self.cases, strict=True)
        return np.array([reached_share(score, case, self.capacity)[0] for score, case in parts])

    def drawn_shares(self, scores: Scores) -> NDArray[np.float64]:
        """Return plausible values of `shares`, of shape (n_splits, n_draws)."""
        drawn = []
        for part, case, score in zip(self.rows, self.cases, scores, strict=True):
            finite = np.concatenate([score, [score.max() + 1] * 2, [score.min() - 1] * 2])
            is_case = np.concatenate([case, [True, False, True, False]])
            ghosts = self._ghosts * len(part) / self._weight.shape[1]  # half a person in all parts
            weight = np.hstack([self._weight[:, part], ghosts])
            for outcome in (True, False):  # the shares of the classes stay what they are
                mine = is_case == outcome
                weight[:, mine] *= (case == outcome).sum() / weight[:, mine].sum(
                    axis=1, keepdims=True
                )
            drawn.append(reached_share(finite, is_case, self.capacity, weight))
        return np.array(drawn)

    def of(self, scores: Scores) -> dict[str, float]:
        """Return ``IE`` and cases ``reached``, each with its 95% interval."""
        return self._told(self.shares(scores), self.drawn_shares(scores))

    def by_chance(self) -> dict[str, float]:
        """Return the same of places that are drawn at random; the intervals have no width."""
        shares = np.full(len(self.cases), self.capacity)
        return self._told(shares, shares[:, None])

    def best_possible(self) -> dict[str, float]:
        """Return the same of a choice that knew the outcomes; the intervals have no width."""
        shares = self.shares([case.astype(float) for case in self.cases])
        return self._told(shares, shares[:, None])

    def _told(self, shares: NDArray[np.float64], drawn: NDArray[np.float64]) -> dict[str, float]:
        facts = {}
        for name, ends, factor in (
            ("IE", ("low", "high"), 1 / self.capacity),
            ("reached", ("reached_low", "reached_high"), self._cases_among),
        ):
            facts[name] = float((shares * factor).mean())
            low, high = interval((drawn.T * factor).mean(axis=1), 0.95, facts[name])
            facts |= dict(zip(ends, (low, high), strict=True))
        return facts

    def difference(self, one: Scores, other: Scores) -> dict[str, float]:
        """Return by how much one choice is better than another, with a 95% interval.

        Where the two give the same order in every part, the interval has no width, and ``same``
        is true.
        """
        estimate = float((self.shares(one) - self.shares(other)).mean() / self.capacity)
        drawn = (self.drawn_shares(one) - self.drawn_shares(other)).mean(axis=0) / self.capacity
        low, high = interval(drawn, 0.95, estimate)
        same = all(np.array_equal(_order(a), _order(b)) for a, b in zip(one, other, strict=True))
        return {"difference": estimate, "low": low, "high": high, "same": same}


def _order(score: NDArray[np.float64]) -> NDArray[np.intp]:
    return np.unique(score, return_inverse=True)[1]
