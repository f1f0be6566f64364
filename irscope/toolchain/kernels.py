"""Finds kernels in a user's file, with their decorators. Runs in processes that have Triton."""

from __future__ import annotations

import ast
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from pkgutil import resolve_name
from types import ModuleType
from typing import Any

from irscope.frontends import Frontend, all_frontends
from irscope.model import Config, SourceFunction, UserError
from irscope.model.errors import error_line
from irscope.plugins import problems
from irscope.toolchain.constants import Constants
from irscope.toolchain.helion_kernels import helion_kernel
from irscope.toolchain.python_files import import_file, load_file
from irscope.toolchain.signature import SignatureItem


@dataclass(frozen=True)
class FoundKernel:
    """A kernel and what its decorators say.

    `function` is Triton's JITFunction without the decorators around it; `configs` are those of
    `@triton.autotune` (empty if not autotuned); `heuristics` maps parameter names to the functions of
    `@triton.heuristics`; `pruned` is true if the autotuner has a prune function or performance model.
    `constants` has the objects in the configs.
    `source_stages` are the texts that another front end generated it from, by stage.
    """

    function: Any
    constants: Constants
    configs: tuple[Config, ...] = ()
    heuristics: Mapping[str, Any] = field(default_factory=dict)
    pruned: bool = False
    source_stages: Mapping[str, str] = field(default_factory=dict)


def find_kernel(path: Path, name: str | None) -> FoundKernel:
    """The kernel named `name`, or the file's only kernel. Raises UserError, which lists the kernels."""
    values = load_file(path)
    if name is not None and name in values:  # a file may have hundreds of kernels, and variants of each
        found = _kernels(path, {name: values[name]})
        if found:
            return found[name]
    found = _kernels(path, values)
    if not found or (name is not None and name not in found):
        found |= _kernels_of_frontends(values)
    if name not in found and (helion := helion_kernel(path, name)) is not None:
        raise UserError(f"{path}::{helion} is a Helion kernel: irscope compile makes a capture of it")
    problem = import_file(path).error
    if problem is not None and (name not in found if name else not found):
        raise problem
    ignored = "".join(f"; {problem}" for problem in problems())
    if not found:
        raise UserError(f"{path}: no @triton.jit function in it{ignored}")
    if name is not None:
        if name not in found:
            raise UserError(f"{path}: no kernel '{name}'; the file has {', '.join(found)}{ignored}")
        return found[name]
    roots = _roots(found)
    if len(roots) != 1:
        names = ", ".join(roots or found)
        raise UserError(f"{path}: choose one of {names}, as {path}::KERNEL, or compile all with --guess")
    return next(iter(roots.values()))


def kernel_names(path: Path) -> tuple[str, ...]:
    """The kernels of a file that no other kernel of it calls. Raises UserError if there is none."""
    values = load_file(path)
    roots = tuple(_roots(_kernels(path, values) or _kernels_of_frontends(values)))
    if not roots:
        raise import_file(path).error or UserError(f"{path}: no @triton.jit function in it")
    return roots


def _kernels(path: Path, values: Mapping[str, Any]) -> dict[str, FoundKernel]:
    """The kernels that a file defines, by name."""
    return {
        key: kernel
        for key, value in values.items()
        if (kernel := unwrap(value)) is not None and _defined_in(kernel.function, path)
    }


def _roots(found: Mapping[str, FoundKernel]) -> dict[str, FoundKernel]:
    """The kernels that no other one calls."""
    called = {id(helper) for kernel in found.values() for helper in called_functions(kernel.function)}
    return {key: kernel for key, kernel in found.items() if id(kernel.function) not in called}


def parameters(found: FoundKernel) -> tuple[SignatureItem, ...]:
    """The parameters of a kernel."""
    return tuple(
        SignatureItem(
            name=parameter.name,
            constexpr=parameter.is_constexpr,
            has_default=parameter.has_default,
            default=found.constants.plain(parameter.default) if parameter.has_default else None,
            specialized=not parameter.do_not_specialize,
            aligned=not parameter.do_not_specialize_on_alignment,
        )
        for parameter in found.function.params
    )


