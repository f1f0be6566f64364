"""Captures from Python, block after block in one process; prints what is in each."""

import torch
import triton
import triton.language as tl

import irscope
from irscope.model import UserError
from irscope.store.reader import CaptureReader


@triton.jit
def add(x, n, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    tl.store(x + offsets, tl.load(x + offsets, mask=offsets < n) + 1, mask=offsets < n)


def make(step):
    @triton.jit
    def stepped(x, BLOCK: tl.constexpr):
        tl.store(x + tl.arange(0, BLOCK), step)

    return stepped


for target in ("cuda:90", "cuda:80"):
    with irscope.capture(f"{target[5:]}.irscope", target=target, sweep={"add": {"BLOCK": [32, 64]}}) as block:
        x = torch.zeros(100, device="cuda")
        add[(1,)](x, 100, BLOCK=128)
        for number in (1, 2):
            make(tl.constexpr(number))[(1,)](x, BLOCK=16)
    with CaptureReader(block.path) as capture:
        for variant in capture.variants():
            print(variant.kernel.name, variant.target, variant.config, variant.failure)
    print("<b>add" in block._repr_html_(), torch.ones(1).device)
made = irscope.compile(
    add, "made.irscope", "*fp32:16, i32", config={"BLOCK": [16, 32]}, target=["hip:gfx942"]
)
with CaptureReader(made.path) as capture:
    print([str(variant.config) for variant in capture.variants()], "BLOCK" in made._repr_html_())
try:
    irscope.compile(add, "made.irscope", "*fp32:16, i32", config={"BLOCK": 16})
except UserError as error:
    print(type(error).__name__, error)
