"""Imports the file that a kernel is in: a script, a module of a package, or a notebook.

Importing executes the file; its `__main__` part does not run. Runs in worker processes.

Files of another machine in this process: modules run from copies, under the names that they have there.

A worker of a cluster lacks the user's files, so it gets copies below a folder of its own:

    /home/ann/kernels/matmul.py  ->  /tmp/worker-1/irscope-x/home/ann/kernels/matmul.py

Imports find the copies, but code, and with it the locations in the compiler's IR, has the original names: a
stage is byte for byte the same wherever it was compiled.
"""

from __future__ import annotations

import ast
import importlib
import importlib.util
import json
import linecache
import sys
from collections.abc import Iterable, Mapping
from contextlib import suppress
from functools import cache
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from irscope.model import UserError
from irscope.model.errors import error_line
from irscope.model.records import frozen

# The folder that holds the copies; None: this process has none.
_root: Path | None = None


def use_copies(root: Path, folders: Iterable[str]) -> None:
    """Make this process import from the copies below `root`, for good.

    `folders` are those of the other machine that modules are found in, in the order of its `sys.path`.
    """
    global _root  # noqa: PLW0603 - like sys.path, it belongs to the process
    _root = root
    sys.path_hooks.insert(0, _finder)
    sys.path_importer_cache.clear()
    import_folders = [str(copy) for folder in folders if (copy := copy_path(root, folder)).is_dir()]
    sys.path[:0] = import_folders
    for copy in root.rglob("*.py"):
        lines = copy.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
        # Without a time, linecache never looks for the file, which may exist here with another content.
        linecache.cache[original(copy)] = (1, None, lines, original(copy))


def copy_path(root: Path, name: str) -> Path:
    """Return where below `root` the copy of the file or folder with this absolute path is."""
    return root / Path(name).relative_to(Path(name).anchor)


def copy_of(path: Path) -> Path:
    """Return the copy of a file of another machine, or `path` itself if there is none."""
    if _root is None or not path.is_absolute():
        return path
    copy = copy_path(_root, str(path))
    return copy if copy.exists() else path


def original(path: Path) -> str:
    """Return the name that the code of a file has: for a copy, the file's name on the other machine."""
    if _root is None or _root not in path.parents:
        return str(path)
    return str(Path(path.anchor) / path.relative_to(_root))


class CopyLoader(SourceFileLoader):
    """Loads a module from a copy."""

    def get_code(self, fullname: str) -> CodeType:
        """Return the module's code, compiled from its text: bytecode files would have the copy's name."""
        code: CodeType = compile(
            self.get_data(self.path), original(Path(self.path)), "exec", dont_inherit=True
        )
        return code


def loader_of(name: str, path: Path) -> CopyLoader | None:
    """Return the loader of a module whose file is a copy, or None for any other file."""
    return CopyLoader(name, str(path)) if original(path) != str(path) else None


def _finder(folder: str) -> FileFinder:
    """Return the finder of a folder of copies, as `sys.path_hooks` asks for it."""
    if _root is None or (Path(folder) != _root and _root not in Path(folder).parents):
        raise ImportError
    return FileFinder(folder, (CopyLoader, SOURCE_SUFFIXES))


NOTEBOOK = ".ipynb"
_DEFINING = (ast.FunctionDef, ast.ClassDef)
_ASSIGNING = (ast.Import, ast.ImportFrom, ast.Assign, ast.AnnAssign, ast.If, ast.Try)
# Lines of a notebook that IPython, and not Python, understands.
_MAGIC = ("%", "!", "?")
# Modules that another name installs.
_DISTRIBUTIONS = {"cv2": "opencv-python", "PIL": "pillow", "sklearn": "scikit-learn", "yaml": "pyyaml"}


def module_file(name: str) -> Path | None:
    """Find the file of the module `pkg.mod` without importing it; None if there is none."""
    folders, spec = [str(Path.cwd()), *sys.path], None
    for part in name.split("."):
        spec = PathFinder.find_spec(part, folders) if part.isidentifier() else None
        if spec is None:
            return None
        folders = list(spec.submodule_search_locations or ())
    return Path(spec.origin) if spec is not None and spec.origin else None


