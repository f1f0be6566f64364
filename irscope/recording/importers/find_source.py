"""Reads an MLIR stage's description of its kernel, and finds the kernel's Python source.

From the MLIR come the kernel's name, arguments, place in the Python file and the sizes of its ranges; only
the lines that Triton's front end always writes in one form are read. The Python file is parsed with `ast`
and never imported.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from irscope.model import Argument, SourceFunction
from irscope.model.records import frozen
from irscope.recording.importers.untrusted import BadEntryError, clean, read_file

_FUNCTION = re.compile(r'^ *tt\.func public @(?:"([^"\n]*)"|([\w.$-]+))\(([^\n]*)$', re.MULTILINE)
_ALIAS = re.compile(r"^(#loc\d*) = loc\(([^\n]*)\)$", re.MULTILINE)
_PLACE = re.compile(r'"((?:[^"\\\n]|\\.)*)":(\d{1,9}):(\d{1,9})')
_RANGE = re.compile(r"tt\.make_range \{end = (\d{1,9}) : i32, start = \d{1,9} : i32\}([^\n]{0,400})")
_ESCAPED = re.compile(rb"\\(\\|[0-9A-Fa-f]{2})")
_POINTER = re.compile(r"!tt\.ptr<([^<>,]*)(?:, \d+)?>")
_DESCRIPTOR = re.compile(r"!tt\.tensordesc<(?:tensor<)?((?:\d+x)+)([^<>,]*)")
# Triton's short names (triton.language.core.dtype) of MLIR's element types, if they differ.
_ELEMENTS = {
    "f16": "fp16", "f32": "fp32", "f64": "fp64", "f8E4M3FN": "fp8e4nv", "f8E5M2": "fp8e5",
    "f8E4M3FNUZ": "fp8e4b8", "f8E5M2FNUZ": "fp8e5b16",
}  # fmt: skip
# A location may refer to another, which refers to another: value name, call site, file.
_MAX_HOPS = 8
# More arguments than any kernel can have: a launch passes them in 4 kB (32 kB from sm_70 on).
_MAX_SIGNATURE = 1 << 20
# No source file of a kernel is larger.
_MAX_PYTHON_BYTES = 8 << 20


@frozen
class SourcePosition:
    """A position in a Python file; lines count from 1, columns from 0 or 1 (by Triton's version)."""

    file: str
    line: int
    column: int


@frozen
class KernelHeader:
    """The IR's description of its kernel.

    `arguments` are the run-time ones; `named` is true if they have the names of the Python parameters.
    `ranges` are the `tl.arange` calls in the kernel's own body: end and place.
    """

    arguments: tuple[Argument, ...]
    named: bool
    place: SourcePosition | None
    ranges: tuple[tuple[int, SourcePosition | None], ...]


def read_header(text: str) -> KernelHeader:
    """Read the header of the public function in an MLIR stage.

    Raises BadEntryError if there is none.
    """
    signature = _FUNCTION.search(text)
    if signature is None:
        raise BadEntryError("its IR has no kernel")
    if len(signature[3]) > _MAX_SIGNATURE:
        raise BadEntryError("its signature exceeds 1 MB")
    aliases = dict(_ALIAS.findall(text))
    pieces = _argument_texts(signature[3])
    arguments = tuple(map(_argument, pieces))
    locations = [piece.partition(" loc(")[2] for piece in pieces]
    source_places = [_resolve(location, aliases) for location in locations]
    end = text.find("\n  }", signature.end())
    body = text[signature.end() : end if end >= 0 else len(text)]
    return KernelHeader(
        arguments=_without_parts(arguments),
        # Before 3.6, arguments are %arg0, %arg1, ...
        named=not any(re.fullmatch(r"arg\d+", argument.name) for argument in arguments),
        place=next(filter(None, source_places), None) or _resolve("#loc", aliases),
        ranges=tuple(
            (int(range_match[1]), _resolve(range_match[2].partition(" loc(")[2], aliases))
            for range_match in _RANGE.finditer(body)
        ),
    )


def _argument_texts(line: str) -> list[str]:
    """Split the rest of the function's line into its arguments, each `NAME: TYPE {...} loc(...)`."""
    end = line.find(") attributes {")
    if end < 0:
        end = line.rfind(") {")
    inside = line[: end if end >= 0 else len(line)]
    return inside.removeprefix("%").split(", %") if inside.strip(" )") else []


def _argument(text: str) -> Argument:
    """Parse one argument; integers and pointers get the specialization key that the IR shows."""
    name, _, rest = text.partition(": ")
    type_, _, attributes = rest.partition(" loc(")[0].partition(" {")
    spelled = _type(type_.strip())
    if not spelled.startswith("*") and not re.fullmatch(r"i(?:8|16|32|64)", spelled):
        return Argument(clean(name), spelled)
    key = "D" if "tt.divisibility = 16" in attributes else ""
    return Argument(clean(name), spelled, key + ("S" if "tt.pointer_range = 32" in attributes else ""))


def _type(text: str) -> str:
    """Triton's spelling of an argument's MLIR type; a type that Triton does not have is not changed."""
    if pointer := _POINTER.fullmatch(text):
        return "*" + _ELEMENTS.get(pointer[1], pointer[1])
    if descriptor := _DESCRIPTOR.match(text):
        shape = descriptor[1].rstrip("x").replace("x", ", ")
        return f"tensordesc<{_ELEMENTS.get(descriptor[2], descriptor[2])}[{shape}]>"
    return clean(_ELEMENTS.get(text, text))


def _without_parts(arguments: tuple[Argument, ...]) -> tuple[Argument, ...]:
    """Return the arguments without the shape and strides of a descriptor (`a_desc.shape.0`)."""
    whole = {argument.name for argument in arguments}
    return tuple(a for a in arguments if "." not in a.name or a.name.partition(".")[0] not in whole)


def _resolve(location: str, aliases: dict[str, str]) -> SourcePosition | None:
    """Return the innermost file position of a location's text."""
    for _ in range(_MAX_HOPS):
        if match := _PLACE.match(location):
            return SourcePosition(_unescaped(match[1]), int(match[2]), int(match[3]))
        alias = re.search(r"#loc\d*", location)
        if alias is None or alias[0] not in aliases:
            return None
        location = aliases[alias[0]]
    return None


def _unescaped(text: str) -> str:
    r"""Decode an MLIR string, in which unprintable bytes are written as `\XX`."""
    content = _ESCAPED.sub(
        lambda match: b"\\" if match[1] == b"\\" else bytes([int(match[1], 16)]),
        text.encode("utf-8", "replace"),
    )
    return clean(content.decode("utf-8", "replace"))


@frozen
class RangeCall:
    """A call `tl.arange(..., NAME)`: from `begin` to before `end`, each (line, column from 0)."""

    name: str
    begin: tuple[int, int]
    end: tuple[int, int]


@frozen
class PythonFunction:
    """A function in a Python file.

    `line` (from 1) and `column` (from 0) locate its `def`. `constexprs` are the parameters annotated
    with `tl.constexpr`, `ranges` the calls `tl.arange(..., NAME)` of a parameter that is never reassigned.
    """

    source: SourceFunction
    parameters: tuple[str, ...]
    line: int
    column: int
    constexprs: frozenset[str]
    ranges: tuple[RangeCall, ...]


class PythonFiles:
    """The Python files of this machine, each read at most once."""

    def __init__(self) -> None:
        self._functions: dict[str, list[PythonFunction]] = {}

    def find(self, header: KernelHeader) -> PythonFunction | None:
        """Find the function that a kernel was compiled from; None if this machine does not have it.

        It must begin on the line that the IR names and have the kernel's parameters, so that a file
        that was edited since is not mistaken for the one that was compiled.
        """
        location = header.place
        if location is None:
            return None
        if location.file not in self._functions:
            self._functions[location.file] = _functions_of(location.file)
        for function in self._functions[location.file]:
            if function.line == location.line and _fits(function, header):
                return function
        return None


def functions_in(text: str, file: str, first_line: int = 1) -> list[PythonFunction]:
    """Return the functions that `text` defines, if it is valid Python.

    `first_line` is the line of the text in `file`.
    """
    lines = text.splitlines(keepends=True)
    indent = len(text) - len(text.lstrip(" "))
    if indent:  # the text of a nested function
        text = "".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    ast.increment_lineno(tree, first_line - 1)
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [_function(node, lines, file, first_line) for node in nodes]


def range_constants(function: PythonFunction, header: KernelHeader) -> dict[str, int]:
    """Map the constexpr parameters to the values that the kernel's `tl.arange` calls reveal.

    A range at the location of `tl.arange(0, BLOCK)` ends at BLOCK.
    """
    arguments = {argument.name for argument in header.arguments}
    # Columns count from 0 in ast, from 0 or 1 in the IR.
    base = header.place.column - function.column if header.place else 0
    located_sizes = [
        (size, (location.line, location.column - base)) for size, location in header.ranges if location
    ]
    sizes_by_name: dict[str, set[int]] = {}
    for call in function.ranges:
        if call.name not in arguments:
            # Triton records the place that it visited last: of the call or of one of its arguments.
            sizes = {size for size, location in located_sizes if call.begin <= location < call.end}
            sizes_by_name.setdefault(call.name, set()).update(sizes)
    return {name: sizes.pop() for name, sizes in sizes_by_name.items() if len(sizes) == 1}


def _functions_of(file: str) -> list[PythonFunction]:
    path = Path(file)
    # The path comes from untrusted data: open only an ordinary source file.
    if path.suffix != ".py" or not path.is_absolute() or "\0" in file:
        return []
    try:
        content = read_file(path, _MAX_PYTHON_BYTES, follow_links=True)
    except BadEntryError:
        return []
    return functions_in(content.decode("utf-8", "replace"), file)


def _function(node: ast.FunctionDef, lines: Sequence[str], file: str, first_line: int) -> PythonFunction:
    begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = node.end_lineno or node.lineno
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    names = tuple(parameter.arg for parameter in parameters)
    return PythonFunction(
        source=SourceFunction(
            node.name, file, begin, "".join(lines[begin - first_line : end - first_line + 1])
        ),
        parameters=names,
        line=node.lineno,
        column=node.col_offset,
        constexprs=frozenset(p.arg for p in parameters if p.annotation and _is_constexpr(p.annotation)),
        ranges=tuple(_range_calls(node, frozenset(names))),
    )


def _is_constexpr(annotation: ast.expr) -> bool:
    return "constexpr" in ast.unparse(annotation)


def _fits(function: PythonFunction, header: KernelHeader) -> bool:
    """Return True if the function has the kernel's arguments among its parameters, in their order."""
    if not header.named:
        return len(header.arguments) <= len(function.parameters)
    rest = iter(function.parameters)
    return all(argument.name.partition(".")[0] in rest for argument in header.arguments)


def _range_calls(function: ast.FunctionDef, parameters: frozenset[str]) -> Iterator[RangeCall]:
    nodes = list(ast.walk(function))
    assigned = {node.id for node in nodes if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    for node in nodes:
        match node:
            case ast.Call(func=ast.Attribute(attr="arange"), args=[_, ast.Name(id=name)]):
                if name in parameters - assigned:
                    begin = (node.lineno, node.col_offset)
                    end = (node.end_lineno or node.lineno, node.end_col_offset or 0)
                    yield RangeCall(name, begin, end)
