"""The values of an MLIR document with their types and the Python names that they have in the source.

The printer leaves the types of some results to be concluded from the operands' (`tt.load`, comparisons);
the rules for that stand here. Nothing fails on any text: what is not understood has no value.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from irscope.languages.document import Document, Operation
from irscope.languages.mlir.locations import split_locations
from irscope.languages.mlir.types import ShapedType, split_types

_DELIMITER = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"?|->|[\[\](){}<>,]| : ')
_NAMED = re.compile(r'"([^"\\]{1,200})"\(')
_ALIAS = re.compile(r"#[\w$.-]+")
_NUMBER = re.compile(r"_\d+$|#\d+$")
_POINTER = re.compile(r"!tt\.ptr<(\w+)")
_COMPARISONS = ("arith.cmpi", "arith.cmpf")
# These print several types, of which the last is the result's.
_LAST = ("arith.select",)
# A pointer's type is printed, and what it points to is the result's.
_LOADS = ("tt.load",)


@dataclass(frozen=True, slots=True)
class Value:
    """A value that is a tensor or a buffer.

    `name` is as written (`%a_12`), `python` the variable of the kernel that it is, "" where that is not
    known; `operation` is the index of the operation that makes it.
    """

    name: str
    python: str
    operation: int
    type: ShapedType


def shaped_values(document: Document) -> list[Value]:
    """The tensors and buffers that operations and loops define, in the order of the text."""
    names = _python_names(document)
    variables = set(names.values())
    found: list[Value] = []
    for index, operation in enumerate(document.operations):
        if not operation.results and operation.opcode != "scf.for":
            continue
        text, location = split_locations(document.lines[operation.line])
        if location is None and operation.end > operation.line + 1:
            location = split_locations(document.lines[operation.end - 1])[1]
        python = names.get(location or "", "")
        typed = _typed(document, operation, text)
        if operation.opcode == "scf.for":
            found += _carried(typed, operation, index, variables)
        else:
            found += [Value(name, python, index, type_) for name, type_ in typed]
    return found


def operand_types(text: str) -> list[ShapedType]:
    """The shaped types that an operation's text prints, in order: its operands', then its results'."""
    return split_types(split_locations(text)[0])[1]


def _typed(document: Document, operation: Operation, text: str) -> list[tuple[str, ShapedType]]:
    """The shaped results of an operation, with their types."""
    types = _result_types(document, operation, text)
    if len(types) != len(operation.results):
        return []
    pairs = zip(operation.results, types, strict=True)
    return [(name, type_) for name, type_ in pairs if type_ is not None]


def _carried(
    results: list[tuple[str, ShapedType]], operation: Operation, index: int, variables: set[str]
) -> Iterator[Value]:
    """What a loop carries: its arguments and its results, each called as the argument is.

    The loop's location is that of one of them.
    """
    arguments = operation.arguments[-len(operation.results) :] if operation.results else ()
    named = dict(zip(operation.results, arguments, strict=False))
    for name, type_ in results:
        argument = named.get(name, name)
        stem = _NUMBER.sub("", argument.lstrip("%"))
        python = stem if stem in variables else ""
        yield Value(argument, python, index, type_)
        if argument != name:
            yield Value(name, python, index, type_)


def _result_types(document: Document, operation: Operation, text: str) -> list[ShapedType | None]:
    if operation.end > operation.line + 1 and "->" not in text:
        # An operation with a region in quotes prints its types behind it.
        text = split_locations(document.lines[operation.end - 1])[0]
    printed, arrow, results = _type_part(text)
    if arrow:
        return [_shaped(item) for item in _split(results)]
    types = [_shaped(item) for item in _split(printed)]
    if not types:
        return []
    if operation.opcode in _LAST:
        return [types[-1]]
    first = types[0]
    if first is not None and operation.opcode in _COMPARISONS:
        first = ShapedType(first.kind, first.shape, "i1", first.parameters)
    if first is not None and operation.opcode in _LOADS and (match := _POINTER.match(first.element)):
        first = ShapedType(first.kind, first.shape, match[1], first.parameters)
    return [first]


def _type_part(text: str) -> tuple[str, str, str]:
    """What stands behind the last colon outside of brackets, cut at the last arrow there."""
    depth, colon, arrow = 0, -1, -1
    for match in _DELIMITER.finditer(text):
        mark = match[0]
        if mark in "[({<":
            depth += 1
        elif mark in "])}>":
            depth = max(0, depth - 1)
        elif depth == 0 and mark == " : ":
            colon = match.end()
        elif depth == 0 and mark == "->":
            arrow = match.start()
    if arrow > colon or (arrow >= 0 and colon < 0):
        return text[max(colon, 0) : arrow], "->", text[arrow + 2 :]
    if arrow >= 0:  # `scf.for ... -> (types) : i32 {`
        return "", "->", text[arrow + 2 : colon - 3]
    return (text[colon:], "", "") if colon >= 0 else ("", "", "")


def _split(text: str) -> list[str]:
    """A list of types cut at its commas; brackets around the whole list do not count."""
    text = text.strip().removesuffix("{").strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    items, depth, start = [], 0, 0
    for match in _DELIMITER.finditer(text):
        mark = match[0]
        if mark in "[({<":
            depth += 1
        elif mark in "])}>":
            depth = max(0, depth - 1)
        elif depth == 0 and mark == ",":
            items.append(text[start : match.start()].strip())
            start = match.end()
    return [item for item in [*items, text[start:].strip()] if item]


def _shaped(text: str) -> ShapedType | None:
    """The type that `text` is, None for one without a layout."""
    rest, types = split_types(text)
    if len(types) != 1 or not rest.endswith("<>"):
        return None
    type_ = types[0]
    wanted = type_.kind in ("tensor", "!ttg.memdesc") and type_.encoding.startswith("#")
    return type_ if wanted and all(size.isdecimal() for size in type_.shape) else None


def _python_names(document: Document) -> Mapping[str, str]:
    """The names in the location aliases: `#loc81` -> `a` of `#loc81 = loc("a"(#loc30))`."""
    names: dict[str, str] = {}
    for line in document.lines:
        if line.startswith("#") and (at := line.find(" = loc(")) > 0:
            body = line[at + 7 :]
            if match := _NAMED.match(body):
                names[line[:at]] = match[1]
            elif body.startswith("callsite(") and (inner := _ALIAS.match(body, 9)):
                # A helper that was inlined: its own variable.
                names[line[:at]] = names.get(inner[0], "")
    return names
