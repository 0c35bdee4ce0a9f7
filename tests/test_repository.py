"""The files around the code: metadata in step, a complete lock, commands that do what they say."""

from __future__ import annotations

import ast
import doctest
import importlib.metadata
import inspect
import io
import json
import os
import re
import shutil
import stat
import subprocess
import sys
import sysconfig
import tokenize
import tomllib
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import pvf
import pvf.counts
import pvf.rules
import pvf.selection

ROOT = Path(__file__).resolve().parents[1]
PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT = PYPROJECT["project"]
# Extras of their own, which lock and environment leave to the reader: PyTorch for its builds, and
# tree-praxis since it brings widgets, which turn every progress bar of a notebook into one.
APART = ("torch", "trees")
EXTRAS = {k: v for k, v in PROJECT["optional-dependencies"].items() if k not in APART}
CITATION = yaml.safe_load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
README = (ROOT / "README.md").read_text(encoding="utf-8")

CONDA_NAMES = {"playwright-python": "playwright"}
TARGETS = {"help", "venv", "book", "test", "plain", "torch", "lint", "bench", "notebooks", "clean"}
TARGETS |= {"lock"}


def by_name(lines):
    """Key requirements by canonical name."""
    return {canonicalize_name(r.name): r for r in map(Requirement, lines)}


def declared(*extras):
    """List the requirements of the library and of the extras named, by name."""
    return by_name([*PROJECT["dependencies"], *(line for e in extras for line in EXTRAS[e])])


def lock_pins():
    """Read the lock file: each pin as a requirement with its marker, and the hashes below it."""
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    entries = re.split(r"\n(?=\S)", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    pins = []
    for entry in entries:
        head, *rest = entry.strip().split("\\\n")
        hashes = [part.strip() for part in rest]
        pins.append((Requirement(head.strip()), hashes))
    return pins


def pinned_version(requirement):
    """Return the one exact version that a pin names."""
    (specifier,) = requirement.specifier
    assert specifier.operator == "==", str(requirement)
    return Version(specifier.version)


def repository_files():
    """List every file that is, or would be, committed."""
    command = ["git", "-c", "safe.directory=*", "ls-files", "-z", "-co", "--exclude-standard"]
    if not (ROOT / ".git").exists() or shutil.which("git") is None:
        pytest.skip("not a git clone: nobody can say which files are committed")
    listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True).stdout
    files = [ROOT / name for name in listed.decode().split("\0") if name]
    return [file for file in files if file.is_file()]


def imported_names(path, *, at_top=False):
    """Collect the dotted names of all that a file imports, at its top or inside functions too."""
    names = set()
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in tree.body if at_top else ast.walk(tree):
        if isinstance(node, ast.Import):
            names.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path.name} has a relative import; name the module in full"
            names.add(node.module)
            names.update(f"{node.module}.{alias.name}" for alias in node.names)
    return names


def library_modules():
    """Find the files of the package that ``import pvf`` loads, directly or through each other."""
    found, waiting = set(), [ROOT / "pvf" / "__init__.py"]
    while waiting:
        path = waiting.pop()
        found.add(path)
        for name in imported_names(path):
            module = ROOT.joinpath(*name.split(".")).with_suffix(".py")
            if name.startswith("pvf.") and module.is_file() and module not in found:
                waiting.append(module)
    return found


def undeclared_imports(paths, *extras, at_top=False):
    """Find third-party packages that files import and that these extras don't bring."""
    distributions = importlib.metadata.packages_distributions()
    brought = declared(*extras)
    local = {"pvf", "studies", "book", "conftest"}
    local |= {path.stem for path in (ROOT / "tests").rglob("*.py")}
    local |= {path.stem for path in (ROOT / "book" / "_ext").glob("*.py")}
    missing = set()
    for path in paths:
        for top in {name.split(".")[0] for name in imported_names(path, at_top=at_top)}:
            if top in sys.stdlib_module_names or top in local or top in ("torch", "praxis"):
                continue
            names = {canonicalize_name(name) for name in distributions.get(top, [top])}
            if not names & brought.keys():
                missing.add((path.name, top))
    return missing


# Metadata


def test_version_is_the_same_everywhere():
    """The version in pyproject.toml, in the package and in CITATION.cff is one."""
    assert PROJECT["version"] == pvf.__version__ == CITATION["version"]


