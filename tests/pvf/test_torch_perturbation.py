"""Tests of adversarial weight perturbation on PyTorch modules; they run where it is installed."""

import copy

import numpy as np
import pytest
from scipy.special import expit
from sklearn.linear_model import LogisticRegression

import pvf
from pvf.multiplicity.search import GradientSteps, Samples

torch = pytest.importorskip("torch")
nn = torch.nn


def small_network(n_features, n_outputs, seed=0, *, hidden=8):
    """Double precision, so that a literal loop and the stacked copies can be compared closely."""
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        network = nn.Sequential(
            nn.Linear(n_features, hidden), nn.ReLU(), nn.Linear(hidden, n_outputs)
        )
    return network.double()


def blobs(n, n_classes, seed=0):
    """Overlapping classes in three features."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, n_classes, n)
    return rng.standard_normal((n, 3)) + y[:, None] * [1.0, -0.5, 0.3], y


def trained(network, X, y, n_steps=60):
    """Fit by full-batch gradient descent."""
    inputs, labels = torch.tensor(X), torch.tensor(y)
    optimiser = torch.optim.SGD(network.parameters(), lr=0.2, momentum=0.9)
    for _ in range(n_steps):
        optimiser.zero_grad()
        literal_loss(network, inputs, labels).backward()
        optimiser.step()
    return network


def two_columns(output):
    """Logits of both classes from those of the positive one."""
    return torch.cat([torch.zeros_like(output), output], dim=1) if output.shape[1] == 1 else output


def literal_loss(network, inputs, labels):
    return nn.functional.cross_entropy(two_columns(network(inputs)), labels)


def literal_search(network, X, y, x, target, *, epsilon, rate, momentum, n_steps, stop):
    """One sample and class with PyTorch's own optimiser: best scores within the level."""
    model = copy.deepcopy(network)
    inputs, labels = torch.tensor(X), torch.tensor(y)
    x = torch.tensor(x)[None]
    optimiser = torch.optim.SGD(model.parameters(), lr=rate, momentum=momentum)
    with torch.no_grad():
        level = literal_loss(model, inputs, labels) + epsilon
        best = torch.softmax(two_columns(model(x)), dim=1)[0]
    for _ in range(n_steps):
        if best[target] >= stop:
            break
        optimiser.zero_grad()
        output = model(x)
        raised = output[0, target] if output.shape[1] > 1 else (2 * target - 1) * output[0, 0]
        (-raised).backward()
        optimiser.step()
        with torch.no_grad():
            if literal_loss(model, inputs, labels) > level:
                break
            scores = torch.softmax(two_columns(model(x)), dim=1)[0]
        if scores[target] > best[target]:
            best = scores
    return best.numpy()


@pytest.mark.parametrize("n_outputs", [1, 2, 3])
@pytest.mark.parametrize("epsilon", [0.0, 0.01, 0.1], ids=str)
def test_stacked_copies_do_what_a_literal_loop_does(n_outputs, epsilon):
    """All samples and classes at once give the scores of one search after the other."""
    n_classes = max(2, n_outputs)
    X, y = blobs(60, n_classes)
    network = trained(small_network(3, n_outputs), X, y)
    options = {"learning_rate": 0.01, "momentum": 0.9, "max_iter": 50, "score_target": 0.95}
    scores = pvf.perturb_scores(network, X, y, X[:5], epsilon, **options)
    expected = np.array(
        [
            [
                literal_search(
                    network,
                    X,
                    y,
                    x,
                    target,
                    epsilon=epsilon,
                    rate=0.01,
                    momentum=0.9,
                    n_steps=50,
                    stop=0.95,
                )
                for x in X[:5]
            ]
            for target in range(n_classes)
        ]
    )
    if n_classes == 2:
        expected = expected[:, :, 1]
    np.testing.assert_allclose(scores, expected, rtol=1e-9)
    assert scores.shape == ((2, 5) if n_classes == 2 else (3, 5, 3))


def test_linear_module_is_a_logistic_regression():
    """A linear module takes the counted steps of a logistic regression, inside the exact range."""
    X, y = blobs(80, 2)
    model = LogisticRegression(C=np.inf, tol=1e-10).fit(X, y)
    linear = nn.Linear(3, 1).double()
    with torch.no_grad():
        linear.weight.copy_(torch.tensor(model.coef_))
        linear.bias.copy_(torch.tensor(model.intercept_))
    options = {"learning_rate": 0.002, "max_iter": 300}
    stepped = pvf.perturb_scores(linear, X, y, X[:20], 0.02, **options)
    counted = pvf.perturb_scores(model, X, y, X[:20], 0.02, method="gradient", **options)
    np.testing.assert_allclose(stepped, counted, rtol=1e-9)
    exact = pvf.perturb_scores(model, X, y, X[:20], 0.02)
    assert (stepped[0] >= exact[0] - 1e-9).all()
    assert (stepped[1] <= exact[1] + 1e-9).all()


def test_larger_epsilon_gives_more_capacity():
    """Capacity of what the steps find starts near 1 and grows with epsilon (RC-6)."""
    X, y = blobs(100, 3)
    network = trained(small_network(3, 3), X, y)
    mean = [
        pvf.rashomon_capacity(
            pvf.perturb_scores(network, X, y, X[:15], epsilon, learning_rate=0.01, max_iter=80)
        ).mean()
        for epsilon in (0.001, 0.02, 0.2)
    ]
    assert 1 <= mean[0] < mean[1] < mean[2] < 3


