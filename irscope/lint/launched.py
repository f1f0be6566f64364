"""The recorded launches of a compiled kernel, with what is known of the values in its TTIR."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from math import prod

from irscope.analysis.axis_flow import AxisFlow
from irscope.analysis.global_accesses import GlobalAccess, global_accesses
from irscope.analysis.launch_values import LaunchValue, launch_values
from irscope.diff.def_use import Definition
from irscope.lint.compiled import CompiledKernel
from irscope.model import Launch, Variant

# A tensor as recorded: "float16[512, 64]"; " strides [...]" follows if it is not contiguous.
_TENSOR = re.compile(r"\w+\[([\d, ]*)\]$")
_LOOPS = ("tt.func", "scf.for", "module", "builtin.module")


@dataclass(frozen=True)
class LaunchedVariant:
    """A variant and one of its launches, None if none was recorded."""

    variant: Variant
    launch: Launch | None
    flow: AxisFlow
    values: Mapping[Definition, LaunchValue]

    def accesses(self) -> Iterator[tuple[GlobalAccess, LaunchValue]]:
        """The global loads and stores that the last program surely runs, with their pointers."""
        for access in global_accesses(self.flow.document, self.flow):
            pointer = self.values.get(access.pointer)
            if pointer is not None and pointer.base and self._runs(access.index):
                yield access, pointer

    def elements(self, parameter: str) -> int | None:
        """The elements of the tensor passed for a parameter; None if unknown or not contiguous."""
        sizes = self.sizes(parameter)
        return None if sizes is None else prod(sizes)

    def sizes(self, parameter: str) -> tuple[int, ...] | None:
        """The shape of the contiguous tensor passed for a parameter; None if unknown."""
        text = dict(self.launch.arguments).get(parameter, "") if self.launch else ""
        match = _TENSOR.match(text)
        if match is None:
            return None
        return tuple(int(size) for size in match[1].split(",") if size.strip())

    def _runs(self, index: int) -> bool:
        """Whether an operation is in no branch, and in no loop that may not run."""
        operations = self.flow.operations
        parent = operations[index].parent
        while parent >= 0:
            opcode = operations[parent].opcode
            if opcode not in _LOOPS:
                return False
            if opcode == "scf.for" and Definition(parent, True, 0) not in self.values:
                return False
            parent = operations[parent].parent
        return True


def launched_variants(compiled: CompiledKernel) -> Iterator[LaunchedVariant]:
    """Each variant with each of its recorded launches; variants without TTIR are left out."""
    for variant in compiled.variants:
        flow = compiled.flow(variant)
        for launch in variant.launches if flow is not None else ():
            if flow is not None:
                yield LaunchedVariant(variant, launch, flow, launch_values(flow, launch))
