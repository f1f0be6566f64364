"""Plan files: what is written is read back, and what is wrong is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.compiling.launch_grid import LaunchCase, parse_axes
from irscope.jobs.warm.launch_plans import KernelLaunches
from irscope.jobs.warm.plan_file import plan_text, read_plan
from irscope.model import Dtype, UserError
from irscope.targets import parse_target

CASE = LaunchCase(
    (("x", "float16[64, 32] strides [64, 1]"), ("n", "2048"), ("bias", "None"), ("eps", "1e-05")),
    (("ACT", "relu"), ("BLOCK", 64), ("TYPE", Dtype("bf16")), ("CAUSAL", True), ("num_warps", 8)),
    frozenset(["x"]),
)


def test_a_plan_has_the_launches_that_were_written(tmp_path: Path):
    axes = parse_axes("k:n=1..64:x16,None;BLOCK=64,128")
    kernels = (
        KernelLaunches("k", tmp_path / "src" / "k.py", parse_target("cuda:90"), (CASE, LaunchCase(())), axes),
        KernelLaunches("j", tmp_path / "j.py", parse_target("hip:gfx942"), ()),
    )
    path = tmp_path / "warm.toml"
    path.write_text(plan_text(kernels, tmp_path))
    assert 'file = "src/k.py"' in path.read_text()
    assert set(read_plan(path)) == set(kernels)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not a plan of version 1"),
        ("version = 1\nkernel = 3", "'kernel' must be"),
        ("version = 1\n[[kernel]]\nname = 3", "kernel 1: name must be a string"),
        ('version = 1\n[[kernel]]\nname = "k"\nfiles = "k.py"', "kernel 1: unknown key 'files'"),
        ('version = 1\n[[kernel]]\nname="k"\nfile="k.py"\ntarget="gpu"', "kernel k: unknown target 'gpu'"),
    ],
)
def test_what_is_wrong_with_a_plan_is_named(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "warm.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        read_plan(path)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ('vary = "n=1"', "kernel 1: vary must be a list"),
        ('vary = ["n"]', "'n' is not NAME=VALUES"),
        ("launch = 3", "kernel 1: launch must be"),
        ("launch = [{ arguments = 3 }]", "launch: arguments must be a table of strings"),
        ("launch = [{ arguments = { x = [1] } }]", "arguments must be a table of strings or numbers"),
        ("launch = [{ grid = 3 }]", "launch: unknown key 'grid'"),
    ],
)
def test_what_is_wrong_with_a_kernel_is_named(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "warm.toml"
    path.write_text(f'version = 1\n[[kernel]]\nname = "k"\nfile = "k.py"\ntarget = "cuda:90"\n{text}\n')
    with pytest.raises(UserError, match=problem):
        read_plan(path)
