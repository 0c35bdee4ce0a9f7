"""Which code makes a result: the definitions that a function reaches, and a digest of them.

A committed table is stale once the code that made it computes something else. Git alone can't
tell: a comment, a docstring or a new figure also changes a file. So a table's provenance holds a
digest of just the definitions that its function reaches, read from the syntax tree without
comments, docstrings, annotations and layout.
"""

from __future__ import annotations

import ast
import hashlib
import json
import re
import tomllib
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

#: Modules that store, judge, draw or refuse never change what a study computes; nor do those that
#: find and read data, since what they read must have the checksums of the registry.
APART = {
    "pvf._checks",
    "pvf.plotting",
    "pvf.validation_result",
    "studies.data.files",
    "studies.data.tables",
    "studies.kit.claims",
    "studies.kit.results",
    "studies.kit.show",
    "studies.kit.study",
    "studies.kit.verdicts",
}
_TABLES = "studies.catalogue"
#: What makes a study's table, and the order in which a study takes its first arguments.
_MAKERS = {"name", "settings", "blocks", "block", "summarise", "version"}
_IN_ORDER = ("name", "settings", "blocks", "block", "estimate", "summarise")
_KNOWN_DATA = "studies/data/registry.toml"
#: What the registry says of a data set that changes no number: where it lies, and for readers.
_TOLD_OF_DATA = {"title", "licence", "page", "url", "uci", "note", "citation", "summary"}
_SILENT = {"annotation", "ctx", "kind", "returns", "type_comment", "type_params"}

#: Takes a path below the repository's root, such as "pvf/store.py", and returns the text there.
Reader = Callable[[str], str | None]


@cache
def read_source(path: str) -> str | None:
    """Return the text of a file of the package as it stands, or None if there is none.

    Parameters
    ----------
    path : str
        Below the folder that holds the package.

    Returns
    -------
    str or None
    """
    file = Path(__file__).resolve().parents[2] / path
    return file.read_text(encoding="utf-8") if file.is_file() else None


def table_code(name: str, read: Reader = read_source) -> dict[str, str]:
    """Return digests of the code that makes a full-scale table, one for each module.

    Names are followed from the ``Study(...)`` of that name through functions, classes and constants
    of the package. Of a study only what makes its table is followed, not what draws or judges it;
    of a setting only its full value. What is only reached by `getattr` or the like is not seen. Of
    the known data sets, those are taken that the code names.

    Parameters
    ----------
    name : str
        A key of `studies.catalogue.STUDIES`.
    read : callable
        Takes a path below the repository's root and returns the text there, or None: another
        commit's, for instance.

    Returns
    -------
    dict of str to str
        Module to digest. Modules that never change what is computed are left out.

    Raises
    ------
    ValueError
        The module of tables, as read, has no such table.

    Examples
    --------
    >>> sorted(table_code("synthetic_sweep"))[-2:]
    ['studies.pvf2026.synthetic.kernel', 'studies.pvf2026.synthetic.run']
    """
    library = _Library(read)
    where, made = library.maker(name)
    library.follow(where, made)
    trees = {module: dict(sorted(found.items())) for module, found in library.reached.items()}
    trees.setdefault(where, {})[f"make of {name}"] = made
    digests = {
        module: _digest(f"[{', '.join(_text(*item) for item in found.items())}]")
        for module, found in sorted(trees.items())
        if found
    }
    known = _known_data(read, trees)
    return digests | ({_KNOWN_DATA: _digest(known)} if known else {})


def changed_modules(recorded: dict[str, str], current: dict[str, str]) -> list[str]:
    """Name the modules whose reached code differs between two results of `table_code`.

    Parameters
    ----------
    recorded, current : dict of str to str

    Returns
    -------
    list of str

    Examples
    --------
    >>> changed_modules({"a": "1", "b": "2"}, {"a": "1", "b": "3", "c": "4"})
    ['b', 'c']
    """
    names = sorted(set(recorded) | set(current))
    return [name for name in names if recorded.get(name) != current.get(name)]


class _Module:
    """A module's top-level definitions, and what its imports bring in, by name."""

    def __init__(self, text: str) -> None:
        tree = _OnlyWhatMakes().visit(ast.parse(text))
        self.definitions: dict[str, ast.AST] = {}
        self.imports: dict[str, tuple[str, str | None]] = {}
        for statement in tree.body:
            for name in _defined(statement):
                self.definitions[name] = statement
        for node in ast.walk(tree):
            if isinstance(node, ast.Import):
                for alias in node.names:
                    bound = alias.asname or alias.name.split(".")[0]
                    self.imports[bound] = (alias.name if alias.asname else bound, None)
            elif isinstance(node, ast.ImportFrom):
                for alias in node.names:
                    self.imports[alias.asname or alias.name] = (node.module or "", alias.name)


@cache
def _parsed(text: str) -> _Module:
    return _Module(text)


