"""A tolerance below one unit in the last place of the fp16 or bf16 numbers compared.

**What it does.** Reports `torch.testing.assert_close` or `torch.allclose` on a product of random fp16 or
bf16 matrices if its tolerance is below one unit in the last place.

**Why is this bad?** Two correct results that were rounded in a different order differ by that much, so the
test fails. A sum of K products of normal numbers is about sqrt(K). In fp16, one unit is 0.03 at 32, 0.25
at 256 and 1.0 at 1024.

**Example**

```python
a, b = (torch.randn((1024, 1024), dtype=torch.float16) for _ in range(2))
torch.testing.assert_close(matmul(a, b), a @ b, rtol=0, atol=1e-2)  # one unit is 0.03 at 32
```

**Use instead**

```python
torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-2, atol=1e-1)
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import frexp, sqrt

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.python_module import PythonModule
from irscope.lint.source.scope import Scope, inside
from irscope.lint.source.static_values import unpacked

# Bits of the significand after the leading one (IEEE 754-2019, table 3.5; bfloat16).
_FRACTION_BITS = {"float16": 10, "half": 10, "bfloat16": 7}
# Default (rtol, atol), from the documentation of torch.allclose and, per dtype, torch.testing.assert_close.
_ALLCLOSE = (1e-5, 1e-8)
_CLOSE = {"float16": (1e-3, 1e-5), "half": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}
_PRODUCTS = ("torch.matmul", "torch.mm", "torch.bmm")


def ulp(magnitude: float, fraction_bits: int) -> float:
    """One unit in the last place of numbers of this magnitude: for fp16 (10 bits), 0.25 at 256."""
    return 2.0 ** (frexp(magnitude)[1] - 1 - fraction_bits)


def tolerance_too_tight(module: PythonModule) -> Iterator[Diagnostic]:
    """Checks the tolerances of comparisons with a product of random fp16 or bf16 matrices."""
    # Most files compare nothing; building their scopes takes time.
    for scope in module.scopes if "close(" in module.text else ():
        for node in inside(scope.node):
            if isinstance(node, ast.Call) and len(node.args) >= 2:
                yield from _check_call(node, scope, module)


def _check_call(node: ast.Call, scope: Scope, module: PythonModule) -> Iterator[Diagnostic]:
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
    # A sum of K products of normal numbers is about sqrt(K). If K is unknown, assume 1.
    size = sqrt(length) if length else 1.0
    unit = ulp(size, _FRACTION_BITS[dtype])
    allowed = atol + rtol * size
    if allowed >= unit:
        return
    kind = "bf16" if dtype == "bfloat16" else "fp16"
    result = (
        f"a sum of K = {length} products is about {size:.4g}" if length else "results are about 1 or more"
    )
    message = (
        f"atol={atol:g}, rtol={rtol:g} allow a difference of {allowed:.2g}, but {result}, where one unit in "
        f"the last place of {kind} is {unit:.2g}: correct results fail"
    )
    fix = f"allow at least one unit, such as rtol={2 * unit / size:.0e}, or compare with a float32 reference"
    yield module.diagnostic(RULE, node, message, fix)


def _product(operands: list[ast.expr], scope: Scope, module: PythonModule) -> tuple[str, int]:
    """The dtype of a product of two random matrices, and the length K of its sums (0 if unknown).

    ("", 0) if neither operand is certain to be one.
    """
    for operand in operands:
        left = _left_factor(scope.resolve(operand), module)
        if left is None:
            continue
        made = scope.resolve(left)
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
    name = module.dotted(scope.resolve(node)) if node is not None else ""
    return name.removeprefix("torch.") if name.startswith("torch.") else ""


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


RULE = SourceRule("IRS112", "tolerance-too-tight", __doc__, tolerance_too_tight)
