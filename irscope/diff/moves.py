"""Moved operations: the ones that compute the same on both sides, but in another order.

    left                           right
    %a = tt.load %x                %b = tt.load %y        moved
    %b = tt.load %y                %a = tt.load %x
    %c = arith.subf %a, %b         %c = arith.subf %a, %b

Matching goes by text, location and order, so it would match the two loads crosswise, and report that the
subtraction has other operands. Operations of equal value number compute the same, wherever they are.

Value numbers: two operations of equal number compute the same value from the parameters of their kernel.

    left                                right
    %a = tt.splat %x   -> 1             %b = tt.splat %y   -> 2
    %b = tt.splat %y   -> 2             %a = tt.splat %x   -> 1

An operation is numbered by its normalized text and the numbers of its operands (value numbering as in
compilers, but over two modules). Texts and positions would match the first `tt.splat` with the first.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import pairwise

from irscope.diff.align import longest_increasing
from irscope.diff.def_use import Definition, Definitions, matched_parameters
from irscope.diff.line_map import NO_LOCATION, LineMap, number_locations
from irscope.diff.matching import UNMATCHED
from irscope.languages.document import OPAQUE, Document, Operation
from irscope.languages.language import Language

_DIGITS = re.compile(r"\d+")
_UNKNOWN = 0

Numbers = Sequence[int]


def value_numbers(
    left: Document, right: Document, defs: tuple[Definitions, Definitions], *, sizes: bool
) -> tuple[Numbers, Numbers]:
    """Assign numbers from 1 to both documents' operations; `defs` are the definitions of their operands.

    With `sizes`, numbers in the text count; without, `tensor<64xf32>` equals `tensor<128xf32>`.
    """
    numbering = _Numbering(sizes)
    parameters = _parameter_map(left, right)
    return numbering.numbers(left, defs[0], {}), numbering.numbers(right, defs[1], parameters)


class _Numbering:
    """The numbers so far, by what was numbered."""

    def __init__(self, sizes: bool) -> None:
        self._sizes = sizes
        self._numbers: dict[Hashable, int] = {}
        self._texts: dict[str, str] = {}

    def numbers(self, document: Document, defs: Definitions, parameters: Mapping[int, int]) -> Numbers:
        """Assign numbers to each operation; `parameters` maps the positions of the kernel's parameters."""
        result: list[int] = []
        values: dict[Definition, int] = {}
        for index, operation in enumerate(document.operations):
            operands = [
                values.get(definition, _UNKNOWN) if definition else _UNKNOWN for definition in defs[index]
            ]
            number = self._number(self._text(operation.normalized), *operands)
            result.append(number)
            values.update(self._defined(index, operation, number, operands, parameters))
        return result

    def _defined(
        self,
        index: int,
        operation: Operation,
        number: int,
        operands: Sequence[int],
        parameters: Mapping[int, int],
    ) -> dict[Definition, int]:
        """Assign numbers to the results of an operation and the arguments of its regions."""
        if operation.opcode.endswith(".func"):
            return {
                Definition(index, True, position): self._number(
                    "parameter", parameters.get(position, position)
                )
                for position in range(len(operation.arguments))
            }
        if operation.opcode == "scf.for":
            return self._carried(index, operation, operands)
        results = {
            Definition(index, False, position): self._number("result", number, position)
            for position in range(len(operation.results))
        }
        arguments = {
            Definition(index, True, position): self._number("argument", number, position)
            for position in range(len(operation.arguments))
        }
        return results | arguments

    def _carried(self, index: int, operation: Operation, operands: Sequence[int]) -> dict[Definition, int]:
        """Assign numbers to a loop's induction variable and the values that it carries.

        A carried value has the number of its initial value, so an edit in the body does not change
        it.
        """
        carried = len(operation.results)
        bounds, starts = operands[: len(operands) - carried], operands[len(operands) - carried :]
        loop, leading = self._number("loop", *bounds), len(operation.arguments) - carried
        loop_numbers = {Definition(index, True, 0): self._number("index", loop)}
        repeats: Counter[int] = Counter()
        for position, start in enumerate(starts):
            key = (loop, start, repeats[start])
            loop_numbers[Definition(index, True, leading + position)] = self._number("carried", *key)
            loop_numbers[Definition(index, False, position)] = self._number("after", *key)
            repeats[start] += 1
        return loop_numbers

    def _text(self, normalized: str) -> str:
        if self._sizes:
            return normalized
        if normalized not in self._texts:
            self._texts[normalized] = _DIGITS.sub("", normalized)
        return self._texts[normalized]

    def _number(self, *key: Hashable) -> int:
        return self._numbers.setdefault(key, len(self._numbers) + 1)


def _parameter_map(left: Document, right: Document) -> dict[int, int]:
    """Map right to left positions of the kernel's parameters, by name if their number differs."""
    ours, theirs = _parameters(left), _parameters(right)
    if len(ours) == len(theirs):
        return {}
    unknown = {position: -1 - position for position in range(len(theirs))}
    return unknown | {j: i for i, j in matched_parameters(ours, theirs).items()}


