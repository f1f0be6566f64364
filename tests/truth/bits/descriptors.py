"""Moves blocks by tensor descriptors, keeps programs running, specializes warps, and joins two blocks of threads."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.tools.tensor_descriptor import TensorDescriptor

from tests.truth.bits.space import Arguments, Config, Data, Grid, Space, cdiv, product, unfused


@triton.jit
def device_descriptors(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, SPECIALIZE: tl.constexpr,
):  # fmt: skip
    """Multiplies through descriptors made by the kernel."""
    x = tl.make_tensor_descriptor(a, [m, k], [k, 1], [BM, BK])
    y = tl.make_tensor_descriptor(b, [n, k], [k, 1], [BN, BK])
    z = tl.make_tensor_descriptor(c, [m, n], [n, 1], [BM, BN])
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in tl.range(0, k, BK, warp_specialize=SPECIALIZE):
        total = tl.dot(x.load([row, start]), y.load([column, start]).T, total)
    z.store([row, column], total.to(c.dtype.element_ty))


@triton.jit
def host_descriptors(
    x, y, z, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PRECISION: tl.constexpr,
):  # fmt: skip
    """Multiplies through descriptors made by the program that launches."""
    row, column = tl.program_id(0) * BM, tl.program_id(1) * BN
    total = tl.zeros((BM, BN), tl.float32)
    for start in range(0, k, BK):
        total = tl.dot(x.load([row, start]), y.load([column, start]).T, total, input_precision=PRECISION)
    z.store([row, column], total)


@triton.jit
def persistent_descriptors(
    x, y, z, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr, FLATTEN: tl.constexpr,
    SPECIALIZE: tl.constexpr, HALVES: tl.constexpr,
):  # fmt: skip
    """Multiplies tile after tile; the epilogue scales, and may store two halves."""
    columns = tl.cdiv(n, BN)
    tiles = tl.cdiv(m, BM) * columns
    for tile in tl.range(tl.program_id(0), tiles, PROGRAMS, flatten=FLATTEN, warp_specialize=SPECIALIZE):
        row, column = tile // columns * BM, tile % columns * BN
        total = tl.zeros((BM, BN), tl.float32)
        for start in range(0, k, BK):
            total = tl.dot(x.load([row, start]), y.load([column, start]).T, total)
        total = total * 0.37 + 0.11
        if HALVES:
            left, right = tl.split(tl.permute(tl.reshape(total, (BM, 2, BN // 2)), (0, 2, 1)))
            z.store([row, column], left.to(tl.bfloat16))
            z.store([row, column + BN // 2], right.to(tl.bfloat16))
        else:
            z.store([row, column], total.to(tl.bfloat16))


@triton.jit
def descriptor_rows(x, o, columns, RB: tl.constexpr, CB: tl.constexpr):
    """Normalizes rows that a descriptor loads."""
    row = tl.program_id(0) * RB
    squares = tl.zeros((RB,), tl.float32)
    for start in range(0, columns, CB):
        values = x.load([row, start]).to(tl.float32)
        squares += tl.sum(values * values, 1)
    scale = tl.rsqrt(squares / columns + 1e-5)
    for start in range(0, columns, CB):
        values = x.load([row, start]).to(tl.float32)
        o.store([row, start], (values * scale[:, None]).to(tl.float16))


@triton.jit
def descriptor_adds(x, o, rows, RB: tl.constexpr, CB: tl.constexpr):
    """Adds blocks of rows to one block of memory by reductions of the copy engine."""
    values = x.load([tl.program_id(0) * RB, tl.program_id(1) * CB])
    o.atomic_add([0, tl.program_id(1) * CB], values)


@triton.jit
def specialized_sums(x, o, rows, columns, RB: tl.constexpr, CB: tl.constexpr, SPECIALIZE: tl.constexpr):
    """Adds rows in a loop that asks for warp specialization but has no product."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    total = tl.zeros((RB,), tl.float32)
    for start in tl.range(0, columns, CB, warp_specialize=SPECIALIZE):
        column = start + tl.arange(0, CB)
        total += tl.sum(tl.load(x + row[:, None] * columns + column[None, :]), 1)
    tl.store(o + row, total)


