"""A layout attribute and a shape -> the linear layout, identical to Triton's own.

    #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], warpsPerCTA = [4, 1], ...}>, 32x16
    -> register = [(0, 1), (0, 2)], lane = [(0, 4), (0, 8), (1, 0), (2, 0), (4, 0)], warp = [(8, 0), (16, 0)]

The general layouts are here: blocked, linear, slices and clusters. Accumulators and operands of matrix units
are in nvidia.py and amd.py, buffers in shared.py. Tests compare every basis with Triton's, for 3.6 to 3.9.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from irscope.layouts import matrix_cores, shared
from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.linear import LinearLayout, Tile, Vector, operand_order, row_major

Version = tuple[int, int]
_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
# The version to assume if a capture has an unreadable one.
_LATEST: Version = (3, 9)
_RegisterConversion = Callable[[Attribute, Sequence[int]], tuple[Tile, list[int]]]

# A slice of a slice of ..., in a damaged text.
_MAX_NESTING = 8


def _blocked(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return the tile of a block's warps, and the order in which its dimensions repeat over `shape`.

    Raises UnknownLayoutError.
    """
    order = attribute.numbers("order")
    tile = Tile(len(shape), "register", "lane", "warp")
    tile.spread_all("register", attribute.numbers("sizePerThread"), order)
    tile.spread_all("lane", attribute.numbers("threadsPerWarp"), order)
    tile.spread_all("warp", attribute.numbers("warpsPerCTA"), order)
    return tile, order


