"""A reduction over elements that a mask excluded, which are not neutral in it.

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
"""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator

from irscope.facts.source.tokens import names_in
from irscope.lint.diagnostic import Diagnostic, SourceRule
from irscope.lint.source.accesses import base_parameter
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.padding import PadKind, Reduction, reductions
from irscope.lint.source.python_module import PythonModule, PythonScope

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
    return module.diagnostic(RULE, pad.load, message, fix, kernel)


RULE = SourceRule("IRS119", "padding-reduced", __doc__, padding_reduced)