def test_licence_is_the_same_everywhere():
    """The licence in pyproject.toml, in CITATION.cff and in LICENSE is one."""
    assert PROJECT["license"] == CITATION["license"] == "BSD-3-Clause"
    text = (ROOT / "LICENSE").read_text(encoding="utf-8")
    assert text.startswith("BSD 3-Clause License\n\nCopyright (c) 2026, the pvf developers\n")


def test_changelog_opens_with_what_is_coming_or_with_this_version():
    """The first section of CHANGELOG.md is Unreleased or the version of pyproject.toml."""
    text = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    headings = re.findall(r"^## (.+)$", text, flags=re.MULTILINE)
    dated = re.compile(r"\[(Unreleased|\d+\.\d+\.\d+)\](?(1)( - \d{4}-\d\d-\d\d)?)")
    assert all(dated.fullmatch(heading) for heading in headings), headings
    assert headings[0] in {"[Unreleased]"} or headings[0].startswith(f"[{PROJECT['version']}] - ")


def check_schema(schema, path):
    """Validate a file against a schema that check-jsonschema brings along."""
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", f"vendor.{schema}"]
    return subprocess.run([*command, str(path)], capture_output=True, text=True, check=False)


@pytest.mark.parametrize(
    ("schema", "name"),
    [
        pytest.param("citation-file-format", "CITATION.cff", id="citation"),
        pytest.param("github-workflows", ".github/workflows/ci.yml", id="workflow"),
    ],
)
def test_file_keeps_to_its_official_schema(schema, name):
    """CITATION.cff and the workflow are valid by the schemas that their formats publish."""
    outcome = check_schema(schema, ROOT / name)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param("cff-version: 1.2.0", "cff-version: 1.2.1", id="unknown-version"),
        pytest.param("license: BSD-3-Clause", "license: BSD-3", id="unknown-licence"),
        pytest.param("authors:\n  - name", "authors:\n  - nom", id="misspelt-key"),
    ],
)
def test_schema_refuses_a_faulty_citation(tmp_path, right, wrong):
    """The citation check fails on a wrong format version, licence or key."""
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert right in text
    faulty = tmp_path / "CITATION.cff"
    faulty.write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert check_schema("citation-file-format", faulty).returncode == 1


# Dependencies


def test_conda_environment_has_the_ranges_of_pyproject():
    """environment.yml names what pyproject.toml names, with the same ranges, and nothing else."""
    environment = yaml.safe_load((ROOT / "environment.yml").read_text(encoding="utf-8"))
    entries = environment["dependencies"]
    (from_pip,) = (entry["pip"] for entry in entries if isinstance(entry, dict))
    conda = by_name(entry for entry in entries if isinstance(entry, str))
    assert conda.pop("python").specifier == SpecifierSet(PROJECT["requires-python"])
    assert conda.pop("pip")
    conda = {CONDA_NAMES.get(name, name): r.specifier for name, r in conda.items()}
    pip = {name: r.specifier for name, r in by_name(from_pip).items()}
    assert not conda.keys() & pip.keys()
    assert conda | pip == {name: r.specifier for name, r in declared(*EXTRAS).items()}


def test_lock_pins_exact_versions_with_hashes_and_names_no_place():
    """Each line of the lock is an exact pin with SHA-256 hashes; no host, path or option."""
    for requirement, hashes in lock_pins():
        assert requirement.url is None
        assert pinned_version(requirement)
        assert hashes
        assert all(re.fullmatch(r"--hash=sha256:[0-9a-f]{64}", part) for part in hashes)
    text = (ROOT / "requirements.lock").read_text(encoding="utf-8")
    assert not re.search(r"://|^-|^\s*#.*/", text, flags=re.MULTILINE)


def test_lock_satisfies_every_range():
    """Each requirement, and what builds the package, has one pin here, and it is in range."""
    pins = lock_pins()
    build = PYPROJECT["build-system"]["requires"]
    wanted = [*declared(*EXTRAS).values(), *map(Requirement, build)]
    for requirement in wanted:
        name = canonicalize_name(requirement.name)
        mine = [pin for pin, _ in pins if canonicalize_name(pin.name) == name]
        here = [pin for pin in mine if pin.marker is None or pin.marker.evaluate()]
        assert len(here) == 1, f"{requirement}: pinned {len(here)} times for this Python"
        assert all(pinned_version(pin) in requirement.specifier for pin in mine), str(requirement)


