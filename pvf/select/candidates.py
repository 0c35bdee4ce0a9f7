"""Pools of candidate models for a table of mixed columns; what a fitted one is, in words.

Every candidate is a pipeline that holds its own imputation and encoding, so that whoever fits it
on training rows has learnt nothing from any other row.
"""

from __future__ import annotations

import importlib
import inspect
import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Self

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin, clone, is_classifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.tree import DecisionTreeClassifier
from sklearn.utils.validation import check_is_fitted

from pvf.select.columns import Column
from pvf.select.read import separation
from pvf.select.sentences import TableError, fault, paragraphs, sentence

POOLS = ("pairs", "trees")
DEPTHS, LEAVES = (1, 2, 3, 4), (0.01, 0.03, 0.1, 0.2)
#: Pairs are made of so many columns at most, which are 45 pairs.
MOST_PAIRED = 10


class MixedEncoder(TransformerMixin, BaseEstimator):
    """Impute and encode a frame of mixed columns.

    It does what a `ColumnTransformer` of `SimpleImputer`, `StandardScaler` and `OneHotEncoder`
    does, in a tenth of the time, which counts where a hundred candidates predict a hundred
    perturbed tables; the tests hold the two together.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns to use; the frame may have others.
    scale : bool, default=True
        Whether numeric and ordinal columns are centred and divided by their standard deviation.

    Attributes
    ----------
    medians_, means_, spreads_ : ndarray of shape (n_numbers,)
        Of the numeric and ordinal columns of the training rows; mean and standard deviation after
        imputation.
    modes_ : list of int
        Place of each nominal column's most frequent level.
    """

    def __init__(self, columns: Sequence[Column], *, scale: bool = True) -> None:
        self.columns = columns
        self.scale = scale

    def fit(self, X: pd.DataFrame, y: Any = None) -> Self:  # noqa: ARG002  scikit-learn's names
        """Learn medians, spreads and most frequent levels from training rows.

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)
        y : ignored

        Returns
        -------
        MixedEncoder
        """
        if not isinstance(X, pd.DataFrame):
            raise TypeError(f"X must be a DataFrame with named columns, got {type(X).__name__}.")
        values = self._numbers(X)
        seen = [column[~np.isnan(column)] for column in values.T]
        self.medians_ = np.array([np.median(column) if len(column) else 0.0 for column in seen])
        filled = np.where(np.isnan(values), self.medians_, values)
        self.means_ = filled.mean(axis=0) if self.scale else np.zeros(filled.shape[1])
        spread = filled.std(axis=0) if self.scale else np.ones(filled.shape[1])
        # Rounding leaves a constant column some spread, and dividing by it would blow that up.
        constant = filled.max(axis=0, initial=-np.inf) == filled.min(axis=0, initial=np.inf)
        self.spreads_ = np.where(constant, 1.0, spread)
        known = [(codes[codes >= 0], len(column.levels)) for column, codes in self._codes(X)]
        self.modes_ = [int(np.bincount(codes, minlength=n).argmax()) for codes, n in known]
        self.n_features_in_, self.feature_names_in_ = X.shape[1], np.array(X.columns, dtype=object)
        return self

    def transform(self, X: pd.DataFrame) -> NDArray[np.float64]:
        """Return numbers without gaps, then one column a level (one for two levels).

        Parameters
        ----------
        X : DataFrame of shape (n_samples, n_features)

        Returns
        -------
        ndarray of shape (n_samples, n_encoded)
            A level that is not among the column's levels is 0 everywhere.
        """
        check_is_fitted(self)
        values = self._numbers(X)  # a copy, changed in place: it may be large
        np.copyto(values, self.medians_, where=np.isnan(values))
        if self.scale:
            values -= self.means_
            values /= self.spreads_
        blocks = [values]
        for (column, codes), mode in zip(self._codes(X), self.modes_, strict=True):
            places = np.arange(len(column.levels))[1 if len(column.levels) == 2 else 0 :]
            if (codes < 0).any():
                codes[X[column.name].isna().to_numpy()] = mode
            blocks.append((codes[:, None] == places).astype(float))
        return values if len(blocks) == 1 else np.hstack(blocks)

    def _numbers(self, X: pd.DataFrame) -> NDArray[np.float64]:
        names = [column.name for column in self.columns if column.kind in ("numeric", "ordinal")]
        return X[names].to_numpy(dtype=float, na_value=np.nan, copy=True)

    def _codes(self, X: pd.DataFrame) -> Iterator[tuple[Column, NDArray[np.intp]]]:
        """Yield each nominal column with the places of its values among its levels, or -1."""
        for column in self.columns:
            if column.kind == "nominal":
                places = {level: place for place, level in enumerate(column.levels)}
                codes, values = pd.factorize(X[column.name])  # -1, the last, where there is none
                yield column, np.array([*(places.get(value, -1) for value in values), -1])[codes]


