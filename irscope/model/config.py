"""Configs: the values of `triton.Config`, which are constants to the compiler.

Constexpr values that are objects: layouts, functions, enum members, tuples.

    LAYOUT=gl.BlockedLayout([1, 4], [32, 1], [4, 1], [1, 0])

A capture keeps such a value as plain data. Two equal layouts are one value, and a value can be compared
parameter by parameter.

The element types of tensors by torch's names.
"""

from __future__ import annotations

import ast
import math
import re
from dataclasses import field
from typing import TYPE_CHECKING

from irscope.model.records import frozen

if TYPE_CHECKING:
    pass


@frozen
class ObjectValue:
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


@frozen
class ListValue:
    """A list."""

    items: tuple[Value, ...]

    def __str__(self) -> str:
        return f"[{', '.join(map(literal, self.items))}]"


@frozen
class NamedValue:
    """A function, a class, an enum member: a value that only its name describes.

    `source` is the start of the sha256 of a function's text and of all that it calls, "" for other values.
    """

    name: str
    source: str = field(default="", repr=False)

    def __str__(self) -> str:
        return self.name


@frozen
class Expression:
    """A constexpr value as a user wrote it, which is evaluated in the kernel's file: `gl.AutoLayout()`."""

    text: str

    def __str__(self) -> str:
        return self.text


def literal(value: Value | Expression) -> str:
    """Return `value` as Python text: strings are quoted."""
    if isinstance(value, tuple):
        words = ", ".join(map(literal, value))
        return f"({words},)" if len(value) == 1 else f"({words})"
    return repr(value) if isinstance(value, str | float) else str(value)


def changed_parameters(a: Value, b: Value) -> list[tuple[str, str, str]]:
    """Return the parameters in which two objects differ: ("size_per_thread", "[1, 4]", "[1, 8]").

    A parameter of an object within an object has a path ("parent.order"). A parameter that only
    one of the objects sets has the text "default" in the other. Empty if the two are not objects
    of one class.
    """
    if not (isinstance(a, ObjectValue) and isinstance(b, ObjectValue) and a.type == b.type):
        return []
    ours, theirs = dict(a.arguments + a.options), dict(b.arguments + b.options)
    changes = []
    for name in dict.fromkeys([*ours, *theirs]):
        left, right = ours.get(name, _DEFAULT), theirs.get(name, _DEFAULT)
        if left != right:
            within = [(f"{name}.{path}", x, y) for path, x, y in changed_parameters(left, right)]
            changes += within or [(name, literal(left), literal(right))]
    return changes


_DEFAULT = NamedValue("default")


# The arguments of `triton.Config` other than the kernel's meta-parameters.
OPTION_NAMES = ("num_warps", "num_stages", "num_ctas", "maxnreg")

# Triton's short names of its element types, as `triton.language.dtype` spells them.
DTYPE_NAMES = frozenset(
    [
        "int1",
        "int8",
        "int16",
        "int32",
        "int64",
        "uint8",
        "uint16",
        "uint32",
        "uint64",
        "fp8e5",
        "fp8e5b16",
        "fp8e4nv",
        "fp8e4b8",
        "fp8e4b15",
        "fp16",
        "bf16",
        "fp32",
        "fp64",
    ]
)
# Other names that users write: torch's and tl's attribute names.
_DTYPE_ALIASES = {
    "float16": "fp16", "half": "fp16", "bfloat16": "bf16", "float32": "fp32", "float": "fp32",
    "float64": "fp64", "double": "fp64", "float8e5": "fp8e5", "float8e4nv": "fp8e4nv",
    "float8_e5m2": "fp8e5", "float8_e4m3fn": "fp8e4nv", "bool": "int1",
}  # fmt: skip
_SHORT_FLOAT = r"^(?:fp|(b)f)"
_DTYPE_TEXT = re.compile(r"(?:tl|gl|torch|triton\.language)\.(\w+)")


@frozen
class Dtype:
    """A constexpr value that is an element type, by Triton's name ("fp16")."""

    name: str

    def __str__(self) -> str:
        return f"tl.{self.name}"

    @property
    def attribute(self) -> str:
        """Return the element type as an attribute of triton.language: "tl.float16"."""
        return "tl." + re.sub(_SHORT_FLOAT, r"\1float", self.name)


