"""Findings about two statements whose values were swapped, on kernels that the test compiles."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Target
from irscope.workspace import Workspace

KERNEL = """import triton
import triton.language as tl


@triton.jit
def tiles(x_ptr, y_ptr, stride, BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr):
    pid_m = tl.program_id(axis=0)
    pid_n = tl.program_id(axis=1)
    rows = pid_m * BLOCK_M + tl.arange(0, BLOCK_M)
    columns = pid_n * BLOCK_N + tl.arange(0, BLOCK_N)
    offsets = rows[:, None] * stride + columns[None, :]
    tl.store(y_ptr + offsets, tl.load(x_ptr + offsets))
"""
SWAPPED = KERNEL.replace("axis=0", "axis=2").replace("axis=1", "axis=0").replace("axis=2", "axis=1")


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    folder = tmp_path_factory.mktemp("swapped")
    path = folder / "both.irscope"
    compiler = Compiler(Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        for name, text in (("1", KERNEL), ("2", SWAPPED)):
            file = folder / name / "kernel.py"
            file.parent.mkdir()
            file.write_text(text)
            axes = {"BLOCK_M": (16,), "BLOCK_N": (64,)}
            signature = "*fp32:16, *fp32:16, i32:16"
            request = SweepRequest(file, "tiles", signature, {}, axes, (Target("cuda", "90", 32),))
            compiler.compile(request, path, Stop())
    compiler.close()
    return path


def test_both_statements_are_named_in_either_direction(capture: Path) -> None:
    with Workspace(capture) as workspace:
        old, new = workspace.variants
        found = [
            [finding.text for finding in workspace.compare(*pair).findings[:2]]
            for pair in ((old, new), (new, old))
        ]
    assert found == [
        ["line 7: tl.program_id uses axis=0 -> 1", "line 8: tl.program_id uses axis=1 -> 0"],
        ["line 7: tl.program_id uses axis=1 -> 0", "line 8: tl.program_id uses axis=0 -> 1"],
    ]
