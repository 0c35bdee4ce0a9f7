"""Adversarial weight perturbation of PyTorch modules, many samples and classes at once.

Each pair of a sample and a class owns a copy of the weights, stacked along a first axis. All
copies take one gradient step together, on the logit that their sample gives their class, and
leave when their loss is above the level.
"""

from __future__ import annotations

from dataclasses import dataclass
from importlib import import_module
from typing import TYPE_CHECKING, Any

import numpy as np

from pvf._types import Array
from pvf.multiplicity.search import GradientSteps, Samples


class _Torch:
    """PyTorch, which is imported when something of it is used."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        try:
            return getattr(import_module("torch"), name)
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Networks are perturbed with PyTorch: pip install 'pvf[torch]'."
            ) from error


if TYPE_CHECKING:
    import torch
else:
    torch = _Torch()

Weights = dict[str, "torch.Tensor"]

#: Bytes of one copy's activations on the loss data below which copies are evaluated together.
#: Larger ones fall out of the processor's cache, and one copy after the other is faster.
SMALL = 2**18


@dataclass(frozen=True)
class _Task:
    """A module with the data that its loss is measured on."""

    module: torch.nn.Module
    weights: Weights
    buffers: Weights
    inputs: torch.Tensor
    labels: torch.Tensor
    share: torch.Tensor
    single: bool  # whether the module has one logit for two classes
    n_together: int  # how many copies' losses are computed at once

    def logits(self, weights: Weights, inputs: torch.Tensor) -> torch.Tensor:
        """Return (n, n_classes); a single logit z becomes (-z/2, z/2), with the same scores."""
        out = torch.func.functional_call(self.module, (weights, self.buffers), (inputs,))
        out = out.reshape(len(inputs), -1)
        return torch.cat([-out / 2, out / 2], dim=1) if out.shape[1] == 1 else out

    def loss(self, weights: Weights) -> torch.Tensor:
        """Return the weighted mean of the cross-entropy."""
        logits = self.logits(weights, self.inputs)
        losses = torch.nn.functional.cross_entropy(logits, self.labels, reduction="none")
        return losses @ self.share

    def losses(self, weights: Weights) -> torch.Tensor:
        """Return the loss of each stacked copy."""
        if self.n_together > 1:
            return torch.func.vmap(self.loss, chunk_size=self.n_together)(weights)
        n_copies = len(next(iter(weights.values())))
        return torch.stack(
            [self.loss({k: v[i] for k, v in weights.items()}) for i in range(n_copies)]
        )

    def target_logit(self, weights: Weights, x: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the logit that the sample gives its target class; z or -z if there is one."""
        logits = self.logits(weights, x[None])[0]
        raised = logits.gather(0, target[None])[0]
        # Of a single logit z, the stacked halves are ±z/2.
        return 2 * raised if self.single else raised

    def scores(self, weights: Weights, x: torch.Tensor) -> torch.Tensor:
        """Return the scores of one sample."""
        return torch.softmax(self.logits(weights, x[None])[0], dim=0)


def extreme_scores(
    module: torch.nn.Module, samples: Samples, epsilon: float, steps: GradientSteps, budget: float
) -> Array:
    """Return the scores of the models that gradient steps find, as `pvf.perturb_scores` does."""
    was_training = module.training
    module.eval()
    try:
        task = _task(module, samples)
        inputs = _tensor("X", samples.X, task.inputs)
        found = _Search(task, epsilon, steps).run(inputs, _copies_within(task, budget))
    finally:
        module.train(was_training)
    return found[:, :, 1] if found.shape[2] == 2 else found


def _task(module: torch.nn.Module, samples: Samples) -> _Task:
    """Check the data and move it to where the module's weights are."""
    weights = {name: value.detach() for name, value in module.named_parameters()}
    if not weights:
        raise ValueError("model must have weights to perturb, got a module without parameters.")
    like = next(iter(weights.values()))
    inputs = _tensor("X_train", samples.X_train, like)
    with torch.no_grad():
        n_logits = module(inputs[:1]).numel()
    n_classes = max(2, n_logits)
    labels, share = samples.y_train, samples.weight / samples.weight.sum()
    if labels.shape != (len(inputs),) or not np.isin(labels, np.arange(n_classes)).all():
        raise ValueError(
            f"y_train must be {len(inputs)} labels from 0 to {n_classes - 1} for a torch module, "
            f"got shape {labels.shape} with values {np.unique(labels)[:5].tolist()}."
        )
    return _Task(
        module=module,
        weights=weights,
        buffers={name: value.detach() for name, value in module.named_buffers()},
        inputs=inputs,
        labels=torch.as_tensor(labels.astype(np.int64), device=like.device),
        share=torch.as_tensor(share, dtype=like.dtype, device=like.device),
        single=n_logits == 1,
        n_together=_copies_together(module, inputs),
    )


