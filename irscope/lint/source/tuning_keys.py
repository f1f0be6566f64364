"""The tuning keys of a file's autotuned kernels: the names in `@triton.autotune(..., key=[...])`."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from dataclasses import dataclass

from irscope.lint.source.kernel_source import Autotune, KernelSource, strings
from irscope.lint.source.python_module import PythonModule


@dataclass(frozen=True, slots=True)
class TuningKey:
    """The tuning key of a kernel: the names in it, and `node`, the expression passed as `key`."""

    kernel: KernelSource
    autotune: Autotune
    names: list[str]
    node: ast.expr


def tuning_keys(module: PythonModule) -> Iterator[TuningKey]:
    """The tuning keys that the text determines."""
    for kernel in module.kernels.values():
        autotune = kernel.autotune
        node = autotune.arguments.get("key") if autotune else None
        if autotune is None or node is None or not kernel.decorators_known:
            continue
        names = strings(module.value(node, module.scope))
        if names is not None:
            yield TuningKey(kernel, autotune, names, node)


def place_of(name: str, node: ast.expr) -> ast.expr:
    """The string `name` in a list of names; the list itself if it is written elsewhere."""
    found = (part for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value == name)
    return next(found, node)
