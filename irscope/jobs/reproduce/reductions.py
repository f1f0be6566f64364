"""Smaller programs than a given one: what `--minimize` tries, from large steps to small ones.

A step of llvm-reduce on Python's syntax tree: without some statements, with a loop's body in place of the
loop, with an operand in place of a sum, with a constant in place of a parameter.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

from irscope.jobs.reproduce.recorded import Call

_BLOCKS = ("body", "orelse", "finalbody")
# Fewer statements are left out one by one.
_MOST_AT_ONCE = 16


@dataclass(frozen=True)
class KernelProgram:
    """A kernel's file as a syntax tree, which nothing changes, and its call."""

    tree: ast.Module
    call: Call

    @property
    def text(self) -> str:
        """Return the text of the file."""
        return ast.unparse(self.tree) + "\n"

    @property
    def size(self) -> int:
        """Return the number of nodes of the tree."""
        return sum(1 for _ in ast.walk(self.tree))


# Makes one smaller program; None if it turns out to be impossible.
Attempt = Callable[[], KernelProgram | None]
# All attempts of one kind for a program, in their order.
Reduction = Callable[[KernelProgram], Sequence[Attempt]]


def reductions() -> Iterator[Reduction]:
    """Yield each kind of step, the largest steps first."""
    size = _MOST_AT_ONCE
    while size:
        yield lambda program, size=size: _removals(program, size)  # type: ignore[misc]
        size //= 2
    yield _unwrapped_blocks
    yield _inlined_constants
    yield _unused_parameters
    yield _simpler_expressions


