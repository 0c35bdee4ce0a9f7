"""Metadata for archives: in step with what they are made from, and valid."""

import hashlib
import json
import re
import shutil
import subprocess
import sys

import pytest
import yaml
from conftest import REPOSITORY, invoke

from book.tools import metadata as artifact
from book.tools.pairs import source_stems
from book.tools.project import BookError, Project

SCHEMA = REPOSITORY.root / "tests" / "reference" / "zenodo.schema.json"
CRATE = json.loads((REPOSITORY.root / "ro-crate-metadata.json").read_text(encoding="utf-8"))
GRAPH = {entity["@id"]: entity for entity in CRATE["@graph"]}
CITATION = yaml.safe_load((REPOSITORY.root / "CITATION.cff").read_text(encoding="utf-8"))


def check_zenodo(path):
    """Validate against our schema of the metadata that Zenodo documents."""
    command = [sys.executable, "-m", "check_jsonschema", "--schemafile", str(SCHEMA), str(path)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_metadata_are_up_to_date():
    """Both files are what CITATION.cff, the notebooks and the results make of them now."""
    assert artifact.stale_metadata(REPOSITORY) == []


def test_stale_metadata_are_found_and_mended(tmp_path):
    """A changed version makes both files stale; the check names them and the command mends them."""
    project = Project(tmp_path)
    for name in ("book/results", "notebooks"):
        shutil.copytree(REPOSITORY.root / name, tmp_path / name)
    for name in ("CITATION.cff", "_toc.yml", *artifact.METADATA):
        shutil.copy(REPOSITORY.root / name, tmp_path / name)
    artifact.check_metadata(project)
    path = tmp_path / "CITATION.cff"
    path.write_text(path.read_text().replace(f"version: {CITATION['version']}", "version: 9.9.9"))
    with pytest.raises(BookError, match=r"\.zenodo\.json, ro-crate-metadata\.json"):
        artifact.check_metadata(project)
    assert invoke(project, "metadata", "--check").exit_code == 1
    assert invoke(project, "metadata").output.count("written") == 2
    assert invoke(project, "metadata", "--check").exit_code == 0
    assert json.loads((tmp_path / ".zenodo.json").read_text())["version"] == "9.9.9"


def test_zenodo_metadata_keep_to_the_documented_form():
    """.zenodo.json has the keys and values that Zenodo documents for a deposit."""
    outcome = check_zenodo(REPOSITORY.root / ".zenodo.json")
    assert outcome.returncode == 0, outcome.stdout + outcome.stderr


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param('"upload_type": "software"', '"upload_type": "program"', id="unknown-type"),
        pytest.param('"creators"', '"authors"', id="misspelt-key"),
        pytest.param('"isDerivedFrom"', '"derivedFrom"', id="unknown-relation"),
        pytest.param('"access_right": "open"', '"access_right": "free"', id="unknown-right"),
    ],
)
def test_schema_refuses_faulty_zenodo_metadata(tmp_path, right, wrong):
    """The check fails on a wrong type, key, relation or right."""
    text = (REPOSITORY.root / ".zenodo.json").read_text(encoding="utf-8")
    assert right in text
    (tmp_path / "zenodo.json").write_text(text.replace(right, wrong, 1), encoding="utf-8")
    assert check_zenodo(tmp_path / "zenodo.json").returncode == 1


def references(value):
    """Yield every {"@id": ...} inside a value."""
    if isinstance(value, dict) and set(value) == {"@id"}:
        yield value["@id"]
    elif isinstance(value, list):
        for item in value:
            yield from references(item)


def test_crate_has_its_descriptor_and_root():
    """RO-Crate 1.1: the descriptor is about the root, which has the five required properties."""
    assert CRATE["@context"] == "https://w3id.org/ro/crate/1.1/context"
    descriptor = GRAPH["ro-crate-metadata.json"]
    assert descriptor["about"] == {"@id": "./"}
    assert descriptor["conformsTo"] == {"@id": "https://w3id.org/ro/crate/1.1"}
    root = GRAPH["./"]
    assert root["@type"] == "Dataset"
    assert {"name", "description", "datePublished", "license"} <= root.keys()
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", root["datePublished"])
    assert root["version"] == CITATION["version"]


