"""Explains a variant's registers: the point of highest pressure, the values live there, and the spills.

peak 187 registers at line 89, in a loop: 128 of them hold acc (line 90), 128x128 f32 over 128 threads
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from irscope.facts.registers.live_tensors import LiveTensor, TensorPressure, matrix_locations, tensor_pressure
from irscope.facts.registers.live_values import (
    KernelLines,
    LiveValue,
    SourceLine,
    SourceOfRegisters,
    SpilledValue,
    live_values,
    peak_operation,
    spilled_values,
)
from irscope.facts.registers.liveness import machine_code
from irscope.languages.control_flow import NONE, find_loops
from irscope.languages.document import Document
from irscope.layouts.tensors import Layouts
from irscope.model import Kernel
from irscope.model.records import frozen
from irscope.model.text import pluralize


@frozen
class TensorInRegisters:
    """A tensor of TTGIR that is live at TTGIR's own peak, and the user's line that defines it."""

    tensor: LiveTensor
    line: SourceLine | None

    @property
    def name(self) -> str:
        """Return the variable, or the value's name in TTGIR."""
        return self.tensor.name or (self.line.name if self.line else "") or self.tensor.value

    @property
    def text(self) -> str:
        """Return `acc is 64x128 f32 over 128 threads: 64 registers per thread`."""
        live = self.tensor
        share = f"{pluralize(live.registers, 'register')} per thread"
        return f"{self.name} is {live.type} over {live.holders}: {share}"


@frozen
class RegisterReport:
    """The registers of one variant, per thread.

    Machine code:
      stage: the assembly stage that was analyzed ("sass", "ptx" or "amdgcn").
      allocated: the registers that the binary asks for (AMD: vector registers), None if unknown.
      estimate: whether the stage has virtual registers, whose pressure only estimates the machine code's.
      peak: the most registers that are occupied at once (None: the text is too tangled to know).
      stage_line: the line of the stage (index from 0) at which that is.
      place: the user's line that it comes from.
      in_loop: whether a loop contains it.
      values: what occupies them there, the largest first; their sum is the peak.
      spills: what is kept in local memory instead.
      pressure: the registers that are occupied, by line of the stage.

    TTGIR:
      tensors: the tensors that are live at TTGIR's own peak, the largest first.
      tensor_registers: the sum of their registers, which the front end asks for.
      tensor_place: the user's line of that peak.
    """

    stage: str
    allocated: int | None
    estimate: bool = False
    peak: float | None = None
    stage_line: int = -1
    place: SourceLine | None = None
    in_loop: bool = False
    values: Sequence[LiveValue] = ()
    spills: Sequence[SpilledValue] = ()
    pressure: Mapping[int, float] | None = None
    tensors: Sequence[TensorInRegisters] = ()
    tensor_registers: int = 0
    tensor_place: SourceLine | None = None


def register_report(
    kernel: Kernel,
    assembly: Document,
    allocated: int | None,
    ttgir: tuple[Document, Layouts] | None = None,
    ptx: Document | None = None,
) -> RegisterReport:
    """Report on an assembly stage: SASS, PTX or AMDGCN. `ptx` corrects lines of SASS."""
    source = KernelLines(kernel)
    report = _machine_code_report(source, assembly, allocated, ptx)
    if ttgir is None:
        return report
    pressure = tensor_pressure(*ttgir)
    return replace(
        report,
        tensors=named_tensors(pressure, source),
        tensor_registers=pressure.registers,
        tensor_place=source.line_of(pressure.location),
    )


def named_tensors(pressure: TensorPressure, source: KernelLines) -> tuple[TensorInRegisters, ...]:
    """Return the live tensors with the user's lines."""
    return tuple(TensorInRegisters(tensor, source.line_of(tensor.location)) for tensor in pressure.tensors)


def _machine_code_report(
    source: KernelLines, document: Document, allocated: int | None, ptx: Document | None
) -> RegisterReport:
    code = machine_code(document)
    if code is None:
        return RegisterReport(document.language, allocated)
    loops = find_loops(document)
    corrected = matrix_locations(document, ptx) if ptx else {}
    registers = SourceOfRegisters(code, loops, source, corrected)
    live, operations = code.liveness, document.operations
    peak = peak_operation(code, loops)
    return RegisterReport(
        document.language,
        allocated,
        estimate=live.file.virtual,
        peak=live.pressure[peak],
        stage_line=operations[peak].line,
        place=registers.line_of(peak),
        in_loop=loops.loop_of(peak) != NONE,
        values=tuple(live_values(code, registers, peak)),
        spills=tuple(spilled_values(code, registers, loops)),
        pressure={
            operation.line: number for operation, number in zip(operations, live.pressure, strict=True)
        },
    )
