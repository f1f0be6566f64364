"""Launches that a user writes: `grid=(cdiv(M, BLOCK_M), cdiv(N, BLOCK_N)), M=4096, N=4096, x=[M, N]`.

A value is an expression of numbers, other values of the text, and the constants of the variant. The integers
of a tensor are made by a function, `ids=random(4096, 128)`, or a file has them, `ids=@ids.npy`; `len(ids)` is
their number. A grid may also be written as in Python, `lambda META: (triton.cdiv(M, META["BLOCK_M"]),)`.
Nothing is executed (`irscope.lint.source.evaluate`).

Launches that nobody made, stored in a capture, so that its variants can be estimated.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.facts.source.tokens import names_in
from irscope.lint.source.evaluate import UNKNOWN, Evaluator, StaticValue
from irscope.model import OPTION_NAMES, Argument, Launch, UserError, Variant
from irscope.model.config import torch_name
from irscope.model.integer_values import (
    INTEGER_TYPES,
    MAKERS,
    MOST_BYTES,
    encoded_integers,
    made_integers,
)
from irscope.model.records import frozen
from irscope.model.text import clipped, split_entries, with_nearest
from irscope.store import CaptureWriter
from irscope.workspace.workspace import Workspace

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

_GRID, _OPTION = "grid", "--launch"
_EXAMPLE = 'write --launch "grid=(cdiv(M, BLOCK_M),), M=4096"'
_MAX_TEXT, _MAX_QUOTED = 2000, 60
# Triton passes the sizes of a grid as 32-bit integers.
_MAX_GRID = 2**31 - 1
# The functions that need no module in front, with their full names.
_FUNCTIONS = {
    **{name: name for name in ("min", "max", "abs", "int")},
    **{name: f"triton.{name}" for name in ("cdiv", "next_power_of_2")},
}
# A tensor or a tensor descriptor: the element, and the block of a descriptor; in Gluon, a layout follows.
_TENSOR = re.compile(r"(?:\*k?|tensordesc<)(\w+)(?:\[(.*?)\])?")


@frozen
class _Written:
    """An expression, and its text; for a file, the integers in it."""

    text: str
    node: ast.expr
    integers: NDArray[np.int64] | None = field(default=None, compare=False)

    @property
    def names(self) -> set[str]:
        """Return the names that it uses, other than functions."""
        return names_in(self.node) - _FUNCTIONS.keys() - MAKERS.keys() - {"triton", "tl", "len"}

    @property
    def maker(self) -> str:
        """Return the function that makes the integers of a tensor; "" for another value."""
        match self.node:
            case ast.Call(func=ast.Name(id=name)) if name in MAKERS:
                return name
        return ""

    def with_lengths(self, made: Mapping[str, NDArray[np.int64]]) -> _Written:
        """Return the expression with the numbers of integers that were made in place of `len(name)`."""
        return replace(self, node=_Lengths(made).visit(deepcopy(self.node))) if made else self


class _Lengths(ast.NodeTransformer):
    """Replaces `len(name)` by the number of integers that were made for the name."""

    def __init__(self, made: Mapping[str, NDArray[np.int64]]) -> None:
        self._made = made

    def visit_Call(self, node: ast.Call) -> ast.expr:
        self.generic_visit(node)
        match node:
            case ast.Call(func=ast.Name(id="len"), args=[ast.Name(id=name)]) if name in self._made:
                return ast.Constant(len(self._made[name]))
        return node


@frozen
class LaunchExpression:
    """A launch as the user wrote it: the grid, and the values of arguments and other names."""

    grid: _Written
    values: Mapping[str, _Written]

    def number(self, name: str) -> int:
        """Return the integer that a name is set to. Raises UserError if it is not set to one."""
        written = self.values.get(name)
        if written is None or not written.text.isdigit():
            raise UserError(f"--launch: give {name} a number, such as {name}=4096")
        return int(written.text)

    def with_number(self, name: str, number: int) -> LaunchExpression:
        """Return the launch with another value of a name."""
        return replace(self, values={**self.values, name: _Written(str(number), ast.Constant(number))})

    def checked(self, variants: Iterable[Variant], used: Iterable[str] = ()) -> LaunchExpression:
        """Return the launch. Raises UserError for a name of no parameter, constant or expression.

        `used` are names that something else uses.
        """
        known = set(used).union(*(written.names for written in (self.grid, *self.values.values())))
        for variant in variants:
            known.update(variant.kernel.parameters, number_constants(variant))
        for name in sorted(self.values.keys() - known):
            raise UserError(with_nearest(f"--launch: no parameter or expression uses '{name}'", name, known))
        return self

    def launch_of(self, variant: Variant) -> Launch:
        """Return the launch of `variant`. Raises UserError if a value is missing or of a wrong kind."""
        names, made = self._evaluated(variant)
        arguments = tuple(_arguments(variant, names, self.values))
        values = tuple(_encoded(variant, made))
        return Launch(_grid(self.grid.with_lengths(made), names), arguments, values=values)

    def names_of(self, variant: Variant) -> dict[str, StaticValue]:
        """Return what the variant's constants and the written names are. Raises UserError as `launch_of`."""
        return self._evaluated(variant)[0]

    def _evaluated(self, variant: Variant) -> tuple[dict[str, StaticValue], dict[str, NDArray[np.int64]]]:
        """Return the values of names, and the integers of tensors."""
        names: dict[str, StaticValue] = number_constants(variant)
        made: dict[str, NDArray[np.int64]] = {}
        pending = dict(self.values)
        while pending:  # in the order in which they need each other
            ready = [
                name
                for name, expression in pending.items()
                if not expression.names & (pending.keys() - {name})
            ]
            for name in ready or list(pending)[:1]:
                written = pending.pop(name).with_lengths(made)
                integers = (
                    _made(written, names) if written.maker else made.get(written.text, written.integers)
                )
                if integers is None:
                    names[name] = _value(written, names)
                else:
                    made[name], names[name] = integers.ravel(), integers.shape
        return names, made


