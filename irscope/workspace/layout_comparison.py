"""The values of A and B with their layouts: matched, drawn, and how each pair differs in one sentence."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from math import prod
from typing import TYPE_CHECKING

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.color_map import ColorBy, color_choices
from irscope.layouts.difference import SAME, layout_difference
from irscope.layouts.grid import Grid
from irscope.layouts.linear import LinearLayout
from irscope.layouts.tensors import Tensor, find_tensors, layout_shape
from irscope.model import UserError
from irscope.workspace.texts import written_stage
from irscope.workspace.value_matching import ValueMatcher, ValuePair, value_pairs
from irscope.workspace.variant_layouts import DrawingOptions, LayoutDrawing, VariantLayouts

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison


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
        """A value of A, or of B if `right`, with its counterpart."""
        if len(self.sides) < 2:
            return ValuePair(tensor, None)
        ours, theirs = (side.kernel.tensors for side in self.sides)
        if not right:
            return ValuePair(tensor, ValueMatcher(ours, theirs, self._lines, self._named).counterpart(tensor))
        back = {b: a for a, b in self._lines.items()}
        return ValuePair(ValueMatcher(theirs, ours, back, self._named).counterpart(tensor), tensor)

    def find(self, names: Iterable[str], right: bool) -> int:
        """The index in `values` of the first value of A, or of B if `right`, that one of `names` names.

        Adds the value to `values` if it is not among them. If nothing matches: the first accumulator of a
        matrix product, or value, whose layouts differ.
        """
        kernel = self.sides[-1 if right else 0].kernel
        for name in names:
            for found in find_tensors(kernel.tensors, name)[:1]:
                pair = self._pair_of(found, right)
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
        """How B's layout of a value differs from A's, or which side has no such value; "" for one variant."""
        if len(self.sides) < 2:
            return ""
        if value.a is None or value.b is None:
            letter, lacking = ("B", "A") if value.a is None else ("A", "B")
            return f"only in {letter}: {lacking} has no counterpart of {value.name}"
        return layout_difference(value.a, value.b, self._linear(0, value.a), self._linear(1, value.b))

    def differences(self) -> Iterator[tuple[str, str]]:
        """Each value whose layout differs or that only one side has, with how; equal lines once."""
        found: dict[tuple[str, str], None] = {}
        for value in self.values:
            how = self.difference(value)
            if how and how != SAME:
                found[value.name, how] = None
        yield from found

    def _linear(self, side: int, tensor: Tensor) -> LinearLayout | None:
        with suppress(UnknownLayoutError):
            return self.sides[side].kernel.layouts.of(tensor)
        return None

    def notable(self, most: int) -> list[ValuePair]:
        """At most `most` values to draw, whose layouts differ; of one variant, of any layout.

        Accumulators of matrix products first, then buffers in shared memory, then other values; the kernel's
        variables before values without a name, and of values with the same difference only the first.
        """
        single = len(self.sides) < 2
        found = [value for value in self.values if single or value.differs]
        found.sort(key=_drawing_rank)
        distinct: dict[object, ValuePair] = {}
        for value in found:
            own = (value.tensor.attribute.text, value.tensor.shape)
            distinct.setdefault(own if single else self.difference(value), value)
        return list(distinct.values())[:most]

    def access_count(self, value: ValuePair) -> int:
        """The number of accesses to a buffer whose bank conflicts are known."""
        side = self.sides[0] if value.a is not None else self.sides[-1]
        return len(side.known_accesses(value.tensor))

    def draw(self, value: ValuePair, options: DrawingOptions) -> list[LayoutDrawing]:
        """The value in A, and in B."""
        tensors = (value.a, value.b)[: len(self.sides)]
        return [self._draw(side, own, options) for side, own in zip(self.sides, tensors, strict=True)]

    def color_choices(self, value: ValuePair) -> Sequence[ColorBy]:
        """The meanings that glyphs can have in the compact view of a value; () if its layouts are unknown."""
        for index, own in enumerate((value.a, value.b)[: len(self.sides)]):
            linear = self._linear(index, own) if own is not None else None
            if linear is not None:
                return color_choices(linear)
        return ()

    def shapes(self, value: ValuePair) -> list[tuple[int, ...]]:
        """The shapes that the compact views of A and B cover."""
        return [layout_shape(own) for own in (value.a, value.b)[: len(self.sides)] if own is not None]

    def _draw(self, side: VariantLayouts, own: Tensor | None, options: DrawingOptions) -> LayoutDrawing:
        """The drawing of one side; an empty one with the reason if there is nothing to draw."""
        try:
            if own is None:
                raise UserError("no such value")
            # Only shared memory can be drawn without a swizzle.
            return side.draw(own, replace(options, swizzle=options.swizzle or not own.shared))
        except UserError as error:
            return LayoutDrawing(Grid("", (), (), ()), (str(error),))


def _matching_lines(pair: Comparison, stages: Sequence[str]) -> Mapping[int, int]:
    """Line of A's stage -> line of B's (from 0) with the operation that corresponds to it."""
    if pair.single or stages[0] != stages[1]:
        return {}
    stage, workspace = stages[0], pair.workspace
    if workspace.comparable(*pair.variants, stage):
        rows = workspace.diff(*pair.variants, stage).rows
        return {row.left: row.right for row in rows if row.left is not None and row.right is not None}
    return {line: line for line in range(len(workspace.lines(pair.a, stage)))}


def _drawing_rank(value: ValuePair) -> tuple[bool, bool, int, int]:
    tensor = value.tensor
    kind = 0 if "mma" in tensor.attribute.kind and not tensor.shared else 1 if tensor.shared else 2
    vector = sum(size > 1 for size in tensor.shape) < 2
    return not tensor.python, vector, kind, -prod(tensor.shape)


def _shown(tensor: Tensor) -> bool:
    """Masks and pointers are left out."""
    return tensor.element != "i1" and not tensor.element.startswith("!")


def _key(value: ValuePair) -> tuple[object, ...]:
    """The key by which `distinct` groups tensors; of one without a variable also its name."""
    tensor = value.tensor
    return value.a is None, tensor.python or tensor.name, tensor.shape, tensor.key, tensor.element
