"""The tensors and buffers of an MLIR document: their types, and their names in the Python source.

    %a_12 = tt.load %a : tensor<64x32x!tt.ptr<f16>, #blocked> loc(#loc9)      #loc9 = loc("a"(#loc3))
    -> Value("%a_12", python "a", type tensor of 64x32 f16 with encoding #blocked)

The printer omits the types of some results (`tt.load`, comparisons); they are inferred from the operands.
All functions accept any text; a value whose type they do not understand is left out.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace

from irscope.languages.brackets import delimiters, split_outermost
from irscope.languages.document import Document, Operation
from irscope.languages.mlir.locations import split_locations
from irscope.model.records import frozen

# `<64x32x`: the bracket and the dimensions of a tensor, memdesc, tensordesc or vector; not `<0xFF>`.
_SHAPED = re.compile(r"<((?:(?:[1-9]\d*|\?)x)+)")
_NAMED = re.compile(r'"([^"\\]{1,200})"\(')
_ALIAS = re.compile(r"#[\w$.-]+")
_NUMBER = re.compile(r"_\d+$|#\d+$")
_POINTER = re.compile(r"!tt\.ptr<(\w+)")
_COMPARISONS = ("arith.cmpi", "arith.cmpf")
# Operations that print several types, the result's last.
_RESULT_LAST = ("arith.select",)
# Operations that print the type of a pointer; its pointee is the element type of the result.
_LOADS = ("tt.load",)


@frozen
class ShapedType:
    """A type with dimensions.

    `kind` is the word before its bracket: "tensor", "!ttg.memdesc", "!tt.tensordesc", "vector", or "" if
    the printer omits it (`-> <64x32xf16, #shared>`). `shape` is in elements, as text ("?" if dynamic).
    `parameters` are the rest: the encoding of a tensor; the encoding, memory space, "mutable" and the shape
    of the whole allocation of a memdesc.
    """

    kind: str
    shape: tuple[str, ...]
    element: str
    parameters: tuple[str, ...]

    @property
    def encoding(self) -> str:
        """Return the layout that the type carries, or "" if none."""
        return self.parameters[0] if self.parameters else ""


@frozen
class Value:
    """A value that is a tensor or a buffer.

    `name` is as printed (`%a_12`), `python` the kernel's variable ("" if unknown); `operation` is the index
    of the operation that defines it.
    """

    name: str
    python: str
    operation: int
    type: ShapedType


def split_types(text: str) -> tuple[str, list[ShapedType]]:
    """`text` with each shaped type reduced to its kind and `<>`, and those types in order.

    Two operations with equal first parts differ only in their shaped types.
    """
    rest: list[str] = []
    types: list[ShapedType] = []
    end = 0
    while match := _SHAPED.search(text, end):
        element, parameters, close = _parameters(text, match.end())
        kind = _word_before(text, end, match.start())
        types.append(ShapedType(kind, tuple(match[1][:-1].split("x")), element, parameters))
        rest += (text[end : match.start()], "<>")
        end = close
    rest.append(text[end:])
    return "".join(rest), types


def type_lists(text: str) -> tuple[list[str], list[str]]:
    """Return the types that an operation's text prints, of its operands and of its results.

    Operations that print one list for both, and casts (`A to B`), have the last type as their result's.
    """
    printed, arrow, results = _type_part(text)
    operands = [item.strip() for item in _split_types_list(printed)]
    if arrow:
        return operands, [item.strip() for item in _split_types_list(results)]
    if operands and " to " in operands[-1]:
        before, _, after = operands[-1].rpartition(" to ")
        return [*operands[:-1], before], [after]
    return operands, []


def operand_types(text: str) -> list[ShapedType]:
    """Return the shaped types that an operation's text prints: its operands', then its results'."""
    return split_types(split_locations(text)[0])[1]


def shaped_values(document: Document) -> list[Value]:
    """Return the tensors and buffers that operations and loops define, in the order of the text."""
    names = _python_names(document)
    variables = set(names.values())
    values: list[Value] = []
    for index, operation in enumerate(document.operations):
        if not operation.results and operation.opcode != "scf.for":
            continue
        text, location = split_locations(document.lines[operation.line])
        if location is None and operation.end > operation.line + 1:
            location = split_locations(document.lines[operation.end - 1])[1]
        python = names.get(location or "", "")
        results = _shaped_results(document, operation, text)
        if operation.opcode == "scf.for":
            values += _loop_values(results, operation, index, variables)
        else:
            values += [Value(name, python, index, type_) for name, type_ in results]
    return values


def _word_before(text: str, begin: int, end: int) -> str:
    start = end
    while start > begin and (text[start - 1].isalnum() or text[start - 1] in "!._$"):
        start -= 1
    return text[start:end]


