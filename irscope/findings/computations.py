"""Findings about what the kernel computes: statements that only one side compiles, and other operations.

    `if TOP` of line 26: only A compiles line 30 (x = tl.sort(x)), only B line 27 (x = tl.topk(x, 8))
    Line 12 (y = fast(x) if FAST else tl.exp(x)): only A computes math.exp

Nothing else says so: no fact counts the operations of arithmetic, and the config has only the value of a
name.

Globals of Python that a kernel was compiled with: each changes what the kernel computes.

    global SCALE: 2.0 -> 3.0 (line 14: return x * SCALE)

A `tl.constexpr` of a module is an input of the compilation like an argument, but neither the config nor the
kernel's source has its value.

The branches of a kernel that the compiler chooses: which statements each side of a pair has code of.

    if EVEN:                    EVEN=True: only `x = tl.load(p)` is compiled
        x = tl.load(p)
    else:
        x = tl.load(p, mask=m)

Triton evaluates a condition of constants while it generates code and drops the other branch, so nothing in
the IR of either side shows that there was a choice.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import chain, islice

from irscope.diff.rows import Change, StageDiff
from irscope.facts.instruction_mix import place_subject, place_text
from irscope.facts.source.map import SourcePlace, place_of
from irscope.facts.source.tokens import function_node, names_in
from irscope.findings.cache_key_diff import following_names, input_text, recompilation, value_changes
from irscope.findings.finding import (
    Finding,
    FindingCause,
    FindingKind,
    PairContext,
    Severity,
    ValueChange,
    declares,
    evidence_pair,
)
from irscope.languages.document import Document, Operation, inlining_chain
from irscope.model import Kernel, SourceFunction
from irscope.model.records import frozen
from irscope.model.text import clipped, pluralize

# Longer functions are generated.
_MOST_CHARACTERS = 200_000


@frozen
class ChangedBranch:
    """An `if` whose branches the two sides do not compile alike.

    `line` is its line in the file and `test` its condition. `only_a` and `only_b` are the lines with code of
    only one side, in order.
    """

    line: int
    test: str
    only_a: tuple[int, ...]
    only_b: tuple[int, ...]


@frozen
class _Choice:
    """An `if`: its line, its condition, the lines of its two branches, and whether an `elif` follows."""

    line: int
    test: ast.expr
    body: range
    otherwise: range
    has_elif: bool


def chosen_branches(
    function: SourceFunction, changed: Collection[str], lines_a: Collection[int], lines_b: Collection[int]
) -> list[ChangedBranch]:
    """Return the outermost `if` statements of which the two sides compile different branches.

    `changed` are the names whose values differ between the sides; a condition that depends on none of them
    is the same on both. `lines_a` and `lines_b` are the lines of the file that each side has code of.
    """
    node = function_node(function.text) if len(function.text) <= _MOST_CHARACTERS else None
    if node is None:
        return []
    first = function.line - 1
    names = _depending(node, changed)
    found: list[ChangedBranch] = []
    reported: set[int] = set()
    for choice in _choices(node.body, first):
        if choice.line in reported or names.isdisjoint(names_in(choice.test, ast.Load)):
            continue
        if branch := _branch(choice, lines_a, lines_b):
            found.append(branch)
            reported |= {*choice.body, *choice.otherwise}
    return found


def _branch(choice: _Choice, lines_a: Collection[int], lines_b: Collection[int]) -> ChangedBranch | None:
    """Return the branch if each side has code of at most one of the two, and not of the same."""
    sides = [
        [any(line in lines for line in part) for part in (choice.body, choice.otherwise)]
        for lines in (lines_a, lines_b)
    ]
    if sides[0] == sides[1] or any(all(side) for side in sides):
        return None
    if choice.has_elif and not sides[0][0] and not sides[1][0]:
        return None  # false on both sides: one of the conditions after `elif` differs
    inside = (*choice.body, *choice.otherwise)
    return ChangedBranch(
        choice.line,
        ast.unparse(choice.test),
        tuple(line for line in inside if line in lines_a and line not in lines_b),
        tuple(line for line in inside if line in lines_b and line not in lines_a),
    )


def _choices(statements: Sequence[ast.stmt], first: int) -> Iterator[_Choice]:
    """Yield each `if` before those inside it. What follows a branch that returns is the other branch."""
    for index, node in enumerate(statements):
        if isinstance(node, ast.If):
            returns = isinstance(node.body[-1], ast.Return) and not node.orelse
            otherwise = statements[index + 1 :] if returns else node.orelse
            has_elif = len(node.orelse) == 1 and isinstance(node.orelse[0], ast.If)
            body, rest = _span(node.body, first), _span(otherwise, first)
            yield _Choice(node.lineno + first, node.test, body, rest, has_elif)
        for name in ("body", "orelse"):
            yield from _choices(getattr(node, name, []), first)


def _span(statements: Sequence[ast.stmt], first: int) -> range:
    if not statements:
        return range(0)
    end = statements[-1].end_lineno or statements[-1].lineno
    return range(statements[0].lineno + first, end + first + 1)


def _depending(function: ast.FunctionDef, changed: Collection[str]) -> set[str]:
    """Return `changed` and the names that the function computes from them."""
    names = set(changed)
    assigned = [node for node in ast.walk(function) if isinstance(node, ast.Assign | ast.AnnAssign)]
    for _ in range(2):  # once more for an assignment above what it depends on, in a loop
        for node in assigned:
            if node.value is not None and not names.isdisjoint(names_in(node.value, ast.Load)):
                names |= names_in(node, ast.Store)
    return names


_STAGE = "ttir"
_WEIGHT = Severity.SEMANTICS.weight()
_MOST = 5
_MOST_NAMES = 4
# The inputs of a compilation whose names a condition can have.
_NAMED = ("constexpr", "argument", "global", "option")
# Operations that compute results. Those of integers compute addresses too, and fold away with a constant.
_COMPUTING = re.compile(
    r"math\.\w+"
    r"|arith\.(?:add|sub|mul|div|rem|neg|cmp|max|min|maxnum|minnum|maximum|minimum|trunc|ext)f"
    r"|arith\.(?:sito|uito)fp|arith\.fpto[su]i"
    r"|tt\.(?:reduce|scan|histogram|gather|clampf|precise_\w+|fp_to_fp|extern_elementwise)"
    r"|tt\.elementwise_inline_asm|tt\.dot(?:_scaled)?"
)
_INSTRUCTION = re.compile(r'tt\.elementwise_inline_asm "\s*(?:\{\s*)?([\w.:]{1,40})')
_SYMBOL = re.compile(r'symbol = "([\w.]{1,60})"')

# The operations that compute results, by the line of the user's Python that asks for them.
_Computed = Mapping[SourcePlace, Mapping[str, list[int]]]


def computations(pair: PairContext) -> Iterator[Finding]:
    """Yield the branches that only one side compiles, then the lines that compute something else.

    If the source itself was edited, its edits are reported instead of the operations of lines.
    """
    diff = pair.diffs.get(_STAGE)
    if diff is None or not any(diff.counts.values()):
        return
    branches = list(_branches(pair, diff.left, diff.right))
    yield from branches[:_MOST]
    if len(branches) > _MOST:
        yield Finding(f"{pluralize(len(branches) - _MOST, 'more branch')} differ", _WEIGHT, "branch")
    a, b = ([function.text for function in side.variant.kernel.own_functions] for side in pair.sides)
    if a == b:
        yield from islice(_operations(pair, diff.left, diff.right), _MOST)


def _branches(pair: PairContext, left: Document, right: Document) -> Iterator[Finding]:
    reasons = recompilation(pair.a, pair.b).reasons
    changed = {reason.input.name for reason in reasons if reason.input.kind in _NAMED}
    kernel = pair.b.kernel
    lines_a, lines_b = _lines(left), _lines(right)
    for function in kernel.own_functions if changed else ():
        in_a, in_b = lines_a.get(function.file, {}), lines_b.get(function.file, {})
        # A caller can pass any of its values to a helper.
        words = set(re.findall(r"[A-Za-z_]\w*", function.text.partition("):")[0]))
        names = changed if function is kernel.source else changed | words
        for branch in chosen_branches(function, names, in_a.keys(), in_b.keys()):
            texts = []
            for side, lines in (("A", branch.only_a), ("B", branch.only_b)):
                if lines:
                    place = place_text(SourcePlace(function.file, lines[0]), kernel).removeprefix("of ")
                    more = f" and {pluralize(len(lines) - 1, 'more line')}" if len(lines) > 1 else ""
                    texts.append(f"only {side} compiles {place}{more}")
            subject = f"line {branch.line}"
            sides = [in_a[line] for line in branch.only_a], [in_b[line] for line in branch.only_b]
            yield Finding(
                f"`if {clipped(' '.join(branch.test.split()), 60)}` of {subject}",
                _WEIGHT,
                "branch",
                *evidence_pair(_STAGE, *sides),
                subject=subject,
                changes=(", ".join(texts),),
            )


def _lines(document: Document) -> dict[str, dict[int, int]]:
    """Return the lines of Python that have operations, by file, each with the first of these in the stage.

    Equal constants of several lines are one operation, so they do not count.
    """
    by_file: dict[str, dict[int, int]] = {}
    for operation in document.operations:
        for link in inlining_chain(operation.location) if operation.opcode != "arith.constant" else ():
            if not link.removed:
                by_file.setdefault(link.file, {}).setdefault(link.line, operation.line)
    return by_file


def _operations(pair: PairContext, left: Document, right: Document) -> Iterator[Finding]:
    """Yield a finding for each line that both sides compile, but not to the same kinds of operations.

    An operation that is on another line of the other side has only moved.
    """
    files = {function.file for function in pair.b.kernel.own_functions}
    ours, theirs = _computed(left, files), _computed(right, files)
    in_a, in_b = ({name for names in side.values() for name in names} for side in (ours, theirs))
    for place in sorted(ours.keys() & theirs.keys() if files != {""} else ()):
        only_a = {name: lines for name, lines in ours[place].items() if name not in in_b}
        only_b = {name: lines for name, lines in theirs[place].items() if name not in in_a}
        sides = [(side, names) for side, names in (("A", only_a), ("B", only_b)) if names]
        if sides:
            where = place_text(place, pair.b.kernel).removeprefix("of ")
            yield Finding(
                f"{where[0].upper()}{where[1:]}",
                _WEIGHT,
                "computation",
                *evidence_pair(_STAGE, *(chain.from_iterable(names.values()) for names in (only_a, only_b))),
                subject=place_subject(place),
                changes=(", ".join(f"only {side} computes {_listed(names)}" for side, names in sides),),
            )


def _computed(document: Document, files: Collection[str]) -> _Computed:
    """Return what the lines of the user's own functions, the kernel and its helpers, compute."""
    by_place: dict[SourcePlace, dict[str, list[int]]] = {}
    for operation in document.operations:
        own = (link for link in inlining_chain(operation.location) if link.file in files)
        if (location := next(own, None)) is not None:
            names = by_place.setdefault(place_of(location), {})
            if _COMPUTING.fullmatch(operation.opcode):
                names.setdefault(_name(operation), []).append(operation.line)
    return by_place


