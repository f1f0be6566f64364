"""The tensors and buffers of a kernel, with their layouts: what can be drawn, and how to name one."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from irscope.languages.document import Document
from irscope.languages.mlir.layout_aliases import expand_aliases
from irscope.languages.mlir.value_types import ShapedType, shaped_values
from irscope.layouts.attribute import Attribute, UnknownLayoutError, parse_attribute
from irscope.layouts.convert import Version, linear_layout
from irscope.layouts.linear import LinearLayout
from irscope.layouts.tile import MOST_BITS

# Bits of an element, where they are not in its name ("f16", "i1").
_BITS = {"bf16": 16, "index": 64, "tf32": 32}
_DIGITS = re.compile(r"[a-zA-Z]+(\d{1,3})")
_SHARED = ("ttg.shared_memory",)

# What Triton said of layouts, by `key` of a tensor: input -> vectors.
Told = Mapping[str, Mapping[str, Sequence[Sequence[int]]]]


@dataclass(frozen=True)
class Tensor:
    """A tensor or buffer of the kernel, or a type of one.

    `name` is the SSA value, `python` the variable, `line` that of the kernel's file (0: not known), and
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
        """The name of the layout in what Triton said: the same as capture.layouts.layout_key's."""
        return f"{'x'.join(map(str, self.whole))} {self.attribute.text}"

    @property
    def buffer(self) -> bool:
        """Whether it lies in memory."""
        return self.kind == "!ttg.memdesc"

    @property
    def shared(self) -> bool:
        """Whether it lies in shared memory."""
        return self.buffer and self.space in _SHARED

    @property
    def bits(self) -> int:
        """The size of an element in bits; pointers have 64."""
        return element_bits(self.element)

    @property
    def type(self) -> str:
        """The type as TTGIR writes it, for people: `tensor<64x32xf16, #blocked>`."""
        shape = "x".join(map(str, self.shape))
        return f"{self.kind.removeprefix('!ttg.')}<{shape}x{self.element}, {self.alias}>"


class Layouts:
    """Linear layouts of a kernel's tensors: Triton's own where it told them, else converted here."""

    def __init__(self, triton: Version, told: Told | None = None) -> None:
        self._triton = triton
        self._told = told or {}
        self._known: dict[str, LinearLayout] = {}
        self.sources: dict[str, str] = {}

    def of(self, tensor: Tensor) -> LinearLayout:
        """The layout of a tensor, of a buffer the one of the whole. Raises UnknownLayoutError."""
        key = tensor.key
        if key not in self._known:
            told = self._told.get(key)
            shape = layout_shape(tensor)
            if told:
                self._known[key], self.sources[key] = _from_told(told, shape), "Triton"
            else:
                self._known[key] = linear_layout(tensor.attribute, shape, self._triton)
                self.sources[key] = "irscope"
        return self._known[key]


def layout_shape(tensor: Tensor) -> tuple[int, ...]:
    """The shape that the layout is one of: without the number of buffers before it."""
    rank = _rank(tensor.attribute)
    return tensor.whole[-rank:] if tensor.buffer and rank else tensor.whole


def element_bits(element: str) -> int:
    """The size of an element type in bits: "f16", "i1", "f8E4M3FN", "!tt.ptr<f16>"."""
    if element.startswith("!"):
        return 64
    match = _DIGITS.match(element)
    return _BITS.get(element) or (int(match[1]) if match else 32)


def tensors_of(document: Document) -> list[Tensor]:
    """The tensors and buffers of a TTGIR document, in the order of the text."""
    bodies = alias_bodies(document)
    found = []
    for value in shaped_values(document):
        operation = document.operations[value.operation]
        line = operation.location.outermost.line if operation.location else 0
        made = typed_tensor(value.type, bodies)
        if made is not None:
            found.append(replace(made, name=value.name, python=value.python, line=line, index=operation.line))
    return found


def alias_bodies(document: Document) -> dict[str, str]:
    """What each alias of the document stands for, as its line has it."""
    lines = document.lines
    return {name: lines[layout.line].partition(" = ")[2] for name, layout in document.layouts.items()}


def typed_tensor(type_: ShapedType, bodies: Mapping[str, str]) -> Tensor | None:
    """A tensor of this type, without a name; None where the shape or the layout is not understood."""
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
    """The tensors that `text` names: `%a_12`, `a`, `a:88`, `88` or `:88` (lines), `#blocked`.

    What a reader most likely means comes first: what is held in registers before buffers, values before
    masks and pointers, large before small.
    """
    if text.startswith("%"):
        return [tensor for tensor in tensors if tensor.name == text]
    name, _, line = text.rpartition(":")
    if text.startswith("#"):
        found = [tensor for tensor in tensors if text in (tensor.alias, tensor.attribute.text)]
    elif line.isdecimal():
        found = [t for t in tensors if t.line == int(line) and name in ("", t.python)]
    else:
        found = [tensor for tensor in tensors if tensor.python == text]
    return sorted(
        found, key=lambda t: (t.buffer, t.element == "i1" or t.element.startswith("!"), -prod(t.shape))
    )


def distinct(tensors: Sequence[Tensor]) -> list[list[Tensor]]:
    """The tensors in groups of those that have the same variable and type, in order."""
    groups: dict[tuple[object, ...], list[Tensor]] = {}
    for tensor in tensors:
        key = (tensor.python, tensor.kind, tensor.shape, tensor.element, tensor.key)
        groups.setdefault(key, []).append(tensor)
    return list(groups.values())


def _rank(attribute: Attribute) -> int:
    """How many dimensions the layout of a buffer has, 0 where it fits any number."""
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


def _from_told(told: Mapping[str, Sequence[Sequence[int]]], shape: tuple[int, ...]) -> LinearLayout:
    """Triton's answer as a layout. Raises UnknownLayoutError where a capture holds something else."""
    bases = {}
    for name, vectors in told.items():
        rows = [tuple(vector) for vector in vectors if isinstance(vector, list | tuple)]
        if len(rows) != len(vectors) or not all(
            len(row) == len(shape) and all(type(value) is int and value >= 0 for value in row) for row in rows
        ):
            raise UnknownLayoutError("what the capture keeps of this layout is damaged")
        bases[name] = tuple(rows)
    if sum(map(len, bases.values())) > MOST_BITS:
        raise UnknownLayoutError("a layout of more elements than any tensor has")
    return LinearLayout(bases, shape)
