"""Constexpr values that are objects: layouts, functions, enum members, tuples.

    LAYOUT=gl.BlockedLayout([1, 4], [32, 1], [4, 1], [1, 0])

A capture keeps such a value as plain data. Two equal layouts are one value, and a value can be compared
parameter by parameter.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from irscope.model.frozen_value import FrozenValue

if TYPE_CHECKING:
    from irscope.model.tuning_config import Value


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ObjectValue(FrozenValue):
    """An object as the call that makes it.

    `type` is the name of its class ("gl.BlockedLayout"). `arguments` are the parameters without a default
    in their order, `options` those of the others that differ from their default.
    """

    type: str
    arguments: tuple[tuple[str, Value], ...] = ()
    options: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        words = [literal(value) for _, value in self.arguments]
        words += [f"{name}={literal(value)}" for name, value in self.options]
        return f"{self.type}({', '.join(words)})"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class ListValue(FrozenValue):
    """A list."""

    items: tuple[Value, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(literal, self.items))}]"


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class NamedValue(FrozenValue):
    """A function, a class, an enum member: a value that only its name describes.

    `source` is the start of the sha256 of a function's text and of all that it calls, "" for other values.
    """

    name: str
    source: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Expression(FrozenValue):
    """A constexpr value as a user wrote it, which is evaluated in the kernel's file: `gl.AutoLayout()`."""

    text: str

    def __str__(self) -> str:
        return self.text


def literal(value: Value | Expression) -> str:
    """`value` as Python text: strings are quoted."""
    if isinstance(value, tuple):
        words = ", ".join(map(literal, value))
        return f"({words},)" if len(value) == 1 else f"({words})"
    return repr(value) if isinstance(value, str | float) else str(value)


def changed_parameters(a: Value, b: Value) -> list[tuple[str, str, str]]:
    """The parameters in which two objects differ: ("size_per_thread", "[1, 4]", "[1, 8]").

    A parameter of an object within an object has a path ("parent.order"). A parameter that only one of
    the objects sets has the text "default" in the other. Empty if the two are not objects of one class.
    """
    if not (isinstance(a, ObjectValue) and isinstance(b, ObjectValue) and a.type == b.type):
        return []
    ours, theirs = dict(a.arguments + a.options), dict(b.arguments + b.options)
    found = []
    for name in dict.fromkeys([*ours, *theirs]):
        left, right = ours.get(name, _DEFAULT), theirs.get(name, _DEFAULT)
        if left != right:
            within = [(f"{name}.{path}", x, y) for path, x, y in changed_parameters(left, right)]
            found += within or [(name, literal(left), literal(right))]
    return found


_DEFAULT = NamedValue("default")
