"""The condition that decides: the networks, training and splits of the authors' own script.

What the script of Fig. 3 does is taken over where the paper leaves it open (commit 101abd4): its
network (`networks.AuthorsNetwork`), features as they are, full-batch steps, its seeds and splits.
The authors train a hundred networks in each of five splits. Here the number was decided by the
clock, before any result was looked at: rounds of five networks in each split, whole rounds only.
"""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from pvf.multiplicity import perturb_scores, rashomon_set
from studies.capacity2022 import run, searches
from studies.capacity2022.run import EPSILONS, Parts
from studies.kit.study import Settings, setting


class Size(NamedTuple):
    """A data set's networks, and the share of persons whose scores are perturbed."""

    n_units: int
    n_steps: int
    perturbed_share: float


SIZES = {"adult": Size(100, 100, 0.05), "compas": Size(200, 200, 0.3)}
#: Share of persons that the sampled networks are tested on.
SAMPLED_SHARE = 0.3
#: Of a full run. No settings, so that more of them, later, cost no more than their own time.
N_SPLITS, N_ROUNDS = 5, 6
#: Networks that the paper samples in a split.
N_PAPER = 100
#: Columns in the order of the authors' code, which their seeds' initial weights depend on; behind
#: them come Adult's 0/1 columns.
_COLUMNS = {
    "adult": "age education-num white male capital-gain capital-loss hours-per-week",
    "compas": "age felony caucasian male priors_count length_of_stay",
}


@dataclass(frozen=True)
class Authors(Settings):
    """The authors' networks; but for a full run, one round in one split."""

    n_seeds: int = setting(2, "Networks of a round.", full=5, paper="100", low=2)
    n_perturbed: int = setting(
        5, "Persons of the test part on whom AWP looks for scores.", full=100, paper="all", low=1
    )


def authors_blocks(settings: Authors) -> list[tuple[str, str, int, int]]:
    """Return data set, way, split and round of every block; refuse at once without PyTorch."""
    searches.need_torch()
    run.ensure_data()
    n_splits, n_rounds = (N_SPLITS, N_ROUNDS) if settings == Authors.full() else (1, 1)
    ways = [("AWP", 0), *(("seeds", number) for number in range(n_rounds))]
    return [
        (dataset, way, split, number)
        for way, number in ways
        for split in range(n_splits)
        for dataset in SIZES
    ]


def authors_parts(dataset: str, test_share: float, split: int) -> Parts:
    """Return a split as the authors cut it; in a split the smaller test part begins the larger."""
    X, y = run.paper_data(dataset)
    first = _COLUMNS[dataset].split()
    X = X[[*first, *X.columns.difference(first, sort=False)]]
    n_test = len(X) - (round(len(X) * (1 - test_share)) - 1)
    cut = train_test_split(X.to_numpy(float), y.to_numpy(), test_size=n_test, random_state=split)
    return Parts(cut[0], cut[2], cut[1], cut[3])


def authors_block(key: tuple[str, str, int, int], settings: Authors) -> pd.DataFrame:
    """Return persons' scores: by each network of a round, or the extreme ones that AWP finds.

    A row is a person of the test part, in its order, and a ``model``, its seed, of which
    ``seconds`` is the processor time. Of "seeds" ``low`` and ``high`` are the one score; of "AWP"
    they are the extremes within ``epsilon``, found with the authors' steps, loss (that in the test
    part) and end of a search (a score of 0.9).
    """
    dataset, way, split, number = key
    size, is_awp = SIZES[dataset], way == "AWP"
    parts = authors_parts(dataset, size.perturbed_share if is_awp else SAMPLED_SHARE, split)
    first = number * settings.n_seeds
    models = [0] if is_awp else list(range(first, first + settings.n_seeds))
    from studies.capacity2022 import networks  # noqa: PLC0415  PyTorch is optional

    start = time.process_time()
    trained = networks.train_networks(
        parts.X_train, parts.y_train, [1000 * i + split for i in models], size.n_units, size.n_steps
    )
    spent = (time.process_time() - start) / len(models)
    frames = []
    for model, network in zip(models, trained, strict=True):
        names = {"model": model, "epsilon": np.nan, "seconds": spent}
        score = networks.positive_scores(network, parts.X_test)
        frames.append(pd.DataFrame({**names, "low": score, "high": score, "y": parts.y_test}))
    for epsilon in EPSILONS if is_awp else ():
        start, n = time.process_time(), settings.n_perturbed
        test = parts.X_test, parts.y_test
        low, high = perturb_scores(trained[0], *test, test[0][:n], epsilon, score_target=0.9)
        names = {"model": 0, "epsilon": epsilon, "seconds": spent + time.process_time() - start}
        frames.append(pd.DataFrame({**names, "low": low, "high": high, "y": test[1][:n]}))
    return pd.concat(frames).assign(dataset=dataset, way=way, repetition=split)


