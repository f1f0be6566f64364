"""The Python text of an imported kernel: found by file and line, read by `ast`, never imported."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.capturing.importers.kernel_header import KernelHeader
from irscope.capturing.importers.untrusted import BadEntryError, read_file
from irscope.model import SourceFunction

_MAX_PYTHON_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class RangeCall:
    """A call `tl.arange(..., NAME)`: from `begin` to before `end`, each (line, column from 0)."""

    name: str
    begin: tuple[int, int]
    end: tuple[int, int]


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function in a Python file.

    `line` and `column` are those of its `def`, from 1 and 0. `constexprs` are its parameters annotated
    with `tl.constexpr`, `ranges` its calls `tl.arange(..., NAME)` of a parameter that nothing assigns to.
    """

    source: SourceFunction
    parameters: tuple[str, ...]
    line: int
    column: int
    constexprs: frozenset[str]
    ranges: tuple[RangeCall, ...]


class PythonFiles:
    """Python files of this machine, each read at most once."""

    def __init__(self) -> None:
        self._functions: dict[str, list[PythonFunction]] = {}

    def find(self, header: KernelHeader) -> PythonFunction | None:
        """The function that a kernel was compiled from, None where this machine does not have it.

        It has to begin on the very line that the IR names and to take the kernel's arguments: a file
        that changed since is not taken for the one that was compiled.
        """
        place = header.place
        if place is None:
            return None
        if place.file not in self._functions:
            self._functions[place.file] = _functions_of(place.file)
        for function in self._functions[place.file]:
            if function.line == place.line and _fits(function, header):
                return function
        return None


def functions_in(text: str, file: str, first_line: int = 1) -> list[PythonFunction]:
    """The functions that `text` defines; `first_line` is its place in `file`. Empty where it is no Python."""
    lines = text.splitlines(keepends=True)
    indent = len(text) - len(text.lstrip(" "))
    if indent:  # a function that stood in another, cut out as it was
        text = "".join(line[min(indent, len(line) - len(line.lstrip(" "))) :] for line in lines)
    try:
        tree = ast.parse(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return []
    ast.increment_lineno(tree, first_line - 1)
    nodes = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
    return [_function(node, lines, file, first_line) for node in nodes]


def range_constants(function: PythonFunction, header: KernelHeader) -> dict[str, int]:
    """The constexpr parameters whose values the kernel's `tl.arange` calls show: name -> value.

    A range made at the place of `tl.arange(0, BLOCK)` ends at BLOCK.
    """
    arguments = {argument.name for argument in header.arguments}
    # Columns count from 0 in ast, from 0 or 1 in the IR.
    base = header.place.column - function.column if header.place else 0
    made = [(size, (place.line, place.column - base)) for size, place in header.ranges if place]
    found: dict[str, set[int]] = {}
    for call in function.ranges:
        if call.name not in arguments:
            # Triton names the place of what it visited last: the call, or an argument of it.
            sizes = {size for size, place in made if call.begin <= place < call.end}
            found.setdefault(call.name, set()).update(sizes)
    return {name: sizes.pop() for name, sizes in found.items() if len(sizes) == 1}


def _functions_of(file: str) -> list[PythonFunction]:
    path = Path(file)
    # The name comes from the import: nothing but an ordinary source file is opened for it.
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
    """Whether the function can take the kernel's arguments, in their order."""
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
