"""Damaged pin files, plan files and `--vary` texts: read as something, or rejected with one line."""

from __future__ import annotations

import random
from contextlib import suppress
from itertools import islice
from pathlib import Path

from irscope.compiling.launch_grid import LaunchCase, expand_axes, linked_axes, parse_axes
from irscope.jobs.warm.pins import merged, pins_text, read_pins
from irscope.jobs.warm.plan_file import plan_text, read_plan
from irscope.model import UserError

_PINS = """version = 1
[[pin]]
kernel = "k"
target = "cuda:90"
key = "(512, 'torch.float16')"
config = "BLOCK=64,ACT='a, b',num_warps=4"
date = "2026-11-22T10:00:00Z"
configs = 2
[pin.ms]
"BLOCK=64,ACT='a, b',num_warps=4" = 0.25
"""
_PLAN = """version = 1
[[kernel]]
name = "k"
file = "k.py"
target = "hip:gfx942"
vary = ["n=1..64:x16,None", "x=*fp16:16"]
[[kernel.launch]]
arguments = { x = "float16[64, 32]", n = 2048 }
constants = { ACT = "'relu'", BLOCK = 64 }
unaligned = ["x"]
"""
_VARY = "k*:n=1..64:x16,None;x=*fp16:16,unaligned;s=1..4096:*2"
_PIECES = (
    "..", ":", ",", "=", ";", "*", "x16", "9" * 9, "\n", '"', "'", "[", "]", "((", "\x00", "\x1b", "nan",
)  # fmt: skip


def read(rng: random.Random, folder: Path) -> None:
    """Reads a damaged text of one kind; what is read can be written and merged."""
    kind = rng.choice((_pins, _plan, _vary))
    with suppress(UserError):
        kind(rng, folder / "file.toml")


def _pins(rng: random.Random, path: Path) -> None:
    path.write_text(_damaged(rng, _PINS), encoding="utf-8")
    pins = read_pins(path)
    merged({"a": pins, "b": pins})
    pins_text(pins)


def _plan(rng: random.Random, path: Path) -> None:
    path.write_text(_damaged(rng, _PLAN), encoding="utf-8")
    kernels = read_plan(path)
    plan_text(kernels, path.parent)
    for kernel in kernels:
        expand_axes(kernel.cases, linked_axes(kernel.axes, kernel.cases), None)


def _vary(rng: random.Random, _: Path) -> None:
    axes = parse_axes(_damaged(rng, _VARY))
    for axis in axes:
        list(islice(axis.texts(), 100))
    recorded = [LaunchCase((("n", "64"), ("s", "128"), ("x", "float16[64]")))]
    expand_axes(recorded, linked_axes(axes, recorded), None)


def _damaged(rng: random.Random, text: str) -> str:
    for _ in range(rng.randint(1, 6)):
        at = rng.randrange(len(text) + 1)
        cut = rng.choice((0, 0, 1, 5, 40))
        text = text[:at] + rng.choice(("", *_PIECES)) + text[at + cut :]
    return text
