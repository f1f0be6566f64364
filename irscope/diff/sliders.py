"""Sliders: choose which one of several identical neighbors is the unmatched one.

    left          right         alignment       after fix_sliders
    %a = zero     %a = zero       %a = zero     + %a = zero
    mma %a        %b = zero     + %b = zero       %b = zero
                  mma %b          mma %b          mma %b

An alignment is free to choose among operations of equal text. Here, the choice is the one with the fewest
operands, users and layouts that disagree. Otherwise `mma` would be reported with changed operands.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Hashable, Iterator, Sequence
from itertools import accumulate

from irscope.diff.def_use import Definition, Definitions
from irscope.diff.matching import UNMATCHED
from irscope.languages.document import Document, Operation

# The positions to try on either side of a run: longer repetitions are uniform (zeroed registers).
_REACH = 32

# A shift can make room for another.
_PASSES = 4

_Cost = Callable[[int, int], int]
_Layouts = Sequence[Hashable]
_Shift = list[tuple[int, int]]


def fix_sliders(
    left: Document,
    right: Document,
    matches: list[int],
    defs: tuple[Definitions, Definitions],
    layouts: tuple[_Layouts, _Layouts],
) -> None:
    """Shift runs of unmatched operations to where fewest uses disagree; update `matches` in place.

    `defs` are the definitions of both documents' operands, `layouts` the layouts that each
    operation uses. The number of matches stays the same, and so do the texts and locations that
    are matched.
    """
    users: list[_Users] = []  # computed on first use: most diffs leave no choice
    users_of: dict[int, frozenset[tuple[int, int]]] = {}  # of operations on the right

    def cost(i: int, j: int) -> int:
        """Count the operands, users and layouts in which a pair disagrees."""
        if not users:
            users.extend(map(_Users, defs))
        operands = sum(
            theirs != (ours and Definition(matches[ours.owner], ours.argument, ours.position))
            for ours, theirs in zip(defs[0][i], defs[1][j], strict=False)
        )
        used = {(matches[user], position) for user, position in users[0].of(i)}
        if j not in users_of:
            users_of[j] = frozenset(users[1].of(j))
        return operands + len(used ^ users_of[j]) + (layouts[0][i] != layouts[1][j])

    inverse = [UNMATCHED] * len(right.operations)
    for i, j in enumerate(matches):
        if j != UNMATCHED:
            inverse[j] = i
    parents = _parents(left), _parents(right)
    for _ in range(_PASSES):
        shifted = _shift_runs(left.operations, parents[0], matches, inverse, cost)
        shifted |= _shift_runs(right.operations, parents[1], inverse, matches, lambda j, i: cost(i, j))
        if not shifted:
            break


class _Users:
    """The users of each operation's results.

    Lists in arrays, each linked from its last user on: 12 bytes per operand, of which a stage has millions.
    """

    def __init__(self, defs: Definitions) -> None:
        self._last = array("i", [-1]) * len(defs)
        self._before, self._user, self._position = array("i"), array("i"), array("i")
        last, before, number = self._last, self._before, 0
        for user, operands in enumerate(defs):
            for position, definition in enumerate(operands):
                if definition is not None:
                    owner = definition[0]
                    before.append(last[owner])
                    last[owner] = number
                    self._user.append(user)
                    self._position.append(position)
                    number += 1

    def of(self, operation: int) -> Iterator[tuple[int, int]]:
        """Yield the users of an operation's results, as (user, operand number)."""
        use = self._last[operation]
        while use >= 0:
            yield self._user[use], self._position[use]
            use = self._before[use]


def _parents(document: Document) -> set[int]:
    """Return the operations that have others in their regions."""
    return {operation.parent for operation in document.operations}


def _shift_runs(
    operations: Sequence[Operation], parents: set[int], side: list[int], other: list[int], cost: _Cost
) -> bool:
    """Shift the unmatched runs of one side; return True if any shifted.

    `side` has the matches of its operations, `other` the matches of the other side's.
    """
    shifted = False
    index, size = 0, len(operations)
    while index < size:
        try:
            index = side.index(UNMATCHED, index)
        except ValueError:
            break
        if index in parents:
            index += 1
            continue
        end = index + 1
        while end < size and side[end] == UNMATCHED and _are_siblings(operations[end], operations[index]):
            end += 1
        for giver, taker in _best_shift(operations, side, range(index, end), parents, cost):
            side[taker], side[giver] = side[giver], UNMATCHED
            other[side[taker]] = taker
            shifted = True
        index = end
    return shifted


def _best_shift(
    operations: Sequence[Operation], side: Sequence[int], run: range, parents: set[int], cost: _Cost
) -> _Shift:
    """Return the best shift of the run or its end, as pairs (matched operation, new owner of match).

    The operation above the run can become part of it in exchange for any of equal text, then the
    one above that; likewise below. Empty if no shift gains anything.
    """
    best: _Shift = []
    most = 0
    for neighbors, takers, step in (
        (range(run.start - 1, -1, -1), run[:_REACH], -1),
        (range(run.stop, len(operations)), run[-_REACH:], 1),
    ):
        givers = _givers(operations, side, run, parents, neighbors)
        costs = [cost(giver, side[giver]) for giver in givers]
        left = list(accumulate(reversed(costs)))[::-1]  # what this giver and those after it can gain at most
        for first in takers:
            gain, taker = 0, first
            for number, giver in enumerate(givers):
                out_of_reach = gain + left[number] <= most
                if out_of_reach or not _interchangeable(operations[giver], operations[taker]):
                    break
                gain += costs[number] - cost(taker, side[giver])
                if gain > most:
                    most, best = gain, list(zip(givers, range(first, taker + step, step), strict=False))
                taker += step
    return best


def _givers(
    operations: Sequence[Operation], side: Sequence[int], run: range, parents: set[int], places: range
) -> list[int]:
    """Return the matched operations next to the run that can become part of it, in order of `places`."""
    texts = {operations[index].normalized for index in run}
    givers = []
    for index in places[:_REACH]:
        if side[index] == UNMATCHED or index in parents or operations[index].normalized not in texts:
            break
        givers.append(index)
    return givers


def _interchangeable(one: Operation, other: Operation) -> bool:
    """Check whether two operations of one region have equal text and location."""
    return _are_siblings(one, other) and one.normalized == other.normalized and one.location == other.location


def _are_siblings(one: Operation, other: Operation) -> bool:
    """Check whether two operations are in one region of one function."""
    return one.parent == other.parent and one.function == other.function
