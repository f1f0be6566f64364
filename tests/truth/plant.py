"""Edits that mean something, made in a kernel's syntax tree: operators, masks, types, bounds, statements."""

from __future__ import annotations

import ast
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

_OPERATORS = {
    ast.Add: "-", ast.Sub: "+", ast.Mult: "+", ast.Div: "*",
    ast.FloorDiv: "%", ast.Mod: "//", ast.BitAnd: "|",
}  # fmt: skip
_COMPARISONS = {ast.Lt: "<=", ast.LtE: "<", ast.Gt: ">=", ast.GtE: ">", ast.Eq: "!=", ast.NotEq: "=="}
_CALLS = {
    "tl.exp": "tl.exp2", "tl.log": "tl.log2", "tl.max": "tl.min", "tl.maximum": "tl.minimum",
    "tl.minimum": "tl.maximum", "tl.sum": "tl.max", "tl.sqrt": "tl.exp", "tl.atomic_add": "tl.atomic_max",
    "tl.atomic_max": "tl.atomic_add", "tl.abs": "tl.exp", "tl.cumsum": "tl.cumprod", "tl.rand": "tl.randn",
}  # fmt: skip
_TYPES = {
    "tl.float32": "tl.float16",
    "tl.float16": "tl.bfloat16",
    "tl.int64": "tl.int32",
    "tl.int8": "tl.int16",
}
_KEYWORDS = {
    "eviction_policy": ("'evict_last'", "'evict_first'"),
    "cache_modifier": ("'.cg'", "'.ca'", "'.cs'"),
    "sem": ("'acq_rel'", "'relaxed'"),
    "scope": ("'cta'", "'sys'"),
    "input_precision": ("'ieee'", "'tf32x3'"),
    "num_stages": ("3",),
}
_ADDED = {
    "tl.load": (("eviction_policy", "'evict_first'"), ("cache_modifier", "'.cg'")),
    "tl.store": (("eviction_policy", "'evict_last'"), ("cache_modifier", "'.cs'")),
    "tl.atomic_add": (("scope", "'cta'"), ("sem", "'acq_rel'")),
    "tl.atomic_max": (("scope", "'sys'"),),
    "tl.dot": (("input_precision", "'ieee'"),),
    "tl.range": (("num_stages", "4"), ("loop_unroll_factor", "2")),
}


@dataclass(frozen=True)
class Planted:
    """An edited kernel.

    `line` is the line (from 1, in the edited text unless `removed`) that a sentence about it has to name;
    `words` have to be in that sentence; `lines` maps the old lines to the new ones (None: removed).
    """

    kind: str
    text: str
    line: int
    words: tuple[str, ...]
    lines: Callable[[int], int | None]
    removed: bool = False
    moved: bool = False


def planted_edits(text: str) -> Iterator[Planted]:
    """All edits of a kernel given by its text, decorators included."""
    tree = ast.parse(text).body[0]
    assert isinstance(tree, ast.FunctionDef)
    for statement in ast.walk(tree):
        if isinstance(statement, ast.stmt) and statement is not tree:
            yield from _in_statement(text, statement)
    yield from _statements(text, tree)


def _in_statement(text: str, statement: ast.stmt) -> Iterator[Planted]:
    nested = {
        id(node)
        for child in ast.iter_child_nodes(statement)
        if isinstance(child, ast.stmt)
        for node in ast.walk(child)
    }
    for node in ast.walk(statement):
        if id(node) in nested:
            continue
        if isinstance(node, ast.BinOp):
            yield from _operator(text, statement, node)
        elif isinstance(node, ast.Compare):
            if len(node.ops) > 1 or type(node.ops[0]) not in _COMPARISONS:
                continue
            left, right = ast.unparse(node.left), ast.unparse(node.comparators[0])
            old, new = ast.unparse(node), f"{left} {_COMPARISONS[type(node.ops[0])]} {right}"
            yield _replace(text, statement, "comparison", node, new, (old, new))
        elif (
            isinstance(node, ast.Constant)
            and isinstance(node.value, int | float)
            and not isinstance(node.value, bool)
        ):
            new = repr(node.value + (0.25 if isinstance(node.value, float) else 1))
            yield _replace(text, statement, "constant", node, new, ())
        elif isinstance(node, ast.Attribute) and ast.unparse(node) in _TYPES:
            new = _TYPES[ast.unparse(node)]
            yield _replace(text, statement, "type", node, new, (new,))
        elif isinstance(node, ast.Call):
            yield from _call(text, statement, node)
    if isinstance(statement, ast.AugAssign) and isinstance(statement.op, ast.Add):
        new = f"{ast.unparse(statement.target)} -= {ast.unparse(statement.value)}"
        yield _replace(text, statement, "operator", statement, new, (new,))


