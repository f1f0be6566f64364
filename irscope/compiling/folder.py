"""Find the kernels in a folder by reading its Python files, so that only files with kernels are executed."""

from __future__ import annotations

import ast
import tokenize
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from irscope.model import UserError
from irscope.model.files import python_files

_Function = ast.FunctionDef


def folder_kernels(folder: Path) -> list[tuple[Path, str]]:
    """Return the file and name of each kernel in a folder.

    A function that another one calls, or that returns a value, is a helper and not a kernel. Raises
    UserError if there is none.
    """
    functions = [(file, function) for file in python_files(folder) for function in _jit_functions(file)]
    called = {name for _, function in functions for name in _called_names(function)}
    kernels = [
        (file, function.name)
        for file, function in functions
        if function.name not in called and not _returns_value(function)
    ]
    if not kernels:
        raise UserError(f"{folder}: no file in it has a @triton.jit kernel")
    return list(dict.fromkeys(kernels))


def _jit_functions(file: Path) -> Iterator[_Function]:
    """Yield the functions of a file's module with a decorator of Triton's; none if it is not valid Python."""
    with suppress(SyntaxError, ValueError, OSError, LookupError, RecursionError, MemoryError):
        with tokenize.open(file) as stream:
            text = stream.read()
        if "triton" in text:
            yield from (
                node for node in ast.parse(text).body if isinstance(node, _Function) and _is_jit(node)
            )


def _is_jit(function: _Function) -> bool:
    """Return True for `@jit`, `@triton.jit`, `@gluon.jit` and `@triton.jit(...)`."""
    for decorator in function.decorator_list:
        called = decorator.func if isinstance(decorator, ast.Call) else decorator
        name = ast.unparse(called)
        if name in ("jit", "triton.jit", "gluon.jit") or name.endswith((".triton.jit", ".gluon.jit")):
            return True
    return False


def _called_names(function: _Function) -> Iterator[str]:
    """Yield the names of the functions that a function calls, but its own."""
    for node in ast.walk(function):
        called = node.func if isinstance(node, ast.Call) else None
        name = getattr(called, "id", getattr(called, "attr", None))  # `f`, or the end of `m.f`
        if name is not None and name != function.name:
            yield name


def _returns_value(function: _Function) -> bool:
    """Return True if a function returns a value, which no kernel does."""
    return any(isinstance(node, ast.Return) and node.value is not None for node in ast.walk(function))
