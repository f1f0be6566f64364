"""A fused product of a mixture of experts, as serving systems launch it: values decide which programs work.

    python -m tools.calibration.tune.measure --only moe --output moe.jsonl --seconds 460

The slots of a call, `top` for each token, are sorted by expert, and those of each expert are padded to whole
blocks. The grid is as large as the worst routing needs, and programs beyond the padded slots end at once.
The grid, the length of the lists of slots and their contents depend on the config. The routing is drawn by
NumPy on the CPU, so that it is the same wherever this runs. A shape is (tokens, experts, N, K, top).
"""

import functools
import random

import numpy as np
import torch
import triton
import triton.language as tl

from tools.calibration.tune.spaces import Space, cdiv, product


@triton.jit
def moe_product(
    a, b, c, slots, experts, padded, N, K, EM, valid, stride_am, stride_be, stride_bn, stride_cm,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_N: tl.constexpr, BLOCK_SIZE_K: tl.constexpr,
    GROUP_SIZE_M: tl.constexpr, TOP: tl.constexpr,
):  # fmt: skip
    """Row `slot` of c is row `slot // TOP` of a times the weights, N x K, of the slot's expert."""
    tile = tl.program_id(0)
    rows, columns = tl.cdiv(EM, BLOCK_SIZE_M), tl.cdiv(N, BLOCK_SIZE_N)
    group = tile // (GROUP_SIZE_M * columns)
    height = min(rows - group * GROUP_SIZE_M, GROUP_SIZE_M)
    within = tile % (GROUP_SIZE_M * columns)
    row = group * GROUP_SIZE_M + within % height
    column = within // height
    if row * BLOCK_SIZE_M >= tl.load(padded):
        return
    slot = tl.load(slots + row * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)).to(tl.int64)
    used = (slot < valid)[:, None]
    expert = tl.load(experts + row).to(tl.int64)
    n = column * BLOCK_SIZE_N + tl.arange(0, BLOCK_SIZE_N)
    k = tl.arange(0, BLOCK_SIZE_K)
    pa = a + (slot // TOP)[:, None] * stride_am + k[None, :]
    pb = b + expert * stride_be + (n % N).to(tl.int64)[None, :] * stride_bn + k[:, None]
    acc = tl.zeros((BLOCK_SIZE_M, BLOCK_SIZE_N), tl.float32)
    for step in range(0, tl.cdiv(K, BLOCK_SIZE_K)):
        inside = k < K - step * BLOCK_SIZE_K
        x = tl.load(pa, mask=used & inside[None, :], other=0.0)
        y = tl.load(pb, mask=inside[:, None], other=0.0)
        acc += tl.dot(x, y)
        pa += BLOCK_SIZE_K
        pb += BLOCK_SIZE_K
    at = c + slot[:, None] * stride_cm + n[None, :]
    tl.store(at, acc.to(c.dtype.element_ty), mask=used & (n < N)[None, :])


@functools.cache
def routing(tokens, experts, top, block):
    """Return the sorted slots, the expert of each block, and the number of padded slots, as int32 arrays.

    The lists are as long as the worst routing needs; what is beyond the padded slots is not read.
    """
    scores = np.random.default_rng(tokens * 1000 + experts).random((tokens, experts))
    owner = np.argsort(scores, axis=1)[:, :top].ravel()
    count = tokens * top
    longest = min(count + experts * (block - 1), count * block)
    length = cdiv(longest, block) * block
    slots = np.full(length, count, np.int32)
    owners = np.zeros(length // block, np.int32)
    end = 0
    for expert in range(experts):
        own = np.flatnonzero(owner == expert)
        slots[end : end + len(own)] = own
        blocks = cdiv(len(own), block)
        owners[end // block : end // block + blocks] = expert
        end += blocks * block
    return slots, owners, np.array([end], np.int32)


class Call:
    """The tensors of one call; the lists of slots are made once for each block size."""

    def __init__(self, shape):
        tokens, experts, n, k, top = shape
        options = {"device": "cuda", "dtype": torch.bfloat16}
        self.a = torch.randn(tokens, k, **options)
        self.b = torch.randn(experts, n, k, **options)
        self.c = torch.empty(tokens, top, n, **options)
        self._lists = {}

    def lists(self, shape, block):
        """Return the lists of slots for blocks of this size."""
        if block not in self._lists:
            arrays = routing(shape[0], shape[1], shape[4], block)
            self._lists[block] = [torch.tensor(array, device="cuda") for array in arrays]
        return self._lists[block]


def _launch(call, shape, config):
    tokens, _, n, k, top = shape
    slots, owners, padded = call.lists(shape, config["BLOCK_SIZE_M"])
    length = slots.shape[0]
    if tokens < config["BLOCK_SIZE_M"]:
        length = min(length, tokens * top * config["BLOCK_SIZE_M"])
    grid = (cdiv(length, config["BLOCK_SIZE_M"]) * cdiv(n, config["BLOCK_SIZE_N"]),)
    arguments = (call.a, call.b, call.c, slots, owners, padded, n, k, length, tokens * top, k, n * k, k, n)
    return arguments, grid


_SHARED, _REGISTERS = 232_448, 256


def _may_launch(config):
    """Check that the tiles of all stages fit shared memory, and the sums registers."""
    m, n, k = (config[f"BLOCK_SIZE_{axis}"] for axis in "MNK")
    fits = (m + n) * k * 2 * config["num_stages"] <= _SHARED
    return fits and m * n <= _REGISTERS * 32 * config["num_warps"]


def _configs(top, seed):
    every = product(
        10_000, BLOCK_SIZE_M=[16, 32, 64, 128, 256], BLOCK_SIZE_N=[32, 64, 128, 256],
        BLOCK_SIZE_K=[64, 128, 256], GROUP_SIZE_M=[1, 16, 32, 64], num_warps=[4, 8], num_stages=[2, 3, 4, 5],
        TOP=[top],
    )  # fmt: skip
    return random.Random(seed).sample([config for config in every if _may_launch(config)], 144)


SPACES = (
    Space("moe_product", moe_product, _configs(2, 1),
          [(tokens, 8, 14336, 4096, 2) for tokens in (1, 16, 64, 256, 1024, 4096)], Call, _launch),
    Space("moe_product", moe_product, _configs(6, 2),
          [(tokens, 64, 2816, 2048, 6) for tokens in (32, 512, 4096)], Call, _launch),
)  # fmt: skip
