"""Products of random matrices in a test, and the functions of the file that use tensor cores."""

from __future__ import annotations

import ast

from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule
from irscope.lint.source.scope import Scope, inside
from irscope.lint.source.static_values import unpacked

_PRODUCTS = ("torch.matmul", "torch.mm", "torch.bmm")
# Arguments and settings with which a product of float32 matrices and its reference are not TF32 and float32.
_PRECISION_SETTINGS = (
    "allow_tf32",
    "set_float32_matmul_precision",
    "fp32_precision",
    "input_precision",
    "set_default_dtype",
    "float64",
    "NVIDIA_TF32_OVERRIDE",
)


def random_product(operands: list[ast.expr], scope: Scope, module: PythonModule) -> tuple[str, int]:
    """The dtype of a product of two random matrices, and the length K of its sums (0 if unknown).

    ("", 0) if neither operand is certain to be one.
    """
    for operand in operands:
        left = left_factor(scope.resolve(operand), module)
        if left is None:
            continue
        made = scope.resolve(left)
        if isinstance(made, ast.Call) and module.dotted(made.func) == "torch.randn":
            return _dtype(made, module, scope), _last_size(made, module, scope)
        return _only_dtype(scope, module), 0
    return "", 0


def left_factor(node: ast.expr, module: PythonModule) -> ast.expr | None:
    """The left factor of a matrix product; None for any other expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left
    if isinstance(node, ast.Call) and module.dotted(node.func) in _PRODUCTS and node.args:
        return node.args[0]
    return None


def _dtype(call: ast.Call, module: PythonModule, scope: Scope) -> str:
    node = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    name = module.dotted(scope.resolve(node)) if node is not None else "torch.float32"
    found = name.removeprefix("torch.") if name.startswith("torch.") else ""
    return "float32" if found == "float" else found


def _last_size(call: ast.Call, module: PythonModule, scope: Scope) -> int:
    """The last size that `torch.randn` is called with; if a loop sets it, the largest."""
    node = call.args[-1] if call.args else call
    node = node.elts[-1] if isinstance(node, ast.Tuple | ast.List) and node.elts else node
    values = [module.value(node, scope)]
    if isinstance(node, ast.Name):
        for loop in inside(scope.node):
            if isinstance(loop, ast.For) and isinstance(
                items := module.value(loop.iter, scope), list | tuple
            ):
                values += [unpacked(loop.target, item).get(node.id) for item in items]
    return max((value for value in values if isinstance(value, int) and value > 0), default=0)


def _only_dtype(scope: Scope, module: PythonModule) -> str:
    """The dtype named in the outermost function, if it names only one and calls `torch.randn`."""
    names, random = set(), False
    for node in ast.walk(scope.outermost.node):
        if isinstance(node, ast.Attribute):
            name = module.dotted(node)
            random = random or name == "torch.randn"
            if name.startswith("torch.") and name.count(".") == 1:
                names.add(name.removeprefix("torch."))
    found = names & {"float16", "half", "bfloat16", "float32", "float", "float64", "double"}
    return found.pop() if len(found) == 1 and random and scope.parent is not None else ""


def tf32_function(operands: list[ast.expr], scope: Scope, module: PythonModule) -> str:
    """The function among two compared values that multiplies in TF32; "" if it is not certain.

    It launches a kernel of this file with a `tl.dot` of default precision, and nothing in the file sets a
    precision.
    """
    if any(setting in module.text for setting in _PRECISION_SETTINGS):
        return ""
    for operand in operands:
        call = scope.resolve(operand)
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            for launch in module.launches:
                function = launch.scope.outermost.node
                is_called = isinstance(function, ast.FunctionDef) and function.name == call.func.id
                if is_called and _multiplies_as_loaded(launch.kernel, module):
                    return call.func.id
    return ""


def _multiplies_as_loaded(kernel: KernelSource, module: PythonModule) -> bool:
    """Whether a kernel has a `tl.dot`, and converts nothing to a narrower type."""
    if any(isinstance(node, ast.Attribute) and node.attr in ("float16", "bfloat16") for node in kernel.nodes):
        return False
    return any(module.tl(node, "dot") for node in kernel.nodes)
