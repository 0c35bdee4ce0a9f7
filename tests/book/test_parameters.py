"""Parameters of a notebook: what the cell may hold, which values pass."""

import nbformat
import pytest
from conftest import REPOSITORY, invoke, notebook_source
from papermill.inspection import inspect_notebook

from book.tools.notebooks import plan_jobs
from book.tools.pairs import source_stems
from book.tools.parameters import read_full_values
from book.tools.project import BookError


def plan(project, **options):
    """Values that a run of the project's one notebook would use."""
    return dict(plan_jobs(project, **options)[0].values)


@pytest.mark.parametrize("stem", source_stems(REPOSITORY))
def test_committed_parameters_are_seen_by_papermill_too(stem):
    """Papermill's own inspection finds the parameters that ours finds, in the committed file."""
    job = plan_jobs(REPOSITORY, [stem])[0]
    seen = inspect_notebook(REPOSITORY.root / "notebooks" / f"{stem}.ipynb")
    assert list(seen) == list(job.parameters)


def test_committed_full_values_fit_their_notebooks():
    """Every value in notebooks/full.yaml belongs to a parameter of that notebook, with its type."""
    stems = source_stems(REPOSITORY)
    jobs = {job.stem: job for job in plan_jobs(REPOSITORY, mode="full")}
    for stem, values in read_full_values(REPOSITORY, stems).items():
        assert {name: jobs[stem].values[name] for name in values} == values


@pytest.mark.parametrize("mode", ["reduced", "full"])
def test_misspelt_parameter_stops_the_run(make_project, mode):
    """Case 1: `-p n_repetitons 5` exits non-zero, names it, lists what there is, writes nothing."""
    project = make_project(a=notebook_source("1"), full={"a": {"n_repetitions": 5000}})
    done = invoke(project, "run", "--mode", mode, "-p", "n_repetitons", "5")
    assert done.exit_code == 1
    assert "'n_repetitons'" in done.stderr
    assert "n_repetitions, seed" in done.stderr
    assert not project.chapters.exists()


def test_misspelt_parameter_in_full_values_stops_every_run(make_project):
    """Case 1: a misspelling in full.yaml is found even by a reduced run."""
    project = make_project(a=notebook_source("1"), full={"a": {"n_repetitons": 5000}})
    with pytest.raises(BookError, match=r"full\.yaml.*'n_repetitons'.*n_repetitions, seed"):
        plan_jobs(project)


def test_unknown_notebook_in_full_values_is_named(make_project):
    """full.yaml must not name a notebook that doesn't exist."""
    project = make_project(a=notebook_source("1"), full={"b": {"n_repetitions": 5000}})
    with pytest.raises(BookError, match=r"full\.yaml: no notebook 'b'"):
        plan_jobs(project)


@pytest.mark.parametrize(
    "source",
    [
        pytest.param(notebook_source("n = 1", parameters=None), id="none"),
        pytest.param(notebook_source("1") + '\n# %% tags=["parameters"]\nm = 1\n', id="two"),
        pytest.param(
            notebook_source("1", parameters=None)
            + '\n# %% [markdown] tags=["parameters"]\n# n = 1\n',
            id="text",
        ),
    ],
)
def test_exactly_one_parameters_cell(make_project, source):
    """Case 2: without exactly one tagged code cell nothing runs."""
    with pytest.raises(BookError, match="tagged 'parameters', exactly one"):
        plan_jobs(make_project(a=source))


@pytest.mark.parametrize(
    "line",
    [
        'n: "int" = 5',
        "n: int = 5",
        'kind: Literal["a", "b"] = "a"',
        "n = m = 5",
        "a, b = 1, 2",
        "n += 5",
        "n = 5 if full else 1",
        "n = int(5)",
        "sizes = (1, 2)",
        "import numpy",
        "print(5)",
    ],
)
def test_only_plain_assignments(make_project, line):
    """Case 8: annotated, computed or other lines in the cell are refused, with the line shown."""
    with pytest.raises(BookError, match="name = value") as error:
        plan_jobs(make_project(a=notebook_source("1", parameters=line)))
    assert line.split()[0].strip(":,") in str(error.value)


