"""Which files `irscope lint` reads, and what their project says of the rules."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

from irscope.model import UserError

_KEYS = ("select", "ignore")


@dataclass(frozen=True, slots=True)
class LintSettings:
    """`[tool.irscope.lint]` of a pyproject.toml: the rules to look for (none: all) and those not to."""

    file: Path | None = None
    select: list[str] = field(default_factory=list)
    ignore: list[str] = field(default_factory=list)


def python_files(path: Path) -> Iterator[Path]:
    """`path` itself, or the Python files of a folder and those within, in order; not those in hidden ones."""
    if path.is_file():
        yield path
        return
    for file in sorted(path.rglob("*.py")):
        if not any(part.startswith(".") for part in file.relative_to(path).parts) and file.is_file():
            yield file


def settings_for(file: Path) -> LintSettings:
    """The settings of the nearest pyproject.toml above a file. Raises UserError where it has bad ones."""
    return _settings(file.resolve().parent)


@lru_cache(maxsize=1024)
def _settings(folder: Path) -> LintSettings:
    file = folder / "pyproject.toml"
    if file.is_file():
        return _read(file)
    return LintSettings() if folder.parent == folder else _settings(folder.parent)


def _read(file: Path) -> LintSettings:
    if sys.version_info >= (3, 11):
        import tomllib
    else:
        import tomli as tomllib

    try:
        table: Any = tomllib.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError) as error:
        raise UserError(f"{file}: cannot be read: {error}") from error
    for key in ("tool", "irscope", "lint"):
        table = table.get(key, {}) if isinstance(table, dict) else {}
    if not isinstance(table, dict) or not all(
        key in _KEYS and isinstance(value, list) and all(isinstance(one, str) for one in value)
        for key, value in table.items()
    ):
        raise UserError(
            f"{file}: [tool.irscope.lint] has lists of rules, {' and '.join(_KEYS)}, nothing else"
        )
    return LintSettings(file, table.get("select", []), table.get("ignore", []))
