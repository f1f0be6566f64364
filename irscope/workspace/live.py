"""Variants that are being compiled: the events of a compilation, and what they change in a Workspace."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import Kernel, Variant
from irscope.model.records import frozen

if TYPE_CHECKING:
    from irscope.workspace.what_if import StageEdit
    from irscope.workspace.workspace import Workspace


@frozen
class Planned:
    """These variants will be compiled; `kernel` is the current source.

    Variants of an earlier plan that are not compiled yet are dropped. `notes` are messages about the plan.
    """

    kernel: Kernel
    variants: tuple[Variant, ...]
    notes: tuple[str, ...] = ()


@frozen
class Started:
    """The variant with this id is being compiled."""

    variant: int


@frozen
class StageMade:
    """A variant that is being compiled has one more stage."""

    variant: int
    stage: str
    content: bytes


@frozen
class VariantFinished:
    """A variant is compiled, or failed, and is stored: in the open capture, or in the one at `path`."""

    variant: Variant
    path: Path | None = None


@frozen
class Added:
    """The answer to a what-if: `variants` will be compiled in addition to all others.

    `a` and `b` are the ids of the pair to compare; variants that existed already are not compiled again.
    """

    variants: tuple[Variant, ...]
    a: int
    b: int


@frozen
class NotAdded:
    """The what-if with these values was refused, or cannot go on: `problem` says why; `lost` are ids."""

    problem: str
    lost: tuple[int, ...] = ()


@frozen
class EditRejected:
    """The compiler rejected an edited stage; `problems` are its messages, `line` (from 1) the first one's."""

    edit: StageEdit
    problems: tuple[str, ...]
    line: int | None


@frozen
class PassesRecorded:
    """The variant with this id was compiled once more, with its passes.

    They are in the open capture, or in the one at `path`, where the variant has the id `stored`.
    """

    variant: int
    path: Path | None
    stored: int


@frozen
class PassesRefused:
    """The passes of the variant with this id cannot be recorded: `problem` says why."""

    variant: int
    problem: str


@frozen
class Unchanged:
    """There is nothing to compile that the last plan did not have; `message` says so."""

    message: str


@frozen
class Refused:
    """There is no plan, or the compilation cannot continue: `problem` says why.

    `options` are those of `irscope compile` that are missing, with guesses for the user to check; "" if
    nothing is missing.
    """

    problem: str
    options: str = ""


@frozen
class Ended:
    """The compilation is over."""


Event = (
    Planned
    | Started
    | StageMade
    | VariantFinished
    | Added
    | NotAdded
    | EditRejected
    | PassesRecorded
    | PassesRefused
    | Unchanged
    | Refused
    | Ended
)
# Takes an event, in any thread.
Publish = Callable[[Event], None]


@dataclass
class LiveUpdates:
    """The changes that a batch of events made.

    `rows`: variants were added or removed. `changed`: the ids of variants that have more to show. `planned`
    is the last plan; `answered`: the last request was answered; `ended`: the compilation is over. `added` is
    the last answer to a what-if, `rejected` the last rejected edit; `what_ifs` counts the answers. `passes`
    are the ids of variants whose passes were recorded or refused. `notes` and `problems` are messages for the
    user.
    """

    rows: bool = False
    changed: set[int] = field(default_factory=set)
    planned: Planned | None = None
    answered: bool = False
    ended: bool = False
    added: Added | None = None
    rejected: EditRejected | None = None
    what_ifs: int = 0
    passes: set[int] = field(default_factory=set)
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def apply_events(workspace: Workspace, events: Iterable[Event]) -> LiveUpdates:
    """Apply events to the workspace, in order."""
    updates = LiveUpdates()
    for event in events:
        if isinstance(event, EditRejected):
            updates.rejected = event
            updates.what_ifs += 1
        elif isinstance(event, PassesRecorded | PassesRefused):
            _take_passes(workspace, event, updates)
        else:
            _apply(workspace, event, updates)
    return updates


def _take_passes(workspace: Workspace, event: PassesRecorded | PassesRefused, updates: LiveUpdates) -> None:
    updates.passes.add(event.variant)
    updates.what_ifs += 1
    if isinstance(event, PassesRefused):
        updates.problems.append(event.problem)
        return
    if event.path is not None:
        workspace.contents.add_passes(event.variant, event.path, event.stored)
    updates.changed.add(event.variant)


def _apply(workspace: Workspace, event: Event, updates: LiveUpdates) -> None:
    in_progress = workspace.in_progress
    match event:
        case Planned():
            _plan(workspace, event)
            updates.planned, updates.rows, updates.answered = event, True, True
            updates.notes += event.notes
        case Started(id_):
            if id_ in in_progress:
                in_progress.start(id_)
                updates.changed.add(id_)
        case StageMade(id_, stage, content):
            if id_ in in_progress:
                workspace.live.put(in_progress.with_stage(workspace.live.by_id(id_), stage, content))
                updates.changed.add(id_)
        case VariantFinished(variant, path):
            in_progress.remove(variant.id)
            workspace.live.put(variant, path)
            updates.changed.add(variant.id)
        case Added():
            _add(workspace, event)
            updates.added, updates.rows = event, True
            updates.what_ifs += 1
        case NotAdded(problem, lost):
            workspace.live.drop(lost)
            if updates.added and {updates.added.a, updates.added.b} & set(lost):
                updates.added = None
            updates.problems.append(problem)
            updates.rows = updates.rows or bool(lost)
            updates.what_ifs += not lost
        case Unchanged(message):
            updates.answered = True
            updates.notes.append(message)
        case Refused(problem):
            updates.answered = True
            updates.problems.append(problem)
        case Ended():
            updates.ended = True
            updates.rows = updates.rows or bool(in_progress)
            workspace.live.drop(in_progress.clear())


def _add(workspace: Workspace, added: Added) -> None:
    for variant in added.variants:
        workspace.live.renew_source(variant.kernel)
        workspace.live.put(variant)
        workspace.in_progress.add(variant.id, extra=True)


def _plan(workspace: Workspace, planned: Planned) -> None:
    workspace.live.drop(workspace.in_progress.clear())
    workspace.live.renew_source(planned.kernel)
    for variant in planned.variants:
        workspace.live.put(variant)
        workspace.in_progress.add(variant.id)
