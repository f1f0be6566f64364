"""Launches a reproducer under the sanitizers of this machine, and says what they report.

    launch                 none: the launch by itself must not fail
    memcheck, racecheck    NVIDIA's compute-sanitizer, for accesses out of bounds and shared memory
    consan, iisan          Triton's own, for asynchronous copies and barriers, and arguments of instructions

Needs Python alone: `irscope reproduce --test` copies this file next to the reproducer that its test launches.
"""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

PLAIN = "launch"
CUDA_TOOLS = ("memcheck", "racecheck")
# The first release of Triton with each mode (CUDABackend.parse_options in its nvidia/compiler.py).
TRITON_MODES = {"consan": (3, 6), "iisan": (3, 7)}
TOOLS = (PLAIN, *CUDA_TOOLS, *TRITON_MODES)
SECONDS = 300
ERROR_CODE = 86
# The lines that compute-sanitizer prints about an error, without those of its stack.
FINDING = re.compile(r"^=+ +((?:Invalid|Error:|Warning:|Race|Uninitialized|Program hit).*)$", re.M)
PLACE = re.compile(r"^=+ +at ([^+\s]+)\S*(?: in (?:\S*/)?(\S+))?", re.M)
ASSERTION = re.compile(r"^.*?([^/\s]*:\d+): .*Assertion `(.*)` failed", re.M)
# compute-sanitizer knows allocations of the driver, not those within a block of torch's allocator.
VARIABLES = {"PYTORCH_NO_CUDA_MEMORY_CACHING": "1", "CUDA_LAUNCH_BLOCKING": "1"}
LAUNCH = """
import sys
import reproduce
source, options = reproduce.call()
mode = sys.argv.pop(1)
if mode:
    options["instrumentation_mode"] = mode
    reproduce.call = lambda: (source, options)
sys.argv.append("--launch")
reproduce.main()
import torch
torch.cuda.synchronize()
"""


def missing_gpu() -> str:
    """Return what this machine lacks to launch anything, "" if nothing."""
    try:
        import torch
    except ImportError:
        return "torch is not installed"
    return "" if torch.cuda.is_available() else "torch sees no GPU on this machine"


def missing(tool: str) -> str:
    """Return what this machine lacks to run a tool, "" if nothing."""
    if tool in CUDA_TOOLS:
        return "" if sanitizer() else "compute-sanitizer is not installed (part of the CUDA toolkit)"
    if tool == PLAIN:
        return ""
    version = importlib.metadata.version("triton")
    first = TRITON_MODES[tool]
    if tuple(int(number) for number in version.split(".")[:2]) >= first:
        return ""
    return f"Triton {version} has no {tool}, {first[0]}.{first[1]} is the first with it"


def sanitizer() -> str | None:
    """Return the path of compute-sanitizer, or None if there is none."""
    root = Path(os.environ.get("CUDA_HOME", "/usr/local/cuda"))
    places = [str(root / "bin"), str(root / "compute-sanitizer"), os.environ.get("PATH", "")]
    return shutil.which("compute-sanitizer", path=os.pathsep.join(places))


def run(tool: str, folder: Path) -> tuple[list[str], str]:
    """Launch the reproducer in a folder under a tool: return the findings, and the output if it failed.

    No findings and no output: the tool has nothing to report.
    """
    mode = tool if tool in TRITON_MODES else ""
    command = [sys.executable, "-c", LAUNCH, mode]
    if tool in CUDA_TOOLS:
        command = [sanitizer() or "", "--tool", tool, "--error-exitcode", str(ERROR_CODE), *command]
    # Triton before 3.8 reads the mode from its environment, later ones from the options.
    environment = {**os.environ, **VARIABLES, **({"TRITON_INSTRUMENTATION_MODE": mode} if mode else {})}
    try:
        done = subprocess.run(
            command,
            cwd=folder,
            env=environment,
            check=False,
            capture_output=True,
            text=True,
            errors="replace",
            timeout=SECONDS,
        )
    except subprocess.TimeoutExpired:
        return [], f"the launch took more than {SECONDS} s"
    output = done.stdout + done.stderr
    return findings(output), output if done.returncode else ""


def findings(output: str) -> list[str]:
    """Return a line for each kind of error and place that a sanitizer's output has, with its number."""
    counts: dict[str, int] = {}
    for match in FINDING.finditer(output):
        place = PLACE.match(output, match.end() + 1)
        where = f" at {place[2] or place[1]}" if place else ""
        line = match[1].strip() + where
        counts[line] = counts.get(line, 0) + 1
    for match in ASSERTION.finditer(output):
        line = f"{match[2]} at {match[1]}"
        counts[line] = counts.get(line, 0) + 1
    return [f"{line} ({count} x)" for line, count in counts.items()]
