"""Networks of PyTorch for the experiments on Rashomon Capacity; run where it is installed."""

import numpy as np
import pandas as pd
import pytest
from sklearn.neural_network import MLPClassifier
from test_multiplicity_study import made_up_compas

from studies.capacity2022 import AUTHORS, AWP, authors, searches
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


def one_by_one(X, y, seed, n_units, n_steps):
    """Train as the authors' script does: one network, every row, by PyTorch's own means."""
    torch.manual_seed(seed)
    network = networks.AuthorsNetwork(X.shape[1], n_units)
    optimiser = torch.optim.SGD(network.parameters(), lr=1e-3, momentum=0.9)
    inputs, labels = torch.tensor(X, dtype=torch.float32), torch.tensor(y)
    for _ in range(n_steps):
        optimiser.zero_grad()
        torch.nn.functional.cross_entropy(network(inputs), labels).backward()
        optimiser.step()
    return network


def test_networks_trained_together_are_those_trained_one_by_one():
    """Stacked weights and counted rows change nothing; the seed decides; steps lower the loss."""
    data = parts()
    X, y = np.repeat(data.X_train, 3, axis=0), np.repeat(data.y_train, 3)
    y[::7] = 1 - y[::7]  # equal rows with both labels
    together = networks.train_networks(X, y, [3, 5], n_units=16, n_steps=20)
    losses = []
    for seed, network in zip([3, 5], together, strict=True):
        alone, raw = (one_by_one(X, y, seed, 16, steps) for steps in (20, 0))
        for name, weight in alone.state_dict().items():
            torch.testing.assert_close(network.state_dict()[name], weight, atol=1e-5, rtol=1e-4)
        scores = [networks.positive_scores(model, X) for model in (raw, network)]
        losses.append(multiplicity.log_losses(scores, y))
    assert losses[0][1] < losses[0][0]
    assert losses[0][1] != losses[1][1]


def test_authors_network_applies_one_layer_five_times():
    """By hand with NumPy: linear, then the same layer and its zeros five times, then linear."""
    network = networks.AuthorsNetwork(3, 8)
    weights = {name: value.detach().numpy() for name, value in network.named_parameters()}
    x = np.random.default_rng(0).standard_normal((5, 3)).astype(np.float32)
    state = x @ weights["read_in.weight"].T + weights["read_in.bias"]
    for _ in range(5):
        state = np.maximum(state @ weights["hidden.weight"].T + weights["hidden.bias"], 0)
    logits = state @ weights["read_out.weight"].T + weights["read_out.bias"]
    found = network(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(found, logits, atol=1e-6)
    assert len(weights) == 6


@pytest.fixture
def small(monkeypatch):
    """Made-up data, with columns named as the authors' are, and networks that train in no time."""
    names = authors._COLUMNS["compas"].split()

    def named(dataset, **_):
        X, y = made_up_compas(dataset)
        return X.set_axis(names, axis=1), y

    monkeypatch.setattr(multiplicity, "paper_data", named)
    monkeypatch.setattr(authors, "_COLUMNS", dict.fromkeys(authors.SIZES, "felony age"))
    sizes = {"adult": authors.Size(8, 5, 0.1), "compas": authors.Size(8, 20, 0.3)}
    monkeypatch.setattr(authors, "SIZES", sizes)


def test_authors_table(small):
    """Rows of each way; losses of the searched networks by hand; AWP finds more with epsilon."""
    settings = authors.Authors(n_seeds=3, n_perturbed=4)
    blocks = [key for key in AUTHORS.blocks(settings) if key[0] == "compas"]
    table = AUTHORS.summarise(pd.concat(AUTHORS.block(key, settings) for key in blocks))
    compas = table.set_index(["way", "epsilon"])
    assert set(table["way"]) == {
        "seeds",
        "seeds, some samples",
        "third of seeds, some samples",
        "AWP",
    }
    assert compas.loc["seeds", "n_samples"].unique() == [121]  # 400 - (round(280) - 1)
    assert compas.loc["seeds, some samples", "n_samples"].unique() == [4]
    assert (compas.loc["AWP", "mean"].diff().dropna() >= 0).all()
    assert compas.loc["AWP", "mean"].iloc[0] > 1
    data = authors.authors_parts("compas", 0.3, 0)
    alone = one_by_one(data.X_train, data.y_train, 0, 8, 20)
    loss = multiplicity.log_losses(networks.positive_scores(alone, data.X_test)[None], data.y_test)[
        0
    ]
    assert compas.loc[("AWP", 0.01), "loss"] == pytest.approx(loss, abs=1e-5)


def test_the_smaller_test_part_begins_the_larger(small):
    """So that AWP and sampling can be compared on persons that neither has seen."""
    few, many = (authors.authors_parts("compas", share, 1) for share in (0.05, 0.3))
    np.testing.assert_array_equal(few.X_test, many.X_test[: len(few.X_test)])
    assert len(few.X_test) == 21


def test_awp_finds_more_with_a_larger_epsilon(monkeypatch):
    """The rows of the AWP table: one an epsilon, the capacity growing, from one trained model."""
    monkeypatch.setattr(multiplicity, "paper_data", made_up_compas)
    quick = multiplicity.Training("standard", "adam", {"compas": (2,), "adult": (2,)})
    monkeypatch.setitem(multiplicity.TRAININGS, "standardised", quick)
    table = AWP.table(searches.Awp(n_perturbed=6), n_jobs=1)
    table = table[table["dataset"] == "compas"]
    assert table["n_samples"].tolist() == [6] * 4
    assert 1 < table["mean"].iloc[0] < table["mean"].iloc[-1]
    assert (table["n_trained"] == 1).all()
