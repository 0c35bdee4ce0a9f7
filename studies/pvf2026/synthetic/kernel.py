"""Compiled kernel of the synthetic sweep: one repetition from generation to the best models.

Everything here has a plain NumPy twin in `sweep_numpy`, which gives the same data,
the same models and the same choices. Random numbers come from the counter-based generator Philox
with NumPy's own layout: repetition r of a configuration draws from
``numpy.random.Philox(key=key, counter=[0, r, purpose, 0])``, so any repetition can be drawn alone,
in any process, without those before it, and looked at in plain NumPy.

No fastmath, no threads, and no sum whose order depends on the machine's vector width.
"""

import math
from typing import Any

import numpy as np
from llvmlite import ir
from numba import njit, types
from numba.extending import intrinsic

# NumPy's ziggurat tables, which NumPy doesn't export; a test holds the normals to NumPy's.
from numba.np.random._constants import (
    fi_double,
    ki_double,
    wi_double,
    ziggurat_nor_inv_r,
    ziggurat_nor_r,
)

N_FEATURES = 5
PAIR_FIRST = np.array([0, 0, 0, 0, 1, 1, 1, 2, 2, 3])
PAIR_SECOND = np.array([1, 2, 3, 4, 2, 3, 4, 3, 4, 4])
N_PAIRS = len(PAIR_FIRST)

# Purposes of the random streams of one repetition (third word of Philox's counter).
DATA, SPLIT, OVERSAMPLING, NOISE = range(4)
# How perturbed scores are drawn.
COUNTS, SEPARATE_NOISE, COMMON_NOISE = range(3)

MAX_NEWTON_STEPS = 25
STEP_TOLERANCE = 1e-5
"""A Newton step below this leaves an error of its square: some 1e-10 in a coefficient."""

TIE_TOLERANCE = 1e-12
"""Scores this close are equal: rounding is below 1e-14, different counts differ by over 1e-11."""

_intrinsic: Any = intrinsic  # its type hints don't know that numba passes the first argument
_jit = njit(cache=True, error_model="numpy")
_inline = njit(cache=True, error_model="numpy", inline="always")


# --- random numbers -----------------------------------------------------------------------------


@_intrinsic
def _high_product(typingctx, first, second):  # noqa: ARG001
    """Upper 64 bits of the product of two unsigned 64-bit numbers."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        wide = ir.IntType(128)
        product = builder.mul(*(builder.zext(argument, wide) for argument in arguments))
        return builder.trunc(builder.lshr(product, ir.Constant(wide, 64)), ir.IntType(64))

    return types.uint64(types.uint64, types.uint64), codegen


PHILOX_M0 = np.uint64(0xD2E7470EE14C6C93)
PHILOX_M1 = np.uint64(0xCA5A826395121157)
PHILOX_W0 = np.uint64(0x9E3779B97F4A7C15)
PHILOX_W1 = np.uint64(0xBB67AE8584CAA73B)
_ONE = np.uint64(1)
_FOUR = np.uint64(4)
_HEAD = np.uint64(7)
_BUFFER = np.uint64(32)

STREAM_SIZE = 39
"""Words of a stream's state: counter (4), key (2), words used (1), words drawn (32)."""


@_jit
def start_stream(stream, key, repetition, purpose):
    """Set `stream` to ``Philox(key=key, counter=[0, repetition, purpose, 0])``."""
    stream[0] = 0
    stream[1] = repetition
    stream[2] = purpose
    stream[3] = 0
    stream[4] = key[0]
    stream[5] = key[1]
    stream[6] = _BUFFER


@_jit
def _refill(stream):
    """Draw the next words, four for each raise of the counter: ten rounds of Philox 4x64."""
    counter, repetition, purpose = stream[0], stream[1], stream[2]
    first_key, second_key = stream[4], stream[5]
    # Eight counters in a row, since the processor works on several at a time.
    for place in range(7, STREAM_SIZE, 4):
        counter += _ONE
        c0, c1, c2, c3 = counter, repetition, purpose, np.uint64(0)
        k0, k1 = first_key, second_key
        for _ in range(10):
            high0, low0 = _high_product(PHILOX_M0, c0), PHILOX_M0 * c0
            high1, low1 = _high_product(PHILOX_M1, c2), PHILOX_M1 * c2
            c0, c1, c2, c3 = high1 ^ c1 ^ k0, low1, high0 ^ c3 ^ k1, low0
            k0 += PHILOX_W0
            k1 += PHILOX_W1
        stream[place] = c0
        stream[place + 1] = c1
        stream[place + 2] = c2
        stream[place + 3] = c3
    stream[0] = counter
    stream[6] = np.uint64(0)


