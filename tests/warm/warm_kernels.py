"""Kernels that the tests of warm folders compile; as a program, launches them for the values given."""

import sys

import triton
import triton.language as tl


@triton.jit
def double(x):
    return x * 2


@triton.jit
def add_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, double(tl.load(x + i, mask=i < n)), mask=i < n)


@triton.autotune([triton.Config({"BLOCK": size}) for size in (64, 128)], key=["n"])
@triton.jit
def tuned_kernel(x, y, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y + i, tl.load(x + i, mask=i < n), mask=i < n)


@triton.jit
def bad_kernel(x, BLOCK: tl.constexpr):
    tl.store(x + tl.arange(0, BLOCK), missing_value)  # noqa: F821 - this does not compile


def launch(n: int, block: int = 128) -> None:
    """Compiles `add_kernel` for these values, or loads it from Triton's cache; needs no GPU."""
    pointer = triton.runtime.jit.MockTensor(tl.float32)
    add_kernel.warmup(pointer, pointer, n, BLOCK=block, grid=(1,))


if __name__ == "__main__":
    from irscope.compiling.toolchain.stub_driver import StubDriver
    from irscope.targets import parse_target

    triton.runtime.driver.set_active(StubDriver(parse_target("cuda:90")))
    for word in sys.argv[1:]:
        launch(int(word))
