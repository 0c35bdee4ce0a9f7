"""What `pip install .` gives: every module imports, README's example and the docstrings run.

Run by the Python of an environment that holds nothing else, from another folder: `make plain`.
"""

import doctest
import importlib
import pkgutil
import re
import site
import sys
from pathlib import Path

import pvf

README = Path(__file__).resolve().parents[1] / "README.md"
LARGEST = 450  # MB, with all dependencies
OPTIONAL = ("matplotlib", "seaborn", "numba", "torch", "imblearn", "sphinx")
NEEDS = re.compile(r"pip install 'pvf\[\w+\]'")


class Runner(doctest.DocTestRunner):
    """Runs examples, and counts apart those that say which extra they need."""

    missing = None

    def report_unexpected_exception(self, out, test, example, exc_info) -> None:
        """Let an example fail only for want of an extra, which its error names."""
        if isinstance(exc_info[1], ImportError) and NEEDS.search(str(exc_info[1])):
            self.missing = test
        if self.missing is test:  # what follows in this example lacks what the extra would give
            self.failures -= 1
            return
        super().report_unexpected_exception(out, test, example, exc_info)


def library() -> list[str]:
    """Name every module of the installed package but those that start a program."""
    found = pkgutil.walk_packages(pvf.__path__, "pvf.")
    return ["pvf", *(module.name for module in found if not module.name.endswith("__main__"))]


def installed_megabytes() -> float:
    """Size of what is installed, without pip and setuptools, which were there before."""
    (folder,) = map(Path, site.getsitepackages()[:1])
    files = (path for path in folder.rglob("*") if path.is_file())
    before = ("pip", "setuptools", "pkg_resources", "_distutils_hack")
    kept = (path for path in files if not path.relative_to(folder).parts[0].startswith(before))
    return sum(path.stat().st_size for path in kept) / 1e6


def _blocks() -> str:
    """Return README's Python examples."""
    text = README.read_text(encoding="utf-8")
    return "\n".join(re.findall(r"```python\n(.*?)```", text, re.DOTALL))


def main() -> None:
    """Check all of it, and say what was found."""
    assert README.parent not in Path(pvf.__file__).resolve().parents[1:2], "this is the clone's own"
    modules = [importlib.import_module(name) for name in library()]
    loaded = [name for name in OPTIONAL if name in sys.modules]
    assert not loaded, f"a plain import loads {loaded}"
    runner = Runner(verbose=False, optionflags=doctest.ELLIPSIS)
    finder = doctest.DocTestFinder()
    readme = doctest.DocTestParser().get_doctest(_blocks(), {}, "README", str(README), 0)
    for test in [readme, *(test for module in modules for test in finder.find(module))]:
        runner.run(test)
    megabytes = installed_megabytes()
    print(
        f"{len(modules)} modules, {runner.tries} lines of examples, "
        f"{runner.failures} failed, {megabytes:.0f} MB"
    )
    assert runner.failures == 0
    assert megabytes <= LARGEST


if __name__ == "__main__":
    main()
