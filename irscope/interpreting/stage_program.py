"""A parsed stage as nested blocks of steps, in the form that the machine executes.

%a_13 = arith.addf %a, %b : tensor<64xf32, #blocked> loc(#loc7)
-> Op("arith.addf", results ("%a_13",), operands ("%a", "%b"), types (64 x f32 in #blocked,), ...)

Why a stage, or a program of it, could not be executed.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from irscope.languages.brackets import delimiters
from irscope.languages.document import Document, Location, Operation, inlining_chain
from irscope.languages.mlir.locations import split_locations
from irscope.languages.mlir.value_types import ShapedType, split_types, type_lists
from irscope.layouts.attribute import Attribute, UnknownLayoutError, parse_attribute
from irscope.layouts.convert import Version
from irscope.layouts.linear import LinearLayout
from irscope.layouts.tensors import Layouts, alias_bodies, tensor_of_type
from irscope.model.records import frozen
from irscope.model.variant import in_library


class UnansweredError(Exception):
    """The machine cannot go on; the message says why, and `step` is the operation, if known."""

    def __init__(self, reason: str, step: Op | None = None) -> None:
        super().__init__(reason)
        self.reason = reason
        self.step = step


_BLOCK_ARGUMENT = re.compile(r"(%[\w$.-]+)\s*(?=:|=)")
_WORD = re.compile(r"[\w!.]+")


# A line of the kernel (0: unknown), and the file and the line of the helper that it calls (None: its own).
Place = tuple[int, tuple[str, int] | None]


@frozen
class Type:
    """The type of a value: the shape is () for a scalar; `encoding` is the alias of a layout, or "".

    `kind` is "tensor", "memdesc", "tensordesc", or "" for a scalar.
    """

    element: str
    shape: tuple[int, ...] = ()
    encoding: str = ""
    kind: str = ""
    parameters: tuple[str, ...] = ()


@dataclass(slots=True)
class OpBlock:
    """A region: the names of its arguments, and its steps in order."""

    arguments: tuple[str, ...]
    steps: list[Op] = field(default_factory=list)

    @property
    def has_effects(self) -> bool:
        """Return True if a step writes, waits, or may not end: data must not decide whether it runs."""
        return any(
            step.opcode in _EFFECTS or any(region.has_effects for region in step.regions)
            for step in self.steps
        )


_EFFECTS = frozenset(
    ("tt.store", "tt.atomic_rmw", "tt.atomic_cas", "tt.descriptor_store", "ttg.local_store", "scf.while",
     "ttg.async_copy_global_to_local", "ttng.async_tma_copy_local_to_global", "ttng.wait_barrier",
     "ttng.arrive_barrier", "ttng.barrier_expect", "ttng.async_tma_copy_global_to_local")
)  # fmt: skip


@dataclass(slots=True)
class Op:
    """One operation. `line` is the index of its line in the stage, `types` are those of its results.

    `text` is its text without its name and location; `operand_types` are the printed ones of its operands.
    `location` is where it was written, `source_line` the line of the kernel that this is inlined at.
    """

    opcode: str
    text: str
    results: tuple[str, ...]
    operands: tuple[str, ...]
    types: tuple[Type, ...]
    operand_types: tuple[Type, ...]
    line: int
    source_line: int
    regions: list[OpBlock] = field(default_factory=list)
    location: Location | None = None

    @property
    def place(self) -> Place:
        """Return the line of the kernel, and the file and line of the helper that this was written in."""
        inlined = list(inlining_chain(self.location))[:-1]
        helpers = ((link.file, link.line) for link in inlined if not in_library(link.file))
        return self.source_line, next(helpers, None)

    def number(self, name: str, default: int | None = None) -> int:
        """Return an integer attribute, `axis = 1 : i32`. Raise UnansweredError if there is none."""
        match = re.search(rf"\b{name}\s*=\s*(-?\d+)", self.text)
        if match is None and default is None:
            raise UnansweredError(f"{self.opcode} has no number {name}", self)
        return int(match[1]) if match else default or 0

    def numbers(self, name: str) -> list[int]:
        """Return an attribute that is a list, `order = array<i32: 1, 0>` or `[1, 0]`; [] if there is none."""
        match = re.search(rf"\b{name}\s*=\s*(?:array<i\d+(?::\s*([^>]*))?>|\[([^\]]*)\])", self.text)
        return [int(item) for item in re.findall(r"-?\d+", (match[1] or match[2] or "") if match else "")]

    def flag(self, name: str) -> bool:
        """Return True if an attribute is there and is not `false`."""
        match = re.search(rf"\b{name}\b(?:\s*=\s*(\w+))?", self.text)
        return match is not None and match[1] != "false"


class StageProgram:
    """The functions of a stage, and its layouts."""

    def __init__(self, document: Document, triton: Version) -> None:
        self.document = document
        self._bodies = alias_bodies(document)
        self._layouts = Layouts(triton)
        self._layout_of: dict[Type, LinearLayout] = {}
        self._attributes: dict[str, Attribute] = {}
        self.triton = triton
        self.functions: dict[str, OpBlock] = {}
        self._children: dict[int, list[int]] = {}
        for index, operation in enumerate(document.operations):
            self._children.setdefault(operation.parent, []).append(index)
        for index, operation in enumerate(document.operations):
            if operation.opcode.endswith(".func") and operation.end > operation.line + 1:
                block = OpBlock(operation.arguments)
                self._fill(index, [block])
                self.functions[document.functions[operation.function]] = block

    @cached_property
    def digest(self) -> str:
        """Return a text that is equal only for stages that differ in nothing but locations."""
        lines = (line.partition(" loc(")[0] for line in self.document.lines if not line.startswith("#loc"))
        return hashlib.sha256("\n".join(lines).encode("utf-8", "surrogatepass")).hexdigest()

    @cached_property
    def entry(self) -> OpBlock:
        """Return the kernel's function. Raises UnansweredError if there is none."""
        for operation in self.document.operations:
            if operation.opcode.endswith(".func") and " private " not in self.document.lines[operation.line]:
                return self.functions[self.document.functions[operation.function]]
        raise UnansweredError("the stage has no function")

    @cached_property
    def target(self) -> str:
        """Return what the stage was compiled for, as `cuda:90`; "" if it does not say so."""
        match = re.search(r'ttg?\.target"? = "([^"]+)"', self.document.text)
        return match[1] if match else ""

    def number(self, name: str, default: int) -> int:
        """Return an integer attribute of the module, such as `ttg.num-warps`, or the default."""
        match = re.search(rf'"?ttg?\.{name}"? = (\d+)', self.document.text)
        return int(match[1]) if match else default

    @cached_property
    def argument_types(self) -> tuple[Type, ...]:
        """Return the types of the kernel's arguments."""
        for operation in self.document.operations:
            if operation.opcode.endswith(".func") and " private " not in self.document.lines[operation.line]:
                text = self.document.lines[operation.line]
                starts = [text.index(f"{name}: ") + len(name) + 2 for name in operation.arguments]
                return tuple(_type(_first_type(text[start:])) for start in starts)
        return ()

    @cached_property
    def pointees(self) -> tuple[str, ...]:
        """Return the element type that each argument of the kernel points to, or "" for a number."""
        matches = (re.fullmatch(r"!tt\.ptr<(\w+)(?:, \d+)?>", type_.element) for type_ in self.argument_types)
        return tuple(match[1] if match else "" for match in matches)

    @cached_property
    def used(self) -> frozenset[str]:
        """Return the names of the values that some operation uses."""
        return frozenset(name for operation in self.document.operations for name in operation.operands)

    def layout(self, type_: Type) -> LinearLayout:
        """Return the linear layout of a tensor or buffer. Raises UnansweredError if it is not supported."""
        if type_ not in self._layout_of:
            self._layout_of[type_] = self._new_layout(type_)
        return self._layout_of[type_]

    def _new_layout(self, type_: Type) -> LinearLayout:
        shaped = ShapedType(
            "tensor" if type_.kind == "tensor" else "!ttg.memdesc",
            tuple(map(str, type_.shape)),
            type_.element,
            (type_.encoding, *type_.parameters),
        )
        tensor = tensor_of_type(shaped, self._bodies)
        if tensor is None:
            raise UnansweredError(f"a tensor has no layout: {type_.element} in {type_.encoding or 'none'}")
        try:
            return self._layouts.of(tensor)
        except UnknownLayoutError as error:
            raise UnansweredError(f"the layout {type_.encoding}: {error}") from error

    def attribute(self, encoding: str) -> Attribute:
        """Return the layout that an encoding names, with aliases expanded."""
        from irscope.languages.mlir.parser import expand_aliases

        if encoding not in self._attributes:
            self._attributes[encoding] = parse_attribute(expand_aliases(encoding, self._bodies))
        return self._attributes[encoding]

    def _fill(self, owner: int, blocks: list[OpBlock]) -> None:
        """Add the steps of an operation's regions to `blocks`, whose first one is there."""
        lines = self.document.lines
        end = self.document.operations[owner].line + 1
        for index in self._children.get(owner, ()):
            operation = self.document.operations[index]
            for number in range(end, operation.line):
                self._open(lines[number].strip(), blocks)
            if operation.opcode != "?":
                blocks[-1].steps.append(self._step(index))
            elif (text := lines[operation.line].strip()) and not text.startswith(("}", ")", "//")):
                self._open(text, blocks)
            end = operation.end
        for number in range(end, self.document.operations[owner].end - 1):
            self._open(lines[number].strip(), blocks)

    def _open(self, line: str, blocks: list[OpBlock]) -> None:
        """Open the next region if a line between two operations does."""
        line = split_locations(line)[0].strip()
        names = tuple(_BLOCK_ARGUMENT.findall(line))
        if line.startswith("^"):
            if blocks[-1].steps:
                raise UnansweredError("branches between blocks")
            blocks[-1].arguments = names or blocks[-1].arguments
        elif line.endswith("{") and (blocks[-1].steps or not line.startswith("default")):
            blocks.append(OpBlock(names))

    def _step(self, index: int) -> Op:
        operation = self.document.operations[index]
        text = split_locations(self.document.lines[operation.line])[0].strip()
        tail = text
        regions: list[OpBlock] = []
        if operation.end > operation.line + 1:
            arguments = operation.arguments if operation.opcode == "scf.for" else ()
            if operation.opcode == "scf.while":  # the others are those of its second region
                arguments = operation.arguments[: len(operation.operands)]
            regions = [OpBlock(arguments)]
            self._fill(index, regions)
            if "->" not in text:
                tail = split_locations(self.document.lines[operation.end - 1])[0].strip()
        operands, results = type_lists(tail)
        if operation.results and not results:
            # `tt.addptr` prints the types of pointers and offsets; a select, also that of its condition.
            results = operands[:1] if operation.opcode == "tt.addptr" else operands[-1:]
        location = operation.location.outermost if operation.location else None
        return Op(
            operation.opcode,
            _after_name(text, operation),
            operation.results,
            operation.operands,
            tuple(_types(results, len(operation.results))),
            tuple(map(_type, operands)),
            operation.line,
            location.line if location else 0,
            regions,
            operation.location,
        )


