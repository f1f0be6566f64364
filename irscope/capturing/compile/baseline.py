"""Reuses the variants of an older capture: those that Triton would take from its cache.

A variant is copied if every component of its cache key is the same: the kernel's source with the functions
and globals that it uses, and its first line; types, constants, attributes and options; Triton, ptxas and the
compiler environment. Its stages, log, times, metadata and facts are copied as they are; its launches and
benchmarks belong to the older capture.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

from irscope.capturing.messages import Plan
from irscope.model import UserError, Variant
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.store.copy_variant import Copies
from irscope.store.identity import cache_key_digest
from irscope.toolchain.job import Job

# So many variants are one transaction.
_BATCH = 100
# The fields that a variant keeps when it is copied, next to its stages and passes.
_KEPT = ("metadata", "seconds", "cache_key", "cached", "log", "output", "reasons")


class Baseline:
    """An older capture that is open, its compiled variants found by their cache keys."""

    def __init__(self, capture: CaptureReader) -> None:
        self.path = capture.path
        self._capture = capture
        self._variants: dict[str, Variant] = {}
        for variant in capture.variants():
            if variant.failure is None and variant.cache_key:
                self._variants.setdefault(cache_key_digest(variant.cache_key), variant)

    def equal(self, plan: Plan, jobs: Sequence[Job]) -> Iterator[tuple[Job, Variant]]:
        """Those of the jobs of a plan that have a variant here with the same cache key."""
        keys = dict(zip(plan.jobs, plan.keys, strict=True)) if plan.keys else {}
        for job in jobs:
            variant = self._variants.get(keys.get(job, ""))
            if variant is not None and self._suffices(job, variant):
                yield job, variant

    def _suffices(self, job: Job, variant: Variant) -> bool:
        """Whether a variant has all that compiling the job would record."""
        if job.reasons and variant.reasons is None:
            return False
        return not job.passes or bool(self._capture.passes(variant))

    def copy(
        self,
        found: Iterator[tuple[Job, Variant]],
        writer: CaptureWriter,
        write: Callable[[Job, NewVariant, int], int],
    ) -> Iterator[Job]:
        """Copies variants and yields the jobs that are done; a damaged variant is left out.

        `write` adds the variant of a job, with this toolchain, and returns its id.
        """
        toolchains: dict[int, int] = {}
        while batch := list(islice(found, _BATCH)):
            done: list[Job] = []
            copies = Copies(writer, self._capture, [variant for _, variant in batch])
            with writer.batch():
                for job, variant in batch:
                    tool = variant.toolchain
                    if tool.id not in toolchains:
                        toolchains[tool.id] = writer.add_toolchain(tool.versions, tool.command)
                    try:
                        new = _copied(copies, job, variant)
                    except UserError:
                        continue
                    self._add_derived(writer, variant, write(job, new, toolchains[tool.id]))
                    done.append(job)
            yield from done

    def _add_derived(self, writer: CaptureWriter, variant: Variant, id_: int) -> None:
        """Adds the layouts, and the facts unless some are of launches or benchmarks."""
        facts = None if variant.launches or variant.benchmarks else self._capture.facts_of(variant)
        if facts is not None:
            writer.add_facts(id_, *facts)
        layouts = self._capture.layouts(variant)
        if layouts is not None:
            writer.add_layouts(id_, layouts)


def _copied(copies: Copies, job: Job, variant: Variant) -> NewVariant:
    contents = copies.contents(variant)
    return NewVariant(
        target=job.target,
        specialization=job.specialization,
        config=job.config,
        artifacts=contents.artifacts,
        attachments=contents.attachments,
        passes=contents.passes,
        **{name: getattr(variant, name) for name in _KEPT},
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
