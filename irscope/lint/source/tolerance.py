"""Tolerances of a test that are finer than the numbers compared."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import frexp, sqrt

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.module import PythonModule
from irscope.lint.source.scope import Scope, inside
from irscope.lint.source.values import bound

TOLERANCE = Rule(
    "IRS112",
    "tolerance-too-tight",
    "a tolerance below one unit in the last place of the fp16 or bf16 numbers compared",
)

# Bits of the significand after the leading one (IEEE 754-2019, table 3.5; bfloat16).
_FRACTION_BITS = {"float16": 10, "half": 10, "bfloat16": 7}
# (rtol, atol) where the call does not say: documentation of torch.allclose; torch.testing.assert_close has
# one pair for each dtype.
_ALLCLOSE = (1e-5, 1e-8)
_CLOSE = {"float16": (1e-3, 1e-5), "half": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}
_PRODUCTS = ("torch.matmul", "torch.mm", "torch.bmm")


def ulp(magnitude: float, fraction_bits: int) -> float:
    """One unit in the last place of numbers from `magnitude` to the next power of two.

    0.25 at 256 and 1.0 at 1024 for fp16 (10 bits).
    """
    return 2.0 ** (frexp(magnitude)[1] - 1 - fraction_bits)


def tolerance_too_tight(module: PythonModule) -> Iterator[Diagnostic]:
    """Comparisons with a product of random fp16 or bf16 matrices, finer than its size allows."""
    # Most files compare nothing: their scopes need not be made.
    for scope in module.scopes if "close(" in module.text else ():
        for node in inside(scope.node):
            if isinstance(node, ast.Call) and len(node.args) >= 2:
                yield from _checked(node, scope, module)


def _checked(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Diagnostic]:
    name = module.dotted(node.func)
    if name not in ("torch.allclose", "torch.testing.assert_close"):
        return
    dtype, length = _product(node.args[:2], scope, module)
    if dtype not in _FRACTION_BITS:
        return
    rtol, atol = _ALLCLOSE if name == "torch.allclose" else _CLOSE[dtype]
    given = {keyword.arg: module.value(keyword.value, scope) for keyword in node.keywords}
    rtol, atol = given.get("rtol", rtol), given.get("atol", atol)
    if not isinstance(rtol, int | float) or not isinstance(atol, int | float):
        return
    # A sum of K products of normal numbers is about sqrt(K); where K is not known, at least 1.
    size = sqrt(length) if length else 1.0
    unit = ulp(size, _FRACTION_BITS[dtype])
    allowed = atol + rtol * size
    if allowed >= unit:
        return
    kind = "bf16" if dtype == "bfloat16" else "fp16"
    of = f"a sum of K = {length} products is about {size:.4g}" if length else "results are about 1 or more"
    message = (
        f"atol={atol:g}, rtol={rtol:g} allow {allowed:.2g} where {of}, and one unit in the last place of "
        f"{kind} is {unit:.2g} there (0.25 at 256, 1.0 at 1024 for fp16): results that are right fail"
    )
    fix = f"allow at least that unit, such as rtol={2 * unit / size:.0e}, or compare with a float32 reference"
    yield module.problem(TOLERANCE, node, message, fix)


def _product(operands: list[ast.expr], scope: Scope, module: PythonModule) -> tuple[str, int]:
    """The dtype of a product of two random matrices, and the length K of its sums (0: not known).

    ("", 0) where none of the operands is one for certain.
    """
    for operand in operands:
        left = _left_factor(_resolved(operand, scope), module)
        if left is None:
            continue
        made = _resolved(left, scope)
        if isinstance(made, ast.Call) and module.dotted(made.func) == "torch.randn":
            return _dtype(made, module, scope), _last_size(made, module, scope)
        return _only_dtype(scope, module), 0
    return "", 0


def _left_factor(node: ast.expr, module: PythonModule) -> ast.expr | None:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left
    if isinstance(node, ast.Call) and module.dotted(node.func) in _PRODUCTS and node.args:
        return node.args[0]
    return None


def _dtype(call: ast.Call, module: PythonModule, scope: Scope) -> str:
    node = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    name = module.dotted(_resolved(node, scope)) if node is not None else ""
    return name.removeprefix("torch.") if name.startswith("torch.") else ""


def _last_size(call: ast.Call, module: PythonModule, scope: Scope) -> int:
    """The last of the sizes that `torch.randn` is called with; the largest that a loop gives it."""
    node = call.args[-1] if call.args else call
    node = node.elts[-1] if isinstance(node, ast.Tuple | ast.List) and node.elts else node
    values = [module.value(node, scope)]
    if isinstance(node, ast.Name):
        for loop in inside(scope.node):
            if isinstance(loop, ast.For) and isinstance(
                items := module.value(loop.iter, scope), list | tuple
            ):
                values += [bound(loop.target, item).get(node.id) for item in items]
    return max((value for value in values if isinstance(value, int) and value > 0), default=0)


def _only_dtype(scope: Scope, module: PythonModule) -> str:
    """The one torch element type that is named in the outermost function, where it makes normal numbers."""
    names, random = set(), False
    for node in ast.walk(scope.outermost.node):
        if isinstance(node, ast.Attribute):
            name = module.dotted(node)
            random = random or name == "torch.randn"
            if name.startswith("torch.") and name.count(".") == 1:
                names.add(name.removeprefix("torch."))
    found = names & {"float16", "half", "bfloat16", "float32", "float", "float64", "double"}
    return found.pop() if len(found) == 1 and random and scope.parent is not None else ""


def _resolved(node: ast.expr, scope: Scope) -> ast.expr:
    for _ in range(10):
        if not isinstance(node, ast.Name) or (value := scope.expression(node.id)) is None:
            return node
        node = value
    return node
