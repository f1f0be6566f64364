"""Layouts that differ: matched by the operations that use them, and compared field by field.

    left:  #mma = #ttg.nvidia_mma<{warpsPerCTA = [4, 1], ...}>
    right: #mma1 = #ttg.nvidia_mma<{warpsPerCTA = [8, 1], ...}>
    -> LayoutChange(#mma, #mma1, fields=(("warpsPerCTA", "[4, 1]", "[8, 1]"),), uses=17)

Aliases are numbered per module, so matching layouts by alias would compare unrelated ones.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence

from irscope.diff.matching import UNMATCHED
from irscope.diff.rows import Change, LayoutChange
from irscope.languages.brackets import split_outermost
from irscope.languages.document import Document, Layout, Operation
from irscope.targets import layout_dialects

_ALIAS = re.compile(r"#[A-Za-z_]\w*")

# The dialects that define layouts, and their attributes that are no layouts.
_LAYOUT_DIALECTS = frozenset(["ttg", "ttng", "gluon", "amdg", "triton_gpu", "triton_nvidia_gpu"])
_NOT_LAYOUTS = re.compile(r"(?:shared|tensor|global)_memory$|.*_(?:policy|spaces?|modifier)$")

Aliases = Sequence[tuple[str, ...]]


def aliases(document: Document) -> Aliases:
    """Return the layout aliases in the first and the closing line of each operation, in order."""
    layouts = document.layouts
    if not layouts:
        return [()] * len(document.operations)
    return [
        tuple(name for name in _ALIAS.findall(_own_text(document, operation)) if name in layouts)
        for operation in document.operations
    ]


def _own_text(document: Document, operation: Operation) -> str:
    first = document.lines[operation.line]
    if operation.end == operation.line + 1:
        return first
    return f"{first} {document.lines[operation.end - 1]}"


def layouts_in_use(document: Document) -> list[Hashable]:
    """Return the kinds and fields of the layouts in each operation's text."""
    if not document.layouts:
        return [()] * len(document.operations)
    contents = {name: _content(layout) for name, layout in document.layouts.items()}
    return [tuple(contents[name] for name in names) for names in aliases(document)]


def is_layout(kind: str) -> bool:
    """Check whether attribute `kind` is a layout: `ttg.blocked` is one, `tt.cache_policy` is not.

    Memory spaces and cache policies are attributes. An alias that nothing defines passes for a
    layout.
    """
    dialect, dot, name = kind.partition(".")
    if not dot:
        return True
    return (dialect in _LAYOUT_DIALECTS or dialect in layout_dialects()) and not _NOT_LAYOUTS.match(name)


