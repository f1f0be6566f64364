"""Reuses the variants of an older capture: those that Triton would take from its cache.

A variant is copied if every component of its cache key is the same: the kernel's source with the functions
and globals that it uses, and its first line; types, constants, attributes and options; Triton, ptxas and the
compiler environment. Its stages, log, times, metadata and facts are copied as they are; its launches and
benchmarks belong to the older capture.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.store import CaptureReader, CaptureWriter
from irscope.store.copy_rows import VariantCopier, VariantCopy

if TYPE_CHECKING:
    from irscope.capturing.compile.sweep import Sweep

# From this part of its variants on, all contents of a capture are read instead of looked up.
_MANY = 0.1


class Baseline:
    """An older capture that is open, its compiled variants found by their cache keys."""

    def __init__(self, capture: CaptureReader) -> None:
        self._capture = capture

    def load(self) -> None:
        """Reads the cache keys, which takes 20 us per variant. Raises UserError if one is damaged."""
        self._ids  # noqa: B018

    @cached_property
    def _ids(self) -> Mapping[str, int]:
        return self._capture.cache_keys()

    def copy(self, sweeps: Sequence[Sweep], writer: CaptureWriter) -> Iterator[set[int]]:
        """Copies the variants of the sweeps that are here; yields the ids of some at a time.

        Those that are damaged, or lack what compiling the job would record, are left out.
        """
        found = {copy.identity: copy for sweep in sweeps for copy in self._found(sweep)}
        if found:
            scan = len(found) > _MANY * len(self._ids)
            yield from VariantCopier(self._capture, writer).copy(list(found.values()), scan)

    def _found(self, sweep: Sweep) -> Iterator[VariantCopy]:
        keys = dict(zip(sweep.plan.jobs, sweep.plan.keys, strict=True)) if sweep.plan.keys else {}
        for job, id_ in sweep.ids.items():
            key = keys.get(job, "")
            if key in self._ids:
                yield VariantCopy(
                    source=self._ids[key],
                    key=key,
                    id=id_,
                    identity=sweep.names[job],
                    kernel=sweep.kernel.id,
                    target=job.target,
                    specialization=job.specialization,
                    config=job.config,
                    reasons=job.reasons,
                    passes=job.passes,
                )


@contextmanager
def open_baseline(path: Path, output: Path | None) -> Iterator[Baseline]:
    """Opens an older capture to reuse its variants.

    Raises UserError if it is not a capture, or is the file that is written.
    """
    if output is not None and output.exists() and path.exists() and output.samefile(path):
        raise UserError(f"{path}: is also the capture to write; --resume keeps what it has")
    with CaptureReader(path) as capture:
        yield Baseline(capture)
