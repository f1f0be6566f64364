"""The values of A and B with their layouts: matched, drawn, and how each pair differs in one sentence.

Matches the values of A and B: results of matching operations, else the same variable.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from math import prod
from typing import TYPE_CHECKING

from irscope.languages.document import Document
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.color_map import ColorBy, color_choices
from irscope.layouts.difference import SAME, layout_difference
from irscope.layouts.grid import Grid, Window, window_around, with_equal_cells
from irscope.layouts.linear import LinearLayout
from irscope.layouts.tensors import Tensor, find_tensors
from irscope.model import UserError
from irscope.model.records import grouped
from irscope.model.text import has_words
from irscope.workspace.variant_layouts import DrawingOptions, LayoutDrawing, VariantLayouts
from irscope.workspace.variant_texts import written_stage

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison


Groups = Sequence[Sequence[Tensor]]
_NOTHING = Grid("", (), (), ())


@dataclass(frozen=True)
class ValuePair:
    """The same value in A and B; None if that side has no such value. At least one side has it."""

    a: Tensor | None
    b: Tensor | None

    @property
    def tensor(self) -> Tensor:
        """Return A's value; B's if A has none."""
        tensor = self.a or self.b
        if tensor is None:
            raise ValueError("a value of neither side")
        return tensor

    @property
    def name(self) -> str:
        """Return the value as a user names it: `acc %acc_90 (line 90)`, `%cst`."""
        tensor = self.tensor
        line = f" (line {tensor.line})" if tensor.line else ""
        return " ".join(filter(None, (tensor.python, tensor.name))) + line

    def matches(self, query: str) -> bool:
        """Return True if each word of `query` is in the name, a type or a layout of the value."""
        types = (f"{tensor.type} {tensor.attribute.text}" for tensor in (self.a, self.b) if tensor)
        return has_words(" ".join([self.name, *types]), query)

    @property
    def differs(self) -> bool:
        """Return True if both sides have the value, in different layouts."""
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
        self._own, self._others = (grouped(tensors, lambda t: t.index) for tensors in (own, others))
        self._lines = lines
        matched = set(lines.values())
        variables = [t for t in others if named and t.python and t.index not in matched]
        self._named = grouped(variables, lambda tensor: (tensor.python, tensor.kind))

    def counterpart(self, tensor: Tensor) -> Tensor | None:
        """Return the result of the same operation, else the same variable with the most similar type."""
        line = self._lines.get(tensor.index)
        results = self._others.get(line, ()) if line is not None else ()
        same = [result for result in results if _alike(result, tensor)]
        if same:
            position = [
                tensor_here.name for tensor_here in self._own[tensor.index] if _alike(tensor_here, tensor)
            ].index(tensor.name)
            return same[min(position, len(same) - 1)]
        return _most_similar(tensor, self._named.get((tensor.python, tensor.kind), ()))


def matchers(
    a: Sequence[Tensor], b: Sequence[Tensor], lines: Mapping[int, int], named: bool
) -> tuple[ValueMatcher, ValueMatcher]:
    """Return what finds the counterparts of A's tensors in B, and of B's in A; as in ValueMatcher."""
    back = {right: left for left, right in lines.items()}
    return ValueMatcher(a, b, lines, named), ValueMatcher(b, a, back, named)


def value_pairs(
    sides: tuple[Groups, Groups], documents: tuple[Document, Document], lines: Mapping[int, int], named: bool
) -> Iterator[ValuePair]:
    """Yield a pair per group of A's tensors, in order, then those that only B has.

    `sides` are groups of tensors with the same variable and type; `documents` have their
    operations; `lines` and `named` as in ValueMatcher.
    """
    a, b = ([tensor for group in groups for tensor in group] for groups in sides)
    to_b, to_a = matchers(a, b, lines, named)
    pairs = [_first_pair(group, to_b) for group in sides[0]]
    matched = {id(pair.b) for pair in pairs}
    left = [
        group[0]
        for group in sides[1]
        if not any(id(tensor) in matched or to_a.counterpart(tensor) for tensor in group)
    ]
    alike = _only_alike([pair.tensor for pair in pairs if pair.b is None], left, documents)
    yield from (pair if pair.b else ValuePair(pair.a, alike.get(id(pair.a))) for pair in pairs)
    matched_alike = {id(tensor) for tensor in alike.values()}
    yield from (ValuePair(None, tensor) for tensor in left if id(tensor) not in matched_alike)


def _first_pair(group: Sequence[Tensor], matcher: ValueMatcher) -> ValuePair:
    for tensor in group:
        if (match := matcher.counterpart(tensor)) is not None:
            return ValuePair(tensor, match)
    return ValuePair(group[0], None)


def _only_alike(
    left: Sequence[Tensor], right: Sequence[Tensor], documents: tuple[Document, Document]
) -> dict[int, Tensor]:
    """Map A's value ids to B's values if each side has only one with their opcode and type.

    These are constants and the like.
    """

    def by_kind(tensors: Sequence[Tensor], document: Document) -> dict[tuple[object, ...], list[Tensor]]:
        def kind(tensor: Tensor) -> tuple[object, ...]:
            opcode = document.lines[tensor.index].partition(" = ")[2].partition(" ")[0]
            return opcode, tensor.kind, tensor.element, len(tensor.shape)

        return grouped((tensor for tensor in tensors if not tensor.python), kind)

    ours, theirs = map(by_kind, (left, right), documents)
    return {
        id(tensors[0]): theirs[kind][0]
        for kind, tensors in ours.items()
        if len(tensors) == len(theirs.get(kind, ())) == 1
    }


def _alike(one: Tensor, other: Tensor) -> bool:
    """Check whether two results of one operation are the same value.

    Only layout, type and sizes may differ.
    """
    return one.kind == other.kind and len(one.shape) == len(other.shape)


def _most_similar(tensor: Tensor, others: Sequence[Tensor]) -> Tensor | None:
    """Return the same variable's value in the other variant with the most similar layout."""
    # Another block size changes the shape, but no dimension to or from 1, as tt.expand_dims does.
    for same in (
        lambda t: (t.element, _is_one(t), t.attribute.kind, t.alias),
        lambda t: (t.element, _is_one(t), t.attribute.kind),
        lambda t: (t.element, _is_one(t)),
    ):
        for candidate in others:
            if same(candidate) == same(tensor):
                return candidate
    return None


