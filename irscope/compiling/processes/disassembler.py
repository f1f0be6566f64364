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

from irscope.compiling.processes.run_tool import ToolLimits, run_tool
from irscope.model import UserError
from irscope.targets import CUDA

# Limits for a cubin that anybody may have written. One of 1 MB takes 1 s and 70 MB, and becomes 1.5 MB.
_SECONDS = 60
_LIMITS = ToolLimits(memory=2 << 30, written=256 << 20)
_CUDA_USAGE = re.compile(r"REG:(\d+) STACK:(\d+)")


def find_nvdisasm() -> Path | None:
    """Return the path of nvdisasm: of triton's wheel, else on PATH; None if neither has it."""
    program = _in_triton_wheel("nvdisasm") or shutil.which("nvdisasm")
    return Path(program) if program else None


def disassemble(cubin: bytes) -> str:
    """Return the SASS of a cubin with source lines and inlining (`nvdisasm -c -gi`).

    Raises UserError if nvdisasm is missing, rejects the cubin, or needs too much time, memory or
    output.
    """
    program = find_nvdisasm()
    if program is None:
        raise UserError("SASS needs nvdisasm: pip install 'irscope[compile]', or put CUDA's bin on PATH")
    done = _run_on(cubin, program, "-c", "-gi")
    if done.returncode != 0:
        raise UserError(f"nvdisasm: {' '.join(done.stderr.split()) or 'failed: the cubin may be damaged'}")
    return done.stdout


def register_usage(asm: Mapping[str, Any]) -> tuple[int, int]:
    """Register per thread and 4-byte words spilled, from `cuobjdump -res-usage`; zeros if it is missing."""
    program = _in_triton_wheel("cuobjdump")
    if program is None:
        return 0, 0
    match = _CUDA_USAGE.search(_run_on(asm[CUDA.binary], program, "-res-usage").stdout)
    return (int(match[1]), int(match[2]) // 4) if match else (0, 0)


def ptxas_version(arch: str) -> Mapping[str, str]:
    """Return the version of the ptxas that Triton runs for an architecture."""
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
    """Run a tool on a cubin. Raises UserError if it takes too long."""
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file, tempfile.TemporaryFile() as printed:
        file.write(cubin)
        file.flush()
        command: list[str | Path] = [program, *options, file.name]
        try:
            done = run_tool(command, seconds=_SECONDS, output=printed, limits=_LIMITS)
        except subprocess.TimeoutExpired:
            raise UserError(
                f"{program.name}: not done in {_SECONDS} s; the cubin, {len(cubin):,} bytes, may be damaged"
            ) from None
        printed.seek(0)
        output = printed.read().decode("utf-8", "replace")
    return subprocess.CompletedProcess(
        done.args, done.returncode, output, done.stderr.decode("utf-8", "replace")
    )
