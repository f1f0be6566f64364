"""The tensors and buffers of a kernel with their layouts, and how users refer to them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import prod

from irscope.languages.document import Document, Operation
from irscope.languages.mlir.parser import expand_aliases
from irscope.languages.mlir.value_types import ShapedType, operand_types, shaped_values
from irscope.layouts.attribute import Attribute, UnknownLayoutError, parse_attribute
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.linear import MAX_BITS, LinearLayout
from irscope.model.records import frozen_with_dict

# The size of elements in bits, if their names do not include it ("f16", "i1").
_BITS = {"bf16": 16, "index": 64, "tf32": 32}
_DIGITS = re.compile(r"[a-zA-Z]+(\d{1,3})")
_SHARED = ("ttg.shared_memory",)

# Triton's own linear layouts as a capture has them: `key` of a tensor -> input -> vectors.
RecordedLayouts = Mapping[str, Mapping[str, Sequence[Sequence[int]]]]


@frozen_with_dict
class Tensor:
    """A tensor or buffer of the kernel, or only its type.

    `name` is the SSA value, `python` the variable, `line` the line of the kernel's file (0 if unknown), and
    `index` the line of the stage (from 0). `whole` is the shape of the buffer that this is a view of.
    """

    name: str
    python: str
    line: int
    index: int
    kind: str
    shape: tuple[int, ...]
    element: str
    attribute: Attribute
    alias: str
    whole: tuple[int, ...]
    space: str = ""

    @cached_property
    def key(self) -> str:
        """Return the key of the layout in RecordedLayouts, as toolchain/triton_layouts.py writes it."""
        return f"{'x'.join(map(str, self.whole))} {self.attribute.text}"

    @property
    def buffer(self) -> bool:
        """Return True if this is a buffer in memory."""
        return self.kind == "!ttg.memdesc"

    @property
    def shared(self) -> bool:
        """Return True if this is a buffer in shared memory."""
        return self.buffer and self.space in _SHARED

    @property
    def layout_shape(self) -> tuple[int, ...]:
        """Return the shape that the layout covers: without the leading number of buffers."""
        rank = _rank(self.attribute)
        return self.whole[-rank:] if self.buffer and rank else self.whole

    @property
    def bits(self) -> int:
        """Return the size of an element in bits; 64 for pointers."""
        return element_bits(self.element)

    @property
    def type(self) -> str:
        """Return the type as TTGIR prints it: `tensor<64x32xf16, #blocked>`."""
        shape = "x".join(map(str, self.shape))
        return f"{self.kind.removeprefix('!ttg.')}<{shape}x{self.element}, {self.alias}>"


class Layouts:
    """The linear layouts of a kernel's tensors: Triton's own if recorded, else converted by irscope.

    `sources` has "Triton" or "irscope" for each layout that was asked for.
    """

    def __init__(self, triton: Version, recorded: RecordedLayouts | None = None) -> None:
        self._triton = triton
        self._recorded = recorded or {}
        self._known: dict[str, LinearLayout] = {}
        self.sources: dict[str, str] = {}

    def of(self, tensor: Tensor) -> LinearLayout:
        """Return the layout of a tensor, or of the whole buffer. Raises UnknownLayoutError."""
        key = tensor.key
        if key not in self._known:
            recorded = self._recorded.get(key)
            shape = tensor.layout_shape
            if recorded:
                self._known[key], self.sources[key] = _recorded_layout(recorded, shape), "Triton"
            else:
                self._known[key] = linear_layout(tensor.attribute, shape, self._triton)
                self.sources[key] = "irscope"
        return self._known[key]


def element_bits(element: str) -> int:
    """Return the size of an element type in bits: "f16", "i1", "f8E4M3FN", "!tt.ptr<f16>"."""
    if element.startswith("!"):
        return 64
    match = _DIGITS.match(element)
    return _BITS.get(element) or (int(match[1]) if match else 32)


def tensors_of(document: Document) -> list[Tensor]:
    """Return the tensors and buffers of a TTGIR document, in the order of the text."""
    bodies = alias_bodies(document)
    tensors = []
    for value in shaped_values(document):
        operation = document.operations[value.operation]
        line = operation.location.outermost.line if operation.location else 0
        tensor = tensor_of_type(value.type, bodies)
        if tensor is not None:
            tensors.append(
                replace(tensor, name=value.name, python=value.python, line=line, index=operation.line)
            )
    return tensors


def alias_bodies(document: Document) -> dict[str, str]:
    """Map each layout alias of the document to its definition, as printed."""
    lines = document.lines
    return {name: lines[layout.line].partition(" = ")[2] for name, layout in document.layouts.items()}


def operation_tensors(document: Document, operation: Operation, bodies: Mapping[str, str]) -> list[Tensor]:
    """Return the tensors and buffers whose types an operation prints, without names."""
    types = operand_types(document.lines[operation.line])
    tensors = (tensor_of_type(type_, bodies) for type_ in types)
    return [tensor for tensor in tensors if tensor is not None]


def tensor_of_type(type_: ShapedType, bodies: Mapping[str, str]) -> Tensor | None:
    """Return a tensor of this type, without a name; None if it has no static shape or no layout."""
    if not type_.encoding.startswith("#") or not all(size.isdecimal() for size in type_.shape):
        return None
    shape = tuple(int(size) for size in type_.shape)
    attribute = parse_attribute(expand_aliases(type_.encoding, bodies))
    rest = [parse_attribute(expand_aliases(item, bodies)).text for item in type_.parameters[1:]]
    kind = "tensor" if type_.kind == "tensor" else "!ttg.memdesc"
    space = rest[0].lstrip("#") if rest and kind != "tensor" else ""
    whole = shape
    if rest and re.fullmatch(r"\d{1,6}(x\d{1,6}){0,5}", rest[-1]):
        whole = tuple(int(size) for size in rest[-1].split("x"))
    return Tensor("", "", 0, 0, kind, shape, type_.element, attribute, type_.encoding, whole, space)


def find_tensors(tensors: Sequence[Tensor], text: str) -> list[Tensor]:
    """Find the tensors that `text` names: `%a_12`, `a`, `a:88`, `88` or `:88` (lines), `#blocked`.

    The most likely comes first: registers before buffers, values before masks and pointers,
    large before small.
    """
    if text.startswith("%"):
        return [tensor for tensor in tensors if tensor.name == text]
    name, _, line = text.rpartition(":")
    if text.startswith("#"):
        matches = [tensor for tensor in tensors if text in (tensor.alias, tensor.attribute.text)]
    elif line.isdecimal():
        matches = [t for t in tensors if t.line == int(line) and name in ("", t.python)]
    else:
        matches = [tensor for tensor in tensors if tensor.python == text]
    return sorted(
        matches, key=lambda t: (t.buffer, t.element == "i1" or t.element.startswith("!"), -prod(t.shape))
    )


def distinct(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """Group the tensors with the same variable and type, in order."""
    groups: dict[tuple[object, ...], list[Tensor]] = {}
    for tensor in tensors:
        key = (tensor.python, tensor.kind, tensor.shape, tensor.element, tensor.key)
        groups.setdefault(key, []).append(tensor)
    return list(groups.values())


def _rank(attribute: Attribute) -> int:
    """Return the number of dimensions of a buffer's layout, 0 if it fits any number."""
    try:
        if "order" in attribute.fields:
            return len(attribute.numbers("order"))
        for name in ("offset", "CGALayout"):
            if vectors := attribute.vectors(name):
                return len(vectors[0])
        if attribute.kind.startswith("ttng.tensor_memory"):
            return 2
        return attribute.number("rank", 2) if attribute.kind == "ttg.nvmma_shared" else 0
    except UnknownLayoutError:
        return 0


def _recorded_layout(recorded: Mapping[str, Sequence[Sequence[int]]], shape: tuple[int, ...]) -> LinearLayout:
    """Return a recorded layout. Raises UnknownLayoutError if the capture is damaged."""
    bases = {}
    for name, vectors in recorded.items():
        rows = [tuple(vector) for vector in vectors if isinstance(vector, list | tuple)]
        if len(rows) != len(vectors) or not all(
            len(row) == len(shape) and all(type(value) is int and value >= 0 for value in row) for row in rows
        ):
            raise UnknownLayoutError("the recorded layout in the capture is damaged")
        bases[name] = tuple(rows)
    if sum(map(len, bases.values())) > MAX_BITS:
        raise UnknownLayoutError("a layout of more elements than any tensor has")
    return LinearLayout(bases, shape)
