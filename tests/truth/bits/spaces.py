"""Lists all spaces of this folder."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from fnmatch import fnmatchcase

from tests.truth.bits.space import Space

MODULES = (
    "dots", "clusters", "reductions", "scans", "pointwise", "atomics", "descriptors", "gluons", "libraries", "attentions",
)  # fmt: skip


def spaces(patterns: Sequence[str] = ("*",)) -> list[Space]:
    """Return the spaces whose names match one of these globs, in order."""
    listed: list[Space] = [
        space for module in MODULES for space in importlib.import_module(f"tests.truth.bits.{module}").SPACES
    ]
    return [space for space in listed if any(fnmatchcase(space.name, pattern) for pattern in patterns)]
