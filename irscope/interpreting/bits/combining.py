"""Reductions and scans, in the order in which the threads of a block combine the elements."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from irscope.interpreting.bits import hashes
from irscope.interpreting.bits.hashed import joined, part, rounded, taken
from irscope.interpreting.bits.order import AxisOrder
from irscope.interpreting.domain import Combine
from irscope.interpreting.runtime_values import Array, RuntimeValue

# Combines two partial results, each of one value per operand of the reduction.
Both = Callable[[list[RuntimeValue], list[RuntimeValue]], list[RuntimeValue]]


def reduced(
    order: AxisOrder, operands: Sequence[RuntimeValue], both: Both, pairwise: bool, packed: bool
) -> list[RuntimeValue]:
    """Return the reduction of tensors along their first axis.

    Registers come one after another, or `pairwise`: neighbors, then neighboring results, and so on; `packed`,
    first the even ones and the odd ones. Then come the lanes in a butterfly, the highest bit first, then the
    warps.
    """
    grid = order.grid
    # Each item is an array [lane, warp, rest].
    items = [[taken(value, index) for value in operands] for index in grid]
    if packed:
        items = [*items[::2], *items[1::2]]
    while len(items) > 1:
        if pairwise:
            items = [both(one, other) for one, other in zip(items[::2], items[1::2], strict=True)]
        else:
            items = [both(items[0], items[1]), *items[2:]]
    total = items[0]
    for axis in (0, 1):
        half = grid.shape[axis + 1] // 2
        while half:
            low, high = slice(0, half), slice(half, 2 * half)
            # A lane adds to its own product, not rounded, what another lane hands over.
            keep = axis == 0 and half == grid.shape[1] // 2
            total = both(
                [part(value, axis, low, keep) for value in total],
                [part(value, axis, high) for value in total],
            )
            half //= 2
        total = [rounded(value) for value in total]
    return [RuntimeValue(value.data[0, 0], value.type, value.known, value.note) for value in total]


def placed(values: Sequence[RuntimeValue], place: str) -> list[RuntimeValue]:
    """Return partial results that depend on the threads that compute them, unless `place` is empty."""
    return [
        value
        if value.known or not place
        else RuntimeValue(hashes.unary(place, value.data), value.type, False, value.note)
        for value in values
    ]


def scanned(blocks: tuple[int, int, int], operands: Sequence[RuntimeValue], combine: Combine) -> list[Array]:
    """Return the inclusive scan of tensors along their first axis, and whether it is known.

    `blocks`: elements per thread, lanes, and blocks of both. A block is combined with the total before it.
    """
    per_thread, lanes, count = blocks
    carry: list[RuntimeValue] = []
    rows: list[list[list[RuntimeValue]]] = []
    for block in range(count):
        start = block * per_thread * lanes
        index = start + np.arange(lanes)[None, :] * per_thread + np.arange(per_thread)[:, None]
        items = [[taken(value, index[number]) for value in operands] for number in range(per_thread)]
        items = _scanned_block(items, lanes, combine)
        if carry:
            items = [combine([*carry, *item]) for item in items]
        carry = [part(value, 0, slice(lanes - 1, lanes)) for value in items[-1]]
        rows.append(items)
    results = []
    for number, operand in enumerate(operands):
        shape = (lanes, *operand.type.shape[1:])
        stacks = (
            np.stack([np.broadcast_to(item[number].data, shape) for item in items], 1) for items in rows
        )
        results.append(np.concatenate([stack.reshape(-1, *stack.shape[2:]) for stack in stacks]))
    return results


def _scanned_block(items: list[list[RuntimeValue]], lanes: int, combine: Combine) -> list[list[RuntimeValue]]:
    """Scan the elements of each thread, then the threads' totals; add the prefix of the lane before."""
    for number in range(1, len(items)):
        items[number] = combine([*items[number - 1], *items[number]])
    totals = items[-1]
    distance = 1
    while distance < lanes:
        totals = _shifted(totals, totals, lanes, distance, combine)
        distance *= 2
    if lanes == 1:
        return items
    return [*(_shifted(totals, item, lanes, 1, combine) for item in items[:-1]), totals]


def _shifted(
    before: list[RuntimeValue], items: list[RuntimeValue], lanes: int, distance: int, combine: Combine
) -> list[RuntimeValue]:
    """Combine the items of each lane with what a lane before it has; the first lanes keep theirs."""
    combined = combine(
        [
            *(part(value, 0, slice(0, lanes - distance)) for value in before),
            *(part(value, 0, slice(distance, lanes)) for value in items),
        ]
    )
    first = [part(value, 0, slice(0, distance)) for value in items]
    return [joined(one, other) for one, other in zip(first, combined, strict=True)]