def authors_summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each data set, split, way and epsilon, rounded to six decimals.

    The set is that of equation (8), by the loss in the test part. A ``way`` is "seeds";
    "seeds, some samples" (the persons on whom AWP looks for scores); "third of seeds, some
    samples"; "AWP".
    """
    found = []
    for (dataset, split), part in rows.groupby(["dataset", "repetition"], sort=False):
        names = {"dataset": dataset, "training": "authors", "repetition": split}
        awp, seeds = part[part["way"] == "AWP"], part[part["way"] == "seeds"]
        searched = dict(iter(awp.groupby("epsilon")))
        n_searched = len(searched[EPSILONS[0]])
        found += [
            one.assign(**names) for one in (*_of_seeds(seeds, n_searched), _of_awp(awp, searched))
        ]
    return pd.concat(found, ignore_index=True).round(6)


def _of_seeds(seeds: pd.DataFrame, n_searched: int) -> list[pd.DataFrame]:
    """Summarise the networks of one split, on all persons and on a few, and a third of them."""
    models = seeds["model"].unique()
    scores = seeds["low"].to_numpy().reshape(len(models), -1)
    y = seeds["y"].to_numpy()[: scores.shape[1]]
    spent = seeds.groupby("model")["seconds"].first().sum()
    frames = []
    for way, n_models, n_persons in (
        ("seeds", len(models), len(y)),
        ("seeds, some samples", len(models), n_searched),
        ("third of seeds, some samples", max(1, len(models) // 3), n_searched),
    ):
        losses = run.log_losses(scores[:n_models], y)
        by_epsilon = {
            epsilon: {
                "loss": losses.min(),
                **run.summary(scores[rashomon_set(losses, epsilon), :n_persons], y[:n_persons]),
            }
            for epsilon in EPSILONS
        }
        seconds = spent * n_models / len(models)
        names = {"way": way, "n_trained": n_models, "n_persons": len(y), "seconds": seconds}
        frames.append(run.rows_by_epsilon(names, by_epsilon))
    return frames


def _of_awp(awp: pd.DataFrame, searched: dict[float, pd.DataFrame]) -> pd.DataFrame:
    """Summarise the extreme scores around the network of one split."""
    own = awp[awp["epsilon"].isna()]
    names = {"way": "AWP", "n_trained": 1, "n_persons": len(own)}
    loss = float(run.log_losses(own[["low"]].to_numpy().T, own["y"])[0])
    by_epsilon = {
        epsilon: {
            "loss": loss,
            "seconds": one["seconds"].iloc[0],
            **searches.extremes(
                one[["low", "high"]].to_numpy().T, own["low"].to_numpy()[: len(one)], one["y"]
            ),
        }
        for epsilon, one in searched.items()
    }
    return run.rows_by_epsilon(names, by_epsilon)


def authors_estimates(table: pd.DataFrame) -> pd.DataFrame:
    """Return estimates over the splits, and how AWP and sampling compare on the same persons.

    ``lead`` is what the top 5% by AWP exceed those of as many sampled networks as the paper's by:
    capacity grows with the range of the scores, and so about linearly in the logarithm of their
    number, along which it is extrapolated. ``seconds_whole`` are those of AWP for all persons of
    its test part; ``slower`` is what they exceed the training of the paper's number of networks by.
    """
    pair = ["dataset", "training", "repetition", "epsilon"]
    needed = table[[*pair, "way", "tail5", "n_trained", "n_persons", "n_samples", "seconds"]]
    rows = needed[needed["way"] == "AWP"]
    for way, name in (("seeds, some samples", "_all"), ("third of seeds, some samples", "_third")):
        rows = rows.merge(needed[needed["way"] == way], on=pair, suffixes=("", name))
    n_all, n_third = rows["n_trained_all"], rows["n_trained_third"]
    steps = np.log(N_PAPER / n_all) / np.log(n_all / n_third)
    sampled = rows["tail5_all"] + steps * (rows["tail5_all"] - rows["tail5_third"])
    rows["lead"] = rows["tail5"] - sampled
    rows["seconds_whole"] = rows["seconds"] * rows["n_persons"] / rows["n_samples"]
    rows["slower"] = rows["seconds_whole"] - rows["seconds_all"] * N_PAPER / n_all
    leads = searches.lead_estimates(rows)
    return pd.concat([run.by_split(table), leads], ignore_index=True)