def parse_launch(text: str) -> LaunchExpression:
    """Parse `grid=(...), NAME=VALUE, ...`.

    Raises UserError, which names the part, if it is malformed.
    """
    if len(text) > _MAX_TEXT:
        raise UserError(f"--launch: longer than {_MAX_TEXT:,} characters")
    parts = {
        name: _read(value) if value.startswith("@") else _parsed(value)
        for name, value in named_entries(text, _OPTION, _EXAMPLE).items()
    }
    if _GRID not in parts:
        raise UserError(f"--launch: there is no grid; {_EXAMPLE}")
    return LaunchExpression(parts.pop(_GRID), parts)


def named_entries(text: str, option: str, example: str) -> dict[str, str]:
    """Split `M=4096, N=M // 2`. Raises UserError, which begins with `option`, for a part that is wrong."""
    entries: dict[str, str] = {}
    for part in split_entries(text):
        name, equals, value = (piece.strip() for piece in part.partition("="))
        if not (equals and name.isidentifier() and value):
            raise UserError(f"{option}: '{clipped(part, _MAX_QUOTED)}' is not NAME=VALUE; {example}")
        if name in entries:
            raise UserError(f"{option}: '{name}' has two values")
        entries[name] = value
    return entries


def fitting_launches(
    variants: Sequence[Variant],
    written: Sequence[str | LaunchExpression],
    counterparts: Sequence[Variant] = (),
) -> tuple[list[dict[int, Launch]], dict[int, str]]:
    """Return each launch by the ids of the variants that it fits, and why one does not fit, by id.

    `counterparts` are variants that are launched in the same way, so their names are known, too. Raises
    UserError if a launch is malformed, has a name that nothing uses, or fits no variant.
    """
    result: list[dict[int, Launch]] = []
    refusals: dict[int, str] = {}
    for number, item in enumerate(written, 1):
        expression = parse_launch(item).checked([*variants, *counterparts]) if isinstance(item, str) else item
        which = f"{_OPTION} {number} of {len(written)}" if len(written) > 1 else _OPTION
        launches: dict[int, Launch] = {}
        for variant in variants:
            try:
                launches[variant.id] = expression.launch_of(variant)
            except UserError as error:  # noqa: PERF203 - compiled for other arguments, or another kernel
                refusals[variant.id] = f"{which}{str(error).removeprefix(_OPTION)}"
        if variants and not launches:
            raise UserError(refusals[variants[0].id])
        result.append(launches)
    return result, refusals


def launched(
    variants: Sequence[Variant], texts: Sequence[str], counterparts: Sequence[Variant] = ()
) -> tuple[list[Variant], dict[int, str]]:
    """Return the variants with the launches that fit them, and why one does not. As `fitting_launches`."""
    fitting, refusals = fitting_launches(variants, texts, counterparts)
    result = []
    for variant in variants:
        launches = (item[variant.id] for item in fitting if variant.id in item)
        result.append(replace(variant, launches=tuple(launches)))
    return result, refusals


