"""The call of an autotuner that is to be pruned: its kernel, configs, arguments and target.

Triton calls `early_config_prune(configs, named_args, **kwargs)` with everything that the launch was given,
`grid` and `warmup` included, but not with the kernel: the autotuner is found on the call stack.
"""

from __future__ import annotations

import copy
import inspect
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import Any

from irscope.model import UserError

# Keyword arguments of a launch that are none of the kernel.
_OF_LAUNCH = ("grid", "warmup")
# Frames between the prune function and the autotuner: those of the user's own prune function.
_MOST_FRAMES = 50


@dataclass(frozen=True)
class AutotunerCall:
    """An autotuned launch: `function` is Triton's JITFunction; `grid` a tuple or a function, None if unknown.

    `heuristics` are those between the autotuner and the function, in the order in which they apply.
    `hook` is the autotuner's own pre_hook if the user wrote it.
    """

    function: Any
    heuristics: tuple[Mapping[str, Any], ...]
    arguments: Mapping[str, Any]
    grid: Any
    target: Any
    hook: Any = None

    def values(self, config: Any) -> dict[str, Any]:
        """The keyword arguments of the launch with a `triton.Config`, as the autotuner would pass them.

        A pre_hook runs only if it can change what is compiled: on copies of the tensor descriptors.
        """
        named = {name: _copied(value) for name, value in self.arguments.items()}
        current = {**named, **config.all_kwargs()}
        if any(_is_descriptor(value) for value in named.values()):
            for hook in (config.pre_hook, self.hook):
                if hook is not None:
                    hook(current)
        for heuristics in self.heuristics:
            for name, heuristic in heuristics.items():
                current[name] = heuristic(dict(current))
        return current


def _is_descriptor(value: Any) -> bool:
    return hasattr(value, "block_shape") and hasattr(value, "base")


def _copied(value: Any) -> Any:
    """A copy of a tensor descriptor, with its own block shape; anything else itself."""
    if not _is_descriptor(value):
        return value
    copied = copy.copy(value)
    if isinstance(copied.block_shape, list):
        object.__setattr__(copied, "block_shape", list(copied.block_shape))
    return copied


def call_of_autotuner(named_args: Mapping[str, Any], kwargs: Mapping[str, Any]) -> AutotunerCall:
    """The call of the autotuner on the stack. Raises UserError if there is none, or an unknown decorator."""
    from triton.runtime import driver

    autotuner = _autotuner_on_stack()
    if autotuner is None:
        raise UserError("it was not called by @triton.autotune, so the kernel is not known")
    function, heuristics = unwrapped(autotuner.fn)
    given = {**named_args, **{k: v for k, v in kwargs.items() if k not in _OF_LAUNCH}}
    hook = autotuner.pre_hook if getattr(autotuner, "user_defined_pre_hook", False) else None
    target = driver.active.get_current_target()
    return AutotunerCall(function, heuristics, given, kwargs.get("grid"), target, hook)


def unwrapped(decorated: Any) -> tuple[Any, tuple[Mapping[str, Any], ...]]:
    """The JITFunction in a decorated kernel, and its heuristics. Raises UserError for another decorator."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    found: list[Mapping[str, Any]] = []
    while not isinstance(decorated, JITFunction):
        if isinstance(decorated, Heuristics):
            found.append(decorated.values)
        elif not isinstance(decorated, Autotuner):
            raise UserError(f"the decorator {type(decorated).__name__} may change the kernel's arguments")
        decorated = decorated.fn
    return decorated, tuple(found)


def _autotuner_on_stack() -> Any:
    from triton.runtime.autotuner import Autotuner

    for frame in _frames():
        found = frame.f_locals.get("self")
        if isinstance(found, Autotuner):
            return found
    return None


def _frames() -> Iterator[FrameType]:
    frame = sys._getframe(1)
    for _ in range(_MOST_FRAMES):
        if frame.f_back is None:
            return
        frame = frame.f_back
        yield frame


def call_with(kernel: Any, arguments: Sequence[Any], named: Mapping[str, Any], target: Any) -> AutotunerCall:
    """A launch of `kernel` with these arguments. Raises UserError if they do not fit the kernel."""
    function, heuristics = unwrapped(kernel)
    try:
        bound = inspect.signature(function.fn).bind_partial(
            *arguments, **{name: value for name, value in named.items() if name in function.arg_names}
        )
    except TypeError as error:
        raise UserError(f"{function.__name__}: {error}") from error
    options = {k: v for k, v in named.items() if k not in function.arg_names and k not in _OF_LAUNCH}
    return AutotunerCall(function, heuristics, {**bound.arguments, **options}, named.get("grid"), target)