def _blocked_operand(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return `_blocked` for operand A or B of a product without matrix instructions.

    A thread holds all of k.
    """
    parent, rank = attribute.parent(), len(shape)
    inner = operand_order(attribute.number("opIdx"), rank)[0]
    order = parent.numbers("order")
    sizes = parent.numbers("sizePerThread")
    if len(sizes) != rank:
        raise UnknownLayoutError(f"an operand of #{parent.kind} with {rank} dimensions")
    sizes[inner] = shape[inner]
    tile = Tile(rank, "register", "lane", "warp")
    tile.spread_all("register", sizes, order)
    tile.spread_all("lane", parent.numbers("threadsPerWarp"), order, copied=inner)
    tile.spread_all("warp", parent.numbers("warpsPerCTA"), order, copied=inner)
    return tile, order


def _linear(attribute: Attribute, shape: Sequence[int]) -> tuple[Tile, list[int]]:
    """Return `_blocked` for a layout that is given by its bases, including the block bases."""
    tile = Tile(len(shape), "register", "lane", "warp", "block")
    for name in ("register", "lane", "warp", "block"):
        for vector in attribute.vectors(name):
            tile.add(name, {dimension: value for dimension, value in enumerate(vector) if value})
    return tile, _register_order(attribute.vectors("register"), len(shape))


def _register_order(vectors: Sequence[Vector], rank: int) -> list[int]:
    """Return the dimensions in the order of the registers, then the others from last to first."""
    first = [next((d for d, value in enumerate(vector) if value), -1) for vector in vectors]
    return [d for d in dict.fromkeys([*first, *row_major(rank)]) if 0 <= d < rank]


_IN_REGISTERS: dict[str, _RegisterConversion] = {
    "ttg.blocked": _blocked,
    "ttg.nvidia_mma": matrix_cores.nvidia_mma,
    "ttg.amd_mfma": matrix_cores.amd_mfma,
    "ttg.amd_wmma": matrix_cores.amd_wmma,
}
_OPERANDS: dict[str, _RegisterConversion] = {
    "ttg.blocked": _blocked_operand,
    "ttg.nvidia_mma": matrix_cores.nvidia_operand,
    "ttg.amd_mfma": matrix_cores.mfma_operand,
    "ttg.amd_wmma": matrix_cores.wmma_operand,
}
_IN_MEMORY: dict[str, Callable[[Attribute, Sequence[int], Version], Tile]] = {
    "ttg.swizzled_shared": lambda attribute, shape, _: shared.swizzled(attribute, shape),
    "ttg.amd_rotating_shared": lambda attribute, shape, _: shared.swizzled(attribute, shape),
    "ttg.nvmma_shared": shared.nvmma,
}
_WRITTEN_OUT = {"ttg.padded_shared": shared.offsets, "ttg.shared_linear": shared.offsets}
_TENSOR_MEMORY = {
    "ttng.tensor_memory_encoding": shared.tensor_memory,
    "ttng.tensor_memory_scales_encoding": shared.scales,
}


def linear_layout(
    attribute: Attribute, shape: Sequence[int], triton: Version, depth: int = 0
) -> LinearLayout:
    """Return the linear layout of a tensor or buffer of this shape.

    `triton` is the version that compiled it: since 3.9, a blocked layout omits registers that
    would only repeat an element. Raises UnknownLayoutError if the layout is not supported.
    """
    if depth > _MAX_NESTING or not shape or any(size < 1 or size & (size - 1) for size in shape):
        raise UnknownLayoutError(f"a layout of {'x'.join(map(str, shape))}")
    kind = attribute.kind
    if kind == "ttg.slice":
        return _slice(attribute, shape, triton, depth)
    if kind == "ttg.linear":
        tile, order = _linear(attribute, shape)
        tile.fit(shape, order, "register", drop=True)
        return tile.finished()
    if kind in _WRITTEN_OUT or kind in _TENSOR_MEMORY:
        return (_WRITTEN_OUT.get(kind) or _TENSOR_MEMORY[kind])(attribute, shape).finished()
    # Before the cluster: a nested layout that is not supported is not followed further.
    convert = None if kind in _IN_MEMORY else _register_conversion(attribute, len(shape))
    blocks = _cluster_bases(attribute, len(shape))
    counts = _blocks_per_dimension(blocks, shape)
    share = [max(1, size // count) for size, count in zip(shape, counts, strict=True)]
    if convert is None:
        tile = _IN_MEMORY[kind](attribute, share, triton)
    else:
        tile, order = convert(attribute, shape)
        tile.fit(share, order, "register", triton >= (3, 9) and kind == "ttg.blocked")
    tile.over_blocks(blocks, shape)
    return tile.finished()


def _register_conversion(attribute: Attribute, rank: int) -> _RegisterConversion:
    kind = attribute.kind
    if kind == "ttg.dot_op":
        kind = attribute.parent().kind
        convert = _OPERANDS.get(kind)
        what = f"an operand of #{kind}"
    else:
        convert = _IN_REGISTERS.get(kind)
        what = f"#{kind}"
    if convert is None or (rank not in (2, 3) and convert is not _blocked):
        raise UnknownLayoutError(f"{what} of {rank} dimensions")
    return convert


def _slice(attribute: Attribute, shape: Sequence[int], triton: Version, depth: int) -> LinearLayout:
    """Return the parent's layout without one dimension; threads that differ only there hold copies."""
    dim = attribute.number("dim")
    if not 0 <= dim <= len(shape):
        raise UnknownLayoutError(f"a slice along dimension {dim}")
    whole = [*shape[:dim], 1, *shape[dim:]]
    parent = linear_layout(attribute.parent(), whole, triton, depth + 1)
    if not parent.in_registers:
        raise UnknownLayoutError("a slice of a buffer")
    bases = {
        name: tuple(vector[:dim] + vector[dim + 1 :] for vector in vectors)
        for name, vectors in parent.bases.items()
    }
    bases["register"] = tuple(vector for vector in bases["register"] if any(vector))
    return LinearLayout(bases, tuple(shape))


def _cluster_bases(attribute: Attribute, rank: int) -> list[Vector]:
    """Return the bases of the block number in a cluster, counted in blocks; [] for a single block.

    Raises UnknownLayoutError.
    """
    if attribute.kind == "ttg.slice":
        dim = attribute.number("dim")
        parent = _cluster_bases(attribute.parent(), rank + 1)
        return [vector[:dim] + vector[dim + 1 :] for vector in parent]
    if attribute.kind == "ttg.dot_op":
        inner = rank - 1 if attribute.number("opIdx") == 0 else rank - 2
        parent = _cluster_bases(attribute.parent(), rank)
        return [tuple(0 if d == inner else v for d, v in enumerate(vector)) for vector in parent]
    if "CTAsPerCGA" in attribute.fields:
        raise UnknownLayoutError("a cluster in the syntax of Triton before 3.6")
    vectors = attribute.vectors("CGALayout")
    if any(len(vector) != rank for vector in vectors):
        raise UnknownLayoutError(f"a CGALayout that is not of rank {rank}")
    return vectors


def _blocks_per_dimension(blocks: Sequence[Vector], shape: Sequence[int]) -> list[int]:
    """Count the blocks that the tensor is split over, per dimension."""
    counts = [1] * len(shape)
    for vector in blocks:
        for dimension, value in enumerate(vector):
            if value < shape[dimension]:
                counts[dimension] = max(counts[dimension], 1 << value.bit_length())
    return counts


def triton_version(text: str) -> Version:
    """Return major and minor version of "3.9.0"; the latest one for any other text."""
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else _LATEST
