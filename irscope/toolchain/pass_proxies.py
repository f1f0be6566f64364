"""Proxies of libtriton's modules that remember which passes a backend adds to a pass manager.

Triton's backends reach `ir.pass_manager` and `passes.*.add_*` through names in their own modules. Patched
with these proxies, each call is recorded and forwarded; the pipeline does not change.

This module also runs in Pythons that have Triton and none of the packages that irscope needs.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from types import ModuleType, SimpleNamespace
from typing import Any

_LIBTRITON = "triton._C.libtriton"


@dataclass(frozen=True, slots=True)
class AddedPass:
    """A call of libtriton that added a pass, without the pass manager; called with one, it adds the pass."""

    function: Callable[..., Any]
    arguments: tuple[Any, ...] = ()
    keywords: Mapping[str, Any] = field(default_factory=dict)

    def __call__(self, manager: Any) -> None:
        """Adds the pass to a pass manager."""
        self.function(manager, *self.arguments, **self.keywords)


def compiler_modules(backend: Any) -> list[ModuleType]:
    """The modules of a backend that use libtriton: of its class, its base classes and its imports."""
    own = [sys.modules[each.__module__] for each in type(backend).__mro__]
    borrowed = [value for module in own for value in vars(module).values() if isinstance(value, ModuleType)]
    found = {id(module): module for module in (*own, *borrowed) if of_libtriton(vars(module).get("ir"))}
    return list(found.values())


def of_libtriton(value: object) -> bool:
    """Whether a value is a module within libtriton."""
    return isinstance(value, ModuleType) and value.__name__.startswith(f"{_LIBTRITON}.")


def with_names(module: ModuleType, **others: Any) -> SimpleNamespace:
    """The names of a module, some of them with another value."""
    return SimpleNamespace(**vars(module) | others)


def recording_manager(real: Any) -> Any:
    """A subclass of libtriton's pass manager with the list `added` of `recording_module`, and `debugged`."""

    class RecordingManager(real):  # type: ignore[misc] # libtriton's class has no types
        def __init__(self, context: Any) -> None:
            super().__init__(context)
            self.added: list[AddedPass] = []
            self.debugged = False

        def enable_debug(self) -> Any:
            self.debugged = True
            return super().enable_debug()

    return RecordingManager


def recording_module(module: ModuleType, manager: Any) -> SimpleNamespace:
    """A module of libtriton and its submodules; its functions record the passes added to a `manager`.

    Instances of the class `manager` have a list `added`, to which an AddedPass is appended per pass.
    """
    names: dict[str, Any] = {}
    for name, value in vars(module).items():
        if isinstance(value, ModuleType):
            names[name] = recording_module(value, manager)
        elif callable(value) and not isinstance(value, type):
            names[name] = _recording(value, manager)
    return with_names(module, **names)


def _recording(function: Callable[..., Any], manager: Any) -> Callable[..., Any]:
    def add(*args: Any, **kwargs: Any) -> Any:
        if args and isinstance(args[0], manager):
            args[0].added.append(AddedPass(function, args[1:], kwargs))
        return function(*args, **kwargs)

    return add


def pipeline_text(manager: Any) -> str:
    """The passes of a manager in MLIR's notation, without the anchor: "cse,canonicalize{...}"."""
    text: str = manager.get_pipeline_str()
    return text.partition("(")[2].removesuffix(")")
