"""An edit of a Python statement in words, as a reviewer of the kernel would say it.

x = tl.load(x_ptr + i, mask=m)  ->  x = tl.load(x_ptr + i)      "the load of x_ptr no longer has a mask"
for k in range(0, K):           ->  for k in range(0, K // 2):  "the loop's upper bound is now K // 2 (was K)"
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence

from irscope.diff.align import common_blocks, matched_pairs
from irscope.findings.finding import ValueChange
from irscope.findings.python_edits import Statement, StatementEdit
from irscope.model.text import clipped

# Longer code is cut, and more differences of one statement are counted.
_MOST_CODE = 80
_MOST_DIFFERENCES = 3

_BOUNDS = {1: ("upper bound",), 2: ("lower bound", "upper bound"), 3: ("lower bound", "upper bound", "step")}
_DOWNWARD = {"lower bound": "start", "upper bound": "end"}
_MODULES = ("tl", "triton.language", "libdevice", "gl")
_RANGES = ("range", "static_range")
# Expressions that say little without the one around them.
_SMALL = (ast.Constant, ast.Name, ast.operator, ast.cmpop, ast.unaryop, ast.boolop)


def describe(edit: StatementEdit) -> tuple[ValueChange | str, ...]:
    """Return the edit without its line."""
    before, after = edit.before, edit.after
    if before is None:
        return (f"new statement {_code(after.written)}",) if after else ()
    if after is None:
        return (f"the statement {_code(before.written)} is gone",)
    if edit.moved:
        return (f"{_code(after.written)} moved from line {before.line}",)
    found = list(dict.fromkeys(_statement_differences(before, after)))
    if not found:
        return (_other_code(before.written, after.written),)
    if (rest := len(found) - _MOST_DIFFERENCES) > 0:
        found[_MOST_DIFFERENCES:] = [f"{rest} more changes"]
    return tuple(found)


def _other_code(a: ast.AST, b: ast.AST, around: tuple[ast.AST, ast.AST] | None = None) -> ValueChange:
    if around and isinstance(a, _SMALL) and isinstance(b, _SMALL):
        a, b = around
    return ValueChange(_code(a), _code(b))


def _statement_differences(before: Statement, after: Statement) -> Iterator[ValueChange | str]:
    ours, theirs, a, b = before.written, after.written, before.node, after.node
    match ours, theirs:
        case ast.AugAssign(op=first), ast.AugAssign(op=second) if type(first) is not type(second):
            return  # `x += y` and `x -= y`
    if isinstance(a, ast.For) and isinstance(b, ast.For):
        yield from _differences(a.target, b.target, (a.target, b.target))
        yield from _loop(a.iter, b.iter)
        return
    if type(a) is not type(b) or len(before.parts) != len(after.parts):
        return
    accumulator = _accumulator(a, b)
    for one, other in zip(before.parts, after.parts, strict=True):
        for text in _differences(one, other, (one, other)):
            yield accumulator or text


def _accumulator(a: ast.stmt, b: ast.stmt) -> str:
    """Return the change of the type in which a tensor that starts as a constant accumulates."""
    if not (isinstance(a, ast.Assign) and isinstance(b, ast.Assign)):
        return ""
    calls = [one.value for one in (a, b) if isinstance(one.value, ast.Call)]
    if len(calls) != 2 or any(_plain(call.func) not in ("tl.zeros", "tl.full") for call in calls):
        return ""
    types = [_dtype(call) for call in calls]
    rest = [
        ast.dump(call).replace(ast.dump(own), "") if own else ""
        for call, own in zip(calls, types, strict=True)
    ]
    if None in types or rest[0] != rest[1]:
        return ""
    was, now = (_plain(own) for own in types if own is not None)
    return f"{_plain(b.targets[0])} accumulates in {now} instead of {was}" if was != now else ""


def _dtype(call: ast.Call) -> ast.expr | None:
    named = next((keyword.value for keyword in call.keywords if keyword.arg == "dtype"), None)
    return named or (call.args[-1] if len(call.args) > 1 else None)


def _loop(a: ast.expr, b: ast.expr) -> Iterator[ValueChange | str]:
    """Yield the differences of what two loops iterate over: bounds by name, then options of `tl.range`."""
    if not (isinstance(a, ast.Call) and isinstance(b, ast.Call) and _is_range(a) and _is_range(b)):
        yield from _differences(a, b, (a, b))
        return
    if _plain(a.func) != _plain(b.func):
        yield ValueChange(_plain(a.func), _plain(b.func))
    ours, theirs = _bounds(a), _bounds(b)
    if any(bounds.get("step", "").startswith("-") for bounds in (ours, theirs)):
        # A loop that counts down begins at its upper bound.
        ours, theirs = (
            {_DOWNWARD.get(name, name): own for name, own in one.items()} for one in (ours, theirs)
        )
    for name in dict.fromkeys([*ours, *theirs]):
        was, now = ours.get(name, _default(name)), theirs.get(name, _default(name))
        if was != now:
            yield f"the loop's {name} is now {now} (was {was})"
    yield from _keywords(a, b, "the loop")


def _is_range(call: ast.Call) -> bool:
    return _plain(call.func).rpartition(".")[2] in _RANGES and len(call.args) in _BOUNDS


def _bounds(call: ast.Call) -> dict[str, str]:
    return dict(zip(_BOUNDS[len(call.args)], map(_plain, call.args), strict=True))


def _default(name: str) -> str:
    return "1" if name == "step" else "0"


def _differences(a: ast.AST, b: ast.AST, around: tuple[ast.AST, ast.AST]) -> Iterator[ValueChange | str]:
    """Yield the smallest expressions in which two trees differ; names and numbers are shown in `around`."""
    if ast.dump(a) == ast.dump(b):
        return
    if isinstance(a, ast.Call) and isinstance(b, ast.Call):
        yield from _calls(a, b, around)
        return
    if _are_swapped(a, b):
        yield f"the operands of {_code(a)} are swapped: {_code(b)}"
        return
    if any(isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub) for node in (a, b)):
        yield from _sums(a, b, around)
        return
    ours, theirs = list(ast.iter_child_nodes(a)), list(ast.iter_child_nodes(b))
    if type(a) is not type(b) or not ours or len(ours) != len(theirs) or _own_text(a) != _own_text(b):
        yield _other_code(a, b, around)
        return
    inner = (a, b) if not isinstance(a, ast.Attribute) else around
    pairs = list(zip(ours, theirs, strict=True))
    if any(isinstance(x, ast.operator | ast.cmpop) and type(x) is not type(y) for x, y in pairs):
        yield _other_code(a, b)
        return
    for x, y in pairs:
        yield from _differences(x, y, inner)


def _sums(a: ast.AST, b: ast.AST, around: tuple[ast.AST, ast.AST]) -> Iterator[ValueChange | str]:
    """Yield the difference of two sums: a term that was added, removed or changed, or the whole."""
    ours, theirs = _terms(a), _terms(b)
    blocks = common_blocks(
        [(sign, ast.dump(term)) for sign, term in ours], [(s, ast.dump(t)) for s, t in theirs]
    )
    match = dict(matched_pairs(blocks))
    removed = [term for n, term in enumerate(ours) if n not in match]
    added = [term for n, term in enumerate(theirs) if n not in match.values()]
    if match and added and not removed:
        yield f"`{_signed(added)}` added to {_code(a)}"
    elif match and removed and not added:
        yield f"`{_signed(removed)}` removed from {_code(a)}"
    elif match and len(removed) == len(added) == 1 and removed[0][0] == added[0][0]:
        yield from _differences(removed[0][1], added[0][1], (a, b))
    else:
        yield _other_code(a, b, around)


def _terms(node: ast.AST) -> list[tuple[str, ast.AST]]:
    """Return the terms of a sum with their signs, in order."""
    found: list[tuple[str, ast.AST]] = []
    while isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        found.append(("+" if isinstance(node.op, ast.Add) else "-", node.right))
        node = node.left
    return [("+", node), *reversed(found)]


def _signed(terms: Sequence[tuple[str, ast.AST]]) -> str:
    return " ".join(f"{sign} {_plain(term)}" for sign, term in terms)


def _own_text(node: ast.AST) -> str:
    """Return the text of a node without its children."""
    return str(
        node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""
    )


def _are_swapped(a: ast.AST, b: ast.AST) -> bool:
    if not (isinstance(a, ast.BinOp) and isinstance(b, ast.BinOp) and type(a.op) is type(b.op)):
        return False
    ours, theirs = (ast.dump(a.left), ast.dump(a.right)), (ast.dump(b.left), ast.dump(b.right))
    return ours == theirs[::-1]


def _calls(a: ast.Call, b: ast.Call, around: tuple[ast.AST, ast.AST]) -> Iterator[ValueChange | str]:
    if ast.dump(a.func) != ast.dump(b.func):
        if _arguments(a) == _arguments(b) and not _is_method(a) and not _is_method(b):
            yield ValueChange(_plain(a.func), _plain(b.func))
            return
        if not (_is_method(a) and _is_method(b)) or _own_text(a.func) != _own_text(b.func):
            yield _other_code(a, b)
            return
        yield from _differences(a.func, b.func, (a, b))
    if len(a.args) != len(b.args):
        yield _other_code(a, b)
        return
    ours, theirs = ([ast.dump(argument) for argument in call.args] for call in (a, b))
    if ours != theirs and sorted(ours) == sorted(theirs):
        yield f"the arguments of {_code(a)} are swapped: {_code(b)}"
    else:
        for one, other in zip(a.args, b.args, strict=True):
            if ast.dump(one) != ast.dump(other) and _is_method(a) and _plain(a.func).endswith(".to"):
                yield f"{_plain(a.func)[:-3]} is converted to {_plain(other)} instead of {_plain(one)}"
            else:
                yield from _differences(one, other, (a, b))
    yield from _keywords(a, b, _subject(b))


def _arguments(call: ast.Call) -> list[str]:
    return [ast.dump(one) for one in (*call.args, *call.keywords)]


def _is_method(call: ast.Call) -> bool:
    """Whether a function of a value is called, such as `x.to(...)`, and not one of a module."""
    func = call.func
    return isinstance(func, ast.Attribute) and _plain(func.value) not in (
        "tl",
        "triton.language",
        "libdevice",
        "tl.extra",
    )


def _keywords(a: ast.Call, b: ast.Call, subject: str) -> Iterator[ValueChange | str]:
    ours = {str(keyword.arg): _plain(keyword.value) for keyword in a.keywords}
    theirs = {str(keyword.arg): _plain(keyword.value) for keyword in b.keywords}
    for name in dict.fromkeys([*ours, *theirs]):
        was, now = ours.get(name), theirs.get(name)
        if was == now or (name == "other" and "mask" in ours and "mask" not in theirs):
            continue  # without a mask, `other` has no meaning
        if name == "mask" and None in (was, now):
            yield f"{subject} no longer has a mask" if now is None else f"{subject} now has a mask, {now}"
        elif was is None:
            yield f"{subject} now has {name}={now}"
        elif now is None:
            yield f"{subject} no longer has {name}={was}"
        else:
            yield ValueChange(f"{subject} uses {name}={was}", now)


def _subject(call: ast.Call) -> str:
    """Return a call in words: "the load of x_ptr", "tl.dot"."""
    callee = _plain(call.func)
    if callee in ("tl.load", "tl.store") and call.args:
        pointer = _pointer(call.args[0])
        if pointer:
            return f"the load of {pointer}" if callee == "tl.load" else f"the store to {pointer}"
    return callee


def _pointer(node: ast.expr) -> str:
    """Return the pointer that an address is computed from: named so, or the leftmost variable."""
    names = [one for one in ast.walk(node) if isinstance(one, ast.Name) and one.id not in _MODULES]
    names.sort(key=lambda one: ("ptr" not in one.id.lower(), one.lineno, one.col_offset))
    return names[0].id if names else ""


def _plain(node: ast.AST) -> str:
    return clipped(" ".join(ast.unparse(node).split()), _MOST_CODE)


def _code(node: ast.AST) -> str:
    if isinstance(node, ast.For | ast.While | ast.If | ast.With):
        first = ast.unparse(node).partition("\n")[0]
        return f"`{clipped(first, _MOST_CODE)}`"
    return f"`{_plain(node)}`"
