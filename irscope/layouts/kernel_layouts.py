"""The layouts of one variant: its tensors, accesses and conversions, and a picture of each."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

from irscope.languages.document import Document
from irscope.layouts import grid as grids
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import Addresses
from irscope.layouts.color_map import Cell, ColorBy, color_choices, color_map
from irscope.layouts.conversion_cost import Conversion, conversions
from irscope.layouts.convert import linear_layout, triton_version
from irscope.layouts.describe import conflicts_text, describe_tensor
from irscope.layouts.grid import Grid, Window
from irscope.layouts.linear import LinearLayout
from irscope.layouts.shared import paddings, without_swizzle
from irscope.layouts.shared_accesses import (
    AccessConflicts,
    SharedAccess,
    access_conflicts,
    shared_accesses,
)
from irscope.layouts.tensors import Layouts, RecordedLayouts, Tensor, layout_shape, tensors_of
from irscope.model import Target
from irscope.model.frozen_value import FrozenValue

_MATRIX_INSTRUCTIONS = ("ldmatrix", "stmatrix")
_LEGEND = "The worst pass of one warp: a row per wavefront, a column per bank or group of banks."


@dataclass(frozen=True, eq=False, repr=False)
class Picture(FrozenValue):
    """The picture of a tensor. `source` says who computed the linear layout: "Triton" or "irscope"."""

    tensor: Tensor
    layout: LinearLayout
    grid: Grid
    sentences: tuple[str, ...]
    source: str


class KernelLayouts:
    """The layouts in one variant's TTGIR.

    `recorded` are Triton's own linear layouts, `triton` is the version that compiled it, `assembly` its
    assembly ("" if there is none), in which ldmatrix and stmatrix are looked up.
    """

    def __init__(
        self,
        ttgir: Document,
        target: Target,
        triton: str,
        assembly: str = "",
        recorded: RecordedLayouts | None = None,
    ) -> None:
        self.document, self.target = ttgir, target
        self.version = triton_version(triton)
        self.layouts = Layouts(self.version, recorded)
        self._instructions = {name for name in _MATRIX_INSTRUCTIONS if name in assembly}

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The tensors and buffers, in the order of the text."""
        return tensors_of(self.document)

    @cached_property
    def accesses(self) -> list[AccessConflicts]:
        """The accesses to shared memory, in the order of the text; identical ones once."""
        groups: dict[tuple[object, ...], list[SharedAccess]] = {}
        for access in shared_accesses(self.document):
            buffer, registers = access.buffer, access.registers
            key = (access.opcode, access.line, buffer.key, buffer.shape, registers and registers.key)
            groups.setdefault(key, []).append(access)
        return [
            replace(
                access_conflicts(same[0], self.layouts, self.version, self.target, self._instructions),
                times=len(same),
            )
            for same in groups.values()
        ]

    @cached_property
    def conversions(self) -> list[Conversion]:
        """The layout conversions, in the order of the text."""
        return conversions(self.document, self.layouts)

    def accesses_to(self, tensor: Tensor) -> list[AccessConflicts]:
        """The accesses to buffers with the layout and size of `tensor`."""
        whole = layout_shape(tensor)
        return [
            one
            for one in self.accesses
            if one.access.buffer.attribute.text == tensor.attribute.text
            and layout_shape(one.access.buffer) == whole
        ]

    def picture(
        self, tensor: Tensor, window: Window, thread: int | None = None, swizzle: bool = True
    ) -> Picture:
        """The picture of a tensor, with `thread` marked; `swizzle` False draws it without its swizzle.

        Raises UnknownLayoutError if the layout is not supported, or if the drawing is empty.
        """
        tensor, layout, source = self._layout(tensor, swizzle)
        grid = self._grid(tensor, layout, window, thread)
        return Picture(tensor, layout, grid, tuple(describe_tensor(tensor, layout)), source)

    def color_map(
        self, tensor: Tensor, by: ColorBy | None, cell: Cell, plane: int = 0, swizzle: bool = True
    ) -> Picture:
        """The whole tensor with one glyph per cell of `cell` elements, by `by` if it applies.

        Raises UnknownLayoutError if the layout is not supported.
        """
        tensor, layout, source = self._layout(tensor, swizzle)
        choices = color_choices(layout)
        chosen = by if by is not None and by in choices else choices[0]
        addresses = None
        if "offset" in layout.bases:
            addresses = Addresses(layout, tensor.bits, paddings(tensor.attribute))
        grid = color_map(layout, title(tensor), chosen, cell, addresses, plane)
        return Picture(tensor, layout, grid, tuple(describe_tensor(tensor, layout)), source)

    def _layout(self, tensor: Tensor, swizzle: bool) -> tuple[Tensor, LinearLayout, str]:
        """The tensor as it is drawn, its linear layout, and who computed that."""
        if swizzle:
            layout = self.layouts.of(tensor)
            return tensor, layout, self.layouts.sources[tensor.key]
        tensor = _unswizzled(tensor)
        return tensor, linear_layout(tensor.attribute, layout_shape(tensor), self.version), "irscope"

    def _grid(self, tensor: Tensor, layout: LinearLayout, window: Window, thread: int | None) -> Grid:
        name = title(tensor)
        if layout.in_registers:
            threads = layout.size("lane") * layout.size("warp")
            if thread is not None and not 0 <= thread < threads:
                raise UnknownLayoutError(f"no thread {thread}: there are {threads}")
            return grids.register_grid(layout, name, window, thread)
        if "offset" not in layout.bases:
            return grids.tensor_memory_grid(layout, name, window)
        addresses = Addresses(layout, tensor.bits, paddings(tensor.attribute))
        return grids.memory_grid(layout, addresses, tensor.bits, name, window)

    def wavefronts(self, one: AccessConflicts, swizzle: bool = True) -> Grid:
        """The wavefronts of the worst pass of an access. Raises UnknownLayoutError if they are unknown."""
        found = one.conflicts if swizzle else one.plain
        if found is None:
            raise UnknownLayoutError(one.why_not)
        access = one.access
        name = f"{access.opcode} of {access.buffer.type}" + (f", line {access.line}" if access.line else "")
        who = "row" if found.kind == "matrix" else "lane"
        plain = "" if swizzle else "Without the swizzle: "
        note = f"{plain}{conflicts_text(found)}."
        return replace(grids.wavefront_grid(found.worst, name, who), notes=(note, _LEGEND))


def title(tensor: Tensor) -> str:
    """The names, line and type of a tensor."""
    names = [name for name in (tensor.python, tensor.name) if name]
    where = f", line {tensor.line}" if tensor.line else ""
    return f"{' '.join(names)}{where}: {tensor.type}" if names else tensor.type


def _unswizzled(tensor: Tensor) -> Tensor:
    return replace(tensor, attribute=without_swizzle(tensor.attribute))
