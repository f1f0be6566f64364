"""The parameters that a kernel loads from, according to its source."""

from __future__ import annotations

import ast
from functools import lru_cache

from irscope.lint.source.accesses import pointer_accesses
from irscope.lint.source.python_module import PythonModule
from irscope.model import Kernel

# The source of a kernel has no imports.
_IMPORTS = "import triton\nimport triton.language as tl\n"


@lru_cache(maxsize=64)
def loaded_parameters(kernel: Kernel) -> frozenset[str] | None:
    """The parameters that a kernel may load from; None if its text does not say it.

    A parameter counts as loaded from unless the kernel only stores to it, or adds to it, itself.
    """
    try:
        module = PythonModule(_IMPORTS + kernel.source.text, kernel.source.file)
    except (SyntaxError, ValueError):
        return None
    source = module.kernels.get(kernel.name)
    if source is None:
        return None
    accesses = pointer_accesses(source, module)
    if any(not access.parameter for access in accesses):
        return None
    loaded = {access.parameter for access in accesses if access.operation == "load"}
    stored = {access.parameter for access in accesses} - loaded
    passed = {name for call in _other_calls(source.node, module) for name in call}
    return frozenset(source.runtime_parameters - (stored - passed))


def _other_calls(function: ast.FunctionDef, module: PythonModule) -> list[set[str]]:
    """The names passed on to functions that are not Triton's own."""
    found = []
    for node in ast.walk(function):
        if isinstance(node, ast.Call) and not module.dotted(node.func).startswith("triton."):
            arguments = [*node.args, *(keyword.value for keyword in node.keywords)]
            found.append({part.id for part in arguments if isinstance(part, ast.Name)})
    return found
