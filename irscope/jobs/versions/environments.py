"""Environments: an interpreter with a certain version of Triton, and maybe another ptxas.

prepare("3.7.1").python          an interpreter that imports Triton 3.7.1, and all else as this one does
prepare("3.9.0", ptxas="12.9")   the same with ptxas 12.9 in place of Triton's own

The versions that a user names: `--triton 3.8.0,3.9.0 --ptxas own,12.9`, each as an environment.

Assemblers other than Triton's own: a file, or a version from NVIDIA's wheels on PyPI.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import lru_cache, partial
from importlib import metadata, util
from itertools import product
from pathlib import Path

from irscope.compiling.pool import WORKER, Start, spawn
from irscope.compiling.processes.run_tool import run_tool
from irscope.jobs.versions.packages import (
    Report,
    Requirement,
    VersionUnavailable,
    interpreter,
    package_folder,
)

_PTXAS_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_RELEASE = re.compile(r"\bV(\d+(?:\.\d+)+)")
# The toolkits from 13 on have one package, the ones before it a package per major version.
_FIRST_WITHOUT_SUFFIX = 13
_SECONDS = 20.0


def find_ptxas(text: str, report: Report) -> Path:
    """Return the ptxas that `text` names: a path, or a version such as 12.9 or 13.3.33.

    Raises VersionUnavailable.
    """
    match = _PTXAS_VERSION.fullmatch(text)
    if match is None or Path(text).is_file():
        path = Path(text).expanduser()
        if not path.is_file():
            raise VersionUnavailable(f"ptxas {text}: no such file; name a file, or a version such as 12.9")
        ptxas_release(path)
        return path.resolve()
    major = int(match[1])
    pin = text if match[3] else f"{text}.*"
    new = major >= _FIRST_WITHOUT_SUFFIX
    name = "nvidia-cuda-nvcc" if new else f"nvidia-cuda-nvcc-cu{major}"
    inside = f"nvidia/cu{major}/bin/ptxas" if new else "nvidia/cuda_nvcc/bin/ptxas"
    requirement = Requirement(f"{name}=={pin}", inside, portable=True)
    return package_folder(requirement, lambda folder: _check(folder / inside), report) / inside


def ptxas_release(path: Path) -> str:
    """Return the version that a ptxas prints: 12.9.86. Raises VersionUnavailable if it prints none."""
    try:
        done = run_tool([path, "--version"], seconds=_SECONDS)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise VersionUnavailable(f"ptxas {path}: cannot be run: {error}") from error
    match = _RELEASE.search(done.stdout.decode("utf-8", "replace"))
    if match is None:
        raise VersionUnavailable(f"ptxas {path}: --version prints no version of ptxas; name another file")
    return match[1]


def _check(path: Path) -> None:
    path.chmod(0o755)
    ptxas_release(path)


# The newest release of each minor version that irscope compiles with, oldest first.
SUPPORTED = ("3.6.0", "3.7.1", "3.8.0", "3.9.0")
_VERSION = re.compile(r"\d+(?:\.\d+)+(?:[-.+]?[a-zA-Z0-9.+]+)?")
_ASSIGNED = re.compile(r"__version__\s*=\s*['\"]([^'\"]+)['\"]")
_OLDEST = (3, 6)
_IMPORT_SECONDS = 120.0
_PROBE_SECONDS = 60.0
_PROBE = """
import importlib.util, json, sys
found = importlib.util.find_spec("triton")
print(json.dumps([list(sys.version_info[:2]), found and list(found.submodule_search_locations or [])]))
"""
# The files of a Triton that decide what it compiles to.
_COMPILER_FILES = ("backends/**/*.py", "compiler/*.py", "language/**/*.py", "runtime/*.py")
_LIBRARIES = ("_C/libtriton*.so", "backends/nvidia/bin/ptxas*")


@dataclass(frozen=True)
class Environment:
    """A toolchain that a child process can compile with.

    `triton` is its version and `package` the folder that has the package `triton`; `python` imports it.
    `ptxas` replaces Triton's own assembler, None: it does not; `ptxas_version` is its version (13.3.33), ""
    for Triton's own. `settings` are other environment variables to compile with, and `label` names it in the
    report of a bisection.
    """

    triton: str
    python: Path
    package: Path
    ptxas: Path | None = None
    ptxas_version: str = ""
    settings: tuple[tuple[str, str], ...] = ()
    label: str = ""

    @property
    def variables(self) -> Mapping[str, str]:
        """The environment variables to set in a child process: Triton runs the assemblers they name."""
        names = ("TRITON_PTXAS_PATH", "TRITON_PTXAS_BLACKWELL_PATH") if self.ptxas is not None else ()
        return dict.fromkeys(names, str(self.ptxas)) | dict(self.settings)

    def spawner(self, module: str = WORKER, variables: Mapping[str, str] | None = None) -> Start:
        """Return what starts the process of a pool.Worker here, with other `variables` besides its own."""
        variables = {**self.variables, **(variables or {})}
        return partial(spawn, module=module, python=str(self.python), variables=variables)

    @property
    def name(self) -> str:
        """A short name: `3.8.0`, or `3.8.0+ptxas12.9.86`."""
        return f"{self.triton}+ptxas{self.ptxas_version}" if self.ptxas_version else self.triton

    @property
    def identity(self) -> str:
        """A digest of all that decides what it compiles to, without starting it."""
        parts = [_package_state(self.package / "triton"), repr(sorted(self.variables.items()))]
        if self.ptxas is not None:
            parts.append(_file_state(self.ptxas))
        return hashlib.sha256("\0".join(parts).encode("utf-8", "replace")).hexdigest()


@lru_cache(maxsize=64)
def _package_state(folder: Path) -> str:
    """Return a digest of the compiler's files in a package: text by content, libraries by size and time."""
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


