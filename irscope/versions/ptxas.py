"""Assemblers other than Triton's own: a file, or a version from NVIDIA's wheels on PyPI."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

from irscope.toolchain.run_tool import run_tool
from irscope.versions.packages import Report, Requirement, VersionUnavailable, package_folder

_VERSION = re.compile(r"(\d+)\.(\d+)(?:\.(\d+))?")
_RELEASE = re.compile(r"\bV(\d+(?:\.\d+)+)")
# The toolkits from 13 on have one package, the ones before it a package per major version.
_FIRST_WITHOUT_SUFFIX = 13
_SECONDS = 20.0


def find_ptxas(text: str, report: Report = lambda _: None) -> Path:
    """The ptxas that `text` names: a path, or a version such as 12.9 or 13.3.33.

    Raises VersionUnavailable.
    """
    match = _VERSION.fullmatch(text)
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
    """The version that a ptxas prints, such as 12.9.86. Raises VersionUnavailable if it prints none."""
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