def _parameters(document: Document) -> Sequence[str]:
    functions = (operation for operation in document.operations if operation.opcode.endswith(".func"))
    first = next(functions, None)
    return first.arguments if first else ()


# They read nothing, so their place has no meaning: one can move into a loop, or out of it.
_CONSTANTS = ("arith.constant", "tt.make_range")
_TERMINATORS = (".yield", ".return", ".terminator", ".func")

# The numbers of the users of an operation's results, in order.
_Users = Sequence[Sequence[int]]


def match_moved(
    left: Document,
    right: Document,
    matches: list[int],
    defs: tuple[Definitions, Definitions],
    lines: LineMap,
) -> None:
    """Match operations that moved, also if they had another match; update `matches` in place.

    Only MLIR is searched: in the languages below, the order of operations is the scheduler's.
    """
    if Language.named(left.language).has_regions and not _all_match(left, right, matches, defs):
        _Moves(left, right, matches, defs, lines).run()


def moved_operations(matches: Sequence[int]) -> frozenset[int]:
    """Return the fewest left operations that explain a different order of the matched ones."""
    pairs = [(i, j) for i, j in enumerate(matches) if j != UNMATCHED]
    order = [j for _, j in pairs]
    if all(a < b for a, b in pairwise(order)):
        return frozenset()
    in_order = set(longest_increasing(order))
    return frozenset(i for n, (i, _) in enumerate(pairs) if n not in in_order)


def _all_match(
    left: Document, right: Document, matches: Sequence[int], defs: tuple[Definitions, Definitions]
) -> bool:
    """Check whether both documents are the same except for names."""
    return (
        len(left.operations) == len(right.operations)
        and all(i == j for i, j in enumerate(matches))
        and all(a.normalized == b.normalized for a, b in zip(left.operations, right.operations, strict=True))
        and list(defs[0]) == list(defs[1])
    )


