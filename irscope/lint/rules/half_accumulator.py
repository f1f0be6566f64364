"""A sum that a kernel adds up in fp16 or bf16.

**What it does.** Reports accumulators made in fp16 or bf16 that a loop adds to, `tl.dot` with such an
`out_dtype`, and `tl.sum` of values converted to one.

**Why is this bad?** Each addition rounds to 11 (fp16) or 8 (bf16) bits, so the error grows with the length
of the sum, and small terms vanish: 256 + 1 is 256 in bf16. fp16 overflows at 65,504. Tests with small sizes
pass.

**Example**

```python
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float16)
for k in range(0, K, BLOCK_K):
    acc += tl.dot(a, b, out_dtype=tl.float16)
```

**Use instead**

```python
acc = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)
for k in range(0, K, BLOCK_K):
    acc = tl.dot(a, b, acc)
```
"""

from __future__ import annotations

import ast
from collections.abc import Iterator

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.kernel_body import resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import LaunchSite, PythonModule, argument
from irscope.lint.source.tensors import TensorValue

_HALVES = {"float16": "fp16", "bfloat16": "bf16"}
_DTYPE_POSITIONS = {"zeros": 1, "full": 2}
FIX = "accumulate in tl.float32, and convert the result when it is stored"


def half_accumulator(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for accumulators, products and sums in half precision."""
    for kernel in module.kernels.values():
        for node, kind, what in (*_accumulators(kernel, module), *_products(kernel, module)):
            yield module.diagnostic(RULE, node, f"{what} of {kernel.name} in {kind}", FIX, kernel)


def _accumulators(kernel: KernelSource, module: PythonModule) -> Iterator[tuple[ast.AST, str, str]]:
    loops = [node for node in kernel.nodes if isinstance(node, ast.For | ast.While)]
    in_loops = {id(part) for loop in loops for part in ast.walk(loop)}
    for node in kernel.nodes:
        if not isinstance(node, ast.Assign) or not isinstance(node.targets[0], ast.Name):
            continue
        name, kind = node.targets[0].id, _made_in(node.value, kernel, module)
        if not kind:
            continue
        additions = [
            value
            for value in kernel.assigned.get(name, [])
            if value is not node.value and _adds_to(value, name, module)
        ]
        if additions and any(id(part) in in_loops for value in additions for part in ast.walk(value)):
            yield node, kind, f"a loop adds to {name}"


def _adds_to(value: ast.expr, name: str, module: PythonModule) -> bool:
    """Return True if an expression is `name` plus something that is not a plain number."""
    match value:
        case ast.BinOp(left, ast.Add() | ast.Sub(), right):
            sides = [side for side in (left, right) if isinstance(side, ast.Name) and side.id == name]
            return bool(sides) and not any(isinstance(side, ast.Constant) for side in (left, right))
        case ast.Call() if module.tl(value, "dot", "dot_scaled"):
            return any(
                name in names_in(item) for item in [*value.args[2:], *(k.value for k in value.keywords)]
            )
        case ast.Call(func=ast.Attribute(inner, "to")):
            return _adds_to(inner, name, module)
    return False


def _made_in(value: ast.expr, kernel: KernelSource, module: PythonModule) -> str:
    """Return the half type in which an expression makes a tensor, or ""."""
    call = module.tl(value, *_DTYPE_POSITIONS)
    if call is None:
        return ""
    position = _DTYPE_POSITIONS[module.dotted(call.func).rpartition(".")[2]]
    return _half(argument(call, position, "dtype"), kernel, module)


def _products(kernel: KernelSource, module: PythonModule) -> Iterator[tuple[ast.AST, str, str]]:
    for node in kernel.nodes:
        if call := module.tl(node, "dot"):
            half = _half(argument(call, 5, "out_dtype"), kernel, module)
            if half == "fp16":
                yield call, half, "tl.dot adds up the products"
        elif (call := module.tl(node, "sum", "cumsum")) and call.args:
            half = _converted(resolve_local(kernel, call.args[0]), kernel, module)
            if half == "fp16":  # tl.sum itself computes bf16 in float32
                yield call, half, f"{ast.unparse(call.func)} adds up"


def _converted(value: ast.expr, kernel: KernelSource, module: PythonModule) -> str:
    match value:
        case ast.Call(func=ast.Attribute(_, "to"), args=[dtype]):
            return _half(dtype, kernel, module)
    return ""


def _half(dtype: ast.expr | None, kernel: KernelSource, module: PythonModule) -> str:
    """Return "fp16" or "bf16" for a dtype, also for that of a tensor that the file passes; else ""."""
    if dtype is None:
        return ""
    dtype = resolve_local(kernel, dtype)
    package, _, name = module.dotted(dtype).rpartition(".")
    if package == "triton.language":
        return _HALVES.get(name, "")
    match dtype:
        case ast.Attribute(ast.Attribute(ast.Name(pointer), "dtype"), "element_ty"):
            launches = [launch for launch in module.called_launches if launch.kernel is kernel]
            halves = {_passed(launch, pointer, module) for launch in launches}
            return next((half for half in sorted(halves) if half), "")
    return ""


def _passed(launch: LaunchSite, name: str, module: PythonModule) -> str:
    tensor = module.value(launch.arguments[name], launch.scope) if name in launch.arguments else None
    return _HALVES.get(tensor.dtype, "") if isinstance(tensor, TensorValue) else ""


RULE = SourceRule("IRS120", "half-accumulator", __doc__, half_accumulator)
