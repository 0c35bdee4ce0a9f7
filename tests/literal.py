"""The definitions written out plainly, one step after the other: oracles for the tests.

Nothing here uses the package. It is meant to be read beside the paper, and speed is no aim; but
nothing is slow on purpose, since the benchmark is measured against it.
"""

import itertools
import math
from fractions import Fraction

import numpy as np
import pandas as pd

# --- Intervention Efficiency, from the policy that defines it -----------------------------------


def cases_reached(truth, flagged, room):
    """Return the expected number of cases that ``room`` interventions reach, a whole number.

    Every equally likely choice of people is listed: of the flagged where they are too many, else
    all of the flagged and some of the rest.
    """
    people = range(len(truth))
    first = [i for i in people if flagged[i]]
    rest = [i for i in people if not flagged[i]]
    if len(first) > room:
        choices = itertools.combinations(first, room)
    else:
        extra = itertools.combinations(rest, room - len(first))
        choices = ((*first, *others) for others in extra)
    reached = [sum(bool(truth[i]) for i in chosen) for chosen in choices]
    return Fraction(sum(reached), len(reached))


def efficiency_by_enumeration(truth, flagged, room):
    """Return IE at ``room`` interventions: expected cases of the policy over those of chance.

    Where ``room`` is not whole, the last intervention takes place with the left-over probability.
    """
    room = Fraction(room)
    whole = math.floor(room)
    last = room - whole

    def expected(choice):
        if last == 0:
            return cases_reached(truth, choice, whole)
        return (1 - last) * cases_reached(truth, choice, whole) + last * cases_reached(
            truth, choice, whole + 1
        )

    return expected(flagged) / expected([False] * len(truth))


def simulated_cases(truth, flagged, room, n_runs, rng):
    """Return the cases reached in each of ``n_runs`` runs of the policy."""
    truth, flagged = np.asarray(truth, dtype=bool), np.asarray(flagged, dtype=bool)
    reached = np.empty(n_runs)
    for run in range(n_runs):
        first = rng.permutation(np.flatnonzero(flagged))
        rest = rng.permutation(np.flatnonzero(~flagged))
        reached[run] = truth[[*first, *rest][:room]].sum()
    return reached


def efficiency(capacity):
    """Return a metric (y_true, y_pred) -> IE, by the two regimes of Appendix A, for labels 0, 1."""

    def metric(y_true, y_pred):
        y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
        people, cases, flagged = len(y_true), (y_true == 1).sum(), (y_pred == 1).sum()
        found = ((y_true == 1) & (y_pred == 1)).sum()
        room = capacity * people
        if flagged > room:
            reached = room * found / flagged
        elif flagged == people:
            reached = found
        else:
            reached = found + (room - flagged) * (cases - found) / (people - flagged)
        return reached / (room * cases / people)

    return metric


# --- How one column is perturbed: (column, n_replicas, rng) -> array (n_replicas, n_samples) ----


def add_noise(scale):
    """Mechanism 1 of section 3.2: x' = x + N(0, scale²)."""

    def perturb(column, n_replicas, rng):
        return column + scale * rng.standard_normal((n_replicas, len(column)))

    return perturb


def change_level(probability, weight, levels):
    """Mechanisms 2 and 3: change to another level, in proportion to weight(old, new).

    One uniform number decides both: whether it lies below ``probability``, and where.
    """

    def changed(value, u):
        if u >= probability:
            return value
        others = [level for level in levels if level != value]
        weights = [weight(value, other) for other in others]
        climb = 0.0
        for other, w in zip(others, weights, strict=True):
            climb += w / sum(weights)
            if u / probability < climb:
                return other
        return others[-1]

    def perturb(column, n_replicas, rng):
        draws = rng.random((n_replicas, len(column)))
        copies = np.empty(draws.shape, dtype=object)
        for j, i in np.ndindex(*draws.shape):
            copies[j, i] = changed(column[i], draws[j, i])
        return copies

    return perturb


def flip(probability, levels):
    """Mechanism 2: every other category is equally likely."""
    return change_level(probability, lambda *_: 1.0, levels)


def shift(probability, decay, levels, values=None):
    """Mechanism 3: the likelihood of another level falls with the distance along the order."""
    position = dict(zip(levels, range(len(levels)) if values is None else values, strict=True))
    return change_level(
        probability,
        lambda old, new: math.exp(-decay * abs(position[old] - position[new])),
        levels,
    )


# --- Algorithm 1 --------------------------------------------------------------------------------


def perturbed_set(X, y, perturbers, n_replicas, rng):
    """Return one perturbed validation set: ``n_replicas`` copies of every sample, and the labels.

    ``perturbers`` holds a function for each column, or None where the column stays as it is.
    """
    is_frame = isinstance(X, pd.DataFrame)
    columns = []
    for j, perturb in enumerate(perturbers):
        column = np.array(X.iloc[:, j].tolist(), dtype=object) if is_frame else X[:, j]
        if perturb is None:
            columns.append(np.tile(column, n_replicas))
        else:
            columns.append(perturb(column, n_replicas, rng).reshape(-1))
    labels = np.tile(y, n_replicas)
    if not is_frame:
        return np.column_stack(columns), labels
    frame = pd.DataFrame(dict(zip(X.columns, columns, strict=True)))
    return frame.astype(X.dtypes.to_dict()), labels


def validate(models, X, y, perturbers, metric, n_sets, n_replicas, aggregate, generator):
    """Algorithm 1: return the scores P, the aggregated scores A and the index of the best model.

    ``metric(y_true, y_pred)`` is Eval; ``generator(q, m)`` gives the random numbers of set m for
    model q; of equal models the first is taken.
    """
    scores, aggregated = [], []
    for q, model in enumerate(models):
        row = []
        for m in range(n_sets):
            X_set, y_set = perturbed_set(X, y, perturbers, n_replicas, generator(q, m))
            row.append(metric(y_set, model.predict(X_set)))
        scores.append(row)
        aggregated.append(aggregate(row))
    best = aggregated.index(max(aggregated))
    return np.array(scores), np.array(aggregated), best