class _Moves:
    """Both documents with their value numbers, and the matches to correct."""

    def __init__(
        self,
        left: Document,
        right: Document,
        matches: list[int],
        defs: tuple[Definitions, Definitions],
        lines: LineMap,
    ) -> None:
        self.documents = left, right
        self.defs = defs
        self.matches = matches
        self.inverse = [UNMATCHED] * len(right.operations)
        for i, j in enumerate(matches):
            if j != UNMATCHED:
                self.inverse[j] = i
        self.exact = value_numbers(left, right, defs, sizes=True)
        self.counts = Counter(self.exact[0]), Counter(self.exact[1])
        self.users = _users(defs[0], self.exact[0]), _users(defs[1], self.exact[1])
        self.movable = _movable(left), _movable(right)
        self.places = number_locations(left, right, lines)

    @cached_property
    def loose(self) -> tuple[Numbers, Numbers]:
        """Return the value numbers without sizes."""
        return value_numbers(*self.documents, self.defs, sizes=False)

    def run(self) -> None:
        """Match equal values first, then the rest, by location and by value without sizes."""
        self._match_equal_values()
        self._match_permuted_constants()
        self._match_equal_regions()
        if UNMATCHED in self.matches and UNMATCHED in self.inverse:
            if self.places:
                self._match_unmatched((self.places[0].exact, self.places[1].exact))
            self._match_unmatched(self.loose)

    def _match_equal_values(self) -> None:
        (ours, theirs), (matches, inverse) = self.exact, (self.matches, self.inverse)
        doubtful = (
            [i for i, j in enumerate(matches) if j == UNMATCHED or ours[i] != theirs[j]],
            [j for j, i in enumerate(inverse) if i == UNMATCHED or ours[i] != theirs[j]],
        )
        for i, j in self._candidates(doubtful, self.exact):
            unmatched = (matches[i], inverse[j]).count(UNMATCHED)
            if unmatched == 2 or (unmatched and self._are_certain(i, j)) or self._is_better(i, j):
                self._match(i, j)

    def _match_permuted_constants(self) -> None:
        """Match constants by value if those of one side are a permutation of the other's.

            x + 1; y * 2        x + 2; y * 1

        At their places, 1 became 2 and 2 became 1. But a constant has no place: the sum reads the
        other one. Sizes that grow together (64 and 128 become 128 and 256) are not a permutation,
        and stay as they are.
        """
        left, right = (document.operations for document in self.documents)
        pairs = [
            (i, j)
            for i, j in enumerate(self.matches)
            if j != UNMATCHED and left[i].opcode in _CONSTANTS and left[i].normalized != right[j].normalized
        ]
        texts = [(left[i].function, left[i].normalized, right[j].normalized) for i, j in pairs]
        while pairs:
            ours = {(function, text) for function, text, _ in texts}
            theirs = {(function, text) for function, _, text in texts}
            both = ours & theirs
            remaining = [
                n
                for n, (function, a, b) in enumerate(texts)
                if (function, a) in both and (function, b) in both
            ]
            if len(remaining) == len(pairs):
                break
            pairs, texts = [pairs[n] for n in remaining], [texts[n] for n in remaining]
        if Counter(row[:2] for row in texts) != Counter(row[::2] for row in texts):
            return
        targets = defaultdict[Hashable, list[int]](list)
        for (_, j), (function, _, text) in zip(pairs, texts, strict=True):
            targets[function, text].append(j)
        for i, _ in pairs:
            j = targets[left[i].function, left[i].normalized].pop()
            self.matches[i], self.inverse[j] = j, i

    def _are_certain(self, i: int, j: int) -> bool:
        """Check whether two operations of equal value come from one line, or no others have that value."""
        if self.places is None:
            return False
        only = self.counts[0][self.exact[0][i]] == self.counts[1][self.exact[1][j]] == 1
        line = self.places[0].lines[i]
        return only or (line != NO_LOCATION and line == self.places[1].lines[j])

    def _is_better(self, i: int, j: int) -> bool:
        """Check whether two operations of equal value match better than each does its present match.

        They do if their users have equal values too. A loop over 32 elements in A and one over 64 in
        B stay a pair, even if A has another one over 64.
        """
        ours, theirs = self.users[0][i], self.users[1][j]
        if ours or theirs:
            return sorted(ours) == sorted(theirs)
        return self._differ(i, self.matches[i]) and self._differ(self.inverse[j], j)

    def _differ(self, i: int, j: int) -> bool:
        """Check whether there is no match, or it differs in more than sizes and constants."""
        return UNMATCHED in (i, j) or self.loose[0][i] != self.loose[1][j]

    def _match(self, i: int, j: int) -> None:
        """Match two operations; what they matched before has no match then."""
        if self.inverse[j] != UNMATCHED:
            self.matches[self.inverse[j]] = UNMATCHED
        if self.matches[i] != UNMATCHED:
            self.inverse[self.matches[i]] = UNMATCHED
        self.matches[i], self.inverse[j] = j, i

    def _match_equal_regions(self) -> None:
        """Match unmatched operations that have regions, if everything in them is equal too."""
        left, right = (document.operations for document in self.documents)
        moved: dict[Hashable, list[int]] = defaultdict(list)
        for j in reversed([j for j, i in enumerate(self.inverse) if i == UNMATCHED]):
            inside = _inside(right, j)
            if inside:
                moved[right[j].parent, self.exact[1][j], _texts(right, inside)].append(j)
        for i in [i for i, j in enumerate(self.matches) if j == UNMATCHED] if moved else ():
            inside, parent = _inside(left, i), left[i].parent
            key = self.matches[parent] if parent >= 0 else -1, self.exact[0][i], _texts(left, inside)
            if inside and moved.get(key):
                j = moved[key].pop()
                for n in range(len(inside) + 1):
                    self._match(i + n, j + n)

    def _match_unmatched(self, keys: tuple[Sequence[Hashable], Sequence[Hashable]]) -> None:
        """Match unmatched operations of one opcode and equal keys."""
        unmatched = (
            [i for i, j in enumerate(self.matches) if j == UNMATCHED],
            [j for j, i in enumerate(self.inverse) if i == UNMATCHED],
        )
        for i, j in self._candidates(unmatched, keys):
            self._match(i, j)

    def _candidates(
        self,
        indices: tuple[Sequence[int], Sequence[int]],
        keys: tuple[Sequence[Hashable], Sequence[Hashable]],
    ) -> Iterator[tuple[int, int]]:
        """Yield pairs of operations of equal key, opcode and region, in order."""
        groups: dict[Hashable, list[int]] = defaultdict(list)
        left, right = self.documents
        for j in reversed(indices[1]):
            if self.movable[1][j] and keys[1][j]:
                groups[keys[1][j], _kind(right, j, right.operations[j].parent)].append(j)
        for i in indices[0]:
            if self.movable[0][i] and keys[0][i]:
                parent = left.operations[i].parent
                group = groups.get((keys[0][i], _kind(left, i, self.matches[parent] if parent >= 0 else -1)))
                if group:
                    yield i, group.pop()


def _inside(operations: Sequence[Operation], index: int) -> range:
    """Return the indices of the operations in the regions of one."""
    end = index + 1
    while end < len(operations) and operations[end].line < operations[index].end:
        end += 1
    return range(index + 1, end)


def _texts(operations: Sequence[Operation], indices: range) -> tuple[str, ...]:
    return tuple(operations[index].normalized for index in indices)


def _kind(document: Document, index: int, parent: int) -> tuple[str, int, int]:
    """Return an operation's opcode, region (by its parent's index on the right), and function."""
    operation = document.operations[index]
    return operation.opcode, -1 if operation.opcode in _CONSTANTS else parent, operation.function


def _movable(document: Document) -> Sequence[bool]:
    """Check for each operation whether it is a leaf that is not bound to the end of its region."""
    parents = {operation.parent for operation in document.operations}
    return [
        index not in parents and operation.opcode != OPAQUE and not operation.opcode.endswith(_TERMINATORS)
        for index, operation in enumerate(document.operations)
    ]


def _users(defs: Definitions, numbers: Numbers) -> _Users:
    users: list[list[int]] = [[] for _ in numbers]
    for user, operands in enumerate(defs):
        for definition in operands:
            if definition is not None and not definition.argument:
                users[definition.owner].append(numbers[user])
    return users