@_jit
def next_word(stream):
    """Next 64 random bits."""
    if stream[6] == _BUFFER:
        _refill(stream)
    word = stream[_HEAD + stream[6]]
    stream[6] += _ONE
    return word


@_jit
def next_uniform(stream):
    """Next uniform number in [0, 1), as `numpy.random.Generator.random` makes it."""
    return np.float64(next_word(stream) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@_jit
def fill_uniforms(stream, numbers):
    """Fill `numbers` with the next uniform numbers."""
    done = 0
    while done < numbers.shape[0]:
        if stream[6] == _BUFFER:
            _refill(stream)
        used = int(stream[6])
        n_taken = min(STREAM_SIZE - 7 - used, numbers.shape[0] - done)
        words = stream[7 + used : 7 + used + n_taken]
        for i in range(n_taken):
            numbers[done + i] = np.float64(words[i] >> np.uint64(11)) * (1.0 / 9007199254740992.0)
        stream[6] += np.uint64(n_taken)
        done += n_taken


@_jit
def _unusual_normal(stream, layer, bits, x):
    """Rest of the ziggurat, for one word in a hundred; NaN asks for another word."""
    if layer == 0:
        while True:
            tail = -ziggurat_nor_inv_r * math.log1p(-next_uniform(stream))
            height = -math.log1p(-next_uniform(stream))
            if height + height > tail * tail:
                value = ziggurat_nor_r + tail
                return -value if (bits >> np.uint64(8)) & _ONE else value
    below, above = fi_double[layer], fi_double[layer - 1]
    if (above - below) * next_uniform(stream) + below < math.exp(-0.5 * x * x):
        return x
    return math.nan


@_jit
def next_normal(stream):
    """Next standard normal number, as `numpy.random.Generator.standard_normal` makes it."""
    while True:
        word = next_word(stream)
        layer = np.int64(word & np.uint64(0xFF))
        bits = (word >> np.uint64(9)) & np.uint64(0x000FFFFFFFFFFFFF)
        x = np.float64(bits) * wi_double[layer]
        if (word >> np.uint64(8)) & _ONE:
            x = -x
        if bits < ki_double[layer]:
            return x
        x = _unusual_normal(stream, layer, bits, x)
        if not math.isnan(x):
            return x


# --- data, split, oversampling ------------------------------------------------------------------


@_jit
def draw_clusters(X, stream, n_negatives, mu):
    """Fill `X` (samples × features) with both clusters, negatives first."""
    for i in range(X.shape[0]):
        for feature in range(N_FEATURES):
            X[i, feature] = next_normal(stream)
        if i >= n_negatives:
            X[i, 0] += mu
            X[i, 1] += mu


@_jit
def _move_to_end(rows, start, stop, n_moved, stream):
    """Move `n_moved` random entries of ``rows[start:stop]`` to its end (Fisher and Yates)."""
    for last in range(stop - 1, stop - 1 - n_moved, -1):
        chosen = start + int(next_uniform(stream) * (last + 1 - start))
        rows[last], rows[chosen] = rows[chosen], rows[last]


@_jit
def split_rows(rows, stream, sizes):
    """Fill `rows` with a stratified split: negatives then positives, each with training first."""
    n_negatives, n_positives, n_validation_negatives, n_validation_positives = sizes
    n_samples = n_negatives + n_positives
    for i in range(n_samples):
        rows[i] = i
    _move_to_end(rows, 0, n_negatives, n_validation_negatives, stream)
    _move_to_end(rows, n_negatives, n_samples, n_validation_positives, stream)


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
def oversample(train, n_majority, n_minority, neighbours, stream):
    """Fill `train` (features × 2 n_majority) beyond its first columns with SMOTE's samples.

    The majority comes first, then the minority. With fewer than two in the minority it is
    duplicated. Returns nothing; all columns of `train` are set.
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
        choice = int(next_uniform(stream) * (n_minority * n_neighbours))
        step = next_uniform(stream)
        base = choice // n_neighbours
        other = neighbours[base, choice % n_neighbours]
        for feature in range(N_FEATURES):
            start = train[feature, n_majority + base]
            train[feature, column] = start + step * (train[feature, other] - start)


# --- logistic models ----------------------------------------------------------------------------


@_intrinsic
def _float_bits(typingctx, number):  # noqa: ARG001
    """Bits of a float, as an integer."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), codegen


@_intrinsic
def _float_of_bits(typingctx, bits):  # noqa: ARG001
    """Float with the given bits."""

    def codegen(context, builder, signature, arguments):  # noqa: ARG001
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.int64), codegen


