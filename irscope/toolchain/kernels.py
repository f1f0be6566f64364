"""Finds kernels in a user's file, with their decorators. Runs in processes that have Triton."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType
from typing import Any

from irscope.model import Config, Dtype, SourceFunction, UserError, Value
from irscope.model.tuning_config import DTYPE_NAMES
from irscope.toolchain.python_files import import_file, load_file
from irscope.toolchain.signature import SignatureItem


@dataclass(frozen=True)
class FoundKernel:
    """A kernel and what its decorators say.

    `function` is Triton's JITFunction without the decorators around it; `configs` are those of
    `@triton.autotune` (empty if not autotuned); `heuristics` maps parameter names to the functions of
    `@triton.heuristics`; `pruned` is true if the autotuner has a prune function or performance model.
    """

    function: Any
    configs: tuple[Config, ...] = ()
    heuristics: Mapping[str, Any] = field(default_factory=dict)
    pruned: bool = False


def find_kernel(path: Path, name: str | None) -> FoundKernel:
    """The kernel named `name`, or the file's only kernel. Raises UserError, which lists the kernels."""
    found = _kernels(path)
    problem = import_file(path).error
    if problem is not None and (name not in found if name else not found):
        raise problem
    if not found:
        raise UserError(f"{path}: no @triton.jit function in it")
    if name is not None:
        if name not in found:
            raise UserError(f"{path}: no kernel '{name}'; the file has {', '.join(found)}")
        return found[name]
    roots = _roots(found)
    if len(roots) != 1:
        names = ", ".join(roots or found)
        raise UserError(f"{path}: choose one of {names}, as {path}::KERNEL, or compile all with --guess")
    return next(iter(roots.values()))


def kernel_names(path: Path) -> tuple[str, ...]:
    """The kernels of a file that no other kernel of it calls. Raises UserError if there is none."""
    roots = tuple(_roots(_kernels(path)))
    if not roots:
        raise import_file(path).error or UserError(f"{path}: no @triton.jit function in it")
    return roots


def _kernels(path: Path) -> dict[str, FoundKernel]:
    """The kernels that a file defines, by name."""
    return {
        key: kernel
        for key, value in load_file(path).items()
        if (kernel := unwrap(value)) is not None and _defined_in(kernel.function, path)
    }


def _roots(found: Mapping[str, FoundKernel]) -> dict[str, FoundKernel]:
    """The kernels that no other one calls."""
    called = {id(helper) for kernel in found.values() for helper in called_functions(kernel.function)}
    return {key: kernel for key, kernel in found.items() if id(kernel.function) not in called}


def parameters(function: Any) -> tuple[SignatureItem, ...]:
    """The parameters of a JITFunction."""
    return tuple(
        SignatureItem(
            name=parameter.name,
            constexpr=parameter.is_constexpr,
            has_default=parameter.has_default,
            default=plain_value(parameter.default) if parameter.has_default else None,
            specialized=not parameter.do_not_specialize,
            aligned=not parameter.do_not_specialize_on_alignment,
        )
        for parameter in function.params
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


def plain_value(value: Any) -> Value:
    """A constexpr value as the model's type: element types of tl and torch become a Dtype.

    Any other type becomes its text.
    """
    value = getattr(value, "value", value) if type(value).__name__ == "constexpr" else value
    if value is None or isinstance(value, bool | int | float | str):
        return value
    name = str(value).rpartition(".")[2]
    name = {"float16": "fp16", "bfloat16": "bf16", "float32": "fp32", "float64": "fp64"}.get(name, name)
    return Dtype(name) if name in DTYPE_NAMES else str(value)


def triton_value(value: Value) -> Any:
    """The model's value as Triton's type: a Dtype becomes a `tl.dtype`."""
    if isinstance(value, Dtype):
        import triton.language as tl

        return tl.dtype(value.name)
    return value


# More decorators around each other than any kernel has: a bound on a chain that may have a cycle.
_MOST_DECORATORS = 16


def unwrap(value: Any) -> FoundKernel | None:
    """The JITFunction inside its decorators; None if there is none.

    Libraries wrap kernels in decorators of their own. Like those of Triton, they keep the function that they
    decorate as `fn`, `jit_function` or `__wrapped__`.
    """
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    configs: tuple[Config, ...] = ()
    heuristics: dict[str, Any] = {}
    pruned = False
    for _ in range(_MOST_DECORATORS):
        if isinstance(value, JITFunction):
            return FoundKernel(value, configs, heuristics, pruned)
        if isinstance(value, Autotuner):
            configs = tuple(_config(config) for config in value.configs)
            pruned = bool(value.perf_model) or value.early_config_prune is not None
        elif isinstance(value, Heuristics):
            heuristics = {**value.values, **heuristics}
        value = _decorated(value)
    return None


def _decorated(value: Any) -> Any:
    """The function that a decorator's object keeps; None if it keeps none."""
    if isinstance(value, type | ModuleType):
        return None
    found = (inspect.getattr_static(value, name, None) for name in ("jit_function", "fn", "__wrapped__"))
    return next((function for function in found if function is not None), None)


def _config(config: Any) -> Config:
    kwargs = {name: plain_value(value) for name, value in config.all_kwargs().items()}
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
