"""Smaller programs than a given one: what `--minimize` tries, from large steps to small ones.

A step of llvm-reduce on Python's syntax tree: without some statements, with a loop's body in place of the
loop, with an operand in place of a sum, with a constant in place of a parameter.
"""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from irscope.compiling.standalone import Call

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
# Changes a node of a copy of the tree; False if it turns out to be impossible.
_Edit = Callable[[Any], bool]


def reductions() -> Iterator[Reduction]:
    """Yield each kind of step, the largest steps first."""
    size = _MOST_AT_ONCE
    while size:
        yield partial(_attempts, partial(_removals, size))
        size //= 2
    yield partial(_attempts, _unwrapped_blocks)
    yield _inlined_constants
    yield _unused_parameters
    yield partial(_attempts, _simpler_expressions)


def _attempts(edits: Callable[[ast.AST], Iterator[_Edit]], program: KernelProgram) -> list[Attempt]:
    """Return an attempt for each edit of each node."""
    nodes = enumerate(ast.walk(program.tree))
    return [partial(_edited, program, number, edit) for number, node in nodes for edit in edits(node)]


def _edited(program: KernelProgram, number: int, edit: _Edit) -> KernelProgram | None:
    """Return the program after `edit` of a copy of its node with this number."""
    tree = copy.deepcopy(program.tree)
    node = list(ast.walk(tree))[number]
    return replace(program, tree=ast.fix_missing_locations(tree)) if edit(node) else None


def without_unused(program: KernelProgram) -> KernelProgram:
    """Without definitions and imports that nothing uses, and without docstrings."""
    tree = copy.deepcopy(program.tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and ast.get_docstring(node) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    while True:
        read = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and _is_read(n)}
        used = {program.call.kernel, *program.call.names} | read
        used_nodes = [node for node in tree.body if (names := _defined(node)) is None or names & used]
        if len(used_nodes) == len(tree.body):
            return replace(program, tree=tree)
        tree.body = used_nodes


def _is_read(node: ast.Name) -> bool:
    return isinstance(node.ctx, ast.Load)


def _defined(node: ast.stmt) -> set[str] | None:
    """Return the names that a statement of the file defines, or None if it may do more."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
    if isinstance(node, ast.Assign):
        return {target.id for target in node.targets if isinstance(target, ast.Name)} or None
    return None


def _removals(size: int, node: ast.AST) -> Iterator[_Edit]:
    """Without `size` consecutive statements of a function."""
    for name in () if isinstance(node, ast.Module) else _BLOCKS:
        block = getattr(node, name, None)
        if isinstance(block, list) and not all(isinstance(statement, ast.Pass) for statement in block):
            starts = range(0, len(block), size) if len(block) >= size else ()
            yield from (partial(_remove, name, slice(start, start + size)) for start in reversed(starts))


def _remove(name: str, part: slice, node: ast.AST) -> bool:
    block = getattr(node, name)
    del block[part]
    if not block and name == "body":
        block.append(ast.Pass())
    return True


def _unwrapped_blocks(node: ast.AST) -> Iterator[_Edit]:
    """With the body of a branch or a loop in its place."""
    for name in _BLOCKS:
        block = getattr(node, name, None)
        for index, child in enumerate(block if isinstance(block, list) else ()):
            if isinstance(child, ast.If | ast.For | ast.While | ast.With):
                yield partial(_unwrap, name, index, "body")
            if isinstance(child, ast.If):
                yield partial(_unwrap, name, index, "orelse")


def _unwrap(name: str, index: int, body: str, node: ast.AST) -> bool:
    block = getattr(node, name)
    inner = getattr(block[index], body)
    if isinstance(block[index], ast.For):
        inner = [ast.Assign([block[index].target], ast.Constant(0)), *inner]
    block[index : index + 1] = inner
    return bool(inner)


def _simpler_expressions(node: ast.AST) -> Iterator[_Edit]:
    """With an operand or argument in place of an expression, and without a keyword argument."""
    for field, value in ast.iter_fields(node):
        for index, item in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(item, ast.keyword):
                yield partial(_remove, field, slice(index, index + 1))
            elif isinstance(item, ast.expr) and field not in ("func", "decorator_list", "annotation"):
                yield from (partial(_put_part, field, index, part) for part in range(len(_parts(item))))


def _put_part(field: str, index: int, part: int, node: ast.AST) -> bool:
    value = getattr(node, field)
    if isinstance(value, list):
        value[index] = _parts(value[index])[part]
    else:
        setattr(node, field, _parts(value)[part])
    return True


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


def _kernel(tree: ast.Module, call: Call) -> ast.FunctionDef:
    functions = (node for node in tree.body if isinstance(node, ast.FunctionDef))
    return next(node for node in functions if node.name == call.kernel)


def _unused_parameters(program: KernelProgram) -> list[Attempt]:
    """Without a parameter of the kernel that its body does not use."""
    kernel = _kernel(program.tree, program.call)
    read = {node.id for child in kernel.body for node in ast.walk(child) if isinstance(node, ast.Name)}
    unused = [name for name in program.call.parameters if name not in read]
    return [partial(_without_parameter, program, name, None) for name in unused]


def _inlined_constants(program: KernelProgram) -> list[Attempt]:
    """With the value of a constexpr parameter in its place."""
    paths = {ast.literal_eval(path): text for path, text in program.call.constexprs.items()}
    constants = {
        program.call.parameters[path[0]]: text
        for path, text in paths.items()
        if len(path) == 1 and isinstance(ast.parse(text, mode="eval").body, ast.Constant | ast.UnaryOp)
    }
    return [partial(_without_parameter, program, name, text) for name, text in constants.items()]


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
    positional = [*arguments.posonlyargs, *arguments.args]
    names = [parameter.arg for parameter in positional]
    if name in names:
        default = names.index(name) - len(names) + len(arguments.defaults)
        if default >= 0:
            del arguments.defaults[default]
        parameter = positional[names.index(name)]
        (arguments.posonlyargs if parameter in arguments.posonlyargs else arguments.args).remove(parameter)
        return True
    keywords = [parameter.arg for parameter in arguments.kwonlyargs]
    if name in keywords:
        index = keywords.index(name)
        del arguments.kwonlyargs[index], arguments.kw_defaults[index]
    return name in keywords


class _Inlined(ast.NodeTransformer):
    def __init__(self, name: str, value: ast.expr) -> None:
        self._name, self._value = name, value

    def visit_Name(self, node: ast.Name) -> ast.expr:
        """Return the value in place of the name."""
        return copy.deepcopy(self._value) if node.id == self._name and _is_read(node) else node


def _call_without(call: Call, index: int) -> Call:
    def moved(paths: Mapping[str, str]) -> dict[str, str]:
        split = ((*ast.literal_eval(path), text) for path, text in paths.items())
        return {
            repr((first - (first > index), *rest)): text for first, *rest, text in split if first != index
        }

    name = call.parameters[index]
    signature = ast.parse(call.signature, mode="eval").body
    if isinstance(signature, ast.Dict):
        pairs = zip(signature.keys, signature.values, strict=True)
        pairs_left = [(k, v) for k, v in pairs if not (isinstance(k, ast.Constant) and k.value == name)]
        signature = ast.Dict([key for key, _ in pairs_left], [value for _, value in pairs_left])
    return replace(
        call,
        parameters=tuple(parameter for parameter in call.parameters if parameter != name),
        signature=ast.unparse(signature),
        constexprs=moved(call.constexprs),
        attrs=moved(call.attrs),
    )
