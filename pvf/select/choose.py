"""Select a model from a reader's own data, and find out what the choice is worth.

`select` splits the data many times, lets the traditional rule, PVF and PMV select from a pool in
each split, and judges what they select on persons that nobody has selected by. Everything that is
said of a selection, on the console, in a report, in JSON, in a card or a notebook, is read from the
one `Selection`: `recommend` turns it into plain words, `pvf.select.report` into tables and
figures. Whether a model should be used is read off the test parts, on which nobody judges a choice
that he or she had a part in, and off how often the splits agree.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from typing import Any

import numpy as np
import pandas as pd
from joblib import Parallel, cpu_count, delayed, effective_n_jobs
from numpy.typing import NDArray
from scipy.stats import beta
from threadpoolctl import threadpool_limits

from pvf import _checks as check
from pvf.advice import Advice, advice, kind_of_pool
from pvf.audit import disagreement, mean_held_out, result_over_splits
from pvf.multiplicity import rashomon_set
from pvf.select.candidates import (
    built_in,
    columns_looked_at,
    cut_off,
    fitted,
    make_pool,
    model_in_words,
    worked_person,
)
from pvf.select.places import Judge
from pvf.select.read import Caution, OwnData
from pvf.select.run_time import Progress, expected_seconds, in_words, timed, without_a_trace
from pvf.select.sentences import TableError, fault, paragraphs, sentence
from pvf.select.settings import MOST_MINUTES, RULES, Choosing, usual_splits
from pvf.select.splits import OneSplit, Parts, one_split, perturbation_of, pmv_levels, split
from pvf.validation import PerturbationValidationResult, tied_best

#: Seconds that a column, and each of its cells, adds to a split of the built-in candidates.
A_COLUMN, A_CELL = 0.045, 4e-5
#: Perturbed sets of a split at least, and rows of its replicas together at most.
FEWEST_SETS, MOST_REPLICATED = 5, 2000
#: Cases below which the report says that they are few: Collins, Ogundimu and Altman (2016).
FEW_CASES = 100
_NAMES = {"traditional": "the traditional rule", "PVF": "PVF", "PMV": "PMV"}


@dataclass(frozen=True, eq=False)
class Selection:
    """What the rules select over all splits, and how good and how arbitrary that is.

    Attributes
    ----------
    data : OwnData
    settings : dict
        Everything that reproduces the result.
    parts : tuple of Parts
        One a split.
    models : dict of str to estimator
        The candidates, fitted on all rows: what is recommended is to be used.
    scores : DataFrame
        Indexed by model: the score under each of `RULES` over all splits, larger being better.
    tied : dict of str to list of str
        For each rule the models within rounding of its best; its choice is the first of them.
    choices : DataFrame
        Indexed by split: each rule's choice in it, and ``simplest``, the column that is best alone.
    validation : PerturbationValidationResult
        PVF at the σ asked for, over the sets of all splits.
    sigmas : DataFrame
        For each σ: PVF's choice, its score, how many tie, whether it is the traditional choice.
    judged : DataFrame
        Indexed by way of filling the places: each of `RULES`, ``by score``, ``by label``,
        ``simplest``, ``by chance`` and ``best possible``; ``IE`` with ``low`` and ``high``, and
        ``reached`` with its own, cases among ``settings["per"]`` persons.
    differences : DataFrame
        Indexed by pair: ``difference`` in IE, ``low``, ``high``, and ``same``.
    calibration : DataFrame
        Fifths of the persons by the recommended model's score on the test parts: mean score, and
        share of cases with an interval.
    multiplicity : DataFrame or None
        One row a person, from `pvf.multiplicity_table` over the good models' scores on the test
        parts; None where fewer than two candidates give probabilities.
    multiplicity_summary : dict of str to float
        Sizes and shares that go with it.
    advice : Advice
        What the study of rules says of such a pool and so many cases; ``settings["rule"]`` follows
        it, unless a rule was given.
    left_out : dict of str to str
        Candidates that could not be fitted, and why.
    """

    data: OwnData
    settings: dict[str, Any]
    parts: tuple[Parts, ...]
    models: dict[str, Any]
    scores: pd.DataFrame
    tied: dict[str, list[str]]
    choices: pd.DataFrame
    validation: PerturbationValidationResult
    sigmas: pd.DataFrame
    judged: pd.DataFrame
    differences: pd.DataFrame
    calibration: pd.DataFrame
    multiplicity: pd.DataFrame | None
    multiplicity_summary: dict[str, float]
    advice: Advice
    left_out: dict[str, str] = field(default_factory=dict)

    @property
    def chosen(self) -> dict[str, str]:
        """Each rule's choice."""
        return {rule: names[0] for rule, names in self.tied.items()}

    @property
    def recommended(self) -> str:
        """The model that `recommended_model` takes."""
        return recommended_model(self.tied, self.settings["rule"])

    @cached_property
    def looked_at(self) -> list[str]:
        """The columns on which the recommended model's score depends."""
        return columns_looked_at(self.models[self.recommended], self.data.X)

    @cached_property
    def recommendation(self) -> Recommendation:
        """What it amounts to, in plain words."""
        return recommend(self)

    def chosen_in(self, model: str, rule: str | None = None) -> int:
        """Return in how many splits a rule, by default the one followed, chooses a model."""
        return int((self.choices[rule or self.settings["rule"]] == model).sum())

    @property
    def simplest(self) -> str:
        """The column that is most often best alone."""
        return str(self.choices["simplest"].mode()[0])


