"""Findings about edits of the kernel's Python: what changed from A's source to B's, in words, with its line.

    line 31: the load of x_ptr no longer has a mask

Only edits that changed TTIR are reported, each once however many operations it changed. There are none if A
and B were compiled from the same source. Triton that Helion generated from one function under two configs
is one finding.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping, Sequence

from irscope.diff.line_map import LineMap
from irscope.diff.rows import Change, StageDiff
from irscope.facts.fact import Evidence
from irscope.facts.source.alignment import line_map
from irscope.findings.finding import Finding, PairContext, Severity
from irscope.findings.python_edit_text import describe
from irscope.findings.python_edits import Statement, StatementEdit, edits, lines_reached
from irscope.languages.document import Document, inlining_chain
from irscope.model import SourceFunction
from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.targets.frontends import HELION

_STAGE = "ttir"
# An edit is the cause of everything that follows from it.
_WEIGHT = Severity.SEMANTICS.weight()
# Order rarely matters.
_MOVE_WEIGHT = Severity.LAYOUT.weight()
# The config explains a front end's changes.
_GENERATED_WEIGHT = Severity.MEMORY.weight()
_GENERATING = HELION.stages[0].name
# Nobody reads a rewritten kernel statement by statement.
_MOST = 8

# A line (from 1) of a file, and whether only A has it.
_Place = tuple[str, int, bool]


@frozen
class _FunctionEdit:
    """An edit, and the two versions of the function that has it; `matches` are A's lines in B."""

    a: SourceFunction
    b: SourceFunction
    edit: StatementEdit
    matches: LineMap

    def places(self) -> Iterator[_Place]:
        """Yield the lines of the statement, as the locations of a pair's diffs have them."""
        if self.edit.moved and self.edit.before and self.edit.after:
            # Either the statement or the ones that it passed have moved.
            passed = sorted((self.edit.before.line - self.a.line + self.b.line, self.edit.after.line))
            yield from ((self.b.file, line, False) for line in range(passed[0], passed[1] + 1))
        if self.edit.after is not None:
            yield from ((self.b.file, line, False) for line in _lines(self.edit.after))
        if self.edit.before is not None:
            yield from map(self._place_of_a, _lines(self.edit.before))

    def _place_of_a(self, line: int) -> _Place:
        """Return a line of A: if statements were swapped, its match in B is another statement."""
        match = self.matches.match((self.a.file, line))
        return (match.file, match.line, False) if match else (self.a.file, line, True)

    def places_reached(self) -> Iterator[_Place]:
        """Yield the lines of B that use what the statement computes, and those that it decides about.

        A condition of constants has no operation of its own: it decides whether its body is compiled.
        """
        statement = self.edit.after or self.edit.before
        if self.edit.after is not None and isinstance(self.edit.after.node, ast.If | ast.For | ast.While):
            node, first = self.edit.after.node, self.edit.after.line
            length = (node.end_lineno or node.lineno) - node.lineno
            yield from ((self.b.file, line, False) for line in range(first, first + length + 1))
        if statement is not None and statement.assigned:
            lines = lines_reached(self.b.text, self.b.line, statement.assigned)
            yield from ((self.b.file, line, False) for line in lines)


def source_edits(pair: PairContext) -> Iterator[Finding]:
    """Yield the edits of the kernel, and of the functions that it calls, that changed TTIR."""
    diff = pair.diffs.get(_STAGE)
    if diff is None or not any(diff.counts.values()):
        return
    matches = line_map(pair.a.kernel, pair.b.kernel)
    found = [
        _FunctionEdit(a, b, edit, matches)
        for a, b in _edited_functions(pair)
        for edit in edits(a.text, a.line, b.text, b.line)
    ]
    if not found:
        return
    left, right = _changed_lines(diff)
    changed = left.keys() | right.keys()
    shown = [one for one in found if not changed.isdisjoint(one.places())]
    if not shown:
        # A constant is folded into the operations that use it, which are on other lines.
        shown = [one for one in found[:_MOST] if not changed.isdisjoint(one.places_reached())]
    if not shown:
        # The order of statements can be that of the values that a loop carries.
        shown = [one for one in found if one.edit.moved]
    if shown and _generated_from_one_source(pair):
        yield _generated(shown, left, right)
        return
    # A helper that was taken out of the kernel computes the same.
    only_order = not any(number for change, number in diff.counts.items() if change is not Change.MOVED)
    for edited in shown[:_MOST]:
        weight = _MOVE_WEIGHT if edited.edit.moved or only_order else _WEIGHT
        a, b = (tuple(side[p] for p in edited.places() if p in side) for side in (left, right))
        covers, changes = _explained_loop(edited.edit), describe(edited.edit)
        what = _place_text(edited, pair)
        yield Finding(what, weight, "source edit", a, b, covers=covers, changes=changes)
    if len(shown) > _MOST:
        rest = pluralize(len(shown) - _MOST, "more edited statement")
        yield Finding(f"{rest} of the kernel changed TTIR", _WEIGHT, "source edit")


