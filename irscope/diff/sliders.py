"""Which of several operations of equal text is the one without counterpart.

An alignment is free to choose among neighbours that read the same; here the choice falls on the one
whose removal leaves the fewest operands, users and layouts in disagreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence

from irscope.diff.def_use import Definition, Definitions
from irscope.diff.matching import UNPAIRED
from irscope.languages.document import Document, Operation

# Positions tried to either side of a run: longer repetitions than this are all alike (zeroed registers).
_REACH = 32

# A move can make room for another.
_PASSES = 4

_Cost = Callable[[int, int], int]
_Users = Mapping[int, list[tuple[int, int]]]
_Layouts = Sequence[Hashable]
_Move = list[tuple[int, int]]


def fix_sliders(
    left: Document,
    right: Document,
    partner: list[int],
    flow: tuple[Definitions, Definitions],
    layouts: tuple[_Layouts, _Layouts],
) -> None:
    """Moves runs of unpaired operations, in place, to where they disturb least.

    `flow` are the sources of both documents' operands, `layouts` what each operation carries. As many
    operations are paired afterwards as before, each with one of the same text and place.
    """
    users: list[_Users] = []  # made when first needed: most diffs leave no choice

    def cost(i: int, j: int) -> int:
        """How much a pair disagrees: operands, users, layouts."""
        if not users:
            users.extend(map(_users, flow))
        operands = sum(
            theirs != (ours and Definition(partner[ours.owner], ours.argument, ours.position))
            for ours, theirs in zip(flow[0][i], flow[1][j], strict=False)
        )
        used = {(partner[user], place) for user, place in users[0].get(i, ())}
        return (
            operands + len(used.symmetric_difference(users[1].get(j, ()))) + (layouts[0][i] != layouts[1][j])
        )

    inverse = [UNPAIRED] * len(right.operations)
    for i, j in enumerate(partner):
        if j != UNPAIRED:
            inverse[j] = i
    for _ in range(_PASSES):
        moved = _slide(left.operations, partner, inverse, cost)
        moved |= _slide(right.operations, inverse, partner, lambda j, i: cost(i, j))
        if not moved:
            break


def _users(sources: Definitions) -> _Users:
    """For each operation who uses its results, and as which operand."""
    users: dict[int, list[tuple[int, int]]] = defaultdict(list)
    for user, operands in enumerate(sources):
        for place, source in enumerate(operands):
            if source is not None:
                users[source.owner].append((user, place))
    return users


def _slide(operations: Sequence[Operation], side: list[int], other: list[int], cost: _Cost) -> bool:
    """Moves the unpaired runs of one side, and says whether it moved any.

    `side` has its operations' partners, `other` those of the other side's.
    """
    moved = False
    parents = {operation.parent for operation in operations}
    index, size = 0, len(operations)
    while index < size:
        if side[index] != UNPAIRED or index in parents:
            index += 1
            continue
        end = index + 1
        while end < size and side[end] == UNPAIRED and _together(operations[end], operations[index]):
            end += 1
        for giver, taker in _best_move(operations, side, range(index, end), parents, cost):
            side[taker], side[giver] = side[giver], UNPAIRED
            other[side[taker]] = taker
            moved = True
        index = end
    return moved


def _best_move(
    operations: Sequence[Operation], side: Sequence[int], run: range, parents: set[int], cost: _Cost
) -> _Move:
    """How to move the run, or its end, for the most gain: (paired operation, one that takes its partner).

    The operation above the run may become part of it in exchange for any that reads the same, then the
    one above that; and so below. Empty where no move gains anything.
    """
    best: _Move = []
    most = 0
    above = [(run.start - 1, taker, -1) for taker in run[:_REACH]]
    below = [(run.stop, taker, 1) for taker in run[-_REACH:]]
    for first, second, step in above + below:
        giver, taker, gain = first, second, 0
        move: _Move = []
        while len(move) < _REACH and 0 <= giver < len(operations) and giver not in parents:
            if side[giver] == UNPAIRED or not _alike(operations[giver], operations[taker]):
                break
            move.append((giver, taker))
            gain += cost(giver, side[giver]) - cost(taker, side[giver])
            if gain > most:
                most, best = gain, list(move)
            giver, taker = giver + step, taker + step
    return best


def _alike(one: Operation, other: Operation) -> bool:
    """Whether two operations of one region read the same and come from the same place."""
    return _together(one, other) and one.normalized == other.normalized and one.location == other.location


def _together(one: Operation, other: Operation) -> bool:
    """Whether two operations stand in one region of one function."""
    return one.parent == other.parent and one.function == other.function
