"""Registers and spills of a compiled kernel as Triton's driver counts them, read without a GPU."""

from __future__ import annotations

import importlib.util
import re
import subprocess
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_CUDA = re.compile(r"REG:(\d+) STACK:(\d+)")
_HIP = (re.compile(r"\.vgpr_count:\s+(\d+)"), re.compile(r"\.vgpr_spill_count:\s+(\d+)"))


def registers_of(asm: Mapping[str, Any]) -> tuple[int, int]:
    """(registers a thread, 4-byte words spilled) of a CompiledKernel's `asm`; zeros where not known.

    For cuda what `cuobjdump -res-usage` of triton's wheel says, for hip the metadata in the assembly.
    """
    if "amdgcn" in asm:
        found = [pattern.search(asm["amdgcn"]) for pattern in _HIP]
        registers, spills = (int(match[1]) if match else 0 for match in found)
        return registers, spills
    spec = importlib.util.find_spec("triton")
    if spec is None or spec.origin is None:
        return 0, 0
    program = Path(spec.origin).parent / "backends" / "nvidia" / "bin" / "cuobjdump"
    with tempfile.NamedTemporaryFile(suffix=".cubin") as file:
        file.write(asm["cubin"])
        file.flush()
        done = subprocess.run([program, "-res-usage", file.name], capture_output=True, text=True, check=False)
    match = _CUDA.search(done.stdout)
    return (int(match[1]), int(match[2]) // 4) if match else (0, 0)
