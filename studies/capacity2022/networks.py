"""Networks of PyTorch for the experiments on Rashomon Capacity: an optional part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier
from torch import nn

from pvf._types import Array

#: How often the authors' hidden layer is applied.
N_TIMES = 5
#: Rows of which a part of the loss is computed at once.
N_TOGETHER = 2000


def as_module(network: MLPClassifier) -> nn.Sequential:
    """Return a fitted network of rectified linear units as a module with one logit."""
    layers: list[nn.Module] = []
    for weight, bias in zip(network.coefs_, network.intercepts_, strict=True):
        layer = nn.Linear(*weight.shape)
        with torch.no_grad():
            layer.weight.copy_(torch.tensor(weight.T))
            layer.bias.copy_(torch.tensor(bias))
        layers += [layer, nn.ReLU()]
    return nn.Sequential(*layers[:-1])


class AuthorsNetwork(nn.Module):
    """The authors' network: one hidden layer, applied five times, between two linear ones."""

    def __init__(self, n_features: int, n_units: int) -> None:
        super().__init__()
        self.read_in = nn.Linear(n_features, n_units)
        self.hidden = nn.Linear(n_units, n_units)
        self.read_out = nn.Linear(n_units, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return two logits a row; after ``read_in`` there is no activation."""
        x = self.read_in(x)
        for _ in range(N_TIMES):
            x = torch.relu(self.hidden(x))
        return self.read_out(x)


def train_networks(
    X: Array, y: NDArray[np.int64], seeds: Sequence[int], n_units: int, n_steps: int
) -> list[AuthorsNetwork]:
    """Train the authors' networks from several seeds: full-batch steps of 0.001, momentum 0.9.

    Their weights are stacked, so that all take a step at once. Equal rows are counted and not
    repeated, which leaves the loss what it was.
    """
    with torch.random.fork_rng():
        trained = []
        for seed in seeds:
            torch.manual_seed(seed)
            trained.append(AuthorsNetwork(X.shape[1], n_units))
    stacked, _ = torch.func.stack_module_state(trained)
    rows, place = np.unique(X, axis=0, return_inverse=True)
    counts = np.stack([np.bincount(place, y == label, len(rows)) for label in (0, 1)], axis=1)
    inputs, shares = (torch.tensor(a, dtype=torch.float32) for a in (rows, counts / len(y)))
    optimiser = torch.optim.SGD(stacked.values(), lr=1e-3, momentum=0.9)
    for _ in range(n_steps):
        optimiser.zero_grad()
        for x, share in zip(inputs.split(N_TOGETHER), shares.split(N_TOGETHER), strict=True):
            (-(torch.log_softmax(stacked_logits(stacked, x), dim=2) * share).sum()).backward()
        optimiser.step()
    for i, network in enumerate(trained):
        network.load_state_dict({name: values[i] for name, values in stacked.items()})
    return trained


def stacked_logits(stacked: Mapping[str, torch.Tensor], x: torch.Tensor) -> torch.Tensor:
    """Return the logits of stacked networks of the authors' kind: models × rows × 2."""
    (first, start), (hidden, bias), (last, end) = (
        (stacked[f"{name}.weight"], stacked[f"{name}.bias"][:, None])
        for name in ("read_in", "hidden", "read_out")
    )
    # Without an activation between them, reading in and the first time are one linear map.
    x = torch.baddbmm(
        torch.baddbmm(bias, start, hidden.mT), x.expand(len(first), *x.shape), (hidden @ first).mT
    )
    for _ in range(N_TIMES - 1):
        x = torch.baddbmm(bias, torch.relu(x), hidden.mT)
    return torch.baddbmm(end, torch.relu(x), last.mT)


def positive_scores(module: nn.Module, X: Array) -> Array:
    """Return a module's probabilities of class 1, from one logit or two."""
    with torch.no_grad():
        out = module(torch.tensor(X, dtype=torch.float32)).double()
    if out.shape[1] == 1:
        out = torch.cat([torch.zeros_like(out), out], dim=1)
    return torch.softmax(out, dim=1).numpy()[:, 1]
