"""The variants that are being compiled, and how old the sources of a kernel are.

Every open capture has both; the events that change them are in live.py, which only the app loads.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from irscope.backends import stages_for
from irscope.frontends import TRITON, source_stages
from irscope.model import Artifact, Kernel, SourceFunction, Variant
from irscope.store.encoding import digest

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
        """The number of variants whose compilation has not started."""
        return sum(status == WAITING for status in self._statuses.values())

    def status(self, id_: int) -> str:
        """`waiting`, `compiling`, `compiling ptx` (the next stage); "" if it is not in progress."""
        return self._statuses.get(id_, "")

    def add(self, id_: int, extra: bool = False) -> None:
        """Adds a variant that will be compiled; an `extra` one is not part of the sweep."""
        self._statuses[id_] = WAITING
        if extra:
            self._extra.add(id_)

    def start(self, id_: int) -> None:
        """Records that the compilation of a variant started."""
        self._statuses[id_] = COMPILING

    def with_stage(self, variant: Variant, stage: str, content: bytes) -> Variant:
        """The variant with one more stage, whose content is kept here."""
        artifact = Artifact(stage, digest(content), len(content))
        self._contents.setdefault(variant.id, {})[artifact.digest] = content
        if stage == "source" and _GLUON_MARK in content:
            self._gluon.add(variant.id)
        grown = replace(variant, artifacts={**variant.artifacts, stage: artifact})
        self._statuses[variant.id] = f"{COMPILING} {self._next_stage(grown)}".rstrip()
        return grown

    def expected_stages(self, variant: Variant) -> list[str]:
        """The stages that a variant will have unless it fails: those of its front end and its backend."""
        absent = {_NOT_GLUON} if variant.id in self._gluon else set()
        absent |= {stage.name for stage in source_stages()} - {stage.name for stage in TRITON.stages}
        return [stage.name for stage in stages_for(variant.target.backend) if stage.name not in absent]

    def _next_stage(self, variant: Variant) -> str:
        """The stage after those that the variant has; "" after the last one."""
        derived = {stage.name for stage in stages_for(variant.target.backend) if stage.derived_from}
        names = [name for name in self.expected_stages(variant) if name not in derived]
        last = max((names.index(name) for name in variant.artifacts if name in names), default=0)
        return names[last + 1] if last + 1 < len(names) else ""

    def content(self, variant: Variant, stage: str) -> bytes | None:
        """The content of a stage that the capture does not have yet; None if it is not kept here."""
        artifact = variant.artifacts.get(stage)
        return self._contents.get(variant.id, {}).get(artifact.digest) if artifact else None

    def remove(self, id_: int) -> None:
        """Forgets a variant that is in the capture now, or will not be compiled."""
        self._statuses.pop(id_, None)
        self._contents.pop(id_, None)
        self._gluon.discard(id_)
        self._extra.discard(id_)

    def clear(self) -> set[int]:
        """Forgets the variants of the sweep; returns their ids."""
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
        """Makes `kernel` the current source among those of the same name and file."""
        self._sources[kernel.id] = self._first.setdefault(kernel.own_functions, kernel)
        others = self._ids.get(_name_and_file(kernel), ())
        self._ids[_name_and_file(kernel)] = [*(id_ for id_ in others if id_ != kernel.id), kernel.id]

    def keep(self, kernels: Iterable[Kernel]) -> None:
        """Forgets all sources except those of `kernels`."""
        left = {kernel.id for kernel in kernels}
        self._ids = {name: [id_ for id_ in ids if id_ in left] for name, ids in self._ids.items()}

    def of(self, kernel: Kernel) -> str:
        """How many source edits ago it was current: `now`, `before`, `2 before`; "" if it is the only one."""
        ids = self._ids[_name_and_file(kernel)]
        if len(ids) < 2 or kernel.id not in ids:
            return ""
        newest = list(dict.fromkeys(self._sources[id_].id for id_ in reversed(ids)))
        if len(newest) < 2:
            return ""
        back = newest.index(self._sources[kernel.id].id)
        return f"{back} before" if back > 1 else "before" if back else "now"


def _name_and_file(kernel: Kernel) -> tuple[str, str]:
    """The identity of a kernel, which an edit of its source leaves unchanged."""
    return kernel.name, kernel.source.file
