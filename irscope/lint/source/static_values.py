"""The values that static evaluation yields: literals, configs, and UNKNOWN."""

from __future__ import annotations

import ast
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, Final


class _Unknown(Enum):
    UNKNOWN = "unknown"

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN: Final = _Unknown.UNKNOWN

# Plain Python values, lists, tuples and dicts of them, ConfigValue or UNKNOWN: no narrower type fits.
Known = Any
Lookup = Callable[[str], Known]

MAX_ITEMS = 5_000
_MAX_INT = 1 << 64


@dataclass(frozen=True, slots=True)
class ConfigValue:
    """A `triton.Config(...)`. `kwargs` are its meta-parameters, None if they are unknown.

    `options` are its other arguments by name, with Triton's defaults; a value may be UNKNOWN.
    `node` is the element of the list of configs, if that is known.
    """

    kwargs: Mapping[str, Known] | None
    options: Mapping[str, Known] = field(default_factory=dict)
    node: ast.expr | None = None

    @property
    def identity(self) -> Hashable | None:
        """A key that is equal for equal configs; None if any part of the config is unknown."""
        if self.kwargs is None:
            return None
        values = [*self.kwargs.items(), *self.options.items()]
        if any(value is UNKNOWN or not isinstance(value, int | float | str | None) for _, value in values):
            return None
        return tuple(sorted((name, repr(value)) for name, value in values))


# The parameters of triton.Config after `kwargs`, in order, with their defaults (3.6 to 3.9).
CONFIG_OPTIONS: Mapping[str, Known] = {
    "num_warps": 4,
    "num_stages": 3,
    "num_ctas": 1,
    "maxnreg": None,
    "pre_hook": None,
    "ir_override": None,
}


def too_big(value: Known) -> bool:
    """Whether a value is so large that computing with it may be slow; no kernel needs such values."""
    if isinstance(value, int):
        return not -_MAX_INT < value < _MAX_INT
    return isinstance(value, list | tuple | dict | str) and len(value) > MAX_ITEMS


def unpacked(target: ast.expr, value: Known) -> dict[str, Known]:
    """The names that assigning `value` to `target` binds; UNKNOWN if the lengths do not match."""
    if isinstance(target, ast.Name):
        return {target.id: value}
    if isinstance(target, ast.Tuple | ast.List):
        fits = isinstance(value, list | tuple) and len(value) == len(target.elts)
        parts = value if fits else [UNKNOWN] * len(target.elts)
        return {
            k: v for part, one in zip(target.elts, parts, strict=True) for k, v in unpacked(part, one).items()
        }
    return {}
