"""The layouts of one variant: its tensors, accesses and conversions, and a picture of each.

The cost of `ttg.convert_layout`: how far elements move between registers, lanes, warps and blocks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import replace
from enum import Enum
from functools import cached_property

from irscope.languages.document import Document
from irscope.layouts import grid as grids
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import AccessConflicts, Addresses, SharedAccess, access_conflicts, shared_accesses
from irscope.layouts.color_map import Cell, ColorBy, color_choices, color_map
from irscope.layouts.convert import linear_layout, triton_version
from irscope.layouts.describe import describe_tensor
from irscope.layouts.grid import Grid, Window, drawn_elements
from irscope.layouts.linear import LinearLayout, VectorSpan, flat
from irscope.layouts.ownership import Positions
from irscope.layouts.shared import paddings, without_swizzle
from irscope.layouts.tensors import (
    Layouts,
    RecordedLayouts,
    Tensor,
    alias_bodies,
    operation_tensors,
    tensors_of,
)
from irscope.model import Target
from irscope.model.records import frozen, frozen_with_dict

_INPUTS = ("register", "lane", "warp", "block")


class ConversionCost(Enum):
    """How far elements move; the value describes it."""

    NOTHING = "nothing: each register already holds its element"
    REGISTERS = "within each thread: registers are renamed, no data moves"
    LANES = "between the lanes of a warp: by shuffles, or through shared memory if that is cheaper"
    WARPS = "between warps: through shared memory"
    BLOCKS = "between the blocks of a cluster: through distributed shared memory"


def conversion_cost(source: LinearLayout, target: LinearLayout) -> ConversionCost:
    """Return the cost of converting a tensor from the layout `source` to `target`.

    Each register of `target` gets its element from the nearest copy: in its own thread, warp or
    block. Raises UnknownLayoutError for layouts in memory and for tensors of different shapes.
    """
    if not source.in_registers or not target.in_registers or source.shape != target.shape:
        raise UnknownLayoutError("a conversion between memory and registers, or between shapes")
    have, want = _vectors(source), _vectors(target)
    if _without_copies(have) == _without_copies(want):
        return ConversionCost.NOTHING
    for reach, cost in ((1, ConversionCost.REGISTERS), (2, ConversionCost.LANES), (3, ConversionCost.WARPS)):
        if _within(have, want, reach):
            return cost
    return ConversionCost.BLOCKS


def _within(have: dict[str, list[int]], want: dict[str, list[int]], reach: int) -> bool:
    """Check whether each register finds its element where only the first `reach` inputs differ.

    Both maps are linear, so comparing one bit at a time is enough.
    """
    near = VectorSpan(vector for name in _INPUTS[:reach] for vector in have[name])
    if any(vector not in near for name in _INPUTS[:reach] for vector in want[name]):
        return False
    for name in _INPUTS[reach:]:
        ours, theirs = have[name], want[name]
        if len(ours) != len(theirs):
            return False
        if any(
            our_vector ^ their_vector not in near
            for our_vector, their_vector in zip(ours, theirs, strict=True)
        ):
            return False
    return True


def _without_copies(vectors: dict[str, list[int]]) -> dict[str, list[int]]:
    """Remove registers that only repeat an element, which Triton before 3.9 lists."""
    return {**vectors, "register": [vector for vector in vectors["register"] if vector]}


def _vectors(layout: LinearLayout) -> dict[str, list[int]]:
    return {name: [flat(vector, layout.shape) for vector in layout.bases.get(name, ())] for name in _INPUTS}


@frozen
class Conversion:
    """A `ttg.convert_layout`. `cost` is None if a layout is not supported; `why_not` is the reason."""

    index: int
    line: int
    source: Tensor
    target: Tensor
    cost: ConversionCost | None
    why_not: str


def conversions(document: Document, layouts: Layouts) -> list[Conversion]:
    """Return the layout conversions of a TTGIR document, in the order of the text."""
    bodies = alias_bodies(document)
    result = []
    for operation in document.operations:
        if operation.opcode != "ttg.convert_layout":
            continue
        types = operation_tensors(document, operation, bodies)
        if len(types) != 2:
            continue
        line = operation.location.outermost.line if operation.location else 0
        source, target = types
        cost, why_not = _cost_or_reason(source, target, layouts)
        result.append(Conversion(operation.line, line, source, target, cost, why_not))
    return result


def _cost_or_reason(source: Tensor, target: Tensor, layouts: Layouts) -> tuple[ConversionCost | None, str]:
    try:
        return conversion_cost(layouts.of(source), layouts.of(target)), ""
    except UnknownLayoutError as error:
        return None, str(error)


_MATRIX_INSTRUCTIONS = ("ldmatrix", "stmatrix")
_LEGEND = "The worst pass of one warp: a row per wavefront, a column per bank or group of banks."


@frozen_with_dict
class Picture:
    """The picture of a tensor. `source` says who computed the linear layout: "Triton" or "irscope"."""

    tensor: Tensor
    layout: LinearLayout
    grid: Grid
    sentences: tuple[str, ...]
    source: str


# An end of an access, None for that of a tensor itself: where its elements are, and its layout.
_End = tuple[SharedAccess | None, Addresses | Positions, LinearLayout]


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
        """Return the tensors and buffers, in the order of the text."""
        return tensors_of(self.document)

    @cached_property
    def _shared_accesses(self) -> list[SharedAccess]:
        return shared_accesses(self.document)

    @cached_property
    def accesses(self) -> list[AccessConflicts]:
        """Return the accesses to shared memory, in the order of the text; identical ones once."""
        groups: dict[tuple[object, ...], list[SharedAccess]] = {}
        for access in self._shared_accesses:
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
        """Return the layout conversions, in the order of the text."""
        return conversions(self.document, self.layouts)

    def accesses_to(self, tensor: Tensor) -> list[AccessConflicts]:
        """Return the accesses to buffers with the layout and size of `tensor`."""
        whole = tensor.layout_shape
        return [
            conflicts
            for conflicts in self.accesses
            if conflicts.access.buffer.attribute.text == tensor.attribute.text
            and conflicts.access.buffer.layout_shape == whole
        ]

    def picture(
        self, tensor: Tensor, window: Window, thread: int | None = None, swizzle: bool = True
    ) -> Picture:
        """Draw a tensor, with `thread` marked; `swizzle` False draws it without its swizzle.

        Raises UnknownLayoutError if the layout is not supported, or if the drawing is empty.
        """
        tensor, layout, source = self._layout(tensor, swizzle)
        grid = self._grid(tensor, layout, window, thread)
        return Picture(tensor, layout, grid, tuple(describe_tensor(tensor, layout)), source)

    def color_map(self, tensor: Tensor, by: ColorBy | None, cell: Cell, plane: int, swizzle: bool) -> Picture:
        """Draw the whole tensor with one glyph per cell of `cell` elements, by `by` if it applies.

        Raises UnknownLayoutError if the layout is not supported.
        """
        tensor, layout, source = self._layout(tensor, swizzle)
        choices = color_choices(layout)
        chosen = by if by is not None and by in choices else choices[0]
        grid = color_map(layout, title(tensor), chosen, cell, _where(tensor, layout), plane)
        return Picture(tensor, layout, grid, tuple(describe_tensor(tensor, layout)), source)

    def maps(
        self, tensor: Tensor, window: Window, cell: Cell | None = None, swizzle: bool = True
    ) -> list[Grid]:
        """Draw a map by each property of a tensor's elements, which is its title.

        Those of a tensor are warp, thread and register, those of a buffer its banks; then those of the buffer
        or the tensor at the other end of an access. The maps show the part that `picture` draws, with a cell
        per element, or all with `cell` elements per cell. Raises UnknownLayoutError.
        """
        grids: list[Grid] = []
        part = None if cell else drawn_elements(self._layout(tensor, swizzle)[1], window)
        for _, where, layout in self._ends(tensor, swizzle):
            for by in color_choices(layout):
                grid = color_map(layout, by.value, by, cell or (1, 1), where, window.plane, part)
                per_glyph = grid.legend[-1][1].partition(", ")[2]
                grids.append(replace(grid, title=f"{by.value}, {per_glyph}") if per_glyph else grid)
        return grids

    def element_text(self, tensor: Tensor, element: Sequence[int], swizzle: bool) -> str:
        """Say which thread, warp and register hold an element, and its byte and bank in shared memory.

        Raises UnknownLayoutError.
        """
        texts = []
        for access, where, _ in self._ends(tensor, swizzle):
            text = where.text(element)
            line = f" in line {access.line}" if access and access.line else ""
            texts.append(f"{access.opcode}{line}: {text}" if access else text)
        return "; ".join(texts)

    def _ends(self, tensor: Tensor, swizzle: bool) -> Iterator[_End]:
        """Yield a tensor's own end, then that of what an access moves it from or to."""
        drawn, layout, _ = self._layout(tensor, swizzle)
        yield None, _where(drawn, layout), layout
        for access in self._accesses_of(tensor):
            end = access.registers if tensor.buffer else access.buffer
            if end is not None and end.layout_shape == tensor.layout_shape:
                with suppress(UnknownLayoutError):
                    other, layout, _ = self._layout(end, swizzle or not end.shared)
                    yield access, _where(other, layout), layout
                    return

    def _accesses_of(self, tensor: Tensor) -> list[SharedAccess]:
        """Return the accesses to buffers like this one, or those that load or store the tensor."""
        if tensor.buffer:
            return [conflicts.access for conflicts in self.accesses_to(tensor)] if tensor.shared else []
        named = re.compile(rf"(?:ttg\.local_(?:store|alloc) |^ *){re.escape(tensor.name)}(?![\w.-])")
        lines = self.document.lines
        return [a for a in self._shared_accesses if tensor.name and named.search(lines[a.index])]

    def _layout(self, tensor: Tensor, swizzle: bool) -> tuple[Tensor, LinearLayout, str]:
        """Return the tensor as it is drawn, its linear layout, and who computed that."""
        if swizzle:
            layout = self.layouts.of(tensor)
            return tensor, layout, self.layouts.sources[tensor.key]
        tensor = _unswizzled(tensor)
        return tensor, linear_layout(tensor.attribute, tensor.layout_shape, self.version), "irscope"

    def _grid(self, tensor: Tensor, layout: LinearLayout, window: Window, thread: int | None) -> Grid:
        name = title(tensor)
        if layout.in_registers:
            threads = layout.size("lane") * layout.size("warp")
            if thread is not None and not 0 <= thread < threads:
                raise UnknownLayoutError(f"no thread {thread}: there are {threads}")
            return grids.register_grid(layout, name, window, thread)
        where = _where(tensor, layout)
        if isinstance(where, Positions):
            return grids.tensor_memory_grid(layout, name, window)
        return grids.memory_grid(layout, where, tensor.bits, name, window)

    def wavefronts(self, one: AccessConflicts, swizzle: bool = True) -> Grid:
        """Draw the wavefronts of an access's worst pass. Raises UnknownLayoutError if they are unknown."""
        bank_conflicts = one.conflicts if swizzle else one.plain
        if bank_conflicts is None:
            raise UnknownLayoutError(one.why_not)
        access = one.access
        name = f"{access.opcode} of {access.buffer.type}" + (f", line {access.line}" if access.line else "")
        who = "row" if bank_conflicts.kind == "matrix" else "lane"
        plain = "" if swizzle else "Without the swizzle: "
        note = f"{plain}{bank_conflicts.text}."
        return replace(grids.wavefront_grid(bank_conflicts.worst, name, who), notes=(note, _LEGEND))


def _where(tensor: Tensor, layout: LinearLayout) -> Addresses | Positions:
    """Return the addresses of a buffer in shared memory; the positions of the elements of another layout."""
    if "offset" not in layout.bases:
        return Positions(layout)
    return Addresses(layout, tensor.bits, paddings(tensor.attribute))


def title(tensor: Tensor) -> str:
    """Return the names, line and type of a tensor."""
    names = [name for name in (tensor.python, tensor.name) if name]
    where = f", line {tensor.line}" if tensor.line else ""
    return f"{' '.join(names)}{where}: {tensor.type}" if names else tensor.type


def _unswizzled(tensor: Tensor) -> Tensor:
    return replace(tensor, attribute=without_swizzle(tensor.attribute))