def test_book_builder_stays_below_version_two():
    """Jupyter Book 2 reads no _config.yml: ranges shut it out and the lock doesn't have it."""
    assert Version("2.0") not in declared("book")["jupyter-book"].specifier
    (pin,) = (pin for pin, _ in lock_pins() if pin.name == "jupyter-book")
    assert pinned_version(pin) < Version("2.0.dev0")


def test_kernel_is_a_dependency_of_the_book():
    """Notebooks need ipykernel, which papermill doesn't bring."""
    assert "ipykernel" in declared("book")


def test_installed_packages_agree_with_each_other():
    """``pip check`` finds no conflict in the running environment."""
    command = [sys.executable, "-m", "pip", "--disable-pip-version-check", "check"]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.skipif(
    Path(sys.prefix).resolve() != (ROOT / ".venv").resolve(), reason="not running in .venv"
)
def test_environment_is_what_the_lock_says():
    """The packages in .venv are those of the lock, version by version."""
    pins = [pin for pin, _ in lock_pins() if pin.marker is None or pin.marker.evaluate()]
    expected = {canonicalize_name(pin.name): pinned_version(pin) for pin in pins}
    installed = {
        canonicalize_name(found.metadata["Name"]): Version(found.version)
        for found in importlib.metadata.distributions(path=[sysconfig.get_path("purelib")])
    }
    assert {name: installed.get(name) for name in expected} == expected
    assert installed.keys() - expected.keys() <= {"pip", "pvf"}


def test_library_imports_only_what_an_install_brings():
    """What ``import pvf`` loads is among the plain dependencies."""
    modules = library_modules()
    assert ROOT / "pvf" / "metrics.py" in modules
    assert undeclared_imports(modules, at_top=True) == set()


@pytest.mark.parametrize(
    ("home", "extras"),
    [
        pytest.param("pvf", ["plot", "save"], id="library"),
        pytest.param("studies", ["studies", "book"], id="studies"),
        pytest.param("book/tools", ["studies", "book"], id="book"),
        pytest.param("notebooks", ["studies", "book"], id="notebooks"),
    ],
)
def test_each_home_imports_only_what_its_extras_bring(home, extras):
    """Whatever a home imports, at its top or in a function, its extras bring."""
    assert undeclared_imports((ROOT / home).rglob("*.py"), *extras) == set()


def test_tests_import_only_what_the_extras_bring():
    """What the tests import is declared in some extra."""
    assert undeclared_imports((ROOT / "tests").rglob("*.py"), *EXTRAS) == set()


def test_wheel_carries_types_and_licence(tmp_path):
    """An installed pvf has all its modules, py.typed and the licence, and nothing of the tests."""
    source = tmp_path / "source"
    for file in repository_files():
        copy = source / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, copy)
    target = tmp_path / "installed"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--no-build-isolation", "--target", str(target), str(source)]
    outcome = subprocess.run(command, capture_output=True, text=True, check=False)
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr
    installed = {p.relative_to(target).as_posix() for p in target.rglob("*") if p.is_file()}
    sources = {p.relative_to(source).as_posix() for p in (source / "pvf").rglob("*.py")}
    assert sources | {"pvf/py.typed"} <= installed
    assert {name.split("/")[0] for name in installed if ".dist-info/" not in name} == {"pvf", "bin"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in installed)


# No trace of any one machine

PLACES = re.compile(r"(?<![\w.])/(?:home|Users|root|work|tmp)/\w|[A-Z]:\\\\?Users|shared/\w")


@pytest.mark.parametrize(
    ("line", "found"),
    [
        pytest.param("/ho" + "me/ann/data.csv", True, id="linux"),
        pytest.param("/Us" + "ers/ann/data.csv", True, id="mac"),
        pytest.param("C:\\Us" + "ers\\ann", True, id="windows"),
        pytest.param("https://example.org/home/page", False, id="url"),
        pytest.param("book/chapters/home/x", False, id="relative"),
    ],
)
def test_personal_paths_are_told_from_others(line, found):
    """The search below finds home folders of three systems and no relative path or address."""
    assert bool(PLACES.search(line)) is found


