"""What a `random_state` becomes: a generator, or a seed that gives keys to many."""

from __future__ import annotations

from typing import Any

import numpy as np

from pvf import _checks as check
from pvf._checks import shown

Seed = int | np.random.SeedSequence | np.random.Generator | np.random.RandomState | None


def seed_sequence(random_state: Any) -> np.random.SeedSequence:
    """Return a seed that gives keys to many generators; nothing is spawned from the caller's."""
    if isinstance(random_state, np.random.SeedSequence):
        # a copy with the same key: spawning from the caller's would change it for the next call
        return np.random.SeedSequence(random_state.entropy, spawn_key=random_state.spawn_key)
    if isinstance(random_state, np.random.Generator | np.random.RandomState):
        return np.random.SeedSequence(int.from_bytes(random_state.bytes(16), "little"))
    if random_state is None:
        return np.random.SeedSequence()
    if not check.is_whole(random_state):
        raise TypeError(
            "random_state must be a whole number, a SeedSequence, a Generator, a RandomState or "
            f"None, got {shown(random_state)}."
        )
    return np.random.SeedSequence(check.integer("random_state", random_state, 0, None))


def child_seed(seed: np.random.SeedSequence, *key: int) -> np.random.SeedSequence:
    """Return the seed of one of the things that a seed stands for."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, *key))


def plain_seed(seed: np.random.SeedSequence) -> int | np.random.SeedSequence:
    """Return the whole number that makes a seed, or the seed where none does."""
    return seed if seed.spawn_key or not isinstance(seed.entropy, int) else seed.entropy


def scorer_seed(random_state: Any) -> int | np.random.SeedSequence:
    """Return a seed that a scorer can use again and again; a generator is asked once."""
    if random_state is None:
        raise TypeError(
            "random_state must be a whole number, a SeedSequence, a Generator or a RandomState, so "
            "that all candidates meet the same noise, got None."
        )
    seed = seed_sequence(random_state)
    return int(random_state) if check.is_whole(random_state) else seed


def generator_of(random_state: Any) -> np.random.Generator:
    """Return a generator: the caller's own, which then moves on, or a new one from a seed."""
    if isinstance(random_state, np.random.Generator):
        return random_state
    return np.random.default_rng(seed_sequence(random_state))