def encoder(columns: Sequence[Column], *, scale: bool = True) -> MixedEncoder:
    """Make the step that imputes and encodes some columns, to put before a classifier.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns to use.
    scale : bool, default=True
        Whether numeric and ordinal columns are divided by their standard deviation.

    Returns
    -------
    MixedEncoder
        Unfitted. Numeric and ordinal columns get the training median where they miss a value,
        nominal ones the most frequent level, and then one column a level (one for two levels).

    Examples
    --------
    >>> from pvf.select.columns import guess_columns, feature_frame
    >>> text = pd.DataFrame({"age": ["61.5", None, "40.5", "70"], "ward": ["n", "s", "n", None]})
    >>> columns = guess_columns(text)
    >>> encoder(columns, scale=False).fit_transform(feature_frame(text, columns))
    array([[61.5,  0. ],
           [61.5,  1. ],
           [40.5,  0. ],
           [70. ,  0. ]])
    """
    return MixedEncoder([column for column in columns if column.is_feature], scale=scale)


def logistic_pairs(
    columns: Sequence[Column], X: pd.DataFrame, y: NDArray[np.intp]
) -> dict[str, Pipeline]:
    """Make logistic regressions on pairs of columns, as in the paper's synthetic experiment.

    Of more than `MOST_PAIRED` columns those are taken that separate the classes best by themselves
    in the training rows, by `pvf.select.read.separation`.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns.
    X : DataFrame of shape (n_samples, n_features)
        Training rows.
    y : ndarray of 0 and 1 of shape (n_samples,)
        Their outcome.

    Returns
    -------
    dict of str to Pipeline
        Unfitted, named by their columns; of a single column, the one model of it. Classes weigh
        the same, since otherwise models of a rare outcome flag nobody.
    """
    chosen = list(columns)
    if len(chosen) > MOST_PAIRED:
        strength = {column.name: separation(X[column.name], y) for column in columns}
        leading = sorted(strength, key=lambda name: (-strength[name], name))[:MOST_PAIRED]
        chosen = [column for column in columns if column.name in leading]
    sets = list(itertools.combinations(chosen, 2 if len(chosen) > 1 else 1))
    names = [" + ".join(column.name for column in some) for some in sets]
    return {f"logistic: {name}": _logistic(some) for name, some in zip(names, sets, strict=True)}


def strongest_alone(
    columns: Sequence[Column], X: pd.DataFrame, y: NDArray[np.intp]
) -> tuple[str, Pipeline]:
    """Return the column that separates the classes best by itself, and its logistic regression.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns.
    X : DataFrame of shape (n_samples, n_features)
        Training rows.
    y : ndarray of 0 and 1 of shape (n_samples,)
        Their outcome.

    Returns
    -------
    name : str
    model : Pipeline
        Fitted. Columns are compared by `pvf.select.read.separation`, which takes no fit.
    """
    best = max(columns, key=lambda column: separation(X[column.name], y))
    return best.name, _logistic([best]).fit(X, y)


def shallow_trees(columns: Sequence[Column], *, seed: int = 0) -> dict[str, Pipeline]:
    """Make small decision trees on all columns: 4 depths, 4 leaf sizes, all or some features.

    Parameters
    ----------
    columns : sequence of Column
        Feature columns.
    seed : int, default=0
        For the trees that look at a random part of the features at each split.

    Returns
    -------
    dict of str to Pipeline
        32 unfitted pipelines; classes weigh the same.

    Examples
    --------
    >>> len(shallow_trees([Column("age", "numeric")]))
    32
    """
    trees = {}
    for depth, leaf, features in itertools.product(DEPTHS, LEAVES, (None, "sqrt")):
        own = {"max_depth": depth, "min_samples_leaf": leaf, "max_features": features}
        tree = DecisionTreeClassifier(**own, class_weight="balanced", random_state=seed)
        some = ", some features" if features else ""
        name = f"tree: depth {depth}, leaf {leaf:.0%}{some}"
        trees[name] = make_pipeline(encoder(columns, scale=False), tree)
    return trees


