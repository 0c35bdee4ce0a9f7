"""Metadata for archives, made from CITATION.cff and from the provenance of the results."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import yaml

from book.tools.pairs import read_source, source_stems
from book.tools.project import BookError, Project

__all__ = ["METADATA", "check_metadata", "ro_crate", "stale_metadata", "write_metadata", "zenodo"]

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
    """Return a description of the repository as an RO-Crate, version 1.1.

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
    parts = [
        *_folders_and_files(),
        *_notebooks(project),
        *(_table(project, name, facts) for name, facts in made.items()),
    ]
    papers = [_paper(paper, number) for number, paper in enumerate(cited["references"], start=1)]
    people = {person["@id"]: person for paper in cited["references"] for person in _people(paper)}
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": cited["title"],
        "description": cited["abstract"],
        "datePublished": str(cited.get("date-released") or _newest(made)),
        "license": {"@id": LICENCES + cited["license"]},
        "version": cited["version"],
        "keywords": ", ".join(cited["keywords"]),
        "author": {"@id": "#developers"},
        "publisher": {"@id": "#developers"},
        "citation": _ids(papers),
        "hasPart": _ids(parts),
        "mentions": [{"@id": f"#run-{name}"} for name in made],
    }
    graph = [
        {
            "@id": "ro-crate-metadata.json",
            "@type": "CreativeWork",
            "about": {"@id": "./"},
            "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        },
        root,
        *parts,
        *(_run(name, facts) for name, facts in made.items()),
        {
            "@id": "#pvf",
            "@type": "SoftwareApplication",
            "name": "pvf",
            "version": cited["version"],
            "softwareRequirements": {"@id": "requirements.lock"},
        },
        {"@id": "#developers", "@type": "Organization", "name": cited["authors"][0]["name"]},
        {
            "@id": LICENCES + cited["license"],
            "@type": "CreativeWork",
            "name": cited["license"],
            "description": "The licence of the software and of the book.",
        },
        *papers,
        *people.values(),
    ]
    return {"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": graph}


def _ids(entities: list[dict[str, Any]]) -> list[dict[str, str]]:
    return [{"@id": entity["@id"]} for entity in entities]


def _newest(made: dict[str, dict[str, Any]]) -> str:
    """Day on which the newest of the results was made."""
    if not made:
        raise BookError("book/results holds no table, and CITATION.cff has no date-released")
    return max(facts["created"] for facts in made.values())[:10]


def _folders_and_files() -> list[dict[str, Any]]:
    folders = [
        {"@id": name, "@type": "Dataset", "name": name, "description": text}
        for name, text in PARTS.items()
    ]
    files = [
        {"@id": name, "@type": "File", "name": name, "description": text, "encodingFormat": kind}
        for name, (text, kind) in FILES.items()
    ]
    return folders + files


def _notebooks(project: Project) -> list[dict[str, Any]]:
    entities: list[dict[str, Any]] = []
    for stem in source_stems(project):
        opening = read_source(project.notebooks / f"{stem}.py").cells[0].source
        entities.append(
            {
                "@id": f"notebooks/{stem}.ipynb",
                "@type": ["File", "SoftwareSourceCode"],
                "name": opening.splitlines()[0].removeprefix("# "),
                "encodingFormat": "application/x-ipynb+json",
                "programmingLanguage": "Python",
            }
        )
    return entities


def _table(project: Project, name: str, facts: dict[str, Any]) -> dict[str, Any]:
    file = f"book/results/{name}.csv"
    return {
        "@id": file,
        "@type": "File",
        "name": name,
        "description": facts["notes"],
        "encodingFormat": "text/csv",
        "contentSize": str((project.root / file).stat().st_size),
        "dateCreated": facts["created"],
        "identifier": f"sha256:{facts['sha256']}",
    }


def _run(name: str, facts: dict[str, Any]) -> dict[str, Any]:
    """Describe how a table came about."""
    return {
        "@id": f"#run-{name}",
        "@type": "CreateAction",
        "name": f"python -m studies tables {name}",
        "description": (
            f"Commit {facts['git']['commit']}, seed {facts['seed']}, "
            f"{facts['wall_time']:.0f} s on {facts['machine']['cores']} cores."
        ),
        "instrument": {"@id": "#pvf"},
        "agent": {"@id": "#developers"},
        "endTime": facts["created"],
        "result": {"@id": f"book/results/{name}.csv"},
    }


def _people(paper: dict[str, Any]) -> list[dict[str, Any]]:
    return [
        {
            "@id": "#" + name.replace(" ", "-"),
            "@type": "Person",
            "name": name,
        }
        for author in paper["authors"]
        for name in [f"{author['given-names']} {author['family-names']}"]
    ]


def _paper(paper: dict[str, Any], number: int) -> dict[str, Any]:
    return {
        "@id": paper.get("url", f"#paper-{number}"),
        "@type": "ScholarlyArticle",
        "name": paper["title"],
        "author": _ids(_people(paper)),
        "datePublished": str(paper["year"]),
    }


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
        if not (project.root / name).is_file()
        or (project.root / name).read_text(encoding="utf-8") != _text(make(project))
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
