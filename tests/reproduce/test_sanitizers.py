"""`irscope lint --prove` and `irscope reproduce --test`, up to the GPU that this machine does not have."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.jobs.reproduce import sanitizers
from tests.conftest import Irscope

# Printed by compute-sanitizer (its documentation, sections on memcheck and racecheck).
MEMCHECK = """\
========= COMPUTE-SANITIZER
========= Invalid __global__ read of size 4 bytes
=========     at shift+0x90 in /tmp/x/kernel.py:7
=========     by thread (0,0,0) in block (3,0,0)
=========     Address 0x7f2b1a000100 is out of bounds
=========
========= Invalid __global__ read of size 4 bytes
=========     at shift+0x90 in kernel.py:7
=========     by thread (1,0,0) in block (3,0,0)
=========
========= ERROR SUMMARY: 2 errors
"""
RACECHECK = """\
========= Error: Race reported between Write access at reduce+0x1c0 in kernel.py:5
=========     and Read access at reduce+0x200 in kernel.py:6 [16128 hazards]
========= RACECHECK SUMMARY: 1 hazard displayed (1 error, 0 warnings)
"""
CONSAN = """\
/tmp/x/kernel.py:9: void k(): block: [0,0,0], thread: [0,0,0] \
Assertion `Buffer being accessed has outstanding writes` failed.
"""


def test_findings_have_a_line_per_kind_and_place():
    assert sanitizers.findings(MEMCHECK) == ["Invalid __global__ read of size 4 bytes at kernel.py:7 (2 x)"]
    (race,) = sanitizers.findings(RACECHECK)
    assert race.startswith("Error: Race reported between Write access at reduce+0x1c0 in kernel.py:5")
    consan = sanitizers.findings(CONSAN + CONSAN)
    assert consan == ["Buffer being accessed has outstanding writes at kernel.py:9 (2 x)"]
    assert sanitizers.findings("========= ERROR SUMMARY: 0 errors\nsame machine code as recorded\n") == []


REPRODUCE = """\
import os
import sys

OPTIONS = {}


def call():
    return {}, OPTIONS


def main():
    print(sys.argv[1:], sorted(call()[1].items()), os.environ.get("TRITON_INSTRUMENTATION_MODE"))
    sys.exit(3)
"""


def test_the_launch_gets_the_mode_and_the_tool(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    (tmp_path / "reproduce.py").write_text(REPRODUCE)
    assert sanitizers.run("launch", tmp_path) == ([], "['--launch'] [] None\n")
    modes = "['--launch'] [('instrumentation_mode', 'consan')] consan\n"
    assert sanitizers.run("consan", tmp_path) == ([], modes)
    # A compute-sanitizer that says how it was started.
    tool = tmp_path / "bin" / "compute-sanitizer"
    tool.parent.mkdir()
    tool.write_text(f'#!/bin/sh\necho "$1 $2 $3 $4"\ncat {tmp_path}/output\nexit 86\n')
    tool.chmod(0o755)
    (tmp_path / "output").write_text(MEMCHECK)
    monkeypatch.setenv("CUDA_HOME", str(tmp_path))
    assert sanitizers.missing("memcheck") == ""
    findings, output = sanitizers.run("memcheck", tmp_path)
    assert findings == ["Invalid __global__ read of size 4 bytes at kernel.py:7 (2 x)"]
    assert output.startswith("--tool memcheck --error-exitcode 86\n")


def test_what_is_missing(monkeypatch: pytest.MonkeyPatch):
    pytest.importorskip("triton")
    monkeypatch.setenv("PATH", "")
    monkeypatch.setenv("CUDA_HOME", "/nowhere")
    assert "compute-sanitizer is not installed" in sanitizers.missing("racecheck")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "3.6.0")
    assert sanitizers.missing("consan") == sanitizers.missing("launch") == ""
    assert sanitizers.missing("iisan") == "Triton 3.6.0 has no iisan, 3.7 is the first with it"


PROGRAM = """\
import torch
import triton
import triton.language as tl


@triton.jit
def shift(x_ptr, y_ptr, BLOCK: tl.constexpr):
    o = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + o, tl.load(x_ptr + o + 64))


x = torch.zeros(1024, device="cuda")
shift[(4,)](x, torch.empty_like(x), BLOCK=256)
"""


@pytest.mark.slow
def test_a_recorded_launch_without_a_gpu(irscope: Irscope, tmp_path: Path):
    torch = pytest.importorskip("torch")
    if torch.cuda.is_available():
        pytest.skip("this machine has a GPU")
    (tmp_path / "program.py").write_text(PROGRAM)
    assert irscope("run", "-o", "r.irscope", "program.py").returncode == 0
    done = irscope("lint", "r.irscope", "--prove", "--trust")
    assert done.returncode == 2
    assert "IRS207 out-of-bounds" in done.stdout
    assert done.stderr.strip().endswith("irscope reproduce --test writes the launch for another machine")
    done = irscope("reproduce", "r.irscope", "#1", "--test", "--trust", "-o", "folder")
    assert done.returncode == 0, done.stderr
    test = (tmp_path / "folder" / "test_launch.py").read_text()
    assert "# out-of-bounds, line 9: " in test
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_launch.py"]
    done = subprocess.run(
        command,
        cwd=tmp_path / "folder",
        check=False,
        capture_output=True,
        text=True,
        env={**os.environ, "PYTEST_ADDOPTS": ""},
    )
    assert f"{len(sanitizers.TOOLS)} skipped" in done.stdout, done.stdout


def test_captures_without_launches_say_so(irscope: Irscope):
    capture = Path(__file__).parents[1] / "data" / "advisories.irscope"
    done = irscope("lint", capture, "--prove", "--trust")
    assert done.returncode == 2
    assert "no launch of a reported kernel is recorded; irscope run records launches" in done.stderr
    assert "no format for CI" in irscope("lint", capture, "--prove", "--format", "sarif").stderr
    assert "only captures have launches" in irscope("lint", __file__, "--prove").stderr
