"""Fake GPUs for tests: a libcuda.so.1 and a libamdhip64.so, on which Triton's own drivers run."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path

import pytest

_FOLDER = Path(__file__).parent
# Programs that a run with a warm folder must not start.
_POISONED = ("cc", "gcc", "clang", "c++", "g++", "clang++")
# Writes the call to the file that POISON_LOG names, then fails; `ptxas --version` is part of Triton's key.
_POISON = """#!/bin/sh
case "$1" in --version) exec "{real}" --version ;; esac
echo "$0 $*" >> "$POISON_LOG"
exit 9
"""


def build_libcuda(folder: Path) -> Path:
    """Builds the fake libcuda.so.1 in `folder` and returns its path; skips the test without a C compiler."""
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler")
    folder.mkdir(parents=True, exist_ok=True)
    library = folder / "libcuda.so.1"
    words = [compiler, "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1", "-o", library, _FOLDER / "libcuda.c"]
    subprocess.run(words, check=True)
    return library


def build_libhip(folder: Path) -> Path:
    """Builds the fake libamdhip64.so in `folder` and returns its path; skips the test without a compiler."""
    compiler, triton = shutil.which("cc"), find_spec("triton")
    if compiler is None or triton is None:
        pytest.skip("no C compiler, or no Triton, which has the headers")
    folder.mkdir(parents=True, exist_ok=True)
    library, headers = folder / "libamdhip64.so", Path(str(triton.origin)).parent / "backends/amd/include"
    words = [compiler, "-shared", "-fPIC", f"-I{headers}", "-o", library, _FOLDER / "libamdhip64.c"]
    subprocess.run(words, check=True)
    return library


def poisoned_programs(folder: Path, ptxas: Mapping[str, str]) -> dict[str, str]:
    """Environment variables that replace ptxas and the C compiler by programs that fail and log the call.

    `ptxas` are Triton's own by the variable that replaces it (TRITON_PTXAS_PATH: path).
    """
    folder.mkdir(parents=True, exist_ok=True)
    variables = {"POISON_LOG": str(folder / "log"), "PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    for name in _POISONED:
        _write_program(folder / name, _POISON.format(real="/bin/false"))
    for variable, real in ptxas.items():
        _write_program(folder / variable, _POISON.format(real=real))
        variables[variable] = str(folder / variable)
    return variables


def _write_program(path: Path, text: str) -> None:
    path.write_text(text)
    path.chmod(0o755)


def production_environment(
    library: Path, cache: Path, capability: int = 90, log: Path | None = None
) -> dict[str, str]:
    """The environment of a process on the fake GPU, without irscope's and Triton's variables of this one.

    `library` is the fake libcuda.so.1 or libamdhip64.so.
    """
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("TRITON_", "IRSCOPE_"))}
    kept |= {
        "LD_LIBRARY_PATH": str(library.parent),
        "TRITON_CACHE_DIR": str(cache),
        "FAKE_CUDA_CAPABILITY": str(capability),
    }
    if library.name.startswith("libamdhip64"):
        kept |= {"TRITON_LIBHIP_PATH": str(library), "FAKE_HIP": "1"}
    else:
        kept |= {"TRITON_LIBCUDA_PATH": str(library.parent)}
    return kept | ({"FAKE_CUDA_LOG": str(log)} if log else {})


def run_in_production(
    program: Path, environment: Mapping[str, str], *words: str
) -> subprocess.CompletedProcess[str]:
    """Runs a program on the fake GPU, without irscope (see production.py)."""
    return subprocess.run(
        [sys.executable, str(_FOLDER / "production.py"), str(program), *words],
        env=dict(environment),
        cwd=program.parent,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