class _Library:
    """The package's modules as a reader gives them, and the definitions reached so far."""

    def __init__(self, read: Reader) -> None:
        self._read = read
        self._modules: dict[str, _Module | None] = {}
        self.reached: dict[str, dict[str, ast.AST]] = {}

    def module(self, name: str) -> _Module | None:
        """Return a module of the package, or None for any other."""
        if name not in self._modules:
            path = name.replace(".", "/")
            own = name.split(".", maxsplit=1)[0] in ("pvf", "studies")
            text = (self._read(f"{path}.py") or self._read(f"{path}/__init__.py")) if own else None
            self._modules[name] = None if text is None else _parsed(text)
        return self._modules[name]

    def maker(self, table: str) -> tuple[str, ast.AST]:
        """Return the call that makes a table's study, and the module that holds it."""
        module = self.module(_TABLES)
        studies = _Library(self._read)
        studies.follow(_TABLES, module.definitions.get("ALL", ast.Pass()) if module else ast.Pass())
        for where, found in studies.reached.items():
            for node in (inner for outer in found.values() for inner in _inside(outer)):
                if _is_call(node, "Study", "replace") and _can_be(_keyword(node, "name"), table):
                    return where, node
        raise ValueError(f"name must be a table of {_TABLES} there, got {table!r}.")

    def follow(self, where: str, node: ast.AST) -> None:
        """Add every definition that a piece of a module's code names, and what these name."""
        module = self.module(where)
        if module is None:
            return
        for name, attribute in _names(node):
            if name in module.definitions:
                self._reach(where, name)
            elif name in module.imports:
                source, wanted = module.imports[name]
                self._import(source, wanted, attribute)

    def _import(self, source: str, wanted: str | None, attribute: str | None) -> None:
        """Reach what ``from source import wanted`` brings, or its attribute if it is a module."""
        inner = source if wanted is None else f"{source}.{wanted}"
        if wanted is not None and (self.module(inner) is None or self._has(source, wanted)):
            self._reach(source, wanted)
        elif attribute is not None:
            self._reach(inner, attribute)

    def _has(self, where: str, name: str) -> bool:
        module = self.module(where)
        return module is not None and name in module.definitions

    def _reach(self, where: str, name: str) -> None:
        module = self.module(where)
        if module is None or where in APART or name in self.reached.get(where, {}):
            return
        if name in module.definitions:
            node = module.definitions[name]
            self.reached.setdefault(where, {})[name] = node
            self.follow(where, node)
        elif name in module.imports:  # passed on, as by an __init__
            self._import(*module.imports[name], None)


class _OnlyWhatMakes(ast.NodeTransformer):
    """Leave of each study what makes its table, of a setting its full value, and no docstrings."""

    def visit_Expr(self, node: ast.Expr) -> ast.AST | None:
        """Drop a statement that is nothing but a string."""
        text = isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)
        return None if text else self.generic_visit(node)

    def visit_Call(self, node: ast.Call) -> ast.AST:
        """Cut the call of a study or of a setting."""
        self.generic_visit(node)
        if _is_call(node, "Study"):
            placed = map(ast.keyword, _IN_ORDER, node.args)
            kept = [one for one in (*placed, *node.keywords) if one.arg in {*_MAKERS, None}]
            return ast.Call(node.func, [], kept)
        if _is_call(node, "setting"):
            return _keyword(node, "full") or next(iter(node.args), node)
        return node


def _is_call(node: ast.AST, *names: str) -> bool:
    """Tell whether a node calls a function of one of these names, as such or as an attribute."""
    function = node.func if isinstance(node, ast.Call) else None
    return getattr(function, "id", getattr(function, "attr", None)) in names


def _defined(node: ast.AST) -> Iterator[str]:
    """Yield the names that a top-level statement defines."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        yield node.name
    targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
    for target in targets:
        if isinstance(target, ast.Name) and target.id != "__all__":
            yield target.id


def _can_be(key: ast.AST | None, text: str) -> bool:
    """Tell whether a key is a text, or an f-string that can give it."""
    if isinstance(key, ast.JoinedStr):
        parts = [
            re.escape(str(part.value)) if isinstance(part, ast.Constant) else ".+"
            for part in key.values
        ]
        return re.fullmatch("".join(parts), text) is not None
    return isinstance(key, ast.Constant) and key.value == text


def _keyword(call: ast.AST, name: str) -> ast.expr | None:
    keywords = call.keywords if isinstance(call, ast.Call) else []
    return next((keyword.value for keyword in keywords if keyword.arg == name), None)


@cache
def _names(node: ast.AST) -> tuple[tuple[str, str | None], ...]:
    """Return each name that code uses, with the attribute that is taken of it, if one is."""
    return tuple(_each_name(node))


def _each_name(node: ast.AST) -> Iterator[tuple[str, str | None]]:
    if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
        yield node.value.id, node.attr
        return
    if isinstance(node, ast.Name):
        yield node.id, None
    for field, value in ast.iter_fields(node):
        if field not in _SILENT:
            for child in value if isinstance(value, list) else [value]:
                if isinstance(child, ast.AST):
                    yield from _each_name(child)


@cache
def _inside(node: ast.AST) -> tuple[ast.AST, ...]:
    return tuple(ast.walk(node))


@cache
def _text(name: str, node: ast.AST) -> str:
    """Return a definition as text, the slow part of a digest, once for all tables."""
    return repr((name, _plain(node)))


def _plain(value: Any) -> Any:
    """Return a syntax tree as nested tuples that are the same in every version of Python."""
    if isinstance(value, ast.Constant):
        return ("Constant", repr(value.value))
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if not isinstance(value, ast.AST):
        return value
    fields = []
    for name, content in ast.iter_fields(value):
        if name in _SILENT or content is None or (content == [] and name != "body"):
            continue
        fields.append((name, _plain(content)))
    return (type(value).__name__, *fields)


def _known_data(read: Reader, trees: dict[str, dict[str, ast.AST]]) -> str:
    """Return what is on record of the data sets that the code names, as one text."""
    text = read(_KNOWN_DATA)
    nodes = (node for found in trees.values() for node in found.values())
    inside = (inner for node in nodes for inner in _inside(node))
    named = {inner.value for inner in inside if isinstance(inner, ast.Constant)}
    known = tomllib.loads(text) if text else {}
    used = {
        name: {key: value for key, value in facts.items() if key not in _TOLD_OF_DATA}
        for name, facts in known.items()
        if name in named
    }
    return json.dumps(used, sort_keys=True) if used else ""


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:16]