def test_no_file_names_a_place_on_somebodys_machine():
    """No committed file holds an absolute personal path; only CI knows where raw data may lie."""
    hits = []
    for file in repository_files():
        if file == ROOT / ".ci" / "run":
            continue
        try:
            text = file.read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        hits += [f"{file.relative_to(ROOT)}: {match.group()}" for match in PLACES.finditer(text)]
    assert hits == []


# make


def run_make(folder, *arguments, env=None):
    """Run make from elsewhere, without the settings of a make that may have started the tests."""
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("MAKE", "MFLAGS"))}
    for name in ("MODE", "PYTHON"):
        inherited.pop(name, None)
    return subprocess.run(
        ["make", "-C", str(folder), *arguments],
        cwd=Path(folder).anchor,
        env=inherited | (env or {}),
        capture_output=True,
        text=True,
        check=False,
    )


def test_help_lists_every_target():
    """``make`` and ``make help`` list all targets, and these are the documented ones."""
    outcome = run_make(ROOT, "help")
    listed = set(re.findall(r"^make ([a-z]+) +\S", outcome.stdout, flags=re.MULTILINE))
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    phony = set(re.search(r"^\.PHONY: (.+)$", makefile, flags=re.MULTILINE)[1].split())
    assert listed == phony - {"FORCE"} == TARGETS
    assert run_make(ROOT).stdout == outcome.stdout


STAND_IN = """#!/bin/sh
# Stands in for Python: notes each call in $CALLS, and makes a .venv that holds itself.
echo "$*" >> "$CALLS"
case "$*" in
  "-m venv --clear .venv")
    rm -rf .venv; mkdir -p .venv/bin; cp "$0" .venv/bin/python ;;
  *--requirement*)
    if [ -n "$FAULT" ]; then touch .venv/half-made; exit 1; fi ;;
esac
"""


@pytest.fixture
def clone(tmp_path):
    """Lay out what a set-up needs, in a folder with spaces, with a stand-in for Python."""
    folder = tmp_path / "a folder with spaces"
    folder.mkdir()
    for name in ("Makefile", "requirements.lock", "pyproject.toml"):
        shutil.copyfile(ROOT / name, folder / name)
    python = tmp_path / "python"
    python.write_text(STAND_IN, encoding="utf-8")
    python.chmod(0o755)
    return folder


def make_without_python(folder, *arguments, fault=""):
    """Run make with the stand-in; the outcome, and what Python was called with, a line a call."""
    calls = folder / "calls"
    calls.unlink(missing_ok=True)
    python = next(p / "python" for p in folder.parents if (p / "python").is_file())
    env = {"CALLS": str(calls), "FAULT": fault}
    outcome = run_make(folder, *arguments, f"PYTHON={python}", env=env)
    return outcome, calls.read_text(encoding="utf-8").splitlines() if calls.exists() else []


def set_up(folder, *, fault=""):
    """Run ``make venv`` with the stand-in; the outcome, and what Python was asked to install."""
    outcome, lines = make_without_python(folder, "venv", fault=fault)
    whats = {"--clear": "venv", "--requirement": "lock", "--editable": "pvf"}
    return outcome, [what for line in lines for flag, what in whats.items() if flag in line]


def touch_later(path, mark):
    """Make a file newer than a mark, whatever the clock's resolution."""
    later = mark.stat().st_mtime_ns + 1_000_000_000
    os.utime(path, ns=(later, later))


def test_set_up_happens_once(clone):
    """The first ``make venv`` installs the lock, then pvf; the second does nothing."""
    outcome, steps = set_up(clone)
    assert (outcome.returncode, steps) == (0, ["venv", "lock", "pvf"]), outcome.stderr
    outcome, steps = set_up(clone)
    assert (outcome.returncode, steps) == (0, [])


