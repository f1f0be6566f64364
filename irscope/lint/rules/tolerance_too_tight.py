"""A tolerance below the rounding error of the fp16, bf16 or TF32 numbers compared.

**What it does.** Reports `torch.testing.assert_close` or `torch.allclose` on a product of random fp16 or
bf16 matrices if its tolerance is below one unit in the last place. Also reports one on a product of random
float32 matrices if it is compared with a kernel of the file that multiplies by `tl.dot` with its default
precision, TF32, and the tolerance is below TF32's rounding error.

**Why is this bad?** Two correct results that were rounded in a different order differ by that much, so the
test fails. A sum of K products of normal numbers is about sqrt(K), and one unit of fp16 is 0.03 at 32 and 1.0
at 1024. TF32 changes the sum by about sqrt(K) / 2048, 0.016 for K = 1024, while the default tolerance of
float32 is 0.00005.

**Example**

```python
a, b = (torch.randn((1024, 1024), dtype=torch.float16) for _ in range(2))
torch.testing.assert_close(matmul(a, b), a @ b, rtol=0, atol=1e-2)  # one unit is 0.03 at 32
```

**Use instead**

```python
torch.testing.assert_close(matmul(a, b), a @ b, rtol=1e-2, atol=1e-1)
```

**Limits.** On TF32: NVIDIA GPUs only, and only if the file sets no precision anywhere.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from math import frexp, sqrt

from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.python_module import PythonModule
from irscope.lint.source.random_products import random_product, tf32_function
from irscope.lint.source.scope import Scope, inside

# Bits of the significand after the leading one (IEEE 754-2019, table 3.5; bfloat16).
_FRACTION_BITS = {"float16": 10, "half": 10, "bfloat16": 7}
# Default (rtol, atol), from the documentation of torch.allclose and, per dtype, torch.testing.assert_close.
_ALLCLOSE = (1e-5, 1e-8)
_CLOSE = {"float16": (1e-3, 1e-5), "half": (1e-3, 1e-5), "bfloat16": (1.6e-2, 1e-5)}
_CLOSE |= {"float32": (1.3e-6, 1e-5)}
# The standard deviation of the relative error of a product of two numbers rounded to TF32 (10 fraction
# bits): each is off by up to 2^-11, evenly, which is 2^-11 / sqrt(3) in the root mean square.
_TF32_ERROR = 2.0**-11 * sqrt(2 / 3)


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
    dtype, length = random_product(node.args[:2], scope, module)
    function = tf32_function(node.args[:2], scope, module) if dtype == "float32" else ""
    if dtype not in _FRACTION_BITS and not function:
        return
    rtol, atol = _ALLCLOSE if name == "torch.allclose" else _CLOSE[dtype]
    given = {keyword.arg: module.value(keyword.value, scope) for keyword in node.keywords}
    rtol, atol = given.get("rtol", rtol), given.get("atol", atol)
    if not isinstance(rtol, int | float) or not isinstance(atol, int | float):
        return
    # A sum of K products of normal numbers is about sqrt(K). If K is unknown, assume 1.
    size = sqrt(length) if length else 1.0
    error = size * _TF32_ERROR if function else ulp(size, _FRACTION_BITS[dtype])
    if atol + rtol * size < error:
        allowed = f"atol={atol:g}, rtol={rtol:g} allow a difference of {atol + rtol * size:.2g}"
        reason, fix = _tf32(function, length, error) if function else _last_place(dtype, length, error)
        yield module.diagnostic(RULE, node, f"{allowed}, but {reason}: correct results fail", fix)


def _tf32(function: str, length: int, error: float) -> tuple[str, str]:
    """Why a tolerance is too tight for TF32, and what to do."""
    terms = f"a sum of K = {length} products" if length else "each product"
    reason = f"{function} multiplies in TF32, tl.dot's default, which changes {terms} by about {error:.2g}"
    fix = f'allow several times that, such as atol={4 * error:.0e}, or pass input_precision="ieee" to tl.dot'
    return reason, fix


def _last_place(dtype: str, length: int, unit: float) -> tuple[str, str]:
    """Why a tolerance is below one unit in the last place, and what to do."""
    size = sqrt(length) if length else 1.0
    kind = "bf16" if dtype == "bfloat16" else "fp16"
    result = (
        f"a sum of K = {length} products is about {size:.4g}" if length else "results are about 1 or more"
    )
    reason = f"{result}, where one unit in the last place of {kind} is {unit:.2g}"
    fix = f"allow at least one unit, such as rtol={2 * unit / size:.0e}, or compare with a float32 reference"
    return reason, fix


RULE = SourceRule("IRS112", "tolerance-too-tight", __doc__, tolerance_too_tight)
