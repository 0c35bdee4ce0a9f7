"""Compiled kernel of the synthetic sweep: one repetition from its random numbers to the choices.

Its plain NumPy twin, `sweep_numpy` among the tests, gives the same data, models and choices. NumPy
draws all random numbers: repetition r of a configuration draws from
``numpy.random.Philox(key=key, counter=[0, r, purpose, 0])``, so any repetition can be drawn alone,
in any process, without those before it, and looked at in plain NumPy.
"""

import math

import numpy as np
from numba import njit

from studies.pvf2026.synthetic.fits import (
    N_FEATURES,
    N_PAIRS,
    PAIR_FIRST,
    PAIR_SECOND,
    fit_pairs,
)

# Purposes of the random streams of one repetition (third word of Philox's counter).
DATA, SPLIT, OVERSAMPLING, NOISE = range(4)
# How perturbed scores are drawn.
COUNTS, SEPARATE_NOISE, COMMON_NOISE = range(3)

TIE_TOLERANCE = 1e-12
"""Scores this close are equal: rounding is below 1e-14, different counts differ by over 1e-11."""

_jit = njit(cache=True, error_model="numpy")


# --- split, oversampling ------------------------------------------------------------------------


@_jit
def _move_to_end(rows, start, stop, uniforms):
    """Move a random entry of ``rows[start:stop]`` to its end for each uniform number."""
    for moved in range(uniforms.shape[0]):
        last = stop - 1 - moved
        chosen = start + int(uniforms[moved] * (last + 1 - start))
        rows[last], rows[chosen] = rows[chosen], rows[last]


@_jit
def split_rows(rows, uniforms, sizes):
    """Fill `rows` with a stratified split: negatives then positives, each with training first."""
    n_negatives, n_positives, n_validation_negatives, _ = sizes
    n_samples = n_negatives + n_positives
    for i in range(n_samples):
        rows[i] = i
    _move_to_end(rows, 0, n_negatives, uniforms[:n_validation_negatives])
    _move_to_end(rows, n_negatives, n_samples, uniforms[n_validation_negatives:])


@_jit
def _nearest(train, first, n_minority, n_neighbours, neighbours):
    """Columns of the nearest minority samples of each minority sample, nearest first."""
    distances = np.empty(n_neighbours)
    for i in range(n_minority):
        n_found = 0
        for j in range(n_minority):
            if j == i:
                continue
            distance = 0.0
            for feature in range(N_FEATURES):
                gap = train[feature, first + i] - train[feature, first + j]
                distance += gap * gap
            if n_found < n_neighbours:
                place = n_found
                n_found += 1
            elif distance < distances[n_neighbours - 1]:
                place = n_neighbours - 1
            else:
                continue
            while place > 0 and distances[place - 1] > distance:
                distances[place] = distances[place - 1]
                neighbours[i, place] = neighbours[i, place - 1]
                place -= 1
            distances[place] = distance
            neighbours[i, place] = first + j


@_jit
def oversample(train, n_majority, n_minority, neighbours, uniforms):
    """Fill `train` (features × 2 n_majority) beyond its first columns with SMOTE's samples.

    The majority comes first, then the minority. With fewer than two in the minority it is
    duplicated. Each new sample takes two of `uniforms` (new samples × 2).
    """
    first_new = n_majority + n_minority
    n_neighbours = min(5, n_minority - 1)
    if n_neighbours > 0:
        _nearest(train, n_majority, n_minority, n_neighbours, neighbours)
    for column in range(first_new, 2 * n_majority):
        if n_neighbours == 0:
            for feature in range(N_FEATURES):
                train[feature, column] = train[feature, n_majority]
            continue
        choice = int(uniforms[column - first_new, 0] * (n_minority * n_neighbours))
        step = uniforms[column - first_new, 1]
        base = choice // n_neighbours
        other = neighbours[base, choice % n_neighbours]
        for feature in range(N_FEATURES):
            start = train[feature, n_majority + base]
            train[feature, column] = start + step * (train[feature, other] - start)


# --- scores -------------------------------------------------------------------------------------


@_jit
def fill_margins(X, rows, models, margins):
    """Fill `margins` (pairs × validation samples) with w₀ + w·x."""
    for pair in range(N_PAIRS):
        a, b = PAIR_FIRST[pair], PAIR_SECOND[pair]
        w0, w1, w2 = models[pair]
        for j in range(rows.shape[0]):
            margins[pair, j] = w0 + w1 * X[rows[j], a] + w2 * X[rows[j], b]