def test_interrupted_set_up_starts_again_from_nothing(clone):
    """A .venv whose install failed is not taken for finished, nor built upon."""
    outcome, steps = set_up(clone, fault="yes")
    assert outcome.returncode != 0
    assert steps == ["venv", "lock"]
    assert (clone / ".venv" / "half-made").exists()
    outcome, steps = set_up(clone)
    assert (outcome.returncode, steps) == (0, ["venv", "lock", "pvf"])
    assert not (clone / ".venv" / "half-made").exists()


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        pytest.param("requirements.lock", ["venv", "lock", "pvf"], id="lock"),
        pytest.param("pyproject.toml", ["pvf"], id="pyproject"),
    ],
)
def test_set_up_follows_what_changed(clone, name, expected):
    """A new lock makes .venv anew; a new pyproject.toml installs only pvf again."""
    set_up(clone)
    touch_later(clone / name, clone / ".venv" / "installed")
    outcome, steps = set_up(clone)
    assert (outcome.returncode, steps) == (0, expected)


def test_moved_clone_is_set_up_anew(clone):
    """A .venv that came from another folder still points there, so it is made again."""
    set_up(clone)
    moved = clone.rename(clone.with_name("elsewhere"))
    outcome, steps = set_up(moved)
    assert (outcome.returncode, steps) == (0, ["venv", "lock", "pvf"])
    assert set_up(moved)[1] == []


@pytest.mark.parametrize(
    "python",
    [
        pytest.param("#!/bin/sh\nexit 1\n", id="too-old"),
        pytest.param(None, id="missing"),
    ],
)
def test_unfit_python_is_named(clone, python):
    """Without Python 3.11 the set-up ends at once, says what it needs and how to name another."""
    stand_in = clone.parent / "python"
    stand_in.unlink()
    if python is not None:
        stand_in.write_text(python, encoding="utf-8")
        stand_in.chmod(0o755)
    outcome = run_make(clone, "venv", f"PYTHON={stand_in}")
    assert outcome.returncode != 0
    assert f'pvf needs Python 3.11 or newer, and "{stand_in}" is not' in outcome.stderr
    assert "make PYTHON=python3.12 venv" in outcome.stderr
    assert not (clone / ".venv").exists()


# README and CI


def fenced(tag):
    """Extract README's code blocks with this tag."""
    return re.findall(rf"^```{tag}\n(.*?)^```$", README, flags=re.MULTILINE | re.DOTALL)


def readme_commands():
    """List the lines of README's shell blocks."""
    return [line for block in fenced("sh") for line in block.splitlines() if line]


def test_readme_has_only_blocks_that_are_run():
    """Every code block of README is shell that CI runs or Python that a test runs."""
    tags = re.findall(r"^ *(?:```|~~~)(.*)$", README, flags=re.MULTILINE)
    assert set(tags[::2]) == {"sh", "python"}
    assert set(tags[1::2]) == {""}


def test_readme_examples_are_right():
    """README's Python prints what README says it prints."""
    outcome = doctest.testfile(str(ROOT / "README.md"), module_relative=False)
    assert outcome.attempted > 0
    assert outcome.failed == 0


def test_readme_tells_the_two_commands_and_one_notebook():
    """README shows how to build, test and run one notebook with a parameter."""
    commands = readme_commands()
    assert commands[:2] == ["make book", "make test"]
    assert any(re.match(r"papermill notebooks/\S+\.ipynb \S+ -p \w+ \S+$", c) for c in commands)


@pytest.mark.parametrize("line", [c for c in readme_commands() if c.startswith("papermill")])
def test_notebook_in_readme_exists_and_knows_the_parameter(line):
    """The notebook that README runs is there and assigns the parameter that README sets."""
    _, notebook, _, _, name, _ = line.split()
    source = (ROOT / notebook).with_suffix(".py").read_text(encoding="utf-8")
    assert (ROOT / notebook).is_file()
    assert re.search(rf"^{name} = ", source, flags=re.MULTILINE)


def test_ci_script_is_executable():
    """``.ci/run`` can be called as it is."""
    assert (ROOT / ".ci" / "run").stat().st_mode & stat.S_IXUSR


LOGGING = """#!/bin/sh
# Notes how it was called, and fails where $FAULT says so.
call="$(basename "$0")${*:+ $*}"
echo "$call" >> "$CALLS"
echo "data: $PVF_DATA_DIR" >> "$CALLS.data"
[ "$call" != "$FAULT" ]
"""


