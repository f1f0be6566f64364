"""Configs: the values of `triton.Config`, which are constants to the compiler."""

from __future__ import annotations

import ast
import math
import re
from dataclasses import dataclass

from irscope.model.frozen_value import FrozenValue
from irscope.model.object_values import Expression, ListValue, NamedValue, ObjectValue, literal

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


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Dtype(FrozenValue):
    """A constexpr value that is an element type, by Triton's name ("fp16")."""

    name: str

    def __str__(self) -> str:
        return f"tl.{self.name}"

    @property
    def attribute(self) -> str:
        """The element type as an attribute of triton.language: "tl.float16"."""
        return "tl." + re.sub(_SHORT_FLOAT, r"\1float", self.name)


Value = int | float | bool | str | Dtype | ObjectValue | NamedValue | ListValue | tuple["Value", ...] | None


def parse_value(text: str) -> Value:
    """The constexpr value that `text` writes: `64`, `0.5`, `True`, `None`, `tl.float16`, `"ieee"`, `ieee`.

    Numbers, bools, None, quoted strings, lists and tuples are Python literals; `tl.` or `torch.` names an
    element type; anything else is a string, unchanged.
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
    """A Python literal as a constexpr value; `text` if it is of another type."""
    if value is None or isinstance(value, int | float | str):
        return value
    if isinstance(value, tuple):
        return tuple(_literal_value(item, str(item)) for item in value)
    if isinstance(value, list):
        return ListValue(tuple(_literal_value(item, str(item)) for item in value))
    return text


def parse_argument(text: str) -> Value | Expression:
    """The constexpr value that a user wrote: `parse_value`, or an Expression if `text` is not a literal."""
    value = parse_value(text)
    return Expression(text.strip()) if isinstance(value, str) and value == text.strip() else value


def format_value(value: Value) -> str:
    """`value` as a name part: what `parse_value` reads back, strings that are plain words unquoted."""
    if isinstance(value, float) and math.isfinite(value):
        return repr(value)
    if isinstance(value, str) and parse_value(value) != value:
        return repr(value)
    return literal(value) if isinstance(value, tuple) else str(value)


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Config(FrozenValue):
    """The constants of one variant, in the order they were given: meta-parameters, then options.

    `values` are pairs of name and value. A name is either a `tl.constexpr` parameter of the kernel or
    num_warps, num_stages, num_ctas or maxnreg.
    """

    values: tuple[tuple[str, Value], ...] = ()

    def __str__(self) -> str:
        return ",".join(f"{name}={format_value(value)}" for name, value in self.values)

    def get(self, name: str) -> Value:
        """The value of `name`; None if the config does not set it."""
        return dict(self.values).get(name)

    @property
    def meta(self) -> dict[str, Value]:
        """The meta-parameters: constexpr parameters of the kernel."""
        return {name: value for name, value in self.values if name not in OPTION_NAMES}

    @property
    def options(self) -> dict[str, Value]:
        """num_warps, num_stages, num_ctas and maxnreg, as far as the config sets them."""
        return {name: value for name, value in self.values if name in OPTION_NAMES}
