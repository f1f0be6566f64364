"""Offsets and sizes that do not fit in 32 bits."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from irscope.diff.def_use import Definition
from irscope.facts.accesses.axis_info import AxisFlow
from irscope.facts.source.map import kernel_place
from irscope.facts.source.tokens import names_in
from irscope.lint.compiled import CompiledKernel, LaunchedVariant, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule
from irscope.lint.source.accesses import pointer_accesses
from irscope.lint.source.evaluate import StaticValue
from irscope.lint.source.grids import dimensions
from irscope.lint.source.offsets import LIMIT, OffsetEvaluator
from irscope.lint.source.python_module import LaunchSite, PythonModule
from irscope.model import Variant

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
        yield compiled.diagnostic(LAUNCH_OVERFLOW, message, fix, line)


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


LAUNCH_OVERFLOW = CaptureRule(
    "IRS208",
    "launch-overflow",
    """\
An offset that overflowed 32 bits in a recorded launch.

**What it does.** Computes the offsets of the last program of each recorded launch (`irscope run`) exactly,
and reports additions and multiplications of `int32` whose result does not fit and that an address is
computed from.

**Why is this bad?** As for [offset-overflow](#offset-overflow), the kernel accesses the wrong elements.

**Limits.** Reported if all elements of the last program's block overflow, or if some do and the tensor has
more than 2,147,483,647 elements.
""",
    launch_overflow,
)


FIX = "compute it in 64 bits, such as tl.program_id(0).to(tl.int64)"
_MAX_CONFIGS = 100
_MAX_SHOWN = 80


def offset_overflow(module: PythonModule) -> Iterator[Diagnostic]:
    """Evaluate the addresses of each kernel for the last program of each launch."""
    reported: set[ast.AST] = set()
    for launch in module.called_launches:
        kernel = launch.kernel
        for values in _values(launch, module):
            grid = _grid(launch, values, module)
            # Without a large grid or argument, nothing can overflow.
            if not grid or not _is_large(grid, values):
                continue
            evaluate = OffsetEvaluator(kernel, module, values, grid)
            for access in pointer_accesses(kernel, module):
                evaluate(access.pointer)
            for node, value in evaluate.overflows.items():
                if node not in reported:
                    reported.add(node)
                    message = (
                        f"{ast.unparse(node)[:_MAX_SHOWN]} in {kernel.name} is {value:,} for the launch at "
                        f"line {launch.call.lineno} in its last program, more than int32 holds "
                        f"({LIMIT:,}): it wraps around"
                    )
                    yield module.diagnostic(OFFSET_OVERFLOW, node, message, FIX, kernel)


def _values(launch: LaunchSite, module: PythonModule) -> Iterator[Mapping[str, int]]:
    """Yield the known integer arguments, once per config."""
    passed = {name: module.value(node, launch.scope) for name, node in launch.arguments.items()}
    autotune = launch.kernel.autotune
    configs = autotune.configs or () if autotune is not None else ()
    for kwargs in [config.kwargs or {} for config in configs[:_MAX_CONFIGS]] or [{}]:
        all_values = passed | dict(kwargs)
        yield {
            name: value
            for name, value in all_values.items()
            if isinstance(value, int) and not isinstance(value, bool)
        }


def _grid(launch: LaunchSite, values: Mapping[str, int], module: PythonModule) -> Mapping[int, int]:
    """Map each axis of the grid to its size, if known."""
    sizes = {}
    for axis, dimension in enumerate(dimensions(launch)):
        names = names_in(dimension)
        name_values: dict[str, StaticValue] = {
            name: module.value(ast.Name(name, ast.Load()), launch.scope) for name in names
        }
        # The parameter of a grid function is the only name that no scope binds.
        name_values |= {
            name: dict(values) for name in names if launch.scope.owner(name) is None and name != "triton"
        }
        size = module.evaluate(dimension, name_values)
        if isinstance(size, int) and size > 0:
            sizes[axis] = size
    return sizes


def _is_large(grid: Mapping[int, int], values: Mapping[str, int]) -> bool:
    product = 1
    for size in (*grid.values(), *(abs(value) for value in values.values() if value)):
        product *= size
    return product > LIMIT


OFFSET_OVERFLOW = SourceRule(
    "IRS116",
    "offset-overflow",
    """\
An offset that overflows 32 bits for the sizes that the file launches with.

**What it does.** Reports additions and multiplications of `int32` in an address whose result is more than
2,147,483,647 in the last program of a launch, if the text determines the grid, the sizes and the strides.

**Why is this bad?** The result wraps around to a negative offset: the kernel reads and writes the wrong
elements, or fails with an illegal memory access, for large tensors only.

**Example**

```python
row = tl.program_id(0)
x = tl.load(x_ptr + row * 32768 + tl.arange(0, 32768))  # launched with 70,000 rows
```

**Use instead**

```python
row = tl.program_id(0).to(tl.int64)
```

**Limits.** [launch-overflow](#launch-overflow) finds more: it knows the sizes of recorded launches.
""",
    offset_overflow,
)
