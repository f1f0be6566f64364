"""The values that `@triton.heuristics` compute, without a launch.

A heuristic reads the arguments of the launch. An argument of which the signature has only the type has no
value, but it is not None, and many heuristics ask only that: `lambda args: args["bias"] is not None`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from irscope.model import OPTION_NAMES, Argument, Config, Value
from irscope.model.errors import ArgumentError, error_line
from irscope.toolchain.constants import Constants
from irscope.toolchain.kernels import FoundKernel


class HeuristicError(ArgumentError):
    """A heuristic fails for a config."""


class _ReadError(Exception):
    """A heuristic computes with a run-time argument; the text is its name."""


class _MissingError(KeyError):
    """A heuristic reads an argument that is not given; a KeyError, as in a launch."""


class _Arguments(dict[str, Any]):
    """The arguments of a heuristic."""

    def __missing__(self, name: str) -> NoReturn:
        raise _MissingError(name)


class _RuntimeArgument:
    """An argument whose value is unknown; any use of it raises, except `is None`."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def _read(self, *_: object) -> NoReturn:
        raise _ReadError(object.__getattribute__(self, "_name"))

    __getattribute__ = __bool__ = __len__ = __iter__ = __getitem__ = __call__ = __hash__ = _read
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _read
    __int__ = __index__ = __float__ = __abs__ = __neg__ = __invert__ = __str__ = _read
    __add__ = __sub__ = __mul__ = __floordiv__ = __truediv__ = __mod__ = __pow__ = __and__ = __or__ = _read
    __radd__ = __rsub__ = __rmul__ = __rfloordiv__ = __rtruediv__ = __rmod__ = __rpow__ = __rand__ = _read
    __ror__ = __xor__ = __rxor__ = __lshift__ = __rshift__ = __rlshift__ = __rrshift__ = __divmod__ = _read


def with_heuristics(
    found: FoundKernel, config: Config, arguments: Iterable[Argument], guesses: Mapping[str, Value]
) -> Config:
    """The config with the values that `@triton.heuristics` compute from it and the arguments.

    If a heuristic computes with a run-time argument, its guess is used. Raises ArgumentError if there is no
    guess, HeuristicError if a heuristic fails.
    """
    values = dict(config.values)
    known = {a.name: a.value if a.type == "constexpr" else _RuntimeArgument(a.name) for a in arguments}
    known |= values
    for name, heuristic in found.heuristics.items():
        if name in known:
            continue
        try:
            known[name] = values[name] = _value(name, heuristic, known, found.constants)
        except ArgumentError:
            if name not in guesses:
                raise
            known[name] = values[name] = guesses[name]
    return Config(tuple(sorted(values.items(), key=lambda pair: pair[0] in OPTION_NAMES)))


def _value(name: str, heuristic: Any, known: Mapping[str, Any], constants: Constants) -> Value:
    """The result of a heuristic. Raises ArgumentError if it needs a launch, or fails."""
    arguments = _Arguments({of: _real(value, constants) for of, value in known.items()})
    try:
        value = heuristic(arguments)
    except (_ReadError, _MissingError) as error:
        raise ArgumentError(
            "const",
            f"the heuristic of '{name}' reads the run-time argument '{error.args[0]}', which has no value "
            f"without a launch: add a value for '{name}'",
        ) from error
    except BaseException as error:  # user code may raise anything
        raise HeuristicError(
            "const", f"the heuristic of '{name}' fails: {error_line(error)}; give '{name}' a value"
        ) from error
    return constants.plain(value)


def _real(value: Any, constants: Constants) -> Any:
    return value if type(value) is _RuntimeArgument else constants.real(value)