def _operator(text: str, statement: ast.stmt, node: ast.BinOp) -> Iterator[Planted]:
    left, right = (ast.get_source_segment(text, side) or "" for side in (node.left, node.right))
    left = f"({left})" if isinstance(node.left, ast.BinOp | ast.Compare) else left
    right = f"({right})" if isinstance(node.right, ast.BinOp | ast.Compare) else right
    if type(node.op) in _OPERATORS:
        new = f"({left} {_OPERATORS[type(node.op)]} {right})"
        yield _replace(text, statement, "operator", node, new, (_OPERATORS[type(node.op)],))
    if isinstance(node.op, ast.Sub | ast.Div | ast.FloorDiv | ast.Mod):
        sign = {ast.Sub: "-", ast.Div: "/", ast.FloorDiv: "//", ast.Mod: "%"}[type(node.op)]
        new = ast.unparse(ast.parse(f"{right} {sign} {left}"))
        yield _replace(text, statement, "swapped", node, f"({right} {sign} {left})", (new,))
    if isinstance(node.op, ast.Mult):
        yield _replace(text, statement, "factor dropped", node, f"({left})", ())
    if isinstance(node.op, ast.Add):
        yield _replace(text, statement, "index", node, f"({left} + {right} + 1)", ("+ 1",))


def _call(text: str, statement: ast.stmt, node: ast.Call) -> Iterator[Planted]:
    name = ast.unparse(node.func)
    if name in _CALLS:
        yield _replace(text, statement, "function", node.func, _CALLS[name], (name, _CALLS[name]))
    if name == "tl.where" and len(node.args) == 3:
        a, b = (ast.get_source_segment(text, one) or "" for one in node.args[1:])
        condition = ast.get_source_segment(text, node.args[0])
        yield _replace(text, statement, "swapped", node, f"tl.where({condition}, {b}, {a})", ("swapped",))
    if name in ("range", "tl.range"):
        yield from _range(text, statement, node)
    present = {keyword.arg: keyword for keyword in node.keywords}
    for key, value in _ADDED.get(name, ()):
        if key not in present:
            yield _call_with(text, statement, node, "keyword added", {key: value}, (key, value))
    for key, keyword in present.items():
        for value in _KEYWORDS.get(str(key), ()):
            if value != ast.unparse(keyword.value):
                words = (str(key), ast.unparse(keyword.value), value)
                yield _call_with(text, statement, node, "keyword changed", {str(key): value}, words)
        if key in _KEYWORDS or key == "other":
            yield _call_with(
                text, statement, node, "keyword removed", {str(key): None}, (str(key), "no longer")
            )
        if key == "mask":
            yield _call_with(
                text,
                statement,
                node,
                "mask removed",
                {"mask": None, "other": None},
                ("no longer has a mask",),
            )
        if key == "other":
            yield _call_with(text, statement, node, "other changed", {"other": "2.0"}, ("other", "2.0"))
        if key == "axis" and ast.unparse(keyword.value) == "1":
            yield _call_with(text, statement, node, "axis", {"axis": "0"}, ("axis", "1", "0"))


def _range(text: str, statement: ast.stmt, node: ast.Call) -> Iterator[Planted]:
    bounds = [ast.get_source_segment(text, one) or "" for one in node.args]
    upper = bounds[0] if len(bounds) == 1 else bounds[1]
    half = f"{upper} // 2" if upper.isidentifier() or upper.isdigit() else f"({upper}) // 2"
    last = node.args[min(1, len(bounds) - 1)]
    yield _replace(text, statement, "upper bound", last, half, ("upper bound", ast.unparse(ast.parse(half))))
    if len(bounds) < 3:
        return
    lower, _, step = bounds
    yield _replace(text, statement, "step", node.args[2], f"{step} * 2", ("step", f"{step} * 2"))
    yield _replace(text, statement, "lower bound", node.args[0], step, ("lower bound", step, lower))


