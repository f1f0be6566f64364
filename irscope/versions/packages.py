"""Folders with one package from PyPI each, in the user's cache folder: `triton-3.7.1-cpython-311-x86_64`.

A folder is made with uv if it is installed, else with pip, next to its place, and renamed into it when it is
complete: a folder with its name is never half of one. A lock per folder keeps processes from making it twice.
"""

from __future__ import annotations

import fcntl
import importlib.util
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from irscope.model import UserError
from irscope.model.text import clipped, one_line
from irscope.toolchain.child_process import module_command

# Called with a line for the user before something that takes seconds.
Report = Callable[[str], None]
PACKAGES, LOCKS = "packages", "locks"
_MAX_PROBLEM = 300
# cpython-311-x86_64-linux-gnu. `sysconfig` is asked here, because its first call must not be one of several.
_ABI = EXTENSION_SUFFIXES[0].strip(".").rpartition(".")[0]
_PLATFORM = sysconfig.get_platform()
_NO_NETWORK = re.compile(
    r"dns error|failed to (?:fetch|connect)|error sending request|network|connection|resolve host"
    r"|name resolution|NewConnectionError|timed out|unreachable|offline",
    re.IGNORECASE,
)
_NO_VERSION = re.compile(
    r"there is no version|no wheels|is available and|no matching distribution|could not find a version"
    r"|not found in the package registry",
    re.IGNORECASE,
)
# Lines of pip and uv that say nothing about the problem.
_NOISE = re.compile(r"^(?:WARNING|Using |Looking |Resolved |Downloading|Prepared|\[notice)|^\s*$")


class VersionUnavailable(UserError):  # noqa: N818 - a state of the machine, not an error of irscope
    """A version of Triton or ptxas cannot be had here: one line that says why, and what to do."""


@dataclass(frozen=True, slots=True)
class Requirement:
    """A package to install, such as `triton==3.7.1`, and a file of it that shows that it is complete.

    `portable` packages have no compiled modules of a Python version.
    """

    text: str
    evidence: str
    portable: bool = False

    @property
    def folder_name(self) -> str:
        """The name of the folder: the package, its version, and the Python that can import it."""
        name = self.text.replace("==", "-").replace(".*", "")
        return f"{name}-{_PLATFORM if self.portable else _ABI}"


def versions_folder() -> Path:
    """The folder of all environments: `versions` in the user's cache folder (or in IRSCOPE_CACHE)."""
    import platformdirs

    base = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
    return base.absolute() / "versions"


def package_folder(requirement: Requirement, check: Callable[[Path], None], report: Report) -> Path:
    """The folder of a package, which is installed if it is missing.

    `check` may raise VersionUnavailable about a folder that was just made. Raises VersionUnavailable.
    """
    folder = versions_folder() / PACKAGES / requirement.folder_name
    if (folder / requirement.evidence).exists():
        return folder
    return made(folder, lambda part: _install(requirement, part, check, report), requirement.evidence)


def made(folder: Path, make: Callable[[Path], None], evidence: str) -> Path:
    """`folder`, made by `make` in another place and renamed, unless it has the file `evidence` already.

    Raises VersionUnavailable if the folder cannot be written; what `make` raises.
    """
    try:
        with locked(folder):
            if not (folder / evidence).exists():
                _make(folder, make)
    except OSError as error:
        problem = f"{folder}: {error.strerror or error}"
        raise VersionUnavailable(f"{problem}; IRSCOPE_CACHE can name another folder") from error
    return folder


def _make(folder: Path, make: Callable[[Path], None]) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    for left in folder.parent.glob(f"{folder.name}.part*"):  # of a process that was killed
        remove(left)
    part = Path(tempfile.mkdtemp(prefix=f"{folder.name}.part", dir=folder.parent))
    try:
        make(part)
        part.chmod(0o755)
        remove(folder)
        part.rename(folder)
    finally:
        remove(part)


@contextmanager
def locked(folder: Path) -> Iterator[None]:
    """Holds the lock of a folder; waits for the process that has it. It is released if a process dies."""
    locks = versions_folder() / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / f"{folder.name}.lock").open("w") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(folder: Path) -> None:
    """Removes a folder and all in it, if it is there."""
    if folder.is_dir():
        # Renamed first, so that nobody finds half of it.
        hidden = Path(tempfile.mkdtemp(prefix=f"{folder.name}.gone", dir=folder.parent))
        folder.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)


def _install(requirement: Requirement, part: Path, check: Callable[[Path], None], report: Report) -> None:
    report(f"installing {requirement.text} into {versions_folder()}")
    problems = []
    with closing(_installers(part)) as installers:
        for command in installers:
            done = subprocess.run(
                [*command, "--target", part, "--no-deps", requirement.text],
                stdin=subprocess.DEVNULL,
                capture_output=True,
                check=False,
            )
            if done.returncode == 0 and (part / requirement.evidence).exists():
                check(part)
                return
            problems.append(done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace"))
    raise VersionUnavailable(_problem(requirement, problems))


def _installers(part: Path) -> Generator[Sequence[str | Path], None, None]:
    """The commands that install a package, uv first: pip may know an index that uv does not."""
    if uv := _uv():
        yield [*uv, "pip", "install", "--quiet", "--python", sys.executable]
    options = ["install", "--quiet", "--no-input", "--disable-pip-version-check"]
    if importlib.util.find_spec("pip") is not None:
        yield [*module_command(sys.executable, "pip"), *options]
        return
    builder = part.with_name(f"{part.name}-pip")
    try:
        with suppress(OSError, subprocess.CalledProcessError):  # Debian without python3-venv
            venv.create(builder, with_pip=True, symlinks=True)
            yield [*module_command(str(builder / "bin" / "python"), "pip"), *options]
    finally:
        remove(builder)


def _uv() -> list[str] | None:
    if program := shutil.which("uv"):
        return [program]
    return module_command(sys.executable, "uv") if importlib.util.find_spec("uv") is not None else None


def _problem(requirement: Requirement, outputs: Sequence[str]) -> str:
    """One line about why a package was not installed: the last that an installer printed."""
    name = requirement.text.replace("==", " ")
    if not outputs:
        return f"{name}: neither uv nor pip is installed here; pip install uv"
    lines = [line for line in outputs[0].splitlines() if not _NOISE.match(line)] or ["no output"]
    said = clipped(one_line(re.sub(r"^\s*(?:error|cause|ERROR): ", "", lines[-1])), _MAX_PROBLEM)
    if any(_NO_NETWORK.search(output) for output in outputs):
        return f"{name}: cannot be downloaded ({said}); try again with access to the package index"
    if not any(_NO_VERSION.search(output) for output in outputs):
        return f"{name}: cannot be installed ({said})"
    python = f"Python {sys.version_info[0]}.{sys.version_info[1]} on {_PLATFORM}"
    return f"{name}: there is no such version for {python} ({said})"