def run_ci(folder, *, fault=""):
    """Run ``.ci/run`` beside the real README, every command that it calls being a stand-in."""
    for name in (".ci/run", "README.md"):
        copy = folder / "a clone" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(ROOT / name, copy)
    stand_ins = folder / "bin"
    stand_ins.mkdir()
    for name in ("make", "papermill", "pvf", "python", "chromium"):
        (stand_ins / name).write_text(LOGGING, encoding="utf-8")
        (stand_ins / name).chmod(0o755)
    old = folder / "a clone" / ".venv"
    old.mkdir()
    (old / "left-over").touch()
    # The stand-in for make can't set up .venv, so activation is a stand-in as well.
    shell = folder / "activate.sh"
    shell.write_text('.() { echo ". $*" >> "$CALLS"; }\n', encoding="utf-8")
    calls = folder / "calls"
    env = {key: value for key, value in os.environ.items() if key != "PVF_DATA_DIR"}
    env |= {"PATH": f"{stand_ins}:{os.environ['PATH']}", "CALLS": str(calls), "FAULT": fault}
    outcome = subprocess.run(
        ["bash", str(folder / "a clone" / ".ci" / "run")],
        cwd=folder,
        env=env | {"BASH_ENV": str(shell), "CI": "true"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert not (old / "left-over").exists()
    return outcome, calls.read_text(encoding="utf-8").splitlines()


def test_ci_lints_then_runs_readme_word_for_word(tmp_path):
    """CI drops any old .venv, lints, and runs each command of README as it is written there."""
    outcome, calls = run_ci(tmp_path)
    assert outcome.returncode == 0, outcome.stderr
    assert calls == ["make lint", *readme_commands(), "make plain", "make torch"]


@pytest.mark.parametrize(
    "command", ["make lint", "make book", "make test", "papermill", "make plain", "make torch"]
)
def test_ci_fails_where_a_step_fails(tmp_path, command):
    """CI exits non-zero at the first step that fails, and runs none after it."""
    steps = ["make lint", *readme_commands(), "make plain", "make torch"]
    (fault,) = (step for step in steps if step.startswith(command))
    outcome, calls = run_ci(tmp_path, fault=fault)
    assert outcome.returncode != 0
    assert calls[-1] == fault


def test_ci_finds_raw_data_beside_the_clone(tmp_path):
    """Where the folder that CI knows lies beside the clone, tests are told its absolute path."""
    data = tmp_path / "shared" / "data"
    data.mkdir(parents=True)
    outcome, _ = run_ci(tmp_path)
    assert outcome.returncode == 0
    told = set((tmp_path / "calls.data").read_text(encoding="utf-8").splitlines())
    assert told == {f"data: {data}"}


@pytest.mark.parametrize(("mode", "n_installs"), [("full", 1), ("reduced", 0)])
def test_a_full_book_sets_up_what_the_lock_leaves_out(clone, mode, n_installs):
    """PyTorch and tree-praxis are installed for a full run alone, into a folder of their own."""
    outcome, calls = make_without_python(clone, "book", f"MODE={mode}")
    extra = [call for call in calls if "torch==" in call and "tree-praxis" in call]
    assert len(extra) == n_installs, outcome.stderr
    assert all("--no-deps" in call and "--target build/extra" in call for call in extra)
    assert calls[-1] == f"-m book.tools build --mode {mode}"


def test_pre_commit_runs_the_same_targets():
    """Each pre-commit hook calls a make target."""
    config = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    entries = [hook["entry"] for repo in config["repos"] for hook in repo["hooks"]]
    assert entries == ["make lint", "make test"]


def test_workflow_runs_the_same_commands_and_publishes_the_book():
    """The workflow calls .ci/run and make, and publishes what ``make book`` builds."""
    text = (ROOT / ".github" / "workflows" / "ci.yml").read_text(encoding="utf-8")
    jobs = yaml.safe_load(text)["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert {step["run"] for step in steps if "run" in step} == {"bash .ci/run", "make test"}
    used = {step["uses"].split("@")[0]: step for step in steps if "uses" in step}
    assert used["actions/upload-pages-artifact"]["with"]["path"] == "_build/html"
    assert "actions/deploy-pages" in used
    assert jobs["publish"]["needs"] == "check"


def test_binder_and_codespaces_set_up_what_the_lock_says():
    """Both take the packages of the lock, and a Python that the package allows."""
    binder = ROOT / ".binder"
    (line,) = (binder / "requirements.txt").read_text(encoding="utf-8").splitlines()
    assert (binder / line.removeprefix("-r ")).resolve() == ROOT / "requirements.lock"
    python = (binder / "runtime.txt").read_text(encoding="utf-8").strip().removeprefix("python-")
    assert Version(python) in SpecifierSet(PROJECT["requires-python"])
    assert "--no-deps" in (binder / "postBuild").read_text(encoding="utf-8")
    assert (binder / "postBuild").stat().st_mode & stat.S_IXUSR
    codespace = json.loads((ROOT / ".devcontainer" / "devcontainer.json").read_text("utf-8"))
    assert codespace["image"].endswith(f"python:{python}")
    verb, target = codespace["postCreateCommand"].split()
    assert verb == "make"
    assert target in TARGETS


# The house


@pytest.mark.parametrize(
    ("low", "high"), [("pvf", "studies"), ("pvf", "book"), ("studies", "book")], ids=str
)
def test_arrows_point_downwards(low, high):
    """The library knows no study, and no study knows the book."""
    climbing = {
        path.relative_to(ROOT).as_posix()
        for path in (ROOT / low).rglob("*.py")
        if any(name.split(".")[0] == high for name in imported_names(path))
    }
    assert climbing == set()


def code_lines(tree, text):
    """Return the numbers of lines that hold code: no blank, comment or docstring."""
    other = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    other |= {tokenize.ENDMARKER}
    lines = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in other:
            lines.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(
            node
        ):
            lines.difference_update(range(node.body[0].lineno, node.body[0].end_lineno + 1))
    return lines


#: Lines of code that a home should have at most, and has: only ever lower the second.
HOMES = {
    "pvf": (4500, 8030),
    "pvf/select": (1900, 2641),
    "studies": (8000, 11606),
    "book": (1600, 1600),
}


def test_no_home_grows_and_no_module_or_function_is_too_long():
    """Homes are larger than they were meant to be, and shrink from here on."""
    homes, long_modules, long_functions = dict.fromkeys(HOMES, 0), [], []
    for path in (
        path for home in ("pvf", "studies", "book") for path in (ROOT / home).rglob("*.py")
    ):
        name, text = path.relative_to(ROOT).as_posix(), path.read_text(encoding="utf-8")
        tree = ast.parse(text)
        lines = code_lines(tree, text)
        homes[next(h for h in ("pvf/select", *HOMES) if name.startswith(f"{h}/"))] += len(lines)
        if len(lines) > 500:
            long_modules.append(name)
        long_functions += [
            f"{name}:{node.name}"
            for node in ast.walk(tree)
            if isinstance(node, ast.FunctionDef)
            and len(lines & set(range(node.lineno, node.end_lineno + 1))) > 50
        ]
    assert long_functions == []
    assert long_modules == []
    assert {home: n for home, n in homes.items() if n > HOMES[home][1]} == {}


def test_reference_has_every_public_name_once():
    """The pages document all of ``pvf`` and what is called by its module, functions as such."""
    pages = sorted((ROOT / "book" / "reference").glob("*.md"))
    page = "\n".join(path.read_text(encoding="utf-8") for path in pages)
    overview = (ROOT / "book" / "reference.md").read_text(encoding="utf-8")
    found, module = [], ""
    for kind, name in re.findall(
        r"^\.\. (currentmodule|autofunction|autoclass):: (\S+)$", page, re.M
    ):
        module = name if kind == "currentmodule" else module
        if kind != "currentmodule":
            of = getattr(sys.modules[module], name)
            assert isinstance(of, type) == (kind == "autoclass"), name
            found.append(f"{module}.{name}")
            assert f"   {name}\n" in overview
    assert len(set(found)) == len(found)
    expected = {f"pvf.{name}" for name in pvf.__all__}
    expected |= {
        f"pvf.{module}.{name}"
        for module, own in (("counts", pvf.counts), ("selection", pvf.selection))
        for name, member in vars(own).items()
        if inspect.isfunction(member) and name[0] != "_" and member.__module__ == own.__name__
    }
    expected -= {"pvf.selection.refit_by", "pvf.selection.named_models"}
    assert {name for name in found if not name.startswith("pvf.rules.")} == expected
