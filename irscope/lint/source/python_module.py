"""A parsed Python file: its imports, scopes, kernels and kernel launches.

Resolves a name to the expression it is bound to, if it is bound once and never changed in place.

The tuning keys of a file's autotuned kernels: the names in `@triton.autotune(..., key=[...])`.
"""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import field, replace
from functools import cached_property

from irscope.lint.diagnostic import Diagnostic, Rule
from irscope.lint.source.evaluate import UNKNOWN, Evaluator, StaticValue
from irscope.lint.source.kernel_source import Autotune, KernelSource, kernel_of, strings
from irscope.model.records import frozen

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_MUTATING_METHODS = frozenset(
    ["append", "extend", "insert", "remove", "pop", "clear", "sort", "reverse", "update", "setdefault"]
)


_MAX_ALIASES = 10
_MAX_CALLERS = 3
_MAX_CALLS = 4


@frozen
class PythonScope:
    """The names of a function, or of the module (`parent` is None).

    `bindings` maps each name that is bound once to its expression; `bound` counts how often each is bound.
    `arguments` maps parameters to what one call of the function passes, with the scope of the call.
    """

    node: ast.Module | Function
    bindings: Mapping[str, ast.expr]
    bound: Mapping[str, int]
    parent: PythonScope | None
    arguments: Mapping[str, tuple[ast.expr, PythonScope]] = field(default_factory=dict)

    def owner(self, name: str) -> PythonScope | None:
        """Return the scope that binds `name`, or None if none does."""
        scope: PythonScope | None = self
        while scope is not None and name not in scope.bound:
            scope = scope.parent
        return scope

    def expression(self, name: str) -> ast.expr | None:
        """Return the expression that `name` is bound to, or None if that is uncertain."""
        owner = self.owner(name)
        return None if owner is None else owner.bindings.get(name)

    def resolve(self, node: ast.expr) -> ast.expr:
        """Return `node` or, if it is a name, the expression that it is bound to.

        Names that are bound to other names are followed.
        """
        for _ in range(_MAX_ALIASES):
            if not isinstance(node, ast.Name) or (value := self.expression(node.id)) is None:
                return node
            node = value
        return node

    @property
    def outermost(self) -> PythonScope:
        """Return the outermost function around this scope; for the module, the module itself."""
        return self if self.parent is None or self.parent.parent is None else self.parent.outermost


def scope_of(node: ast.Module | Function, parent: PythonScope | None) -> PythonScope:
    """Return the scope of a module or function."""
    counts = Counter(_bound_names(node))
    simple: dict[str, ast.expr] = {}
    # In a module, only unconditional assignments count.
    for statement in _statements(node) if isinstance(node, ast.Module) else inside(node):
        match statement:
            case ast.Assign(targets=targets, value=value):
                for target in targets:
                    simple |= dict(_bindings(target, value))
            case ast.AnnAssign(target=ast.Name() as target, value=ast.expr() as value):
                simple[target.id] = value
    changed = set(_mutated_names(node))
    bindings = {name: value for name, value in simple.items() if counts[name] == 1 and name not in changed}
    return PythonScope(node, bindings, counts, parent)


def _statements(module: ast.Module) -> Iterator[ast.stmt]:
    """Yield the statements of a module, also those that only run if it is the program."""
    for statement in module.body:
        yield statement
        if isinstance(statement, ast.If) and "__main__" in ast.dump(statement.test):
            yield from statement.body