def called_functions(function: Any) -> list[Any]:
    """The JITFunctions that `function` calls, directly or indirectly, in the order of discovery."""
    found: dict[int, Any] = {}
    pending = [function]
    while pending:
        for callee in _referenced_functions(pending.pop()):
            if callee is not function and id(callee) not in found:
                found[id(callee)] = callee
                pending.append(callee)
    return list(found.values())


def source_function(function: Any) -> SourceFunction:
    """The text of a JITFunction in its file, decorators included."""
    lines, first = inspect.getsourcelines(function.fn)
    file = inspect.getsourcefile(function.fn) or function.fn.__code__.co_filename
    return SourceFunction(function.fn.__name__, file, first, "".join(lines))


# More decorators around each other than any kernel has: a bound on a chain that may have a cycle.
_MOST_DECORATORS = 16


def unwrap(value: Any) -> FoundKernel | None:
    """The JITFunction inside its decorators; None if there is none.

    Libraries wrap kernels in decorators of their own. Like those of Triton, they keep the function that they
    decorate as `fn`, `jit_function` or `__wrapped__`.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    configs: list[Any] = []
    heuristics: dict[str, Any] = {}
    pruned = False
    for _ in range(_MOST_DECORATORS):
        if isinstance(value, JITFunction):
            constants = Constants(value)
            for parameter in filter(lambda one: one.has_default, value.params):
                constants.plain(parameter.default)
            known = tuple(_config(config, constants) for config in configs)
            return FoundKernel(value, constants, known, heuristics, pruned)
        if isinstance(value, Autotuner):
            configs = value.configs
            pruned = bool(value.perf_model) or value.early_config_prune is not None
        elif isinstance(value, Heuristics):
            heuristics = {**value.values, **heuristics}
        value = _decorated(value)
    return None


def _kernels_of_frontends(values: Mapping[str, Any]) -> dict[str, FoundKernel]:
    """The kernels that objects of other front ends compile to; their Triton may be in generated files."""
    imported = [each for each in all_frontends() if each.unwrap and each.package in sys.modules]
    return {
        key: replace(found, source_stages=_source_stages(frontend, found.function))
        for frontend in imported
        for key, value in values.items()
        if (kernel := _call_hook(frontend, frontend.unwrap, value)) is not None
        and (found := unwrap(kernel)) is not None
    }


def _source_stages(frontend: Frontend, function: Any) -> Mapping[str, str]:
    return _call_hook(frontend, frontend.sources, function) or {}


def _call_hook(frontend: Frontend, hook: str, argument: Any) -> Any:
    """The result of a front end's hook; None if it has no such hook. Raises UserError if the hook fails."""
    if not hook:
        return None
    try:
        return resolve_name(hook)(argument)
    except Exception as error:  # the plug-in's own code
        raise UserError(f"{hook} of the front end '{frontend.name}': {error_line(error)}") from error


def _decorated(value: Any) -> Any:
    """The function that a decorator's object keeps; None if it keeps none."""
    if isinstance(value, type | ModuleType):
        return None
    found = (inspect.getattr_static(value, name, None) for name in ("jit_function", "fn", "__wrapped__"))
    return next((function for function in found if function is not None), None)


def _config(config: Any, constants: Constants) -> Config:
    kwargs = {name: constants.plain(value) for name, value in config.all_kwargs().items()}
    # Nearly every config has the default of one CTA: omit it.
    return Config(tuple((k, v) for k, v in kwargs.items() if (k, v) != ("num_ctas", 1)))


def _defined_in(function: Any, path: Path) -> bool:
    return Path(function.fn.__code__.co_filename).resolve() == path.resolve()


def _referenced_functions(function: Any) -> list[Any]:
    """The JITFunctions that the names and attributes in a function's text refer to."""
    from triton.runtime.jit import JITFunction

    scope = {**vars(function.fn).get("__globals__", {}), **function.fn.__globals__}
    scope |= inspect.getclosurevars(function.fn).nonlocals
    found = []
    for node in ast.walk(function.parse()):
        value = None
        if isinstance(node, ast.Name):
            value = scope.get(node.id)
        elif isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
            value = getattr(scope.get(node.value.id), node.attr, None)
        if isinstance(value, JITFunction):
            found.append(value)
    return found
