"""The layouts of one variant: its tensors, accesses and conversions, and the picture of each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from irscope.languages.document import Document
from irscope.layouts import grid as grids
from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import Addresses
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.describe import sentences, turns_text
from irscope.layouts.grid import Grid, Window
from irscope.layouts.linear import LinearLayout
from irscope.layouts.ownership import held, longest_run
from irscope.layouts.shared import paddings, without_swizzle
from irscope.layouts.shared_accesses import (
    Conversion,
    Counted,
    SharedAccess,
    conversions,
    counted,
    shared_accesses,
)
from irscope.layouts.tensors import Layouts, Tensor, Told, layout_shape, tensors_of
from irscope.model import Target

_VERSION = re.compile(r"(\d{1,4})\.(\d{1,4})")
_MATRIX_INSTRUCTIONS = ("ldmatrix", "stmatrix")
_LEGEND = "The worst pass of one warp: a row for each turn, a column for each bank or group of banks."
# What is not told by a version that cannot be read is told as by the last one that is known.
_LATEST: Version = (3, 9)


@dataclass(frozen=True)
class Picture:
    """A tensor drawn. `source` says whose linear layout it is: "Triton" or "irscope"."""

    tensor: Tensor
    layout: LinearLayout
    grid: Grid
    words: tuple[str, ...]
    source: str


class KernelLayouts:
    """The layouts in one variant's TTGIR.

    `told` is what Triton said of them, `triton` the version that compiled it, `machine` its PTX ("" where
    there is none), which tells whether matrices are moved by ldmatrix and stmatrix.
    """

    def __init__(
        self, ttgir: Document, target: Target, triton: str, machine: str = "", told: Told | None = None
    ) -> None:
        self.document, self.target = ttgir, target
        self.version = triton_version(triton)
        self.layouts = Layouts(self.version, told)
        self._instructions = {name for name in _MATRIX_INSTRUCTIONS if name in machine}

    @cached_property
    def tensors(self) -> list[Tensor]:
        """The tensors and buffers, in the order of the text."""
        return tensors_of(self.document)

    @cached_property
    def accesses(self) -> list[Counted]:
        """The accesses to shared memory, in the order of the text; those that are alike once."""
        groups: dict[tuple[object, ...], list[SharedAccess]] = {}
        for access in shared_accesses(self.document):
            buffer, registers = access.buffer, access.registers
            key = (access.opcode, access.line, buffer.key, buffer.shape, registers and registers.key)
            groups.setdefault(key, []).append(access)
        return [
            replace(
                counted(alike[0], self.layouts, self.version, self.target, self._instructions),
                times=len(alike),
            )
            for alike in groups.values()
        ]

    @cached_property
    def conversions(self) -> list[Conversion]:
        """The layout conversions, in the order of the text."""
        return conversions(self.document, self.layouts)

    def accesses_to(self, tensor: Tensor) -> list[Counted]:
        """The accesses to buffers that have the tensor's layout and size."""
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
        """The tensor drawn; `thread` is the one to mark; `swizzle` False: as without it.

        Raises UnknownLayoutError where the layout is not known, or a picture makes no sense.
        """
        if swizzle:
            layout = self.layouts.of(tensor)
            source = self.layouts.sources[tensor.key]
        else:
            tensor = _unswizzled(tensor)
            layout = linear_layout(tensor.attribute, layout_shape(tensor), self.version)
            source = "irscope"
        grid = self._grid(tensor, layout, window, thread)
        return Picture(tensor, layout, grid, tuple(sentences(tensor, layout)), source)

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

    def turns(self, one: Counted, swizzle: bool = True) -> Grid:
        """The worst pass of an access over the banks. Raises UnknownLayoutError where it is not known."""
        found = one.conflicts if swizzle else one.plain
        if found is None:
            raise UnknownLayoutError(one.why_not)
        access = one.access
        name = f"{access.opcode} of {access.buffer.type}" + (f", line {access.line}" if access.line else "")
        who = "row" if found.kind == "matrix" else "lane"
        plain = "" if swizzle else "Without the swizzle: "
        said = f"{plain}{turns_text(found)}."
        return replace(grids.turns_grid(found.worst, name, who), notes=(said, _LEGEND))


def title(tensor: Tensor) -> str:
    """A tensor's name, place and type in a line."""
    called = [name for name in (tensor.python, tensor.name) if name]
    where = f", line {tensor.line}" if tensor.line else ""
    return f"{' '.join(called)}{where}: {tensor.type}" if called else tensor.type


def triton_version(text: str) -> Version:
    """Major and minor version of "3.9.0"; the latest known where the text is none."""
    match = _VERSION.match(text)
    return (int(match[1]), int(match[2])) if match else _LATEST


def held_words(layout: LinearLayout, thread: int) -> list[str]:
    """What one thread of the block holds, register by register; runs of neighbours in one line.

    Raises UnknownLayoutError for no such thread.
    """
    warp, lane = divmod(thread, layout.size("lane"))
    elements = held(layout, warp, lane)
    dimension, run = longest_run(layout)
    lines = [f"Thread {thread} (warp {warp}, lane {lane}) holds:"]
    for first in range(0, len(elements), run):
        group = elements[first : first + run]
        registers = f"{first}-{first + len(group) - 1}" if len(group) > 1 else str(first)
        lines.append(f"  registers {registers}: {_elements(group, dimension)}")
    return lines


def _elements(group: Sequence[tuple[int, ...]], dimension: int) -> str:
    first, last = group[0], group[-1]
    return (
        "("
        + ", ".join(
            f"{a}-{b}" if at == dimension and a != b else str(a)
            for at, (a, b) in enumerate(zip(first, last, strict=True))
        )
        + ")"
    )


def _unswizzled(tensor: Tensor) -> Tensor:
    return replace(tensor, attribute=without_swizzle(tensor.attribute))