def inside(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the nodes of a function or module, without the bodies of nested functions and classes."""
    body = getattr(node, "body", [])
    pending = list(body) if isinstance(body, list) else [body]
    while pending:
        current = pending.pop()
        yield current
        if not isinstance(current, (*_FUNCTIONS, ast.ClassDef)):
            pending.extend(ast.iter_child_nodes(current))


def parameters(node: Function) -> list[ast.arg]:
    """Return all parameters of a function."""
    arguments = node.args
    more = [starred for starred in (arguments.vararg, arguments.kwarg) if starred is not None]
    return [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs, *more]


def _bindings(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.expr]]:
    """Yield the expression that `target = value` binds each name to: `a, b = x` binds b to `x[1]`."""
    if isinstance(target, ast.Name):
        yield target.id, value
    elif isinstance(target, ast.Tuple) and not any(
        isinstance(element, ast.Starred) for element in target.elts
    ):
        for index, element in enumerate(target.elts):
            if isinstance(value, ast.Tuple | ast.List):
                if len(value.elts) == len(target.elts) and not isinstance(value.elts[index], ast.Starred):
                    yield from _bindings(element, value.elts[index])
            else:
                part = ast.Subscript(value, ast.Constant(index), ast.Load())
                yield from _bindings(element, ast.copy_location(part, value))


def _bound_names(node: ast.Module | Function) -> Iterator[str]:
    """Yield each name that is bound, once per binding."""
    if not isinstance(node, ast.Module):
        yield from (parameter.arg for parameter in parameters(node))
    for part in inside(node):
        match part:
            case ast.Name(ctx=ast.Store() | ast.Del()):
                yield part.id
            case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
                yield part.name
            case ast.Import() | ast.ImportFrom():
                yield from ((alias.asname or alias.name).partition(".")[0] for alias in part.names)
            case ast.ExceptHandler(name=str() as name) | ast.MatchAs(name=str() as name):
                yield name


def _mutated_names(node: ast.Module | Function) -> Iterator[str]:
    """Yield the names whose value may change after they are bound: in place, or from another scope."""
    for part in ast.walk(node):
        match part:
            case ast.Call(func=ast.Attribute(ast.Name() as name, method)) if method in _MUTATING_METHODS:
                yield name.id
            case ast.Subscript(value=ast.Name() as name, ctx=ast.Store() | ast.Del()):
                yield name.id
            case ast.AugAssign(target=ast.Name() as name):
                yield name.id
            case ast.Global() | ast.Nonlocal():
                yield from part.names


@frozen
class LaunchSite:
    """`kernel[grid](...)`, a launch of one of the file's own kernels. `scope` is the scope of the call."""

    kernel: KernelSource
    grid: ast.expr
    call: ast.Call
    scope: PythonScope

    @property
    def arguments(self) -> Mapping[str, ast.expr]:
        """Map each parameter to the expression passed for it, up to the first starred argument."""
        by_position: dict[str, ast.expr] = {}
        for parameter, value in zip(self.kernel.parameters, self.call.args, strict=False):
            if isinstance(value, ast.Starred):
                break
            by_position[parameter.name] = value
        return by_position | {k.arg: k.value for k in self.call.keywords if k.arg is not None}


class PythonModule:
    """A parsed file. Raises SyntaxError, or ValueError (null bytes), if it is not valid Python."""

    def __init__(self, text: str, path: str) -> None:
        self.path = path
        self.text = text
        # splitlines() also breaks at characters that Python does not count as line ends.
        self.lines = text.replace("\r\n", "\n").replace("\r", "\n").split("\n")
        try:
            self.tree = ast.parse(text, path)
        except (RecursionError, MemoryError) as error:
            raise SyntaxError("nested too deeply to be parsed") from error
        self._imports = dict(_imports(self.tree))
        self.scope = scope_of(self.tree, None)
        functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        unique = {name: node for name, node in functions.items() if self.scope.bound[name] == 1}
        self._evaluate = Evaluator(
            self.dotted, unique, lambda name: self._value_of(name, self.scope, frozenset())
        )

    def dotted(self, node: ast.expr) -> str:
        """Return the full name of a name or attribute, through imports: "triton.language.arange".

        Returns "" for any other expression.
        """
        if isinstance(node, ast.Attribute):
            left = self.dotted(node.value)
            return f"{left}.{node.attr}" if left else ""
        return self._imports.get(node.id, node.id) if isinstance(node, ast.Name) else ""

    def tl(self, node: ast.AST, *names: str) -> ast.Call | None:
        """Return `node` if it is a call of one of these functions of triton.language, else None."""
        if not isinstance(node, ast.Call):
            return None
        package, _, name = self.dotted(node.func).rpartition(".")
        return node if name in names and package == "triton.language" else None

    def program_axis(self, node: ast.AST) -> int | None:
        """Return the axis of a `tl.program_id`, -1 if it is not constant; None for any other node."""
        call = self.tl(node, "program_id")
        if call is None:
            return None
        axis = call.args[0] if call.args else next((keyword.value for keyword in call.keywords), None)
        return axis.value if isinstance(axis, ast.Constant) and isinstance(axis.value, int) else -1

    def value(self, node: ast.expr, scope: PythonScope) -> StaticValue:
        """Return the value of an expression if the text determines it, else UNKNOWN."""
        return self._evaluate(node, lambda name: self._value_of(name, scope, frozenset()))

    def evaluate(self, node: ast.expr, values: Mapping[str, StaticValue]) -> StaticValue:
        """Return the value of an expression given the values of its names, else UNKNOWN."""
        return self._evaluate(node, lambda name: values.get(name, UNKNOWN))

    def _value_of(self, name: str, scope: PythonScope, visited: frozenset[tuple[int, str]]) -> StaticValue:
        owner = scope.owner(name)
        if owner is None or (key := (id(owner), name)) in visited:
            return UNKNOWN
        node, node_scope = owner.bindings.get(name), owner
        if node is None and name in owner.arguments and owner.bound[name] == 1:
            node, node_scope = owner.arguments[name]
        if node is None:
            return UNKNOWN
        return self._evaluate(node, lambda inner: self._value_of(inner, node_scope, visited | {key}))

    @cached_property
    def kernels(self) -> Mapping[str, KernelSource]:
        """Map names to the kernels at the top level of the file whose names are bound only once."""
        all_kernels = [
            kernel
            for node in self.tree.body
            if isinstance(node, ast.FunctionDef) and (kernel := kernel_of(node, self))
        ]
        return {kernel.name: kernel for kernel in all_kernels if self.scope.bound[kernel.name] == 1}

    @cached_property
    def scopes(self) -> tuple[PythonScope, ...]:
        """Return the scopes of the file except those of its kernels; the module's comes first."""
        kernels = {kernel.node for kernel in self.kernels.values()}
        all_scopes = [self.scope]
        for scope in all_scopes:
            all_scopes += [scope_of(node, scope) for node in _functions_in(scope.node) if node not in kernels]
        return tuple(all_scopes)

    @cached_property
    def launches(self) -> tuple[LaunchSite, ...]:
        """Return the launches of the file's own kernels."""
        scopes = self.scopes if self.kernels else ()
        return tuple(launch for scope in scopes for launch in self._launches(scope))

    @cached_property
    def called_launches(self) -> tuple[LaunchSite, ...]:
        """Return the launches, once per call in this file of the function around them.

        The scope of each has the arguments of that call.
        """
        pairs = [(launch, scope) for launch in self.launches for scope in self._called(launch.scope, 0)]
        return tuple(replace(launch, scope=scope) for launch, scope in pairs)

    def _called(self, scope: PythonScope, depth: int) -> Iterator[PythonScope]:
        """Yield a scope, once per call of its function; just itself if the file does not call it."""
        calls = self.calls.get(scope.node, []) if scope.node is not self.tree and depth < _MAX_CALLERS else []
        for call, caller in calls[:_MAX_CALLS]:
            for caller_scope in self._called(caller, depth + 1):
                yield replace(scope, arguments=dict(passed_arguments(scope.node, call, caller_scope)))
        if not calls:
            yield scope

    @cached_property
    def calls(self) -> Mapping[ast.AST, list[tuple[ast.Call, PythonScope]]]:
        """Map functions of the file to their calls, each with its scope.

        `Function.apply(...)` calls `Function.forward`.
        """
        functions = {node.name: node for node in self.tree.body if isinstance(node, ast.FunctionDef)}
        applied = {
            node.name: method
            for node in self.tree.body
            if isinstance(node, ast.ClassDef)
            for method in node.body
            if isinstance(method, ast.FunctionDef) and method.name == "forward"
        }
        calls: dict[ast.AST, list[tuple[ast.Call, PythonScope]]] = {}
        for scope in self.scopes:
            for node in inside(scope.node):
                function: ast.AST | None = None
                match scope.resolve(node.func) if isinstance(node, ast.Call) else None:
                    case ast.Name(name):
                        function = functions.get(name)
                    case ast.Attribute(ast.Name(name), "apply"):
                        function = applied.get(name)
                if function is not None and isinstance(node, ast.Call):
                    calls.setdefault(function, []).append((node, scope))
        return calls

    def _launches(self, scope: PythonScope) -> Iterator[LaunchSite]:
        for node in inside(scope.node):
            match node:
                case ast.Call(func=ast.Subscript(value=ast.Name() as name, slice=grid)):
                    kernel = self.kernels.get(name.id)
                    if kernel is not None and scope.owner(name.id) is self.scope:
                        yield LaunchSite(kernel, grid, node, scope)

    def diagnostic(
        self, rule: Rule, node: ast.AST, message: str, fix: str, kernel: KernelSource | None = None
    ) -> Diagnostic:
        """Make a diagnostic at `node`. A comment on the kernel's `def` or decorators suppresses it too."""
        line = getattr(node, "lineno", 1)
        # ast counts columns in bytes of UTF-8.
        before = self.lines[line - 1].encode()[: getattr(node, "col_offset", 0)]
        suppression_lines = kernel.head_lines if kernel else ()
        return Diagnostic(
            rule, self.path, line, len(before.decode("utf-8", "replace")) + 1, message, fix, suppression_lines
        )


def passed_arguments(
    function: ast.AST, call: ast.Call, scope: PythonScope
) -> Iterator[tuple[str, tuple[ast.expr, PythonScope]]]:
    """Yield the parameters of a function with what a call passes for each, and the scope of the call."""
    if not isinstance(function, ast.FunctionDef):
        return
    names = [parameter.arg for parameter in function.args.args]
    if isinstance(call.func, ast.Attribute) or names[:1] == ["ctx"]:
        names = names[1:]
    for name, value in zip(names, call.args, strict=False):
        if isinstance(value, ast.Starred):
            break
        yield name, (value, scope)
    for keyword in call.keywords:
        if keyword.arg is not None:
            yield keyword.arg, (keyword.value, scope)


_REEXPORTED = {"triton": "triton", "tl": "triton.language"}


def argument(call: ast.Call, position: int, name: str) -> ast.expr | None:
    """Return the argument of a call at this position or with this name, or None if it passes none."""
    if position < len(call.args):
        return call.args[position]
    return next((keyword.value for keyword in call.keywords if keyword.arg == name), None)


def _imports(tree: ast.Module) -> Iterator[tuple[str, str]]:
    """Yield each imported name with its full name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield (alias.asname, alias.name) if alias.asname else (alias.name.partition(".")[0],) * 2
        elif isinstance(node, ast.ImportFrom):
            for alias in node.names:
                # Some projects re-export Triton from their own module, in case it is not installed.
                reexported = _REEXPORTED.get(alias.name)
                yield alias.asname or alias.name, reexported or f"{node.module or ''}.{alias.name}"


def _functions_in(node: ast.AST) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda]:
    """Yield the functions directly in `node` or in its classes."""
    pending = list(ast.iter_child_nodes(node))
    while pending:
        current = pending.pop()
        if isinstance(current, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            yield current
        else:
            pending.extend(ast.iter_child_nodes(current))


@frozen
class TuningKey:
    """The tuning key of a kernel: the names in it, and `node`, the expression passed as `key`."""

    kernel: KernelSource
    autotune: Autotune
    names: list[str]
    node: ast.expr


def tuning_keys(module: PythonModule) -> Iterator[TuningKey]:
    """Yield the tuning keys that the text determines."""
    for kernel in module.kernels.values():
        autotune = kernel.autotune
        node = autotune.arguments.get("key") if autotune else None
        if autotune is None or node is None or not kernel.decorators_known:
            continue
        names = strings(module.value(node, module.scope))
        if names is not None:
            yield TuningKey(kernel, autotune, names, node)


def place_of(name: str, node: ast.expr) -> ast.expr:
    """Return the string `name` in a list of names, or the list itself if it is written elsewhere."""
    constants = (part for part in ast.walk(node) if isinstance(part, ast.Constant) and part.value == name)
    return next(constants, node)
