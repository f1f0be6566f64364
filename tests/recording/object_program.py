"""Compiles and captures kernels whose constexprs are objects, from Python; prints what was recorded."""

import sys
from pathlib import Path

import torch

import irscope

sys.path.insert(0, str(Path(__file__).parents[1] / "compiling"))

import objects
import triton.language as tl
from triton.experimental.gluon import language as gl

copied = objects.copied.fn
layouts = [gl.BlockedLayout([size], [32], [4], [0]) for size in (1, 4, 4)]
with irscope.compile(
    copied, "layouts.irscope", "*fp32:16, *fp32:16", config={"LAYOUT": layouts, "num_warps": 4}
) as capture:
    print([str(variant.config.get("LAYOUT")) for variant in capture.variants])
    compiled = [variant.metadata["hash"] for variant in capture.variants]
with irscope.compile(
    objects.mapped, "mapped.irscope", "*fp32:16",
    config={"FUNCTION": [objects.doubled, objects.squared], "DTYPE": [tl.float16], "SIZES": [(16, 8)]},
) as capture:  # fmt: skip
    print([str(variant.config) for variant in capture.variants])
with irscope.compile(
    objects.chosen, "chosen.irscope", "*fp32:16",
    const={
        "ACTIVATION": "squared", "MODE": objects.Mode.FAST,
        "TILE": objects.Tile(4), "SCALES": objects.Scales(2.0),
    },
) as capture:  # fmt: skip
    print([str(argument) for argument in capture.variants[0].specialization])

block = irscope.capture("launched.irscope", "cuda:90", sweep={"copied": {"LAYOUT": layouts[1:]}})
with block:
    x = torch.zeros(1024, device="cuda")
    copied[(1,)](x, torch.empty_like(x), LAYOUT=layouts[0], num_warps=4)
with block.open() as capture:
    print([str(variant.config.get("LAYOUT")) for variant in capture.variants])
    print([variant.metadata["hash"] for variant in capture.variants] == compiled)
