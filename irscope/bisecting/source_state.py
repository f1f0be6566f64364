"""A digest of a Python file and of the user's files that it imports, read as text: nothing is executed."""

from __future__ import annotations

import ast
import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path

# Beyond this, files are not followed: a package of the user's has fewer.
_MOST_FILES = 400


def source_state(file: Path, root: Path | None = None) -> str:
    """The digest of `file` and the files it imports from its own folders; names count from `root`.

    Imports are found in the text, also those inside functions. Installed packages are not followed. Paths
    below `root` enter relative to it, so that the same files in two folders have the same digest.
    """
    digest = hashlib.sha256()
    for path in source_files(file, root):
        name = path.relative_to(root) if root and path.is_relative_to(root) else path
        digest.update(f"{name}\0".encode("utf-8", "replace"))
        digest.update(hashlib.sha256(path.read_bytes()).digest())
    return digest.hexdigest()


def source_files(file: Path, root: Path | None = None) -> list[Path]:
    """The file and those that it imports from its own folders, in the order in which they are found."""
    first = file.resolve()
    bases = [first.parent, *_package_roots(first), *([root.resolve()] if root else [])]
    found: dict[Path, None] = {first: None}
    waiting = [first]
    while waiting and len(found) < _MOST_FILES:
        path = waiting.pop()
        for each in _imported(path, bases):
            if each not in found:
                found[each] = None
                waiting.append(each)
    return list(found)


def _package_roots(file: Path) -> Iterator[Path]:
    """The folder above the outermost package that a file is in."""
    folder = file.parent
    while (folder / "__init__.py").is_file() and folder != folder.parent:
        folder = folder.parent
    yield folder


def _imported(path: Path, bases: list[Path]) -> Iterator[Path]:
    try:
        tree = ast.parse(path.read_bytes())
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield from _files(alias.name, (), bases)
        elif isinstance(node, ast.ImportFrom):
            names = tuple(alias.name for alias in node.names)
            places = bases
            if node.level:
                places = [path.parents[min(node.level, len(path.parents)) - 1]]
            yield from _files(node.module or "", names, places)


def _files(module: str, names: tuple[str, ...], bases: list[Path]) -> Iterator[Path]:
    """The files of a module, of the packages around it, and of the modules that `names` may be."""
    if module.partition(".")[0] in sys.stdlib_module_names:
        return
    parts = module.split(".") if module else []
    for base in bases:
        wanted = [parts[:number] for number in range(1, len(parts) + 1)]
        wanted += [[*parts, name] for name in names if name.isidentifier()]
        for each in wanted:
            for file in (base.joinpath(*each).with_suffix(".py"), base.joinpath(*each, "__init__.py")):
                if file.is_file():
                    yield file.resolve()
