"""Which of several operations of equal text is the one without counterpart.

An alignment is free to choose among neighbours that read the same; here the choice falls on the one
whose removal leaves the fewest operands, users and layouts in disagreement.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Hashable, Sequence

from irscope.diff.pairing import UNPAIRED
from irscope.diff.values import Source, Sources
from irscope.ir.document import Document, Operation

# Positions tried to either side of a run: longer repetitions than this are all alike (zeroed registers).
_REACH = 32

_Cost = Callable[[int, int], int]
_Layouts = Sequence[Hashable]
_Move = tuple[tuple[int, int], ...]


def settle(
    left: Document,
    right: Document,
    partner: list[int],
    flow: tuple[Sources, Sources],
    layouts: tuple[_Layouts, _Layouts],
) -> None:
    """Moves runs of unpaired operations, in place, to where they disturb least.

    `flow` are the sources of both documents' operands, `layouts` what each operation carries. As many
    operations are paired afterwards as before, each with one of the same text and place.
    """
    users = _users(flow[0]), _users(flow[1])

    def cost(i: int, j: int) -> int:
        """How much a pair disagrees: operands, users, layouts."""
        operands = sum(
            theirs != (ours and Source(partner[ours.owner], ours.argument, ours.position))
            for ours, theirs in zip(flow[0][i], flow[1][j], strict=False)
        )
        used = {(partner[user], place) for user, place in users[0][i]}
        return operands + len(used ^ users[1][j]) + (layouts[0][i] != layouts[1][j])

    inverse = [UNPAIRED] * len(right.operations)
    for i, j in enumerate(partner):
        if j != UNPAIRED:
            inverse[j] = i
    _slide(left.operations, partner, inverse, cost)
    _slide(right.operations, inverse, partner, lambda j, i: cost(i, j))


def _users(sources: Sources) -> dict[int, set[tuple[int, int]]]:
    """For each operation who uses its results, and as which operand."""
    users: dict[int, set[tuple[int, int]]] = defaultdict(set)
    for user, operands in enumerate(sources):
        for place, source in enumerate(operands):
            if source is not None:
                users[source.owner].add((user, place))
    return users


def _slide(operations: Sequence[Operation], side: list[int], other: list[int], cost: _Cost) -> None:
    """Moves the unpaired runs of one side; `side` has its operations' partners, `other` the partners'."""
    parents = {operation.parent for operation in operations}
    index, size = 0, len(operations)
    while index < size:
        if side[index] != UNPAIRED or index in parents:
            index += 1
            continue
        end = index + 1
        while end < size and side[end] == UNPAIRED and _together(operations[end], operations[index]):
            end += 1
        moves = _moves(operations, side, index, end, parents)
        gains = [(_gain(move, side, cost), n) for n, move in enumerate(moves)]
        gain, best = max(gains, default=(0, 0))
        if gain > 0:
            for giver, taker in moves[best]:
                side[taker], side[giver] = side[giver], UNPAIRED
                other[side[taker]] = taker
        index = end


def _moves(
    operations: Sequence[Operation], side: Sequence[int], start: int, end: int, parents: set[int]
) -> list[_Move]:
    """The ways to move the run, or its end: each is (paired operation, one that takes its partner) in turn.

    The operation above the run may become part of it in exchange for any that reads the same, then the
    one above that; and so below.
    """
    moves: list[_Move] = []
    above = [(start - 1, taker, -1) for taker in range(start, min(end, start + _REACH))]
    below = [(end, taker, 1) for taker in range(max(start, end - _REACH), end)]
    for giver, taker, step in above + below:
        move: _Move = ()
        for _ in range(_REACH):
            if not 0 <= giver < len(operations) or side[giver] == UNPAIRED or giver in parents:
                break
            one, two = operations[giver], operations[taker]
            if not (_together(one, two) and one.normal == two.normal and one.location == two.location):
                break
            move = (*move, (giver, taker))
            moves.append(move)
            giver, taker = giver + step, taker + step
    return moves


def _together(one: Operation, other: Operation) -> bool:
    """Whether two operations stand in one region of one function."""
    return one.parent == other.parent and one.function == other.function


def _gain(move: _Move, side: Sequence[int], cost: _Cost) -> int:
    """How much less the pairs disagree after the move."""
    return sum(cost(giver, side[giver]) - cost(taker, side[giver]) for giver, taker in move)
