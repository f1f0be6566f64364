"""`irscope reproduce` on captures of programs: the folder, the check, values, failures, minimizing."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.api import Capture
from irscope.store import CaptureReader
from tests.conftest import Irscope
from tests.reproduce import project

SUMMING = """
import triton
import triton.language as tl


@triton.jit
def summing_kernel(x_ptr, unused_ptr, out_ptr, n, SCALE: tl.constexpr, BLOCK: tl.constexpr):
    rows = tl.arange(0, BLOCK)
    places = rows[:, None] * BLOCK + rows[None, :]
    x = tl.load(x_ptr + places)
    y = tl.load(x_ptr + n * places) * SCALE
    total = tl.sum(y, axis=0)
    tl.static_assert(BLOCK > 32, "BLOCK is too small")
    tl.store(out_ptr + places, x + total[None, :])
"""


@pytest.fixture
def captured(irscope: Irscope, tmp_path: Path) -> Path:
    (tmp_path / "common.py").write_text(project.COMMON)
    (tmp_path / "kernels.py").write_text(project.KERNELS)
    (tmp_path / "program.py").write_text(project.PROGRAM)
    done = irscope("run", "--values", "--target", "cuda:90", "-o", "p.irscope", "program.py")
    assert done.returncode == 0, done.stderr
    return tmp_path / "p.irscope"


@pytest.mark.slow
def test_a_reproducer_needs_nothing_of_the_project(irscope: Irscope, captured: Path) -> None:
    folder = captured.parent / "repro"
    done = irscope("reproduce", "p.irscope", "#1", "-o", "repro", "--against", "#2")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "compiles to the recorded machine code" in done.stdout
    assert sorted(file.name for file in folder.iterdir()) == [
        "README.md", "kernel.py", "reproduce.py", "values.pt"
    ]  # fmt: skip
    for name in ("common.py", "kernels.py"):
        (captured.parent / name).unlink()
    alone = subprocess.run(
        [sys.executable, folder / "reproduce.py"], capture_output=True, text=True, check=False
    )
    assert alone.returncode == 0, alone.stdout + alone.stderr
    assert "same machine code as recorded" in alone.stdout
    assert "Compared with" in (folder / "README.md").read_text()
    with Capture(captured) as capture:
        made = capture.reproduce(capture.variant(2), captured.parent / "second", check=False)
        assert (made / "kernel.py").exists()
    again = irscope("reproduce", "p.irscope", "#1", "-o", "repro")
    assert again.returncode == 2
    assert "is not empty" in again.stderr


@pytest.mark.slow
def test_values_and_merging(irscope: Irscope, captured: Path) -> None:
    import torch

    assert irscope("merge", "p.irscope", "-o", "m.irscope").returncode == 0
    with CaptureReader(captured.parent / "m.irscope") as reader:
        first, second = reader.variants()
        assert set(reader.attached(first)) == {"kernel", "call", "values"}
        assert not any(name.startswith("@") for name in first.artifacts)
        content = reader.content(reader.attached(second)["values"])
    (captured.parent / "values.pt").write_bytes(content)
    values = torch.load(captured.parent / "values.pt", weights_only=True)
    assert values["same"] == {"out_ptr": "x_ptr"}
    assert values["before"]["x_ptr"].tolist() == list(range(1, 256))


@pytest.mark.slow
def test_a_changed_kernel_is_noticed(irscope: Irscope, captured: Path) -> None:
    irscope("reproduce", "p.irscope", "#1", "-o", "repro", "--no-check")
    file = captured.parent / "repro" / "kernel.py"
    file.write_text(file.read_text().replace("x * BLOCK", "x + BLOCK"))
    script = [sys.executable, captured.parent / "repro" / "reproduce.py"]
    done = subprocess.run(script, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "NOT the machine code that was recorded" in done.stdout


@pytest.mark.slow
def test_failures_and_minimizing(irscope: Irscope, tmp_path: Path) -> None:
    (tmp_path / "summing.py").write_text(SUMMING)
    signature = "*fp32:16, *fp32:16, *fp32:16, i32"
    words = ["--config", "BLOCK=32,64", "--const", "SCALE=2", "--config", "num_warps=1"]
    irscope("compile", "summing.py", "--signature", signature, *words, "-o", "s.irscope")
    failing = irscope("reproduce", "s.irscope", "#1", "-o", "failing")
    assert "fails as recorded" in failing.stdout, failing.stdout + failing.stderr
    wrong = irscope("reproduce", "s.irscope", "#2", "-o", "small", "--fact", "spills")
    assert "conditions of --minimize" in wrong.stderr
    done = irscope(
        "reproduce",
        "s.irscope",
        "#2",
        "-o",
        "small",
        "--minimize",
        "--check",
        "threads == 32",
        "--seconds",
        "120",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    text = (tmp_path / "small" / "kernel.py").read_text()
    assert len(text.splitlines()) < len(SUMMING.splitlines())
    assert "tl.load" not in text
    ast.parse(text)
