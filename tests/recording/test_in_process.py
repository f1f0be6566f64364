"""`irscope.capture` and `irscope.compile`, in a separate process, as in a notebook."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


def test_blocks_and_kernels_are_captured_from_python(tmp_path: Path, triton_cache: Path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("notebook_program.py")],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(triton_cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    expected = []
    for target in ("cuda:90", "cuda:80"):
        expected += [
            f"add {target} BLOCK=128,num_warps=4,num_stages=3 None",
            f"stepped {target} BLOCK=16,num_warps=4,num_stages=3 None",
            f"stepped {target} BLOCK=16,num_warps=4,num_stages=3 None",
            f"add {target} BLOCK=32,num_warps=4,num_stages=3 None",
            f"add {target} BLOCK=64,num_warps=4,num_stages=3 None",
            "True cpu",
        ]
    lines = done.stdout.splitlines()
    captured, (compiled, refused, *rest) = lines[: len(expected)], lines[len(expected) :]
    assert captured == expected
    assert compiled == "['BLOCK=16', 'BLOCK=32'] True"
    assert refused.startswith("UserError made.irscope exists")
    results, errors, (warned,) = rest[:2], rest[2:5], rest[5:]
    assert results == ["1 1 0 too small", "1 1 1 too small"]
    for error, argument in zip(errors, ("signature", "signature", "config"), strict=True):
        assert error.startswith(f"{argument}: ")
        assert "--" not in error
    assert warned == "[\"irscope: sweep: no kernel named 'nothing' was launched, only add\"]"


def test_objects_are_constexprs_of_launches_and_compilations(tmp_path: Path, triton_cache: Path):
    done = subprocess.run(
        [sys.executable, "-W", "ignore", Path(__file__).with_name("object_program.py")],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(triton_cache)},
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    layouts = str([f"gl.BlockedLayout([{size}], [32], [4], [0])" for size in (1, 4)])
    assert done.stdout.splitlines() == [
        layouts,
        "['FUNCTION=doubled,DTYPE=tl.fp16,SIZES=(16, 8)', 'FUNCTION=squared,DTYPE=tl.fp16,SIZES=(16, 8)']",
        "['*fp32:16', 'squared', 'Mode.FAST', 'Tile(4)', 'Scales(2.0)']",
        layouts,
        "True",
    ]