def _parameters(text: str, start: int) -> tuple[str, tuple[str, ...], int]:
    """Return the element type and parameters from `start` to the type's `>`, and the index after it."""
    items: list[str] = []
    for depth, match in delimiters(text, start):
        if depth == 0 and match[0] in ",>":
            items.append(text[start : match.start()].strip())
            start = match.end()
            if match[0] == ">":
                return items[0], tuple(items[1:]), start
    items.append(text[start:].strip())
    return items[0], tuple(items[1:]), len(text)


def _shaped_results(document: Document, operation: Operation, text: str) -> list[tuple[str, ShapedType]]:
    """Return the shaped results of an operation, with their types."""
    types = _result_types(document, operation, text)
    if len(types) != len(operation.results):
        return []
    pairs = zip(operation.results, types, strict=True)
    return [(name, type_) for name, type_ in pairs if type_ is not None]


def _loop_values(
    results: list[tuple[str, ShapedType]], operation: Operation, index: int, variables: set[str]
) -> Iterator[Value]:
    """Yield the loop-carried values: arguments and results of a loop.

    Each has the argument's Python name. The location of the loop is that of only one of them.
    """
    arguments = operation.arguments[-len(operation.results) :] if operation.results else ()
    argument_of = dict(zip(operation.results, arguments, strict=False))
    for name, type_ in results:
        argument = argument_of.get(name, name)
        stem = _NUMBER.sub("", argument.lstrip("%"))
        python = stem if stem in variables else ""
        yield Value(argument, python, index, type_)
        if argument != name:
            yield Value(name, python, index, type_)


def _result_types(document: Document, operation: Operation, text: str) -> list[ShapedType | None]:
    if operation.end > operation.line + 1 and "->" not in text:
        # An operation in generic form prints its types after its region.
        text = split_locations(document.lines[operation.end - 1])[0]
    printed, arrow, results = _type_part(text)
    if arrow:
        return [_distributed_type(item) for item in _split_types_list(results)]
    # A cast prints both types: `tensor<64xf32, #blocked> to tensor<64xf16, #blocked>`.
    types = [_distributed_type(item.rpartition(" to ")[2]) for item in _split_types_list(printed)]
    if not types:
        return []
    if operation.opcode in _RESULT_LAST:
        return [types[-1]]
    first = types[0]
    if first is not None and operation.opcode in _COMPARISONS:
        first = replace(first, element="i1")
    if first is not None and operation.opcode in _LOADS and (match := _POINTER.match(first.element)):
        first = replace(first, element=match[1])
    return [first]


def _type_part(text: str) -> tuple[str, str, str]:
    """Split the text after the last outermost colon at the last outermost arrow."""
    colon, arrow = -1, -1
    for depth, match in delimiters(text, others=" : "):
        if depth == 0 and match[0] == " : ":
            colon = match.end()
        elif depth == 0 and match[0] == "->":
            arrow = match.start()
    if arrow > colon or (arrow >= 0 and colon < 0):
        return text[max(colon, 0) : arrow], "->", text[arrow + 2 :]
    if arrow >= 0:  # `scf.for ... -> (types) : i32 {`
        return "", "->", text[arrow + 2 : colon - 3]
    return (text[colon:], "", "") if colon >= 0 else ("", "", "")


def _split_types_list(text: str) -> list[str]:
    """Split a list of types at its commas; parentheses around the whole list do not count."""
    text = text.strip().removesuffix("{").strip()
    if text.startswith("(") and text.endswith(")"):
        text = text[1:-1]
    return split_outermost(text)


def _distributed_type(text: str) -> ShapedType | None:
    """Return the tensor or buffer type that `text` is; None for other types and shapes that are not static.

    TTIR has tensors without a layout.
    """
    rest, types = split_types(text)
    if len(types) != 1 or not rest.endswith("<>"):
        return None
    type_ = types[0]
    has_layout_kind = type_.kind in ("tensor", "!ttg.memdesc") and type_.encoding[:1] in ("", "#")
    return type_ if has_layout_kind and all(size.isdecimal() for size in type_.shape) else None


def _python_names(document: Document) -> Mapping[str, str]:
    """Return the names in the location aliases: `#loc81` -> `a` for `#loc81 = loc("a"(#loc30))`."""
    names: dict[str, str] = {}
    for line in document.lines:
        if line.startswith("#") and (alias_end := line.find(" = loc(")) > 0:
            body = line[alias_end + 7 :]
            if match := _NAMED.match(body):
                names[line[:alias_end]] = match[1]
            elif body.startswith("callsite(") and (inner := _ALIAS.match(body, 9)):
                # An inlined helper: the name of its own variable.
                names[line[:alias_end]] = names.get(inner[0], "")
    return names
