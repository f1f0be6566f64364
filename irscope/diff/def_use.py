"""Def-use chains: which operation defines each operand, and whether matched operations agree on it.

    %a = tt.load %p        %a = tt.load %p
    %b = tt.load %q        %b = tt.load %q
    %c = addf %a, %b       %c = addf %a, %a       -> Change.OPERANDS

Both additions have the same normalized text. Comparing the names instead would report every operation after
a renumbering.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import NamedTuple

from irscope.diff.align import common_blocks, matched_pairs
from irscope.diff.matching import UNMATCHED
from irscope.diff.rows import Change
from irscope.languages.document import Document, Operation
from irscope.languages.language import Language

_COMMUTATIVE = re.compile(
    r"(?:arith\.|call @llvm\.)?(?:f?add|f?mul|and|or|xor|[su]?min|[su]?max|m(?:in|ax)num|phi"
    r"|(?:add|mul)[if]|(?:and|or|xor)i|m(?:in|ax)(?:si|ui|imumf|numf))(?:$|[ .])"
)


class Definition(NamedTuple):
    """The definition of a value: the result, or the argument of a region, of operation `owner`."""

    owner: int
    argument: bool
    position: int


Definitions = Sequence[Sequence["Definition | None"]]

# The definition by an operation that only one side has. Its replacement is not a changed operand: both
# operations are reported already.
REPLACED = Definition(UNMATCHED, False, 0)


def definitions(document: Document) -> Definitions:
    """Return the definitions of each operation's operands; None for those from outside the document.

    If a name is defined again, the new definition holds for the rest of the text.
    """
    operations = document.operations
    if not Language.named(document.language).names_are_values:
        return [()] * len(operations)
    names: dict[int, dict[str, Definition]] = defaultdict(dict)
    operand_definitions: list[tuple[Definition | None, ...]] = []
    forward = []
    make = tuple.__new__  # a third of the time of Definition(...), of which a stage has a million
    for index, operation in enumerate(operations):
        defined = names[operation.function]
        read = tuple([defined.get(name) for name in operation.operands])
        if None in read:
            forward.append(index)
        operand_definitions.append(read)
        for position, name in enumerate(operation.results):
            defined[name] = make(Definition, (index, False, position))
        for position, name in enumerate(operation.arguments):
            defined[name] = Definition(index, True, position)
    for index in forward:  # used above its definition: operands of phis and loop headers
        defined = names[operations[index].function]
        operand_definitions[index] = tuple(
            definition or defined.get(name)
            for definition, name in zip(operand_definitions[index], operations[index].operands, strict=True)
        )
    return operand_definitions


def operand_changes(
    left: Document, right: Document, matches: Sequence[int], defs: tuple[Definitions, Definitions]
) -> dict[int, Change]:
    """Map operations of `left` to the change of their operands, if its definitions do not match.

    `defs` are the definitions of both documents' operands. The change is OPERANDS, or CONSTANT
    if both definitions are constants. The order of operands of a commutative operation does not
    matter.
    """
    ours, theirs = defs
    matcher = _DefinitionMatcher(left, right, matches, ours, theirs)
    changes: dict[int, Change] = {}
    for index, partner in enumerate(matches):
        if partner == UNMATCHED or not (ours[index] or theirs[partner]):
            continue
        if matcher.agree(ours[index], theirs[partner]):
            continue
        mapped = [matcher.match(definition) for definition in ours[index]]
        if mapped == list(theirs[partner]):
            continue
        actual = [matcher.without_inserted(definition) for definition in theirs[partner]]
        if mapped == actual:
            continue
        if _COMMUTATIVE.match(left.operations[index].opcode) and Counter(mapped) == Counter(actual):
            continue
        change = Change.EQUAL
        if len(mapped) != len(actual):
            change = Change.OPERANDS
        for was, now, expected, value in zip(ours[index], theirs[partner], mapped, actual, strict=False):
            if value != expected and len(mapped) == len(actual):
                change |= matcher.change(was, now)
        if change:
            changes[index] = change
    return changes


class _DefinitionMatcher:
    """Maps definitions of the left document to definitions of the right one."""

    def __init__(
        self, left: Document, right: Document, matches: Sequence[int], ours: Definitions, theirs: Definitions
    ) -> None:
        self.left, self.right = left.operations, right.operations
        self.matches = _with_moved(left, right, matches)
        self.taken = set(self.matches)
        self.defs = ours, theirs
        # A definition by an operation that only one side has -> the definition that it was inserted after.
        self.inserted: tuple[dict[Definition, Definition], dict[Definition, Definition]] = {}, {}
        self.carried: dict[int, dict[int, int]] = {}
        self.parameters: dict[int, dict[int, int]] = {}
        for index, partner in enumerate(matches):
            if partner == UNMATCHED or not self.left[index].arguments:
                continue
            arguments = self.left[index].arguments, self.right[partner].arguments
            if self.left[index].opcode.endswith(".func"):
                if len(arguments[0]) != len(arguments[1]):
                    self.parameters[index] = matched_parameters(*arguments)
            elif self.left[index].results or len(arguments[0]) != len(arguments[1]):
                self.carried[index] = self._carried(index, partner, ours[index], theirs[partner])
        if Language.named(left.language).has_regions:
            self._match_inserted(ours, theirs)
        self._special = bool(self.carried or self.parameters or self.inserted[0])

    def agree(self, ours: Sequence[Definition | None], theirs: Sequence[Definition | None]) -> bool:
        """Check whether operands match for sure: nothing was inserted before, no region defines them."""
        if self._special or len(ours) != len(theirs):
            return False
        matches = self.matches
        for was, now in zip(ours, theirs, strict=True):
            if was is None or now is None:
                if was is not now:
                    return False
            elif matches[was[0]] != now[0] or was[2] != now[2] or was[1] != now[1]:
                return False
        return True

    def match(self, definition: Definition | None) -> Definition | None:
        """Return the right definition that matches a left one; REPLACED if only the left side has it."""
        if definition is None:
            return None
        definition = self.inserted[0].get(definition, definition)
        owner = self.matches[definition.owner]
        if owner == UNMATCHED:
            return REPLACED
        position = definition.position
        if definition.owner in self.parameters:
            position = self.parameters[definition.owner].get(position, UNMATCHED)
        elif definition.owner in self.carried:
            before = self._leading(self.left[definition.owner]) if definition.argument else 0
            if position >= before:
                after = self._leading(self.right[owner]) if definition.argument else 0
                position = self.carried[definition.owner].get(position - before, UNMATCHED - after) + after
        return Definition(owner, definition.argument, position)

    def without_inserted(self, definition: Definition | None) -> Definition | None:
        """Return a right definition, or the one after which the operation that defines it was inserted."""
        if definition is None:
            return None
        definition = self.inserted[1].get(definition, definition)
        return definition if definition.owner in self.taken else REPLACED

    def change(self, was: Definition | None, now: Definition | None) -> Change:
        """Return how an operand changes if its definition changes from `was` to `now`."""
        if was is None or now is None:
            return Change.OPERANDS
        ours, theirs = self.left[was.owner], self.right[now.owner]
        if not (ours.opcode.endswith(".constant") and theirs.opcode.endswith(".constant")):
            return Change.OPERANDS
        return Change.EQUAL if ours.normalized == theirs.normalized else Change.CONSTANT

    def _match_inserted(self, ours: Definitions, theirs: Definitions) -> None:
        """Find the operations that were inserted between a value and all of its users, on either side.

            %x = tt.load %p                  %x = tt.load %p
            tt.store %q, %x                  %y = arith.mulf %x, %c       inserted after %x
                                             tt.store %q, %y

        Only they are new: their users have the operands that they had, through one more operation.
        """
        inverse = [UNMATCHED] * len(self.right)
        for i, j in enumerate(self.matches):
            if j != UNMATCHED:
                inverse[j] = i
        users = _matched_users(ours, self.matches), _matched_users(theirs, inverse)
        to_left = {self.match(definition): definition for definition in users[0]}
        to_left.pop(REPLACED, None)
        for operations, defs, side_matches, side, used, used_opposite in (
            (self.left, ours, self.matches, 0, users[0], users[1]),
            (self.right, theirs, inverse, 1, users[1], users[0]),
        ):
            for index, operation in enumerate(operations):
                if side_matches[index] != UNMATCHED or len(operation.results) != 1:
                    continue
                for definition in defs[index]:
                    value = self.inserted[side].get(definition, definition) if definition else None
                    match = None if value is None else to_left.get(value) if side else self.match(value)
                    if value and match and match != REPLACED and match in used_opposite and value not in used:
                        self.inserted[side][Definition(index, False, 0)] = value
                        break

    def _carried(
        self, index: int, other: int, ours: Sequence[Definition | None], theirs: Sequence[Definition | None]
    ) -> dict[int, int]:
        """Map left to right positions of the values that a loop carries, matched by their initial values.

        Positions shift if one of the loops carries more values than the other.
        """
        left_size, right_size = len(self.left[index].results), len(self.right[other].results)
        starts = [self.match(definition) for definition in _initial_values(ours, left_size)]
        other_starts = _initial_values(theirs, right_size)
        if starts == other_starts:
            return {position: position for position in range(left_size)}
        position_map: dict[int, int] = {}
        for (position, to), _ in self._votes[index].most_common():
            if position not in position_map and to not in position_map.values():
                position_map[position] = to
        rest = [position for position in range(left_size) if position not in position_map]
        other_rest = [
            position for position in range(right_size) if position not in set(position_map.values())
        ]
        blocks = common_blocks([starts[n] for n in rest], [other_starts[n] for n in other_rest])
        position_map.update({rest[n]: other_rest[to] for n, to in matched_pairs(blocks)})
        rest = [position for position in rest if position not in position_map]
        other_rest = [position for position in other_rest if position not in set(position_map.values())]
        return position_map | dict(zip(rest, other_rest, strict=False))

    @cached_property
    def _votes(self) -> Mapping[int, Counter[tuple[int, int]]]:
        """Count for each left loop how many matched operations use both values of a pair of positions."""
        votes: dict[int, Counter[tuple[int, int]]] = defaultdict(Counter)
        for index, partner in enumerate(self.matches):
            if partner == UNMATCHED or len(self.defs[0][index]) != len(self.defs[1][partner]):
                continue
            for was, now in zip(self.defs[0][index], self.defs[1][partner], strict=True):
                if was and now and was.argument == now.argument and self.matches[was.owner] == now.owner:
                    before = after = 0
                    if was.argument:
                        before = self._leading(self.left[was.owner])
                        after = self._leading(self.right[now.owner])
                    if was.position >= before and now.position >= after:
                        votes[was.owner][was.position - before, now.position - after] += 1
        return votes

    @staticmethod
    def _leading(operation: Operation) -> int:
        """Return the number of arguments before the loop-carried ones: the induction variable."""
        return max(0, len(operation.arguments) - len(operation.results))


def _initial_values(operands: Sequence[Definition | None], carried: int) -> list[Definition | None]:
    """Return the last `carried` operands; None for those that a malformed loop lacks."""
    values = operands[max(0, len(operands) - carried) :]
    return [None] * (carried - len(values)) + list(values)


def _matched_users(defs: Definitions, matches: Sequence[int]) -> set[Definition]:
    """Return the definitions that a matched operation uses."""
    used = (operands for index, operands in enumerate(defs) if matches[index] != UNMATCHED)
    return {definition for operands in used for definition in operands if definition is not None}


def matched_parameters(left: Sequence[str], right: Sequence[str]) -> dict[int, int]:
    """Map left to right positions of the parameters of a function that has more or fewer on one side.

    Parameters of equal name match.
    """
    return dict(matched_pairs(common_blocks(left, right)))


def _with_moved(left: Document, right: Document, matches: Sequence[int]) -> list[int]:
    """Return `matches` with unmatched operations of equal text matched too: they moved."""
    matched = set(matches)
    spare: dict[tuple[str, int], list[int]] = defaultdict(list)
    for j in range(len(right.operations) - 1, -1, -1):
        if j not in matched:
            operation = right.operations[j]
            spare[operation.normalized, len(operation.operands)].append(j)
    extended = list(matches)
    for i, match in enumerate(matches):
        if match == UNMATCHED:
            operation = left.operations[i]
            moved = spare.get((operation.normalized, len(operation.operands)))
            if moved:
                extended[i] = moved.pop()
    return extended
