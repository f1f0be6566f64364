"""A tolerance below the rounding error of the fp16, bf16 or TF32 numbers compared.

**What it does.** Reports `torch.testing.assert_close` or `torch.allclose` on a product of random fp16 or
bf16 matrices if its tolerance is below one unit in the last place. Also reports one on a product of random
float32 matrices if it is compared with a kernel of the file that multiplies by `tl.dot` with its default
precision, TF32, and the tolerance is below TF32's rounding error; the kernel's result may be returned, or
written to an argument. `assert (a - b).abs().max() < tolerance` is read as well.

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
from irscope.lint.source.accesses import pointer_accesses
from irscope.lint.source.evaluate import unpacked
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import (
    LaunchSite,
    PythonModule,
    PythonScope,
    inside,
    passed_arguments,
)
from irscope.model.records import frozen

_MAX_CALLS = 5
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


@frozen
class RandomProduct:
    """A product of random matrices: its dtype ("" if it is none), the length K of its sums (or 0).

    `uniform`: of numbers between 0 and 1, not of normal numbers.
    """

    dtype: str
    length: int
    uniform: bool = False

    @property
    def magnitude(self) -> float:
        """Return about how large an element is; 1 if K is unknown."""
        return self.length / 4 if self.uniform and self.length else sqrt(self.length or 1)

    @property
    def size(self) -> float:
        """Return the root of the sum of the squares of the products; the mean square of x * y is 1 / 9
        for uniform numbers.
        """
        return sqrt(self.length or 1) / (3 if self.uniform else 1)


def random_product(operands: list[ast.expr], scope: PythonScope, module: PythonModule) -> RandomProduct:
    """Return the product of two random matrices among two operands, with dtype "" if neither is one."""
    for operand in operands:
        left = left_factor(scope.resolve(operand), module)
        if left is None:
            continue
        factory = scope.resolve(left)
        maker = module.dotted(factory.func) if isinstance(factory, ast.Call) else ""
        if isinstance(factory, ast.Call) and maker in ("torch.randn", "torch.rand"):
            sizes = _last_size(factory, module, scope)
            return RandomProduct(_dtype(factory, module, scope), sizes, maker == "torch.rand")
        return RandomProduct(_only_dtype(scope, module), 0)
    return RandomProduct("", 0)


def left_factor(node: ast.expr, module: PythonModule) -> ast.expr | None:
    """Return the left factor of a matrix product, or None for any other expression."""
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
        return node.left
    if isinstance(node, ast.Call) and module.dotted(node.func) in _PRODUCTS and node.args:
        return node.args[0]
    return None


def _dtype(call: ast.Call, module: PythonModule, scope: PythonScope) -> str:
    node = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    name = module.dotted(scope.resolve(node)) if node is not None else "torch.float32"
    short_name = name.removeprefix("torch.") if name.startswith("torch.") else ""
    return "float32" if short_name == "float" else short_name


def _last_size(call: ast.Call, module: PythonModule, scope: PythonScope) -> int:
    """Return the last size that `torch.randn` is called with; if a loop sets it, the largest."""
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


def _only_dtype(scope: PythonScope, module: PythonModule) -> str:
    """Return the dtype named in the outermost function, if it names only one and calls `torch.randn`."""
    names, random = set(), False
    for node in ast.walk(scope.outermost.node):
        if isinstance(node, ast.Attribute):
            name = module.dotted(node)
            random = random or name == "torch.randn"
            if name.startswith("torch.") and name.count(".") == 1:
                names.add(name.removeprefix("torch."))
    dtypes = names & {"float16", "half", "bfloat16", "float32", "float", "float64", "double"}
    return dtypes.pop() if len(dtypes) == 1 and random and scope.parent is not None else ""


def tf32_function(operands: list[ast.expr], scope: PythonScope, module: PythonModule) -> str:
    """Return the function among two compared values that multiplies in TF32; "" if it is not certain.

    It launches a kernel of this file with a `tl.dot` of default precision, and nothing in the file
    sets a precision.
    """
    if any(setting in module.text for setting in _PRECISION_SETTINGS):
        return ""
    launches = [launch for launch in module.launches if _multiplies_as_loaded(launch.kernel, module)]
    functions = {launch.scope.outermost.node for launch in launches}
    for operand in operands:
        call = scope.resolve(operand)
        if isinstance(call, ast.Call) and any(
            call is node for function in functions for node, _ in module.calls.get(function, [])
        ):
            return ast.unparse(call.func)
        name = operand.id if isinstance(operand, ast.Name) else ""
        if name and (kernel_name := _written_by(name, scope, launches, module)):
            return kernel_name
    return ""


def _written_by(name: str, scope: PythonScope, launches: list[LaunchSite], module: PythonModule) -> str:
    """Return the kernel or function that multiplies in TF32 and is passed `name` to write to, or ""."""
    for launch in launches:
        outputs = {
            parameter
            for access in pointer_accesses(launch.kernel, module)
            if access.operation == "store"
            for parameter in [access.parameter]
        }
        passed = [launch.arguments[output] for output in outputs & launch.arguments.keys()]
        names = {node.id for node in passed if isinstance(node, ast.Name)}
        if launch.scope.node is scope.node and name in names:
            return launch.kernel.name
        function = launch.scope.outermost.node
        for call, caller in module.calls.get(function, []):
            arguments = passed_arguments(function, call, caller)
            written = {node.id for key, (node, _) in arguments if key in names and isinstance(node, ast.Name)}
            if caller.node is scope.node and name in written:
                return ast.unparse(call.func)
    return ""


def _multiplies_as_loaded(kernel: KernelSource, module: PythonModule) -> bool:
    """Return True if a kernel has a `tl.dot`, and converts nothing to a narrower type."""
    if any(isinstance(node, ast.Attribute) and node.attr in ("float16", "bfloat16") for node in kernel.nodes):
        return False
    return any(module.tl(node, "dot") for node in kernel.nodes)


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
    """Return one unit in the last place at this magnitude: for fp16 (10 bits), 0.25 at 256."""
    return 2.0 ** (frexp(magnitude)[1] - 1 - fraction_bits)


def tolerance_too_tight(module: PythonModule) -> Iterator[Diagnostic]:
    """Check the tolerances of comparisons with a product of random fp16 or bf16 matrices."""
    # Most files compare nothing; building their scopes takes time.
    for scope in module.scopes if "close(" in module.text or "assert" in module.text else ():
        for node in inside(scope.node):
            if isinstance(node, ast.Call) and len(node.args) >= 2:
                yield from _check_call(node, scope, module)
            elif isinstance(node, ast.Assert):
                yield from _check_difference(node, scope, module)


def _check_difference(node: ast.Assert, scope: PythonScope, module: PythonModule) -> Iterator[Diagnostic]:
    """Check `assert (a - b).abs().max() < tolerance`, where a function multiplies in TF32."""
    match node.test:
        case ast.Compare(left, [ast.Lt() | ast.LtE()], [right]):
            tolerance = module.value(right, scope)
            difference = _absolute_difference(left, scope, module)
        case _:
            return
    if difference is None or not isinstance(tolerance, int | float):
        return
    operands = [difference.left, difference.right]
    product = random_product(operands, scope, module)
    function = tf32_function(operands, scope, module) if product.dtype == "float32" else ""
    if function and tolerance < product.size * _TF32_ERROR:
        reason, fix = _tf32(function, product.length, product.size * _TF32_ERROR)
        message = f"the assertion allows a difference of {tolerance:g}, but {reason}: correct results fail"
        yield module.diagnostic(RULE, node, message, fix)


def _absolute_difference(node: ast.expr, scope: PythonScope, module: PythonModule) -> ast.BinOp | None:
    """Return the difference in `(a - b).abs().max()` or `torch.max(torch.abs(a - b))`, or None."""
    names: set[str] = set()
    for _ in range(_MAX_CALLS):
        node = scope.resolve(node)
        match node:
            case ast.BinOp(op=ast.Sub()):
                return node if {"abs", "max"} <= names else None
            case ast.Call(ast.Attribute(inner, method)):
                names.add(method)
                node = node.args[0] if module.dotted(inner) == "torch" and node.args else inner
            case _:
                return None
    return None


def _check_call(node: ast.Call, scope: PythonScope, module: PythonModule) -> Iterator[Diagnostic]:
    name = module.dotted(node.func)
    if name not in ("torch.allclose", "torch.testing.assert_close"):
        return
    product = random_product(node.args[:2], scope, module)
    dtype, length = product.dtype, product.length
    function = tf32_function(node.args[:2], scope, module) if dtype == "float32" else ""
    if dtype not in _FRACTION_BITS and not function:
        return
    rtol, atol = _ALLCLOSE if name == "torch.allclose" else _CLOSE[dtype]
    tolerances = {keyword.arg: module.value(keyword.value, scope) for keyword in node.keywords}
    rtol, atol = tolerances.get("rtol", rtol), tolerances.get("atol", atol)
    if not isinstance(rtol, int | float) or not isinstance(atol, int | float):
        return
    size = product.magnitude
    error = product.size * _TF32_ERROR if function else ulp(size, _FRACTION_BITS[dtype])
    if atol + rtol * size < error:
        allowed = f"atol={atol:g}, rtol={rtol:g} allow a difference of {atol + rtol * size:.2g}"
        reason, fix = _tf32(function, length, error) if function else _last_place(dtype, length, error)
        yield module.diagnostic(RULE, node, f"{allowed}, but {reason}: correct results fail", fix)


def _tf32(function: str, length: int, error: float) -> tuple[str, str]:
    """Say why a tolerance is too tight for TF32, and what to do."""
    terms = f"a sum of K = {length} products" if length else "each product"
    reason = f"{function} multiplies in TF32, tl.dot's default, which changes {terms} by about {error:.2g}"
    fix = f'allow several times that, such as atol={4 * error:.0e}, or pass input_precision="ieee" to tl.dot'
    return reason, fix


def _last_place(dtype: str, length: int, unit: float) -> tuple[str, str]:
    """Say why a tolerance is below one unit in the last place, and what to do."""
    size = sqrt(length) if length else 1.0
    kind = "bf16" if dtype == "bfloat16" else "fp16"
    result = (
        f"a sum of K = {length} products is about {size:.4g}" if length else "results are about 1 or more"
    )
    reason = f"{result}, where one unit in the last place of {kind} is {unit:.2g}"
    fix = f"allow at least one unit, such as rtol={2 * unit / size:.0e}, or compare with a float32 reference"
    return reason, fix


RULE = SourceRule("IRS112", "tolerance-too-tight", __doc__, tolerance_too_tight)
