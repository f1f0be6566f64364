"""Launches kernels at several numbers of rows: the bits of a row that all have depend on that number, or not.

    python -m tests.truth.bits.invariance --measure [CASE ...]
    irscope run --target cuda:90 -o rows.irscope -m tests.truth.bits.invariance [CASE ...]

`--measure` needs a GPU, torch and Triton: it prints a JSON line per kernel, which says whether the rows that two sizes
have in common have the same bits, whatever config an autotuner may choose. Without it, each size is launched once.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
import triton

from tests.truth.bits import invariance_kernels as kernels
from tests.truth.bits.launching import checksum
from tests.truth.bits.space import Data, cdiv

# The rows of all data; a launch takes the first ones of them.
_ROWS = 512
_N = 1000
# Launches a kernel: kernel, grid, arguments, constants.
Run = Callable[..., None]


@dataclass(frozen=True)
class Case:
    """A kernel, the numbers of rows to launch it for, and whether the bits of a row are the same for all of them.

    `vary` is what varies with the number of rows, as `irscope bits --invariant` takes it. `launch` launches the
    kernel for a number of rows and returns what it wrote, row by row.
    """

    launch: Callable[[Run, Data, int], torch.Tensor]
    invariant: bool
    vary: str = "M"
    sizes: tuple[int, ...] = (1, 16, 33, 256)

    @property
    def name(self) -> str:
        """Return the name of the kernel."""
        return self.launch.__name__


def rms_norm(run: Run, data: Data, m: int) -> torch.Tensor:
    x, w = data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous(), data.normal(_N, dtype=torch.float16)
    out = torch.empty_like(x)
    run(kernels.rms_norm, (m,), x, w, out, _N, 1e-6, B=1024)
    return out


def persistent_softmax(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, _N)[:m].contiguous()
    out = torch.empty_like(x)
    run(kernels.persistent_softmax, (min(m, 24),), x, out, m, _N, B=1024)
    return out


def looped_layer_norm(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous()
    w, b, out = data.normal(_N), data.normal(_N), torch.empty_like(x)
    run(kernels.looped_layer_norm, (m,), x, w, b, out, _N, 1e-6, B=256)
    return out


def _factors(data: Data, m: int, n: int = 256, k: int = 512) -> tuple[torch.Tensor, torch.Tensor]:
    a = data.normal(_ROWS, k, dtype=torch.float16)[:m].contiguous()
    return a, data.normal(k, n, dtype=torch.float16)


def tuned_matmul(run: Run, data: Data, m: int) -> torch.Tensor:
    a, b = _factors(data, m)
    c = torch.empty((m, 256), dtype=torch.float16, device=data.device)
    run(kernels.tuned_matmul, lambda meta: (cdiv(m, meta["BM"]), 256 // meta["BN"]), a, b, c, m, 256, 512)
    return c


def grouped_matmul(run: Run, data: Data, m: int) -> torch.Tensor:
    a, b = _factors(data, m)
    c = torch.empty((m, 256), dtype=torch.float16, device=data.device)
    block = 16 if m <= 16 else 64 if m <= 64 else 128
    grid = (cdiv(m, block) * (256 // 64),)
    run(kernels.grouped_matmul, grid, a, b, c, m, 256, 512, BM=block, BN=64, BK=64, GROUP=4)
    return c


def quantize_tokens(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, _N, dtype=torch.bfloat16)[:m].contiguous()
    out = torch.empty((m, _N), dtype=torch.int8, device=data.device)
    scales = torch.empty(m, device=data.device)
    run(kernels.quantize_tokens, (m,), x, out, scales, _N, B=1024)
    return torch.cat([out.view(torch.uint8), scales[:, None].view(torch.uint8)], 1)


_LENGTH, _HEADS, _DIM = 300, 2, 64


def _sequences(data: Data, m: int) -> tuple[torch.Tensor, ...]:
    q = data.normal(_ROWS, _HEADS, _DIM, dtype=torch.float16)[:m].contiguous()
    k, v = (data.normal(64, _HEADS, _LENGTH, _DIM, dtype=torch.float16)[:m].contiguous() for _ in range(2))
    return q, k, v


def decode_attention(run: Run, data: Data, m: int) -> torch.Tensor:
    q, k, v = _sequences(data, m)
    out = torch.empty_like(q)
    run(kernels.decode_attention, (m, _HEADS), q, k, v, out, _LENGTH, 0.125, H=_HEADS, D=_DIM, BN=64)
    return out


def cross_entropy(run: Run, data: Data, m: int) -> torch.Tensor:
    logits, labels = data.normal(_ROWS, _N)[:m].contiguous(), data.integers(0, _N, _ROWS)[:m].contiguous()
    loss = torch.empty(m, device=data.device)
    run(kernels.cross_entropy, (m,), logits, labels, loss, _N, B=256)
    return loss


def row_cumsum(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, _N)[:m].contiguous()
    out = torch.empty_like(x)
    run(kernels.row_cumsum, (cdiv(m, 4),), x, out, m, _N, RB=4, B=1024)
    return out


def silu_and_mul(run: Run, data: Data, m: int) -> torch.Tensor:
    gate, up = (data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous() for _ in range(2))
    out = torch.empty_like(gate)
    run(kernels.silu_and_mul, (cdiv(m * _N, 512),), gate, up, out, m * _N, B=512)
    return out


def add_rms_norm(run: Run, data: Data, m: int) -> torch.Tensor:
    x, w = data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous(), data.normal(_N, dtype=torch.float16)
    out = torch.empty_like(x)
    residual = data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous()
    warps = 8 if m < 64 else 4
    run(kernels.add_rms_norm, (m,), x, residual, w, out, _N, 1e-6, B=1024, num_warps=warps)
    return out


def tuned_rms_norm(run: Run, data: Data, m: int) -> torch.Tensor:
    x, w = data.normal(_ROWS, _N, dtype=torch.float16)[:m].contiguous(), data.normal(_N, dtype=torch.float16)
    out = torch.empty_like(x)
    run(kernels.tuned_rms_norm, (m,), x, w, out, m, _N, 1e-6)
    return out


def split_matmul(run: Run, data: Data, m: int) -> torch.Tensor:
    a, b = _factors(data, m)
    c = torch.zeros((m, 256), device=data.device)
    split = 2 if m <= 64 else 1
    grid = (cdiv(m, 64), 256 // 64, split)
    run(kernels.split_matmul, grid, a, b, c, m, 256, 512, BM=64, BN=64, BK=64, SPLIT_K=split)
    return c


def stream_k_matmul(run: Run, data: Data, m: int) -> torch.Tensor:
    a, b = _factors(data, m)
    c = torch.zeros((m, 256), device=data.device)
    run(kernels.stream_k_matmul, (6,), a, b, c, m, 256, 512, BM=64, BN=64, BK=64)
    return c


def split_decode(run: Run, data: Data, m: int) -> torch.Tensor:
    q, k, v = _sequences(data, m)
    out = torch.zeros((m, _HEADS, 8, _DIM), device=data.device)
    sums = torch.zeros((m, _HEADS, 8), device=data.device)
    splits = 4 if m <= 16 else 1
    run(kernels.split_decode, (m, _HEADS, splits), q, k, v, out, sums, _LENGTH, 0.125, H=_HEADS, D=_DIM, BN=32,
        SPLITS=splits)  # fmt: skip
    return out


def weight_gradients(run: Run, data: Data, m: int) -> torch.Tensor:
    dy, x = (data.normal(_ROWS, _N)[:m].contiguous() for _ in range(2))
    partial = torch.zeros((8, _N), device=data.device)
    run(kernels.weight_gradients, (8, cdiv(_N, 128)), dy, x, partial, m, _N, RB=8, B=128)
    return partial


def batch_norm(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, 1024)[:m].contiguous()
    out = torch.empty_like(x)
    run(kernels.batch_norm, (1024 // 128,), x, out, m, 1024, 1e-5, RB=16, B=128)
    return out


def align_tokens(run: Run, data: Data, m: int) -> torch.Tensor:
    experts = data.integers(0, 2, 1 << 16)[:m].contiguous()
    counts = torch.zeros(2, dtype=torch.int32, device=data.device)
    places = torch.zeros(m, dtype=torch.int32, device=data.device)
    run(kernels.align_tokens, (cdiv(m, 16),), experts, counts, places, m, B=16)
    return places


def quantize_tensor(run: Run, data: Data, m: int) -> torch.Tensor:
    x = data.normal(_ROWS, _N)[:m].contiguous()
    out = torch.empty((m, _N), dtype=torch.int8, device=data.device)
    run(kernels.quantize_tensor, (cdiv(m * _N, 1024),), x, out, m * _N, B=1024)
    return out


def mean_cross_entropy(run: Run, data: Data, m: int) -> torch.Tensor:
    logits, labels = data.normal(_ROWS, _N)[:m].contiguous(), data.integers(0, _N, _ROWS)[:m].contiguous()
    gradient = torch.empty_like(logits)
    run(kernels.mean_cross_entropy, (m,), logits, labels, gradient, m, _N, B=1024)
    return gradient


CASES = (
    Case(rms_norm, True, "grid"),
    Case(persistent_softmax, True),
    Case(looped_layer_norm, True, "grid"),
    Case(tuned_matmul, True),
    Case(grouped_matmul, True),
    Case(quantize_tokens, True, "grid"),
    Case(decode_attention, True, "grid", (1, 5, 16, 40)),
    Case(cross_entropy, True, "grid"),
    Case(row_cumsum, True),
    Case(silu_and_mul, True, "n"),
    Case(add_rms_norm, False, "grid"),
    Case(tuned_rms_norm, False),
    Case(split_matmul, False),
    Case(stream_k_matmul, False, sizes=(16, 33, 80, 160)),
    Case(split_decode, False, "grid", (1, 5, 16, 40)),
    Case(weight_gradients, False, sizes=(16, 33, 256)),
    Case(batch_norm, False, sizes=(16, 33, 256)),
    Case(align_tokens, False, sizes=(16, 33, 1 << 16)),
    Case(quantize_tensor, False, "n", (1, 16, 33, 64)),
    Case(mean_cross_entropy, False),
)  # fmt: skip


def _launch(kernel: Any, grid: Any, *arguments: Any, **constants: Any) -> None:
    kernel[grid](*arguments, **constants)


def _with_config(index: int) -> Run:
    """Return what launches the config of this index of an autotuner."""

    def run(kernel: Any, grid: Any, *arguments: Any, **constants: Any) -> None:
        if hasattr(kernel, "configs"):
            config = kernel.configs[min(index, len(kernel.configs) - 1)]
            kernel, constants = kernel.fn, {**constants, **config.all_kwargs()}
        kernel[grid](*arguments, **constants)

    return run


def results(case: Case, device: str = "cuda") -> Iterator[tuple[int, int, torch.Tensor]]:
    """Yield the number of rows, the index of the config, and what the kernel wrote."""
    kernel = getattr(kernels, case.name)
    for size in case.sizes:
        for index in range(len(getattr(kernel, "configs", "1"))):
            written = case.launch(_with_config(index), Data(case.name, device), size)
            torch.cuda.synchronize()
            yield size, index, written.cpu()


def measured(case: Case) -> dict[str, Any]:
    """Return whether the rows that two results have in common have the same bits, and those that differ."""
    every = list(results(case))
    again = list(results(case))
    unstable = [
        size for (size, _, one), (_, _, other) in zip(every, again, strict=True) if not _same(one, other)
    ]
    differ = [
        [a[:2], b[:2]] for a, b in combinations(every, 2) if a[0] != b[0] and not _same(a[2], b[2])
    ]  # fmt: skip
    return {
        "kernel": case.name,
        "sizes": case.sizes,
        "invariant": not differ and not unstable,
        "expected": case.invariant,
        "differ": differ[:4],
        "unstable": sorted(set(unstable)),
        "device": torch.cuda.get_device_name(),
        "triton": triton.__version__,
    }


def _same(a: torch.Tensor, b: torch.Tensor) -> bool:
    rows = min(len(a), len(b))
    return checksum(a[:rows]) == checksum(b[:rows])


def main() -> None:
    """Launch, or measure, the cases that are asked for."""
    parser = argparse.ArgumentParser("python -m tests.truth.bits.invariance")
    parser.add_argument("names", nargs="*", metavar="CASE", help="only these kernels")
    parser.add_argument("--measure", action="store_true", help="compare the bits that a GPU computes")
    options = parser.parse_args()
    for case in CASES:
        if options.names and case.name not in options.names:
            continue
        if options.measure:
            print(json.dumps(measured(case)), flush=True)
            continue
        for size in case.sizes:
            case.launch(_launch, Data(case.name, "cuda"), size)


if __name__ == "__main__":
    main()
