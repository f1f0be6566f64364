"""Edits: variants that were built from an edited stage, or with other passes, instead of from the kernel."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from irscope.model.frozen_value import FrozenValue
from irscope.model.text import pluralize
from irscope.model.variant import EDIT

# Characters of the diff that are kept.
_MOST = 64_000


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Edit(FrozenValue):
    """How a variant was built from another one of the same kernel, config and target.

    `name` identifies it among the edits of that variant; `of` is the name of the edit that it started from,
    "" for the variant as the compiler made it. `stage` is the stage it was built from; `diff` the unified
    diff of its text, "" if it was not changed. `skipped` are the passes that were left out; `replaced` has
    the passes that ran instead of a stage's own, as (stage, list). `doubt` says how a rebuild of the unedited
    stage differs from the original; "" if its machine code is equal.
    """

    name: str
    of: str = ""
    stage: str = ""
    diff: str = ""
    skipped: tuple[str, ...] = ()
    replaced: tuple[tuple[str, str], ...] = ()
    doubt: str = ""

    @property
    def changed_lines(self) -> tuple[int, int]:
        """How many lines of the stage the edit added and removed."""
        lines = [line for line in self.diff.splitlines()[2:] if not line.startswith("@@")]
        return tuple(sum(line.startswith(sign) for line in lines) for sign in "+-")  # type: ignore[return-value]

    @property
    def sentence(self) -> str:
        """The summary, what it is an edit of, and the doubt, for views."""
        of = f"edit of {self.of}: " if self.of else "edit: "
        return f"{of}{self.summary}{f'; {self.doubt}' if self.doubt else ''}"

    @property
    def summary(self) -> str:
        """One line: "ttgir edited (+1 -1 lines), built without tritongpu-prefetch"."""
        added, removed = self.changed_lines
        parts = [f"{self.stage} edited (+{added} -{removed} lines)"] if self.diff else []
        built = [f"without {', '.join(self.skipped)}"] if self.skipped else []
        built += [f"with {pluralize(_count(passes), 'pass')} in {stage}" for stage, passes in self.replaced]
        if built or not parts:
            parts.append(f"built {', '.join(built) or f'again from {self.stage}'}")
        return ", ".join(parts)


def _count(passes: str) -> int:
    return passes.count(",") + 1 if passes else 0


def edit_to_json(edit: Edit) -> dict[str, Any]:
    """The edit as the entry of a variant's metadata."""
    whole = {
        "name": edit.name,
        "of": edit.of,
        "stage": edit.stage,
        "diff": edit.diff[:_MOST],
        "skipped": list(edit.skipped),
        "replaced": [list(pair) for pair in edit.replaced],
        "doubt": edit.doubt,
    }
    return {name: value for name, value in whole.items() if value not in ("", [])}


def edit_from_metadata(metadata: Mapping[str, Any]) -> Edit | None:
    """The edit in a variant's metadata without malformed entries; None if there is no edit."""
    found = metadata.get(EDIT)
    if not isinstance(found, Mapping) or not isinstance(found.get("name"), str):
        return None
    texts = {
        name: found[name]
        for name in ("name", "of", "stage", "diff", "doubt")
        if isinstance(found.get(name), str)
    }
    skipped, replaced = found.get("skipped"), found.get("replaced")
    return Edit(
        **texts,
        skipped=tuple(name for name in skipped if isinstance(name, str)) if isinstance(skipped, list) else (),
        replaced=tuple(
            (pair[0], pair[1])
            for pair in (replaced if isinstance(replaced, list) else ())
            if isinstance(pair, list) and len(pair) == 2 and all(isinstance(each, str) for each in pair)
        ),
    )
