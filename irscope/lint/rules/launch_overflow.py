"""An offset that overflowed 32 bits in a recorded launch.

**What it does.** Computes the offsets of the last program of each recorded launch (`irscope run`) exactly,
and reports additions and multiplications of `int32` whose result does not fit and that an address is
computed from.

**Why is this bad?** As for [offset-overflow](#offset-overflow), the kernel accesses the wrong elements.

**Limits.** Reported if all elements of the last program's block overflow, or if some do and the tensor has
more than 2,147,483,647 elements.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.source.map import kernel_place
from irscope.lint.compiled import CompiledKernel, LaunchedVariant, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.model import Variant

LIMIT = 2**31 - 1
_ARITHMETIC = ("arith.addi", "arith.subi", "arith.muli")
_INT32 = re.compile(r": (?:tensor<(?:\d{1,9}x)+)?i32\b[^:]*$")


def launch_overflow(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for 32-bit arithmetic of addresses whose exact result does not fit."""
    by_line: dict[int, tuple[int, LaunchedVariant, list[Variant]]] = {}
    for launched in launched_variants(compiled):
        for line, reached in _overflows(launched):
            most, _, variants = by_line.setdefault(line, (reached, launched, []))
            if launched.variant not in variants:
                variants.append(launched.variant)
            if reached > most:
                by_line[line] = (reached, launched, variants)
    for line, (reached, launched, variants) in sorted(by_line.items()):
        grid = launched.launch.grid if launched.launch else ()
        message = (
            f"line {line} of {compiled.kernel.name} computes an offset of {reached:,} in int32, at most "
            f"{LIMIT:,}, with grid {grid}, in {compiled.share(variants)}: it wraps around to another element"
        )
        fix = "compute it in 64 bits, such as tl.program_id(0).to(tl.int64)"
        yield compiled.diagnostic(RULE, message, fix, line)


def _overflows(launched: LaunchedVariant) -> Iterator[tuple[int, int]]:
    """Yield the line and value of each overflow that does not follow from another."""
    flow, wrong = launched.flow, set[Definition]()
    for address, parameters in _addresses(flow).items():
        operation = flow.operations[address.owner]
        value = launched.values.get(address)
        if operation.opcode not in _ARITHMETIC or value is None or value.low is None or value.high is None:
            continue
        if not _INT32.search(operation.normalized):
            continue
        large = any((launched.elements(name) or 0) > LIMIT for name in parameters)
        if not (value.low > LIMIT or (large and value.exact and value.high > LIMIT)):
            continue
        location = kernel_place(operation.location)
        follows = any(source in wrong for source in flow.sources[address.owner])
        wrong.add(address)
        if location is not None and not follows:
            yield location[1], value.high


def _addresses(flow: AxisFlow) -> dict[Definition, frozenset[str]]:
    """Map the integers that offsets are computed from, in text order, to the pointers' parameters."""
    parameters_of: dict[Definition, set[str]] = {}
    for index, operation in enumerate(flow.operations):
        if operation.opcode != "tt.addptr" or len(flow.sources[index]) != 2:
            continue
        pointer, offset = flow.sources[index]
        if pointer is None or offset is None:
            continue
        names = {flow.parameters[origin].name for origin in flow.origins(pointer, pointer=True)}
        pending, visited = [offset], {offset}
        while pending:
            value = pending.pop()
            parameters_of.setdefault(value, set()).update(names)
            if flow.operations[value.owner].opcode in ("tt.load", "tt.func", "scf.for", "scf.if"):
                continue
            for source in flow.sources[value.owner]:
                if source is not None and source not in visited:
                    visited.add(source)
                    pending.append(source)
    return {value: frozenset(parameters_of[value]) for value in sorted(parameters_of)}


RULE = CaptureRule("IRS208", "launch-overflow", __doc__, launch_overflow)