def _after_name(text: str, operation: Operation) -> str:
    start = text.find(operation.opcode)
    return text[start + len(operation.opcode) :].lstrip('"')


def _types(texts: Sequence[str], count: int) -> Iterator[Type]:
    """Yield the types of `count` results; several results may share the type that is printed once."""
    for number in range(count):
        yield _type(texts[min(number, len(texts) - 1)]) if texts else Type("")


def _type(text: str) -> Type:
    text = text.strip()
    rest, types = split_types(text)
    if len(types) == 1 and rest.endswith("<>"):
        shaped = types[0]
        if all(size.isdecimal() for size in shaped.shape):
            kind = shaped.kind.removeprefix("!").rpartition(".")[2] or "memdesc"
            shape = tuple(map(int, shaped.shape))
            return Type(shaped.element, shape, shaped.encoding, kind, shaped.parameters[1:])
    return Type(text)


def _first_type(text: str) -> str:
    """Return the type that a text begins with."""
    for depth, match in delimiters(text):
        if (depth == 0 and match[0] in ",)") or depth < 0:
            text = text[: match.start()]
            break
    return re.split(r" [{]| loc\(", text)[0].strip()


def loop_element(step: Op) -> str:
    """Return the type of the index of an `scf.for`."""
    match = re.search(r":\s*(i\d+|index)\s*\{", step.text)
    return match[1] if match else "index"