LOG2_E = 1.0 / math.log(2.0)
LN2_HIGH = 6.93147180369123816490e-01
LN2_LOW = 1.90821492927058770002e-10
ROUNDER = 6755399441055744.0  # 1.5 · 2^52: adding it rounds to a whole number
E2, E3, E4, E5, E6, E7, E8, E9, E10, E11 = (1 / math.factorial(n) for n in range(2, 12))


@_inline
def exponential(x):
    """exp(x) within 1e-14 for |x| ≤ 700, without a branch, so that loops of it vectorise."""
    shifted = x * LOG2_E + ROUNDER
    power = shifted - ROUNDER
    f = (x - power * LN2_HIGH) - power * LN2_LOW
    p = E6 + f * (E7 + f * (E8 + f * (E9 + f * (E10 + f * E11))))
    p = 1.0 + f * (1.0 + f * (E2 + f * (E3 + f * (E4 + f * (E5 + f * p)))))
    return p * _float_of_bits((_float_bits(shifted) + 1023) << 52)


@_jit
def _newton_sums(x1, x2, labels, residuals, weights, w0, w1, w2):
    """Return the sums over the samples that a Newton step needs: gradient (3), Hessian (6)."""
    for i in range(x1.shape[0]):
        z = w0 + w1 * x1[i] + w2 * x2[i]
        z = z if z < 40.0 else 40.0
        z = z if z > -40.0 else -40.0
        p = 1.0 / (1.0 + exponential(-z))
        residuals[i] = p - labels[i]
        weights[i] = p * (1.0 - p)
    g0 = g1 = g2 = h00 = h01 = h02 = h11 = h12 = h22 = 0.0
    for i in range(x1.shape[0]):
        residual, weight = residuals[i], weights[i]
        a, b = x1[i], x2[i]
        wa, wb = weight * a, weight * b
        g0 += residual
        g1 += residual * a
        g2 += residual * b
        h00 += weight
        h01 += wa
        h02 += wb
        h11 += wa * a
        h12 += wa * b
        h22 += wb * b
    return g0, g1, g2, h00, h01, h02, h11, h12, h22


@_jit
def _solve(h00, h01, h02, h11, h12, h22, g0, g1, g2):
    """Solution of a symmetric positive definite system of three equations."""
    l10, l20 = h01 / h00, h02 / h00
    d1 = h11 - l10 * h01
    e12 = h12 - l10 * h02
    l21 = e12 / d1
    d2 = h22 - l20 * h02 - l21 * e12
    y1 = g1 - l10 * g0
    y2 = g2 - l20 * g0 - l21 * y1
    s2 = y2 / d2
    s1 = y1 / d1 - l21 * s2
    s0 = g0 / h00 - l10 * s1 - l20 * s2
    return s0, s1, s2


@_jit
def _moments(train, n_zeros, means, products):
    """Class means and uncentred products of all features, for the starting points."""
    n_samples = train.shape[1]
    for a in range(N_FEATURES):
        low = high = 0.0
        for i in range(n_zeros):
            low += train[a, i]
        for i in range(n_zeros, n_samples):
            high += train[a, i]
        means[0, a] = low / n_zeros
        means[1, a] = high / (n_samples - n_zeros)
        for b in range(a + 1):
            total = 0.0
            for i in range(n_samples):
                total += train[a, i] * train[b, i]
            products[a, b] = total
            products[b, a] = total


