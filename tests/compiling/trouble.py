"""Kernels that make the compiler fail, each in another way."""

import os
import time

import triton
import triton.language as tl


def misbehave(specialization):
    """The kernel's name, called while it compiles, so that it can end the compiler's process."""
    how = specialization.constants["HOW"]
    if how == "abort":
        os.abort()
    if how == "exit":
        os._exit(7)
    if how == "hang":
        time.sleep(3600)
    return "trouble"


@triton.jit(repr=misbehave)
def trouble(x_ptr, HOW: tl.constexpr, BLOCK: tl.constexpr):
    tl.static_print("block is", BLOCK)
    tl.static_assert(HOW != "assert", "HOW must not be assert")
    offsets = tl.arange(0, BLOCK)
    tl.store(x_ptr + offsets, tl.load(x_ptr + offsets) + 1)


@triton.jit
def unfinished(x_ptr, BLOCK: tl.constexpr):
    offsets = tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets)
    y = tl.inline_asm_elementwise("no.such.instruction $0, $1;", "=r,r", [x], tl.int32, True, 1)
    tl.store(x_ptr + offsets, y)
