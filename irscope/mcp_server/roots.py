"""The folders that a client may name files in."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.model import UserError
from irscope.model.text import one_line


@dataclass(frozen=True)
class Roots:
    """The folders that the user opened to clients; relative paths start at the first."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Roots:
        """The folders with links resolved. Raises UserError if one is not a folder."""
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"--root {folder}: no such folder")
        return cls(tuple(folder.resolve() for folder in folders))

    def file(self, name: str) -> Path:
        """The regular file called `name`, with links resolved.

        Raises UserError if it is not in one of the folders (a link may lead out of them) or not a file.
        """
        shown = one_line(name)
        try:
            path = (self.folders[0] / name).resolve()
            is_file = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise UserError(f"{shown}: no such file") from None
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders))
            raise UserError(
                f"{shown}: outside of the folders that this server may read ({allowed}); see --root"
            )
        if not is_file:
            raise UserError(f"{shown}: no such file")
        return path