@_jit
def _start(means, products, n_zeros, n_samples, a, b):
    """Start of Newton's method: its first step from 0, which needs moments only, lengthened.

    Where the classes are far apart that step is too short, by a factor that grows with the gap
    between the means of its scores; a fifth of the gap was found to save the most steps.
    """
    n_ones = n_samples - n_zeros
    sum_a = n_zeros * means[0, a] + n_ones * means[1, a]
    sum_b = n_zeros * means[0, b] + n_ones * means[1, b]
    s0, s1, s2 = _solve(
        0.25 * n_samples,
        0.25 * sum_a,
        0.25 * sum_b,
        0.25 * products[a, a] + 1.0,
        0.25 * products[a, b],
        0.25 * products[b, b] + 1.0,
        n_ones - 0.5 * n_samples,
        n_ones * means[1, a] - 0.5 * sum_a,
        n_ones * means[1, b] - 0.5 * sum_b,
    )
    gap = s1 * (means[1, a] - means[0, a]) + s2 * (means[1, b] - means[0, b])
    factor = 1.0 + max(gap, 0.0) / 5.0
    return s0 * factor, s1 * factor, s2 * factor


@_jit
def _loss(x1, x2, labels, w0, w1, w2):
    """Penalised loss ½‖w‖² + Σ log loss, with an unpenalised intercept."""
    total = 0.5 * (w1 * w1 + w2 * w2)
    for i in range(x1.shape[0]):
        z = w0 + w1 * x1[i] + w2 * x2[i]
        z = -z if labels[i] > 0.5 else z
        total += max(z, 0.0) + math.log1p(math.exp(-abs(z)))
    return total


@_jit
def _damped_newton(x1, x2, labels, residuals, weights):
    """Newton's method from 0 with halved steps: slower, and sure to converge."""
    w0 = w1 = w2 = 0.0
    loss = _loss(x1, x2, labels, w0, w1, w2)
    for _ in range(200):
        g0, g1, g2, h00, h01, h02, h11, h12, h22 = _newton_sums(
            x1, x2, labels, residuals, weights, w0, w1, w2
        )
        s0, s1, s2 = _solve(h00, h01, h02, h11 + 1.0, h12, h22 + 1.0, g0, g1 + w1, g2 + w2)
        length = 1.0
        trial = _loss(x1, x2, labels, w0 - s0, w1 - s1, w2 - s2)
        while trial > loss and length > 1e-10:
            length *= 0.5
            trial = _loss(x1, x2, labels, w0 - length * s0, w1 - length * s1, w2 - length * s2)
        w0, w1, w2, loss = w0 - length * s0, w1 - length * s1, w2 - length * s2, trial
        if length * max(abs(s0), abs(s1), abs(s2)) < STEP_TOLERANCE:
            break
    return w0, w1, w2


@_jit
def fit_pair(x1, x2, labels, start, residuals, weights):
    """Intercept and two coefficients of L2-penalised logistic regression, C = 1."""
    w0, w1, w2 = start
    for _ in range(MAX_NEWTON_STEPS):
        g0, g1, g2, h00, h01, h02, h11, h12, h22 = _newton_sums(
            x1, x2, labels, residuals, weights, w0, w1, w2
        )
        s0, s1, s2 = _solve(h00, h01, h02, h11 + 1.0, h12, h22 + 1.0, g0, g1 + w1, g2 + w2)
        w0 -= s0
        w1 -= s1
        w2 -= s2
        step = max(abs(s0), abs(s1), abs(s2))
        if step < STEP_TOLERANCE:
            return w0, w1, w2
        if not step < 1e3:
            break
    return _damped_newton(x1, x2, labels, residuals, weights)


