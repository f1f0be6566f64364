"""The tensors of A and B with their layouts, matched and drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.layouts.grid import Grid
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.layouts.tensors import Tensor, find_tensors
from irscope.model import UserError
from irscope.workspace.texts import written_stage
from irscope.workspace.variant_layouts import DrawingOptions, LayoutDrawing, VariantLayouts

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison


class LayoutComparison:
    """The layouts of A and B; those of A if both are the same variant. `tensors` are A's, one of each kind.

    `written`: as a Gluon kernel writes them, not as in TTGIR. Raises UserError if a variant lacks the stage.
    """

    def __init__(self, pair: Comparison, written: bool = False) -> None:
        variants = (pair.a,) if pair.single else pair.variants
        stages = [(written_stage(variant) if written else None) or "ttgir" for variant in variants]
        self._sides = [
            VariantLayouts(pair.workspace, variant, stage)
            for variant, stage in zip(variants, stages, strict=True)
        ]
        groups = (group[0] for group in self._sides[0].tensors)
        # Without masks and pointers.
        self.tensors = [one for one in groups if one.element != "i1" and not one.element.startswith("!")]

    def find(self, names: Iterable[str], right: bool) -> int:
        """The index in `tensors` of the first value of A, or of B if `right`, that one of `names` names.

        Adds the value to `tensors` if it is not among them. 0 if nothing matches.
        """
        left_kernel = self._sides[0].kernel
        kernel = self._sides[-1].kernel if right else left_kernel
        for name in names:
            for found in find_tensors(kernel.tensors, name)[:1]:
                tensor = found if kernel is left_kernel else _match(found, left_kernel)
                if tensor is not None:
                    keys = [_key(other) for other in self.tensors]
                    if _key(tensor) not in keys:
                        self.tensors.insert(0, tensor)
                        return 0
                    return keys.index(_key(tensor))
        return 0

    def access_count(self, tensor: Tensor) -> int:
        """The number of accesses to a buffer whose bank conflicts are known."""
        return len(self._sides[0].known_accesses(tensor))

    def draw(self, tensor: Tensor, options: DrawingOptions) -> list[LayoutDrawing]:
        """A tensor of A, and the matching one of B."""
        return [self._draw(side, tensor, options) for side in self._sides]

    def _draw(self, side: VariantLayouts, tensor: Tensor, options: DrawingOptions) -> LayoutDrawing:
        """The drawing of one side; an empty one with the reason if there is nothing to draw."""
        own = tensor if side is self._sides[0] else _match(tensor, side.kernel)
        try:
            if own is None:
                raise UserError(f"no {tensor.python} like this")
            # Only shared memory can be drawn without a swizzle.
            return side.draw(own, replace(options, swizzle=options.swizzle or not own.shared))
        except UserError as error:
            return LayoutDrawing(Grid("", (), (), ()), (str(error),))


def _key(tensor: Tensor) -> tuple[str, str, str]:
    return tensor.python, tensor.key, tensor.element


def _match(tensor: Tensor, kernel: KernelLayouts) -> Tensor | None:
    """The tensor of another variant that is the same variable with the most similar layout."""
    named = [t for t in kernel.tensors if t.python == tensor.python and t.kind == tensor.kind]
    # Another block size changes the shape, but no dimension to or from 1, as tt.expand_dims does.
    for same in (
        lambda t: (t.element, _is_one(t), t.attribute.kind, t.alias),
        lambda t: (t.element, _is_one(t), t.attribute.kind),
        lambda t: (t.element, _is_one(t)),
        lambda t: (t.element, len(t.shape)),
    ):
        for other in named:
            if same(other) == same(tensor):
                return other
    return None


def _is_one(tensor: Tensor) -> tuple[bool, ...]:
    return tuple(size == 1 for size in tensor.shape)
