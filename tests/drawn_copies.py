"""Drawn copies of samples, beside the law that says how many of them are flagged."""

import numpy as np

N_COPIES = 4000


def against_copies(flips, model, noise, X):
    """Return how far the numbers of flagged copies are from those that the law expects.

    In standard errors where both answers are likely, and as a number for all other samples.
    """
    copies = noise.sample(X, N_COPIES, np.random.default_rng(1))
    seen = model.predict(copies).reshape(N_COPIES, -1).sum(axis=0)
    p = np.clip(np.asarray(flips), 1e-9, 1 - 1e-9)
    variance = N_COPIES * p * (1 - p)
    off = seen - N_COPIES * p
    likely = variance > 5
    return off[likely] / np.sqrt(variance[likely]), off[~likely]
