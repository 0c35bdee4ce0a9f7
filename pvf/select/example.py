"""A simulated cohort with a known truth, written as the kind of CSV that people have.

Nobody in it exists. It has what real tables have besides measurements: gaps, codes, dates,
remarks, a column that never changes. Since the chance of death of each patient is known, so is
what a selected model is really worth.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pandas as pd

from pvf import _checks as check
from pvf.select.candidates import score_of
from pvf.select.choose import Selection
from pvf.select.columns import feature_frame
from pvf.select.places import reached_share
from pvf.select.read import read_csv_table

WARDS = ("surgery", "medicine", "cardiology", "geriatrics")
FRAILTY = ("mild", "moderate", "severe")
REMARKS = ("came by ambulance", "seen by the family doctor, then referred", "daughter called twice")


def chance_of_death(cohort: pd.DataFrame) -> np.ndarray:
    """Return each simulated patient's chance of death, before any value went missing.

    Parameters
    ----------
    cohort : DataFrame
        With ``age``, ``crp``, ``albumin``, ``frailty`` and ``ward``.

    Returns
    -------
    ndarray of shape (n_patients,)
    """
    frailty = cohort["frailty"].map({level: rank for rank, level in enumerate(FRAILTY)})
    logit = (
        -2.9
        + 0.05 * (cohort["age"] - 65)
        + 0.5 * np.log(cohort["crp"] / 20)
        - 0.12 * (cohort["albumin"] - 36)
        + 0.6 * frailty
        + 0.5 * (cohort["ward"] == "geriatrics")
    )
    return (1 / (1 + np.exp(-logit))).to_numpy()


def make_cohort(n_patients: int = 500, *, seed: int = 0) -> pd.DataFrame:
    """Simulate patients.

    Parameters
    ----------
    n_patients : int, default=500
    seed : int, default=0

    Returns
    -------
    DataFrame
        One row a patient; ``died`` is the outcome.

    Examples
    --------
    >>> cohort = make_cohort(1000)
    >>> cohort.shape
    (1000, 12)
    """
    check.integer("n_patients", n_patients, 1)
    rng = np.random.default_rng(seed)
    cohort = pd.DataFrame(
        {
            "patient": [f"P{number:05d}" for number in rng.permutation(n_patients)],
            "admitted": pd.Timestamp("2024-01-01")
            + pd.to_timedelta(rng.integers(0, 365, n_patients), unit="D"),
            "hospital": "A",
            "age": rng.normal(68, 14, n_patients).clip(18, 100).round(1),
            "sex": rng.choice(["female", "male"], n_patients),
            "ward": rng.choice(WARDS, n_patients, p=[0.3, 0.35, 0.2, 0.15]),
            "frailty": rng.choice(FRAILTY, n_patients, p=[0.5, 0.35, 0.15]),
            "crp": np.exp(rng.normal(np.log(20), 1, n_patients)).round(1).clip(0.1),
            "albumin": rng.normal(36, 5, n_patients).round(1),
            "potassium": rng.normal(4.2, 0.5, n_patients).round(2),
            "remark": rng.choice(REMARKS, n_patients),
        }
    )
    # Every remark is its own, as free text is.
    cohort["remark"] += [f", bed {bed}" for bed in rng.integers(1, 10**6, n_patients)]
    died = rng.random(n_patients) < chance_of_death(cohort)
    gaps = {name: rng.random(n_patients) < share for name, share in _GAPS.items()}
    for name, gap in gaps.items():
        cohort[name] = cohort[name].mask(gap)
    return cohort.assign(died=np.where(died, "yes", "no"))


_GAPS = {"crp": 0.08, "albumin": 0.05, "frailty": 0.04}


def write_cohort(path: str | Path, n_patients: int = 500, *, seed: int = 0) -> Path:
    """Write a simulated cohort as a CSV file.

    Parameters
    ----------
    path : path-like
        A file with the ending ``.csv``; its folder must exist.
    n_patients, seed
        As in `make_cohort`.

    Returns
    -------
    Path
    """
    make_cohort(n_patients, seed=seed).to_csv(path, index=False, date_format="%Y-%m-%d")
    return Path(path)


def true_worth(
    selection: Selection, folder: str | Path, *, n_patients: int = 20000, seed: int = 1
) -> pd.DataFrame:
    """Return what each rule's choice is worth among new patients of the same simulated world.

    Parameters
    ----------
    selection : Selection
        Made from a cohort of `write_cohort`.
    folder : path-like
        Where the new cohort's file may be written.
    n_patients, seed
        As in `make_cohort`; the seed must differ from that of the cohort selected from.

    Returns
    -------
    DataFrame
        Indexed by rule, and ``best candidate``: the ``model``, its ``IE`` among the new patients,
        its ``rank`` among the candidates (1 is best), and ``IE_test``, the estimate that the test
        parts of the selection gave.
    """
    path = write_cohort(Path(folder) / "new_patients.csv", n_patients, seed=seed)
    frame = read_csv_table(path).frame
    X = feature_frame(frame, selection.data.columns)
    case = (frame[selection.data.target] == selection.data.positive).to_numpy()
    capacity = selection.settings["capacity"]
    worth = pd.Series(
        {
            name: float(reached_share(score_of(model, X), case, capacity)[0] / capacity)
            for name, model in selection.models.items()
        }
    )
    models = pd.Series({**selection.chosen, "best candidate": worth.idxmax()})
    rank = worth.rank(ascending=False, method="min").astype(int)
    of_model = {"model": models, "IE": models.map(worth), "rank": models.map(rank)}
    tested = selection.judged["IE"].reindex(models.index)
    return pd.DataFrame({**of_model, "IE_test": tested}).rename_axis("rule")


def readable_worth(selection: Selection, folder: str | Path, *, csv: str) -> pd.DataFrame:
    """Return `true_worth` for people, or why it cannot be known.

    Parameters
    ----------
    selection : Selection
    folder : path-like
        Where the new cohort's file may be written.
    csv : str
        The reader's own file; "" if the selection was made from the simulated cohort.

    Returns
    -------
    DataFrame
    """
    if csv:
        return pd.DataFrame({"the truth": ["not known: these patients are not simulated"]})
    worth = true_worth(selection, folder)
    told = worth[["IE", "IE_test"]].map("{:.2f}".format).replace("nan", "–")
    shown = {"IE in truth": told["IE"], "rank among candidates": worth["rank"]}
    return pd.DataFrame({"model": worth["model"], **shown, "IE on the test parts": told["IE_test"]})
