"""Matches the values of A and B: results of matching operations, else the same variable."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from irscope.languages.document import Document
from irscope.layouts.tensors import Tensor

Groups = Sequence[Sequence[Tensor]]


@dataclass(frozen=True)
class ValuePair:
    """The same value in A and B; None if that side has no such value. At least one side has it."""

    a: Tensor | None
    b: Tensor | None

    @property
    def tensor(self) -> Tensor:
        """A's value; B's if A has none."""
        tensor = self.a or self.b
        if tensor is None:
            raise ValueError("a value of neither side")
        return tensor

    @property
    def name(self) -> str:
        """The value as a user names it: `acc %acc_90 (line 90)`, `%cst`."""
        tensor = self.tensor
        line = f" (line {tensor.line})" if tensor.line else ""
        return " ".join(filter(None, (tensor.python, tensor.name))) + line

    @property
    def differs(self) -> bool:
        """Whether both sides have the value, in different layouts."""
        if self.a is None or self.b is None:
            return False
        return self.a.attribute.text != self.b.attribute.text or self.a.whole != self.b.whole


class ValueMatcher:
    """Finds the counterparts of the tensors of one variant among those of another.

    `lines` maps lines of the one's stage (from 0) to those of the other with the same operation. `named`: of
    the operations that are on no such line, variables of the same name are the same value.
    """

    def __init__(
        self, own: Sequence[Tensor], others: Sequence[Tensor], lines: Mapping[int, int], named: bool
    ) -> None:
        self._own, self._others = _by_line(own), _by_line(others)
        self._lines = lines
        self._named: dict[tuple[str, str], list[Tensor]] = defaultdict(list)
        matched = set(lines.values())
        for tensor in others if named else ():
            if tensor.python and tensor.index not in matched:
                self._named[tensor.python, tensor.kind].append(tensor)

    def counterpart(self, tensor: Tensor) -> Tensor | None:
        """The result of the same operation, else the same variable with the most similar type."""
        line = self._lines.get(tensor.index)
        results = self._others.get(line, ()) if line is not None else ()
        same = [other for other in results if _alike(other, tensor)]
        if same:
            place = [one.name for one in self._own[tensor.index] if _alike(one, tensor)].index(tensor.name)
            return same[min(place, len(same) - 1)]
        return _most_similar(tensor, self._named.get((tensor.python, tensor.kind), ()))


def value_pairs(
    sides: tuple[Groups, Groups], documents: tuple[Document, Document], lines: Mapping[int, int], named: bool
) -> Iterator[ValuePair]:
    """A pair per group of A's tensors, in order, then those that only B has.

    `sides` are groups of tensors with the same variable and type; `documents` have their operations; `lines`
    and `named` as in ValueMatcher.
    """
    every = [[tensor for group in groups for tensor in group] for groups in sides]
    to_b = ValueMatcher(every[0], every[1], lines, named)
    to_a = ValueMatcher(every[1], every[0], {right: left for left, right in lines.items()}, named)
    pairs = [_first_pair(group, to_b) for group in sides[0]]
    taken = {id(pair.b) for pair in pairs}
    left = [
        group[0]
        for group in sides[1]
        if not any(id(tensor) in taken or to_a.counterpart(tensor) for tensor in group)
    ]
    alike = _only_alike([pair.tensor for pair in pairs if pair.b is None], left, documents)
    yield from (pair if pair.b else ValuePair(pair.a, alike.get(id(pair.a))) for pair in pairs)
    found = {id(tensor) for tensor in alike.values()}
    yield from (ValuePair(None, tensor) for tensor in left if id(tensor) not in found)


def _first_pair(group: Sequence[Tensor], matcher: ValueMatcher) -> ValuePair:
    for tensor in group:
        if (match := matcher.counterpart(tensor)) is not None:
            return ValuePair(tensor, match)
    return ValuePair(group[0], None)


def _only_alike(
    left: Sequence[Tensor], right: Sequence[Tensor], documents: tuple[Document, Document]
) -> dict[int, Tensor]:
    """B's values by id of A's: constants and the like, if each side has only one with its opcode and type."""
    kinds: list[dict[tuple[object, ...], list[Tensor]]] = []
    for tensors, document in zip((left, right), documents, strict=True):
        found: dict[tuple[object, ...], list[Tensor]] = defaultdict(list)
        for tensor in tensors:
            if not tensor.python:
                opcode = document.lines[tensor.index].partition(" = ")[2].partition(" ")[0]
                found[opcode, tensor.kind, tensor.element, len(tensor.shape)].append(tensor)
        kinds.append(found)
    return {
        id(ours[0]): kinds[1][kind][0]
        for kind, ours in kinds[0].items()
        if len(ours) == len(kinds[1].get(kind, ())) == 1
    }


def _by_line(tensors: Sequence[Tensor]) -> Mapping[int, Sequence[Tensor]]:
    found: dict[int, list[Tensor]] = defaultdict(list)
    for tensor in tensors:
        found[tensor.index].append(tensor)
    return dict(found)


def _alike(one: Tensor, other: Tensor) -> bool:
    """Whether two results of one operation are the same value: only layout, type and sizes may differ."""
    return one.kind == other.kind and len(one.shape) == len(other.shape)


def _most_similar(tensor: Tensor, others: Sequence[Tensor]) -> Tensor | None:
    """Of the other variant's values of the same variable, the one with the most similar layout."""
    # Another block size changes the shape, but no dimension to or from 1, as tt.expand_dims does.
    for same in (
        lambda t: (t.element, _is_one(t), t.attribute.kind, t.alias),
        lambda t: (t.element, _is_one(t), t.attribute.kind),
        lambda t: (t.element, _is_one(t)),
    ):
        for other in others:
            if same(other) == same(tensor):
                return other
    return None


def _is_one(tensor: Tensor) -> tuple[bool, ...]:
    return tuple(size == 1 for size in tensor.shape)
