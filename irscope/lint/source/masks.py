"""A bound of a mask that is not specialized, so that the compiler knows nothing of its divisibility."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Set

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.body import single, sums
from irscope.lint.source.kernel import KernelParameter, KernelSource
from irscope.lint.source.module import PythonModule, argument

MASK = Rule(
    "IRS110",
    "unspecialized-bound",
    "a mask's bound in do_not_specialize: every load and store under the mask moves one element at a time",
)

_LISTS = ("do_not_specialize", "do_not_specialize_on_alignment")
_FOUR_WARPS = 128  # threads
_MASK_AT = {"load": 1, "store": 2}


def unspecialized_bound(module: PythonModule) -> Iterator[Diagnostic]:
    """Parameters in do_not_specialize that bound the mask of a contiguous, one-dimensional access."""
    for kernel in module.kernels.values():
        unspecialized = _unspecialized(kernel, module)
        accesses = (
            []
            if not unspecialized or _has_rows(kernel)
            else list(_bounds(kernel, unspecialized.keys(), module))
        )
        for name, node in unspecialized.items():
            lines = sorted({line for bound, line in accesses if bound == name})
            if not lines:
                continue
            message = (
                f"{name} is not specialized and bounds the mask at line {', '.join(map(str, lines))} of "
                f"{kernel.name}: the compiler does not know that it is divisible by 16, and these loads and "
                "stores move one element at a time"
            )
            fix = f"take {name} out of the list: launches with a multiple of 16 then move 16 bytes at a time"
            yield module.problem(MASK, node, message, fix, kernel)


def _unspecialized(kernel: KernelSource, module: PythonModule) -> dict[str, ast.expr]:
    """The run-time parameters in these lists, by name, with where they stand there."""
    found: dict[str, ast.expr] = {}
    for keyword in kernel.jit.keywords if isinstance(kernel.jit, ast.Call) else ():
        values = module.value(keyword.value, module.scope) if keyword.arg in _LISTS else None
        for value in values if isinstance(values, list | tuple) else ():
            if isinstance(value, int) and 0 <= value < len(kernel.parameters):
                parameter: KernelParameter | None = kernel.parameters[value]
            else:
                parameter = kernel.parameter(str(value))
            if parameter is not None and not parameter.constexpr:
                found[parameter.name] = keyword.value
    return found


def _bounds(kernel: KernelSource, unspecialized: Set[str], module: PythonModule) -> Iterator[tuple[str, int]]:
    """What bounds the masks of contiguous accesses, and the line of each: `pointer + at, mask=at < n`."""
    for node in kernel.nodes:
        call = module.tl(node, *_MASK_AT)
        if call is None or not call.args:
            continue
        mask = argument(call, _MASK_AT[module.dotted(call.func).rpartition(".")[2]], "mask")
        match single(kernel, mask) if mask is not None else None:
            case ast.Compare(ast.expr() as at, [ast.Lt()], [ast.Name() as bound]):
                if _contiguous(kernel, at, unspecialized - {bound.id}, module) and _adds(
                    kernel, call.args[0], at
                ):
                    yield bound.id, call.lineno


def _contiguous(kernel: KernelSource, node: ast.expr, unaligned: Set[str], module: PythonModule) -> bool:
    """Whether a sum has `tl.arange` as a term, and else only single numbers, none of them `unaligned`."""
    terms = [single(kernel, term) for term in sums(single(kernel, node))]
    ranges = [call for term in terms if (call := module.tl(term, "arange"))]
    others = [part for term in terms if not module.tl(term, "arange") for part in ast.walk(term)]
    if len(ranges) != 1 or not _long(kernel, ranges[0], module):
        return False
    return not any(isinstance(part, ast.Name) and part.id in unaligned for part in others) and not any(
        isinstance(part, ast.Subscript) or module.tl(part, "arange", "load") for part in others
    )


def _long(kernel: KernelSource, call: ast.Call, module: PythonModule) -> bool:
    """Whether a `tl.arange` is known to be so long that a thread of four warps has several elements."""
    end = call.args[-1] if call.args else call
    parameter = kernel.parameter(end.id) if isinstance(end, ast.Name) else None
    if parameter is None:
        values = [module.value(end, module.scope)]
    else:
        launches = [launch for launch in module.launches if launch.kernel is kernel]
        given = [(launch.arguments.get(parameter.name), launch.scope) for launch in launches]
        values = [module.value(node, scope) for node, scope in given if node is not None]
        values += (kernel.autotune.values(parameter.name) if kernel.autotune else None) or []
        values += [module.value(parameter.default, module.scope)] if parameter.default else []
    return any(isinstance(value, int) and value > _FOUR_WARPS for value in values)


def _has_rows(kernel: KernelSource) -> bool:
    """Whether the kernel has blocks of more than one dimension: there the bound may be that of rows."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and any(isinstance(one, ast.Constant) and one.value is None for one in node.slice.elts)
        for node in kernel.nodes
    )


def _adds(kernel: KernelSource, pointer: ast.expr, at: ast.expr) -> bool:
    """Whether a pointer is a sum with `at` itself as a term."""
    wanted = ast.dump(at)
    return any(ast.dump(term) == wanted for term in sums(single(kernel, pointer)))
