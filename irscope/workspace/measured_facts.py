"""The facts of an open capture's variants: measured when they are first asked for, and stored on request."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from irscope.backends import backend_of
from irscope.model import UserError, Variant

if TYPE_CHECKING:
    from irscope.facts.fact import Fact
    from irscope.workspace.workspace import Workspace


class MeasuredFacts:
    """The facts that were measured so far, with their evidence."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._known: dict[int, Mapping[str, Fact]] = {}

    def of(self, variant: Variant) -> Mapping[str, Fact]:
        """The facts of a variant by name in table order; measured again while it is being compiled."""
        from irscope.facts.measure import measure

        known = self._known.get(variant.id)
        if known is not None:
            return known
        found = self._known[variant.id] = measure(variant, partial(self._read, variant))
        # Checked after the assignment: the variant may have been compiled while this thread measured it.
        if variant.id in self._workspace.in_progress or self._workspace.is_outdated(variant):
            self._known.pop(variant.id, None)
        return found

    def forget(self, ids: Iterable[int]) -> None:
        """Drops the facts of variants that changed."""
        for id_ in ids:
            self._known.pop(id_, None)

    def _read(self, variant: Variant, stage: str) -> bytes | None:
        """A stage that is stored; an assembly that only a disassembler has (SPIR-V) is derived."""
        workspace = self._workspace
        if stage == backend_of(variant.target).assembly and workspace.derivable(variant, stage):
            with suppress(UserError):
                return workspace.find_content(variant, stage)
        return workspace.read(variant, stage)


def store_facts(workspace: Workspace, report: Callable[[int, int], None]) -> None:
    """Measures the facts that a capture does not store yet and stores them, which closes the workspace.

    `report` receives the number of variants done and in total.
    """
    from irscope.facts.measure import FACTS_VERSION, to_json
    from irscope.store import CaptureWriter

    stored = workspace.stored_facts()
    missing = [variant for variant in workspace.variants if variant.id not in stored]
    if not missing:
        workspace.close()
        return
    measured = {}
    for variant in missing:
        measured[variant.id] = to_json(workspace.facts(variant))
        report(len(measured), len(missing))
    workspace.close()
    with CaptureWriter.resume(workspace.path, amends=True) as writer:
        for id_, values in measured.items():
            writer.add_facts(id_, FACTS_VERSION, values)