@_jit
def plain_scores(margins, n_negatives, table, scores):
    """Fill `scores` (pairs × metrics) with the scores on the validation set as it is."""
    for pair in range(N_PAIRS):
        tp = fp = 0
        for j in range(margins.shape[1]):
            if margins[pair, j] > 0.0:
                if j < n_negatives:
                    fp += 1
                else:
                    tp += 1
        for metric in range(scores.shape[1]):
            scores[pair, metric] = table[tp, fp, metric]


@_jit
def _add_binomial(masses, others, length, probability, complement, binomials):
    """Fill ``others[:length + k]`` with the convolution of ``masses[:length]`` and a binomial."""
    n_replicas = binomials.shape[1] - 1
    terms = binomials[1]
    power = 1.0
    for i in range(n_replicas + 1):
        terms[i] = binomials[0, i] * power
        power *= probability
    power = 1.0
    for i in range(n_replicas, -1, -1):
        terms[i] *= power
        power *= complement
    for total in range(length + n_replicas):
        others[total] = 0.0
    for i in range(n_replicas + 1):
        term = terms[i]
        shifted = others[i : i + length]
        for total in range(length):
            shifted[total] += term * masses[total]


@_jit
def count_distribution(margins, begin, end, width, cutoff, binomials, masses):
    """Distribution of how many replicas of samples ``begin:end`` land on the positive side.

    Returns the count of those that are certain, the length of the distribution, and the row of
    `masses` that holds the probabilities of 0, 1, … more. `width` is σ‖w‖; samples with a margin
    of `cutoff` widths or more land where they are. The first row of `binomials` holds the
    binomial coefficients of k, the second is scratch.
    """
    n_replicas = binomials.shape[1] - 1
    certain = 0
    length = 1
    row = 0
    masses[0, 0] = 1.0
    for j in range(begin, end):
        margin = margins[j]
        if abs(margin) < cutoff * width:
            tail = 0.5 * math.erfc(abs(margin) / width * math.sqrt(0.5))
            high, low = (1.0 - tail, tail) if margin > 0.0 else (tail, 1.0 - tail)
            _add_binomial(masses[row], masses[1 - row], length, high, low, binomials)
            length += n_replicas
            row = 1 - row
        elif margin > 0.0:
            certain += n_replicas
    return certain, length, row


@_jit
def _draw_counts(masses, length, base, counts, guide, uniforms):
    """Fill `counts` with `base` plus draws from `masses`, by inversion with a guide table."""
    n_guides = guide.shape[0]
    total = 0.0
    for i in range(length):  # masses become the distribution function
        total += masses[i]
        masses[i] = total
    masses[length - 1] = 2.0  # above every uniform number, whatever the rounding
    place = 0
    for g in range(n_guides):
        while masses[place] <= g / n_guides:
            place += 1
        guide[g] = place
    for m in range(counts.shape[0]):
        u = uniforms[m]
        place = guide[int(u * n_guides)]
        while masses[place] <= u:
            place += 1
        counts[m] = base + place


@_jit
def lower_pair(ranks, place, n_bits):
    """Return the `place`-th smallest of `ranks` (from 0), all below 2^n_bits, and the next one.

    Found bit by bit, by counting how many are smaller, which compiles to a few vector operations.
    """
    found = np.int32(0)
    for bit in range(n_bits - 1, -1, -1):
        trial = found | np.int32(1 << bit)
        n_smaller = 0
        for m in range(ranks.shape[0]):
            n_smaller += ranks[m] < trial
        if n_smaller <= place:
            found = trial
    n_reached = 0
    following = np.int32(2**31 - 1)
    for m in range(ranks.shape[0]):
        n_reached += ranks[m] <= found
        following = min(following, ranks[m] if ranks[m] > found else np.int32(2**31 - 1))
    return found, found if n_reached > place + 1 or place + 1 == ranks.shape[0] else following


@_jit
def interpolate(low, high, share):
    """Value at a share of the way from `low` to `high`, rounded as `numpy.quantile` does."""
    if share >= 0.5:
        return high - (high - low) * (1.0 - share)
    return low + (high - low) * share


@_jit
def _aggregate_pair(tp, fp, rank_table, values, probability, scores, ranks):
    """Fill one model's `scores` with the quantile of each metric over the perturbed sets.

    `rank_table` holds the rank of each score among all that the metric can take, by true and
    false positives; `values` the score of each rank.
    """
    n_sets, n_metrics = tp.shape[0], scores.shape[0]
    n_other = 0
    for m in range(n_sets):
        n_other += (tp[m] != tp[0]) | (fp[m] != fp[0])
    if n_other == 0:
        for metric in range(n_metrics):
            scores[metric] = values[metric, rank_table[tp[0], fp[0], metric]]
        return
    for m in range(n_sets):
        for metric in range(n_metrics):
            ranks[metric, m] = rank_table[tp[m], fp[m], metric]
    position = probability * (n_sets - 1)
    place = math.floor(position)
    n_bits = 1
    while values.shape[1] > 1 << n_bits:
        n_bits += 1
    for metric in range(n_metrics):
        low, high = lower_pair(ranks[metric], place, n_bits)
        scores[metric] = interpolate(values[metric, low], values[metric, high], position - place)


