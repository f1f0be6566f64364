"""The values that `@triton.heuristics` compute, without a launch.

A heuristic reads the arguments of the launch. Those that the signature only gives a type have no value here,
but they are not None, which is all that many heuristics ask: `lambda args: args["bias"] is not None`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, NoReturn

from irscope.model import OPTION_NAMES, Argument, Config, Value
from irscope.model.errors import ArgumentError
from irscope.toolchain.constants import Constants
from irscope.toolchain.kernels import FoundKernel


class _ReadError(Exception):
    """A heuristic computes with a run-time argument; the text is its name."""


class _RuntimeArgument:
    """An argument whose value is unknown; `is None` is all that it answers."""

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

    If a heuristic computes with a run-time argument, which has no value here, the guess counts. Raises
    ArgumentError if there is none.
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
    """What a heuristic returns. Raises ArgumentError if it cannot be computed here."""
    try:
        return constants.plain(heuristic({of: _real(value, constants) for of, value in known.items()}))
    except (_ReadError, KeyError) as error:
        argument = f"'{error}'" if isinstance(error, _ReadError) else str(error)
        raise ArgumentError(
            "const",
            f"the heuristic of '{name}' reads the run-time argument {argument}, which has no value here: "
            f"add a value for '{name}'",
        ) from error
    except Exception as error:  # user code may raise anything
        problem = f"{type(error).__name__}: {error}"
        raise ArgumentError(
            "const", f"the heuristic of '{name}' fails: {problem}; give '{name}' a value"
        ) from error


def _real(value: Any, constants: Constants) -> Any:
    return value if type(value) is _RuntimeArgument else constants.real(value)
