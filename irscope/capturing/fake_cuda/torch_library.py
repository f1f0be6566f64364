"""Operators that the program registers with torch: below them, too, tensors pose.

Imported only where torch is installed.
"""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable, Mapping
from contextlib import suppress
from typing import Any

import torch
from torch.utils._pytree import tree_leaves

from irscope.capturing.fake_cuda.dispatch_mode import posing
from irscope.capturing.fake_cuda.tensor_tags import on_cpu, set_on_cpu

# torch's own way to register the program's functions; what else it registers is its own.
_CUSTOM_OPS = "torch._library.custom_ops"
_DEFAULT = "CompositeExplicitAutograd"


def mirrored(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Library.impl`, which gives the CPU what is meant for CUDA: the tensors lie there.

    Where an operator has one for each, the tensors' pose decides.
    """
    known: dict[tuple[str, str], dict[str, Callable[..., Any]]] = {}

    @functools.wraps(original)
    def impl(self: Any, name: Any, function: Any, dispatch_key: str = "", **kwargs: Any) -> Any:
        key = dispatch_key or self.dispatch_key
        if key not in ("CPU", "CUDA", _DEFAULT) or not callable(function) or _is_torchs(function):
            return original(self, name, function, dispatch_key, **kwargs)
        given = known.setdefault((self.ns, _name(name)), {})
        given[key] = _posed(function, key)
        if key == _DEFAULT:
            return original(self, name, given[key], key, **kwargs)
        with warnings.catch_warnings(), suppress(RuntimeError):  # the program's other one is there already
            warnings.simplefilter("ignore", UserWarning)  # torch may have one for the CPU: not wanted
            original(self, name, functools.partial(_call, given), "CPU", **kwargs)
        return None

    return impl


def _name(name: Any) -> str:
    """An operator's name without its namespace; an overload that is named is part of it."""
    if isinstance(name, str):
        return name.rpartition("::")[2]
    overload = name._schema.overload_name
    return f"{name._schema.name.rpartition('::')[2]}{f'.{overload}' if overload else ''}"


def _call(given: Mapping[str, Callable[..., Any]], *args: Any, **kwargs: Any) -> Any:
    """Calls the implementation for the device on which the program has the tensors."""
    tensors = [leaf for leaf in tree_leaves((args, kwargs)) if isinstance(leaf, torch.Tensor)]
    wanted = ("CPU", "CUDA") if tensors and all(map(on_cpu, tensors)) else ("CUDA", _DEFAULT, "CPU")
    return next(given[key] for key in wanted if key in given)(*args, **kwargs)


def _posed(function: Callable[..., Any], key: str) -> Callable[..., Any]:
    """An implementation under torch's modes, which torch switches off for it."""

    @functools.wraps(function)
    def posed(*args: Any, **kwargs: Any) -> Any:
        with posing():
            result = function(*args, **kwargs)
        if key == "CUDA":
            set_on_cpu(result, False)
        return result

    return posed


def _is_torchs(function: Any) -> bool:
    module = getattr(function, "__module__", None) or ""
    return module.startswith("torch.") and module != _CUSTOM_OPS
