"""A capture that another process is still writing: how much of it there is, and whether more will come.

The writer holds a lock next to the capture and records there how many variants it will have (see
`store/output_lock.py`), so looking costs three calls of the operating system.

Finding captures: those in a folder, and those that are being written now.

The variants of an open capture, those that are being compiled, and how old the sources of a kernel are. The
events that change them are in live.py, which captures open without.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model.records import frozen
from irscope.model.text import pluralize
from irscope.store.capture_file import CaptureOverview, FoundWriter, find_writer
from irscope.store.connection import sidecars

if TYPE_CHECKING:
    from irscope.model import Kernel, SourceFunction, Variant
    from irscope.workspace.stage_contents import StageContents

# Commands that take --resume.
_RESUMING = ("compile", "run")


@frozen
class Growth:
    """The other process that writes, or wrote, the capture; None if it is complete."""

    writer: FoundWriter | None = None

    @classmethod
    def read(cls, path: Path) -> Growth:
        """Find the other process that writes, or wrote, the capture at `path`."""
        return cls(find_writer(path))

    @property
    def running(self) -> bool:
        """Return True if a process is still writing the capture."""
        return self.writer is not None and self.writer.running

    @property
    def unfinished(self) -> bool:
        """Return True if variants may be added.

        A process writes the capture, or ended before it was complete.
        """
        return self.writer is not None

    def count(self, variants: int) -> str:
        """Write `10 variants`; `7 of 10 variants` if the writer will, or would have, added the others."""
        planned = self.writer.planned if self.writer is not None else None
        if planned is None or planned <= variants:
            return pluralize(variants, "variant")
        return f"{variants:,} of {pluralize(planned, 'variant')}"

    def state(self, variants: int) -> str:
        """Return `still compiling`, `still being written`, `incomplete`; "" if the capture is complete."""
        if self.writer is None:
            return ""
        planned = self.writer.planned
        if self.running:
            return "still compiling" if planned is not None and planned > variants else "still being written"
        return "incomplete" if planned is None or planned > variants else ""

    def progress(self, variants: int) -> str:
        """Write `7 of 10, still compiling`; "" if the capture is complete."""
        state, planned = self.state(variants), self.writer.planned if self.writer is not None else None
        of = f" of {planned:,}" if planned is not None and planned > variants else ""
        return f"{variants:,}{of}, {state}" if state else ""

    def ended(self, variants: int) -> str:
        """Return the message for a capture whose writer was killed.

        "" if it has every variant, or is being written.
        """
        if self.writer is None or self.running or not self.state(variants):
            return ""
        command = next((name for name in _RESUMING if f" {name} " in self.writer.holder), _RESUMING[0])
        if self.writer.planned is None:
            return f"The writer ended before the capture was complete; `irscope {command} --resume` goes on"
        rest = f"`irscope {command} --resume` compiles the rest"
        return f"The writer has ended, {variants:,} of {self.writer.planned:,}; {rest}"


def incomplete_note(path: Path) -> str:
    """Return a line that says that the writer of a capture ended too early; "" if it did not.

    Raises UserError if the file is not a capture.
    """
    variants = CaptureOverview.read(path).variants
    text = Growth.read(path).ended(variants)
    return f"{path} is incomplete. {text}" if text else ""


class GrowthWatch:
    """Looks at the files of a capture for changes by other processes."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._files = (Path(os.path.realpath(path)), sidecars(path)[0])
        self._seen = self._state()

    def look(self) -> tuple[Growth, bool]:
        """Find the process that writes the capture now; say if files changed since the last call."""
        growth, state = Growth.read(self._path), self._state()
        changed, self._seen = state != self._seen, state
        return growth, changed

    def _state(self) -> tuple[tuple[int, int, int], ...]:
        return tuple(map(_file_state, self._files))


def _file_state(path: Path) -> tuple[int, int, int]:
    """Return a file's identity, size and time, which change if it is written; zeros without a file."""
    try:
        state = path.stat()
    except OSError:
        return 0, 0, 0
    return state.st_ino, state.st_size, state.st_mtime_ns


_SUFFIX = ".irscope"
# A folder may be anything, a home folder or a disk of data sets: no more than this is looked at.
_MAX_ENTRIES, _MAX_CAPTURES = 5000, 100


def captures_in(folder: Path) -> list[Path]:
    """Return the captures in a folder and in the folders in it, newest first.

    At most the first 100 that are found.
    """
    captures = list(islice(_captures(folder), _MAX_CAPTURES))
    return sorted(captures, key=_modified, reverse=True)


def _captures(folder: Path) -> Iterator[Path]:
    left = [_MAX_ENTRIES]
    below = []
    for entry in _entries(folder, left):
        if entry.name.endswith(_SUFFIX) and _is_file(entry):
            yield Path(entry.path)
        elif not entry.name.startswith(".") and _is_folder(entry):
            below.append(entry.path)
    for path in below:
        for entry in _entries(Path(path), left):
            if entry.name.endswith(_SUFFIX) and _is_file(entry):
                yield Path(entry.path)


def _entries(folder: Path, left: list[int]) -> Iterator[os.DirEntry[str]]:
    """Yield the entries of a folder, while `left` has some of the allowed number left."""
    with contextlib.suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            if left[0] <= 0:
                return
            left[0] -= 1
            yield entry


def _is_file(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_file()
    return False


def _is_folder(entry: os.DirEntry[str]) -> bool:
    with contextlib.suppress(OSError):
        return entry.is_dir(follow_symlinks=False)
    return False


def _modified(path: Path) -> float:
    with contextlib.suppress(OSError):
        return path.stat().st_mtime
    return 0.0


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
        from irscope.model import Artifact
        from irscope.store.encoding import digest

        artifact = Artifact(stage, digest(content), len(content))
        self._contents.setdefault(variant.id, {})[artifact.digest] = content
        if stage == "source" and _GLUON_MARK in content:
            self._gluon.add(variant.id)
        grown = replace(variant, artifacts={**variant.artifacts, stage: artifact})
        self._statuses[variant.id] = f"{COMPILING} {self._next_stage(grown)}".rstrip()
        return grown

    def expected_stages(self, variant: Variant) -> list[str]:
        """Return the stages that a variant will have unless it fails: of its front end and its backend."""
        from irscope.targets import stages_for
        from irscope.targets.frontends import TRITON, source_stages

        absent = {_NOT_GLUON} if variant.id in self._gluon else set()
        absent |= {stage.name for stage in source_stages()} - {stage.name for stage in TRITON.stages}
        return [stage.name for stage in stages_for(variant.target.backend) if stage.name not in absent]

    def _next_stage(self, variant: Variant) -> str:
        """Return the stage after those that the variant has; "" after the last one."""
        from irscope.targets import stages_for

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
        from irscope.store import variant_names

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
