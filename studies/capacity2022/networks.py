"""Networks of PyTorch for the experiments on Rashomon Capacity: an optional part."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.neural_network import MLPClassifier
from torch import nn


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


def paper_network(
    parts: Any, *, seed: int, n_layers: int, n_units: int, n_steps: int
) -> nn.Sequential:
    """Train the paper's network, of two logits: full-batch steps of 0.001 with momentum 0.9."""
    sizes = [parts.X_train.shape[1], *[n_units] * n_layers]
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        layers: list[nn.Module] = []
        for size, following in pairwise(sizes):
            layers += [nn.Linear(size, following), nn.ReLU()]
        network = nn.Sequential(*layers, nn.Linear(n_units, 2))
    inputs = torch.tensor(parts.X_train, dtype=torch.float32)
    labels = torch.tensor(parts.y_train)
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    for _ in range(n_steps):
        optimiser.zero_grad()
        nn.functional.cross_entropy(network(inputs), labels).backward()
        optimiser.step()
    return network


def positive_scores(module: nn.Module, X: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a module's probabilities of class 1, from one logit or two."""
    with torch.no_grad():
        out = module(torch.tensor(X, dtype=torch.float32)).double()
    if out.shape[1] == 1:
        out = torch.cat([torch.zeros_like(out), out], dim=1)
    return torch.softmax(out, dim=1).numpy()[:, 1]
