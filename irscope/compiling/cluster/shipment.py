"""What a worker of a cluster needs to compile like this machine: the user's files and the environment."""

from __future__ import annotations

import os
import pickle
import uuid
from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from irscope.compiling.python_files import copy_path
from irscope.model import Target
from irscope.model.records import frozen

# The variables that Triton and LLVM read, but for names of files: those differ between machines.
_PREFIXES = ("TRITON", "LLVM", "MLIR", "PTXAS", "NVPTX", "AMDGCN", "DISABLE_", "ENABLE_")
_NAMES_OF_FILES = ("_PATH", "_DIR", "_HOME", "_DUMP", "_SO", "_BIN")
_FILE = "shipment.pickle"


@frozen
class Shipment:
    """The files of a sweep by their absolute paths here, and how they are compiled.

    `folders` are those that modules are found in, `environment` the variables that the compiler reads, and
    `session` identifies the sweep on the workers.
    """

    file: Path
    targets: tuple[Target, ...]
    files: Mapping[str, bytes]
    folders: tuple[str, ...]
    environment: Mapping[str, str]
    session: str = field(default_factory=lambda: uuid.uuid4().hex)


def compiler_environment() -> dict[str, str]:
    """Return this process's environment variables that the compiler reads, without names of files."""
    return {name: value for name, value in os.environ.items() if _is_of_compiler(name)}


def _is_of_compiler(name: str) -> bool:
    return name.startswith(_PREFIXES) and not name.endswith(_NAMES_OF_FILES)


def set_environment(environment: Mapping[str, str]) -> None:
    """Make these the variables of this process that the compiler reads."""
    for name in list(filter(_is_of_compiler, os.environ)):
        del os.environ[name]
    os.environ.update(environment)


def unpack(shipment: Shipment, folder: Path) -> None:
    """Write a shipment into an empty folder.

    Files that this machine has, all with the same content at the same paths, are used as they are: then
    files that they read at import are there, too.
    """
    folder.mkdir(parents=True)
    if not all(_is_here(name, content) for name, content in shipment.files.items()):
        for name, content in shipment.files.items():
            copy = copy_path(_copies(folder), name)
            copy.parent.mkdir(parents=True, exist_ok=True)
            copy.write_bytes(content)
    opened = (shipment.folders, dict(shipment.environment))
    (folder / _FILE).write_bytes(pickle.dumps(opened))


def _is_here(name: str, content: bytes) -> bool:
    try:
        return Path(name).read_bytes() == content
    except OSError:
        return False


def install(folder: Path) -> None:
    """Make this process compile what `unpack` wrote into a folder."""
    import sys

    from irscope.compiling.python_files import use_copies

    folders, environment = pickle.loads((folder / _FILE).read_bytes())  # noqa: S301 - from our own scheduler
    set_environment(environment)
    if _copies(folder).is_dir():
        use_copies(_copies(folder), folders)
    else:
        sys.path[:0] = folders


def _copies(folder: Path) -> Path:
    return folder / "files"
