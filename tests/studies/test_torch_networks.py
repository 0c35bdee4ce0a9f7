"""Networks of PyTorch for the experiments on Rashomon Capacity; run where it is installed."""

import numpy as np
import pytest
from sklearn.neural_network import MLPClassifier
from test_multiplicity_study import made_up_compas

from studies.capacity2022 import AWP, searches
from studies.capacity2022 import run as multiplicity

torch = pytest.importorskip("torch")

from studies.capacity2022 import networks  # noqa: E402  needs PyTorch


def parts(n=200, n_features=4):
    """Two overlapping classes, cut in two."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, n)
    X = rng.standard_normal((n, n_features)) + y[:, None]
    return multiplicity.make_parts(X, y, 0.3, seed=0, repetition=0, scaling="standard")


def test_module_gives_the_scores_of_the_network_it_is_made_of():
    """A network of scikit-learn and its copy in PyTorch agree to single precision."""
    data = parts()
    network = MLPClassifier((7, 5), max_iter=50, random_state=0).fit(data.X_train, data.y_train)
    module = networks.as_module(network)
    ours = networks.positive_scores(module, data.X_test)
    np.testing.assert_allclose(ours, network.predict_proba(data.X_test)[:, 1], atol=1e-6)


def test_paper_network_has_its_layers_and_learns():
    """Five hidden layers of their own weights; steps lower the loss; the seed decides."""
    data = parts()
    sizes = {"n_layers": 5, "n_units": 30}
    raw, trained, again, other = (
        networks.paper_network(data, seed=seed, n_steps=steps, **sizes)
        for seed, steps in ((0, 0), (0, 200), (0, 200), (1, 200))
    )
    shapes = [tuple(weight.shape) for name, weight in raw.named_parameters() if "weight" in name]
    assert shapes == [(30, 4), *[(30, 30)] * 4, (2, 30)]
    scores = [
        networks.positive_scores(network, data.X_train) for network in (raw, trained, again, other)
    ]
    losses = multiplicity.log_losses(scores, data.y_train)
    assert losses[1] < losses[0]
    np.testing.assert_array_equal(scores[1], scores[2])
    assert (scores[3] != scores[1]).any()


def test_awp_finds_more_with_a_larger_epsilon(monkeypatch):
    """The rows of the AWP table: one an epsilon, the capacity growing, from one trained model."""
    monkeypatch.setattr(multiplicity, "paper_data", made_up_compas)
    small = {"n_layers": 2, "n_units": 8, "n_steps": 20}
    for dataset in multiplicity.DATASETS:
        monkeypatch.setitem(searches.PAPER_NETWORKS, dataset, small)
    quick = multiplicity.Training("standard", "adam", {"compas": (2,), "adult": (2,)})
    monkeypatch.setitem(multiplicity.TRAININGS, "standardised", quick)
    table = AWP.table(searches.Awp(n_perturbed=6, n_perturbed_paper=3), n_jobs=1)
    table = table[table["dataset"] == "compas"]
    assert table["training"].tolist() == ["standardised"] * 4 + ["paper"] * 4
    assert table["n_samples"].tolist() == [6] * 4 + [3] * 4
    for _, rows in table.groupby("training"):
        assert 1 < rows["mean"].iloc[0] < rows["mean"].iloc[-1]
    assert (table["n_trained"] == 1).all()
