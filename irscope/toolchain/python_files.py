"""Imports the file that a kernel is in: a script, a module of a package, or a notebook.

Importing executes the file; its `__main__` part does not run. Runs in worker processes.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import linecache
import sys
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any

from irscope.model import UserError

NOTEBOOK = ".ipynb"
_DEFINING = (ast.FunctionDef, ast.ClassDef)
_ASSIGNING = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
# Lines of a notebook that IPython, and not Python, understands.
_MAGIC = ("%", "!", "?")


def module_file(name: str) -> Path | None:
    """The file of the module `pkg.mod`, found without importing it; None if there is none."""
    folders, spec = [str(Path.cwd()), *sys.path], None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, folders) if part.isidentifier() else None
        if spec is None:
            return None
        folders = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None


@cache
def load_file(path: Path) -> Mapping[str, Any]:
    """Imports the file at `path` and returns its names.

    Raises UserError if the file is missing or its import fails.
    """
    if not path.is_file():
        raise UserError(f"{path}: no such Python file")
    try:
        if path.suffix == NOTEBOOK:
            return _run_notebook(path)
        return vars(_import_in_package(path) if _package_of(path) else _import_alone(path))
    except ModuleNotFoundError as error:
        hint = "; pip install 'irscope[run]'" if error.name == "torch" else ""
        raise UserError(f"{path}: needs the module '{error.name}', which is not installed{hint}") from error
    except UserError:
        raise
    except BaseException as error:  # user code may raise anything, SystemExit included
        raise UserError(f"{path}: importing it fails: {_one_line(error)}{_run_instead(path)}") from error


def _import_alone(path: Path) -> ModuleType:
    """Imports a file under its own name, as if its folder were the script's."""
    _add_to_path(path.parent)
    return _execute(path, path.stem)


def _import_in_package(path: Path) -> ModuleType:
    """Imports a file under its name in its package, so that its relative imports work.

    A package whose own code fails (a library checks its other dependencies there) is imported empty. A file
    that still cannot be imported may need no package: it is imported alone as the last resort.
    """
    package = _package_of(path)
    root = path.resolve().parents[len(package)]
    name = ".".join([*package, *([] if path.stem == "__init__" else [path.stem])])
    _add_to_path(root)
    try:
        for depth in range(1, len(package) + 1):
            _import_package(".".join(package[:depth]), root.joinpath(*package[:depth]))
        return _execute(path, name)
    except Exception:
        with suppress(Exception):
            return _import_alone(path)
        raise


def _import_package(name: str, folder: Path) -> None:
    """Imports a package, or an empty one in its place if its code fails."""
    with suppress(Exception, SystemExit):
        if folder in map(Path, importlib.import_module(name).__path__):
            return
    empty = ModuleType(name)
    empty.__path__ = [str(folder)]
    sys.modules[name] = empty


def _package_of(path: Path) -> tuple[str, ...]:
    """The names of the packages that a file is in, the outermost first; those between may lack a file."""
    folders = [folder for folder in path.resolve().parents if (folder / "__init__.py").is_file()]
    if not folders:
        return ()
    names = path.resolve().relative_to(folders[-1].parent).parts[:-1]
    return names if all(map(str.isidentifier, names)) else ()


def _execute(path: Path, name: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _add_to_path(folder: Path) -> None:
    """Adds a folder to `sys.path` for good: functions of the file may import when they run."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _run_notebook(path: Path) -> Mapping[str, Any]:
    """The names that a notebook's imports, definitions and assignments give, also within `if` and `try`.

    Other statements do not run. A statement that fails is skipped, unless it is a definition: without a GPU,
    a notebook cannot run as a whole.
    """
    source = _notebook_source(path)
    linecache.cache[str(path)] = (len(source), None, source.splitlines(keepends=True), str(path))
    module = ModuleType(path.stem)
    module.__file__ = str(path)
    sys.modules[path.stem] = module
    for statement in ast.parse(source, str(path)).body:
        if not isinstance(statement, _DEFINING + _ASSIGNING):
            continue
        code = compile(ast.Module([statement], []), str(path), "exec")
        with suppress(*(() if isinstance(statement, _DEFINING) else (Exception,))):
            exec(code, vars(module))  # noqa: S102 - the user asked to import the notebook
    return vars(module)


def _notebook_source(path: Path) -> str:
    """The code cells of a notebook as one text; IPython's own lines are comments."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a Jupyter notebook: {_one_line(error)}") from error
    lines = [line for code in codes if not code.startswith("%%") for line in [*code.split("\n"), ""]]
    return "\n".join(f"# {line}" if line.lstrip().startswith(_MAGIC) else line for line in lines)


def _run_instead(path: Path) -> str:
    """The command that captures what a program launches from this file."""
    name = ".".join([*_package_of(path), path.stem])
    return f"; if a program of yours uses it, capture that: irscope run PROGRAM.py, or irscope run -m {name}"


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
