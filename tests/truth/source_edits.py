"""Edits of a Python file that change nothing about its kernels: comments, blank lines, names."""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator, Mapping

_ADDED = "irscope_added"


def comments_above(text: str) -> str:
    """Three comment lines above everything but the module's docstring and `from __future__`."""
    first = min((node.lineno for node in ast.parse(text).body if _is_code(node)), default=1)
    lines = text.split("\n")
    return "\n".join([*lines[: first - 1], "# one", "# two: x = tl.load(y)", "# three", *lines[first - 1 :]])


def comments_inside(text: str) -> str:
    """A comment above and at the end of each statement of each function."""
    lines = text.split("\n")
    inside = _continued_lines(text)
    for first, last, indent in sorted(_statements(text), reverse=True):
        if last - 1 not in inside:
            lines[last - 1] += "  # at the end: a = b"
        lines.insert(first - 1, " " * indent + "# above: for i in range(3):")
    return "\n".join(lines)


def blank_lines(text: str) -> str:
    """Two blank lines above each statement of each function."""
    lines = text.split("\n")
    for first, _, _ in sorted(_statements(text), reverse=True):
        lines[first - 1 : first - 1] = ["", "   "]
    return "\n".join(lines)


def code_above(text: str) -> str:
    """A function above the others, so that every kernel moves to another line."""
    added = f"\n\ndef {_ADDED}(x):\n    y = x + 1\n    return y\n\n\n"
    first = min((node.lineno for node in ast.parse(text).body if _is_code(node)), default=1)
    lines = text.split("\n")
    return "\n".join(lines[: first - 1]) + added + "\n".join(lines[first - 1 :])


def with_names(text: str, function: str | None, names: Mapping[str, str]) -> str:
    """The file with variables renamed: in `function` and its decorators, or everywhere if it is None."""
    tree = ast.parse(text)
    root: ast.AST = tree
    if function is not None:
        root = next(node for node in functions(tree) if node.name == function)
    places = list(_uses(root, names))
    lines = [line.encode() for line in text.split("\n")]
    for line, column, old, new in sorted(places, reverse=True):
        row = lines[line - 1]
        start = row.index(old.encode(), column)
        lines[line - 1] = row[:start] + new.encode() + row[start + len(old.encode()) :]
    return b"\n".join(lines).decode()


def functions(tree: ast.Module) -> list[ast.FunctionDef]:
    """The functions at the top of a file that Triton compiles."""
    return [
        node
        for node in tree.body
        if isinstance(node, ast.FunctionDef)
        and any("jit" in ast.unparse(each) for each in node.decorator_list)
    ]


def parameters(function: ast.FunctionDef) -> list[str]:
    """The names of a function's parameters."""
    return [argument.arg for argument in function.args.args]


def strings_outside(text: str, function: ast.FunctionDef) -> set[str]:
    """The strings in a file outside of a function, such as the names in a list of configs."""
    others = (
        node
        for node in ast.parse(text).body
        if not (isinstance(node, ast.FunctionDef) and node.name == function.name)
    )
    return {
        part.value
        for node in others
        for part in ast.walk(node)
        if isinstance(part, ast.Constant) and isinstance(part.value, str)
    }


def local_names(function: ast.FunctionDef) -> list[str]:
    """The variables that a function assigns, in order, without its parameters."""
    own = set(parameters(function))
    stored = (
        node.id
        for node in ast.walk(function)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store) and node.id not in own
    )
    return list(dict.fromkeys(stored))


def _uses(root: ast.AST, names: Mapping[str, str]) -> Iterator[tuple[int, int, str, str]]:
    """Line, column, old and new name of each use of `names`, and of strings in decorators that name them."""
    for node in ast.walk(root):
        if isinstance(node, ast.Name) and node.id in names:
            yield node.lineno, node.col_offset, node.id, names[node.id]
        elif isinstance(node, ast.arg) and node.arg in names:
            yield node.lineno, node.col_offset, node.arg, names[node.arg]
        elif isinstance(node, ast.FunctionDef | ast.alias) and node.name in names:
            yield node.lineno, node.col_offset, node.name, names[node.name]
    for decorator in getattr(root, "decorator_list", ()):
        for node in ast.walk(decorator):
            if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in names:
                yield node.lineno, node.col_offset, node.value, names[node.value]


def _statements(text: str) -> Iterator[tuple[int, int, int]]:
    """First line, last line of the head, and indentation of the statements of compiled functions."""
    for function in functions(ast.parse(text)):
        for node in ast.walk(function):
            if isinstance(node, ast.stmt) and node is not function and _first_on_line(text, node):
                body = getattr(node, "body", None)
                last = node.end_lineno if not body else None
                yield node.lineno, last or node.lineno, node.col_offset


def _first_on_line(text: str, node: ast.stmt) -> bool:
    line = text.split("\n")[node.lineno - 1]
    return not line[: node.col_offset].strip() and not line.lstrip().startswith("elif")


def _continued_lines(text: str) -> set[int]:
    """The lines (from 0) that end inside of a statement or a string, where a comment may not be appended."""
    ends = {
        token.start[0] - 1
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type == tokenize.NEWLINE
    }
    return set(range(text.count("\n") + 1)) - ends


def _is_code(node: ast.stmt) -> bool:
    future = isinstance(node, ast.ImportFrom) and node.module == "__future__"
    return not future and not (isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant))
