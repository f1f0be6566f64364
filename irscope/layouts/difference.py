"""The difference between the layouts of one value in two variants, in one sentence.

    #mma of 128x128 and of 128x256 -> same 128x8 tile, repeated 32 times instead of 16;
    instruction shape 16x256x16 instead of 16x128x16

What B has comes first, "instead of" what A has. The sentence is about the hardware (threads, warps, bytes) if
the linear layouts are known, else about the fields of the attribute.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from math import prod

from irscope.layouts.attribute import Attribute
from irscope.layouts.linear import LinearLayout, Vector
from irscope.layouts.ownership import longest_run, ownership_summary, repeating_part
from irscope.layouts.tensors import Tensor
from irscope.model.records import frozen
from irscope.model.text import pluralize

SAME = "same layout"

_NUMBERS = re.compile(r"\[(\d+(?:, ?\d+)*)\]")
_MMA = ("ttg.nvidia_mma", "ttg.amd_mfma", "ttg.amd_wmma")
# The fields of a matrix instruction; `version` and the like are fields of the layout.
_INSTRUCTION = ("version", "instrShape", "kWidth", "isTransposed", "opIdx")
_VERSIONS = {"2": "mma.sync", "3": "wgmma", "5": "tcgen05.mma"}
_NAMES = {"instrShape": "instruction shape"}
_MEMORIES = {"shared_memory": "shared memory", "tensor_memory": "tensor memory"}


def layout_difference(
    a: Tensor, b: Tensor, linear_a: LinearLayout | None = None, linear_b: LinearLayout | None = None
) -> str:
    """Describe how the layout of B's value differs from that of A's; SAME if it does not.

    `linear_a` and `linear_b` are their linear layouts, None if unknown.
    """
    if a.attribute.text == b.attribute.text and (a.shape, a.whole) == (b.shape, b.whole):
        return SAME
    if _place(a) != _place(b):
        return f"in {_place(b)} instead of {_place(a)}"
    parts = list(_kinds(a.attribute, b.attribute))
    if linear_a is not None and linear_b is not None and linear_a.in_registers and linear_b.in_registers:
        parts += _in_registers(a, b, linear_a, linear_b)
    elif a.buffer:
        parts += _in_memory(a, b)
    if not parts:
        parts = [*_fields(a.attribute, b.attribute), *_shapes(a, b)]
    return "; ".join(parts) or "another order of the same threads and registers"


def _place(tensor: Tensor) -> str:
    if not tensor.buffer:
        return "registers"
    name = tensor.space.rpartition(".")[2]
    return _MEMORIES.get(name, name.replace("_", " ") or "memory")


def _kinds(a: Attribute, b: Attribute) -> Iterator[str]:
    if a.kind != b.kind:
        yield f"{_kind(b)} instead of {_kind(a)}"


def _kind(attribute: Attribute) -> str:
    return f"#{attribute.kind.partition('.')[2] or attribute.kind}"


def _shapes(a: Tensor, b: Tensor) -> Iterator[str]:
    if a.shape != b.shape:
        yield f"{_by(b.shape)} instead of {_by(a.shape)} elements"


# In registers.


@frozen
class _Spread:
    """How a register layout spreads over a block. `lanes`, `warps` and `blocks` are counts per dimension.

    `run` neighbors along `dimension` are in consecutive registers of a thread; `owners` threads hold each
    element.
    """

    tile: Vector
    repeats: int
    run: int
    dimension: int
    lanes: Vector
    warps: Vector
    blocks: Vector
    owners: int
    elements: int


def _spread(layout: LinearLayout) -> _Spread:
    owned = ownership_summary(layout)
    tile = repeating_part(layout)
    dimension, run = longest_run(layout)
    return _Spread(
        tile,
        prod(size // part for size, part in zip(layout.shape, tile, strict=True)),
        run,
        dimension,
        _per_dimension(layout, "lane"),
        _per_dimension(layout, "warp"),
        _per_dimension(layout, "block"),
        owned.owners,
        owned.registers // owned.repeats,
    )


def _per_dimension(layout: LinearLayout, name: str) -> Vector:
    """Count the values of an input along each dimension of the tensor."""
    counts = [1] * len(layout.shape)
    for vector in layout.bases.get(name, ()):
        for dimension, step in enumerate(vector):
            counts[dimension] *= 2 if step else 1
    return tuple(counts)


def _in_registers(a: Tensor, b: Tensor, linear_a: LinearLayout, linear_b: LinearLayout) -> Iterator[str]:
    left, right = _spread(linear_a), _spread(linear_b)
    parts = [
        *_tiles(left, right),
        *_warps(left, right, linear_a, linear_b),
        *_threads(left, right, linear_a, linear_b),
    ]
    shapes = list(_shapes(a, b))
    if not parts and shapes:
        parts = [f"{shapes[0]}, {right.elements} per thread instead of {left.elements}"]
    yield from parts
    if a.attribute.kind == b.attribute.kind:
        yield from _instruction(a.attribute, b.attribute)


def _tiles(a: _Spread, b: _Spread) -> Iterator[str]:
    """Describe the part that repeats, and how often it does."""
    times = f"repeated {_times(b.repeats)} instead of {a.repeats}"
    if a.tile != b.tile:
        yield f"{_tile(b.tile)} instead of {_by(a.tile)}"
        if a.repeats != b.repeats:
            yield times
    elif a.repeats != b.repeats:
        yield f"same {_tile(b.tile)}, {times}"


def _warps(a: _Spread, b: _Spread, linear_a: LinearLayout, linear_b: LinearLayout) -> Iterator[str]:
    """Describe how many warps there are, and along which dimensions."""
    counts = [layout.size("warp") for layout in (linear_a, linear_b)]
    dimensions = [_only_dimension(side.warps) for side in (a, b)]
    if counts[0] != counts[1]:
        yield f"{counts[1]} warps instead of {counts[0]}"
    arranged = a.warps != b.warps and (counts[0] == counts[1] or 1 in (prod(a.warps), prod(b.warps)))
    if arranged and 1 in (prod(a.warps), prod(b.warps)):
        yield _copies(a, b)
    elif a.warps != b.warps and None not in dimensions and dimensions[0] != dimensions[1]:
        yield f"warps along dim {dimensions[1]} instead of dim {dimensions[0]}"
    elif arranged:
        yield f"{_by(b.warps)} warps instead of {_by(a.warps)}"
    if a.blocks != b.blocks:
        yield f"{_by(b.blocks)} blocks of the cluster instead of {_by(a.blocks)}"


def _copies(a: _Spread, b: _Spread) -> str:
    """Say that all warps of one side hold the same elements and those of the other side do not."""
    dimensions = [str(d) for side in (a, b) for d, count in enumerate(side.warps) if count > 1]
    along = f"warps along dim {' and '.join(dimensions)}"
    copies = "copies in every warp"
    return f"{along} instead of {copies}" if prod(a.warps) == 1 else f"{copies} instead of {along}"


def _threads(a: _Spread, b: _Spread, linear_a: LinearLayout, linear_b: LinearLayout) -> Iterator[str]:
    """Describe the elements of a thread, and the arrangement of the threads of a warp."""
    if a.run != b.run:
        elements = "element" if b.run == 1 else "elements"
        yield f"each thread holds {b.run} consecutive {elements} instead of {a.run}"
    elif a.run > 1 and a.dimension != b.dimension:
        yield f"consecutive elements along dim {b.dimension} instead of dim {a.dimension}"
    if linear_a.size("lane") != linear_b.size("lane"):
        yield f"warps of {linear_b.size('lane')} threads instead of {linear_a.size('lane')}"
    elif a.lanes != b.lanes and prod(a.lanes) == prod(b.lanes):
        yield f"{_by(b.lanes)} threads per warp instead of {_by(a.lanes)}"
    if a.owners != b.owners:
        threads = "thread holds" if b.owners == 1 else "threads hold"
        yield f"{b.owners} {threads} each element instead of {a.owners}"


def _instruction(a: Attribute, b: Attribute) -> Iterator[str]:
    """Describe how the matrix instructions differ, for an accumulator or an operand."""
    if a.kind == "ttg.dot_op":
        yield from _values(a, b, ("opIdx", "kWidth"))
        parents = [side.fields.get("parent", "") for side in (a, b)]
        if parents[0] != parents[1]:
            yield from _instruction(*(_nested(side) for side in (a, b)))
    elif a.kind in _MMA and b.kind in _MMA:
        versions = [side.fields.get("versionMajor", "") for side in (a, b)]
        if versions[0] != versions[1]:
            before, after = (_VERSIONS.get(version, f"version {version}") for version in versions)
            yield f"{after} instead of {before}"
        yield from _values(a, b, _INSTRUCTION)
    elif a.kind == "ttg.slice" and "parent" in a.fields and "parent" in b.fields:
        yield from _instruction(*(_nested(side) for side in (a, b)))


def _nested(attribute: Attribute) -> Attribute:
    return attribute.parent() if "parent" in attribute.fields else attribute


def _only_dimension(counts: Sequence[int]) -> int | None:
    """Return the only dimension with more than one; None if there are none or several."""
    dimensions = [dimension for dimension, count in enumerate(counts) if count > 1]
    return dimensions[0] if len(dimensions) == 1 else None


# In memory.


def _in_memory(a: Tensor, b: Tensor) -> Iterator[str]:
    """Describe the swizzle, the number of buffers and their sizes."""
    swizzles = [_swizzle(tensor.attribute) for tensor in (a, b)]
    same_kind = a.attribute.kind == b.attribute.kind
    if swizzles[0] != swizzles[1]:
        yield f"{swizzles[1]} instead of {swizzles[0]}"
    elif same_kind and a.attribute.text != b.attribute.text:
        yield from _fields(a.attribute, b.attribute)
    shapes = [tensor.layout_shape for tensor in (a, b)]
    sizes = [_by(shape) for shape in shapes]
    buffers = [prod(t.whole[: len(t.whole) - len(shape)]) for t, shape in zip((a, b), shapes, strict=True)]
    if buffers[0] != buffers[1]:
        yield f"{pluralize(buffers[1], 'buffer')} instead of {buffers[0]}"
    if sizes[0] != sizes[1]:
        same = f"same {swizzles[0]}, " if same_kind and swizzles[0] == swizzles[1] and swizzles[0] else ""
        yield f"{same}{sizes[1]} elements instead of {sizes[0]}"


def _swizzle(attribute: Attribute) -> str:
    """Return `swizzle of vec 8, perPhase 2, maxPhase 4`, `128-byte swizzle`; "" for other layouts."""
    fields = attribute.fields
    if attribute.kind == "ttg.nvmma_shared":
        width = fields.get("swizzlingByteWidth", "0")
        return "no swizzle" if width == "0" else f"{width}-byte swizzle"
    if "maxPhase" not in fields:
        return ""
    if fields["maxPhase"] == "1":
        return "no swizzle"
    return "swizzle of " + ", ".join(
        f"{name} {fields.get(name, '?')}" for name in ("vec", "perPhase", "maxPhase")
    )


# Fields.


def _values(a: Attribute, b: Attribute, names: Sequence[str]) -> Iterator[str]:
    """Yield the fields called `names` that differ: `instrShape 16x256x16 instead of 16x128x16`."""
    for name in names:
        left, right = (side.fields.get(name, "none") for side in (a, b))
        if left != right:
            yield f"{_NAMES.get(name, name)} {_short(right)} instead of {_short(left)}"


def _fields(a: Attribute, b: Attribute) -> Iterator[str]:
    """Yield every field that differs, those of nested layouts too."""
    names = list(dict.fromkeys([*a.fields, *b.fields]))
    if a.kind == b.kind and "parent" in a.fields and "parent" in b.fields:
        names.remove("parent")
        yield from _values(a, b, names)
        if a.fields["parent"] != b.fields["parent"]:
            yield from _fields(_nested(a), _nested(b))
    else:
        yield from _values(a, b, names)


def _short(text: str) -> str:
    match = _NUMBERS.fullmatch(text)
    return "x".join(match[1].replace(" ", "").split(",")) if match else text


def _by(sizes: Sequence[int]) -> str:
    return "x".join(map(str, sizes))


def _tile(sizes: Sequence[int]) -> str:
    return f"{_by(sizes)} tile" if len(sizes) > 1 else f"tile of {sizes[0]}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"