def recommended_model(tied: Mapping[str, Sequence[str]], rule: str = "PVF") -> str:
    """Return a rule's choice, or of several that tie one that other rules hold to be best as well.

    Parameters
    ----------
    tied : mapping of rule to sequence of str
        For each of `RULES` the models that are best by it.
    rule : str, default="PVF"
        The one of `RULES` that is followed.

    Returns
    -------
    str
        Of the models best under the rule: the first that is best under both other rules, else
        under the first of them, else under the second, else the first.

    Examples
    --------
    >>> recommended_model({"traditional": ["a", "b"], "PVF": ["c", "b"], "PMV": ["c"]})
    'b'
    """
    others = [other for other in RULES if other != rule]
    for backers in (others, *([other] for other in others)):
        for model in tied[rule]:
            if all(model in tied[backer] for backer in backers):
                return model
    return tied[rule][0]


def select(
    data: OwnData,
    *,
    n_jobs: int | None = None,
    progress: bool | None = None,
    most_minutes: float = MOST_MINUTES,
    **given: Any,
) -> Selection:
    """Fit a pool of candidates in many splits, let three rules select, and judge what they select.

    In each split candidates are fitted on the training part, chosen by the validation part, and
    judged on the test part. The recommended model is the one with the best score over all splits;
    what it is worth is read off the test parts, on each of which the choice of its own split is
    judged: a person never judges a choice that it had a part in.

    Parameters
    ----------
    data : OwnData
        From `load_own_data`.
    n_jobs : int or None
        Workers, as joblib takes them; the result has the same bits for any number.
    progress : bool or None
        Whether to say on standard error how long the run will take and how far it is: on a
        terminal by a bar, elsewhere by a line for each stage and a line a minute. By default
        runs of less than a minute are silent where there is no terminal.
    most_minutes : float, default=15
        A run that a probe expects to take longer is refused before anything else is fitted. How
        fast the machine is decides on that alone: what runs gives the same result everywhere.
    **given
        The attributes of `pvf.select.settings.Choosing`; ``capacity``, or ``places`` and ``per``,
        at least.

    Returns
    -------
    Selection

    Raises
    ------
    TableError
        The pool cannot be loaded, a candidate cannot be fitted to these data, or the run would
        take longer than ``most_minutes``.
    ValueError, TypeError
        An argument is of the wrong kind or range.
    """
    settings = Choosing(**given).completed(len(data.X))
    check.number("most_minutes", most_minutes, 0, left_open=True)
    candidates = make_pool(settings["pool"], data.features, data.X, data.y, seed=settings["seed"])
    n_cases = settings["validation_share"] * data.n_cases
    line = advice(kind_of_pool(list(candidates.values())), settings["capacity"], n_cases)
    settings["rule"] = settings["rule"] or line.rule
    drawn = np.random.SeedSequence(settings["seed"]).generate_state(settings["n_splits"])
    seeds = [int(seed) for seed in drawn]
    shares = {name: settings[name] for name in ("validation_share", "test_share")}
    parts = [split(data.y, persons=data.persons, **shares, seed=seed) for seed in seeds]
    of_a_split = settings | _fewer_sets(settings, len(parts[0].validation))
    with threadpool_limits(limits=1), Progress("select", show=progress) as run:
        run.stage("finding out how long this takes")
        seconds = _seconds_of_a_split(data, parts[0], of_a_split, candidates)
        shape = _shape(len(data.X), len(data.features), len(parts))
        what = f"{len(candidates)} candidates, {shape}"
        minutes = _refuse_long(seconds, what, len(parts), n_jobs, most_minutes)
        run.expect(minutes, what)
        run.stage("splits", len(parts))
        tasks = (
            delayed(one_split)(data, part, of_a_split, seed=own)
            for part, own in zip(parts, seeds, strict=True)
        )
        found = []
        for one in Parallel(n_jobs=n_jobs, return_as="generator")(tasks):
            found.append(one)
            run.step()
        run.stage("fitting the candidates to all rows")
        models, left_out = fitted(candidates, data.X, data.y)
        run.stage("judging what was selected")
        return _selection(data, settings, found, models, left_out, line)