Value = int | float | bool | str | Dtype | ObjectValue | NamedValue | ListValue | tuple["Value", ...] | None


def parse_value(text: str) -> Value:
    """Parse a constexpr value: `64`, `0.5`, `True`, `None`, `tl.float16`, `"ieee"`, `ieee`.

    Numbers, bools, None, quoted strings, lists and tuples are Python literals; `tl.` or `torch.`
    names an element type; anything else is a string, unchanged.
    """
    text = text.strip()
    if match := _DTYPE_TEXT.fullmatch(text):
        name = _DTYPE_ALIASES.get(match[1], match[1])
        if name in DTYPE_NAMES:
            return Dtype(name)
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text
    return _literal_value(value, text)


def _literal_value(value: object, text: str) -> Value:
    """Return a Python literal as a constexpr value, or `text` if it is of another type."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, tuple):
        return tuple(_literal_value(item, str(item)) for item in value)
    if isinstance(value, list):
        return ListValue(tuple(_literal_value(item, str(item)) for item in value))
    return text


def parse_argument(text: str) -> Value | Expression:
    """Parse a constexpr value that a user wrote, as `parse_value` does.

    Returns an Expression if `text` is not a literal.
    """
    value = parse_value(text)
    return Expression(text.strip()) if isinstance(value, str) and value == text.strip() else value


def format_value(value: Value) -> str:
    """Format `value` as a name part: what `parse_value` reads back, plain words unquoted."""
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and parse_value(value) != value:
        return repr(value)
    return literal(value) if isinstance(value, tuple) else str(value)


@frozen
class Config:
    """The constants of one variant, in the order they were given: meta-parameters, then options.

    `values` are pairs of name and value. A name is either a `tl.constexpr` parameter of the kernel or
    num_warps, num_stages, num_ctas or maxnreg.
    """

    values: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        return ",".join(f"{name}={format_value(value)}" for name, value in self.values)

    def get(self, name: str) -> Value:
        """Return the value of `name`, or None if the config does not set it."""
        return dict(self.values).get(name)

    @property
    def meta(self) -> dict[str, Value]:
        """Return the meta-parameters: constexpr parameters of the kernel."""
        return {name: value for name, value in self.values if name not in OPTION_NAMES}

    @property
    def options(self) -> dict[str, Value]:
        """Return num_warps, num_stages, num_ctas and maxnreg, as far as the config sets them."""
        return {name: value for name, value in self.values if name in OPTION_NAMES}

    @property
    def code(self) -> str:
        """Return `triton.Config({"BLOCK_M": 64}, num_warps=4)`, to paste into an `@triton.autotune` list.

        Options of a backend (`waves_per_eu`) are among the meta-parameters, as Triton takes them.
        """
        codes = {n: str(v) if isinstance(v, Dtype) else literal(v) for n, v in self.values}
        meta = ", ".join(f'"{name}": {codes[name]}' for name in self.meta)
        options = [f"{name}={codes[name]}" for name in OPTION_NAMES if name in codes]
        return f"triton.Config({', '.join(['{' + meta + '}', *options])})"


# Triton's pointers to what torch calls: "*fp16" -> torch.float16.
_TORCH_NAMES = {
    "fp16": "float16",
    "bf16": "bfloat16",
    "fp32": "float32",
    "fp64": "float64",
    **dict.fromkeys(("i1", "int1", "u1"), "bool"),
    "fp8e4nv": "float8_e4m3fn",
    "fp8e5": "float8_e5m2",
    "fp8e4b8": "float8_e4m3fnuz",
    "fp8e5b16": "float8_e5m2fnuz",
}
_INTEGER = re.compile(r"([iu])(\d+)")


def torch_name(type_: str) -> str:
    """Return torch's name of a pointer's element type, or of a type that has torch's name already.

    "*fp16" -> "float16", "*ki8" -> "int8", "float32" -> "float32"
    """
    name = type_.lstrip("*").removeprefix("k") if type_.startswith("*") else type_
    match = _INTEGER.fullmatch(name)
    if name in _TORCH_NAMES or match is None:
        return _TORCH_NAMES.get(name, name)
    return f"{'u' if match[1] == 'u' else ''}int{match[2]}"