def _generated_from_one_source(pair: PairContext) -> bool:
    """Whether Helion generated both kernels from the same function, under different configs."""
    first, second = (variant.artifacts.get(_GENERATING) for variant in (pair.a, pair.b))
    return first is not None and second is not None and first.digest == second.digest


def _generated(
    shown: Sequence[_FunctionEdit], left: Mapping[_Place, Evidence], right: Mapping[_Place, Evidence]
) -> Finding:
    """All edits as one finding: nobody made them, and the kernel computes the same."""
    places = [place for edited in shown for place in edited.places()]
    a, b = (tuple(side[place] for place in places if place in side) for side in (left, right))
    first = next((edited.edit.after for edited in shown if edited.edit.after), None)
    where = f", the first at line {first.line}" if first else ""
    text = f"{pluralize(len(shown), 'statement')} changed{where}"
    what = "Helion generated other Triton for this config"
    return Finding(what, _GENERATED_WEIGHT, "source edit", a, b, changes=(text,))


def _edited_functions(pair: PairContext) -> Iterator[tuple[SourceFunction, SourceFunction]]:
    """Yield the versions of the kernel, and of each function that it calls, if their texts differ."""
    a, b = pair.a.kernel, pair.b.kernel
    if a.source.text != b.source.text:
        yield a.source, b.source
    helpers = {helper.name: helper for helper in a.helpers}
    for helper in b.helpers:
        other = helpers.get(helper.name)
        if other is not None and other.text != helper.text:
            yield other, helper


def _place_text(one: _FunctionEdit, pair: PairContext) -> str:
    after, before = one.edit.after, one.edit.before
    line = f"line {after.line}" if after else f"line {before.line} of A" if before else ""
    helper = "" if one.b is pair.b.kernel.source else f" in {one.b.name}"
    return line + helper


def _explained_loop(edit: StatementEdit) -> frozenset[str]:
    """Return the finding about a loop whose statement is new or gone."""
    statement = edit.after or edit.before
    if (edit.after and edit.before) or not statement or not isinstance(statement.node, ast.For | ast.While):
        return frozenset()
    return frozenset([f"loop line {statement.line}{'' if edit.after else ' of A'}"])


def _changed_lines(diff: StageDiff) -> tuple[Mapping[_Place, Evidence], Mapping[_Place, Evidence]]:
    """Return the lines of Python whose operations changed, each with the first of these, on either side."""
    rows = [row for row in diff.rows if row.change]
    return (
        _places_of(diff.left, [row.left for row in rows if row.left is not None]),
        _places_of(diff.right, [row.right for row in rows if row.right is not None]),
    )


def _places_of(document: Document, lines: Sequence[int]) -> Mapping[_Place, Evidence]:
    """Return the places of the operations on some lines, and of those that read constants on them.

    Constants are far above their users.
    """
    changed = [operation for line in lines if (operation := document.operation_at(line))]
    names = {name for op in changed if op.opcode == "arith.constant" for name in op.results}
    users = [op for op in document.operations if not names.isdisjoint(op.operands)] if names else []
    places: dict[_Place, Evidence] = {}
    for operation in (*changed, *users):
        for link in inlining_chain(operation.location):
            places.setdefault((link.file, link.line, link.removed), Evidence(_STAGE, operation.line))
    return places


def _lines(statement: Statement) -> Sequence[int]:
    return range(statement.line, statement.end + 1)
