"""The version of the compiler as a property of a variant: Triton's, and ptxas's if it is not Triton's own.

The short names of versions, which the first paint needs; timeline.py has the rest.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError, Value, Variant

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace


# The name of the assembler's version in `Variant.environment`.
PTXAS = "ptxas"


@dataclass(frozen=True, order=True)
class CompilerVersion:
    """A version of Triton, and of ptxas if it is not Triton's own. Sorts by number."""

    key: tuple[tuple[tuple[int, int, str], ...], ...]
    triton: str
    ptxas: str = ""

    @property
    def name(self) -> str:
        """Return Triton's version: `Triton 3.8.0`."""
        return f"Triton {self.triton}"

    def __str__(self) -> str:
        return f"{self.name}, ptxas {self.ptxas}" if self.ptxas else self.name


def compiler_version(variant: Variant) -> CompilerVersion:
    """Return the version that compiled a variant."""
    triton, ptxas = variant.toolchain.versions.get("triton", "?"), variant.environment.get(PTXAS, "")
    return _version(triton, ptxas)


def check_installed(variant: Variant, what: str) -> None:
    """Raise UserError unless the Triton that compiled a variant is installed here; `what` needs it."""
    from irscope.compiling.toolchain.triton_layouts import installed_triton  # few commands compile again

    made_with, installed = variant.toolchain.versions.get("triton", ""), installed_triton()
    if installed is None or (made_with and installed != made_with):
        triton = f"Triton {made_with}".rstrip()
        raise UserError(f"{what} by compiling again with {triton}, which is not installed here")


@lru_cache(maxsize=1000)
def _version(triton: str, ptxas: str) -> CompilerVersion:
    return CompilerVersion((_order(triton), _order(ptxas)), triton, ptxas)


def chosen_values(variant: Variant) -> dict[str, Value]:
    """Return a variant's settings and Triton's version: what can differ between two variants."""
    triton = variant.toolchain.versions.get("triton")
    return {**variant.settings, **({} if triton is None else {"triton": triton})}


def _order(text: str) -> tuple[tuple[int, int, str], ...]:
    """Return a sort key: 3.10.0 comes after 3.9.0, and 3.9.0 after 3.9.0rc1."""
    parts = re.findall(r"\d+|[a-z]+", text)
    order = [(1, int(part[:9]), "") if part.isdecimal() else (0, 0, part) for part in parts]
    return (*order, (0, 1, "")) if order else ()


def version_name(workspace: Workspace, variant: Variant) -> str:
    """Return the file that has a variant, or the age of its source if only one capture is open.

    "" if the capture has only one source of the kernel.
    """
    if len(workspace.contents.paths) < 2:
        return workspace.live.age(variant)
    return file_names(workspace.contents.paths)[workspace.contents.place(variant)]


def file_names(paths: Sequence[Path]) -> list[str]:
    """Return the names of the files, with their folders if several have one name."""
    names = [path.name for path in paths]
    if len(set(names)) == len(names):
        return names
    return [str(Path(path.parent.name) / path.name) for path in paths]
