"""Variants that are being compiled: the events of a compilation, and what they change in a Workspace.

The variants that are being compiled, and how old the sources of a kernel are.

Every open capture has both; the events that change them are in live.py, which only the app loads.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import Artifact, Kernel, SourceFunction, Variant
from irscope.store import variant_names
from irscope.store.encoding import digest
from irscope.targets import stages_for
from irscope.targets.frontends import TRITON, source_stages

if TYPE_CHECKING:
    from irscope.workspace.stage_contents import StageContents
    from irscope.workspace.what_if import StageEdit
    from irscope.workspace.workspace import Workspace


@dataclass(frozen=True, slots=True)
class Planned:
    """These variants will be compiled; `kernel` is the current source.

    Variants of an earlier plan that are not compiled yet are dropped. `notes` are messages about the plan.
    """

    kernel: Kernel
    variants: tuple[Variant, ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Started:
    """The variant with this id is being compiled."""

    variant: int


@dataclass(frozen=True, slots=True)
class StageMade:
    """A variant that is being compiled has one more stage."""

    variant: int
    stage: str
    content: bytes


@dataclass(frozen=True, slots=True)
class VariantFinished:
    """A variant is compiled, or failed, and is stored: in the open capture, or in the one at `path`."""

    variant: Variant
    path: Path | None = None


@dataclass(frozen=True, slots=True)
class Added:
    """The answer to a what-if: `variants` will be compiled in addition to all others.

    `a` and `b` are the ids of the pair to compare; variants that existed already are not compiled again.
    """

    variants: tuple[Variant, ...]
    a: int
    b: int


@dataclass(frozen=True, slots=True)
class NotAdded:
    """The what-if with these values was refused, or cannot go on: `problem` says why; `lost` are ids."""

    problem: str
    lost: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class EditRejected:
    """The compiler rejected an edited stage; `problems` are its messages, `line` (from 1) the first one's."""

    edit: StageEdit
    problems: tuple[str, ...]
    line: int | None


@dataclass(frozen=True, slots=True)
class PassesRecorded:
    """The variant with this id was compiled once more, with its passes.

    They are in the open capture, or in the one at `path`, where the variant has the id `stored`.
    """

    variant: int
    path: Path | None
    stored: int


@dataclass(frozen=True, slots=True)
class PassesRefused:
    """The passes of the variant with this id cannot be recorded: `problem` says why."""

    variant: int
    problem: str


@dataclass(frozen=True, slots=True)
class Unchanged:
    """There is nothing to compile that the last plan did not have; `message` says so."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no plan, or the compilation cannot continue: `problem` says why.

    `options` are those of `irscope compile` that are missing, with guesses for the user to check; "" if
    nothing is missing.
    """

    problem: str
    options: str = ""


@dataclass(frozen=True, slots=True)
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


WAITING = "waiting"
COMPILING = "compiling"
# The stage that Gluon's kernels do not have, and an attribute of the module that Gluon makes, which tells
# them apart: Triton's front end knows no number of warps.
_NOT_GLUON = "ttir"
_GLUON_MARK = b'"ttg.num-warps"'


class InProgress:
    """The variants that are not in the capture yet, by id, with the contents of their stages."""

    def __init__(self) -> None:
        self._statuses: dict[int, str] = {}
        self._contents: dict[int, dict[str, bytes]] = {}
        self._gluon: set[int] = set()
        self._extra: set[int] = set()

    def __contains__(self, id_: int) -> bool:
        return id_ in self._statuses

    def __len__(self) -> int:
        return len(self._statuses)

    @property
    def waiting(self) -> int:
        """Return the number of variants whose compilation has not started."""
        return sum(status == WAITING for status in self._statuses.values())

    def status(self, id_: int) -> str:
        """Return `waiting`, `compiling`, `compiling ptx` (the next stage); "" if not in progress."""
        return self._statuses.get(id_, "")

    def add(self, id_: int, extra: bool = False) -> None:
        """Add a variant that will be compiled; an `extra` one is not part of the sweep."""
        self._statuses[id_] = WAITING
        if extra:
            self._extra.add(id_)

    def start(self, id_: int) -> None:
        """Record that the compilation of a variant started."""
        self._statuses[id_] = COMPILING

    def with_stage(self, variant: Variant, stage: str, content: bytes) -> Variant:
        """Return the variant with one more stage, whose content is kept here."""
        artifact = Artifact(stage, digest(content), len(content))
        self._contents.setdefault(variant.id, {})[artifact.digest] = content
        if stage == "source" and _GLUON_MARK in content:
            self._gluon.add(variant.id)
        grown = replace(variant, artifacts={**variant.artifacts, stage: artifact})
        self._statuses[variant.id] = f"{COMPILING} {self._next_stage(grown)}".rstrip()
        return grown

    def expected_stages(self, variant: Variant) -> list[str]:
        """Return the stages that a variant will have unless it fails: of its front end and its backend."""
        absent = {_NOT_GLUON} if variant.id in self._gluon else set()
        absent |= {stage.name for stage in source_stages()} - {stage.name for stage in TRITON.stages}
        return [stage.name for stage in stages_for(variant.target.backend) if stage.name not in absent]

    def _next_stage(self, variant: Variant) -> str:
        """Return the stage after those that the variant has; "" after the last one."""
        derived = {stage.name for stage in stages_for(variant.target.backend) if stage.derived_from}
        names = [name for name in self.expected_stages(variant) if name not in derived]
        last = max((names.index(name) for name in variant.artifacts if name in names), default=0)
        return names[last + 1] if last + 1 < len(names) else ""

    def content(self, variant: Variant, stage: str) -> bytes | None:
        """Return the content of a stage that the capture does not have yet; None if it is not kept here."""
        artifact = variant.artifacts.get(stage)
        return self._contents.get(variant.id, {}).get(artifact.digest) if artifact else None

    def remove(self, id_: int) -> None:
        """Forget a variant that is in the capture now, or will not be compiled."""
        self._statuses.pop(id_, None)
        self._contents.pop(id_, None)
        self._gluon.discard(id_)
        self._extra.discard(id_)

    def clear(self) -> set[int]:
        """Forget the variants of the sweep; return their ids."""
        removed = self._statuses.keys() - self._extra
        for id_ in removed:
            self.remove(id_)
        return removed


