"""The notebooks' parameters and the YAML of full values are those of the studies' settings."""

import ast
import dataclasses
import importlib
import re
from pathlib import Path

import pytest
import yaml

from studies.kit.study import Study

NOTEBOOKS = Path(__file__).parents[2] / "notebooks"
FULL = yaml.safe_load((NOTEBOOKS / "full.yaml").read_text(encoding="utf-8"))


def parameters(text):
    """Return the values of a notebook's cell of parameters."""
    cell = re.search(r'# %% tags=\["parameters"\]\n(.*?)\n\n# %%', text, re.DOTALL)[1]
    return {one.targets[0].id: ast.literal_eval(one.value) for one in ast.parse(cell).body}


def runs(text):
    """Yield (study, settings as they are written) of each ``STUDY.run(...)``, in their order."""
    names, written = {}, {}
    for statement in ast.parse(text).body:
        if isinstance(statement, ast.ImportFrom) and statement.module.startswith("studies"):
            module = importlib.import_module(statement.module)
            for alias in statement.names:
                found = getattr(module, alias.name, None)
                names[alias.asname or alias.name] = found or importlib.import_module(
                    f"{statement.module}.{alias.name}"
                )
        if isinstance(statement, ast.Assign):
            (target,) = statement.targets
            if isinstance(statement.value, ast.Dict):
                pairs = zip(statement.value.keys, statement.value.values, strict=True)
                written[target.id] = {ast.literal_eval(key): value for key, value in pairs if key}
            elif isinstance(target, ast.Subscript) and target.value.id in written:
                written[target.value.id][ast.literal_eval(target.slice)] = statement.value
        for node in ast.walk(statement):
            if isinstance(node, ast.Call) and ast.unparse(node.func).endswith(".run"):
                study = _evaluated(node.func.value, names)
                if isinstance(study, Study):
                    given = {}
                    for keyword in node.keywords:
                        named = {keyword.arg: keyword.value}
                        given |= named if keyword.arg else written[keyword.value.id]
                    yield study, given


def _evaluated(node, names):
    try:
        return eval(ast.unparse(node), dict(names))  # an import, or an entry of a catalogue
    except NameError:  # a loop's variable: one of several studies of the same settings
        return None


@pytest.mark.parametrize("path", sorted(NOTEBOOKS.glob("[01]*.py")), ids=lambda path: path.stem)
def test_parameters_are_those_of_the_settings(path):
    """Reduced and full values are the settings' own; no parameter is of no use."""
    text = path.read_text(encoding="utf-8")
    known = parameters(text)
    for study, given in runs(text):
        fields = {one.name: one for one in dataclasses.fields(study.settings)}
        for setting, value in given.items():
            if not isinstance(value, ast.Name) or value.id not in known:
                continue
            reduced = known[value.id]
            full = FULL.get(path.stem, {}).get(value.id, reduced)
            where = f"{study.name}: {setting}"
            assert _as_setting(reduced) == fields[setting].default, where
            assert _as_setting(full) == fields[setting].metadata["full"], where
    for name in known:
        assert len(re.findall(rf"\b{name}\b", text)) > 1, f"{name} is used nowhere"
    assert set(FULL.get(path.stem, {})) <= set(known)


def _as_setting(value):
    return tuple(value) if isinstance(value, list) else value