@_jit
def fit_pairs(train, n_zeros, labels, residuals, weights, models):
    """Fill `models` (pairs × 3) with intercept and coefficients of every pair of features."""
    means = np.empty((2, N_FEATURES))
    products = np.empty((N_FEATURES, N_FEATURES))
    _moments(train, n_zeros, means, products)
    for pair in range(N_PAIRS):
        a, b = PAIR_FIRST[pair], PAIR_SECOND[pair]
        start = _start(means, products, n_zeros, train.shape[1], a, b)
        w0, w1, w2 = fit_pair(train[a], train[b], labels, start, residuals, weights)
        models[pair, 0] = w0
        models[pair, 1] = w1
        models[pair, 2] = w2


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
def _draw_counts(masses, length, base, counts, guide, uniforms, stream):
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
    fill_uniforms(stream, uniforms)
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
def _counts_by_distribution(margins, width, cutoff, n_negatives, tp, fp, stream, space):
    """Fill one model's `tp` and `fp` per perturbed set with draws from their distributions."""
    binomials, masses, guide, uniforms = space
    n_validation = margins.shape[0]
    for counts, begin, end in ((tp, n_negatives, n_validation), (fp, 0, n_negatives)):
        base, length, row = count_distribution(
            margins, begin, end, width, cutoff, binomials, masses
        )
        if length == 1:
            counts[:] = base
        else:
            _draw_counts(masses[row], length, base, counts, guide, uniforms, stream)


@_jit
def _counts_by_noise(margins, model, sigma, n_negatives, n_replicas, pair, tp, fp, stream):
    """Fill one model's `tp` and `fp` per perturbed set, drawing noise for every feature."""
    a, b = PAIR_FIRST[pair], PAIR_SECOND[pair]
    noise = np.empty(N_FEATURES)
    for m in range(tp.shape[0]):
        tp[m] = fp[m] = 0
        for _ in range(n_replicas):
            for j in range(margins.shape[0]):
                for feature in range(N_FEATURES):
                    noise[feature] = next_normal(stream)
                if margins[j] + sigma * (model[1] * noise[a] + model[2] * noise[b]) > 0.0:
                    if j < n_negatives:
                        fp[m] += 1
                    else:
                        tp[m] += 1