def prepare(version: str, ptxas: str | Path | None = None, report: Report = lambda _: None) -> Environment:
    """Return the environment with a version of Triton, which is made if there is none yet.

    `version` may also be the path of a folder with the package `triton` (built from source), of a Python or
    of a virtual environment. `ptxas` is a path or a version. `report` is called with a line before a
    download. Raises VersionUnavailable.
    """
    assembler = None if ptxas is None else find_ptxas(str(ptxas), report)
    release = "" if assembler is None else ptxas_release(assembler)
    path = Path(version).expanduser()
    if "/" in version or path.exists():
        package = _package_folder(path)
        return Environment(_version_in(package), interpreter("folder", package), package, assembler, release)
    if not _VERSION.fullmatch(version):
        raise VersionUnavailable(f"triton {version}: not a version such as 3.8.0, nor a folder")
    own = own_triton()
    if own is not None and own[0] == version:
        return Environment(version, Path(sys.executable), own[1], assembler, release)
    if tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < _OLDEST:
        raise VersionUnavailable(f"triton {version}: irscope compiles with Triton 3.6 and later")
    requirement = Requirement(f"triton=={version}", "triton/_C/libtriton.so")
    package = package_folder(requirement, lambda folder: _check_import(folder, version), report)
    return Environment(version, interpreter(version, package), package, assembler, release)


def own_triton() -> tuple[str, Path] | None:
    """Return the version and the folder of the Triton that this interpreter imports; None: none."""
    spec = util.find_spec("triton")
    if spec is None or spec.origin is None:
        return None
    try:
        version = metadata.version("triton")
    except metadata.PackageNotFoundError:
        version = _version_in(Path(spec.origin).parents[1])
    return version, Path(spec.origin).parents[1]


def _package_folder(path: Path) -> Path:
    """Return the folder with the package `triton` of a Python or virtual environment, or this folder."""
    if (path / "triton" / "__init__.py").is_file():
        return path.resolve()
    python = path / "bin" / "python" if path.is_dir() else path
    if not (python.is_file() and os.access(python, os.X_OK)):
        raise VersionUnavailable(
            f"{path}: neither a Python nor a folder with one (bin/python) or with triton"
        )
    done = run_tool([python.absolute(), "-I", "-c", _PROBE], seconds=_PROBE_SECONDS)
    try:
        version, folders = json.loads(done.stdout)
    except ValueError as error:
        raise VersionUnavailable(f"{path}: is not a Python that starts") from error
    if not folders:
        raise VersionUnavailable(f"{path}: has no package triton")
    own = list(sys.version_info[:2])
    if version != own:
        raise VersionUnavailable(
            f"{path}: is Python {version[0]}.{version[1]}; install irscope there and run it with that Python "
            f"(this one is {own[0]}.{own[1]})"
        )
    return Path(folders[0]).parent


def _version_in(folder: Path) -> str:
    """Return the version of the package `triton` in a folder. Raises VersionUnavailable if there is none."""
    try:
        text = (folder / "triton" / "__init__.py").read_text(encoding="utf-8", errors="replace")
    except OSError as error:
        raise VersionUnavailable(f"{folder}: has no package triton; name the folder it is in") from error
    match = _ASSIGNED.search(text)
    if match is None:
        raise VersionUnavailable(f"{folder}/triton: has no __version__")
    return match[1]


def _check_import(folder: Path, version: str) -> None:
    """Raise VersionUnavailable if the Triton in a folder cannot be imported here."""
    # Without "", the working folder, in which json.py may be somebody else's.
    path = "sys.path[:] = [sys.argv[1], *filter(None, sys.path)]"
    script = f"import sys; {path}; import triton; print(triton.__version__)"
    try:
        done = run_tool([sys.executable, "-c", script, str(folder)], seconds=_IMPORT_SECONDS)
    except subprocess.TimeoutExpired as error:
        problem = f"importing it takes more than {_IMPORT_SECONDS:g} s"
        raise VersionUnavailable(f"triton {version}: installed, but {problem}") from error
    if done.returncode:
        lines = done.stderr.decode("utf-8", "replace").strip().splitlines() or [f"exit {done.returncode}"]
        raise VersionUnavailable(f"triton {version}: installed, but it cannot be imported here: {lines[-1]}")


# The assembler that a version of Triton brings.
OWN_PTXAS = "own"
# Downloads at a time.
_THREADS = 4


def chosen_environments(
    tritons: Sequence[str], assemblers: Sequence[str], report: Report
) -> tuple[list[Environment], list[str]]:
    """Return the environments of the product of versions, and a line for each that cannot be had.

    No `tritons`: those that irscope supports, or only this Python's own if there are `assemblers`. No
    `assemblers`: each Triton's own.
    """
    own = own_triton()
    if not tritons:
        tritons = [own[0]] if assemblers and own is not None else SUPPORTED
    wanted = list(product(dict.fromkeys(tritons), dict.fromkeys(assemblers or [OWN_PTXAS])))

    def made(choice: tuple[str, str]) -> Environment | VersionUnavailable:
        version, ptxas = choice
        try:
            return prepare(version, None if ptxas == OWN_PTXAS else ptxas, report)
        except VersionUnavailable as error:
            return error

    with ThreadPoolExecutor(_THREADS) as threads:
        results = list(threads.map(made, wanted))
    environments = [each for each in results if isinstance(each, Environment)]
    problems = [str(each) for each in results if isinstance(each, VersionUnavailable)]
    return list(dict.fromkeys(environments)), list(dict.fromkeys(problems))
