"""Files of another machine in this process: modules run from copies, under the names that they have there.

A worker of a cluster lacks the user's files, so it gets copies below a folder of its own:

    /home/ann/kernels/matmul.py  ->  /tmp/worker-1/irscope-x/home/ann/kernels/matmul.py

Imports find the copies, but code, and with it the locations in the compiler's IR, has the original names: a
stage is byte for byte the same wherever it was compiled.
"""

from __future__ import annotations

import linecache
import sys
from collections.abc import Iterable
from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader
from pathlib import Path
from types import CodeType

# The folder that holds the copies; None: this process has none.
_root: Path | None = None


def use_copies(root: Path, folders: Iterable[str]) -> None:
    """Makes this process import from the copies below `root`, for good.

    `folders` are those of the other machine that modules are found in, in the order of its `sys.path`.
    """
    global _root  # noqa: PLW0603 - like sys.path, it belongs to the process
    _root = root
    sys.path_hooks.insert(0, _finder)
    sys.path_importer_cache.clear()
    found = [str(copy) for folder in folders if (copy := copy_path(root, folder)).is_dir()]
    sys.path[:0] = found
    for copy in root.rglob("*.py"):
        lines = copy.read_bytes().decode("utf-8", "replace").splitlines(keepends=True)
        # Without a time, linecache never looks for the file, which may exist here with another content.
        linecache.cache[original(copy)] = (1, None, lines, original(copy))


def copy_path(root: Path, name: str) -> Path:
    """Where below `root` the copy of the file or folder with this absolute path is."""
    return root / Path(name).relative_to(Path(name).anchor)


def copy_of(path: Path) -> Path:
    """The copy of a file of another machine; `path` itself if there is none."""
    if _root is None or not path.is_absolute():
        return path
    copy = copy_path(_root, str(path))
    return copy if copy.exists() else path


def original(path: Path) -> str:
    """The name that the code of a file has: for a copy, that of the file on the other machine."""
    if _root is None or _root not in path.parents:
        return str(path)
    return str(Path(path.anchor) / path.relative_to(_root))


class CopyLoader(SourceFileLoader):
    """Loads a module from a copy."""

    def get_code(self, fullname: str) -> CodeType:
        """The module's code, compiled from its text: bytecode files would have the name of the copy."""
        code: CodeType = compile(
            self.get_data(self.path), original(Path(self.path)), "exec", dont_inherit=True
        )
        return code


def loader_of(name: str, path: Path) -> CopyLoader | None:
    """The loader of a module whose file is a copy; None for any other file."""
    return CopyLoader(name, str(path)) if original(path) != str(path) else None


def _finder(folder: str) -> FileFinder:
    """The finder of a folder of copies, as `sys.path_hooks` asks for it."""
    if _root is None or (Path(folder) != _root and _root not in Path(folder).parents):
        raise ImportError
    return FileFinder(folder, (CopyLoader, SOURCE_SUFFIXES))
