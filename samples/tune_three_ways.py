r"""Tune one kernel three ways: with all configs, with `irscope.fits` and with `irscope.prune`.

`fits` drops the configs that cannot be launched, here those with too much shared memory. `prune`
compiles in parallel, drops duplicates, and keeps the tenth that is fastest by estimate. The table
shows the time that compiling and measuring took and the speed reached.

    python samples/tune_three_ways.py
    irscope run --target cuda:90 samples/tune_three_ways.py
    irscope compile samples/tune_three_ways.py \
        --signature "*fp16:16, *fp16:16, *fp16:16, i32:16, i32:16, i32:16" \
        --config BLOCK_M=64,128 --config BLOCK_N=128 --config BLOCK_K=64 --config num_stages=3,4

The second line needs no GPU: it shows which configs would be measured.
"""

import itertools
import os
import tempfile
import time
from functools import partial
from typing import Any

import triton
import triton.language as tl

import irscope

CONFIGS = [
    triton.Config({"BLOCK_M": m, "BLOCK_N": n, "BLOCK_K": k}, num_warps=warps, num_stages=stages)
    for m, n, k, warps, stages in itertools.product(
        (64, 128), (128, 256), (64, 128), (4, 8), (3, 4)
    )
]


@triton.jit
def gelu_matmul_kernel(
    a_ptr, b_ptr, c_ptr, M, N, K,
    BLOCK_M: tl.constexpr, BLOCK_N: tl.constexpr, BLOCK_K: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * BLOCK_M + tl.arange(0, BLOCK_M)
    cols = tl.program_id(1) * BLOCK_N + tl.arange(0, BLOCK_N)
    acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
    for start in range(0, K, BLOCK_K):
        ks = start + tl.arange(0, BLOCK_K)
        a = tl.load(a_ptr + rows[:, None] * K + ks[None, :])
        b = tl.load(b_ptr + ks[:, None] * N + cols[None, :])
        acc = tl.dot(a, b, acc)
    gelu = acc * tl.sigmoid(1.702 * acc)
    tl.store(c_ptr + rows[:, None] * N + cols[None, :], gelu.to(c_ptr.dtype.element_ty))


def grid(meta: dict[str, Any]) -> tuple[int, int]:
    return meta["M"] // meta["BLOCK_M"], meta["N"] // meta["BLOCK_N"]


def tune(prune: Any, arguments: tuple[Any, ...]) -> tuple[float, float, Any, dict]:
    """Seconds of compiling and of measuring, the best config, the times of those measured."""
    by = {"early_config_prune": prune} if prune else None
    decorate = triton.autotune(CONFIGS, key=["M", "N", "K"], prune_configs_by=by)
    tuner = decorate(gelu_matmul_kernel)
    gelu_matmul_kernel.device_caches.clear()
    with tempfile.TemporaryDirectory() as cache:
        os.environ["TRITON_CACHE_DIR"] = cache
        begin = time.perf_counter()
        tuner.warmup(*arguments, grid=grid)  # compiles the configs that pruning leaves
        compiled = time.perf_counter()
        tuner[grid](*arguments)
        end = time.perf_counter()
    timings = getattr(tuner, "configs_timings", {tuner.best_config: None})
    return compiled - begin, end - compiled, tuner.best_config, timings


def main() -> None:
    import torch

    os.environ.setdefault("IRSCOPE_VERBOSE", "1")
    m, n, k = 4096, 4096, 4096
    a, b = (torch.randn(size, device="cuda", dtype=torch.float16) for size in ((m, k), (k, n)))
    arguments = (a, b, torch.empty(m, n, device="cuda", dtype=torch.float16), m, n, k)
    ways = {"all configs": None, "fits": irscope.fits(), "prune": irscope.prune(top=0.1)}
    print(f"{'':13}{'measured':>9}{'compiling':>11}{'measuring':>11}{'TFLOP/s':>9}  best config")
    for name, way in ways.items():
        compiling, measuring, best, timings = tune(way, arguments)
        chosen = best.all_kwargs()
        ms = triton.testing.do_bench(partial(gelu_matmul_kernel[grid], *arguments, **chosen))
        # A simulated GPU measures the same for all: no speed is better than a wrong one.
        simulated = len(set(map(str, timings.values()))) == 1
        speed = "?" if simulated else f"{2 * m * n * k / ms / 1e9:.0f}"
        shown = ", ".join(f"{key}={value}" for key, value in chosen.items() if key != "num_ctas")
        times = f"{compiling:9.1f} s{measuring:9.1f} s{speed:>9}"
        print(f"{name:13}{len(timings):9}{times}  {shown}", flush=True)


if __name__ == "__main__":
    main()
