"""The environments that were made: their names, sizes and removal."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

from irscope.model import UserError
from irscope.versions.interpreters import INTERPRETERS, package_of
from irscope.versions.packages import PACKAGES, VersionUnavailable, locked, remove, versions_folder

ALL = "all"


@dataclass(frozen=True, slots=True)
class InstalledPackage:
    """A package in the user's cache folder: `triton` or `ptxas`, its version, its folder."""

    tool: str
    version: str
    folder: Path

    @property
    def size(self) -> int:
        """The bytes of all files, whether uv's own cache shares them or not."""
        return sum(
            (Path(folder) / file).lstat().st_size
            for folder, _, files in os.walk(self.folder)
            for file in files
        )


def installed_packages() -> list[InstalledPackage]:
    """The packages, by tool and version. Empty if there are none."""
    found = []
    try:
        folders = sorted((versions_folder() / PACKAGES).iterdir())
    except OSError:
        return []
    for folder in folders:
        name = folder.name
        if ".part" in name or ".gone" in name or not folder.is_dir():
            continue
        tool = "triton" if name.startswith("triton-") else "ptxas"
        version = next((part for part in name.split("-") if part[:1].isdigit()), "")
        found.append(InstalledPackage(tool, version, folder))
    return found


def remove_packages(name: str) -> list[InstalledPackage]:
    """Removes the packages with a version ("3.8.0"), all for "all", and their interpreters; returns them.

    Raises UserError, listing what there is, if none has it.
    """
    packages = installed_packages()
    chosen = [each for each in packages if name in (ALL, each.version, f"{each.tool}-{each.version}")]
    if not chosen and not (name == ALL and not packages):
        known = ", ".join(f"{each.tool}-{each.version}" for each in packages) or "none"
        raise UserError(f"no environment of '{name}' is installed; installed: {known}")
    for each in chosen:
        _remove(each.folder)
    gone = {str(each.folder) for each in chosen}
    for folder in sorted((versions_folder() / INTERPRETERS).glob("*-*")):
        if package_of(folder) in gone:
            _remove(folder)
    return chosen


def _remove(folder: Path) -> None:
    try:
        with locked(folder):
            remove(folder)
    except OSError as error:
        raise VersionUnavailable(f"{folder}: cannot be removed: {error.strerror or error}") from error