def test_plain_values_of_every_kind(make_project):
    """Numbers, negative ones too, strings, True, None and lists are read as Python reads them."""
    cell = 'a = -1.5\nb = 2\nc = "x"\nd = True\ne = None\nf = [0.1, 0.3]\n# a remark\n'
    values = plan(make_project(a=notebook_source("1", parameters=cell)))
    assert values == {"a": -1.5, "b": 2, "c": "x", "d": True, "e": None, "f": [0.1, 0.3]}


def test_values_given_overlay_full_ones_which_overlay_defaults(make_project):
    """Defaults, then full.yaml in full mode, then the command line."""
    project = make_project(a=notebook_source("1"), full={"a": {"n_repetitions": 5000}})
    assert plan(project) == {"n_repetitions": 1, "seed": 7}
    assert plan(project, mode="full") == {"n_repetitions": 5000, "seed": 7}
    given = [("n_repetitions", "12")]
    assert plan(project, mode="full", given=given) == {"n_repetitions": 12, "seed": 7}


@pytest.mark.parametrize(
    ("default", "text", "value"),
    [
        ("1", "50", 50),
        ("1.0", "50", 50),
        ("1.0", "1e-3", 0.001),
        ("True", "False", False),
        ('"first"', "last", "last"),
        ('"first"', "5", "5"),
        ("[0.1]", "[0.1, 0.3]", [0.1, 0.3]),
        ("None", "3", 3),
    ],
)
def test_typed_values_are_read_by_the_default(make_project, default, text, value):
    """Text from a command line becomes a value of the default's type."""
    project = make_project(a=notebook_source("1", parameters=f"x = {default}"))
    read = plan(project, given=[("x", text)])["x"]
    assert read == value
    assert type(read) is type(value)


@pytest.mark.parametrize(
    ("default", "text"),
    [("1", "5.0"), ("1", "five"), ("1", "True"), ("True", "1"), ("[0.1]", "0.1"), ("[1]", "['a']")],
)
def test_values_of_another_type_are_refused(make_project, default, text):
    """The message names the parameter, what it got and what it takes."""
    project = make_project(a=notebook_source("1", parameters=f"x = {default}"))
    with pytest.raises(BookError, match=r"parameter 'x' takes .* got"):
        plan_jobs(project, given=[("x", text)])


def test_paper_value_comes_from_the_comment(make_project):
    """`# the paper: ...` gives the paper's value, up to a semicolon."""
    cell = "n = 1  # the paper: 5000; more is slow\nm = 2  # free\nk = [\n    1,\n]  # the paper: 7"
    job = plan_jobs(make_project(a=notebook_source("1", parameters=cell)))[0]
    assert {name: p.paper for name, p in job.parameters.items()} == {
        "n": "5000",
        "m": None,
        "k": "7",
    }


def test_every_chosen_notebook_must_know_the_parameter(make_project):
    """With several notebooks, the one that doesn't take the parameter is named."""
    project = make_project(a=notebook_source("1"), b=notebook_source("1", parameters="m = 1"))
    with pytest.raises(BookError, match=r"^b: unknown parameter 'n_repetitions'"):
        plan_jobs(project, given=[("n_repetitions", "2")])


def test_unknown_notebook_is_named(make_project):
    """A misspelt notebook is an error that lists those there are; a path to one is as good."""
    project = make_project(first=notebook_source("1"))
    with pytest.raises(BookError, match=r"no notebook 'frist'; there are: first"):
        plan_jobs(project, ["frist"])
    assert [job.stem for job in plan_jobs(project, ["notebooks/first.ipynb"])] == ["first"]


def test_nbformat_accepts_a_parameters_cell_of_ours(make_project):
    """The tag survives in the notebook that papermill gets."""
    job = plan_jobs(make_project(a=notebook_source("1")))[0]
    nbformat.validate(job.notebook)
    assert [c.metadata.get("tags") for c in job.notebook.cells][1] == ["parameters"]
