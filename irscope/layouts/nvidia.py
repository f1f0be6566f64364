"""The accumulators and operands of NVIDIA's tensor cores: nvidia_mma and its dot_op.

PTX defines the arrangement in a warp ("Matrix Fragments for mma.m16n8k16", "Register Fragments for wgmma"),
Triton how it repeats (lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence

from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.tile import Tile, column_major, operand_order, row_major


def nvidia_mma(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """The tile of a block's warps, and the order of dimensions in which it repeats over `shape`.

    Raises UnknownLayoutError.
    """
    rank, instruction = len(shape), attribute.numbers("instrShape")
    sizes = instruction[:2] if _version(attribute) == 3 else instruction
    if len(sizes) != rank:
        raise UnknownLayoutError(f"nvidia_mma with instrShape {instruction} for {rank} dimensions")
    tile = _fragment(rank, sizes, 2, row_major(rank))
    tile.spread_all("warp", attribute.numbers("warpsPerCTA"), _warp_order(attribute, rank))
    return tile, row_major(rank)


def nvidia_operand(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """`nvidia_mma` for operand A or B in registers. Raises UnknownLayoutError."""
    mma, rank = attribute.nested("parent"), len(shape)
    which, width = attribute.number("opIdx"), attribute.number("kWidth")
    if _version(mma) == 3 and which == 1:
        raise UnknownLayoutError("operand B of wgmma, which is never in registers")
    order = operand_order(which, rank)
    sizes = [1] * rank
    sizes[order[0]], sizes[order[1]] = width * 8, 16 if which == 0 else 8
    tile = _fragment(rank, sizes, width, order)
    tile.spread_all("warp", mma.numbers("warpsPerCTA"), _warp_order(mma, rank), copied=order[0])
    return tile, order


def _fragment(rank: int, sizes: Sequence[int], width: int, order: Sequence[int]) -> Tile:
    """Eight rows of four threads with `width` neighbors each, repeated down and then across."""
    inner, outer = order[0], order[1]
    tile = Tile(rank, "register", "lane", "warp")
    tile.spread("register", width, inner)
    tile.spread("lane", 4, inner)
    tile.spread("lane", 8, outer)
    tile.spread("register", sizes[outer] // 8, outer)
    tile.spread("register", sizes[inner] // (width * 4), inner)
    return tile


def _version(mma: Attribute) -> int:
    version = mma.number("versionMajor")
    if version not in (2, 3):
        raise UnknownLayoutError(f"nvidia_mma of version {version}")
    return version


def _warp_order(mma: Attribute, rank: int) -> list[int]:
    return column_major(rank) if _version(mma) == 3 else row_major(rank)