@triton.jit
def stream_k(
    a, b, c, m, n, k,
    BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, PROGRAMS: tl.constexpr,
):  # fmt: skip
    """Gives each program the same number of steps over K; tiles that programs share are added with atomics."""
    columns = tl.cdiv(n, BN)
    per_tile = tl.cdiv(k, BK)
    steps = tl.cdiv(m, BM) * columns * per_tile
    per_program = tl.cdiv(steps, PROGRAMS)
    step = tl.program_id(0) * per_program
    last = min(steps, step + per_program)
    while step < last:
        tile = step // per_tile
        end = min(last, (tile + 1) * per_tile)
        rows = tile // columns * BM + tl.arange(0, BM)
        places = tile % columns * BN + tl.arange(0, BN)
        total = tl.zeros((BM, BN), tl.float32)
        for index in range(step - tile * per_tile, end - tile * per_tile):
            depth = index * BK + tl.arange(0, BK)
            x = tl.load(a + rows[:, None] * k + depth[None, :])
            y = tl.load(b + depth[:, None] * n + places[None, :])
            total = tl.dot(x, y, total)
        tl.atomic_add(c + rows[:, None] * n + places[None, :], total)
        step = end


@triton.jit
def cluster_sums(x, o, columns, RB: tl.constexpr, B: tl.constexpr):
    """Adds rows in two blocks of threads that share the work."""
    row = tl.program_id(0) * RB + tl.arange(0, RB)
    values = tl.load(x + row[:, None] * columns + tl.arange(0, B)[None, :])
    tl.store(o + row, tl.sum(values * values, 1))


def _blocks(*shapes: tuple[str, ...]) -> object:
    """Return what makes descriptors of the first tensors, whose blocks the config says."""

    def arguments(tensors: Arguments, config: Config) -> Arguments:
        descriptors = [
            TensorDescriptor.from_tensor(tensor, [config.get(name, 0) for name in shape])
            for tensor, shape in zip(tensors, shapes, strict=False)
        ]
        return *descriptors, *tensors[len(shapes) :]

    return arguments


def _halved(tensors: Arguments, config: Config) -> Arguments:
    x, y, z, *others = tensors
    width = config["BN"] // 2 if config["HALVES"] else config["BN"]
    return (
        TensorDescriptor.from_tensor(x, [config["BM"], config["BK"]]),
        TensorDescriptor.from_tensor(y, [config["BN"], config["BK"]]),
        TensorDescriptor.from_tensor(z, [config["BM"], width]),
        *others,
    )


def _operands(m: int, n: int, k: int, dtype: torch.dtype, out: torch.dtype, *sizes: int) -> object:
    def make(data: Data) -> Arguments:
        return (
            data.normal(m, k, dtype=dtype),
            data.normal(n, k, dtype=dtype),
            data.zeros(m, n, dtype=out),
            *sizes,
        )

    return make


def _tiles(m: int, n: int) -> object:
    def grid(config: Config) -> Grid:
        return cdiv(m, config["BM"]), cdiv(n, config["BN"])

    return grid


def _stream(data: Data) -> Arguments:
    a, b = data.normal(128, 512, dtype=torch.float16), data.normal(512, 128, dtype=torch.float16)
    return a, b, data.zeros(128, 128), 128, 128, 512


_TILES = {
    "BM": [64, 128],
    "BN": [32, 64, 128],
    "BK": [32, 64, 128],
    "num_warps": [4, 8],
    "num_stages": [2, 3, 4],
}
_SPECIALIZED = {
    "BM": [64],
    "BN": [32, 64, 128],
    "BK": [32, 64, 128],
    "num_warps": [4],
    "num_stages": [2, 3, 4],
}