class SourceAges:
    """The order in which the sources of each kernel (a name in a file) became current."""

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self._ids: dict[tuple[str, str], list[int]] = {}  # oldest first
        # Kernels that differ only in functions of Triton's library have one source.
        self._sources: dict[int, Kernel] = {}
        self._first: dict[tuple[SourceFunction, ...], Kernel] = {}
        for _, kernel in sorted({kernel.id: kernel for kernel in kernels}.items()):
            self.renew(kernel)

    def renew(self, kernel: Kernel) -> None:
        """Make `kernel` the current source among those of the same name and file."""
        self._sources[kernel.id] = self._first.setdefault(kernel.own_functions, kernel)
        earlier_ids = self._ids.get(_name_and_file(kernel), ())
        self._ids[_name_and_file(kernel)] = [*(id_ for id_ in earlier_ids if id_ != kernel.id), kernel.id]

    def keep(self, kernels: Iterable[Kernel]) -> None:
        """Forget all sources except those of `kernels`."""
        left = {kernel.id for kernel in kernels}
        self._ids = {name: [id_ for id_ in ids if id_ in left] for name, ids in self._ids.items()}

    def of(self, kernel: Kernel) -> str:
        """Say how many source edits ago it was current: `now`, `before`, `2 before`.

        "" if it is the only source.
        """
        ids = self._ids[_name_and_file(kernel)]
        if len(ids) < 2 or kernel.id not in ids:
            return ""
        newest = list(dict.fromkeys(self._sources[id_].id for id_ in reversed(ids)))
        if len(newest) < 2:
            return ""
        back = newest.index(self._sources[kernel.id].id)
        return f"{back} before" if back > 1 else "before" if back else "now"


def _name_and_file(kernel: Kernel) -> tuple[str, str]:
    """Return the identity of a kernel, which an edit of its source leaves unchanged."""
    return kernel.name, kernel.source.file


class LiveVariants:
    """The variants of an open capture, which change while they are compiled or another process adds some.

    `forget` is called with the ids of variants that changed. Raises UserError if the capture is damaged.
    """

    def __init__(
        self, contents: StageContents, in_progress: InProgress, forget: Callable[[Collection[int]], None]
    ) -> None:
        self._contents, self._in_progress, self._forget = contents, in_progress, forget
        # Of a large capture, they are read when they are asked for, so that opening takes constant time.
        self._loaded = None if contents.large else contents.variants()
        self._names: dict[int, str] | None = None
        loaded_kernels = [variant.kernel for variant in (self._loaded or {}).values()]
        self._ages = SourceAges(contents.kernels() if self._loaded is None else loaded_kernels)

    @property
    def by_number(self) -> dict[int, Variant]:
        """Return the variants by id, in the order of the capture, those still compiling last."""
        if self._loaded is None:
            self._loaded = self._contents.variants()
        return self._loaded

    @property
    def names(self) -> Mapping[int, str]:
        """Return the short name of each variant by id."""
        if self._names is None:
            self._names = variant_names(tuple(self.by_number.values()))
        return self._names

    def by_id(self, id_: int) -> Variant:
        """Return the variant with this id. Raises KeyError if there is none."""
        if self._loaded is None and (variant := self._contents.variant(id_)):
            return variant
        return self.by_number[id_]

    def is_outdated(self, variant: Variant) -> bool:
        """Check whether there is a newer state of a variant that was being compiled."""
        current = (self._loaded or {}).get(variant.id)
        return current is not None and current is not variant and current != variant

    def put(self, variant: Variant, path: Path | None = None) -> None:
        """Add a variant, or replace it by a newer state.

        Its stages are in the capture at `path` if given. Raises UserError if `path` is not a
        capture.
        """
        if path is not None:
            self._contents.add_capture(path, variant.id)
        self.by_number[variant.id] = variant
        self._changed([variant.id])

    def drop(self, ids: Collection[int]) -> None:
        """Remove variants that will not be compiled."""
        for id_ in ids:
            self._in_progress.remove(id_)
            del self.by_number[id_]
        self._changed(ids)
        self._ages.keep(variant.kernel for variant in self.by_number.values())

    def reread(self, whole: bool = True) -> set[int]:
        """Load what was added to the file since; return the ids of the new variants.

        Not `whole`: only those and the ones that failed before and compiled since, which is quick.
        Raises UserError if the file is damaged.
        """
        current = self._contents.variants() if whole else self._contents.newer(self.by_number)
        added = current.keys() - self.by_number.keys() if whole else current.keys()
        for id_ in sorted(added):
            self.renew_source(current[id_].kernel)
        if current:
            self._loaded = dict(sorted((self.by_number | current).items()))
            self._changed(current.keys())
        return set(added)

    def renew_source(self, kernel: Kernel) -> None:
        """Make `kernel` the current source among those of the same name and file."""
        self._ages.renew(kernel)

    def age(self, variant: Variant) -> str:
        """Say how many source edits ago it was compiled: `now`, `2 before`; "" if there was no edit."""
        return self._ages.of(variant.kernel)

    def _changed(self, ids: Collection[int]) -> None:
        self._names = None
        self._forget(ids)