@_jit
def _counts_by_common_noise(
    margins, models, sigma, cutoff, n_negatives, n_replicas, tp, fp, stream
):
    """Fill all models' `tp` and `fp` (pairs × sets), drawing noise that they share.

    No noise is drawn for a sample that is far from the boundaries of all models.
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
    for m in range(tp.shape[1]):
        for _ in range(n_replicas):
            for j in range(n_validation):
                if not wanted[j]:
                    continue
                for feature in range(N_FEATURES):
                    noise[feature] = sigma * next_normal(stream)
                counts = fp if j < n_negatives else tp
                for pair in range(N_PAIRS):
                    shift = (
                        models[pair, 1] * noise[PAIR_FIRST[pair]]
                        + models[pair, 2] * noise[PAIR_SECOND[pair]]
                    )
                    if near[j, pair] and margins[pair, j] + shift > 0.0:
                        counts[pair, m] += 1


@_jit
def perturbed_counts(margins, models, sigma, n_negatives, plan, tp, fp, stream, space):
    """Fill `tp` and `fp` (pairs × sets) with the counts on the perturbed validation sets."""
    _, n_replicas, _, how, cutoff = plan
    if how == COMMON_NOISE:
        _counts_by_common_noise(
            margins, models, sigma, cutoff, n_negatives, n_replicas, tp, fp, stream
        )
        return
    for pair in range(N_PAIRS):
        if how == COUNTS:
            width = sigma * math.hypot(models[pair, 1], models[pair, 2])
            _counts_by_distribution(
                margins[pair], width, cutoff, n_negatives, tp[pair], fp[pair], stream, space
            )
        else:
            _counts_by_noise(
                margins[pair],
                models[pair],
                sigma,
                n_negatives,
                n_replicas,
                pair,
                tp[pair],
                fp[pair],
                stream,
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
def _repetition(key, repetition, sizes, mu, sigma, plan, tables, arrays, space, best):
    """Run one repetition; every intermediate result stays in `arrays`."""
    X, rows, train, validation, labels, models, margins, plain, perturbed, tp, fp = arrays
    stream, residuals, weights, neighbours, ranks, counting = space
    n_negatives, n_positives, n_validation_negatives, n_validation_positives = sizes
    n_majority = n_negatives - n_validation_negatives
    n_minority = n_positives - n_validation_positives
    n_samples = n_negatives + n_positives

    start_stream(stream, key, repetition, DATA)
    draw_clusters(X, stream, n_negatives, mu)
    start_stream(stream, key, repetition, SPLIT)
    split_rows(rows, stream, sizes)
    for i in range(n_majority):
        for feature in range(N_FEATURES):
            train[feature, i] = X[rows[i], feature]
    for i in range(n_minority):
        for feature in range(N_FEATURES):
            train[feature, n_majority + i] = X[rows[n_negatives + i], feature]
    validation[:n_validation_negatives] = rows[n_majority:n_negatives]
    validation[n_validation_negatives:] = rows[n_negatives + n_minority : n_samples]
    start_stream(stream, key, repetition, OVERSAMPLING)
    oversample(train, n_majority, n_minority, neighbours, stream)

    fit_pairs(train, n_majority, labels, residuals, weights, models)
    fill_margins(X, validation, models, margins)
    plain_scores(margins, n_validation_negatives, tables[0], plain)
    start_stream(stream, key, repetition, NOISE)
    perturbed_counts(margins, models, sigma, n_validation_negatives, plan, tp, fp, stream, counting)
    for pair in range(N_PAIRS):
        _aggregate_pair(tp[pair], fp[pair], tables[1], tables[2], plan[2], perturbed[pair], ranks)
    best_models(perturbed, best[0])
    best_models(plain, best[1])


@_jit
def _space(sizes, plan, n_metrics):
    """Arrays for one repetition: those that a reader may look at, and scratch."""
    n_negatives, n_positives, n_validation_negatives, n_validation_positives = sizes
    n_samples = n_negatives + n_positives
    n_majority = n_negatives - n_validation_negatives
    n_validation = n_validation_negatives + n_validation_positives
    n_sets, n_replicas = plan[0], plan[1]
    labels = np.zeros(2 * n_majority)
    labels[n_majority:] = 1.0
    arrays = (
        np.empty((n_samples, N_FEATURES)),
        np.empty(n_samples, dtype=np.int64),
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
    space = (
        np.empty(STREAM_SIZE, dtype=np.uint64),
        np.empty(2 * n_majority),
        np.empty(2 * n_majority),
        np.empty((n_positives, 5), dtype=np.int64),
        np.empty((n_metrics, n_sets), dtype=np.int32),
        (
            binomials,
            np.empty((2, n_replicas * n_validation + 1)),
            np.empty(64, dtype=np.int64),
            np.empty(n_sets),
        ),
    )
    return arrays, space


@_jit
def run_repetitions(key, first, stop, sizes, mu, sigma, plan, tables, best):
    """Run repetitions ``first:stop`` of one configuration.

    Parameters
    ----------
    key : uint64 array of 2
        Philox's key of the configuration.
    first, stop : int
        Repetitions to run.
    sizes : tuple of 4 int
        Negatives, positives, and how many of each are validated.
    mu, sigma : float
        Centre of the second cluster, standard deviation of the perturbation.
    plan : (int, int, float, int, float)
        Perturbed sets M, replicas k, quantile, how counts are drawn, cut-off in widths.
    tables : tuple of 3 arrays
        Scores on the validation set by true positives, false positives and metric; ranks of the
        scores on its k-fold, in the same way; and the score of each rank, by metric and rank.
    best : uint16 array, repetitions × 2 × metrics
        Filled with the sets of best models, of PVF and of the traditional method.
    """
    arrays, space = _space(sizes, plan, best.shape[2])
    for repetition in range(first, stop):
        _repetition(
            key,
            repetition,
            sizes,
            mu,
            sigma,
            plan,
            tables,
            arrays,
            space,
            best[repetition - first],
        )


@_jit
def trace_repetition(key, repetition, sizes, mu, sigma, plan, tables, best):
    """Run one repetition and return all intermediate results."""
    arrays, space = _space(sizes, plan, best.shape[1])
    _repetition(key, repetition, sizes, mu, sigma, plan, tables, arrays, space, best)
    return arrays
