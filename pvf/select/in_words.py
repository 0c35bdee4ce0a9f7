"""What a fitted model is, in words: its columns, coefficients or tree, and a worked person."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import Pipeline
from sklearn.tree import DecisionTreeClassifier

from pvf.select.candidates import MixedEncoder
from pvf.select.columns import Column
from pvf.select.sentences import paragraphs, sentence
from pvf.select.splits import score_of


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
