"""The files in a warm folder from which Triton reads the autotuner's choices: KERNEL.autotune.json."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

_SUFFIX = ".autotune.json"


def write_files(folder: Path, files: Mapping[str, str]) -> None:
    """Writes files by their path in the folder. Raises OSError."""
    for path, text in files.items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)


def modified_times(folder: Path) -> dict[str, int]:
    """The time at which each file was written (ns), by its path in the folder."""
    found = {}
    for file in folder.glob(f"*/*{_SUFFIX}"):
        with suppress(OSError):
            found[f"{file.parent.name}/{file.name}"] = file.stat().st_mtime_ns
    return found


def written_since(folder: Path, before: Mapping[str, int]) -> frozenset[str]:
    """The files that were written since `modified_times` returned `before`."""
    return frozenset(path for path, time in modified_times(folder).items() if before.get(path) != time)


def remove_files(folder: Path, unused: frozenset[str]) -> None:
    """Removes these files, and their entries if nothing else is in them."""
    for path in unused:
        with suppress(OSError):
            (folder / path).unlink()
            (folder / path).parent.rmdir()
