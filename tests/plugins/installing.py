"""Installs plug-ins of this folder for the programs that a test starts, as pip does but without copying."""

from __future__ import annotations

import os
import sys
from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).parent


def install(plugin: str, folder: Path) -> dict[str, str]:
    """The environment in which a plug-in is installed; its metadata is written to `folder`."""
    source = HERE / plugin
    project = tomllib.loads((source / "pyproject.toml").read_text())["project"]
    add_metadata(folder, project["name"], project["version"], project["entry-points"])
    paths = [str(folder), str(source), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}


def add_metadata(folder: Path, name: str, version: str, groups: dict[str, dict[str, str]]) -> None:
    """Writes the metadata of a package with these entry points, as a package manager does."""
    info = folder / f"{name.replace('-', '_')}-{version}.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    lines = [
        f"[{group}]\n" + "".join(f"{entry} = {value}\n" for entry, value in entries.items())
        for group, entries in groups.items()
    ]
    (info / "entry_points.txt").write_text("\n".join(lines))