def _is_one(tensor: Tensor) -> tuple[bool, ...]:
    return tuple(size == 1 for size in tensor.shape)


class LayoutComparison:
    """The layouts of A and B; those of A if both are the same variant.

    `values` has one of each kind: A's in the order of the text, then those that only B has. `written`: as a
    Gluon kernel writes them, not as in TTGIR. Raises UserError if a variant lacks the stage.
    """

    def __init__(self, pair: Comparison, written: bool = False) -> None:
        variants = (pair.a,) if pair.single else pair.variants
        stages = [(written_stage(variant) if written else None) or "ttgir" for variant in variants]
        self.sides = [
            VariantLayouts(pair.workspace, variant, stage)
            for variant, stage in zip(variants, stages, strict=True)
        ]
        self._named = pair.a.kernel.name == pair.b.kernel.name
        self._lines = _matching_lines(pair, stages)
        self.values = list(self._matched())

    def _matched(self) -> Iterator[ValuePair]:
        groups = [[group for group in side.tensors if _shown(group[0])] for side in self.sides]
        if len(groups) < 2:
            return (ValuePair(group[0], None) for group in groups[0])
        a, b = (side.kernel.document for side in self.sides)
        return value_pairs((groups[0], groups[1]), (a, b), self._lines, self._named)

    def _pair_of(self, tensor: Tensor, right: bool) -> ValuePair:
        """Return a value of A, or of B if `right`, with its counterpart."""
        if len(self.sides) < 2:
            return ValuePair(tensor, None)
        a, b = (side.kernel.tensors for side in self.sides)
        counterpart = matchers(a, b, self._lines, self._named)[right].counterpart(tensor)
        return ValuePair(counterpart, tensor) if right else ValuePair(tensor, counterpart)

    def find(self, names: Iterable[str], right: bool) -> int:
        """Return the index in `values` of the first value of A (B if `right`) that a name refers to.

        Adds the value to `values` if it is not among them. If nothing matches: the first accumulator
        of a matrix product, or value, whose layouts differ.
        """
        kernel = self.sides[-1 if right else 0].kernel
        for name in names:
            for tensor in find_tensors(kernel.tensors, name)[:1]:
                pair = self._pair_of(tensor, right)
                keys = [_key(value) for value in self.values]
                if _key(pair) not in keys:
                    self.values.insert(0, pair)
                    return 0
                return keys.index(_key(pair))
        differing = [index for index, value in enumerate(self.values) if value.differs]
        named = [n for n in differing if self.values[n].tensor.python]
        products = [n for n in named if "mma" in self.values[n].tensor.attribute.kind]
        return (products or named or differing or [0])[0]

    def difference(self, value: ValuePair) -> str:
        """Describe how B's layout of a value differs from A's, or which side has no such value.

        "" for one variant.
        """
        if len(self.sides) < 2:
            return ""
        if value.a is None or value.b is None:
            letter, lacking = ("B", "A") if value.a is None else ("A", "B")
            return f"only in {letter}: {lacking} has no counterpart of {value.name}"
        return layout_difference(value.a, value.b, self._linear(0, value.a), self._linear(1, value.b))

    def differences(self) -> Iterator[tuple[str, str]]:
        """Yield each value whose layout differs or that only one side has, with how; equal lines once."""
        changes: dict[tuple[str, str], None] = {}
        for value in self.values:
            how = self.difference(value)
            if how and how != SAME:
                changes[value.name, how] = None
        yield from changes

    def _linear(self, side: int, tensor: Tensor) -> LinearLayout | None:
        with suppress(UnknownLayoutError):
            return self.sides[side].kernel.layouts.of(tensor)
        return None

    def notable(self, most: int) -> list[ValuePair]:
        """Return at most `most` values to draw, whose layouts differ; of one variant, of any layout.

        Accumulators of matrix products first, then buffers in shared memory, then other values; the
        kernel's variables before values without a name, and of values with the same difference only
        the first.
        """
        single = len(self.sides) < 2
        candidates = [value for value in self.values if single or value.differs]
        candidates.sort(key=_drawing_rank)
        distinct: dict[object, ValuePair] = {}
        for value in candidates:
            layout = (value.tensor.attribute.text, value.tensor.shape)
            distinct.setdefault(layout if single else self.difference(value), value)
        return list(distinct.values())[:most]

    def access_count(self, value: ValuePair) -> int:
        """Return the number of accesses to a buffer whose bank conflicts are known."""
        side = self.sides[0] if value.a is not None else self.sides[-1]
        return len(side.known_accesses(value.tensor))

    def draw(self, value: ValuePair, options: DrawingOptions) -> list[LayoutDrawing]:
        """Draw the value in A, and in B."""
        tensors = (value.a, value.b)[: len(self.sides)]
        return [self._draw(side, tensor, options) for side, tensor in zip(self.sides, tensors, strict=True)]

    def color_choices(self, value: ValuePair) -> Sequence[ColorBy]:
        """Return the meanings that glyphs can have in a value's compact view; () for unknown layouts."""
        for index, tensor in enumerate((value.a, value.b)[: len(self.sides)]):
            linear = self._linear(index, tensor) if tensor is not None else None
            if linear is not None:
                return color_choices(linear)
        return ()

    def shapes(self, value: ValuePair) -> list[tuple[int, ...]]:
        """Return the shapes that the compact views of A and B cover."""
        return [tensor.layout_shape for tensor in (value.a, value.b)[: len(self.sides)] if tensor is not None]

    def panes(
        self, value: ValuePair, drawings: Sequence[LayoutDrawing], options: DrawingOptions, every: bool
    ) -> list[list[Grid]]:
        """Return per side its drawing, unless that is a map, then a map by each property of its elements.

        The titles say what a cell is. Unless `every` cell is to be colored, those that are the same in A
        and B are in the group EQUAL.
        """
        sides = []
        for side, tensor, drawing in zip(self.sides, (value.a, value.b), drawings, strict=False):
            if tensor is None or drawing.picture is None:
                sides.append([drawing.grid])
                continue
            cells = [replace(drawing.grid, title=_meaning(drawing.picture.layout))]
            sides.append([*(cells if options.cell is None else []), *side.maps(tensor, options)])
        if every or len(sides) < 2:
            return sides
        # Two maps by one property can have more values per glyph in one of them.
        by_property = [{grid.title.partition(",")[0]: grid for grid in grids} for grids in sides]
        return [
            [with_equal_cells(grid, others.get(grid.title.partition(",")[0], _NOTHING)) for grid in grids]
            for grids, others in zip(sides, reversed(by_property), strict=True)
        ]

    def element_texts(self, value: ValuePair, element: Sequence[int], swizzle: bool) -> list[str]:
        """Say where each side has an element: "" if it has no such element, or its layout is unknown."""
        texts = []
        for side, tensor in zip(self.sides, (value.a, value.b), strict=False):
            if tensor is None or len(element) != len(tensor.layout_shape):
                texts.append("")
                continue
            inside = all(index < size for index, size in zip(element, tensor.layout_shape, strict=True))
            swizzled = swizzle or not tensor.shared
            texts.append(side.element_text(tensor, element, swizzled) if inside else "")
        return texts

    def window_around(self, value: ValuePair, element: tuple[int, ...]) -> Window:
        """Return the window to draw that has an element of a value, for both sides."""
        sides = enumerate((value.a, value.b)[: len(self.sides)])
        layouts = [self._linear(index, tensor) for index, tensor in sides if tensor is not None]
        known = [layout for layout in layouts if layout is not None]
        return window_around(known, element) if known else Window()

    def _draw(self, side: VariantLayouts, own: Tensor | None, options: DrawingOptions) -> LayoutDrawing:
        """Draw one side; return an empty drawing with the reason if there is nothing to draw."""
        try:
            if own is None:
                raise UserError("no such value")
            # Only shared memory can be drawn without a swizzle.
            return side.draw(own, replace(options, swizzle=options.swizzle or not own.shared))
        except UserError as error:
            return LayoutDrawing(_NOTHING, (str(error),))