@frozen
class LoadedFile:
    """The names of an imported file.

    `skipped` says which statements failed and were left out, of the file or of a package that it is in; if
    some of the file were, `error` is why Python cannot import it as it is.
    """

    names: Mapping[str, Any]
    skipped: tuple[str, ...] = ()
    error: UserError | None = None


def load_file(path: Path) -> Mapping[str, Any]:
    """Return the names of the file at `path`; see `import_file`."""
    return import_file(path).names


@cache
def import_file(path: Path) -> LoadedFile:
    """Import the file at `path`.

    If its import fails, its imports, definitions and assignments are executed one by one, without those that
    fail. Raises UserError if the file is missing or is not Python.
    """
    path = copy_of(path)
    if not path.is_file():
        raise UserError(f"{path}: no such Python file")
    skipped: list[str] = []
    try:
        if path.suffix == NOTEBOOK:
            return LoadedFile(_run_notebook(path))
        return LoadedFile(vars(_import(path, skipped)), tuple(skipped))
    except UserError:
        raise
    except (SyntaxError, SystemExit, KeyboardInterrupt) as error:
        raise _import_error(path, error, skipped) from error
    except BaseException as error:  # noqa: BLE001 - user code may raise anything
        problem = _import_error(path, error, skipped)
        module = _new_module(path, _free_name(path, ".".join(_module_name(path))))
        skipped += _run_definitions(module, path.read_bytes(), path)
        return LoadedFile(vars(module), tuple(skipped), problem)


def _import(path: Path, skipped: list[str]) -> ModuleType:
    """Import a file under its name in its package, so that its relative imports work.

    If that fails, the file is imported without it: it may not need the package.
    """
    if not package_of(path):
        return _import_alone(path)
    try:
        _import_packages(path, skipped)
        return _execute(path, ".".join(_module_name(path)))
    except Exception:
        with suppress(Exception):
            return _import_alone(path)
        raise


def _import_alone(path: Path) -> ModuleType:
    """Import a file under its own name, as if its folder were the script's."""
    _add_to_path(path.parent)
    return _execute(path, _free_name(path, path.stem))


def _free_name(path: Path, name: str) -> str:
    """`name`, or a similar one if another file's module has it (a kernel's file may be called math.py)."""
    return (
        name
        if name not in sys.modules or _is_at(sys.modules[name], path)
        else f"{name}_of_{path.parent.stem}"
    )


def _is_at(module: ModuleType, path: Path) -> bool:
    """Return True if a module is the one of the file at `path`."""
    return Path(getattr(module, "__file__", None) or "").resolve() == path.resolve()


def _import_packages(path: Path, skipped: list[str]) -> None:
    """Import the packages that a file is in.

    One whose own code fails (a library checks its other dependencies there) is imported without the
    statements that fail.
    """
    package = package_of(path)
    root = path.resolve().parents[len(package)]
    _add_to_path(root)
    for depth in range(1, len(package) + 1):
        name, folder = ".".join(package[:depth]), root.joinpath(*package[:depth])
        file = folder / "__init__.py"
        try:
            if folder in map(Path, importlib.import_module(name).__path__):
                continue
        except (Exception, SystemExit) as error:  # noqa: BLE001 - user code may raise anything
            skipped.append(f"{folder.name}/__init__.py: {error_line(error)}")
        module = _new_module(file, name)
        module.__path__ = [str(folder)]
        if file.is_file():
            _run_definitions(module, file.read_bytes(), file)


def package_of(path: Path) -> tuple[str, ...]:
    """Return the names of the packages that a file is in, the outermost first.

    Those between may lack a file.
    """
    folders = [folder for folder in path.resolve().parents if (folder / "__init__.py").is_file()]
    if not folders:
        return ()
    names = path.resolve().relative_to(folders[-1].parent).parts[:-1]
    return names if all(map(str.isidentifier, names)) else ()


