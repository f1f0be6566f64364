"""A signature gives the specialization that Triton's JIT finds for the arguments: equal hashes."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

# (kernel of plain.py, signature, arguments that fit it, constants)
CASES: list[tuple[str, str, str, dict[str, Any]]] = [
    (
        "scale", "*fp16:16, i32:16, fp32, 64, True, 3", "(tensor(256), 32, 1.5)",
        {"BLOCK": 64, "EVEN": True, "FACTOR": 3},
    ),
    ("scale", "*fp16, i32, fp32, 64, True, 2", "(tensor(2), 33, 1.5)", {"BLOCK": 64, "EVEN": True}),
    ("scale", "*fp16:16, 1, fp32, 64, False, 2", "(tensor(256), 1, 1.5)", {"BLOCK": 64, "EVEN": False}),
    (
        "scale", "*fp16:16, i64:16, fp32, 64, False, 2", "(tensor(256), 2**40, 1.5)",
        {"BLOCK": 64, "EVEN": False},
    ),
    (
        "scale", "*fp16:16, u64, fp32, 64, False, 2", "(tensor(256), 2**63 + 1, 1.5)",
        {"BLOCK": 64, "EVEN": False},
    ),
    ("unspecialized", "*fp16:16, i32:16, 64", "(tensor(256), 32)", {"BLOCK": 64}),
    ("looped", "*fp16:16, i32:1, 64", "(tensor(256), 1)", {"BLOCK": 64}),
]  # fmt: skip


@cache
def hashes(target: str, cache_folder: Path) -> list[tuple[str, str]]:
    """The hashes of the JIT and of irscope, per case; one process computes all of a target."""
    done = subprocess.run(
        [sys.executable, Path(__file__).with_name("jit_hashes.py")],
        input=json.dumps({"target": target, "cases": CASES}),
        env=os.environ | {"TRITON_CACHE_DIR": str(cache_folder)},
        capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    pairs: list[tuple[str, str]] = json.loads(done.stdout.splitlines()[-1])
    return pairs


@pytest.mark.slow
@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("number", range(len(CASES)), ids=lambda number: "-".join(CASES[number][:2]))
def test_same_hash_as_the_jit(triton_cache: Path, target: str, number: int):
    jit, own = hashes(target, triton_cache)[number]
    assert own == jit
