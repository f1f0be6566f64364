"""`irscope lint` of a capture that `irscope run` recorded: the planted mistakes, and only they."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

PROGRAM = """
import torch
import triton
import triton.language as tl

@triton.autotune([triton.Config({"BLOCK": b}, num_warps=2) for b in (64, 256)], key=["n"])
@triton.jit
def tail(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + at)
    tl.store(y_ptr + at, x, mask=at < n)

@triton.jit
def rows(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    x = tl.load(x_ptr + row * stride + tl.arange(0, BLOCK))
    tl.store(y_ptr + row, tl.sum(x))

@triton.jit
def wide_rows(x_ptr, y_ptr, stride, BLOCK: tl.constexpr):
    row = tl.program_id(0).to(tl.int64)
    x = tl.load(x_ptr + row * stride + tl.arange(0, BLOCK))
    tl.store(y_ptr + row, tl.sum(x))

x = torch.empty(1088, device="cuda")
tail[lambda meta: (triton.cdiv(1088, meta["BLOCK"]),)](x, x.clone(), 1088)
large = torch.empty((70_000, 32_768), device="cuda", dtype=torch.int16)
sums = torch.empty(70_000, device="cuda")
rows[(70_000,)](large, sums, large.stride(0), BLOCK=1024)
wide_rows[(70_000,)](large, sums, large.stride(0), BLOCK=1024)
view = torch.empty((64, 2048), device="cuda")[:, :128]
rows[(64,)](view, sums, view.stride(0), BLOCK=128)
"""


@pytest.mark.slow
def test_lint_of_a_recorded_program(tmp_path, triton_cache):
    def irscope(*words):
        command = [sys.executable, "-m", "irscope", *words]
        environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
        return subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, check=False).stdout

    (tmp_path / "program.py").write_text(PROGRAM)
    irscope("run", "--target", "cuda:90", "-o", "made.irscope", "program.py")
    found = json.loads(irscope("lint", "made.irscope", "--format", "json"))["problems"]
    assert [(one["rule"], one["line"]) for one in found] == [("out-of-bounds", 10), ("launch-overflow", 16)]
    assert "reads element 1,279 of x_ptr, which has 1,088" in found[0]["message"]
    assert "1 of 2 variants: #2 BLOCK=256" in found[0]["message"]