def _module_name(path: Path) -> tuple[str, ...]:
    return (*package_of(path), *([] if path.stem == "__init__" else [path.stem]))


def _execute(path: Path, name: str) -> ModuleType:
    """Return the module `name` of the file at `path`, which its package may have imported already."""
    imported = sys.modules.get(name)
    if imported is not None and _is_at(imported, path):
        return imported
    spec = importlib.util.spec_from_file_location(name, path, loader=loader_of(name, path))
    if spec is None or spec.loader is None:
        raise UserError(f"{path}: not a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        sys.modules.pop(name, None)  # the file may have removed or replaced it
        raise
    return module


def _new_module(path: Path, name: str) -> ModuleType:
    """Create an empty module for the file at `path`."""
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = name if path.name == "__init__.py" else name.rpartition(".")[0]
    sys.modules[name] = module
    return module


def _add_to_path(folder: Path) -> None:
    """Add a folder to `sys.path` for good: functions of the file may import when they run."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))


def _run_notebook(path: Path) -> Mapping[str, Any]:
    """Return the names that a notebook gives without the statements that only a GPU can run."""
    source = _notebook_source(path)
    lines = source.splitlines(keepends=True)
    linecache.cache[original(path)] = (len(source), None, lines, original(path))
    module = _new_module(path, path.stem)
    _run_definitions(module, source, path)
    return vars(module)


def _run_definitions(module: ModuleType, source: str | bytes, path: Path) -> list[str]:
    """Execute the imports, definitions and assignments of a file, within `if` and `try` too, one by one.

    Other statements do not run: without a GPU or another module, the file cannot run as a whole. Returns a
    line for each statement that failed. Bytes are decoded as Python decodes a file.
    """
    failed = []
    for statement in ast.parse(source, original(path)).body:
        if not isinstance(statement, _DEFINING + _ASSIGNING):
            continue
        code = compile(ast.Module([statement], []), original(path), "exec")
        try:
            exec(code, vars(module))  # noqa: S102 - the user asked to import the file
        except Exception as error:  # noqa: BLE001 - user code may raise anything
            failed.append(f"{path.name}:{statement.lineno}: {error_line(error)}")
    return failed


def _notebook_source(path: Path) -> str:
    """Return the code cells of a notebook as one text; IPython's own lines are comments."""
    try:
        cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
        codes = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "code"]
    except (ValueError, KeyError, TypeError) as error:
        raise UserError(f"{path}: not a Jupyter notebook: {error_line(error)}") from error
    lines = [line for code in codes if not code.startswith("%%") for line in [*code.split("\n"), ""]]
    return "\n".join(f"# {line}" if line.lstrip().startswith(_MAGIC) else line for line in lines)


def _import_error(path: Path, error: BaseException, packages: list[str]) -> UserError:
    """Explain why a file cannot be imported, and name the command that may help."""
    if isinstance(error, ModuleNotFoundError) and error.name:
        return UserError(
            f"{path}: needs the module '{error.name}', which is not installed{_install(error.name, path)}"
        )
    # A package that is imported in part is the likelier cause.
    cause = f" (after {packages[0]})" if packages else ""
    return UserError(f"{path}: importing it fails: {error_line(error)}{cause}{_run_instead(path)}")


def _install(module: str, path: Path) -> str:
    """Return the command that installs a module; "" if it should be a part of the file's own package."""
    name = module.partition(".")[0]
    # find_spec raises for modules that a program made and put into sys.modules.
    if name in package_of(path)[:1] or name in sys.modules or importlib.util.find_spec(name) is not None:
        return ""
    return (
        "; pip install 'irscope[run]'"
        if name == "torch"
        else f"; pip install {_DISTRIBUTIONS.get(name, name)}"
    )


def _run_instead(path: Path) -> str:
    """Return the command that captures what a program launches from this file."""
    name = ".".join(_module_name(path))
    return f"; if a program of yours uses it, capture that: irscope run PROGRAM.py, or irscope run -m {name}"
