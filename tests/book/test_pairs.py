"""Notebook pairs: made from the script, compared by content, the same bytes each time."""

import json
import os

import jupytext
import nbformat
import pytest
from conftest import REPOSITORY, invoke, notebook_source
from jupytext.cli import jupytext as run_jupytext

from book.tools.pairs import check_pairs, render_pair, source_stems, stale_pairs, write_pairs
from book.tools.project import BookError

NOTEBOOK = notebook_source("n_repetitions + 1", "n_repetitions + 1")
COMMITTED = sorted((REPOSITORY.root / "notebooks").glob("*.ipynb"))


def test_committed_pairs_are_in_step(committed_stale_pairs):
    """Every committed .ipynb is what its script makes."""
    assert committed_stale_pairs == []


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_notebooks_are_clean_and_runnable(path):
    """A committed .ipynb has no outputs, and names the kernel that `papermill` needs."""
    notebook = nbformat.read(path, as_version=4)
    codes = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(cell.outputs == [] and cell.execution_count is None for cell in codes)
    assert notebook.metadata.kernelspec.name == "python3"


@pytest.mark.parametrize("path", COMMITTED, ids=lambda path: path.stem)
def test_committed_notebooks_explain_the_code_that_pages_show(path):
    """A sentence stands before every code cell that a page leaves open."""
    cells = nbformat.read(path, as_version=4).cells
    chapter = any("## In code" in cell.source.splitlines() for cell in cells)
    bare = [
        i
        for i, cell in enumerate(cells)
        if cell.cell_type == "code"
        and (not chapter or "essential" in cell.metadata.get("tags", []))
        and (i == 0 or cells[i - 1].cell_type != "markdown")
    ]
    assert bare == []


def test_regenerating_twice_gives_the_same_bytes(make_project):
    """The second regeneration changes nothing, ids included."""
    project = make_project(a=NOTEBOOK)
    assert write_pairs(project) == ["a"]
    first = (project.notebooks / "a.ipynb").read_bytes()
    (project.notebooks / "a.ipynb").unlink()
    write_pairs(project)
    assert (project.notebooks / "a.ipynb").read_bytes() == first


def test_equal_cells_have_ids_of_their_own(make_project):
    """Two cells with the same text do not share an id, which nbformat forbids."""
    project = make_project(a=NOTEBOOK)
    cells = json.loads(render_pair(project.notebooks / "a.py"))["cells"]
    assert len({cell["id"] for cell in cells}) == len(cells)


def test_pair_holds_what_jupytext_reads(make_project):
    """Cell kinds, sources and tags are those that jupytext finds in the script."""
    project = make_project(a=NOTEBOOK)
    write_pairs(project)
    ours = nbformat.read(project.notebooks / "a.ipynb", as_version=4).cells
    theirs = jupytext.read(project.notebooks / "a.py").cells
    assert [(c.cell_type, c.source, c.metadata) for c in ours] == [
        (c.cell_type, c.source, c.metadata) for c in theirs
    ]


@pytest.mark.parametrize("twin", ["a.py", "a.ipynb"])
def test_change_in_one_twin_fails_the_check(make_project, twin):
    """Case 10: `n = 1` changed in one twin only is found and named, on the command line too."""
    project = make_project(a=NOTEBOOK)
    write_pairs(project)
    path = project.notebooks / twin
    path.write_text(path.read_text().replace("n_repetitions = 1", "n_repetitions = 2"))
    with pytest.raises(BookError, match=r"notebooks/a\.ipynb"):
        check_pairs(project)
    done = invoke(project, "pairs", "--check")
    assert done.exit_code == 1
    assert "notebooks/a.ipynb" in done.stderr


@pytest.mark.parametrize("newer", ["a.py", "a.ipynb"])
def test_file_times_do_not_matter(make_project, newer):
    """Case 9: whichever file is newer, the script wins and the edit in it survives."""
    project = make_project(a=NOTEBOOK)
    write_pairs(project)
    script = project.notebooks / "a.py"
    script.write_text(script.read_text().replace("seed = 7", "seed = 8"))
    for name in ("a.py", "a.ipynb"):
        os.utime(project.notebooks / name, (2e9, 2e9) if name == newer else (1e9, 1e9))
    done = invoke(project, "pairs")
    assert done.exit_code == 0
    assert "seed = 8" in script.read_text()
    assert "seed = 8" in (project.notebooks / "a.ipynb").read_text()
    assert stale_pairs(project) == []


def test_scripts_carry_no_jupytext_version(make_project):
    """Case 11: a header with a version, which would churn, is refused; no committed one has it."""
    header = "# ---\n# jupyter:\n#   jupytext:\n#     text_representation:\n"
    header += "#       jupytext_version: 1.16.1\n# ---\n\n"
    project = make_project(a=header + NOTEBOOK)
    with pytest.raises(BookError, match="jupytext_version"):
        write_pairs(project)
    for path in (REPOSITORY.root / "notebooks").iterdir():
        assert "jupytext_version:" not in path.read_text(encoding="utf-8")


def test_jupytext_writes_no_version_under_our_configuration(make_project):
    """Case 11: `jupytext --sync`, as Jupyter calls it, leaves the version out of the header."""
    project = make_project(a=NOTEBOOK)
    write_pairs(project)
    (project.root / "jupytext.toml").write_bytes((REPOSITORY.root / "jupytext.toml").read_bytes())
    (project.notebooks / "a.py").unlink()
    run_jupytext(["--sync", "--quiet", str(project.notebooks / "a.ipynb")])
    written = (project.notebooks / "a.py").read_text()
    assert "format_name: percent" in written
    assert "jupytext_version:" not in written
    write_pairs(project)
    assert stale_pairs(project) == []


def test_notebook_without_a_script_is_refused(make_project):
    """An .ipynb whose source is missing is named."""
    project = make_project(a=NOTEBOOK)
    write_pairs(project)
    (project.notebooks / "b.ipynb").write_text("{}")
    with pytest.raises(BookError, match=r"notebooks/b\.ipynb"):
        source_stems(project)
