"""A program's own operators: those for CUDA are registered for the CPU too. Needs torch."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

from irscope.compiling.fake_cuda.dispatch_mode import fake_cuda_modes
from irscope.compiling.fake_cuda.tensor_tags import on_cpu, set_on_cpu, tensors_in
from irscope.compiling.fake_cuda.unknown_value import Assumptions

# The module of torch that registers functions of the program; its other modules register torch's own.
_CUSTOM_OPS = "torch._library.custom_ops"
_DEFAULT = "CompositeExplicitAutograd"


class ProgramOperators:
    """The operators that the program implements in Python, its own and torch's that it overrides.

    CUDA implementations are registered for the CPU too, where the tensors are. If an operator has one for
    each device, the device that the program sees decides.
    """

    def __init__(self, assumed: Assumptions) -> None:
        self.assumed = assumed
        self._implementations: dict[tuple[str, str], dict[str, Callable[..., Any]]] = {}

    def implements(self, func: Any) -> bool:
        """Return True if the program implements this overload."""
        return (func.namespace, _operator_name(func)) in self._implementations

    def registering(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """`Library.impl`, which also registers CUDA implementations for the CPU."""

        @functools.wraps(original)
        def impl(library: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
            key = dispatch_key or library.dispatch_key
            if key not in ("CPU", "CUDA", _DEFAULT) or not callable(function) or _is_torch_function(function):
                return original(library, name, function, dispatch_key, **kwargs)
            implementations = self._implementations.setdefault((library.ns, _operator_name(name)), {})
            implementations[key] = self._with_modes(function, key)
            if key == _DEFAULT:
                return original(library, name, implementations[key], key, **kwargs)
            # A RuntimeError: the implementation of the other device is registered already.
            with warnings.catch_warnings(), suppress(RuntimeError):
                warnings.simplefilter("ignore", UserWarning)  # this overrides torch's own for the CPU
                original(library, name, functools.partial(_call, implementations), "CPU", **kwargs)
            return None

        return impl

    def _with_modes(self, function: Callable[..., Any], key: str) -> Callable[..., Any]:
        """Wrap an implementation so that the modes are on: torch turns them off for it."""

        @functools.wraps(function)
        def call(*args: Any, **kwargs: Any) -> Any:
            with fake_cuda_modes(self):
                result = function(*args, **kwargs)
            if key == "CUDA":
                set_on_cpu(result, False)
            return result

        return call


def _operator_name(name: Any) -> str:
    """Return an operator's name without its namespace, but with its overload if it has one."""
    if isinstance(name, str):
        return name.rpartition("::")[2].removesuffix(".default")
    overload = name._schema.overload_name
    return f"{name._schema.name.rpartition('::')[2]}{f'.{overload}' if overload else ''}"


def _call(implementations: Mapping[str, Callable[..., Any]], *args: Any, **kwargs: Any) -> Any:
    """Call the implementation for the device that the tensors have in the program's view."""
    tensors = tensors_in(args, kwargs)
    keys = ("CPU", "CUDA") if tensors and all(map(on_cpu, tensors)) else ("CUDA", _DEFAULT, "CPU")
    return next(implementations[key] for key in keys if key in implementations)(*args, **kwargs)


def _is_torch_function(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.startswith("torch.") and module != _CUSTOM_OPS
