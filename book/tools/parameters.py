"""What a notebook's parameters cell may hold, and which values a run gives to it.

A misspelt or misplaced parameter must stop a run: papermill by itself logs a line and goes on, and
a run meant to be full is then a reduced one.
"""

import ast
import re
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass

import yaml
from nbformat import NotebookNode
from papermill.translators import PythonTranslator

from book.tools.project import BookError, Project

TAG = "parameters"
Value = int | float | str | bool | list | None


@dataclass(frozen=True)
class Parameter:
    """One line of a parameters cell.

    Parameters
    ----------
    name : str
        Name as assigned in the cell.
    default : int, float, str, bool, list or None
        Value of the reduced run.
    paper : str or None
        The paper's value, from a comment ``# the paper: ...`` on the same line.
    """

    name: str
    default: Value
    paper: str | None


def read_parameters(notebook: NotebookNode, name: str) -> dict[str, Parameter]:
    """Read a notebook's parameters from its one cell tagged ``parameters``.

    Parameters
    ----------
    notebook : NotebookNode
        The notebook's source.
    name : str
        The notebook's name, for messages.

    Returns
    -------
    dict of str to Parameter
        In the cell's order.

    Raises
    ------
    BookError
        If there is no such cell or more than one, or if it holds anything but lines of the form
        ``name = value`` with a number, a string, True, False, None or a list of these.

    Examples
    --------
    >>> from nbformat.v4 import new_code_cell, new_notebook
    >>> cell = new_code_cell("n_repetitions = 1  # the paper: 5", metadata={"tags": ["parameters"]})
    >>> read_parameters(new_notebook(cells=[cell]), "demo")
    {'n_repetitions': Parameter(name='n_repetitions', default=1, paper='5')}
    """
    cells = [cell for cell in notebook.cells if TAG in cell.metadata.get("tags", [])]
    if len(cells) != 1 or cells[0].cell_type != "code":
        raise BookError(
            f"{name}: {len(cells)} cells tagged {TAG!r}, exactly one code cell is needed; "
            "without it papermill's values would be overwritten by the defaults"
        )
    source = cells[0].source
    try:
        statements = ast.parse(source).body
    except SyntaxError as error:
        raise BookError(f"{name}: the parameters cell is not Python: {error}") from error
    comments = {seen.name: seen.help for seen in PythonTranslator.inspect(cells[0])}
    found = {}
    for statement in statements:
        target, default = _plain_assignment(statement, name)
        if target in found:
            raise BookError(f"{name}: the parameters cell assigns {target!r} twice")
        paper = re.search(r"the paper:\s*([^;]+)", comments.get(target, ""))
        found[target] = Parameter(target, default, paper and paper[1].strip())
    return found


def _plain_assignment(statement: ast.stmt, name: str) -> tuple[str, Value]:
    """Target and value of ``name = value``; anything else is refused."""
    match statement:
        case ast.Assign(targets=[ast.Name(id=target)]):
            with suppress(ValueError):
                value = ast.literal_eval(statement.value)
                if _is_plain(value):
                    return target, value
    raise BookError(
        f"{name}: `{ast.unparse(statement)}` in the parameters cell; it takes only lines `name = "
        "value` with a number, a string, True, False, None or a list of these, without annotations"
    )


def _is_plain(value: object) -> bool:
    if isinstance(value, list):
        return all(_is_plain(item) for item in value)
    return value is None or isinstance(value, int | float | str | bool)


def parse_value(text: str, parameter: Parameter, name: str) -> Value:
    """Value typed on a command line, read as the parameter's default suggests.

    Raises
    ------
    BookError
        If the text can't be read as a value of the default's type.

    Examples
    --------
    >>> parse_value("50", Parameter("n_repetitions", 1, None), "demo")
    50
    """
    if isinstance(parameter.default, str):
        return text
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError):
        value = text
    return check_value(value, parameter, name)


def check_value(value: object, parameter: Parameter, name: str) -> Value:
    """Value itself, if it has the type of the parameter's default (whole numbers pass as floats).

    Raises
    ------
    BookError
        If it has another type; the message gives the value, its type and the type wanted.
    """
    if not _same_kind(value, parameter.default):
        wanted = type(parameter.default).__name__
        raise BookError(
            f"{name}: parameter {parameter.name!r} takes {wanted} like its default "
            f"{parameter.default!r}, got {value!r} ({type(value).__name__})"
        )
    return value  # type: ignore[return-value]  # _same_kind has narrowed it


def _same_kind(value: object, default: object) -> bool:
    if default is None:
        return _is_plain(value)
    if isinstance(default, list):
        kinds = default[:1]
        return isinstance(value, list) and all(
            _is_plain(item) and all(_same_kind(item, kind) for kind in kinds) for item in value
        )
    if isinstance(default, float):
        return isinstance(value, int | float) and not isinstance(value, bool)
    return type(value) is type(default)


def complete_values(
    parameters: Mapping[str, Parameter], given: Mapping[str, object], name: str
) -> dict[str, Value]:
    """All parameters' values: the defaults, overlaid with those given.

    Raises
    ------
    BookError
        If a given name is not one of the notebook's; names it and lists those that are.

    Examples
    --------
    >>> known = {"n": Parameter("n", 1, None)}
    >>> complete_values(known, {"n": 5}, "demo")
    {'n': 5}
    >>> complete_values(known, {"m": 5}, "demo")
    Traceback (most recent call last):
    ...
    book.tools.project.BookError: demo: unknown parameter 'm'; this notebook takes: n
    """
    for unknown in [key for key in given if key not in parameters]:
        known = ", ".join(parameters) or "none"
        raise BookError(f"{name}: unknown parameter {unknown!r}; this notebook takes: {known}")
    values = {key: parameter.default for key, parameter in parameters.items()}
    values.update({key: check_value(given[key], parameters[key], name) for key in given})
    return values


def read_full_values(project: Project, stems: list[str]) -> dict[str, dict[str, object]]:
    """Full-scale values of each notebook, from ``notebooks/full.yaml``.

    Raises
    ------
    BookError
        If the file names a notebook that doesn't exist, or isn't a mapping of mappings.
    """
    path = project.full_values
    content = yaml.safe_load(path.read_text(encoding="utf-8")) if path.is_file() else {}
    content = content or {}
    if not isinstance(content, dict) or not all(isinstance(v, dict) for v in content.values()):
        raise BookError(f"{project.relative(path)}: takes `notebook: {{parameter: value}}`")
    for unknown in [stem for stem in content if stem not in stems]:
        raise BookError(
            f"{project.relative(path)}: no notebook {unknown!r}; there are: {', '.join(stems)}"
        )
    return content