def _name(operation: Operation) -> str:
    """Return the opcode, or what a call of a library or inline assembly computes."""
    if match := _INSTRUCTION.search(operation.normalized):
        return f"inline assembly {match[1]}"
    match = _SYMBOL.search(operation.normalized)
    return match[1] if match else operation.opcode


def _listed(names: Collection[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join([*sorted(names)[:_MOST_NAMES], *([f"{more} more"] if more > 0 else [])])


# A constant of floats: `arith.constant dense<2.0> : tensor<128xf32>`.
_FLOATS = re.compile(r"arith\.constant .*: (?:tensor<[\dx]{1,99}x)?b?f\d")


@declares("global", FindingKind(between=", "))
def globals_read(pair: PairContext) -> Iterator[Finding]:
    """Yield a finding for each global that differs, if the TTIR of the two does."""
    diff = pair.diffs.get(_STAGE)
    if diff is None or not any(diff.counts.values()):
        return
    for reason in recompilation(pair.a, pair.b).reasons:
        if reason.input.kind != "global":
            continue
        places = list(_reading_places(pair.b.kernel, reason.input.name))
        first = places[0] if places else None
        following, where = following_names(reason), place_text(first, pair.b.kernel).removeprefix("of ")
        causes = [FindingCause("following", (following,))] if following else []
        causes += [FindingCause("reader", (where,))] if first else []
        causes += [FindingCause("constant")] if _has_other_number(diff) else []
        yield Finding(
            input_text(reason.input),
            _WEIGHT,
            "global",
            *evidence_pair(_STAGE, _lines_reading(diff.left, places), _lines_reading(diff.right, places)),
            subject=place_subject(first),
            changes=tuple(ValueChange(a, b, name) for name, a, b in value_changes(reason)),
            causes=tuple(causes),
        )


def _reading_places(kernel: Kernel, name: str) -> Iterator[SourcePlace]:
    """Yield the lines of the kernel and its helpers that read a global."""
    for function in (kernel.source, *kernel.helpers):
        tree = function_node(function.text)
        nodes = ast.walk(tree) if tree else ()
        lines = {node.lineno for node in nodes if isinstance(node, ast.Name) and node.id == name}
        yield from (SourcePlace(function.file, line + function.line - 1) for line in sorted(lines))


def _has_other_number(diff: StageDiff) -> bool:
    """Return True if a constant of floats differs: one of integers can be a size."""
    constants = (row.left for row in diff.rows if Change.CONSTANT in row.change and row.left is not None)
    return any(_FLOATS.search(diff.left.lines[line]) for line in constants)


def _lines_reading(document: Document, places: list[SourcePlace]) -> Iterator[int]:
    """Yield the lines of the operations that come from lines which read the global."""
    lines = {(place.file, place.line) for place in places}
    for operation in document.operations:
        location = operation.location
        if location is not None and (location.file, location.line) in lines:
            yield operation.line
