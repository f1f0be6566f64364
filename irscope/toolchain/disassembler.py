"""SASS from a cubin, by NVIDIA's disassembler: the one in triton's wheel, or one on PATH."""

from __future__ import annotations

import importlib.util
import shutil
import subprocess
import tempfile
from pathlib import Path

from irscope.model import UserError


def find_nvdisasm() -> Path | None:
    """Where nvdisasm is; None where neither triton nor the CUDA toolkit is installed."""
    spec = importlib.util.find_spec("triton")  # finds the package without importing it
    for folder in (spec.submodule_search_locations or []) if spec else []:
        path = Path(folder, "backends", "nvidia", "bin", "nvdisasm")
        if path.is_file():
            return path
    found = shutil.which("nvdisasm")
    return Path(found) if found else None


def disassemble(cubin: bytes) -> str:
    """The SASS of a cubin, with source lines and inlining, as `nvdisasm -c -gi` prints it.

    Raises UserError where there is no disassembler, or it does not take the cubin.
    """
    program = find_nvdisasm()
    if program is None:
        raise UserError("SASS needs nvdisasm: pip install 'irscope[compile]', or put CUDA's bin on PATH")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(cubin)
        file.flush()
        done = subprocess.run(
            [program, "-c", "-gi", file.name], capture_output=True, text=True, errors="replace", check=False
        )
    if done.returncode != 0:
        raise UserError(f"nvdisasm: {' '.join(done.stderr.split()) or 'failed'}")
    return done.stdout
