"""Objects as Python expressions that make equal ones: constants, element types, layouts, named tuples."""

from __future__ import annotations

import builtins
import dataclasses
import enum
import importlib
import math
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

_GLUON = "triton.experimental.gluon.language"
# The packages that a reproducer may import besides the standard library: none of them is the user's.
_ROOTS = frozenset(["triton", "torch", "numpy"])
# Part of torch, but generated kernels are plain Triton once its few functions are in their file.
_INLINED = "torch._inductor"
# The usual names of modules, and those where a public name is searched for, in this order.
MODULE_NAMES = {
    "triton": "triton",
    "triton.language": "tl",
    "triton.language.core": "core",
    _GLUON: "gl",
    "triton.experimental.gluon": "gluon",
    "torch": "torch",
}
_PUBLIC = ("triton.language", "triton", _GLUON, "torch")
_MOST_NESTED = 50


class CannotWriteError(Exception):
    """An object that no text makes again; its text says which and why."""


# An object that needs a name (a function, a class, a module), and the name that it should have -> its name.
Name = Callable[[Any, str], str]


def is_public(module: str) -> bool:
    """Return True if a reproducer may import this module."""
    root = module.partition(".")[0]
    if module == _INLINED or module.startswith(f"{_INLINED}."):
        return False
    return root in _ROOTS or (root in sys.stdlib_module_names and root != "__main__")


def imported_from(value: Any) -> tuple[str, str] | None:
    """Return the public module and the name in it under which `value` can be imported.

    Returns None if there is none.
    """
    module, name = getattr(value, "__module__", None), getattr(value, "__name__", None)
    if not (isinstance(module, str) and isinstance(name, str)) or not is_public(module):
        return None
    attribute = getattr(sys.modules.get(module), name, None)  # nothing is imported in the user's program
    return (module, name) if attribute is value else None


def public_name(value: Any) -> tuple[str, str] | None:
    """Return the module that users import and the name in it that is `value`.

    For example, ("triton.language", "float16").
    """
    name = getattr(value, "__name__", None)
    for module in _PUBLIC:
        loaded = sys.modules.get(module)
        if loaded is not None and isinstance(name, str) and getattr(loaded, name, None) is value:
            return module, name
    return None


def expression(value: Any, name: Name, depth: int = 0) -> str:
    """Return the text of an expression that makes `value`. Raises CannotWriteError."""
    if depth > _MOST_NESTED:
        raise CannotWriteError("a value that contains itself")

    def inner(item: Any) -> str:
        return expression(item, name, depth + 1)

    text = _scalar(value, name) or _object(value, name, inner)
    if text is None and callable(value):
        text = _member(value, name)
    if text is None:
        kind = f"{type(value).__module__}.{type(value).__qualname__}"
        raise CannotWriteError(f"a {kind} cannot be written as text")
    return text


def _scalar(value: Any, name: Name) -> str | None:
    """Return the text of an enum's member, a number, a string or a module; None for anything else."""
    if isinstance(value, enum.Enum):
        return f"{name(type(value), type(value).__name__)}.{value.name}"
    if isinstance(value, ModuleType):
        return name(value, value.__name__.rpartition(".")[2])
    if value is None or value is Ellipsis or isinstance(value, bool | str | bytes):
        return "..." if value is Ellipsis else repr(value)
    if isinstance(value, int):
        return repr(int(value))
    if isinstance(value, float):
        return repr(float(value)) if math.isfinite(value) else f'float("{float(value)}")'
    return None


def _object(value: Any, name: Name, inner: Callable[[Any], str]) -> str | None:
    """Return the text of a container, an element type or a dataclass instance, else None."""
    if type(value).__name__ == "constexpr":
        return f"{_member(type(value), name)}({inner(value.value)})"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{inner(key)}: {inner(item)}" for key, item in value.items()) + "}"
    fields: Any = getattr(type(value), "_fields", None) if isinstance(value, tuple) else None
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
    if fields is not None:
        arguments = ", ".join(f"{field}={inner(getattr(value, field))}" for field in fields)
        return f"{_member(type(value), name)}({arguments})"
    is_tritons = type(value).__name__ == "tuple" and type(value).__module__.startswith("triton.language")
    if not (type(value) in (list, tuple, set, frozenset) or is_tritons):
        return _type(value, name, inner)
    items = ", ".join(map(inner, value))
    if isinstance(value, list | set | frozenset):
        return f"[{items}]" if isinstance(value, list) else f"{type(value).__name__}([{items}])"
    return f"({items},)" if len(value) == 1 else f"({items})"


def _member(value: Any, name: Name) -> str:
    """Return the text of a function or class: `tl.constexpr`, `gl.BlockedLayout`, or the user's name."""
    public = public_name(value)
    if public is not None:
        module, attribute = public
        return f"{name(sys.modules[module], MODULE_NAMES.get(module, module))}.{attribute}"
    label = getattr(value, "__name__", type(value).__name__)
    if vars(builtins).get(label) is value:
        return str(label)
    return name(value, label)


def _type(value: Any, name: Name, inner: Callable[[Any], str]) -> str | None:
    """Return the text of an element type of tl or torch, or of a pointer or tensor type, else None."""
    module, kind = type(value).__module__, type(value).__name__
    if module == "torch" and kind == "dtype":
        return f"{name(sys.modules['torch'], 'torch')}.{str(value).removeprefix('torch.')}"
    if not module.startswith("triton.language.core"):
        return None
    language = importlib.import_module("triton.language")
    prefix = name(language, "tl")
    if kind == "pointer_type":
        more = f", {value.address_space}" if value.address_space != 1 else ""
        return f"{prefix}.pointer_type({inner(value.element_ty)}{more})"
    if kind == "block_type":
        return f"{prefix}.block_type({inner(value.element_ty)}, {inner(list(value.shape))})"
    if kind == "dtype":
        names = (dtype_name for dtype_name, member in vars(language).items() if type(member) is type(value))
        member = next((dtype_name for dtype_name in names if getattr(language, dtype_name) == value), None)
        return f"{prefix}.{member}" if member else f"{prefix}.dtype({value.name!r})"
    return None
