"""Sizes of blocks that are no power of two."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.kernel import KernelSource
from irscope.lint.source.module import PythonModule
from irscope.lint.source.values import Known

BLOCK = Rule(
    "IRS109", "block-not-power-of-two", "a tl.arange whose length is no power of two, which does not compile"
)

_Range = tuple[ast.Call, ast.expr, ast.expr]  # the call, where it starts and where it ends

_FIX = "take a power of two (triton.next_power_of_2) and mask what is beyond the end"


def block_not_power_of_two(module: PythonModule) -> Iterator[Diagnostic]:
    """Lengths of `tl.arange`: as written, and as configs and launches set them."""
    for kernel in module.kernels.values():
        ranges = list(_ranges(kernel, module))
        for node, start, end in ranges:
            length = _length(start, end, {}, module)
            if _wrong(length):
                message = f"tl.arange has {length} elements: their number must be a power of two"
                yield module.problem(BLOCK, node, message, _FIX, kernel)
        yield from _configs(kernel, ranges, module)
    yield from _launches(module)


def _configs(kernel: KernelSource, ranges: list[_Range], module: PythonModule) -> Iterator[Diagnostic]:
    """A problem for each place that sets a constant wrongly: one comprehension makes many configs."""
    found: dict[tuple[ast.expr, str], list[int]] = {}
    for config in kernel.autotune.configs or () if kernel.autotune else ():
        values = {name: value for name, value in (config.kwargs or {}).items() if _is_int(value)}
        for name in _wrong_names(kernel, ranges, values, module):
            if config.node is not None:
                found.setdefault((config.node, name), []).append(values[name])
    for (node, name), wrong in found.items():
        message = _message(name, list(dict.fromkeys(wrong)), kernel)
        yield module.problem(BLOCK, node, message, _FIX, kernel)


def _message(name: str, values: list[int], kernel: KernelSource) -> str:
    return (
        f"{name} = {', '.join(map(str, values))} is the length of a tl.arange of {kernel.name}: it must be a "
        "power of two, and the kernel does not compile"
    )


def _launches(module: PythonModule) -> Iterator[Diagnostic]:
    for launch in module.launches:
        kernel = launch.kernel
        constants = {parameter.name for parameter in kernel.parameters if parameter.constexpr}
        arguments = {name: node for name, node in launch.arguments.items() if name in constants}
        known = {name: module.value(node, launch.scope) for name, node in arguments.items()}
        values = {name: value for name, value in known.items() if _is_int(value)}
        for name in _wrong_names(kernel, list(_ranges(kernel, module)), values, module):
            message = _message(name, [values[name]], kernel)
            yield module.problem(BLOCK, arguments[name], message, _FIX, kernel)


def _wrong_names(
    kernel: KernelSource,
    ranges: list[_Range],
    values: dict[str, int],
    module: PythonModule,
) -> list[str]:
    """The constants among `values` that, alone, are the wrong length of a range."""
    found = []
    for _, start, end in ranges:
        is_set = isinstance(end, ast.Name) and end.id in values and end.id not in kernel.assigned
        if is_set and _wrong(_length(start, end, values, module)):
            found.append(ast.unparse(end))
    return list(dict.fromkeys(found))


def _ranges(kernel: KernelSource, module: PythonModule) -> Iterator[_Range]:
    for node in kernel.nodes:
        call = module.tl(node, "arange")
        if call and len(call.args) == 2:
            yield call, call.args[0], call.args[1]


def _length(start: ast.expr, end: ast.expr, values: dict[str, int], module: PythonModule) -> Known:
    difference = ast.BinOp(end, ast.Sub(), start)
    return module.evaluate(difference, values)


def _is_int(value: Known) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _wrong(length: Known) -> bool:
    return _is_int(length) and (length <= 0 or length & (length - 1) != 0)
