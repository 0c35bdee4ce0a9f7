"""Metadata for archives, made from CITATION.cff and from the provenance of the results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml
from rocrate.model.contextentity import ContextEntity
from rocrate.rocrate import ROCrate

from book.tools.pairs import read_source, source_stems
from book.tools.project import BookError, Project, differs

LICENCES = "https://spdx.org/licenses/"
PARTS = {
    "book/": "Pages, configuration and results of the book.",
    "book/results/": "Full-scale result tables, each with its provenance.",
    "notebooks/": "One notebook for each chapter, as a pair of a script and an .ipynb file.",
    "pvf/": "The library.",
    "tests/": "The tests.",
}
FILES = {
    "CITATION.cff": ("How to cite the software and the papers.", "application/yaml"),
    "LICENSE": ("The licence.", "text/plain"),
    "Makefile": ("The commands of the project.", "text/plain"),
    "README.md": ("What this is, and how to use it.", "text/markdown"),
    "pyproject.toml": ("Package metadata and dependencies.", "application/toml"),
    "requirements.lock": ("Exact versions with checksums.", "text/plain"),
}


def citation(project: Project) -> dict[str, Any]:
    """Read ``CITATION.cff``.

    Parameters
    ----------
    project : Project
    """
    return yaml.safe_load((project.root / "CITATION.cff").read_text(encoding="utf-8"))


def provenances(project: Project) -> dict[str, dict[str, Any]]:
    """Read the provenance of each committed table, by name.

    Parameters
    ----------
    project : Project
    """
    return {
        path.stem: json.loads(path.read_text(encoding="utf-8"))
        for path in sorted(project.results.glob("*.json"))
    }


def zenodo(project: Project) -> dict[str, Any]:
    """Return the metadata that Zenodo reads when a release of the repository is archived.

    Parameters
    ----------
    project : Project

    Returns
    -------
    dict
        For ``.zenodo.json``; the keys are those of Zenodo's deposit metadata.
    """
    cited = citation(project)
    related = [
        {"identifier": paper["url"], "relation": "isDerivedFrom", "scheme": "url"}
        for paper in cited["references"]
        if "url" in paper
    ]
    return {
        "title": cited["title"],
        "upload_type": "software",
        "description": f"<p>{cited['abstract']}</p>",
        "creators": [{"name": _name(author)} for author in cited["authors"]],
        "access_right": "open",
        "license": cited["license"],
        "version": cited["version"],
        "language": "eng",
        "keywords": cited["keywords"],
        "related_identifiers": related,
        "references": [_reference(paper) for paper in cited["references"]],
    }


def _name(author: dict[str, str]) -> str:
    if "name" in author:
        return author["name"]
    return f"{author['family-names']}, {author['given-names']}"


def _reference(paper: dict[str, Any]) -> str:
    """Write a paper as one line: authors, year, title, where."""
    authors = "; ".join(_name(author) for author in paper["authors"])
    where = paper.get("collection-title") or paper.get("notes", "")
    return f"{authors} ({paper['year']}). {paper['title']}. {where}."


def ro_crate(project: Project) -> dict[str, Any]:
    """Return a description of the repository as an RO-Crate.

    Parameters
    ----------
    project : Project

    Returns
    -------
    dict
        For ``ro-crate-metadata.json``: the data set, its files, the papers behind it, and for each
        committed table the run that made it.
    """
    cited, made = citation(project), provenances(project)
    crate = ROCrate(gen_preview=False, version="1.1")
    crate.name, crate.description = cited["title"], cited["abstract"]
    crate.datePublished = str(cited.get("date-released") or _newest(made))
    root = crate.root_dataset
    root["version"], root["keywords"] = cited["version"], ", ".join(cited["keywords"])
    root["license"] = _entity(
        crate, LICENCES + cited["license"], "CreativeWork", name=cited["license"]
    )
    developers = _entity(crate, "#developers", "Organization", name=cited["authors"][0]["name"])
    root["author"] = root["publisher"] = developers
    software = _entity(crate, "#pvf", "SoftwareApplication", name="pvf", version=cited["version"])
    for name, text in PARTS.items():
        crate.add_dataset(dest_path=name, properties={"name": name, "description": text})
    for name, (text, kind) in FILES.items():
        facts = {"name": name, "description": text, "encodingFormat": kind}
        crate.add_file(dest_path=name, properties=facts)
    for stem in source_stems(project):
        crate.add_file(dest_path=f"notebooks/{stem}.ipynb", properties=_notebook(project, stem))
    runs = []
    for name, facts in made.items():
        table = crate.add_file(
            dest_path=f"book/results/{name}.csv", properties=_table(project, name, facts)
        )
        run = _entity(crate, f"#run-{name}", "CreateAction", **_run(name, facts))
        run["instrument"], run["agent"], run["result"] = software, developers, table
        runs.append(run)
    software["softwareRequirements"] = crate.dereference("requirements.lock")
    root["mentions"] = runs
    root["citation"] = [
        _paper(crate, paper, number) for number, paper in enumerate(cited["references"], start=1)
    ]
    return crate.metadata.generate()


def _entity(crate: ROCrate, identifier: str, kind: str, **properties: Any) -> ContextEntity:
    """Add an entity that is no file, once."""
    return crate.dereference(identifier) or crate.add(
        ContextEntity(crate, identifier, properties={"@type": kind, **properties})
    )


def _newest(made: dict[str, dict[str, Any]]) -> str:
    """Day on which the newest of the results was made."""
    if not made:
        raise BookError("book/results holds no table, and CITATION.cff has no date-released")
    return max(facts["created"] for facts in made.values())[:10]


def _notebook(project: Project, stem: str) -> dict[str, Any]:
    opening = read_source(project.notebooks / f"{stem}.py").cells[0].source
    return {
        "@type": ["File", "SoftwareSourceCode"],
        "name": opening.splitlines()[0].removeprefix("# "),
        "encodingFormat": "application/x-ipynb+json",
        "programmingLanguage": "Python",
    }


def _table(project: Project, name: str, facts: dict[str, Any]) -> dict[str, Any]:
    return {
        "name": name,
        "description": facts["notes"],
        "encodingFormat": "text/csv",
        "contentSize": str((project.results / f"{name}.csv").stat().st_size),
        "dateCreated": facts["created"],
        "identifier": f"sha256:{facts['sha256']}",
    }


def _run(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Describe how a table came about."""
    return {
        "name": f"python -m studies tables {name}",
        "description": (
            f"Commit {facts['git']['commit']}, seed {facts['seed']}, "
            f"{facts['wall_time']:.0f} s on {facts['machine']['cores']} cores."
        ),
        "endTime": facts["created"],
    }