def _call_with(
    text: str,
    statement: ast.stmt,
    node: ast.Call,
    kind: str,
    changes: dict[str, str | None],
    words: tuple[str, ...],
) -> Planted:
    arguments = [ast.get_source_segment(text, one) or "" for one in node.args]
    keywords = {str(one.arg): ast.get_source_segment(text, one.value) for one in node.keywords} | changes
    pointer = re.search(r"\w+_ptrs?|base", arguments[0]) if arguments else None
    if ast.unparse(node.func) in ("tl.load", "tl.store") and pointer:
        words = *words, f" {pointer[0]} "
    arguments += [f"{key}={value}" for key, value in keywords.items() if value is not None]
    return _replace(text, statement, kind, node, f"{ast.unparse(node.func)}({', '.join(arguments)})", words)


def _replace(
    text: str, statement: ast.stmt, kind: str, node: ast.expr | ast.stmt, new: str, words: tuple[str, ...]
) -> Planted:
    """`text` with one node replaced. The following lines keep their numbers.

    A node on several lines is in brackets or ends with one, so line breaks fit before its last character.
    """
    lines = text.split("\n")
    row, end = node.lineno - 1, (node.end_lineno or node.lineno) - 1
    new = new[:-1] + "\n" * (end - row - new.count("\n")) + new[-1:]
    lines[row : end + 1] = [lines[row][: node.col_offset] + new + lines[end][node.end_col_offset :]]
    return Planted(kind, "\n".join(lines), statement.lineno, words, lambda line: line)


def _statements(text: str, tree: ast.FunctionDef) -> Iterator[Planted]:
    """Removed, added and moved statements."""
    for owner in ast.walk(tree):
        body = getattr(owner, "body", None)
        if not isinstance(owner, ast.FunctionDef | ast.For | ast.If) or not body:
            continue
        for index, statement in enumerate(body):
            if statement.end_lineno != statement.lineno:
                continue
            row = statement.lineno
            if isinstance(statement, ast.AugAssign | ast.Expr) and len(body) > 1:
                yield _without(text, row)
            if isinstance(statement, ast.Assign) and not isinstance(statement.value, ast.Name):
                yield _without(text, row)
                if not isinstance(statement.targets[0], ast.Name):
                    continue
                yield _with(
                    text, row, " " * statement.col_offset + f"{ast.unparse(statement.targets[0])} += 3"
                )
            following = body[index + 1] if index + 1 < len(body) else None
            if following and following.end_lineno == following.lineno and _independent(statement, following):
                yield _exchanged(text, row)


def _without(text: str, row: int) -> Planted:
    lines = text.split("\n")
    gone = lines.pop(row - 1).strip()
    words = ("gone", gone[:20].partition("(")[0])
    return Planted(
        "statement removed", "\n".join(lines), row, words,
        lambda line: None if line == row else line - (line > row), removed=True,
    )  # fmt: skip


def _with(text: str, row: int, new: str) -> Planted:
    lines = text.split("\n")
    lines.insert(row, new)
    return Planted(
        "statement added",
        "\n".join(lines),
        row + 1,
        ("new statement", new.strip()),
        lambda line: line + (line > row),
    )


def _exchanged(text: str, row: int) -> Planted:
    lines = text.split("\n")
    lines[row - 1], lines[row] = lines[row], lines[row - 1]
    return Planted(
        "moved",
        "\n".join(lines),
        row,
        ("moved",),
        lambda line: {row: row + 1, row + 1: row}.get(line, line),
        moved=True,
    )


def _independent(one: ast.stmt, other: ast.stmt) -> bool:
    """Whether two statements can be exchanged: assignments of which neither reads what the other assigns."""
    if not (isinstance(one, ast.Assign) and isinstance(other, ast.Assign)):
        return False
    names = [[node for node in ast.walk(each) if isinstance(node, ast.Name)] for each in (one, other)]
    stored = [{node.id for node in each if isinstance(node.ctx, ast.Store)} for each in names]
    used = [{node.id for node in each} for each in names]
    return stored[0].isdisjoint(used[1]) and stored[1].isdisjoint(used[0])
