"""NVIDIA's tools: SASS from nvdisasm, register counts from cuobjdump, the version of ptxas."""

from __future__ import annotations

import importlib.util
import re
import shutil
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from irscope.backends import CUDA
from irscope.model import UserError
from irscope.toolchain.run_tool import run_tool

_CUDA_USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")


def find_nvdisasm() -> Path | None:
    """The path of nvdisasm: of triton's wheel, else on PATH; None if neither has it."""
    found = _in_triton_wheel("nvdisasm") or shutil.which("nvdisasm")
    return Path(found) if found else None


def disassemble(cubin: bytes) -> str:
    """The SASS of a cubin with source lines and inlining (`nvdisasm -c -gi`).

    Raises UserError if nvdisasm is missing or rejects the cubin.
    """
    program = find_nvdisasm()
    if program is None:
        raise UserError("SASS needs nvdisasm: pip install 'irscope[compile]', or put CUDA's bin on PATH")
    done = _run_on(cubin, program, "-c", "-gi")
    if done.returncode != 0:
        raise UserError(f"nvdisasm: {' '.join(done.stderr.split()) or 'failed'}")
    return done.stdout


def register_usage(asm: Mapping[str, Any]) -> tuple[int, int]:
    """Registers per thread and 4-byte words spilled, from `cuobjdump -res-usage`; zeros if it is missing."""
    program = _in_triton_wheel("cuobjdump")
    if program is None:
        return 0, 0
    match = _CUDA_USAGE.search(_run_on(asm[CUDA.binary], program, "-res-usage").stdout)
    return (int(match[1]), int(match[2]) // 4) if match else (0, 0)


def ptxas_version(arch: str) -> Mapping[str, str]:
    """The version of the ptxas that Triton runs for an architecture."""
    from triton.backends.nvidia.compiler import get_ptxas_version

    # The last line that `ptxas --version` prints names the release.
    return {"ptxas": get_ptxas_version(int(arch)).strip().splitlines()[-1]}


def _in_triton_wheel(name: str) -> Path | None:
    spec = importlib.util.find_spec("triton")  # finds the package without importing it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "backends", "nvidia", "bin", name)
        if path.is_file():
            return path
    return None


def _run_on(cubin: bytes, program: Path, *options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = run_tool([program, *options, file.name])
    output, errors = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
    return subprocess.CompletedProcess(done.args, done.returncode, output, errors)
