"""The Python text of an imported kernel: found by file and line, read by `ast`, never imported."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from irscope.capture.kernel_header import KernelHeader, Place
from irscope.capture.untrusted import BadEntry, read_file
from irscope.model import SourceFunction

_MAX_PYTHON_BYTES = 8 << 20


@dataclass(frozen=True, slots=True)
class PythonFunction:
    """A function in a Python file; `constexprs` are its parameters annotated with `tl.constexpr`."""

    source: SourceFunction
    parameters: tuple[str, ...]
    constexprs: frozenset[str]
    node: ast.FunctionDef


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
            if function.node.lineno == place.line and _fits(function, header):
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

    A range made at the place of `tl.arange(0, BLOCK)` ends at BLOCK, if nothing assigns to BLOCK.
    """
    arguments = {argument.name for argument in header.arguments}
    assigned = {
        node.id
        for node in ast.walk(function.node)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    usable = set(function.parameters) - arguments - assigned
    # Columns count from 0 in ast, from 0 or 1 in the IR.
    base = (header.place.column if header.place else 0) - function.node.col_offset
    found: dict[str, set[int]] = {}
    for call in _arange_calls(function.node):
        end = call.args[1]
        if isinstance(end, ast.Name) and end.id in usable:
            made = {size for size, place in header.ranges if place and _covers(call, place, base)}
            found.setdefault(end.id, set()).update(made)
    return {name: sizes.pop() for name, sizes in found.items() if len(sizes) == 1}


def _functions_of(file: str) -> list[PythonFunction]:
    path = Path(file)
    # The name comes from the import: nothing but an ordinary source file is opened for it.
    if path.suffix != ".py" or not path.is_absolute() or "\0" in file:
        return []
    try:
        content = read_file(path, _MAX_PYTHON_BYTES, follow_links=True)
    except BadEntry:
        return []
    return functions_in(content.decode("utf-8", "replace"), file)


def _function(node: ast.FunctionDef, lines: Sequence[str], file: str, first_line: int) -> PythonFunction:
    begin = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
    end = node.end_lineno or node.lineno
    parameters = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
    return PythonFunction(
        source=SourceFunction(
            node.name, file, begin, "".join(lines[begin - first_line : end - first_line + 1])
        ),
        parameters=tuple(parameter.arg for parameter in parameters),
        constexprs=frozenset(p.arg for p in parameters if p.annotation and _is_constexpr(p.annotation)),
        node=node,
    )


def _is_constexpr(annotation: ast.expr) -> bool:
    return "constexpr" in ast.unparse(annotation)


def _fits(function: PythonFunction, header: KernelHeader) -> bool:
    """Whether the function can take the kernel's arguments, in their order."""
    if not header.named:
        return len(header.arguments) <= len(function.parameters)
    rest = iter(function.parameters)
    return all(argument.name.partition(".")[0] in rest for argument in header.arguments)


def _arange_calls(node: ast.FunctionDef) -> list[ast.Call]:
    return [
        call
        for call in ast.walk(node)
        if isinstance(call, ast.Call)
        and isinstance(call.func, ast.Attribute)
        and call.func.attr == "arange"
        and len(call.args) == 2
    ]


def _covers(call: ast.Call, place: Place, base: int) -> bool:
    """Whether `place` lies in the text of the call: Triton names the argument that it visited last."""
    begin = (call.lineno, call.col_offset)
    end = (call.end_lineno or call.lineno, call.end_col_offset or 0)
    return begin <= (place.line, place.column - base) < end