def test_crate_is_one_connected_graph():
    """No id comes twice, none is mentioned in vain, and each entity has a type and a name."""
    assert len(GRAPH) == len(CRATE["@graph"])
    mentioned = {id_ for entity in GRAPH.values() for v in entity.values() for id_ in references(v)}
    assert mentioned - GRAPH.keys() == {"https://w3id.org/ro/crate/1.1"}
    assert GRAPH.keys() - mentioned == {"ro-crate-metadata.json"} | {
        id_ for id_ in GRAPH if id_.startswith("#run-") and id_ not in mentioned
    }
    unnamed = [id_ for id_, e in GRAPH.items() if not {"@type", "name"} <= e.keys()]
    assert unnamed == ["ro-crate-metadata.json"]


def test_files_of_the_crate_are_there():
    """Each file and folder of the crate exists, each is a part of the root, and nothing else is."""
    parts = set(references(GRAPH["./"]["hasPart"]))
    kinds = {id_: e["@type"] for id_, e in GRAPH.items() if id_ != "./"}
    assert parts == {id_ for id_, kind in kinds.items() if "File" in kind or kind == "Dataset"}
    for id_ in parts:
        path = REPOSITORY.root / id_
        assert path.is_dir() if id_.endswith("/") else path.is_file(), id_


def test_crate_holds_all_notebooks_and_tables():
    """No notebook and no committed table is missing, and tables have their size and checksum."""
    for stem in source_stems(REPOSITORY):
        assert f"notebooks/{stem}.ipynb" in GRAPH
    tables = sorted(REPOSITORY.results.glob("*.csv"))
    assert tables
    for path in tables:
        entity = GRAPH[f"book/results/{path.name}"]
        content = path.read_bytes()
        assert entity["contentSize"] == str(len(content))
        assert entity["identifier"] == f"sha256:{hashlib.sha256(content).hexdigest()}"
        run = GRAPH[f"#run-{path.stem}"]
        assert run["result"] == {"@id": f"book/results/{path.name}"}
        facts = json.loads(path.with_suffix(".json").read_text())
        assert facts["git"]["commit"] in run["description"]
        assert run["endTime"] == facts["created"]


def entries(text: str) -> dict[str, dict[str, str]]:
    """Read BibTeX entries with braced values: key to fields, spaces and inner braces dropped."""
    found = {}
    for kind, key, body in re.findall(r"@(\w+)\{([\w:-]+),\s*(.*?)\n\}", text, re.DOTALL):
        fields = re.findall(r"(\w+)\s*=\s*\{(.*?)\}\s*(?:,\s*\n|$)", body, re.DOTALL)
        values = {n.lower(): " ".join(re.sub(r"[{}]", "", v).split()) for n, v in fields}
        found[key] = {"type": kind, **values}
    return found


def test_box_on_how_to_cite_is_in_step():
    """Software and all three papers stand on the start page, in step with their two sources."""
    intro = (REPOSITORY.root / "book" / "intro.md").read_text(encoding="utf-8")
    shown = entries("\n".join(re.findall(r"```bibtex\n(.*?)```", intro, re.DOTALL)))
    library = entries((REPOSITORY.root / "book" / "references.bib").read_text(encoding="utf-8"))
    papers = {paper["title"]: paper for paper in CITATION["references"]}
    assert "pvf" in shown
    assert shown.keys() == {"pvf", "zhang2026pvf", "zhang2019pmv", "hsu2022rashomon"}
    for key, fields in shown.items():
        if key == "pvf":
            assert fields["title"] == CITATION["title"]
            assert fields["version"] == CITATION["version"]
            continue
        assert {k: v for k, v in fields.items() if k in library[key]} == library[key], key
        paper = papers[fields["title"]]
        assert fields["year"] == str(paper["year"])
        names = [f"{a['family-names']}, {a['given-names']}" for a in paper["authors"]]
        assert fields["author"] == " and ".join(names)
    cited = {fields["title"] for fields in library.values()}
    assert papers.keys() <= cited
