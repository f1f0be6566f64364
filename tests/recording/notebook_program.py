"""Captures from Python, several blocks in one process; prints what is in each capture."""

import warnings
from pathlib import Path

import torch
import triton
import triton.language as tl

import irscope
from irscope.model import UserError
from irscope.recording.in_process import compile_kernel, kernel_request
from irscope.store import CaptureReader
from irscope.targets import parse_target


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


@triton.jit
def picky(x, BLOCK: tl.constexpr):
    tl.static_assert(BLOCK > 16, "too small")
    tl.store(x + tl.arange(0, BLOCK), 1.0)


for name in ("first.irscope", "again.irscope"):
    picked, request = kernel_request(picky, "*fp32", {"BLOCK": [16, 32]}, {}, (parse_target("cuda:90"),))
    result = compile_kernel(picked, request, Path(name), 1, 60.0, force=False)
    print(result.compiled, result.failed, result.reused, result.first_failure.summary)
for signature, config in ((None, {"BLOCK": 16}), ("*fp33", {"BLOCK": 16}), ("*fp32", {"BLOK": 16})):
    try:
        irscope.compile(picky, "never.irscope", signature, config=config)
    except UserError as error:  # noqa: PERF203 - each is printed
        print(error)
with warnings.catch_warnings(record=True) as caught:
    warnings.simplefilter("always")
    with irscope.capture("swept.irscope", target="cuda:90", sweep={"nothing": {"BLOCK": [32]}}):
        add[(1,)](torch.zeros(100, device="cuda"), 100, BLOCK=128)
print([str(warning.message) for warning in caught if "irscope" in str(warning.message)])
