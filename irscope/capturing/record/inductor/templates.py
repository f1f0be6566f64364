"""Reads the constants in the source of a kernel that Inductor generated.

A template of Inductor (matrix multiplication, convolution, attention) has no configs: each choice is a kernel
of its own, with its block sizes in its body:

    def triton_mm(arg_A, arg_B, out_ptr0):
        BLOCK_M : tl.constexpr = 64
"""

from __future__ import annotations

import ast
import re
from functools import lru_cache

from irscope.model import Value, parse_value

_TEMPLATE = re.compile(r"^@triton_heuristics\.template\(", re.MULTILINE)
_MAX_SOURCE = 1 << 20


def template_constants(source: str) -> dict[str, Value]:
    """The constants in the body of a template's kernel by name; none for any other kernel."""
    if not _TEMPLATE.search(source):
        return {}
    kernel = _kernel(source)
    found: dict[str, Value] = {}
    for node in kernel.body if kernel else ():
        match node:
            case ast.AnnAssign(target=ast.Name(id=name), value=ast.expr() as value):
                if ast.unparse(node.annotation) == "tl.constexpr":
                    found |= _constant(name, value)
    return found


def size_hints(source: str) -> str:
    """The sizes that Inductor chose the configs for ("x=4096:r0_=1024"); "" if the source does not say.

    Without commas and blanks, at which names of variants are split.
    """
    kernel = _kernel(source)
    for decorator in kernel.decorator_list if kernel else ():
        for keyword in decorator.keywords if isinstance(decorator, ast.Call) else ():
            if keyword.arg == "size_hints" and isinstance(keyword.value, ast.Dict):
                hints = _literal(keyword.value)
                items = hints.items() if isinstance(hints, dict) else ()
                return ":".join(f"{name}={size}" for name, size in items)
    return ""


@lru_cache(maxsize=16)
def _kernel(source: str) -> ast.FunctionDef | None:
    """The function with a decorator of `triton_heuristics`."""
    if len(source) > _MAX_SOURCE:
        return None
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return None
    functions = [node for node in tree.body if isinstance(node, ast.FunctionDef)]
    return next((f for f in functions if any(isinstance(d, ast.Call) for d in f.decorator_list)), None)


def _constant(name: str, value: ast.expr) -> dict[str, Value]:
    """A constant with a literal value or an element type (tl.float32); {} for any other expression."""
    if isinstance(value, ast.Attribute):
        return {name: parse_value(ast.unparse(value))}
    literal = _literal(value)
    return {name: literal} if isinstance(literal, int | float | str) else {}


def _literal(node: ast.expr) -> object:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return None