def _tensor(name: str, values: Any, like: torch.Tensor) -> torch.Tensor:
    """Return the data as a tensor of the weights' kind."""
    if not torch.is_tensor(values):
        values = np.asarray(values, dtype=np.float64)
    tensor = torch.as_tensor(values, dtype=like.dtype, device=like.device)
    if tensor.ndim < 2 or not torch.isfinite(tensor).all():
        raise ValueError(f"{name} must be finite and have at least two axes, a row per sample.")
    return tensor


def _copies_within(task: _Task, budget: float) -> int:
    """Return how many copies of the weights may move at once."""
    n_weights = sum(value.numel() for value in task.weights.values())
    # Weights, velocity, gradient and a temporary.
    return int(max(1, budget // (4 * n_weights * task.inputs.element_size())))


def _copies_together(module: torch.nn.Module, inputs: torch.Tensor) -> int:
    """Return how many copies' losses are computed at once, by the largest layer's output."""
    largest = 1

    def note(_: Any, __: Any, output: Any) -> None:
        nonlocal largest
        if torch.is_tensor(output):
            largest = max(largest, output.numel())

    hooks = [part.register_forward_hook(note) for part in module.modules()]
    try:
        with torch.no_grad():
            module(inputs[:1])
    finally:
        for hook in hooks:
            hook.remove()
    n_bytes = largest * len(inputs) * inputs.element_size()
    return 8 * SMALL // n_bytes if n_bytes < SMALL else 1


@dataclass
class _Search:
    """Gradient ascent with momentum, for all copies of a block together."""

    task: _Task
    epsilon: float
    steps: GradientSteps

    def run(self, samples: torch.Tensor, n_copies: int) -> Array:
        """Return (n_classes, n_samples, n_classes)."""
        with torch.no_grad():
            base = torch.softmax(self.task.logits(self.task.weights, samples), dim=1)
            level = self.task.loss(self.task.weights) + self.epsilon
        n_samples, n_classes = base.shape
        best = base.repeat(n_classes, 1)
        targets = torch.arange(n_classes, device=base.device).repeat_interleave(n_samples)
        pairs = torch.arange(len(targets), device=base.device)
        for block in torch.split(pairs, n_copies):
            x = samples[block % max(n_samples, 1)]
            best[block] = self._climb(x, targets[block], best[block], level)
        return best.reshape(n_classes, n_samples, n_classes).double().cpu().numpy()

    def _climb(
        self, x: torch.Tensor, target: torch.Tensor, best: torch.Tensor, level: torch.Tensor
    ) -> torch.Tensor:
        """Return the best scores within the level of each copy."""
        gradient = torch.func.vmap(torch.func.grad(self.task.target_logit))
        score = torch.func.vmap(self.task.scores)
        index = torch.arange(len(x), device=x.device)
        weights = {k: v.expand(len(x), *v.shape).clone() for k, v in self.task.weights.items()}
        velocity = {k: torch.zeros_like(v) for k, v in weights.items()}
        alive = _of_target(best, target) < self.steps.score_target
        for _ in range(self.steps.max_iter):
            if not alive.all():
                index, x, target = index[alive], x[alive], target[alive]
                weights = {k: v[alive] for k, v in weights.items()}
                velocity = {k: v[alive] for k, v in velocity.items()}
            if not len(index):
                break
            rise = gradient(weights, x, target)
            velocity = {k: self.steps.momentum * velocity[k] + rise[k] for k in rise}
            weights = {k: v + self.steps.learning_rate * velocity[k] for k, v in weights.items()}
            with torch.no_grad():
                inside = self.task.losses(weights) <= level
                scores = score(weights, x)
            reached = _of_target(scores, target)
            better = inside & (reached > _of_target(best[index], target))
            best[index[better]] = scores[better]
            alive = inside & (reached < self.steps.score_target) & _moves(velocity)
        return best


def _of_target(scores: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Return each row's score of its target class."""
    return scores.gather(1, target[:, None])[:, 0]


def _moves(velocity: Weights) -> torch.Tensor:
    """Return which copies still move; where all gradients vanish nothing ever changes."""
    return torch.stack([(v != 0).flatten(1).any(dim=1) for v in velocity.values()]).any(dim=0)
