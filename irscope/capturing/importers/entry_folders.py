"""Finding Triton's folders of compilations below a path, by the names of the files in them; none is read."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from irscope.backends import STAGES
from irscope.capturing.importers.autotune_results import SUFFIX
from irscope.capturing.importers.untrusted import MAX_STAGE_BYTES, read_file
from irscope.model import UserError

_EXTENSIONS = frozenset(stage.name for stage in STAGES if stage.derived_from is None)
# torch.compile keeps its kernels at triton/DEVICE/ENTRY below its own folder.
_MAX_DEPTH = 3


@dataclass(frozen=True, slots=True)
class EntryFolder:
    """One folder of a cache: the names of its regular files."""

    path: Path
    files: frozenset[str]

    def tunings(self) -> list[str]:
        """The files with an autotuner's results."""
        return sorted(name for name in self.files if name.endswith(SUFFIX))

    def stems(self) -> list[str]:
        """The kernels that have a stage here, by the names of their files."""
        return sorted({name.rpartition(".")[0] for name in self.files if _extension(name) in _EXTENSIONS})

    def read_stages(self, stem: str) -> dict[str, bytes]:
        """Every stage of the kernel. Raises BadEntryError where one cannot be read."""
        names = {stage: f"{stem}.{stage}" for stage in sorted(_EXTENSIONS)}
        return {
            stage: read_file(self.path / name, MAX_STAGE_BYTES)
            for stage, name in names.items()
            if name in self.files
        }


def find_entries(path: Path) -> list[EntryFolder]:
    """The folders with stages or autotune results, `path` itself or below it, in order of their names.

    Links are not followed.

    Raises UserError where `path` cannot be read.
    """
    try:
        os.listdir(path)  # noqa: PTH208 - raises what `_listed` forgives
    except OSError as error:
        raise UserError(f"{path}: cannot be read: {error.strerror}") from error
    found: list[EntryFolder] = []
    pending = [(path, 0)]
    while pending:
        folder, depth = pending.pop()
        files, folders = _listed(folder)
        entry = EntryFolder(folder, files)
        if entry.stems() or entry.tunings():
            found.append(entry)
        elif depth < _MAX_DEPTH:
            pending += [(folder / name, depth + 1) for name in folders]
    return sorted(found, key=lambda entry: entry.path)


def _listed(folder: Path) -> tuple[frozenset[str], list[str]]:
    """The names of the regular files and of the folders in a folder; none where it cannot be read."""
    files, folders = set(), []
    try:
        with os.scandir(folder) as entries:
            for entry in entries:
                if entry.is_file(follow_symlinks=False):
                    files.add(entry.name)
                # Triton writes into tmp.pid_... and renames: one that is left is half written.
                elif entry.is_dir(follow_symlinks=False) and not entry.name.startswith("tmp.pid_"):
                    folders.append(entry.name)
    except OSError:
        return frozenset(), []
    return frozenset(files), folders


def _extension(name: str) -> str:
    return name.rpartition(".")[2]
