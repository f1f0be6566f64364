"""Measures the times that the lessons quote, on a GPU: `python benchmarks/lesson_figures.py`. Needs torch."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
ELEMENTS = 1 << 26
FIRST_AND_SECOND = """
import time, sys
import torch, triton
sys.path.insert(0, {samples!r})
from matmul import matmul_kernel
a = torch.randn((512, 512), device="cuda", dtype=torch.float16); c = torch.empty_like(a)
def launch():
    matmul_kernel.fn[(16,)](a, a, c, 512, 512, 512, 512, 1, 512, 1, 512, 1,
        BLOCK_M=128, BLOCK_N=128, BLOCK_K=64, GROUP_M=8, num_warps=8, num_stages=3)
    torch.cuda.synchronize()
torch.cuda.synchronize()
for which in ("first launch", "second launch"):
    begun = time.perf_counter()
    launch()
    print(f"{{which}} {{(time.perf_counter() - begun) * 1e3:.2f}} ms", end="; ")
print()
"""


def milliseconds(launch: Callable[[], Any]) -> str:
    """The median time of a launch, and the 20% and 80% quantiles."""
    import triton

    low, mid, high = triton.testing.do_bench(launch, warmup=50, rep=300, quantiles=[0.2, 0.5, 0.8])
    return f"{mid:.4f} ms ({low:.4f} to {high:.4f})"


def registers_and_spills() -> None:
    """Lesson 4: a softmax whose rows are too long for four warps."""
    for columns, warps in ((1024, 4), (4096, 4), (16384, 4), (32768, 4), (32768, 16)):
        softmax(columns, warps)


def softmax(columns: int, warps: int) -> None:
    """Softmax over rows of `columns` columns, each in one block."""
    import torch

    kernel = import_module("fused_softmax").softmax_kernel
    x = torch.randn((4 * ELEMENTS // columns, columns), device="cuda")
    out = torch.empty_like(x)
    strides = (columns, columns, columns)

    def launch() -> Any:
        return kernel[(x.shape[0],)](out, x, *strides, BLOCK_SIZE=columns, num_warps=warps)

    compiled = launch()
    torch.testing.assert_close(out, torch.softmax(x, 1))
    time = milliseconds(launch)
    rate = 2 * x.numel() * x.element_size() / float(time.split()[0]) / 1e9
    print(f"softmax of {x.shape[0]} x {columns}, num_warps={warps}: {time}, {rate:.2f} TB/s,",
          f"{compiled.n_regs} registers, {compiled.n_spills} spills")  # fmt: skip


def runtime_block_size() -> None:
    """Lesson 8: a block size that is known only at run time, and the block it is masked out of."""
    import torch
    import triton

    lesson = import_module("08_runtime_block_size")
    x = torch.randn(ELEMENTS, device="cuda")
    out = torch.empty_like(x)
    grid = (triton.cdiv(ELEMENTS, 1024),)
    print("exp of 2**26 fp32 in blocks of 1,024, fixed:",
          milliseconds(lambda: lesson.fixed_kernel[grid](x, out, ELEMENTS, BLOCK_SIZE=1024)))  # fmt: skip
    for most in (1024, 2048, 4096, 8192):
        time = milliseconds(
            lambda most=most: lesson.capped_kernel[grid](x, out, ELEMENTS, 1024, MAX_BLOCK_SIZE=most)
        )
        torch.testing.assert_close(out, torch.exp(x))
        print(f"  1,024 at run time, MAX_BLOCK_SIZE={most}: {time}")


def cache() -> None:
    """Lesson 9: the time of the first launch, in this process and in the next."""
    program = FIRST_AND_SECOND.format(samples=str(ROOT / "samples"))
    with tempfile.TemporaryDirectory() as folder:
        for process in ("empty cache", "cache on disk"):
            done = subprocess.run(
                [sys.executable, "-c", program],
                env=os.environ | {"TRITON_CACHE_DIR": folder},
                capture_output=True,
                text=True,
                check=True,
            )
            print(f"matmul, {process}: {done.stdout.strip().rstrip(';')}")


def chosen_configs() -> None:
    """Lesson 10: which config wins for which shape."""
    import torch

    sample = import_module("matmul")
    for m, n, k in (
        (16, 4096, 4096),
        (256, 4096, 4096),
        (512, 512, 8192),
        (4096, 4096, 4096),
        (8192, 8192, 512),
    ):
        a = torch.randn((m, k), device="cuda", dtype=torch.float16)
        b = torch.randn((k, n), device="cuda", dtype=torch.float16)
        sample.matmul(a, b)
        tuner = sample.matmul_kernel
        times = sorted(time[0] if isinstance(time, list) else time for time in tuner.configs_timings.values())
        print(f"matmul M={m} N={n} K={k}: {tuner.best_config};",
              f"best {times[0]:.4f} ms, worst {times[-1]:.4f} ms of {len(times)}")  # fmt: skip


def main() -> None:
    """Prints all figures."""
    import torch
    import triton

    sys.path[:0] = [str(ROOT / "samples"), str(ROOT / "irscope" / "learn" / "lessons")]
    print(torch.cuda.get_device_name(), "triton", triton.__version__, "torch", torch.__version__)
    registers_and_spills()
    runtime_block_size()
    cache()
    chosen_configs()


if __name__ == "__main__":
    main()