def without_unused(program: KernelProgram) -> KernelProgram:
    """Without definitions and imports that nothing uses, and without docstrings."""
    tree = copy.deepcopy(program.tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    while True:
        used = _used_names(program.call) | {
            n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _is_read(n)
        }
        used_nodes = [node for node in tree.body if (names := _defined(node)) is None or names & used]
        if len(used_nodes) == len(tree.body):
            return replace(program, tree=tree)
        tree.body = used_nodes


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _used_names(call: Call) -> set[str]:
    texts = (call.signature, *call.constexprs.values(), *call.options.values())
    trees = (ast.walk(ast.parse(text, mode="eval")) for text in texts)
    return {call.kernel} | {node.id for nodes in trees for node in nodes if isinstance(node, ast.Name)}


def _defined(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement of the file defines, or None if it may do more."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)} or None
    return None


def _edited(program: KernelProgram, place: int, edit: Callable[[ast.AST], bool]) -> KernelProgram | None:
    """Return the program after `edit` of a copy of its node number `place`.

    Return None if `edit` returns False.
    """
    tree = copy.deepcopy(program.tree)
    node = _nodes(tree)[place]
    return replace(program, tree=ast.fix_missing_locations(tree)) if edit(node) else None


def _nodes(tree: ast.AST) -> list[ast.AST]:
    return list(ast.walk(tree))


def _removals(program: KernelProgram, size: int) -> list[Attempt]:
    """Without `size` consecutive statements of a function."""
    attempts: list[Attempt] = []
    for node_number, node in enumerate(_nodes(program.tree)):
        if isinstance(node, ast.Module):
            continue
        for name in _BLOCKS:
            block = getattr(node, name, None)
            if (
                not isinstance(block, list)
                or len(block) < size
                or all(isinstance(s, ast.Pass) for s in block)
            ):
                continue
            attempts += [
                lambda p=node_number, n=name, s=start: _without(program, p, n, s, size)  # type: ignore[misc]
                for start in reversed(range(0, len(block), size))
            ]
    return attempts


def _without(program: KernelProgram, place: int, name: str, start: int, size: int) -> KernelProgram | None:
    def remove(node: ast.AST) -> bool:
        block = getattr(node, name)
        del block[start : start + size]
        if not block and name == "body":
            block.append(ast.Pass())
        return True

    return _edited(program, place, remove)


def _unwrapped_blocks(program: KernelProgram) -> list[Attempt]:
    """With the body of a branch or a loop in its place."""
    attempts: list[Attempt] = []
    for node_number, node in enumerate(_nodes(program.tree)):
        for name in _BLOCKS:
            for index, child in enumerate(getattr(node, name, None) or () if hasattr(node, name) else ()):
                if isinstance(child, ast.If | ast.For | ast.While | ast.With):
                    bodies = ("body", "orelse") if isinstance(child, ast.If) else ("body",)
                    for body in bodies:
                        attempts.append(  # noqa: PERF401 - a comprehension of four loops
                            lambda p=node_number, n=name, i=index, b=body: _unwrapped(program, p, n, i, b)  # type: ignore[misc]
                        )
    return attempts


def _unwrapped(program: KernelProgram, place: int, name: str, index: int, body: str) -> KernelProgram | None:
    def unwrap(node: ast.AST) -> bool:
        block = getattr(node, name)
        child = block[index]
        inner = getattr(child, body)
        if isinstance(child, ast.For):
            inner = [ast.Assign([child.target], ast.Constant(0)), *inner]
        block[index : index + 1] = inner or [ast.Pass()]
        return bool(inner)

    return _edited(program, place, unwrap)


def _simpler_expressions(program: KernelProgram) -> list[Attempt]:
    """With an operand or argument in place of an expression, and without a keyword argument."""
    attempts: list[Attempt] = []
    for node_number, node in enumerate(_nodes(program.tree)):
        for field, value in ast.iter_fields(node):
            items = value if isinstance(value, list) else [value]
            for index, item in enumerate(items):
                if isinstance(item, ast.keyword):
                    attempts.append(lambda p=node_number, f=field, i=index: _dropped(program, p, f, i))  # type: ignore[misc]
                elif isinstance(item, ast.expr) and field not in ("func", "decorator_list", "annotation"):
                    count = len(_parts(item))
                    attempts += [
                        lambda p=node_number, f=field, i=index, n=n: _replaced(program, p, f, i, n)  # type: ignore[misc]
                        for n in range(count)
                    ]
    return attempts


def _parts(node: ast.expr) -> list[ast.expr]:
    """Return the expressions that may take the place of one."""
    parts: list[ast.expr] = []
    match node:
        case ast.BinOp(left=left, right=right):
            parts = [left, right]
        case ast.UnaryOp(operand=value) | ast.Subscript(value=value):
            parts = [value]
        case ast.IfExp(body=body, orelse=orelse):
            parts = [body, orelse]
        case ast.BoolOp(values=values):
            parts = values
        case ast.Compare():
            parts = [ast.Constant(True)]
        case ast.Call(func=ast.Attribute(value=value), args=args) if not isinstance(value, ast.Name):
            parts = [*args, value]
        case ast.Call(args=args):
            parts = list(args)
    return parts


def _dropped(program: KernelProgram, place: int, field: str, index: int) -> KernelProgram | None:
    def drop(node: ast.AST) -> bool:
        del getattr(node, field)[index]
        return True

    return _edited(program, place, drop)


def _replaced(program: KernelProgram, place: int, field: str, index: int, part: int) -> KernelProgram | None:
    def put(node: ast.AST) -> bool:
        value = getattr(node, field)
        if isinstance(value, list):
            value[index] = _parts(value[index])[part]
        else:
            setattr(node, field, _parts(value)[part])
        return True

    return _edited(program, place, put)


def _kernel(tree: ast.Module, call: Call) -> ast.FunctionDef:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next(node for node in functions if node.name == call.kernel)


def _unused_parameters(program: KernelProgram) -> list[Attempt]:
    """Without a parameter of the kernel that its body does not use."""
    kernel = _kernel(program.tree, program.call)
    read = {node.id for child in kernel.body for node in ast.walk(child) if isinstance(node, ast.Name)}
    unused = [name for name in program.call.parameters if name not in read]
    return [lambda name=name: _without_parameter(program, name, None) for name in unused]  # type: ignore[misc]


def _inlined_constants(program: KernelProgram) -> list[Attempt]:
    """With the value of a constexpr parameter in its place."""
    paths = {ast.literal_eval(path): text for path, text in program.call.constexprs.items()}
    constants = {
        program.call.parameters[path[0]]: text
        for path, text in paths.items()
        if len(path) == 1 and isinstance(ast.parse(text, mode="eval").body, ast.Constant | ast.UnaryOp)
    }
    return [
        lambda name=name, text=text: _without_parameter(program, name, text)  # type: ignore[misc]
        for name, text in constants.items()
    ]


def _without_parameter(program: KernelProgram, name: str, value: str | None) -> KernelProgram | None:
    """Without a parameter of the kernel, with `value` where its body reads it."""
    tree = copy.deepcopy(program.tree)
    kernel = _kernel(tree, program.call)
    if not _remove_argument(kernel.args, name):
        return None
    if value is not None:
        expression = ast.parse(value, mode="eval").body
        kernel.body = [_Inlined(name, expression).visit(child) for child in kernel.body]
    index = program.call.parameters.index(name)
    return KernelProgram(ast.fix_missing_locations(tree), _call_without(program.call, index))


def _remove_argument(arguments: ast.arguments, name: str) -> bool:
    """Remove a parameter and its default."""
    every = [*arguments.posonlyargs, *arguments.args]
    for block in (arguments.posonlyargs, arguments.args):
        for index, parameter in enumerate(block):
            if parameter.arg == name:
                default = every.index(parameter) - (len(every) - len(arguments.defaults))
                if default >= 0:
                    del arguments.defaults[default]
                del block[index]
                return True
    for index, parameter in enumerate(arguments.kwonlyargs):
        if parameter.arg == name:
            del arguments.kwonlyargs[index], arguments.kw_defaults[index]
            return True
    return False


class _Inlined(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value in place of the name."""
        return copy.deepcopy(self._value) if node.id == self._name and _is_read(node) else node


def _call_without(call: Call, index: int) -> Call:
    def moved(paths: dict[str, str]) -> dict[str, str]:
        moved_paths = {}
        for text, value in paths.items():
            first, *rest = ast.literal_eval(text)
            if first != index:
                moved_paths[repr((first - (first > index), *rest))] = value
        return moved_paths

    name = call.parameters[index]
    signature = ast.parse(call.signature, mode="eval").body
    if isinstance(signature, ast.Dict):
        pairs = zip(signature.keys, signature.values, strict=True)
        remaining = [
            pair for pair in pairs if not (isinstance(pair[0], ast.Constant) and pair[0].value == name)
        ]
        signature = ast.Dict([key for key, _ in remaining], [value for _, value in remaining])
    return replace(
        call,
        parameters=(*call.parameters[:index], *call.parameters[index + 1 :]),
        signature=ast.unparse(signature),
        constexprs=moved(dict(call.constexprs)),
        attrs=moved(dict(call.attrs)),
    )
