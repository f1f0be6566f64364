"""Names given to the decorators, and the autotuner's key: names that are none, that do nothing, that miss."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.body import axes_of, names_in, pointers, program_axes
from irscope.lint.source.kernel import Autotune, KernelSource, strings
from irscope.lint.source.module import PythonModule

UNKNOWN_NAME = Rule(
    "IRS105", "unknown-parameter", "a name in key, reset_to_zero, ... that is no parameter of the kernel"
)
UNUSED = Rule("IRS106", "key-unused", "a key argument that cannot change which config is chosen")
POINTER = Rule("IRS107", "key-pointer", "a tensor in the key: the kernel is tuned again for each new tensor")
MISSING = Rule("IRS108", "key-missing", "a size that bounds a loop and is not in the key")

_NAME_LISTS = ("key", "reset_to_zero", "restore_value")


_SPECIALIZATION = ("do_not_specialize", "do_not_specialize_on_alignment")
_TRITON_39 = "Triton 3.9 raises a ValueError, older ones ignore it"
_EFFECT = dict.fromkeys(_NAME_LISTS, _TRITON_39) | dict.fromkeys(_SPECIALIZATION, "Triton ignores it")


def unknown_parameter(module: PythonModule) -> Iterator[Diagnostic]:
    """Names in lists of parameter names that the kernel does not have."""
    for kernel in module.kernels.values():
        # What has no parameters is a placeholder.
        if not kernel.decorators_known or not kernel.parameters:
            continue
        known = [parameter.name for parameter in kernel.parameters]
        lists = dict(kernel.autotune.arguments) if kernel.autotune else {}
        if isinstance(kernel.jit, ast.Call):
            lists |= {k.arg: k.value for k in kernel.jit.keywords if k.arg in _SPECIALIZATION}
        for what in (*_NAME_LISTS, *_SPECIALIZATION):
            node = lists.get(what)
            names = strings(module.value(node, module.scope)) if node is not None else None
            for name in names or ():
                if node is not None and name not in known:
                    message = f"{what} of {kernel.name} names '{name}', no parameter of it: {_EFFECT[what]}"
                    fix = f"parameters are {', '.join(known)}"
                    yield module.problem(UNKNOWN_NAME, _place(node, name), message, fix, kernel)


def key_unused(module: PythonModule) -> Iterator[Diagnostic]:
    """Key arguments that the configs themselves set: they have no value yet when the key is made."""
    for kernel, tuned, key, node in _keys(module):
        for name in key:
            if name in tuned.names():
                message = (
                    f"the key of {kernel.name} has {name}, which each config sets: it has no value when the "
                    "key is made, so it changes nothing"
                )
                yield module.problem(UNUSED, _place(node, name), message, f"drop {name} from the key", kernel)


def key_pointer(module: PythonModule) -> Iterator[Diagnostic]:
    """Key arguments that are tensors: these are told apart by identity, not by shape or values."""
    for kernel, _, key, node in _keys(module):
        own = pointers(kernel, module)
        for name in key:
            if name in own:
                message = (
                    f"the key of {kernel.name} has the tensor {name}: a tensor is equal only to itself, so "
                    "the kernel is tuned again for every new one, and none is ever freed"
                )
                fix = f"drop {name}: dtypes of all arguments are part of the key anyway; name its sizes"
                yield module.problem(POINTER, _place(node, name), message, fix, kernel)


def key_missing(module: PythonModule) -> Iterator[Diagnostic]:
    """Run-time sizes that bound a loop and are not in a key that has other run-time sizes."""
    for kernel, _, key, node in _keys(module):
        runtime = {parameter.name for parameter in kernel.parameters if not parameter.constexpr}
        runtime -= pointers(kernel, module)
        if not runtime & set(key):
            continue
        for name, loop in _loop_bounds(kernel, module).items():
            if name in runtime and not any(name.lower() in one.lower() for one in key):
                message = (
                    f"{name} bounds the loop at line {loop.lineno} of {kernel.name} and is not in the key: "
                    f"the config that was best for the first {name} is used for all"
                )
                yield module.problem(MISSING, node, message, f'add "{name}" to the key', kernel)


def _keys(module: PythonModule) -> Iterator[tuple[KernelSource, Autotune, list[str], ast.expr]]:
    """The autotuned kernels with the names in their key and where it stands, as far as they are certain."""
    for kernel in module.kernels.values():
        tuned = kernel.autotune
        node = tuned.arguments.get("key") if tuned else None
        if tuned is None or node is None or not kernel.decorators_known:
            continue
        key = strings(module.value(node, module.scope))
        if key is not None:
            yield kernel, tuned, key, node


def _place(node: ast.expr, name: str) -> ast.expr:
    """Where `name` stands in a list of names; the list itself where that is written elsewhere."""
    found = (part for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value == name)
    return next(found, node)


def _loop_bounds(kernel: KernelSource, module: PythonModule) -> dict[str, ast.For]:
    """The parameters that say how often a loop runs, with the first such loop.

    Not the loops in which a program walks from its own place: these are the grid.
    """
    origin = program_axes(kernel, module)
    names = {parameter.name for parameter in kernel.parameters}
    found: dict[str, ast.For] = {}
    for node in kernel.nodes:
        if not isinstance(node, ast.For) or not isinstance(node.iter, ast.Call):
            continue
        is_range = module.tl(node.iter, "range") or module.dotted(node.iter.func) == "range"
        bounds = node.iter.args[:2]
        if not is_range or not bounds or any(axes_of(bound, origin, module) for bound in bounds):
            continue
        for name in _size_names(bounds[-1], kernel, module) & names:
            found.setdefault(name, node)
    return found


def _size_names(node: ast.expr, kernel: KernelSource, module: PythonModule) -> set[str]:
    """The names in a bound, through names that are set once from a rounded-up division; none if it loads."""
    values = [node]
    if isinstance(node, ast.Name):
        values = kernel.assigned.get(node.id, [node])
    if len(values) != 1 or any(module.tl(part, "load") for part in ast.walk(values[0])):
        return set()
    return names_in(values[0])
