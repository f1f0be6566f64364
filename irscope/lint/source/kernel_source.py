"""A `@triton.jit` function as written: its parameters and decorators."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from irscope.lint.source.evaluate import UNKNOWN, ConfigValue, StaticValue
from irscope.model.records import frozen

if TYPE_CHECKING:
    from irscope.lint.source.python_module import PythonModule

_JIT = ("triton.jit", "triton.runtime.jit.jit", "triton.runtime.jit")
_AUTOTUNE = ("triton.autotune", "triton.runtime.autotune", "triton.runtime.autotuner.autotune")
_HEURISTICS = ("triton.heuristics", "triton.runtime.heuristics", "triton.runtime.autotuner.heuristics")
# Arguments of triton.jit that list parameters.
SPECIALIZATION_LISTS = ("do_not_specialize", "do_not_specialize_on_alignment")
# The first parameters of triton.autotune, in order (3.6 to 3.9).
_AUTOTUNE_PARAMETERS = ("configs", "key", "prune_configs_by", "reset_to_zero", "restore_value")


@frozen
class KernelParameter:
    """A parameter of a kernel."""

    name: str
    constexpr: bool
    default: ast.expr | None
    node: ast.arg


@frozen
class Autotune:
    """An `@triton.autotune(...)`: its arguments by name, and its configs (None if any is uncertain)."""

    node: ast.Call
    arguments: Mapping[str, ast.expr]
    configs: tuple[ConfigValue, ...] | None

    def names(self) -> frozenset[str]:
        """Return the meta-parameters that every config sets; none if the configs are unknown."""
        sets = [frozenset(config.kwargs or ()) for config in self.configs or ()]
        return frozenset.intersection(*sets) if sets else frozenset()

    def values(self, name: str) -> list[int] | None:
        """Return the value of a meta-parameter in each config, or None if any is not a known int."""
        config_values = [(config.kwargs or {}).get(name, UNKNOWN) for config in self.configs or ()]
        integers = [value for value in config_values if isinstance(value, int)]
        return integers if integers and len(integers) == len(config_values) else None


@dataclass(frozen=True, eq=False)
class KernelSource:
    """A kernel. `decorators_known` is true if all its decorators are Triton's own."""

    name: str
    node: ast.FunctionDef
    parameters: tuple[KernelParameter, ...]
    jit: ast.expr
    autotune: Autotune | None
    heuristics: ast.Call | None
    decorators_known: bool

    def parameter(self, name: str) -> KernelParameter | None:
        """Return the parameter with this name, or None if there is none."""
        return next((candidate for candidate in self.parameters if candidate.name == name), None)

    @cached_property
    def constexprs(self) -> frozenset[str]:
        """Return the names of the parameters that are `tl.constexpr`."""
        return frozenset(parameter.name for parameter in self.parameters if parameter.constexpr)

    @cached_property
    def runtime_parameters(self) -> frozenset[str]:
        """Return the names of the parameters that are not `tl.constexpr`."""
        return frozenset(parameter.name for parameter in self.parameters if not parameter.constexpr)

    @cached_property
    def nodes(self) -> tuple[ast.AST, ...]:
        """Return all nodes of the function."""
        return tuple(ast.walk(self.node))

    @cached_property
    def assigned(self) -> Mapping[str, list[ast.expr]]:
        """Map each name that the body assigns to the expressions assigned (for a loop, its iterable)."""
        by_name: dict[str, list[ast.expr]] = {}
        for target, value in _assignments(self.nodes):
            for part in ast.walk(target):
                if isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
                    by_name.setdefault(part.id, []).append(value)
        return by_name

    @property
    def head_lines(self) -> tuple[int, ...]:
        """Return the lines of its decorators and its `def`. A comment there applies to the whole kernel."""
        decorators = [decorator.lineno for decorator in self.node.decorator_list]
        return (*decorators, self.node.lineno)


def kernel_of(node: ast.FunctionDef, module: PythonModule) -> KernelSource | None:
    """Return the kernel that a function defines, or None if it has no `@triton.jit`."""
    jit: ast.expr | None = None
    autotune: Autotune | None = None
    heuristics: ast.Call | None = None
    are_known = True
    for decorator in node.decorator_list:
        call = decorator if isinstance(decorator, ast.Call) else None
        name = module.dotted(call.func if call else decorator)
        if name in _JIT:
            jit = decorator
        elif call and name in _AUTOTUNE:
            are_known = are_known and autotune is None
            autotune = _autotune(call, module)
        elif call and name in _HEURISTICS:
            heuristics = call
        else:
            are_known = False
    if jit is None:
        return None
    parameters = _parameters(node, module)
    return KernelSource(node.name, node, parameters, jit, autotune, heuristics, are_known)


def strings(value: StaticValue) -> list[str] | None:
    """Return `value` as a list of strings, or None if it is anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        return None
    return list(value)


def _autotune(call: ast.Call, module: PythonModule) -> Autotune:
    arguments = dict(zip(_AUTOTUNE_PARAMETERS, call.args, strict=False))
    arguments |= {keyword.arg: keyword.value for keyword in call.keywords if keyword.arg is not None}
    listed = module.value(arguments["configs"], module.scope) if "configs" in arguments else UNKNOWN
    configs = (
        [item for item in listed if isinstance(item, ConfigValue)] if isinstance(listed, list | tuple) else []
    )
    certain = isinstance(listed, list | tuple) and len(configs) == len(listed)
    return Autotune(call, arguments, tuple(configs) if certain else None)


def _parameters(node: ast.FunctionDef, module: PythonModule) -> tuple[KernelParameter, ...]:
    positional = [*node.args.posonlyargs, *node.args.args]
    missing = [None] * (len(positional) - len(node.args.defaults))
    pairs = [*zip(positional, [*missing, *node.args.defaults], strict=True)]
    pairs += zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
    return tuple(KernelParameter(arg.arg, _is_constexpr(arg, module), default, arg) for arg, default in pairs)


def _is_constexpr(arg: ast.arg, module: PythonModule) -> bool:
    if isinstance(arg.annotation, ast.Constant):
        return "constexpr" in str(arg.annotation.value)
    return arg.annotation is not None and module.dotted(arg.annotation).endswith("constexpr")


def _assignments(nodes: Iterable[ast.AST]) -> Iterator[tuple[ast.expr, ast.expr]]:
    for node in nodes:
        match node:
            case ast.Assign():
                for target in node.targets:
                    yield from _pairs(target, node.value)
            case ast.AnnAssign(value=ast.expr() as value):
                yield node.target, value
            case ast.AugAssign(target=ast.Name() as target):
                yield target, ast.BinOp(ast.Name(target.id, ast.Load()), node.op, node.value)
            case ast.NamedExpr():
                yield node.target, node.value
            case ast.For():
                yield node.target, node.iter


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """Yield what each target gets: `a, b = c, d` assigns c to a and d to b."""
    match target, value:
        case (ast.Tuple(elts=targets), ast.Tuple(elts=values)) if len(targets) == len(values) and not any(
            isinstance(element, ast.Starred) for element in (*targets, *values)
        ):
            yield from zip(targets, values, strict=True)
        case _:
            yield target, value
