"""The accumulators and operands of NVIDIA's tensor cores: nvidia_mma and its dot_op.

PTX defines the arrangement in a warp ("Matrix Fragments for mma.m16n8k16", "Register Fragments for wgmma"),
Triton how it repeats (lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp).

The accumulators and operands of AMD's matrix cores: amd_mfma, amd_wmma and their dot_op.

AMD's matrix instruction calculator defines the arrangement in a warp, Triton how it repeats
(lib/Dialect/TritonGPU/IR/LinearLayoutConversions.cpp).
"""

from __future__ import annotations

from collections.abc import Sequence

from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.linear import Tile, Vector, column_major, operand_order, row_major


def nvidia_mma(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return the tile of a block's warps, and the order in which its dimensions repeat over `shape`.

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
    """Return `nvidia_mma` for operand A or B in registers. Raises UnknownLayoutError."""
    mma, rank = attribute.parent(), len(shape)
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
    """Build eight rows of four threads with `width` neighbors each, repeated down and then across."""
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


_CDNA_WARP = 64
_RDNA_WARP = 32
_WMMA = 16  # rows, and columns, that the lanes of one WMMA instruction hold


def amd_mfma(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return the tile of a block's warps, and the order in which its dimensions repeat over `shape`.

    Along n it is as wide as the tensor: Triton numbers an accumulator's registers row by row of
    tiles. Raises UnknownLayoutError.
    """
    rank = len(shape)
    across, down = rank - 1, rank - 2
    m, n = _instruction(attribute)
    warps = attribute.numbers("warpsPerCTA")
    tiles = _tiles_per_warp(attribute, rank)
    if len(warps) != rank:
        raise UnknownLayoutError(f"amd_mfma with warpsPerCTA {warps} for {rank} dimensions")
    tile = Tile(rank, "register", "lane", "warp")
    # The lanes are along one dimension, the elements of one lane along the other.
    along, lanes, opposite = (down, m, across) if attribute.flag("isTransposed") else (across, n, down)
    height = 1 if attribute.number("elementBitWidth", 32) == 64 else 4
    tile.spread("register", height, opposite)
    tile.spread("lane", lanes, along)
    tile.spread("lane", _CDNA_WARP // lanes, opposite)
    tile.spread("register", m * n // (_CDNA_WARP * height), opposite)
    tile.spread("register", tiles[across], across)
    tile.spread("warp", warps[across], across)
    tile.spread("register", shape[across] // (n * warps[across] * tiles[across]), across)
    tile.spread("register", tiles[down], down)
    tile.spread("warp", warps[down], down)
    if rank == 3:
        tile.spread("warp", warps[0], 0)
    return tile, row_major(rank)


def mfma_operand(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return `amd_mfma` for operand A or B. Raises UnknownLayoutError."""
    mfma, rank = attribute.parent(), len(shape)
    which, width = attribute.number("opIdx"), attribute.number("kWidth")
    order = operand_order(which, rank)
    inner, outer = order[0], order[1]
    m, n = _instruction(mfma)
    lanes = m if which == 0 else n
    tile = Tile(rank, "register", "lane", "warp")
    tile.spread("register", width, inner)
    tile.spread("lane", lanes, outer)
    tile.spread("lane", _CDNA_WARP // lanes, inner)
    if (m, n, which) in ((64, 4, 0), (4, 64, 1)):
        tile.spread("register", 16, inner)
    tile.spread("register", shape[inner] // tile.size[inner], inner)
    tile.spread("register", _tiles_per_warp(mfma, rank)[outer], outer)
    # Along k, the tile is already as long as the tensor: the warps' part there is cut and becomes copies.
    tile.spread_all("warp", mfma.numbers("warpsPerCTA"), row_major(rank))
    return tile, order


def amd_wmma(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return `amd_mfma` for WMMA. Raises UnknownLayoutError."""
    rank = len(shape)
    down, across = (rank - 1, rank - 2) if attribute.flag("isTranspose") else (rank - 2, rank - 1)
    tile = Tile(rank, "register", "lane", "warp")
    if _wmma_version(attribute) == 1:
        _spread_first_wmma(tile, down, across)
    else:
        tile.spread("register", 8, down)
        tile.spread("lane", _WMMA, across)
        tile.spread("lane", 2, down)
        tile.spread("register", _wmma_instruction(attribute)[0] // _WMMA, down)
    registers, warps = _wmma_block(attribute, rank)
    _add_registers_and_warps(tile, registers, warps)
    return tile, row_major(rank)


def wmma_operand(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return `amd_mfma` for operand A or B of WMMA. Raises UnknownLayoutError."""
    wmma, rank = attribute.parent(), len(shape)
    which, width = attribute.number("opIdx"), attribute.number("kWidth")
    order = operand_order(which, rank)
    inner, outer = order[0], order[1]
    instruction = _wmma_instruction(wmma)
    depth = _RDNA_WARP // _WMMA
    tile = Tile(rank, "register", "lane", "warp")
    tile.spread("register", width, inner)
    tile.spread("lane", _WMMA, outer)
    if _wmma_version(wmma) == 1:
        tile.copy("lane", depth)
    else:
        tile.spread("lane", depth, inner)
    tile.spread("register", instruction[2] // (depth * width), inner)
    tile.spread("register", instruction[which] // _WMMA, outer)
    registers, warps = (_without(vectors, inner) for vectors in _wmma_block(wmma, rank))
    _add_registers_and_warps(tile, [vector for vector in registers if any(vector)], warps)
    return tile, order


def _spread_first_wmma(tile: Tile, down: int, across: int) -> None:
    """Spread the accumulator of RDNA3: the two halves of the lanes hold every other row."""
    tile.spread("lane", _WMMA, across)
    tile.spread("lane", 2, down)
    tile.spread("register", 8, down)


def _add_registers_and_warps(tile: Tile, registers: Sequence[Vector], warps: Sequence[Vector]) -> None:
    """Add registers and warps, whose vectors are both counted in tiles of the current size."""
    size = list(tile.size)
    for name, vectors in (("register", registers), ("warp", warps)):
        for vector in vectors:
            tile.add(name, {d: v * size[d] for d, v in enumerate(vector) if v})


def _wmma_block(wmma: Attribute, rank: int) -> tuple[list[Vector], list[Vector]]:
    """Return the vectors of the registers and of the warps, counted in instructions.

    Triton 3.7 and later print them as ctaLayout; 3.6 prints the number of warps.
    """
    if "warpsPerCTA" in wmma.fields:
        tile = Tile(rank, "warp")
        tile.spread_all("warp", wmma.numbers("warpsPerCTA"), row_major(rank))
        return [], [tuple(row) for row in tile.bases["warp"]]
    block_vectors = wmma.vectors("register"), wmma.vectors("warp")  # the braces of ctaLayout only group
    if any(len(vector) != rank for vectors in block_vectors for vector in vectors):
        raise UnknownLayoutError(f"amd_wmma with a ctaLayout that does not have {rank} dimensions")
    return block_vectors


def _without(vectors: Sequence[Vector], dimension: int) -> list[Vector]:
    return [tuple(0 if d == dimension else v for d, v in enumerate(vector)) for vector in vectors]


def _wmma_version(wmma: Attribute) -> int:
    version = wmma.number("version")
    if version not in (1, 2, 3):
        raise UnknownLayoutError(f"amd_wmma of version {version}")
    return version


def _wmma_instruction(wmma: Attribute) -> list[int]:
    sizes = wmma.numbers("instrShape") if "instrShape" in wmma.fields else [_WMMA] * 3
    if len(sizes) != 3 or min(sizes) < 1:
        raise UnknownLayoutError(f"amd_wmma with instrShape {sizes}")
    return sizes


def _instruction(mfma: Attribute) -> tuple[int, int]:
    m, n, *_ = [*mfma.numbers("instrShape"), 0, 0]
    if (m, n) not in ((32, 32), (16, 16), (64, 4), (4, 64)):
        raise UnknownLayoutError(f"amd_mfma of {m} x {n}")
    return m, n


def _tiles_per_warp(mfma: Attribute, rank: int) -> list[int]:
    tiles = mfma.numbers("tilesPerWarp") if "tilesPerWarp" in mfma.fields else [1] * rank
    if len(tiles) != rank or min(tiles) < 1:
        raise UnknownLayoutError(f"amd_mfma with tilesPerWarp {tiles} for {rank} dimensions")
    return tiles
