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
    """Return a fitted two-class network of scikit-learn as a module with one logit.

    Parameters
    ----------
    network : MLPClassifier
        With rectified linear units.

    Returns
    -------
    torch.nn.Sequential
        In single precision.
    """
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
    """Train the paper's network: full-batch steps of 0.001 with momentum 0.9.

    Parameters
    ----------
    parts : studies.capacity2022.run.Parts
    seed : int
        Of the initial weights.
    n_layers, n_units, n_steps : int
        Hidden layers, units in each, and steps.

    Returns
    -------
    torch.nn.Sequential
        With two logits. Each hidden layer has weights of its own.
    """
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


class Scorer:
    """A module with scikit-learn's way to ask for scores.

    Parameters
    ----------
    module : torch.nn.Module
        With one logit for two classes, or two.
    """

    def __init__(self, module: nn.Module) -> None:
        self.module = module

    def predict_proba(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return scores of shape (n, 2)."""
        with torch.no_grad():
            out = self.module(torch.tensor(X, dtype=torch.float32)).double()
        if out.shape[1] == 1:
            out = torch.cat([torch.zeros_like(out), out], dim=1)
        return torch.softmax(out, dim=1).numpy()
