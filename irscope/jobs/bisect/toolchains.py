"""The sides of a bisection: toolchains that compile the same kernel.

A side is a released version of Triton (3.8.0), or a user's own: the path of a Python, of a virtual
environment or of a folder with the package `triton`. It may have another ptxas and environment variables.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path

from irscope.compiling.processes.run_tool import run_tool
from irscope.jobs.versions.environments import Environment, prepare
from irscope.model import UserError

# The releases between which GOOD..BAD looks, oldest first: one per minor version that irscope supports.
RELEASES = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
_PROBE_SECONDS = 60.0
# A `..` next to a slash or a dot is part of a path.
_RANGE = re.compile(r"(.*?[^/.])\.\.([^.].*|\.\.?/.*)")
_PROBE = """
import importlib.util, json, sys
found = importlib.util.find_spec("triton")
print(json.dumps([list(sys.version_info[:2]), found and list(found.submodule_search_locations or [])]))
"""
# The files of a Triton that decide what it compiles to.
_COMPILER_FILES = ("backends/**/*.py", "compiler/*.py", "language/**/*.py", "runtime/*.py")
_LIBRARIES = ("_C/libtriton*.so", "backends/nvidia/bin/ptxas*")

Report = Callable[[str], None]


@dataclass(frozen=True, slots=True)
class Side:
    """A toolchain; `label` names it in reports."""

    label: str
    environment: Environment

    @property
    def identity(self) -> str:
        """A digest of all that decides what it compiles to, without starting it."""
        parts = [
            _package_state(self.environment.package / "triton"),
            repr(sorted(self.environment.variables.items())),
        ]
        if self.environment.ptxas is not None:
            parts.append(_file_state(self.environment.ptxas))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


@dataclass(frozen=True, slots=True)
class SideOptions:
    """Options of the two ends of a bisection besides their versions: ptxas and environment variables."""

    ptxas_good: str | None = None
    ptxas_bad: str | None = None
    env_good: tuple[tuple[str, str], ...] = ()
    env_bad: tuple[tuple[str, str], ...] = ()

    @property
    def differ(self) -> bool:
        """Whether the ends differ even if their versions are equal."""
        return (self.ptxas_good, self.env_good) != (self.ptxas_bad, self.env_bad)


def parse_versions(text: str | None, options: SideOptions) -> tuple[str, ...]:
    """The versions or paths in `GOOD..BAD` or `V1,V2,...`, the good end first. Raises UserError.

    Two versions between which releases are known include those. Without a text, the installed Triton is both
    ends; the ends must then differ in `options`.
    """
    if text is None:
        from irscope.jobs.versions.environments import own_triton

        own = own_triton()
        if own is None:
            raise UserError("--triton: name the versions to compare, such as 3.8.0..3.9.0")
        return (own[0], own[0]) if options.differ else (own[0],)
    if "," not in text and (ends := split_range(text)):
        return _between(*ends)
    found = tuple(part.strip() for part in text.split(",") if part.strip())
    if not found:
        raise UserError("--triton: names no version")
    return found * 2 if len(found) == 1 and options.differ else found


def make_sides(versions: Sequence[str], options: SideOptions, report: Report) -> Iterator[Side | UserError]:
    """The side of each version, or why it cannot be had; only the last has the bad end's options.

    All others have those of the good end.
    """
    for index, version in enumerate(versions):
        last = index == len(versions) - 1 and len(versions) > 1
        ptxas = options.ptxas_bad if last else options.ptxas_good
        variables = options.env_bad if last else options.env_good
        try:
            environment = _environment(version, ptxas, report)
        except UserError as error:
            yield error
            continue
        label = _label(version, ptxas, environment, variables)
        yield Side(label, replace(environment, settings=variables))


def split_range(text: str) -> tuple[str, str] | None:
    """GOOD and BAD of `GOOD..BAD`, which may be paths with `..` in them; None if it is no range."""
    match = _RANGE.fullmatch(text.strip())
    return (match[1], match[2]) if match else None


def _between(good: str, bad: str) -> tuple[str, ...]:
    """The two versions and the releases between them, in that direction."""
    if good not in RELEASES or bad not in RELEASES:
        return good, bad
    first, last = RELEASES.index(good), RELEASES.index(bad)
    found = RELEASES[min(first, last) : max(first, last) + 1]
    return found if first <= last else found[::-1]


def _environment(version: str, ptxas: str | None, report: Report) -> Environment:
    path = Path(version).expanduser()
    if "/" not in version and not path.exists():
        return prepare(version, ptxas, report)
    return prepare(f"{_package_folder(path)}/", ptxas, report)


def _package_folder(path: Path) -> Path:
    """The folder with the package `triton` at the path of a Python, of a virtual environment or of itself."""
    if (path / "triton" / "__init__.py").is_file():
        return path.resolve()
    python = path / "bin" / "python" if path.is_dir() else path
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise UserError(f"{path}: neither a Python nor a folder with one (bin/python) or with triton")
    done = run_tool([python.absolute(), "-I", "-c", _PROBE], seconds=_PROBE_SECONDS)
    try:
        version, folders = json.loads(done.stdout)
    except ValueError as error:
        raise UserError(f"{path}: is not a Python that starts") from error
    if not folders:
        raise UserError(f"{path}: has no package triton")
    own = list(sys.version_info[:2])
    if version != own:
        raise UserError(
            f"{path}: is Python {version[0]}.{version[1]}; install irscope there and run it with that Python "
            f"(this one is {own[0]}.{own[1]})"
        )
    return Path(folders[0]).parent


def _label(
    version: str, ptxas: str | None, environment: Environment, variables: Sequence[tuple[str, str]]
) -> str:
    """The version or path, the ptxas that was asked for, and the variables."""
    name = version if "/" in version else environment.triton
    if ptxas is not None:
        name = f"{name}+{ptxas}" if "/" in ptxas else f"{name}+ptxas{environment.ptxas_version}"
    return " ".join([name, *(f"{key}={value}" for key, value in variables)])


@lru_cache(maxsize=64)
def _package_state(folder: Path) -> str:
    """A digest of the compiler's files in a package: text by content, libraries by size and time."""
    digest = hashlib.sha256()
    for pattern in _COMPILER_FILES:
        for file in sorted(folder.glob(pattern)):
            digest.update(f"{file.relative_to(folder)}\0".encode())
            digest.update(file.read_bytes())
    for pattern in _LIBRARIES:
        for file in sorted(folder.glob(pattern)):
            digest.update(_file_state(file).encode())
    return digest.hexdigest()


def _file_state(file: Path) -> str:
    state = file.stat()
    return f"{file.name} {state.st_size} {state.st_mtime_ns}"
