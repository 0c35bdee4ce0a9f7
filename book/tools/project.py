"""Where the book's sources and products are, and the one error that all its commands raise."""

from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


class BookError(ValueError):
    """A fault in the book's sources or in making it, told in a message that names the file."""


@dataclass(frozen=True)
class Project:
    """The book's folders, all below one root.

    Parameters
    ----------
    root : Path
        The folder that holds ``_config.yml``, ``_toc.yml`` and ``notebooks/``.

    Examples
    --------
    >>> Project(Path("here")).chapters.as_posix()
    'here/book/chapters'
    """

    root: Path

    @property
    def notebooks(self) -> Path:
        """Notebook pairs, ``.py`` and ``.ipynb``."""
        return self.root / "notebooks"

    @property
    def full_values(self) -> Path:
        """The YAML file with the parameters of the full run."""
        return self.notebooks / "full.yaml"

    @property
    def chapters(self) -> Path:
        """Executed notebooks."""
        return self.root / "book" / "chapters"

    @property
    def results(self) -> Path:
        """Committed full-scale tables."""
        return self.root / "book" / "results"

    @property
    def logs(self) -> Path:
        """What notebooks wrote to standard error."""
        return self.root / "_build" / "logs"

    @property
    def html(self) -> Path:
        """The built book."""
        return self.root / "_build" / "html"

    def relative(self, path: Path) -> str:
        """Path as it is shown to people: below the root where it is below the root.

        Examples
        --------
        >>> Project(Path("/a")).relative(Path("/a/notebooks/n.py"))
        'notebooks/n.py'
        """
        return (
            path.relative_to(self.root).as_posix() if path.is_relative_to(self.root) else str(path)
        )


def differs(path: Path, text: str) -> bool:
    """Tell whether a file is missing or holds another text."""
    return not path.is_file() or path.read_bytes() != text.encode()


def find_project(start: Path | None = None) -> Project:
    """Project around a folder: its nearest parent with a book in it, else this package's own.

    Parameters
    ----------
    start : Path, optional
        Where to begin; the working directory by default.

    Raises
    ------
    BookError
        If neither the folder's parents nor the package's hold a ``_toc.yml`` and a ``notebooks/``.
    """
    start = (start or Path.cwd()).resolve()
    for folder in (start, *start.parents, ROOT):
        if (folder / "_toc.yml").is_file() and (folder / "notebooks").is_dir():
            return Project(folder)
    raise BookError(
        f"no book at or above {start}: go to a clone of the repository (the folder with _toc.yml)"
    )