SPACES = [
    Space(
        "device_descriptors",
        device_descriptors,
        unfused(product(64, SPECIALIZE=[False, True], **_TILES | {"num_stages": [2, 3]})),
        (256, 256, 512),
        _operands(256, 256, 512, torch.float16, torch.float16, 256, 256, 512),
        _tiles(256, 256),
    ),
    Space(
        "host_descriptors",
        host_descriptors,
        unfused(product(56, PRECISION=["ieee"], **_TILES)),
        (256, 256, 512),
        _operands(256, 256, 512, torch.bfloat16, torch.float32, 512),
        _tiles(256, 256),
        _blocks(("BM", "BK"), ("BN", "BK"), ("BM", "BN")),
    ),
    Space(
        "host_descriptors_f32",
        host_descriptors,
        unfused(product(48, PRECISION=["tf32", "tf32x3"], **_TILES | {"BN": [32, 64], "BK": [32, 64], "num_stages": [2]})),
        (256, 128, 256),
        _operands(256, 128, 256, torch.float32, torch.float32, 256),
        _tiles(256, 128),
        _blocks(("BM", "BK"), ("BN", "BK"), ("BM", "BN")),
    ),
    Space(
        "host_descriptors_e4m3",
        host_descriptors,
        unfused(product(48, PRECISION=["ieee"], **_TILES | {"BK": [64, 128]})),
        (256, 128, 512),
        _operands(256, 128, 512, torch.float8_e4m3fn, torch.float32, 512),
        _tiles(256, 128),
        _blocks(("BM", "BK"), ("BN", "BK"), ("BM", "BN")),
    ),
    Space(
        "persistent_descriptors",
        persistent_descriptors,
        unfused(
            product(64, PROGRAMS=[1, 3, 16], FLATTEN=[False, True], SPECIALIZE=[False], HALVES=[False, True],
                    **_TILES | {"num_stages": [2, 3], "BK": [64]})
        ),
        (256, 256, 256),
        _operands(256, 256, 256, torch.bfloat16, torch.bfloat16, 256, 256, 256),
        lambda config: (config["PROGRAMS"],),
        _halved,
    ),
    Space(
        "specialized_descriptors",
        persistent_descriptors,
        # Triton 3.6 specializes warps on Hopper only if four of them have 64 rows, and loops are not flattened.
        unfused(
            product(64, PROGRAMS=[1, 3, 16], FLATTEN=[False], SPECIALIZE=[True, False], HALVES=[False], **_SPECIALIZED)
        ),
        (256, 256, 256),
        _operands(256, 256, 256, torch.bfloat16, torch.bfloat16, 256, 256, 256),
        lambda config: (config["PROGRAMS"],),
        _halved,
    ),
    Space(
        "specialized_gemm",
        device_descriptors,
        unfused(product(64, SPECIALIZE=[True, False], **_SPECIALIZED)),
        (256, 256, 512),
        _operands(256, 256, 512, torch.float16, torch.float16, 256, 256, 512),
        _tiles(256, 256),
    ),
    Space(
        "descriptor_rows",
        descriptor_rows,
        unfused(product(64, RB=[1, 2, 4, 8, 16], CB=[32, 64, 128, 256], num_warps=[1, 2, 4, 8], num_stages=[1, 3])),
        (64, 512),
        lambda data: (data.normal(64, 512, dtype=torch.float16), data.zeros(64, 512, dtype=torch.float16), 512),
        lambda config: (64 // config["RB"],),
        _blocks(("RB", "CB"), ("RB", "CB")),
    ),
    Space(
        "descriptor_adds",
        descriptor_adds,
        unfused(product(32, RB=[8, 16, 64], CB=[32, 64, 128], num_warps=[1, 2, 4, 8])),
        (64, 128),
        lambda data: (data.normal(64, 128), data.zeros(64, 128), 64),
        lambda config: (64 // config["RB"], 128 // config["CB"]),
        _blocks(("RB", "CB"), ("RB", "CB")),
    ),
    Space(
        "specialized_sums",
        specialized_sums,
        unfused(product(48, RB=[1, 4, 16], CB=[64, 128, 256], SPECIALIZE=[False, True], num_warps=[4, 8], num_stages=[1, 3])),
        (64, 512),
        lambda data: (data.normal(64, 512), data.zeros(64), 64, 512),
        lambda config: (64 // config["RB"],),
    ),
    Space(
        "stream_k",
        stream_k,
        unfused(product(56, BM=[32, 64], BN=[32, 64], BK=[32, 64, 128], PROGRAMS=[4, 5, 6, 16], num_warps=[4, 8], num_stages=[1, 3])),
        (128, 128, 512),
        _stream,
        lambda config: (config["PROGRAMS"],),
    ),
    Space(
        "cluster_sums",
        cluster_sums,
        unfused(product(64, RB=[2, 4, 8, 16], B=[512], num_ctas=[1, 2], num_warps=[1, 2, 4, 8])),
        (64, 512),
        lambda data: (data.normal(64, 512), data.zeros(64), 512),
        lambda config: (64 // config["RB"],),
    ),
]  # fmt: skip
