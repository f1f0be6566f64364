"""Variants that are being compiled: the events of a compilation, and what they change in a Workspace."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from irscope.backends import stages_for
from irscope.model import Artifact, Kernel, Variant
from irscope.store.encoding import digest

if TYPE_CHECKING:
    from irscope.workspace.workspace import Workspace

WAITING = "waiting"
COMPILING = "compiling"
# Gluon's own stage, which a Triton kernel does not have.
_GLUON = "glir"


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
    """A variant is compiled, or failed, and is in the capture."""

    variant: Variant


@dataclass(frozen=True, slots=True)
class Unchanged:
    """There is nothing to compile that the last plan did not have; `message` says so."""

    message: str


@dataclass(frozen=True, slots=True)
class Refused:
    """There is no plan, or the compilation cannot continue: `problem` says why."""

    problem: str


@dataclass(frozen=True, slots=True)
class Ended:
    """The compilation is over."""


Event = Planned | Started | StageMade | VariantFinished | Unchanged | Refused | Ended


class InProgress:
    """The variants that are not in the capture yet, by id, with the contents of their stages."""

    def __init__(self) -> None:
        self._statuses: dict[int, str] = {}
        self._contents: dict[int, dict[str, bytes]] = {}

    def __contains__(self, id_: int) -> bool:
        return id_ in self._statuses

    def __len__(self) -> int:
        return len(self._statuses)

    @property
    def waiting(self) -> int:
        """The number of variants whose compilation has not started."""
        return sum(status == WAITING for status in self._statuses.values())

    def status(self, id_: int) -> str:
        """`waiting`, `compiling`, `compiling ptx` (the next stage); "" if it is not in progress."""
        return self._statuses.get(id_, "")

    def add(self, id_: int) -> None:
        """Adds a variant that will be compiled."""
        self._statuses[id_] = WAITING

    def start(self, id_: int) -> None:
        """Records that the compilation of a variant started."""
        self._statuses[id_] = COMPILING

    def with_stage(self, variant: Variant, stage: str, content: bytes) -> Variant:
        """The variant with one more stage, whose content is kept here."""
        artifact = Artifact(stage, digest(content), len(content))
        self._contents.setdefault(variant.id, {})[artifact.digest] = content
        grown = replace(variant, artifacts={**variant.artifacts, stage: artifact})
        self._statuses[variant.id] = f"{COMPILING} {_next_stage(grown)}".rstrip()
        return grown

    @staticmethod
    def expected_stages(variant: Variant) -> list[str]:
        """The stages that a variant will have unless it fails: those of its backend."""
        return [stage.name for stage in stages_for(variant.target.backend) if stage.name != _GLUON]

    def content(self, variant: Variant, stage: str) -> bytes | None:
        """The content of a stage that the capture does not have yet; None if it is not kept here."""
        artifact = variant.artifacts.get(stage)
        return self._contents.get(variant.id, {}).get(artifact.digest) if artifact else None

    def remove(self, id_: int) -> None:
        """Forgets a variant that is in the capture now, or will not be compiled."""
        self._statuses.pop(id_, None)
        self._contents.pop(id_, None)

    def clear(self) -> set[int]:
        """Forgets all variants; returns their ids."""
        removed = set(self._statuses)
        for id_ in removed:
            self.remove(id_)
        return removed


class SourceAges:
    """The order in which the sources of each kernel (a name in a file) became current."""

    def __init__(self, kernels: Iterable[Kernel]) -> None:
        self._ids: dict[tuple[str, str], list[int]] = {}  # oldest first
        for _, kernel in sorted({kernel.id: kernel for kernel in kernels}.items()):
            self.renew(kernel)

    def renew(self, kernel: Kernel) -> None:
        """Makes `kernel` the current source among those of the same name and file."""
        others = self._ids.get(_name_and_file(kernel), ())
        self._ids[_name_and_file(kernel)] = [*(id_ for id_ in others if id_ != kernel.id), kernel.id]

    def keep(self, kernels: Iterable[Kernel]) -> None:
        """Forgets all sources except those of `kernels`."""
        left = {kernel.id for kernel in kernels}
        self._ids = {name: [id_ for id_ in ids if id_ in left] for name, ids in self._ids.items()}

    def of(self, kernel: Kernel) -> str:
        """How many source edits ago it was current: `now`, `before`, `2 before`; "" if it is the only one."""
        order = self._ids[_name_and_file(kernel)]
        if len(order) < 2 or kernel.id not in order:
            return ""
        back = len(order) - 1 - order.index(kernel.id)
        return f"{back} before" if back > 1 else "before" if back else "now"


@dataclass
class LiveUpdates:
    """What a batch of events changed.

    `rows`: variants were added or removed. `changed`: the ids of variants that have more to show. `planned`
    is the last plan; `answered`: the last request was answered; `ended`: the compilation is over. `notes` and
    `problems` are messages for the user.
    """

    rows: bool = False
    changed: set[int] = field(default_factory=set)
    planned: Planned | None = None
    answered: bool = False
    ended: bool = False
    notes: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)


def apply_events(workspace: Workspace, events: Iterable[Event]) -> LiveUpdates:
    """Applies events to the workspace, in order."""
    updates = LiveUpdates()
    for event in events:
        _apply(workspace, event, updates)
    return updates


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
                workspace.put(in_progress.with_stage(workspace.by_id(id_), stage, content))
                updates.changed.add(id_)
        case VariantFinished(variant):
            in_progress.remove(variant.id)
            workspace.put(variant)
            updates.changed.add(variant.id)
        case Unchanged(message):
            updates.answered = True
            updates.notes.append(message)
        case Refused(problem):
            updates.answered = True
            updates.problems.append(problem)
        case Ended():
            updates.ended = True
            updates.rows = updates.rows or bool(in_progress)
            workspace.drop(in_progress.clear())


def _plan(workspace: Workspace, planned: Planned) -> None:
    workspace.drop(workspace.in_progress.clear())
    workspace.renew_source(planned.kernel)
    for variant in planned.variants:
        workspace.put(variant)
        workspace.in_progress.add(variant.id)


def _next_stage(variant: Variant) -> str:
    """The stage after those that the variant has; "" after the last one."""
    names = [stage.name for stage in stages_for(variant.target.backend) if not stage.derived_from]
    last = max((names.index(name) for name in variant.artifacts if name in names), default=0)
    return names[last + 1] if last + 1 < len(names) else ""


def _name_and_file(kernel: Kernel) -> tuple[str, str]:
    """What an edit of its source leaves unchanged of a kernel."""
    return kernel.name, kernel.source.file