@_jit
def _counts_by_distribution(margins, width, cutoff, n_negatives, tp, fp, uniforms, space):
    """Fill one model's counts with draws from their distributions; return how many were used."""
    binomials, masses, guide = space
    used = 0
    n_validation = margins.shape[0]
    for counts, begin, end in ((tp, n_negatives, n_validation), (fp, 0, n_negatives)):
        base, length, row = count_distribution(
            margins, begin, end, width, cutoff, binomials, masses
        )
        if length == 1:
            counts[:] = base
        else:
            _draw_counts(masses[row], length, base, counts, guide, uniforms[used:])
            used += counts.shape[0]
    return used


@_jit
def _counts_by_noise(margins, model, sigma, n_negatives, n_replicas, pair, tp, fp, normals):
    """Fill one model's counts from noise on every feature; return how many were used."""
    a, b = PAIR_FIRST[pair], PAIR_SECOND[pair]
    used = 0
    for m in range(tp.shape[0]):
        tp[m] = fp[m] = 0
        for _ in range(n_replicas):
            for j in range(margins.shape[0]):
                noise = normals[used : used + N_FEATURES]
                used += N_FEATURES
                if margins[j] + sigma * (model[1] * noise[a] + model[2] * noise[b]) > 0.0:
                    if j < n_negatives:
                        fp[m] += 1
                    else:
                        tp[m] += 1
    return used


@_jit
def _counts_by_common_noise(
    margins, models, sigma, cutoff, n_negatives, n_replicas, tp, fp, normals
):
    """Fill all models' `tp` and `fp` (pairs × sets) from noise that they share.

    No noise is used for a sample that is far from the boundaries of all models.
    """
    n_validation = margins.shape[1]
    near = np.zeros((n_validation, N_PAIRS), dtype=np.bool_)
    wanted = np.zeros(n_validation, dtype=np.bool_)
    tp[:] = 0
    fp[:] = 0
    for pair in range(N_PAIRS):
        width = sigma * math.hypot(models[pair, 1], models[pair, 2])
        for j in range(n_validation):
            near[j, pair] = abs(margins[pair, j]) < cutoff * width
            wanted[j] = wanted[j] or near[j, pair]
            if not near[j, pair] and margins[pair, j] > 0.0:
                counts = fp if j < n_negatives else tp
                counts[pair] += n_replicas
    noise = np.empty(N_FEATURES)
    used = 0
    for m in range(tp.shape[1]):
        for _ in range(n_replicas):
            for j in range(n_validation):
                if not wanted[j]:
                    continue
                for feature in range(N_FEATURES):
                    noise[feature] = sigma * normals[used + feature]
                used += N_FEATURES
                counts = fp if j < n_negatives else tp
                for pair in range(N_PAIRS):
                    shift = (
                        models[pair, 1] * noise[PAIR_FIRST[pair]]
                        + models[pair, 2] * noise[PAIR_SECOND[pair]]
                    )
                    if near[j, pair] and margins[pair, j] + shift > 0.0:
                        counts[pair, m] += 1


@_jit
def perturbed_counts(margins, models, sigma, n_negatives, plan, tp, fp, noise, space):
    """Fill `tp` and `fp` (pairs × sets) with the counts on the perturbed validation sets."""
    _, n_replicas, _, how, cutoff = plan
    if how == COMMON_NOISE:
        _counts_by_common_noise(
            margins, models, sigma, cutoff, n_negatives, n_replicas, tp, fp, noise
        )
        return
    used = 0
    for pair in range(N_PAIRS):
        row, positives, negatives = margins[pair], tp[pair], fp[pair]
        if how == COUNTS:
            width = sigma * math.hypot(models[pair, 1], models[pair, 2])
            used += _counts_by_distribution(
                row, width, cutoff, n_negatives, positives, negatives, noise[used:], space
            )
        else:
            model, rest = models[pair], noise[used:]
            used += _counts_by_noise(
                row, model, sigma, n_negatives, n_replicas, pair, positives, negatives, rest
            )


@_jit
def best_models(scores, best):
    """Fill `best` (one number a metric) with the set of best models: bit q stands for model q."""
    for metric in range(scores.shape[1]):
        highest = scores[0, metric]
        for pair in range(1, N_PAIRS):
            highest = max(highest, scores[pair, metric])
        members = 0
        for pair in range(N_PAIRS):
            if scores[pair, metric] >= highest - TIE_TOLERANCE:
                members |= 1 << pair
        best[metric] = members