def make_pool(
    pool: str, columns: Sequence[Column], X: pd.DataFrame, y: NDArray[np.intp], *, seed: int = 0
) -> dict[str, Any]:
    """Make the candidates that a pool's name stands for.

    Parameters
    ----------
    pool : str
        ``"pairs"``, ``"trees"``, the path ``"package.module:callable"`` of a pool of one's own
        (see `load_pool`), or several of them with commas between.
    columns : sequence of Column
        Feature columns.
    X : DataFrame of shape (n_samples, n_features)
        Training rows.
    y : ndarray of 0 and 1 of shape (n_samples,)
        Their outcome.
    seed : int, default=0
        For `shallow_trees`.

    Returns
    -------
    dict of str to estimator
        Unfitted.

    Raises
    ------
    TableError
        If there is no such pool, or two candidates have one name.
    """
    own: dict[str, Callable[[], Mapping[str, Any]]] = {
        "pairs": lambda: logistic_pairs(columns, X, y),
        "trees": lambda: shallow_trees(columns, seed=seed),
    }
    made: dict[str, Any] = {}
    for part in _parts(pool):
        more = own[part]() if part in own else load_pool(part, columns)
        if twice := [name for name in more if name in made]:
            raise TableError(f"pool {pool!r} has two candidates named {twice[0]!r}.")
        made |= more
    if not made:
        raise fault("no_pool", pool=pool, pools=POOLS)
    return made


def load_pool(path: str, columns: Sequence[Column]) -> dict[str, Any]:
    """Import a pool of somebody's own: a function that returns unfitted classifiers.

    Parameters
    ----------
    path : str
        ``"package.module:callable"``. The callable takes nothing, or the feature columns (a list
        of `pvf.select.columns.Column`), and returns a list, or a dict by name, of classifiers or
        pipelines. Nothing is unpickled.
    columns : sequence of Column
        Feature columns.

    Returns
    -------
    dict of str to estimator

    Raises
    ------
    TableError
        If the module or the callable isn't there, fails, or returns anything else.
    """
    module_name, _, name = path.partition(":")
    if not module_name or not name:
        raise fault("no_pool", pool=path, pools=POOLS)
    try:
        function = getattr(importlib.import_module(module_name), name)
        takes_columns = bool(inspect.signature(function).parameters)
        returned = function(list(columns)) if takes_columns else function()
    except Exception as error:  # whatever somebody else's code raises
        raise TableError(f"pool {path!r}: {type(error).__name__}: {error}") from error
    if not isinstance(returned, Mapping | list | tuple) or not len(returned):
        raise fault("no_list", pool=path, returned=f"{returned!r:.60}")
    made = dict(returned) if isinstance(returned, Mapping) else _by_class(returned)
    for key, estimator in made.items():
        is_one = isinstance(estimator, BaseEstimator) and not isinstance(estimator, type)
        if not is_one or not is_classifier(estimator):
            what = "classifier" if is_one else "estimator"
            raise TableError(f"pool {path!r}: {key!r} is {estimator!r:.60}, no {what}.")
    return {str(key): estimator for key, estimator in made.items()}


def built_in(pool: str) -> bool:
    """Return whether a pool has no candidates of somebody's own."""
    return set(_parts(pool)) <= set(POOLS)


def _parts(pool: str) -> list[str]:
    return [part for part in (piece.strip() for piece in pool.split(",")) if part]


def _logistic(columns: Sequence[Column]) -> Pipeline:
    return make_pipeline(encoder(columns), LogisticRegression(class_weight="balanced"))


def _by_class(estimators: Sequence[Any]) -> dict[str, Any]:
    """Name estimators by place and by the class of their last step."""
    last = [getattr(estimator, "steps", [("", estimator)])[-1][1] for estimator in estimators]
    kinds = [f"{place}: {type(step).__name__}" for place, step in enumerate(last, start=1)]
    return dict(zip(kinds, estimators, strict=True))


