"""The same variant in several versions: captures of several commits, edits, several versions of Triton."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timezone
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.analysis.capture_diff import MatchedVariants, compare_pair
from irscope.analysis.capture_matching import closest, match_variants
from irscope.model import Variant
from irscope.model.text import base_name
from irscope.workspace.capture_comparison import change_text
from irscope.workspace.compiler_version import compiler_version
from irscope.workspace.version_names import file_names

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace

# A hash as git abbreviates it.
_HASH = 7
_MAX_CHANGES = 4


@dataclass(frozen=True)
class Version:
    """The variants of one capture, or of one source and Triton within a capture.

    `name` is short: `new.irscope`, `source 3f2a91c`; `title` has everything that is known.
    """

    name: str
    title: str
    variants: tuple[Variant, ...]


@dataclass(frozen=True)
class TimelineStep:
    """The same variant in two versions, A in the older one. `number` is B's version, from 1.

    `label` names B's version; `changes` has what got worse or better, or that nothing did.
    """

    a: Variant
    b: Variant
    number: int
    total: int
    label: str
    changes: str

    @property
    def text(self) -> str:
        """The step in two lines."""
        return f"Version {self.number} of {self.total}: {self.label}\n{self.changes}"


class Timeline:
    """The versions of a kernel in a workspace, oldest first.

    With several captures, each is a version, in the order in which they were opened. Within one capture, a
    version is a source of the kernel compiled by one Triton, in the order of the capture.
    """

    def __init__(self, workspace: Workspace, variant: Variant) -> None:
        self._workspace = workspace
        groups = _by_capture(workspace) if len(workspace.captures) > 1 else _by_source(workspace, variant)
        self.versions = list(_versions(workspace, groups, variant))

    def index(self, variant: Variant) -> int:
        """The index of the version that has a variant."""
        return next(n for n, one in enumerate(self.versions) if any(v.id == variant.id for v in one.variants))

    def chain(self, variant: Variant) -> Mapping[int, Variant]:
        """The same variant in every version that has it, by the version's index."""
        found = {self.index(variant): variant}
        for direction in (1, -1):
            place = self.index(variant)
            while 0 <= (after := place + direction) < len(self.versions):
                known = found[max(found) if direction > 0 else min(found)]
                match = self._counterpart(known, self.versions[after].variants)
                if match is not None:
                    found[after] = match
                place = after
        return found

    def step(self, a: Variant, b: Variant, direction: int) -> TimelineStep | str:
        """The next (1) or previous (-1) two versions of B; a line that says why there are none.

        If A is not the version before B, the first step is to B and its neighbor.
        """
        if len(self.versions) < 2:
            return "There is one version; irscope tui OLD NEW opens several captures as a timeline"
        chain = self.chain(b)
        order = sorted(chain)
        place = order.index(self.index(b))
        if len(order) < 2:
            return self._no_counterpart(b)
        adjacent = place > 0 and chain[order[place - 1]].id == a.id
        last = place + direction if adjacent else place + (direction > 0)
        if not adjacent:
            last = min(max(last, 1), len(order) - 1)
        if not 1 <= last < len(order):
            end = "newest" if direction > 0 else "oldest"
            return f"{self.versions[order[-1 if direction > 0 else 0]].name} is the {end} version"
        return self._step(chain[order[last - 1]], chain[order[last]], order[last])

    def first(self) -> TimelineStep | None:
        """The first variant of the first version that a later version has too, in both; None if none."""
        for variant in self.versions[0].variants if self.versions else ():
            found = self.step(variant, variant, 1)
            if isinstance(found, TimelineStep):
                return found
        return None

    def _step(self, a: Variant, b: Variant, index: int) -> TimelineStep:
        title = self.versions[index].title
        before, after = _source_hash(a), _source_hash(b)
        label = title.replace(after, f"{after} (edited)") if before != after else title
        facts = self._workspace.all_facts([a, b])
        pair = compare_pair(a, b, facts[a.id], facts[b.id])
        return TimelineStep(a, b, index + 1, len(self.versions), label, _changes(pair))

    def _counterpart(self, variant: Variant, others: Sequence[Variant]) -> Variant | None:
        same = [v for v in others if v.kernel.name == variant.kernel.name]
        by_target = any(v.target == variant.target for v in same)
        pairs, _, _ = match_variants([variant], same, {}, by_target)
        return pairs[0][1] if pairs else None

    def _no_counterpart(self, variant: Variant) -> str:
        """Why no other version has a variant: how the closest variant differs."""
        own = self.index(variant)
        others = [v for n, one in enumerate(self.versions) if n != own for v in one.variants]
        found = closest(variant, others)
        if found is None:
            return f"No other version has {variant.kernel.name}"
        other, differences = found
        listed = ", ".join(str(each) for each in differences[:_MAX_CHANGES])
        return f"No other version has #{variant.id}; the closest, #{other.id}, differs in {listed}"


