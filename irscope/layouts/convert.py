"""A layout attribute and a shape -> the linear layout, as Triton itself has it.

Tests hold it equal to Triton's own, basis for basis, on Triton 3.6 to 3.9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from irscope.layouts import amd, nvidia, registers, shared
from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.cluster import blocks_along, blocks_of
from irscope.layouts.linear import LinearLayout
from irscope.layouts.tile import Tile

Version = tuple[int, int]
_Registers = Callable[[Attribute, Sequence[int]], tuple[Tile, list[int]]]

_IN_REGISTERS: dict[str, _Registers] = {
    "ttg.blocked": registers.blocked,
    "ttg.nvidia_mma": nvidia.nvidia_mma,
    "ttg.amd_mfma": amd.amd_mfma,
    "ttg.amd_wmma": amd.amd_wmma,
}
_OPERANDS: dict[str, _Registers] = {
    "ttg.blocked": registers.blocked_operand,
    "ttg.nvidia_mma": nvidia.nvidia_operand,
    "ttg.amd_mfma": amd.mfma_operand,
    "ttg.amd_wmma": amd.wmma_operand,
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
_DEEPEST = 8


def linear_layout(
    attribute: Attribute, shape: Sequence[int], triton: Version, depth: int = 0
) -> LinearLayout:
    """The linear layout of a tensor or buffer of this shape.

    `triton` is the version that it is for: from 3.9 on, registers of a blocked layout that would only repeat
    an element are left out. Raises UnknownLayoutError where no conversion is known.
    """
    if depth > _DEEPEST or not shape or any(size < 1 or size & (size - 1) for size in shape):
        raise UnknownLayoutError(f"a layout of {'x'.join(map(str, shape))}")
    kind = attribute.kind
    if kind == "ttg.slice":
        return _slice(attribute, shape, triton, depth)
    if kind == "ttg.linear":
        tile, order = registers.linear(attribute, shape)
        tile.fit(shape, order, "register", drop=True)
        return tile.finished()
    if kind in _WRITTEN_OUT or kind in _TENSOR_MEMORY:
        return (_WRITTEN_OUT.get(kind) or _TENSOR_MEMORY[kind])(attribute, shape).finished()
    # Before the blocks are looked up: a nested layout that has no conversion is not followed further.
    convert = None if kind in _IN_MEMORY else _register_conversion(attribute, len(shape))
    blocks = blocks_of(attribute, len(shape))
    along = blocks_along(blocks, shape)
    share = [max(1, size // count) for size, count in zip(shape, along, strict=True)]
    if convert is None:
        tile = _IN_MEMORY[kind](attribute, share, triton)
    else:
        tile, order = convert(attribute, shape)
        tile.fit(share, order, "register", triton >= (3, 9) and kind == "ttg.blocked")
    tile.over_blocks(blocks, shape)
    return tile.finished()


def _register_conversion(attribute: Attribute, rank: int) -> _Registers:
    kind = attribute.kind
    if kind == "ttg.dot_op":
        kind = attribute.nested("parent").kind
        convert = _OPERANDS.get(kind)
        what = f"an operand of #{kind}"
    else:
        convert = _IN_REGISTERS.get(kind)
        what = f"#{kind}"
    if convert is None or (rank not in (2, 3) and convert is not registers.blocked):
        raise UnknownLayoutError(f"{what} of {rank} dimensions")
    return convert


def _slice(attribute: Attribute, shape: Sequence[int], triton: Version, depth: int) -> LinearLayout:
    """The parent's layout without one dimension; threads that differ only there hold copies."""
    dim = attribute.number("dim")
    if not 0 <= dim <= len(shape):
        raise UnknownLayoutError(f"a slice along dimension {dim}")
    whole = [*shape[:dim], 1, *shape[dim:]]
    parent = linear_layout(attribute.nested("parent"), whole, triton, depth + 1)
    if not parent.in_registers:
        raise UnknownLayoutError("a slice of a buffer")
    bases = {
        name: tuple(vector[:dim] + vector[dim + 1 :] for vector in vectors)
        for name, vectors in parent.bases.items()
    }
    bases["register"] = tuple(vector for vector in bases["register"] if any(vector))
    return LinearLayout(bases, tuple(shape))