# --- one repetition and many --------------------------------------------------------------------


@_jit
def _repetition(X, draws, sizes, sigma, plan, tables, arrays, space, best):
    """Run one repetition; every intermediate result stays in `arrays`."""
    rows, train, validation, labels, models, margins, plain, perturbed, tp, fp = arrays
    residuals, weights, neighbours, ranks, counting = space
    n_negatives, n_positives, n_validation_negatives, n_validation_positives = sizes
    n_majority = n_negatives - n_validation_negatives
    n_minority = n_positives - n_validation_positives
    split, oversampling, noise = draws

    split_rows(rows, split, sizes)
    for i in range(n_majority):
        for feature in range(N_FEATURES):
            train[feature, i] = X[rows[i], feature]
    for i in range(n_minority):
        for feature in range(N_FEATURES):
            train[feature, n_majority + i] = X[rows[n_negatives + i], feature]
    validation[:n_validation_negatives] = rows[n_majority:n_negatives]
    validation[n_validation_negatives:] = rows[n_negatives + n_minority :]
    oversample(train, n_majority, n_minority, neighbours, oversampling)

    fit_pairs(train, n_majority, labels, residuals, weights, models)
    fill_margins(X, validation, models, margins)
    plain_scores(margins, n_validation_negatives, tables[0], plain)
    perturbed_counts(margins, models, sigma, n_validation_negatives, plan, tp, fp, noise, counting)
    for pair in range(N_PAIRS):
        _aggregate_pair(tp[pair], fp[pair], tables[1], tables[2], plan[2], perturbed[pair], ranks)
    best_models(perturbed, best[0])
    best_models(plain, best[1])


@_jit
def _space(sizes, plan, n_metrics):
    """Arrays for one repetition: those that a reader may look at, and scratch."""
    n_negatives, n_positives, n_validation_negatives, n_validation_positives = sizes
    n_majority = n_negatives - n_validation_negatives
    n_validation = n_validation_negatives + n_validation_positives
    n_sets, n_replicas = plan[0], plan[1]
    labels = np.zeros(2 * n_majority)
    labels[n_majority:] = 1.0
    arrays = (
        np.empty(n_negatives + n_positives, dtype=np.int64),
        np.empty((N_FEATURES, 2 * n_majority)),
        np.empty(n_validation, dtype=np.int64),
        labels,
        np.empty((N_PAIRS, 3)),
        np.empty((N_PAIRS, n_validation)),
        np.empty((N_PAIRS, n_metrics)),
        np.empty((N_PAIRS, n_metrics)),
        np.empty((N_PAIRS, n_sets), dtype=np.int64),
        np.empty((N_PAIRS, n_sets), dtype=np.int64),
    )
    binomials = np.ones((2, n_replicas + 1))
    for i in range(n_replicas):
        binomials[0, i + 1] = np.round(binomials[0, i] * (n_replicas - i) / (i + 1))
    masses = np.empty((2, n_replicas * n_validation + 1))
    space = (
        np.empty(2 * n_majority),
        np.empty(2 * n_majority),
        np.empty((n_positives, 5), dtype=np.int64),
        np.empty((n_metrics, n_sets), dtype=np.int32),
        (binomials, masses, np.empty(64, dtype=np.int64)),
    )
    return arrays, space


@_jit
def run_repetitions(draws, sizes, sigma, plan, tables, best):
    """Run some repetitions of one configuration; return all that happened in the last.

    Parameters
    ----------
    draws : tuple of 4 arrays
        For each repetition its data (samples × features), and what its split (uniform numbers),
        its oversampling (new samples × 2) and its perturbation draw (uniform, or normal numbers).
    sizes : tuple of 4 int
        Negatives, positives, and how many of each are validated.
    sigma : float
        Standard deviation of the perturbation.
    plan : (int, int, float, int, float)
        Perturbed sets M, replicas k, quantile, how counts are drawn, cut-off in widths.
    tables : tuple of 3 arrays
        Scores on the validation set by true positives, false positives and metric; ranks of the
        scores on its k-fold, in the same way; and the score of each rank, by metric and rank.
    best : uint16 array, repetitions × 2 × metrics
        Filled with the sets of best models, of PVF and of the traditional method.
    """
    X, split, oversampling, noise = draws
    arrays, space = _space(sizes, plan, best.shape[2])
    for i in range(best.shape[0]):
        own = (split[i], oversampling[i], noise[i])
        _repetition(X[i], own, sizes, sigma, plan, tables, arrays, space, best[i])
    return arrays
