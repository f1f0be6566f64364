"""How a layout is spread over the blocks of a cluster: a vector for each bit of the block's number."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.layouts.attribute import Attribute, UnknownLayoutError
from irscope.layouts.linear import Vector


def blocks_of(attribute: Attribute, rank: int) -> list[Vector]:
    """The vectors of the blocks' numbers, in blocks; [] for a cluster of one. Raises UnknownLayoutError."""
    if attribute.kind == "ttg.slice":
        dim = attribute.number("dim")
        parent = blocks_of(attribute.nested("parent"), rank + 1)
        return [vector[:dim] + vector[dim + 1 :] for vector in parent]
    if attribute.kind == "ttg.dot_op":
        inner = rank - 1 if attribute.number("opIdx") == 0 else rank - 2
        parent = blocks_of(attribute.nested("parent"), rank)
        return [tuple(0 if d == inner else v for d, v in enumerate(vector)) for vector in parent]
    if "CTAsPerCGA" in attribute.fields:
        raise UnknownLayoutError("a cluster as Triton before 3.6 wrote it")
    vectors = attribute.vectors("CGALayout")
    if any(len(vector) != rank for vector in vectors):
        raise UnknownLayoutError(f"a CGALayout that is not of rank {rank}")
    return vectors


def blocks_along(blocks: Sequence[Vector], shape: Sequence[int]) -> list[int]:
    """How many blocks the tensor is split over, for each dimension."""
    counts = [1] * len(shape)
    for vector in blocks:
        for dimension, value in enumerate(vector):
            if value < shape[dimension]:
                counts[dimension] = max(counts[dimension], 1 << value.bit_length())
    return counts
