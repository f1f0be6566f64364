"""Sizes and strides of tensors that are compile-time constants without need."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.body import names_in
from irscope.lint.source.module import LaunchSite, PythonModule
from irscope.lint.source.scope import Scope, parameters

SIZE = Rule(
    "IRS111",
    "constexpr-size",
    "a size or stride of a tensor declared tl.constexpr: each value of it is another compilation",
)

# What belongs to a model has the same size in every call: names of weights, and of sizes of a model.
_WEIGHTS = re.compile(r"^[bw]\d?$|^w_|_w$|weight|bias|table|cache|embed|freq|_log$|cos|sin", re.IGNORECASE)
_MODEL_SIZES = re.compile(r"dim|head|hidden|expert|vocab|class|cache", re.IGNORECASE)
# Calls of triton.language in whose arguments a run-time number is as good as a constant.
_PLAIN_CALLS = frozenset(
    ["load", "store", "atomic_add", "where", "minimum", "maximum", "min", "max", "sum", "cdiv"]
)


def constexpr_size(module: PythonModule) -> Iterator[Diagnostic]:
    """Constants that a launch takes from a tensor's shape and that the kernel only computes with."""
    told: set[tuple[str, str]] = set()
    for launch in module.launches:
        for name, node in launch.arguments.items():
            parameter = launch.kernel.parameter(name)
            known = parameter is None or not parameter.constexpr or (launch.kernel.name, name) in told
            if known or _MODEL_SIZES.search(name):
                continue
            origin = _origin(node, launch.scope)
            if origin and not needs_constant(launch.kernel.node, name):
                told.add((launch.kernel.name, name))
                yield _problem(module, launch, name, origin)


def _problem(module: PythonModule, launch: LaunchSite, name: str, origin: str) -> Diagnostic:
    parameter = launch.kernel.parameter(name)
    used = any(isinstance(node, ast.Name) and node.id == name for node in launch.kernel.nodes)
    does = "only computes with" if used else "never reads"
    message = (
        f"{name} of {launch.kernel.name} is tl.constexpr and gets {origin} at line {launch.call.lineno}: "
        f"each value is another compilation, and the kernel {does} it"
    )
    fix = f"drop tl.constexpr: of a run-time {name}, Triton still knows whether it is 1 or divisible by 16"
    node = parameter.node if parameter else launch.call
    return module.problem(SIZE, node, message, fix, launch.kernel)


def _origin(node: ast.expr, scope: Scope) -> str:
    """The number of elements or of rows (batches, tokens) that an expression is, as text; else "".

    Other sizes, and strides, are mostly the model's and the same in every call.
    """
    for _ in range(10):
        if not isinstance(node, ast.Name) or (value := scope.expression(node.id)) is None:
            break
        node = value
    match node:
        case (
            ast.Call(ast.Attribute(ast.Name() as tensor, "numel" | "nelement"), [])
            | ast.Call(ast.Attribute(ast.Name() as tensor, "size"), [ast.Constant(0)])
            | ast.Subscript(ast.Attribute(ast.Name() as tensor, "shape"), ast.Constant(0))
            | ast.Subscript(ast.Call(ast.Attribute(ast.Name() as tensor, "size"), []), ast.Constant(0))
        ):
            return "" if _WEIGHTS.search(tensor.id) else ast.unparse(node)
    return ""


def needs_constant(function: ast.FunctionDef, name: str) -> bool:
    """Whether the body does anything with a parameter that takes a constant: shapes, branches, calls, ...

    Computing with it does not, and what is computed with run-time values is no constant any more.
    """
    parents = {child: node for node in ast.walk(function) for child in ast.iter_child_nodes(node)}
    constants = {arg.arg for arg in parameters(function) if "constexpr" in ast.dump(arg)}
    pending, met = [name], {name}
    while pending:
        current = pending.pop()
        for node in ast.walk(function):
            if not isinstance(node, ast.Name) or node.id != current:
                continue
            if isinstance(node.ctx, ast.Store):
                if current == name:
                    return True
                continue
            target = _use(node, parents, constants | met)
            if target is None:
                return True
            if target and target not in met:
                met.add(target)
                pending.append(target)
    return False


def _use(node: ast.AST, parents: Mapping[ast.AST, ast.AST], constants: set[str]) -> str | None:
    """The constant that a use of a constant flows into, "" where it meets run-time values; None where
    it may have to be a constant.
    """
    while True:
        node = parents[node]
        match node:
            case ast.BinOp() | ast.UnaryOp() | ast.Compare():
                if _names(node) - constants:
                    return ""
            case ast.Call(func=ast.Attribute(ast.Name("tl" | "language"), method)) if method in _PLAIN_CALLS:
                if method != "cdiv":
                    return ""
            case ast.Call(func=ast.Name("min" | "max")) | ast.keyword():
                pass
            case ast.Assign(targets=[ast.Name() as target]):
                return target.id
            case _:
                return None


def _names(node: ast.AST) -> set[str]:
    """The names that an expression reads, but for those of modules."""
    return names_in(node) - {"tl", "triton", "language", "min", "max"}