def fitted(
    pool: Mapping[str, Any], X: pd.DataFrame, y: NDArray[np.intp]
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the candidates that can be fitted, and why the others cannot.

    Parameters
    ----------
    pool : mapping of str to estimator
    X : DataFrame of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)

    Returns
    -------
    models : dict of str to estimator
    left_out : dict of str to str

    Raises
    ------
    TableError
        If none can be.
    """
    models: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    for name, estimator in pool.items():
        try:
            models[name] = clone(estimator).fit(X, y)
        except Exception as error:  # whatever somebody's candidate raises
            said = str(error).strip().splitlines() or [""]
            left_out[name] = f"{type(error).__name__}: {said[0]}"
    if not models:
        name, why = next(iter(left_out.items()))
        raise fault("none_fitted", name=name, why=why)
    return models, left_out


def score_of(model: Any, X: pd.DataFrame) -> NDArray[np.float64]:
    """Return by what a model ranks rows: probability, decision function, or label."""
    if hasattr(model, "predict_proba"):
        return np.asarray(model.predict_proba(X), dtype=float)[:, 1]
    if hasattr(model, "decision_function"):
        return np.asarray(model.decision_function(X), dtype=float)
    return flagged(model, X).astype(float)


def flagged(model: Any, X: pd.DataFrame) -> NDArray[np.bool_]:
    """Return which rows a model labels as cases."""
    return np.asarray(model.predict(X)) == 1


def model_in_words(model: Any) -> list[str]:
    """Return what a built-in candidate computes, a line each; for any other, its class.

    Parameters
    ----------
    model : estimator
        Fitted.

    Returns
    -------
    list of str
        Of a logistic regression the constant and each coefficient in the columns' own units; of a
        tree its rules. What is missing is replaced first, which is said too.
    """
    encoder, classifier = parts_of(model)
    known = {LogisticRegression: _of_logistic, DecisionTreeClassifier: _of_tree}
    tells = known.get(type(classifier))
    if encoder is None or tells is None:
        names = map(_name, encoder.columns) if encoder else ()
        return paragraphs("other_model", kind=type(classifier).__name__, names=list(names))
    numbers, nominal = _numbers_and_nominal(encoder)
    filled = {c.name: _written(c, m) for c, m in zip(numbers, encoder.medians_, strict=True)}
    modes = zip(nominal, encoder.modes_, strict=True)
    filled |= {c.name: _written(c, c.levels[mode]) for c, mode in modes}
    gaps = [(_name(c), filled[c.name]) for c in _deciding(encoder, classifier)]
    return [*tells(encoder, classifier), *paragraphs("filled_in", gaps=gaps)]


def parts_of(model: Any) -> tuple[MixedEncoder | None, Any]:
    """Return the encoder and the classifier of a built-in candidate; any other has no encoder."""
    steps = [step for _, step in getattr(model, "steps", [("", model)])]
    built_in = len(steps) == 2 and isinstance(steps[0], MixedEncoder)
    return (steps[0] if built_in else None), steps[-1]


def _deciding(encoder: MixedEncoder, classifier: Any) -> list[Column]:
    """Return the columns on which a score depends: of a tree those that it asks for."""
    if not isinstance(classifier, DecisionTreeClassifier):
        return list(encoder.columns)
    asked = {place for place in classifier.tree_.feature if place >= 0}
    names = {column.name for place, (_, column) in enumerate(terms_of(encoder)) if place in asked}
    return [column for column in encoder.columns if column.name in names]


def columns_used(model: Any, names: Sequence[str]) -> list[str]:
    """Return which columns a model looks at: all of them, unless it begins with a `MixedEncoder`.

    Parameters
    ----------
    model : estimator
    names : sequence of str
        Of all columns.

    Returns
    -------
    list of str
    """
    encoder = model.steps[0][1] if isinstance(model, Pipeline) else None
    return [c.name for c in encoder.columns] if isinstance(encoder, MixedEncoder) else list(names)


def columns_looked_at(model: Any, X: pd.DataFrame) -> list[str]:
    """Return on which columns a score depends: of a built-in tree those that it asks for.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : DataFrame of shape (n_samples, n_features)

    Returns
    -------
    list of str
    """
    encoder, classifier = parts_of(model)
    deciding = _deciding(encoder, classifier) if encoder else []
    return [column.name for column in deciding] or columns_used(model, list(X))


def worked_person(model: Any, X: pd.DataFrame, columns: Sequence[Column]) -> str:
    """Return the score and label of a person with the middle values of a table, whom nobody is.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : DataFrame of shape (n_samples, n_features)
    columns : sequence of Column
        The table's.

    Returns
    -------
    str
        With the values on which the score depends, eight at most.
    """
    middle = {
        name: X[name].quantile(interpolation="lower") if is_number else X[name].mode().iloc[0]
        for name, is_number in (X.dtypes == "float64").items()
    }
    row = pd.DataFrame([middle]).astype(X.dtypes.to_dict())
    about = {column.name: column for column in columns}
    names = columns_looked_at(model, X)[:8]
    return sentence(
        "worked_person",
        values=[(_name(about[name]), _written(about[name], middle[name])) for name in names],
        score=model.predict_proba(row)[0, 1] if hasattr(model, "predict_proba") else None,
        flagged=np.asarray(model.predict(row))[0] == 1,
    )


def cut_off(model: Any, X: pd.DataFrame, capacity: float) -> str:
    """Return from which score on rows get a place, where these rows are all that there are.

    Parameters
    ----------
    model : estimator
        Fitted.
    X : DataFrame of shape (n_samples, n_features)
    capacity : float in (0, 1]

    Returns
    -------
    str
        With the number of rows that share the last place, where several do.
    """
    scores = score_of(model, X)
    n_places = max(1, round(capacity * len(X)))
    lowest = np.sort(scores)[-n_places]
    n_above, n_equal = int((scores > lowest).sum()), int((scores == lowest).sum())
    facts = {"lowest": lowest, "n_above": n_above, "n_equal": n_equal}
    return sentence("cut_off", n_places=n_places, n=len(X), **facts)


def _written(column: Column, value: Any) -> str:
    """Return a value of the feature frame as the file has it: of ranked words, the word."""
    if column.is_ranked:
        ends = {column.levels[math.floor(value)], column.levels[math.ceil(value)]}
        return " or ".join(sorted(ends, key=column.levels.index))  # a median may lie between
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _numbers_and_nominal(encoder: MixedEncoder) -> tuple[list[Column], list[Column]]:
    """Return the columns in the order in which they are encoded."""
    numbers = [column for column in encoder.columns if column.kind in ("numeric", "ordinal")]
    return numbers, [column for column in encoder.columns if column.kind == "nominal"]


def _name(column: Column) -> str:
    unit = column.disguise.unit
    return f"{column.name} ({unit})" if unit else column.name


def terms_of(encoder: MixedEncoder) -> list[tuple[str, Column]]:
    """Return what each encoded column stands for, and of which column of the table it is made.

    Parameters
    ----------
    encoder : MixedEncoder

    Returns
    -------
    list of (str, Column)
    """
    numbers, nominal = _numbers_and_nominal(encoder)
    return [(_name(column), column) for column in numbers] + [
        (f"{column.name} is {_written(column, level)}", column)
        for column in nominal
        for level in column.levels[1 if len(column.levels) == 2 else 0 :]
    ]


def _of_logistic(encoder: MixedEncoder, classifier: LogisticRegression) -> list[str]:
    numbers, _ = _numbers_and_nominal(encoder)
    own = classifier.coef_[0].copy()
    own[: len(numbers)] /= encoder.spreads_
    return paragraphs(
        "logistic",
        constant=float(classifier.intercept_[0] - own[: len(numbers)] @ encoder.means_),
        weights=[(term, own[place]) for place, (term, _) in enumerate(terms_of(encoder))],
        ranked=[column for column in numbers if column.is_ranked],
    )


def _of_tree(encoder: MixedEncoder, classifier: DecisionTreeClassifier) -> Iterator[str]:
    tree, terms = classifier.tree_, terms_of(encoder)

    def walk(node: int, indent: str) -> Iterator[str]:
        if tree.children_left[node] < 0:
            share = float(tree.value[node][0][1] / tree.value[node][0].sum())
            yield indent + sentence("leaf", share=share)
            return
        (term, column), cut = terms[tree.feature[node]], float(tree.threshold[node])
        # Between two ranks of words the last one below is named.
        cut_off = _written(column, float(math.floor(cut)) if column.is_ranked else cut)
        for below, child in ((True, tree.children_left), (False, tree.children_right)):
            yield indent + sentence("branch", term=term, cut=cut_off, below=below)
            yield from walk(child[node], indent + "· ")

    return walk(0, "")
