"""Compares the functions in a manifest with the files of this machine, as text: nothing is imported."""

from __future__ import annotations

import ast
import hashlib
import inspect
import sys
from functools import lru_cache
from pathlib import Path

from irscope.warming.manifest import SourceLines

_PACKAGES = ("site-packages", "dist-packages")
# Longer files are no Python modules that somebody wrote.
_MAX_BYTES = 16 << 20


def find_changes(source: SourceLines) -> str | None:
    """How a function here differs from the manifest's ("": not at all); None if its file is not found.

    Triton's key has a function's text and first line, not the path of its file.
    """
    path = _local_file(source.file)
    lines = None if path is None else _lines(path)
    if path is None or lines is None:
        return None
    if _digest(lines, source.line) == source.digest:
        return ""
    for first in _definitions(path, source.name):
        if _digest(lines, first) == source.digest:
            return f"{path}: line {source.line} in the folder, {first} here (the key has the line number)"
    return f"{path}:{source.line}: the function's text differs"


def _local_file(name: str) -> Path | None:
    """The file at this path, or in the same package installed elsewhere."""
    path = Path(name)
    if path.is_file():
        return path
    for folder in _PACKAGES:
        if folder in path.parts:
            rest = path.parts[len(path.parts) - path.parts[::-1].index(folder) :]
            places = (Path(entry, *rest) for entry in sys.path)
            return next((place for place in places if place.is_file()), None)
    return None


@lru_cache(maxsize=256)
def _lines(path: Path) -> tuple[str, ...] | None:
    try:
        if path.stat().st_size > _MAX_BYTES:  # a manifest may name any file
            return None
        return tuple(path.read_text(encoding="utf-8", errors="replace").splitlines(keepends=True))
    except OSError:
        return None


def _digest(lines: tuple[str, ...], first: int) -> str:
    """sha256 (hex) of the function that begins at this line, decorators included, as `inspect` finds it."""
    try:
        text = "".join(inspect.getblock(list(lines[first - 1 :])))
    except (SyntaxError, IndexError):
        return ""
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()


@lru_cache(maxsize=256)
def _tree(path: Path) -> ast.Module | None:
    try:
        return ast.parse("".join(_lines(path) or ()))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None


def _definitions(path: Path, name: str) -> list[int]:
    """The first lines of the functions called `name`, decorators included."""
    tree = _tree(path)
    return [
        min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
        for node in (ast.walk(tree) if tree else ())
        if isinstance(node, ast.FunctionDef) and node.name == name
    ]