def test_blocks_change_nothing_but_rounding(monkeypatch):
    """One copy at a time, or one loss at a time, gives what all together give."""
    X, y = blobs(50, 3)
    network = trained(small_network(3, 3), X, y)
    options = {"learning_rate": 0.01, "max_iter": 30}
    together = pvf.perturb_scores(network, X, y, X[:6], 0.05, **options)
    from pvf.multiplicity import networks as perturbation  # noqa: PLC0415  needs PyTorch

    blocks = []
    climb = perturbation._Search._climb
    monkeypatch.setattr(
        perturbation._Search, "_climb", lambda *a: blocks.append(len(a[1])) or climb(*a)
    )
    steps = GradientSteps(momentum=0.9, score_target=1.0, **options)
    samples = Samples(X, y, np.ones(50), X[:6])
    alone = perturbation.extreme_scores(network, samples, 0.05, steps, budget=10_000)
    assert 1 < len(blocks) < 18
    np.testing.assert_allclose(alone, together, rtol=1e-10)
    monkeypatch.setattr(perturbation, "SMALL", 1)
    one_loss = pvf.perturb_scores(network, X, y, X[:6], 0.05, **options)
    np.testing.assert_allclose(one_loss, together, rtol=1e-10)


def test_vanishing_gradients_end_the_search(monkeypatch):
    """Dead units make every gradient zero: one step, not the maximum, and the base scores."""
    X, y = blobs(30, 2)

    class Dead(nn.Module):
        def __init__(self):
            super().__init__()
            self.weight = nn.Parameter(torch.ones(3, dtype=torch.float64))

        def forward(self, x):
            return torch.relu(-(x**2) @ self.weight**2 - 1)[:, None] + 0.3

    from pvf.multiplicity import networks as _torch_perturbation  # noqa: PLC0415  needs PyTorch

    steps = []
    moves = _torch_perturbation._moves
    monkeypatch.setattr(
        _torch_perturbation, "_moves", lambda velocity: steps.append(1) or moves(velocity)
    )
    scores = pvf.perturb_scores(Dead(), X, y, X[:4], 0.1, max_iter=10**9)
    np.testing.assert_allclose(scores, expit(0.3))
    assert len(steps) == 1


def test_epsilon_zero_keeps_the_base_model():
    """With epsilon 0 the search ends; at the minimum of a linear model nothing else is inside."""
    X, y = blobs(60, 2)
    network = trained(small_network(3, 1), X, y)
    with torch.no_grad():
        own = expit(network(torch.tensor(X)).numpy()[:, 0])
    low, high = pvf.perturb_scores(network, X, y, X, 0.0)
    assert (low <= own + 1e-12).all()
    assert (high >= own - 1e-12).all()
    linear = trained(nn.Linear(3, 1).double(), X, y, n_steps=3000)
    with torch.no_grad():
        own = expit(linear(torch.tensor(X)).numpy()[:, 0])
    scores = pvf.perturb_scores(linear, X, y, X, 0.0, learning_rate=0.01)
    np.testing.assert_allclose(scores, [own, own], rtol=1e-12)


def test_the_module_stays_as_it_was():
    """Weights, buffers and training mode are untouched; dropout does not act."""
    X, y = blobs(40, 2)
    network = nn.Sequential(
        nn.Linear(3, 6), nn.BatchNorm1d(6), nn.ReLU(), nn.Dropout(0.5), nn.Linear(6, 2)
    )
    network.train()
    before = copy.deepcopy(network.state_dict())
    one, two = (pvf.perturb_scores(network, X, y, X[:5], 0.05, max_iter=20) for _ in range(2))
    np.testing.assert_array_equal(one, two)
    assert network.training
    for name, value in network.state_dict().items():
        assert torch.equal(value, before[name])
    assert all(parameter.grad is None for parameter in network.parameters())


def test_sample_weights_enter_the_level():
    """Whole weights are the same as repeated rows."""
    X, y = blobs(30, 2)
    network = trained(small_network(3, 2), X, y)
    repeats = np.arange(30) % 3
    options = {"learning_rate": 0.01, "max_iter": 30}
    weighted = pvf.perturb_scores(network, X, y, X[:5], 0.02, sample_weight=repeats, **options)
    repeated = pvf.perturb_scores(
        network, np.repeat(X, repeats, axis=0), np.repeat(y, repeats), X[:5], 0.02, **options
    )
    np.testing.assert_allclose(weighted, repeated, rtol=1e-9)


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"y_train": np.full(20, 2)}, "y_train must be 20 labels from 0 to 1"),
        ({"y_train": np.zeros(3)}, "X_train and y_train must have the same length, got 20 and 3"),
        ({"X": np.full((2, 3), np.nan)}, "X must be finite"),
        ({"X": np.zeros(3)}, "X must be finite and have at least two axes"),
        ({"sample_weight": np.zeros(20)}, "sample_weight must be 20 numbers"),
        ({"method": "exact"}, "method must be 'gradient'"),
        ({"return_gap": True}, "return_gap must be False"),
        ({"model": nn.ReLU()}, "model must have weights"),
        ({"learning_rate": -1.0}, "learning_rate"),
    ],
    ids=str,
)
def test_wrong_arguments_are_refused(change, match):
    """Each error names the argument."""
    X, y = blobs(20, 2)
    arguments = {"model": small_network(3, 1), "X_train": X, "y_train": y, "X": X, "epsilon": 0.1}
    with pytest.raises(ValueError, match=match):
        pvf.perturb_scores(**{**arguments, **change})
