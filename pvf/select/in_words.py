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
    if encoder is None:
        return [f"A {type(classifier).__name__}; what it computes is not known here."]
    if isinstance(classifier, LogisticRegression):
        lines = list(_of_logistic(encoder, classifier))
    elif isinstance(classifier, DecisionTreeClassifier):
        lines = list(_of_tree(encoder, classifier))
    else:
        return [f"A {type(classifier).__name__} of {', '.join(map(_name, encoder.columns))}."]
    filled = {
        c.name: _written(c, m) for c, m in zip(_numbers(encoder), encoder.medians_, strict=True)
    }
    nominal = zip(_nominal(encoder), encoder.modes_, strict=True)
    filled |= {c.name: _written(c, c.levels[mode]) for c, mode in nominal}
    gaps = [f"{_name(c)} {filled[c.name]}" for c in _deciding(encoder, classifier)]
    return [*lines, f"A missing value is taken for: {', '.join(gaps)}."] if gaps else lines


def parts_of(model: Any) -> tuple[MixedEncoder | None, Any]:
    """Return the encoder and the classifier of a built-in candidate; any other has no encoder."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    built_in = len(steps) == 2 and isinstance(steps[0], MixedEncoder)
    return (steps[0] if built_in else None), steps[-1]


def _deciding(encoder: MixedEncoder, classifier: Any) -> list[Column]:
    """Return the columns on which a score depends: of a tree those that it asks for."""
    if not isinstance(classifier, DecisionTreeClassifier):
        return list(encoder.columns)
    asked = {place for place in classifier.tree_.feature if place >= 0}
    names = {column.name for place, (column, _) in enumerate(_terms(encoder)) if place in asked}
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
    own = [c.name for c in encoder.columns] if isinstance(encoder, MixedEncoder) else names
    return list(own)


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
        name: X[name].quantile(interpolation="lower")
        if X[name].dtype.kind == "f"
        else X[name].mode().iloc[0]
        for name in X
    }
    row = pd.DataFrame([middle]).astype(X.dtypes.to_dict())
    names = columns_looked_at(model, X)[:8]
    about = {column.name: column for column in columns}
    shown = ", ".join(f"{_name(about[n])} {_written(about[n], middle[n])}" for n in names)
    flagged = "flagged" if np.asarray(model.predict(row))[0] == 1 else "not flagged"
    score = ""
    if hasattr(model, "predict_proba"):
        score = f"score {model.predict_proba(row)[0, 1]:.3f}, "
    return f"A patient in the middle of each column ({shown}): {score}{flagged}."


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
    shared = f"; {n_equal} rows share the last {n_places - n_above} of these places"
    return (
        f"The highest {n_places} of the {len(X)} scores of these rows are {lowest:.3f} or more"
        f"{shared if n_above + n_equal > n_places else ''}."
    )


def _written(column: Column, value: Any) -> str:
    """Return a value of the feature frame as the file has it: of ranked words, the word."""
    if column.kind == "ordinal" and isinstance(column.levels[0], str):
        ends = {column.levels[math.floor(value)], column.levels[math.ceil(value)]}
        return " or ".join(sorted(ends, key=column.levels.index))  # a median may lie between
    return f"{value:.4g}" if isinstance(value, float) else str(value)


def _threshold(column: Column, cut: float) -> str:
    """Return the last value below a tree's threshold, which lies between two ranks of words."""
    ranked = column.kind == "ordinal" and isinstance(column.levels[0], str)
    return _written(column, float(math.floor(cut)) if ranked else cut)


def _numbers(encoder: MixedEncoder) -> list[Column]:
    return [column for column in encoder.columns if column.kind in ("numeric", "ordinal")]


def _nominal(encoder: MixedEncoder) -> list[Column]:
    return [column for column in encoder.columns if column.kind == "nominal"]


def _name(column: Column) -> str:
    unit = column.disguise.unit
    return f"{column.name} ({unit})" if unit else column.name


def terms_of(encoder: MixedEncoder) -> list[str]:
    """Return what each encoded column stands for.

    Parameters
    ----------
    encoder : MixedEncoder

    Returns
    -------
    list of str
    """
    return [term for _, term in _terms(encoder)]


def _terms(encoder: MixedEncoder) -> Iterator[tuple[Column, str]]:
    for column in _numbers(encoder):
        yield column, _name(column)
    for column in _nominal(encoder):
        for level in column.levels[1 if len(column.levels) == 2 else 0 :]:
            yield column, f"{column.name} is {_written(column, level)}"


def _of_logistic(encoder: MixedEncoder, classifier: LogisticRegression) -> Iterator[str]:
    scaled = classifier.coef_[0].copy()
    n_numbers = len(encoder.means_)
    own = scaled.copy()
    own[:n_numbers] /= encoder.spreads_
    constant = float(classifier.intercept_[0] - own[:n_numbers] @ encoder.means_)
    yield f"Sum up {constant:+.4g}"
    for term, weight in zip(terms_of(encoder), own, strict=True):
        yield (
            f"and {weight:+.4g} × {term}" if " is " not in term else f"and {weight:+.4g} if {term}"
        )
    yield "and flag whoever has more than 0. The score is 1 / (1 + exp(−sum))."
    ranked = [c for c in _numbers(encoder) if c.kind == "ordinal" and isinstance(c.levels[0], str)]
    for column in ranked:
        order = ", ".join(f"{level} {rank}" for rank, level in enumerate(column.levels))
        yield f"{column.name} counts as {order}."


def _of_tree(encoder: MixedEncoder, classifier: DecisionTreeClassifier) -> Iterator[str]:
    tree, terms, numbers = classifier.tree_, terms_of(encoder), _numbers(encoder)

    def walk(node: int, depth: int) -> Iterator[str]:
        indent = "· " * depth
        if tree.children_left[node] < 0:
            share = float(tree.value[node][0][1] / tree.value[node][0].sum())
            yield f"{indent}{'flag' if share > 0.5 else 'do not flag'} (score {share:.2f})"
            return
        place, cut = tree.feature[node], float(tree.threshold[node])
        term = terms[place]
        said = f"{cut:.4g}" if place >= len(numbers) else _threshold(numbers[place], cut)
        yes, no = f"{term} at most {said}", f"{term} above {said}"
        if " is " in term:
            yes, no = term.replace(" is ", " is not ", 1), term
        yield f"{indent}if {yes}:"
        yield from walk(tree.children_left[node], depth + 1)
        yield f"{indent}if {no}:"
        yield from walk(tree.children_right[node], depth + 1)

    yield from walk(0, 0)