def _meaning(layout: LinearLayout) -> str:
    """Say what a cell of a layout's grid is."""
    if layout.in_registers:
        return "thread:registers"
    return "byte, bank" if "offset" in layout.bases else "lane, column"


def _matching_lines(pair: Comparison, stages: Sequence[str]) -> Mapping[int, int]:
    """Map lines of A's stage to lines of B's (from 0) with the operation that corresponds."""
    if pair.single or stages[0] != stages[1]:
        return {}
    stage, workspace = stages[0], pair.workspace
    if workspace.contents.comparable(*pair.variants, stage):
        rows = workspace.diff(*pair.variants, stage).rows
        return {row.left: row.right for row in rows if row.left is not None and row.right is not None}
    return {line: line for line in range(len(workspace.lines(pair.a, stage)))}


def _drawing_rank(value: ValuePair) -> tuple[bool, bool, int, int]:
    tensor = value.tensor
    kind = 0 if "mma" in tensor.attribute.kind and not tensor.shared else 1 if tensor.shared else 2
    vector = sum(size > 1 for size in tensor.shape) < 2
    return not tensor.python, vector, kind, -prod(tensor.shape)


def _shown(tensor: Tensor) -> bool:
    """Leave out masks and pointers."""
    return tensor.element != "i1" and not tensor.element.startswith("!")


def _key(value: ValuePair) -> tuple[object, ...]:
    """Return the key by which `distinct` groups tensors; of one without a variable also its name."""
    tensor = value.tensor
    return value.a is None, tensor.python or tensor.name, tensor.shape, tensor.key, tensor.element