def _paper(crate: ROCrate, paper: dict[str, Any], number: int) -> ContextEntity:
    names = [f"{author['given-names']} {author['family-names']}" for author in paper["authors"]]
    people = [_entity(crate, f"#{n.replace(' ', '-')}", "Person", name=n) for n in names]
    entity = _entity(
        crate,
        paper.get("url", f"#paper-{number}"),
        "ScholarlyArticle",
        name=paper["title"],
        datePublished=str(paper["year"]),
    )
    entity["author"] = people
    return entity


#: Each file of metadata and what makes its content.
METADATA: dict[str, Callable[[Project], dict[str, Any]]] = {
    ".zenodo.json": zenodo,
    "ro-crate-metadata.json": ro_crate,
}


def _text(content: dict[str, Any]) -> str:
    return json.dumps(content, indent=2, ensure_ascii=False) + "\n"


def stale_metadata(project: Project) -> list[str]:
    """Name the files of metadata that are missing or not what they would be made now.

    Parameters
    ----------
    project : Project
    """
    return [
        name
        for name, make in METADATA.items()
        if differs(project.root / name, _text(make(project)))
    ]


def write_metadata(project: Project) -> list[str]:
    """Write the files of metadata that are out of date, and name them.

    Parameters
    ----------
    project : Project
    """
    stale = stale_metadata(project)
    for name in stale:
        (project.root / name).write_text(_text(METADATA[name](project)), encoding="utf-8")
    return stale


def check_metadata(project: Project) -> None:
    """Compare the files of metadata with what they are made from.

    Parameters
    ----------
    project : Project

    Raises
    ------
    BookError
        Naming those that are out of date.
    """
    stale = stale_metadata(project)
    if stale:
        raise BookError(f"out of date: {', '.join(stale)}; run `python -m book.tools metadata`")
