"""The committed model card: one selected tree of the breast-cancer experiment.

``python -m studies.capacity2022.card`` writes it anew, as Markdown and as HTML.
"""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import pvf
from studies.data import datasets
from studies.kit.results import results_folder
from studies.pvf2026.clinical import run as clinical

#: Capacity of Intervention Efficiency, and the paper's standard deviation of the noise there.
CAPACITY, SIGMA = 0.1, 0.3
#: The committed files, in ``book/_static``.
FILES = ("model_card_breast_cancer.md", "model_card_breast_cancer.html")


def breast_cancer_card(*, n_candidates: int = 100, seed: int = 20261127) -> pvf.ModelCard:
    """Return the card of the tree that PVF selects in the experiment's first split.

    The split, its trees and its parts are those that `clinical.one_repetition` makes first; the
    noise is drawn by `perturbation_validation`, for each candidate its own.

    Parameters
    ----------
    n_candidates : int, default=100
    seed : int
        Of the experiment, of the noise and of the resamples.

    Returns
    -------
    ModelCard

    Examples
    --------
    >>> card = breast_cancer_card(n_candidates=10)
    >>> card.facts["validation_rows"], card.facts["external_rows"]
    (20, 469)
    """
    settings = asdict(clinical.Experiment()) | {"n_candidates": n_candidates, "seed": seed}
    split = next(clinical.splits(0, settings))
    data = datasets.load_breast_cancer()
    X = clinical.scaled_features(split.train, settings)
    y = data.y.to_numpy()
    trees = {f"tree {q}": tree for q, tree in enumerate(split.problem.trees)}
    scoring = pvf.intervention_efficiency_scorer(CAPACITY)
    result = pvf.perturbation_validation(
        trees,
        X[split.validation],
        y[split.validation],
        perturbation=pvf.Perturbation(pvf.GaussianNoise(SIGMA)),
        scoring=scoring,
        common_noise=False,
        random_state=seed,
    )
    return pvf.model_card(
        result,
        X=X[split.validation],
        y=y[split.validation],
        scoring=scoring,
        external=(X[split.external], y[split.external]),
        title="Model card: a tree for breast cancer",
        intended_use=(
            "An example for readers of this book: it shows what a small validation sample can and "
            "cannot tell. Not for clinical use."
        ),
        data_name="Breast Cancer Wisconsin (Diagnostic), features scaled by the training part",
        data={
            "Source": data.citation,
            "Licence": data.licence,
            "Patients for training": len(split.train),
            "Share of these that grows each tree": settings["subsample"],
            "Depth of the trees": settings["max_depth"],
            "Noise of the perturbation, in standard deviations": SIGMA,
        },
        kinds=dict(enumerate(data.kinds.values())),
        unit="patients",
        random_state=seed,
    )


def write_example(folder: str | Path | None = None) -> list[Path]:
    """Write the committed card.

    Parameters
    ----------
    folder : path-like, optional
        ``book/_static`` of the repository by default.

    Returns
    -------
    list of pathlib.Path
    """
    folder = results_folder().parent / "_static" if folder is None else Path(folder)
    card = breast_cancer_card()
    return [card.save(folder / name) for name in FILES]


if __name__ == "__main__":
    for path in write_example():
        print(path.name)