def _by_capture(workspace: Workspace) -> list[tuple[Variant, ...]]:
    groups: list[list[Variant]] = [[] for _ in workspace.captures]
    for variant in workspace.variants:
        groups[workspace.capture_index(variant)].append(variant)
    return [tuple(group) for group in groups]


def _by_source(workspace: Workspace, variant: Variant) -> list[tuple[Variant, ...]]:
    """The variants of a kernel by source and Triton: the kernels of this name in a file of this name."""
    groups: dict[Hashable, list[Variant]] = {}
    sources: dict[int, Hashable] = {}
    name, file = variant.kernel.name, base_name(variant.kernel.source.file)
    for each in workspace.variants:
        if each.kernel.name == name and base_name(each.kernel.source.file) == file:
            functions = sources.setdefault(each.kernel.id, each.kernel.own_functions)
            groups.setdefault((functions, compiler_version(each)), []).append(each)
    return [tuple(group) for group in groups.values()]


def _versions(
    workspace: Workspace, groups: Sequence[tuple[Variant, ...]], variant: Variant
) -> Iterator[Version]:
    """The groups with what names them: the file, Triton, the source, the date of the file."""
    several = len(workspace.captures) > 1
    files = file_names(workspace.captures)
    for index, group in enumerate(groups):
        own = [v for v in group if v.kernel.name == variant.kernel.name] or list(group)
        tritons = ", ".join(dict.fromkeys(str(compiler_version(v)) for v in own if _triton(v)))
        source = f"source {_source_hash(own[0])}" if own else ""
        parts = [tritons, source]
        if several:
            parts = [files[index], *parts, _date(workspace.captures[index])]
        title = ", ".join(filter(None, parts))
        yield Version(files[index] if several else title, title, group)


def _triton(variant: Variant) -> str:
    return variant.toolchain.versions.get("triton", "")


def _source_hash(variant: Variant) -> str:
    """Identifies the source of a kernel and the functions that it calls."""
    texts = [function.text for function in variant.kernel.own_functions]
    return hashlib.sha256("\0".join(texts).encode("utf-8", "replace")).hexdigest()[:_HASH]


def _date(path: Path) -> str:
    """The date of the file's last change, in UTC; "" if it is unknown."""
    with suppress(OSError, OverflowError, ValueError):
        return datetime.fromtimestamp(path.stat().st_mtime, timezone.utc).strftime("%Y-%m-%d")
    return ""


def _changes(pair: MatchedVariants) -> str:
    """The facts that got worse and better; if none did, whether the machine code is identical."""
    if pair.identical:
        return "identical machine code"
    parts = []
    for word, changes in (("worse", pair.worse), ("better", pair.better)):
        texts = [change_text(change, pair) for change in changes[:_MAX_CHANGES]]
        left = len(changes) - len(texts)
        if texts:
            more = f" and {left} more" if left else ""
            parts.append(f"{word}: {', '.join(texts)}{more}")
    return "; ".join(parts) or "different machine code, but no fact better or worse"
