"""Autotuned kernels as libraries have them; run as a program, it launches each for one or two keys."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

CONFIGS = [triton.Config({"BLOCK": block}, num_warps=warps) for block in (128, 256) for warps in (2, 4)]


def _fitting(configs, named, **keywords):
    return [config for config in configs if config.kwargs["BLOCK"] <= max(128, named["n"])]


@triton.autotune(
    configs=CONFIGS,
    key=["n", "ACTIVATION"],
    prune_configs_by={"early_config_prune": _fitting},
    reset_to_zero=["out"],
)
@triton.heuristics({"WHOLE": lambda args: args["n"] % args["BLOCK"] == 0})
@triton.jit
def pruned(x, out, n, ACTIVATION: tl.constexpr, BLOCK: tl.constexpr, WHOLE: tl.constexpr):
    """Copies with a heuristic mask."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    value = tl.load(x + at) if WHOLE else tl.load(x + at, mask=at < n)
    if ACTIVATION == "relu":
        value = tl.maximum(value, 0.0)
    tl.atomic_add(out + at, value, mask=at < n)


@triton.autotune(configs=CONFIGS, key=["rows", "columns"], restore_value=["x"])
@triton.jit
def scaled(x, scale, rows, columns, stride, BLOCK: tl.constexpr):
    """Scales the rows of a matrix in place."""
    at = tl.arange(0, BLOCK)
    for start in range(0, columns, BLOCK):
        mask = start + at < columns
        place = x + tl.program_id(0) * stride + start + at
        tl.store(place, tl.load(place, mask=mask) * tl.load(scale), mask=mask)


def _hook(named):
    named["out"].zero_()


@triton.autotune(configs=[triton.Config({"BLOCK": block}, pre_hook=_hook) for block in (128, 256)], key=["n"])
@triton.jit
def hooked(x, out, n, BLOCK: tl.constexpr):
    """Copies."""
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + at, tl.load(x + at, mask=at < n), mask=at < n)


def main():
    """Launches each kernel."""
    x = torch.ones(64, 512, device="cuda", dtype=torch.float16)
    out = torch.zeros(64 * 512, device="cuda", dtype=torch.float32)
    for n in (512, 100):
        pruned[lambda meta: (triton.cdiv(meta["n"], meta["BLOCK"]),)](out, out, n, ACTIVATION="relu")
    scale = torch.ones(1, device="cuda", dtype=torch.float32)
    # Triton's key has the types of the tensors in the order of the call.
    scaled[(64,)](scale=scale, rows=64, columns=512, stride=x.stride(0), x=x)
    hooked[(4,)](out, out, 512)


if __name__ == "__main__":
    main()