def _parsed(text: str, option: str = _OPTION) -> _Written:
    try:
        node = ast.parse(text, mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        example = f"; {_EXAMPLE}" if option == _OPTION else ""
        raise UserError(f"{option}: '{text}' is not an expression{example}") from None
    return _Written(text, node.body if isinstance(node, ast.Lambda) else node)


def _read(text: str) -> _Written:
    """Read the integers of a file, "@ids.npy". Raises UserError if it has none, or too many."""
    import numpy as np

    path = text.removeprefix("@")
    try:
        # Maps the file: only its header is read before its type and size are known.
        array = np.lib.format.open_memmap(path, mode="r") if Path(path).is_file() else None
    except (OSError, ValueError, EOFError):
        raise UserError(f"--launch: '{path}' is not a file that numpy.save wrote") from None
    if array is None:
        raise UserError(f"--launch: there is no file '{path}'")
    if not np.can_cast(array.dtype, np.int64):
        raise UserError(f"--launch: '{path}' has values of type {array.dtype}, not integers")
    if not 0 < array.size <= MOST_BYTES // 2:
        raise UserError(f"--launch: '{path}' has {array.size:,} integers, not 1 to {MOST_BYTES // 2:,}")
    return _Written(text, ast.Constant(path), np.array(array, np.int64))


def _value(written: _Written, names: Mapping[str, StaticValue], option: str = _OPTION) -> StaticValue:
    """Evaluate an expression. Raises UserError, which names what is unknown, if it has no value."""
    lookup = partial(_named, names)
    value = Evaluator(_dotted)(written.node, lookup)
    value = tuple(value) if isinstance(value, list) else value
    if all(isinstance(item, int | float) for item in (value if isinstance(value, tuple) else [value])):
        return value
    text = clipped(written.text, _MAX_QUOTED)
    if missing := sorted(name for name in written.names if lookup(name) is UNKNOWN):
        known_names = ", ".join(sorted(names)) or "nothing"
        raise UserError(f"{option}: '{missing[0]}' in '{text}' has no value; known: {known_names}")
    raise UserError(
        f"{option}: '{text}' is not a number; use numbers, names, + - * // %, {', '.join(_FUNCTIONS)}"
    )


def _made(written: _Written, names: Mapping[str, StaticValue]) -> NDArray[np.int64]:
    """Return the integers that a call makes. Raises UserError if it cannot."""
    call = written.node
    nodes, keywords = (call.args, call.keywords) if isinstance(call, ast.Call) else ([], [])
    arguments = [_value(_Written(ast.unparse(node), node), names) for node in nodes]
    text = clipped(written.text, _MAX_QUOTED)
    if keywords or not all(type(argument) is int for argument in arguments):
        raise UserError(f"--launch: '{text}': write its integers one after the other")
    try:
        return made_integers(written.maker, arguments)
    except (ValueError, OverflowError) as error:
        raise UserError(f"--launch: '{text}': {error}") from None


def _encoded(variant: Variant, made: Mapping[str, NDArray[np.int64]]) -> Iterator[tuple[str, str]]:
    """Yield the integers of the variant's tensors, as `model.Launch` has them."""
    import numpy as np

    types = {argument.name: argument.type for argument in variant.specialization}
    for name, values in made.items():
        if name not in types:
            continue
        element = torch_name(types[name])
        text = encoded_integers(element, values) if types[name].startswith("*") else ""
        if not text:
            kinds = ", ".join(INTEGER_TYPES)
            raise UserError(
                f"--launch: '{name}' is {types[name]}; only tensors of at most {MOST_BYTES // 1024} KiB of "
                f"{kinds} have values"
            )
        limits = np.iinfo(element)
        if not limits.min <= values.min() <= values.max() <= limits.max:
            raise UserError(f"--launch: '{name}' has integers that are not {element}, as its tensor has")
        yield name, text


def _named(names: Mapping[str, StaticValue], name: str) -> StaticValue:
    """Return the value of a name.

    The parameter of a grid's lambda, which has the config, is called as people do.
    """
    if name not in names and name.lower() in ("meta", "args", "kwargs", "config", "cfg"):
        return dict(names)
    return names.get(name, UNKNOWN)


def _dotted(node: ast.expr) -> str:
    """Return the full name of a function: `cdiv`, `triton.cdiv` and `tl.cdiv` are the same."""
    name = node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    return _FUNCTIONS.get(name, "")


def number_constants(variant: Variant) -> dict[str, StaticValue]:
    """Return the numbers that the variant was compiled with, by name."""
    constants = {a.name: a.value for a in variant.specialization if a.type == "constexpr"}
    options = {name: variant.metadata.get(name) for name in OPTION_NAMES}
    values = options | constants | dict(variant.config.values)
    return {name: value for name, value in values.items() if isinstance(value, int | float)}


def evaluate(text: str, names: Mapping[str, StaticValue], option: str) -> StaticValue:
    """Return the number, or tuple of numbers, that an expression of `names` has.

    Raises UserError, which begins with the `option` that the text is from, if it has none.
    """
    return _value(_parsed(text, option), names, option)


def _grid(written: _Written, names: Mapping[str, StaticValue]) -> tuple[int, ...]:
    value = _value(written, names)
    sizes = value if isinstance(value, tuple) else (value,)
    if not 1 <= len(sizes) <= 3 or not all(isinstance(n, int) and 0 < n <= _MAX_GRID for n in sizes):
        raise UserError(f"--launch: the grid is {value}; it must have 1 to 3 integers, each at least 1")
    return (*sizes, 1, 1)[:3]


def _arguments(
    variant: Variant, names: Mapping[str, StaticValue], given: Mapping[str, _Written]
) -> list[tuple[str, str]]:
    """Return the run-time arguments as `model.Launch` has them; also those compiled for the value 1."""
    parameters = [
        argument for argument in variant.specialization if argument.name in variant.kernel.parameters
    ]
    missing = [a.name for a in parameters if a.name not in names and _is_integer(a.type)]
    if missing:
        raise UserError(f"--launch: give the value of {', '.join(missing)}, for example {missing[0]}=4096")
    _check_constants(parameters, names)
    passed = [a for a in parameters if a.type != "constexpr" or a.name in given or a.value == 1]
    return [(a.name, _argument_text(a, names.get(a.name))) for a in passed]


def _check_constants(arguments: list[Argument], names: Mapping[str, StaticValue]) -> None:
    """Raise UserError if the machine code was compiled for another value."""
    for argument in arguments:
        value = names.get(argument.name)
        if argument.type == "constexpr" and value != argument.value and isinstance(value, int | float):
            compiled = f"{argument.name}={argument}"
        elif "D" in (argument.key or "") and isinstance(value, int) and value % 16:
            compiled = f"multiples of 16 ({argument})"
        else:
            continue
        raise UserError(f"--launch: {argument.name}={value}, but it was compiled for {compiled}")


def _is_integer(type_: str) -> bool:
    """Check whether an argument's value decides what a kernel does; pointers and floats do not."""
    return type_[:1] in ("i", "u") and type_[1:].isdigit()


def tensor_elements(variant: Variant) -> list[str]:
    """Return the element types of a variant's tensors, as Triton calls them: fp16, fp8e4nv."""
    matches = (_TENSOR.match(argument.type) for argument in variant.specialization)
    return [match[1] for match in matches if match]


def _argument_text(argument: Argument, value: StaticValue) -> str:
    shape = f"[{', '.join(map(str, value))}]" if isinstance(value, tuple) else ""
    if match := _TENSOR.match(argument.type):
        element, block = torch_name(match[1]), match[2]
        return f"{element}{shape}" if block is None else f"tensordesc {element}{shape} in blocks of [{block}]"
    if shape:
        raise UserError(f"--launch: '{argument.name}' is a number ({argument.type}), not a tensor")
    if argument.type == "constexpr":
        return str(argument)
    return "1.0" if value is None else str(value)


def add_launches(path: Path, text: str, ids: Collection[int] | None = None) -> None:
    """Store a launch, written as for `irscope pick --launch`, for each variant that has none.

    `ids`: only of these variants. Raises UserError if the text does not fit a variant, as `checked`.
    """
    with Workspace(path) as capture:
        expression = parse_launch(text).checked(capture.variants)
        launches = {
            variant.id: expression.launch_of(variant)
            for variant in capture.variants
            if not variant.launches and variant.failure is None and (ids is None or variant.id in ids)
        }
    with CaptureWriter.resume(path, amends=True) as writer:
        for id_, launch in launches.items():
            writer.set_measured(id_, (launch,), ())