def _fewer_sets(settings: Mapping[str, Any], n_validation: int) -> dict[str, int]:
    """Return perturbed sets and replicas of one split; where it is large, few are exact enough."""
    a_split = max(FEWEST_SETS, -(-settings["n_sets"] // settings["n_splits"]))
    large = n_validation * settings["n_replicas"] > MOST_REPLICATED
    return {
        "n_sets": FEWEST_SETS if n_validation > MOST_REPLICATED else a_split,
        "n_replicas": max(1, MOST_REPLICATED // n_validation) if large else settings["n_replicas"],
    }


def _seconds_of_a_split(
    data: OwnData, parts: Parts, settings: Mapping[str, Any], pool: Mapping[str, Any]
) -> float:
    """Return how long a split takes, from a few candidates that are fitted to its parts."""
    X, y = data.X.iloc[parts.train], data.y[parts.train]
    noise = perturbation_of(data.features, X, sigma=settings["sigma"])
    a_level = settings["n_sets"] * settings["n_replicas"]
    stacked = max(1, min(a_level, 20_000 // len(parts.validation)))
    n_stacks = len(settings["sigmas"]) * a_level / stacked
    X_val = data.X.iloc[np.tile(parts.validation, stacked)]  # as candidates will predict them
    n_fits = 1 + settings["n_repeats"] * len(pmv_levels(y))

    def times_of(_: str, estimator: Any) -> NDArray[np.float64]:
        try:
            (able, _), fit = timed(partial(fitted, {"it": estimator}, X, y))
        except TableError:  # it will be left out
            return np.zeros(1)
        return np.array([n_fits * fit + n_stacks * timed(able["it"].predict, X_val)[1]])

    with without_a_trace():
        sample = timed(lambda: noise.prepare(X_val).draw(1, np.random.default_rng(0)))[1]
        return float(expected_seconds(pool, times_of)[0]) + n_stacks * sample


def _shape(n_rows: int, n_columns: int, n_splits: int) -> str:
    return f"{n_rows:,} rows, {n_columns:,} columns, {n_splits} splits"


def _refuse_long(
    seconds: float, what: str, n_splits: int, n_jobs: int | None, most_minutes: float
) -> float:
    """Return how many minutes splits of so many seconds take; raise TableError if too many."""
    minutes = seconds * n_splits / min(effective_n_jobs(n_jobs), cpu_count(), n_splits) / 60
    if minutes > most_minutes:
        enough = 5 * int(np.ceil(1.25 * minutes / 5))  # no machine is twice equally fast
        time = in_words(minutes)
        raise fault("too_long", time=time, what=what, most_minutes=most_minutes, enough=enough)
    return minutes


def refuse_shape(
    n_rows: int,
    n_columns: int,
    *,
    pool: str = Choosing.pool,
    n_splits: int | None = None,
    n_jobs: int | None = None,
    most_minutes: float = MOST_MINUTES,
) -> None:
    """Refuse at once what the built-in candidates take too long for, by the table's shape alone.

    Parameters
    ----------
    n_rows, n_columns : int
        Rows, and columns that are left in.
    pool, n_splits, n_jobs, most_minutes
        As in `select`, which measures the time of what passes here.

    Raises
    ------
    TableError
        On a usual machine the run would take longer than ``most_minutes``.

    Examples
    --------
    >>> refuse_shape(2000, 30)
    >>> refuse_shape(300, 2000)
    Traceback (most recent call last):
    ...
    pvf.select.sentences.TableError: This run would take about 38 minutes (300 rows, ...
    """
    if not built_in(pool):
        return
    splits = usual_splits(n_rows) if n_splits is None else n_splits
    seconds = n_columns * (A_COLUMN + A_CELL * n_rows)
    _refuse_long(seconds, _shape(n_rows, n_columns, splits), splits, n_jobs, most_minutes)


def _selection(
    data: OwnData,
    settings: dict[str, Any],
    found: Sequence[OneSplit],
    models: dict[str, Any],
    left_out: dict[str, str],
    line: Advice,
) -> Selection:
    """Put what the splits found together."""
    present = pd.Series([name for one in found for name in one.table.index]).value_counts()
    often = [name for name in models if present.get(name, 0) >= len(found) / 2]
    models = {name: models[name] for name in often or models}
    scores, validation, sigmas = _over_splits(found, models, settings)
    tied = {rule: scores.index[tied_best(scores[rule].to_numpy())].tolist() for rule in RULES}
    chosen = [
        {rule: one.table.index[tied_best(one.table[rule].to_numpy())[0]] for rule in RULES}
        | {"simplest": one.simplest}
        for one in found
    ]
    choices = pd.DataFrame(chosen, pd.RangeIndex(1, len(found) + 1, name="split"))
    judged, differences = _judged(data, found, choices, settings)
    recommended = recommended_model(tied, settings["rule"])
    ranks = [one.ranks.reindex(scores.index).to_numpy() for one in found]
    mean_rank = mean_held_out(ranks, [one.parts.test for one in found], len(data.X))
    held_out = pd.DataFrame(mean_rank, scores.index, data.X.index)
    multiplicity, summary = _multiplicity(held_out, found, recommended, settings["epsilon"])
    return Selection(
        data=data,
        settings=settings,
        parts=tuple(one.parts for one in found),
        models=models,
        scores=scores,
        tied=tied,
        choices=choices,
        validation=validation,
        sigmas=sigmas.assign(traditional=[c in tied["traditional"] for c in sigmas["choice"]]),
        judged=judged,
        differences=differences,
        calibration=_calibration(held_out.loc[recommended].to_numpy(), data.y),
        multiplicity=multiplicity,
        multiplicity_summary=summary,
        advice=line,
        left_out={n: w for one in found for n, w in one.left_out.items()} | left_out,
    )


def _over_splits(
    found: Sequence[OneSplit], models: Mapping[str, Any], settings: Mapping[str, Any]
) -> tuple[pd.DataFrame, PerturbationValidationResult, pd.DataFrame]:
    """Return each rule's scores over all splits, PVF's result, and PVF's choice at each σ.

    A candidate that a split does not have counts there as drawing at random would: IE is 1.
    """
    index = pd.Index(models, name="model")

    def mean(rule: str) -> pd.Series:
        table = pd.concat([one.table[rule].reindex(index) for one in found], axis=1)
        return table.fillna(1.0 if rule == "traditional" else table.min().min()).mean(axis=1)

    pooled = {
        level: np.hstack([one.scores[level].reindex(index).fillna(1.0) for one in found])
        for level in settings["sigmas"]
    }
    result, sigmas = result_over_splits(
        pooled,
        mean("traditional").to_numpy(),
        models,
        main=settings["sigma"],
        aggregate=settings["aggregate"],
        seed=settings["seed"],
    )
    rules = {"traditional": result.unperturbed, "PVF": result.aggregated, "PMV": mean("PMV")}
    return pd.DataFrame(rules, index), result, sigmas.rename_axis("sigma")


def _judged(
    data: OwnData, found: Sequence[OneSplit], choices: pd.DataFrame, settings: Mapping[str, Any]
) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Return what each way of filling the places is worth on the test parts, and differences."""
    judge = Judge(
        [data.whose[one.parts.test] for one in found],
        [data.y[one.parts.test] == 1 for one in found],
        capacity=settings["capacity"],
        per=settings["per"],
        n_draws=settings["n_bootstraps"],
        seed=settings["seed"],
    )

    def of(rule: str, what: str) -> list[NDArray[np.float64]]:
        chosen = zip(found, choices[rule], strict=True)
        return [getattr(one, what).loc[name].to_numpy(dtype=float) for one, name in chosen]

    ways = {rule: judge.way(of(rule, "ranks")) for rule in RULES}
    ways["by score"] = ways[settings["rule"]]
    ways["by label"] = judge.way(of(settings["rule"], "flags"))
    ways["simplest"] = judge.way([one.simplest_ranks for one in found])
    ways["simplest by label"] = judge.way([one.simplest_flags.astype(float) for one in found])
    rows = {name: judge.of(way) for name, way in ways.items()}
    rows |= {"by chance": judge.by_chance(), "best possible": judge.best_possible()}
    table = pd.DataFrame(rows).T.rename_axis("way")
    pairs = [("by score", "simplest"), ("by score", "by label"), ("by label", "simplest by label")]
    pairs += [("PVF", "traditional"), ("PVF", "PMV"), ("PMV", "traditional")]
    differences = {f"{a} − {b}": judge.difference(ways[a], ways[b]) for a, b in pairs}
    return table, pd.DataFrame(differences).T.rename_axis("pair").astype({"same": bool})


def _calibration(score: NDArray[np.float64], y: NDArray[np.intp], n_bins: int = 5) -> pd.DataFrame:
    """Return mean score and share of cases, with Jeffreys' intervals, by fifths of the score."""
    seen = np.flatnonzero(~np.isnan(score))
    parts = np.array_split(seen[np.argsort(score[seen], kind="stable")], n_bins)
    rows = [(len(part), int(y[part].sum()), score[part].mean()) for part in parts]
    index = pd.RangeIndex(1, n_bins + 1, name="fifth")
    table = pd.DataFrame(rows, index, ["rows", "cases", "mean score"])
    others, share = table["rows"] - table["cases"], table["cases"] / table["rows"].clip(lower=1)
    low, high = (beta.ppf(end, table["cases"] + 0.5, others + 0.5) for end in (0.025, 0.975))
    ends = {"low": np.minimum(low, share), "high": np.maximum(high, share)}
    return table.assign(**{"share of cases": share}, **ends)


def _multiplicity(
    held_out: pd.DataFrame, found: Sequence[OneSplit], base: str, epsilon: float
) -> tuple[pd.DataFrame | None, dict[str, float]]:
    """Rashomon Capacity of the good models on the test parts, and what goes with it."""
    losses = pd.concat([one.table["loss"].reindex(held_out.index) for one in found], axis=1)
    able = losses.mean(axis=1).dropna()
    good = list(able.index)
    if len(able) > 1:
        good = [able.index[place] for place in rashomon_set(able.tolist(), epsilon)]
        good += [base] if base in able.index and base not in good else []
    scores = held_out.loc[good].dropna(axis=1)
    if len(good) < 2 or scores.empty:
        return None, {"n_good": len(good)}
    reference = good.index(base) if base in good else 0
    by_model = np.ascontiguousarray(scores.to_numpy())
    table, summary = disagreement(by_model, reference, scores.columns.rename("line"))
    return table, {"n_good": len(good), "best_loss": float(able.min()), **summary}


@dataclass(frozen=True)
class Recommendation:
    """A model, or none, and why.

    Attributes
    ----------
    model : str
        The candidate recommended, or that would be if any could be.
    usable : bool
        Whether the headline says "Use".
    headline : str
        One sentence.
    reasons, model_in_words, caveats : tuple of str
        Sentences; caveats are in order of weight.
    weights : tuple of str
        For each caveat "forbids", "weakens" or "informs".
    """

    model: str
    usable: bool
    headline: str
    reasons: tuple[str, ...]
    model_in_words: tuple[str, ...]
    caveats: tuple[str, ...]
    weights: tuple[str, ...]

    @property
    def ranked_caveats(self) -> list[str]:
        """The caveats, each with its weight before it."""
        return [f"{w}: {c}" for w, c in zip(self.weights, self.caveats, strict=True)]


def recommend(selection: Selection) -> Recommendation:
    """Turn a selection into a recommendation with its caveats.

    Parameters
    ----------
    selection : Selection
        From `pvf.select.choose.select`.

    Returns
    -------
    Recommendation
        "Use" only where no caution forbids it, the intervals of the difference to chance and to
        the column that is best alone are above zero, and half of the splits choose the model. A
        caution of a column that the model looks at, and that may not be known in time, forbids it.
    """
    model, X = selection.models[selection.recommended], selection.data.X
    cautions = sorted(_caveats(selection), key=lambda caution: caution.rank)
    headline, usable = _headline(selection, [c.text for c in cautions if c.rank == 0])
    last_place = cut_off(model, X, selection.settings["capacity"])
    someone = worked_person(model, X, selection.data.columns)
    return Recommendation(
        model=selection.recommended,
        usable=usable,
        headline=headline,
        reasons=tuple(paragraphs("reasons", it=selection, names=_NAMES)),
        model_in_words=(*model_in_words(model), last_place, someone),
        caveats=tuple(caution.text for caution in cautions),
        weights=tuple(caution.weight for caution in cautions),
    )


def _headline(selection: Selection, forbidding: list[str]) -> tuple[str, bool]:
    """Return the first of the sentences that holds, and whether it is "Use"."""
    times = selection.chosen_in(selection.recommended)
    holds = {
        "settle_first": bool(forbidding),
        "chance": not selection.judged.loc["by score", "low"] > 1,
        "no_one_model": times < len(selection.parts) / 2,
        "no_better_than_one": not selection.differences.loc["by score − simplest", "low"] > 0,
        "use": True,
    }
    name = next(name for name, it_holds in holds.items() if it_holds)
    facts = {"times": times, "caution": "".join(forbidding[:1])}
    return sentence(name, it=selection, **facts), name == "use"


def _caveats(selection: Selection) -> Iterator[Caution]:
    """Yield the cautions of the data, then those sentences of the table below that hold."""
    for caution in selection.data.warnings:
        yield replace(caution, rank=0) if caution.column in selection.looked_at else caution
    data, rule, model = selection.data, selection.settings["rule"], selection.recommended
    others = [_NAMES[name] for name in RULES if model not in selection.tied[name]]
    noise = any(column.kind == "numeric" for column in data.features)
    differ = noise and len({*selection.sigmas["choice"]}) > 1
    guessed = [column for column in data.columns if not column.is_feature and column.guessed]
    holds = {
        "better_alone": (1, selection.differences.loc["by score − simplest", "high"] < 0),
        "depends_on_rule": (1, others),
        "few": (1, data.n_cases < FEW_CASES),
        "no_noise": (2, not noise),
        "depends_on_noise": (1 if rule == "PVF" else 2, differ),
        "not_fitted": (1, selection.left_out),
        "no_capacity": (2, selection.multiplicity is None),
        "conflicting": (1, selection.multiplicity_summary.get("conflicting", 0) > 0),
        "no_risks": (2, model.startswith(("logistic:", "tree:"))),
        "left_out": (2, guessed),
        "known_in_time": (2, True),
        "elsewhere": (2, True),
    }
    for name, (rank, it_holds) in holds.items():
        if it_holds:
            for text in paragraphs(name, it=selection, others=others, columns=guessed):
                yield Caution(rank, text)
