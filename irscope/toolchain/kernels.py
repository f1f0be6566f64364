"""Finds kernels in a user's file, with their decorators. Runs in processes that have Triton."""

from __future__ import annotations

import ast
import importlib.util
import inspect
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

from irscope.model import Config, Dtype, SourceFunction, UserError, Value
from irscope.model.tuning_config import DTYPE_NAMES
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


@cache
def load_file(path: Path) -> Mapping[str, Any]:
    """Imports the file at `path` and returns its names; its `__main__` part does not run.

    Raises UserError if the file is missing or its import fails.
    """
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UserError(f"{path}: no such Python file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.parent))
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except ModuleNotFoundError as error:
        hint = "; pip install 'irscope[run]'" if error.name == "torch" else ""
        raise UserError(f"{path}: needs the module '{error.name}', which is not installed{hint}") from error
    except BaseException as error:  # user code may raise anything, SystemExit included
        raise UserError(f"{path}: importing it fails: {_one_line(error)}") from error
    return vars(module)


def find_kernel(path: Path, name: str | None) -> FoundKernel:
    """The kernel named `name`, or the file's only kernel. Raises UserError, which lists the kernels."""
    found = {
        key: kernel
        for key, value in load_file(path).items()
        if (kernel := unwrap(value)) is not None and _defined_in(kernel.function, path)
    }
    if not found:
        raise UserError(f"{path}: no @triton.jit function in it")
    if name is not None:
        if name not in found:
            raise UserError(f"{path}: no kernel '{name}'; the file has {', '.join(found)}")
        return found[name]
    called = {id(helper) for kernel in found.values() for helper in called_functions(kernel.function)}
    roots = {key: kernel for key, kernel in found.items() if id(kernel.function) not in called}
    if len(roots) != 1:
        raise UserError(f"{path}: choose one of {', '.join(roots or found)}, as {path}::KERNEL")
    return next(iter(roots.values()))


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


def _one_line(error: BaseException) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__


def unwrap(value: Any) -> FoundKernel | None:
    """The JITFunction inside its autotune and heuristics decorators; None for any other object."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    configs: tuple[Config, ...] = ()
    heuristics: dict[str, Any] = {}
    pruned = False
    while isinstance(value, Autotuner | Heuristics):
        if isinstance(value, Autotuner):
            configs = tuple(_config(config) for config in value.configs)
            pruned = bool(value.perf_model) or value.early_config_prune is not None
        else:
            heuristics = {**value.values, **heuristics}
        value = value.fn
    return FoundKernel(value, configs, heuristics, pruned) if isinstance(value, JITFunction) else None


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
