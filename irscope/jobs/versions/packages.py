"""Folders with one package from PyPI each, in the user's cache folder: `triton-3.7.1-cpython-311-x86_64`.

A folder is made with uv if it is installed, else with pip, next to its place, and renamed into it when it is
complete: a folder with its name is never half of one. A lock per folder keeps processes from making it twice.

The environments that were made: their names, sizes and removal.

Interpreters that import another Triton, and everything else as the running interpreter does.

    CACHE/versions/interpreters/3.7.1-5f2c.../bin/python      import triton: 3.7.1; import torch: the user's

Each is a virtual environment of a few files, without network access. Its one .pth file puts the folder of the
package in front and processes the site-packages of the running interpreter after it, so that an editable
install, a wheel and a `--target` folder of irscope or of the user's own packages all work.
"""

from __future__ import annotations

import fcntl
import hashlib
import importlib.util
import os
import re
import shutil
import site
import sys
import sysconfig
import tempfile
import venv
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib.machinery import EXTENSION_SUFFIXES
from pathlib import Path

from irscope.compiling.processes.child_process import module_command
from irscope.compiling.processes.run_tool import run_tool
from irscope.model import UserError
from irscope.model.records import frozen
from irscope.model.text import clipped, one_line

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


@frozen
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
    """Return the folder of all environments: `versions` in the user's cache folder (or in IRSCOPE_CACHE)."""
    import platformdirs

    base = Path(os.environ.get("IRSCOPE_CACHE") or platformdirs.user_cache_path("irscope"))
    return base.absolute() / "versions"


def package_folder(requirement: Requirement, check: Callable[[Path], None], report: Report) -> Path:
    """Return the folder of a package, which is installed if it is missing.

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
    """Hold the lock of a folder; waits for the process that has it. It is released if a process dies."""
    locks = versions_folder() / LOCKS
    locks.mkdir(parents=True, exist_ok=True)
    with (locks / f"{folder.name}.lock").open("w") as file:
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def remove(folder: Path) -> None:
    """Remove a folder and all in it, if it is there."""
    if folder.is_dir():
        # Renamed first, so that nobody finds half of it.
        hidden = Path(tempfile.mkdtemp(prefix=f"{folder.name}.gone", dir=folder.parent))
        folder.rename(hidden)
        shutil.rmtree(hidden, ignore_errors=True)


def _install(requirement: Requirement, part: Path, check: Callable[[Path], None], report: Report) -> None:
    report(f"installing {requirement.text} into {versions_folder()}")
    problems = []
    for command in _installers():
        done = run_tool([*command, "--target", part, "--no-deps", requirement.text])
        if done.returncode == 0 and (part / requirement.evidence).exists():
            check(part)
            return
        problems.append(done.stderr.decode("utf-8", "replace") + done.stdout.decode("utf-8", "replace"))
    raise VersionUnavailable(_problem(requirement, problems))


def _installers() -> Iterator[Sequence[str | Path]]:
    """Yield the commands that install a package, uv first: pip may know an index that uv does not."""
    if uv := _uv():
        yield [*uv, "pip", "install", "--quiet", "--python", sys.executable]
    if importlib.util.find_spec("pip") is not None:
        options = ["install", "--quiet", "--no-input", "--disable-pip-version-check"]
        yield [*module_command(sys.executable, "pip"), *options]


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


INTERPRETERS = "interpreters"
_PTH = "irscope_versions.pth"
_PYTHON = "bin/python"


def interpreter(name: str, package: Path) -> Path:
    """Return the interpreter that imports the package in the folder `package` before all others.

    `name` begins the name of its folder. Raises VersionUnavailable if it cannot be written.
    """
    lines = _pth_lines(package)
    base = os.path.realpath(getattr(sys, "_base_executable", sys.executable))
    key = hashlib.sha256("\0".join([base, sys.prefix, *lines]).encode("utf-8", "replace")).hexdigest()[:12]
    folder = versions_folder() / INTERPRETERS / f"{name}-{key}"
    if not (folder / _PYTHON).exists():
        made(folder, lambda part: _make_interpreter(part, lines), _PYTHON)
    return folder / _PYTHON


def package_of(folder: Path) -> str:
    """Return the package folder that an interpreter's folder puts in front; "" if it is damaged."""
    for file in folder.glob(f"lib/*/site-packages/{_PTH}"):
        return file.read_text(encoding="utf-8", errors="replace").partition("'")[2].partition("'")[0]
    return ""


def _make_interpreter(folder: Path, lines: list[str]) -> None:
    venv.create(folder, with_pip=False, symlinks=True, clear=False)
    (packages,) = folder.glob("lib/python*/site-packages")
    (packages / _PTH).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _pth_lines(package: Path) -> list[str]:
    """Return the lines of the .pth file. `site` executes those that begin with "import"."""
    folders = [*site.getsitepackages(), *([site.getusersitepackages()] if site.ENABLE_USER_SITE else [])]
    irscope = Path(__file__).parents[3]
    return [
        # In front of PYTHONPATH, which may have another Triton.
        f"import sys; sys.path.insert(0, {str(package)!r})",
        *(f"import site; site.addsitedir({folder!r})" for folder in folders),
        str(irscope),
    ]


ALL = "all"


@frozen
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
    """Return the packages, by tool and version. Empty if there are none."""
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
    """Remove the packages with a version ("3.8.0"), all for "all", and their interpreters; returns them.

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
