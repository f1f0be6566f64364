"""Chooses the kernels of libraries that kernels_by_file.py compiles; imports none of their files."""

from __future__ import annotations

import ast
import re
import warnings
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cache, partial
from pathlib import Path

from irscope.toolchain.argument_uses import Resolve, last_name
from irscope.toolchain.triton_cache import digest


@dataclass(frozen=True, slots=True)
class Source:
    """A file of a library and its kernels."""

    library: str
    path: Path
    kernels: tuple[ast.FunctionDef, ...]
    resolve: Resolve = field(compare=False)


def libraries(folders: Sequence[Path]) -> list[Path]:
    """Each folder with Python files below it: a library, or the libraries in the folder."""
    return [
        library
        for folder in folders
        for library in ([folder] if any(folder.glob("*.py")) else sorted(folder.iterdir()))
        if library.is_dir()
    ]


class Library:
    """The files of a library that mention Triton; each is parsed when it is first needed."""

    def __init__(self, folder: Path) -> None:
        self.name, self._defining = folder.name, defaultdict(list)
        paths = []
        for path in sorted(folder.rglob("*.py")):
            text = path.read_text(encoding="utf-8", errors="replace")
            if "triton" in text and "jit" in text:
                paths.append(path)
                for name in set(re.findall(r"^ *def (\w+)\(", text, re.MULTILINE)):
                    self._defining[name].append(path)
        self.paths = sorted(paths, key=lambda one: digest(str(one.relative_to(folder))))

    def sample(self, number: int) -> Iterator[Source]:
        """The first files with `number` kernels in all; no file gives more than a quarter of them."""
        for path in self.paths:
            if number <= 0:
                return
            functions = functions_of(path).values()
            called = {name for function in functions for name in called_names(function)}
            kernels = [one for one in functions if one.name not in called and not returns_value(one)]
            if kernels := kernels[: max(number // 4, 4)]:
                yield Source(self.name, path, tuple(kernels), partial(self.resolve, path))
                number -= len(kernels)

    def resolve(self, path: Path, node: ast.expr) -> ast.FunctionDef | None:
        """The definition that a call refers to: in the same file, else the only one of its name."""
        name = last_name(node)
        if name in functions_of(path):
            return functions_of(path)[name]
        files = self._defining.get(name, [])
        return functions_of(files[0]).get(name) if len(files) == 1 else None


@cache
def functions_of(path: Path) -> dict[str, ast.FunctionDef]:
    """The `@triton.jit` functions of a file, by name."""
    return {function.name: function for function in jit_functions(path)}


def jit_functions(path: Path) -> Iterator[ast.FunctionDef]:
    """The `@triton.jit` functions at the top level of a file, also within `if` and `try`."""
    try:
        text = path.read_text(encoding="utf-8")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            pending: list[ast.AST] = [ast.parse(text)] if "triton" in text else []
    except (SyntaxError, ValueError):
        return
    while pending:
        node = pending.pop()
        if isinstance(node, ast.FunctionDef):
            decorators = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
            if any(ast.unparse(decorator) in ("triton.jit", "jit") for decorator in decorators):
                yield node
        elif isinstance(node, ast.Module | ast.If | ast.Try):
            pending += list(ast.iter_child_nodes(node))[::-1]


def returns_value(function: ast.FunctionDef) -> bool:
    """Whether it is a helper of kernels."""
    returns = (node for node in ast.walk(function) if isinstance(node, ast.Return))
    return any(node.value is not None for node in returns)


def called_names(function: ast.FunctionDef) -> set[str]:
    """The names that a function calls."""
    return {n.func.id for n in ast.walk(function) if isinstance(n, ast.Call) and isinstance(n.func, ast.Name)}