class LayoutMatch:
    """Matches the layouts of the left document with layouts of the right one."""

    def __init__(self, left: Document, right: Document, matches: Sequence[int]) -> None:
        self._left, self._right = left.layouts, right.layouts
        self._left_aliases, self._right_aliases = aliases(left), aliases(right)
        self._matches = matches
        self._uses: Counter[tuple[str, str]] = Counter()
        for ours, theirs in self._matched_uses():
            self._uses.update(set(zip(ours, theirs, strict=True)))
        self.pairs = self._most_frequent()

    def change(self, index: int, change: Change) -> Change:
        """Add to `change` how the aliases of left operation `index` and of its match differ.

        They differ in LAYOUT, or in ATTRIBUTE if they are not layouts (cache policies, memory
        spaces).
        """
        ours = self._left_aliases[index]
        if not ours:
            return change
        theirs = self._right_aliases[self._matches[index]]
        if len(ours) == len(theirs):
            for a, b in zip(ours, theirs, strict=True):
                if not self._same(a, b):
                    layouts = is_layout(self._left[a].kind) or is_layout(self._right[b].kind)
                    change |= Change.LAYOUT if layouts else Change.ATTRIBUTE
        return change

    def changes(self) -> tuple[LayoutChange, ...]:
        """Return the matched layouts that differ, most used first, then the ones that only one side has."""
        changed = [
            _compare(self._left[a], self._right[b], self._uses[a, b])
            for a, b in self.pairs
            if not self._same(a, b) and (is_layout(self._left[a].kind) or is_layout(self._right[b].kind))
        ]
        changed.sort(key=lambda change: -change.uses)
        ours = self._unmatched(self._left, self._left_aliases, self._right, {a for a, _ in self.pairs})
        theirs = self._unmatched(self._right, self._right_aliases, self._left, {b for _, b in self.pairs})
        both, ours, theirs = _of_equal_kinds(ours, theirs)
        changed += [_compare(a, b, 0) for a, b in both]
        changed += [LayoutChange(layout, None, (), 0) for layout in ours]
        changed += [LayoutChange(None, layout, (), 0) for layout in theirs]
        return tuple(changed)

    @staticmethod
    def _unmatched(
        layouts: Mapping[str, Layout], uses: Aliases, others: Mapping[str, Layout], matched: set[str]
    ) -> list[Layout]:
        """Return the layouts in use on one side without a match or an identical layout on the other side."""
        other_contents = {_content(layout) for layout in others.values()}
        names = dict.fromkeys(name for aliases in uses for name in aliases)
        return [
            layouts[name]
            for name in names
            if name not in matched
            and is_layout(layouts[name].kind)
            and _content(layouts[name]) not in other_contents
        ]

    def definitions(self) -> dict[int, tuple[int, Change]]:
        """Map each line that defines a layout to the line of its match and how the two differ."""
        changes: dict[int, tuple[int, Change]] = {}
        matched_lines: set[int] = set()
        for a, b in self.pairs:
            line, other_line = self._left[a].line, self._right[b].line
            if line not in changes and other_line not in matched_lines:
                layouts = is_layout(self._left[a].kind) or is_layout(self._right[b].kind)
                different = Change.LAYOUT if layouts else Change.TEXT
                changes[line] = other_line, Change.EQUAL if self._same(a, b) else different
                matched_lines.add(other_line)
        return changes

    def _matched_uses(self) -> Iterator[tuple[tuple[str, ...], tuple[str, ...]]]:
        for index, match in enumerate(self._matches):
            if match != UNMATCHED:
                ours, theirs = self._left_aliases[index], self._right_aliases[match]
                if ours and len(ours) == len(theirs):
                    yield ours, theirs

    def _most_frequent(self) -> list[tuple[str, str]]:
        """Return for each layout of either side the pair that most matched operations use."""
        pairs: dict[tuple[str, str], None] = {}
        for side in (0, 1):
            done: set[str] = set()
            for pair, _ in self._uses.most_common():
                if pair[side] not in done:
                    done.add(pair[side])
                    pairs[pair] = None
        return self._without_other_kinds(pairs)

    def _without_other_kinds(self, pairs: Iterable[tuple[str, str]]) -> list[tuple[str, str]]:
        """Return the pairs without those of two kinds of which one has a match of its own kind.

        A barrier that matches a tile by chance does not turn the tile's layout into that of barriers.
        """
        alike = {pair for pair in pairs if self._left[pair[0]].kind == self._right[pair[1]].kind}
        ours, theirs = {a for a, _ in alike}, {b for _, b in alike}
        return [(a, b) for a, b in pairs if (a, b) in alike or (a not in ours and b not in theirs)]

    def _same(self, left: str, right: str) -> bool:
        return _content(self._left[left]) == _content(self._right[right])


def _of_equal_kinds(
    ours: Sequence[Layout], theirs: Sequence[Layout]
) -> tuple[list[tuple[Layout, Layout]], list[Layout], list[Layout]]:
    """Return the pairs of layouts whose kind each side has once, and the rest of each side."""
    counts = Counter(layout.kind for layout in ours), Counter(layout.kind for layout in theirs)
    kinds = {kind for kind, number in counts[0].items() if number == counts[1][kind] == 1}
    right = {layout.kind: layout for layout in theirs}
    pairs = [(layout, right[layout.kind]) for layout in ours if layout.kind in kinds]
    left_rest, right_rest = (
        [layout for layout in side if layout.kind not in kinds] for side in (ours, theirs)
    )
    return pairs, left_rest, right_rest


def _content(layout: Layout) -> tuple[str, tuple[tuple[str, str], ...]]:
    return layout.kind, tuple(sorted(layout.fields.items()))


def _compare(left: Layout, right: Layout, uses: int) -> LayoutChange:
    ours, theirs = flat_fields(left), flat_fields(right)
    fields = tuple(
        (name, ours.get(name, ""), theirs.get(name, ""))
        for name in {**ours, **theirs}
        if ours.get(name) != theirs.get(name)
    )
    return LayoutChange(left, right, fields, uses)


def flat_fields(layout: Layout) -> dict[str, str]:
    """Return a layout's kind and fields, with dotted names for nested ones: `parent.sizePerThread`."""
    flat = {"kind": layout.kind}
    pending = [*layout.fields.items()][::-1]
    while pending:
        name, text = pending.pop()
        kind, opening, rest = text.partition("<{")
        if not (text.startswith("#") and opening and rest.endswith("}>")):
            flat[name] = text
            continue
        flat[f"{name}.kind"] = kind
        inner = _split_fields(rest.removesuffix("}>"))
        pending += [(f"{name}.{key}", value) for key, value in inner][::-1]
    return flat


def _split_fields(text: str) -> list[tuple[str, str]]:
    """Split `dim = 1, parent = #ttg.blocked<{...}>` into pairs of name and text."""
    pairs = (part.partition("=") for part in split_outermost(text))
    return [(name.strip(), value.strip()) for name, _, value in pairs]
