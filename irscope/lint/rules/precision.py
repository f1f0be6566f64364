"""Results that are less exact, or slower, than the author meant."""

from __future__ import annotations

import ast
import math
import re
from collections.abc import Iterator

from irscope.facts.source.map import kernel_place
from irscope.facts.source.tokens import names_in
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule, lines_text
from irscope.lint.source.accesses import base_parameter
from irscope.lint.source.file_tensors import TensorValue
from irscope.lint.source.kernel_body import resolve_local
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.padding import PadKind, Reduction, reductions
from irscope.lint.source.python_module import LaunchSite, PythonModule, PythonScope, argument
from irscope.model import Variant

_HALVES = {"float16": "fp16", "bfloat16": "bf16"}
_DTYPE_POSITIONS = {"zeros": 1, "full": 2}
FIX = "accumulate in tl.float32, and convert the result when it is stored"


def half_accumulator(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for accumulators, products and sums in half precision."""
    for kernel in module.kernels.values():
        for node, kind, what in (*_accumulators(kernel, module), *_products(kernel, module)):
            yield module.diagnostic(HALF_ACCUMULATOR, node, f"{what} of {kernel.name} in {kind}", FIX, kernel)


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
            if half:
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


HALF_ACCUMULATOR = SourceRule(
    "IRS120",
    "half-accumulator",
    """\
A sum that a kernel adds up in fp16 or bf16.

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
""",
    half_accumulator,
)


_MAX_CALLERS = 3
_NEUTRAL = {
    "max": '-float("inf")',
    "argmax": '-float("inf")',
    "min": 'float("inf")',
    "argmin": 'float("inf")',
}


def padding_reduced(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for reductions over excluded elements that are undefined or not neutral."""
    for kernel in module.kernels.values():
        reported: set[int] = set()
        for reduction in reductions(kernel, module):
            reason = _reason(reduction)
            if reason and reduction.kind in ("max", "argmax") and reduction.pad.kind is PadKind.NUMBER:
                reason = reason if _may_be_negative(kernel, reduction, module) else ""
            if reason and id(reduction.pad.load) not in reported:
                reported.add(id(reduction.pad.load))
                yield _diagnostic(module, kernel, reduction, reason)


def _reason(reduction: Reduction) -> str:
    """Say what is wrong with the excluded elements of a reduction, or return "" if nothing is."""
    pad = reduction.pad
    if pad.kind is PadKind.UNCERTAIN:
        return ""
    if pad.kind is PadKind.UNDEFINED:
        return "leaves the elements that its mask excludes undefined"
    if pad.kind is PadKind.NAN:
        return "leads to NaN in the elements that its mask excludes (such as log(0) * 0, 0 / 0 or inf - inf)"
    if _is_neutral(reduction):
        return ""
    if pad.kind is PadKind.OTHER:
        return (
            "fills the elements that its mask excludes, which are not neutral after the operations in between"
        )
    return f"makes the elements that its mask excludes {pad.number:g}"


def _is_neutral(reduction: Reduction) -> bool:
    number, is_number = reduction.pad.number, reduction.pad.kind is PadKind.NUMBER
    match reduction.kind:
        case "sum" | "cumsum" | "dot" | "reduce_sum":
            return is_number and number == 0
        case "max" | "argmax":
            return not is_number or number < 0 or reduction.nonnegative
        case _:
            return not is_number or number > 0
    return True


def _may_be_negative(kernel: KernelSource, reduction: Reduction, module: PythonModule) -> bool:
    """Check whether a maximum is subtracted from what it was taken of, or the file passes normal numbers."""
    for node in kernel.nodes:
        match node:
            case ast.BinOp(ast.Name(left), ast.Sub(), right):
                calls = [
                    ast.unparse(value) for name in names_in(right) for value in kernel.assigned.get(name, [])
                ]
                if any(_of(call, left, reduction) for call in [ast.unparse(right), *calls]):
                    return True
    name = base_parameter(kernel, reduction.pad.load.args[0], module)
    passed = [
        (launch.arguments.get(name), launch.scope)
        for launch in module.called_launches
        if launch.kernel is kernel
    ]
    return any(node is not None and _is_normal(node, scope, module) for node, scope in passed)


def _of(text: str, name: str, reduction: Reduction) -> bool:
    return f"{reduction.kind}({name}," in text or f"{reduction.kind}({name})" in text


def _is_normal(node: ast.expr, scope: PythonScope, module: PythonModule) -> bool:
    """Check whether an argument is made by `torch.randn`, in the scope or in a caller."""
    for _ in range(_MAX_CALLERS):
        node = scope.resolve(node)
        if isinstance(node, ast.Name) and node.id in scope.arguments:
            node, scope = scope.arguments[node.id]
    return isinstance(node, ast.Call) and module.dotted(node.func) == "torch.randn"


def _diagnostic(module: PythonModule, kernel: KernelSource, reduction: Reduction, reason: str) -> Diagnostic:
    pad = reduction.pad
    neutral = _NEUTRAL.get(reduction.kind, "0.0")
    computed = pad.kind is not PadKind.UNDEFINED and neutral == "0.0"
    place = f"tl.{reduction.kind} at line {reduction.call.lineno}"
    message = f"this load of {kernel.name} {reason}, and {place} reads them"
    if computed and not (pad.kind is PadKind.NUMBER and math.isinf(pad.number)):
        fix = f"set them to {neutral} before tl.{reduction.kind}, with tl.where and the mask of the load"
    else:
        fix = f"add other={neutral} to the load, or use tl.where before tl.{reduction.kind}"
    return module.diagnostic(PADDING_REDUCED, pad.load, message, fix, kernel)


PADDING_REDUCED = SourceRule(
    "IRS119",
    "padding-reduced",
    """\
A reduction over elements that a mask excluded, which are not neutral in it.

**What it does.** Follows what a masked `tl.load` has in the elements that its mask excludes, and reports
sums, maxima, minima and `tl.dot` over them: if the load has no `other`, they are undefined; if it has, they
may be another number than the neutral one by then, 0 for a sum.

**Why is this bad?** The result depends on what is no part of the tensor. Undefined elements are often zero,
so that a test passes; the maximum of negative numbers is then 0. Where x was filled with 0, `x - mean` is
not 0, and `x * tl.log(x)` is NaN.

**Example**

```python
x = tl.load(x_ptr + cols, mask=cols < n, other=0.0)
e = tl.exp(x - tl.max(x, axis=0))
y = e / tl.sum(e, axis=0)  # exp(0 - maximum) for each element past the end
```

**Use instead**

```python
x = tl.load(x_ptr + cols, mask=cols < n, other=-float("inf"))
```

**Limits.** Masks along axes that are not reduced do no harm. Values are followed through arithmetic,
`tl.where` and the functions of `tl` with one argument, within one kernel.
""",
    padding_reduced,
)


_DOUBLE = re.compile(r"(?:x|\b)f64\b")
_STORED = re.compile(r"tt\.(?:store|atomic_rmw|descriptor_store|reduce\.return)\b[^\n]*f64")
_ARITHMETIC = re.compile(
    r"(?:arith\.(?:add|sub|mul|div|max|min|maximum|minimum|maxnum|minnum|cmp)f|math\.\w+)$"
)


def double_precision(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for arithmetic in float64 in kernels that store none, and do not name the type."""
    if "float64" in compiled.kernel.source.text:
        return
    by_lines: dict[tuple[int, ...], list[Variant]] = {}
    for variant in compiled.variants:
        ttir = compiled.text(variant, "ttir")
        if ttir is None or "f64" not in ttir or _STORED.search(ttir):
            continue
        lines = set()
        for operation in compiled.document(variant, "ttir").operations:
            if _ARITHMETIC.match(operation.opcode) and _DOUBLE.search(operation.normalized):
                place = kernel_place(operation.location)
                lines.add(place[1] if place else compiled.kernel.source.line)
        if lines:
            by_lines.setdefault(tuple(sorted(lines)), []).append(variant)
    for places, variants in by_lines.items():
        message = (
            f"{compiled.kernel.name} computes in float64 at {lines_text(places)} and stores a narrower type, "
            f"in {compiled.share(variants)}: {compiled.listed(variants)}"
        )
        fix = "pass float32 (such as tensor.float()), or convert what is loaded with .to(tl.float32)"
        yield compiled.diagnostic(DOUBLE_PRECISION, message, fix, places[0])


DOUBLE_PRECISION = CaptureRule(
    "IRS214",
    "double-precision",
    """\
Arithmetic in float64 whose results are stored in a narrower type.

**What it does.** Reports the lines that compute in float64, in a kernel that stores no float64 and whose
text does not name the type, as `x.to(tl.float64)` for a long sum does.

**Why is this bad?** One float64 argument, such as a tensor made from a NumPy array, makes what is computed
with it float64. GPUs for machine learning compute that at 1/2 to 1/64 of the speed of float32, with twice
the registers, and the result is rounded to the narrower type anyway.
""",
    double_precision,
)


_HALF_SUM = re.compile(r" (?:bf16|f16)$")


def half_reduction(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for reductions and scans that add up elements in half precision."""
    by_line: dict[int | None, list[Variant]] = {}
    for variant in compiled.variants:
        ttir = compiled.text(variant, "ttir")
        if ttir is None or not ("tt.reduce" in ttir or "tt.scan" in ttir):
            continue
        operations = compiled.document(variant, "ttir").operations
        for operation in operations:
            parent = operations[operation.parent] if operation.parent >= 0 else None
            adds = operation.opcode == "arith.addf" and _HALF_SUM.search(operation.normalized.rstrip())
            if adds and parent is not None and parent.opcode in ("tt.reduce", "tt.scan"):
                place = kernel_place(parent.location)
                variants = by_line.setdefault(place[1] if place else None, [])
                variants += [] if variant in variants else [variant]
    for line, variants in by_line.items():
        message = (
            f"{compiled.kernel.name} adds up elements in half precision, in {compiled.share(variants)}: "
            f"{compiled.listed(variants)}"
        )
        yield compiled.diagnostic(
            HALF_REDUCTION, message, "convert them with .to(tl.float32) before tl.sum", line
        )


HALF_REDUCTION = CaptureRule(
    "IRS215",
    "half-reduction",
    """\
A sum over an axis that is computed in fp16 or bf16.

**What it does.** Reports the reductions and scans of TTIR that add in fp16 or bf16, such as `tl.sum` of what
was loaded from a bf16 tensor.

**Why is this bad?** As for [half-accumulator](#half-accumulator): each addition rounds to 11 or 8 bits.
Adding the sum to a float32 accumulator does not bring back what is lost.
""",
    half_reduction,
)


def zero_scale(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for divisions by the largest magnitude of a block, which may be 0."""
    for kernel in module.kernels.values():
        compared = {name for node in kernel.nodes if isinstance(node, ast.Compare) for name in names_in(node)}
        for node in kernel.nodes:
            match node:
                case ast.BinOp(_, ast.Div(), divisor) if _is_magnitude(divisor, kernel, module):
                    if not compared & names_in(divisor):
                        message = (
                            f"{ast.unparse(divisor)} of {kernel.name} is 0 if all elements are 0: "
                            f"{ast.unparse(node)} is NaN or infinite"
                        )
                        fix = "divide by tl.maximum(..., 1e-12)"
                        yield module.diagnostic(ZERO_SCALE, node, message, fix, kernel)


def _is_magnitude(node: ast.expr, kernel: KernelSource, module: PythonModule) -> bool:
    """Return True for a maximum of magnitudes, also times or divided by a constant."""
    match resolve_local(kernel, node):
        case ast.Subscript(value) | ast.Call(func=ast.Attribute(value, "to")):
            return _is_magnitude(value, kernel, module)
        case ast.BinOp(left, ast.Mult() | ast.Div(), right):
            constant = not names_in(right) - kernel.constexprs
            return constant and _is_magnitude(left, kernel, module)
        case ast.Call(func=function, args=[first, *_]) if module.dotted(function).endswith(".max"):
            inner = resolve_local(kernel, first)
            return isinstance(inner, ast.Call) and module.dotted(inner.func).rpartition(".")[2] in (
                "abs",
                "fabs",
            )
    return False


ZERO_SCALE = SourceRule(
    "IRS124",
    "zero-scale",
    """\
A division by the largest magnitude of a block, which is 0 for a block of zeros.

**What it does.** Reports divisions by `tl.max(tl.abs(x))`, also times or divided by a constant, that neither
`tl.maximum` nor a comparison guards.

**Why is this bad?** 0 / 0 is NaN, and what is computed from it: rows of zeros are common in padding, in
unused experts and in weights at the start of a training.

**Example**

```python
scale = tl.max(tl.abs(x)) / 448.0
y = (x / scale).to(tl.float8e4nv)
```

**Use instead**

```python
scale = tl.maximum(tl.max(tl.abs(x)), 1e-12) / 448.0
y = (x / scale).to(tl.float8e4nv)
```
""",
    zero_scale,
)
