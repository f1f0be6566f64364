"""Merging captures: equal kernels and variants are written once, stages are copied compressed.

Copying variants between captures: stages stay compressed, and are checked.
"""

from __future__ import annotations

import glob
import os
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, fields, replace
from functools import reduce
from itertools import islice
from pathlib import Path
from typing import Any

from irscope.model import Artifact, Kernel, Variant
from irscope.model.files import cannot_write, exists_already, output_target
from irscope.model.records import frozen
from irscope.store.capture_file import OutputLock, remove_capture
from irscope.store.connection import sidecars
from irscope.store.encoding import Blob
from irscope.store.new_variant import NewPass, NewVariant, identity, kernel_digest
from irscope.store.reader import CaptureReader
from irscope.store.writer import CaptureWriter


def copied_blob(writer: CaptureWriter, capture: CaptureReader, artifact: Artifact) -> Blob:
    """Return an artifact as stored, without its content if `writer` has it from another variant.

    The content is checked. Raises UserError if it is damaged.
    """
    if writer.has_blob(artifact.digest):
        return Blob(artifact.digest, artifact.size, b"")
    return capture.blob(artifact)


def copied_passes(writer: CaptureWriter, capture: CaptureReader, variant: Variant) -> tuple[NewPass, ...]:
    """Return the compiler passes of a variant of `capture`. Raises UserError if one is damaged."""
    return tuple(
        NewPass(
            compiler_pass.stage,
            compiler_pass.name,
            compiler_pass.seconds,
            copied_blob(writer, capture, compiler_pass.artifact) if compiler_pass.artifact else None,
        )
        for compiler_pass in capture.passes(variant)
    )


def copied_attachments(writer: CaptureWriter, capture: CaptureReader, variant: Variant) -> dict[str, Blob]:
    """Return the attachments of a variant of `capture`. Raises UserError if one is damaged."""
    attachments = capture.attached(variant)
    return {name: copied_blob(writer, capture, artifact) for name, artifact in attachments.items()}


@frozen
class MergedCapture:
    """A merged capture: the numbers of its variants and kernels, and of variants read from the inputs."""

    variants: int
    kernels: int
    read: int

    @classmethod
    def write(cls, inputs: Sequence[Path], output: Path, force: bool = False) -> MergedCapture:
        """Write all variants of `inputs` to `output`, in order, numbered from 1.

        A variant of several inputs is written once, with the launches and benchmarks of all; a record
        that compiled has priority over one that failed. The file appears only when it is complete.
        Raises UserError, and leaves no file, if an input is damaged or `output` exists (unless
        `force`).
        """
        target = output_target(output)
        if target.exists() and not force:
            raise exists_already(output)
        _remove_abandoned(target)
        unfinished = target.with_name(f"{target.name}.{os.getpid()}.part")
        try:
            with ExitStack() as stack:
                captures = [stack.enter_context(CaptureReader(path)) for path in dict.fromkeys(inputs)]
                unfinished.touch()  # fails before the work if the output cannot be written
                joined, read = _join(captures)
                with CaptureWriter.create(unfinished, force=True) as writer:
                    kernels = _write(writer, joined)
                stack.callback(OutputLock(target, output).release)  # nobody writes what is replaced
                for leftover in sidecars(target):
                    leftover.unlink(missing_ok=True)
                unfinished.replace(target)
        except (OSError, sqlite3.Error) as error:
            raise cannot_write(output, error) from error
        finally:
            remove_capture(unfinished)
        return cls(len(joined), kernels, read)


# So many variants are one transaction: the file appears only when it is complete.
_BATCH = 500
# A variant in one of the captures.
_Record = tuple[CaptureReader, Variant]


@dataclass(slots=True)
class _Joined:
    """A variant with the captures that hold its stages; `has_facts`: those of the first record hold.

    `records` are the variants that it was merged from, the best first.
    """

    variant: Variant
    records: tuple[_Record, ...]
    stages: dict[str, tuple[CaptureReader, Artifact]]
    has_facts: bool = True


def _remove_abandoned(output: Path) -> None:
    """Remove the unfinished files of killed merges to `output`, which are named after processes."""
    for part in output.parent.glob(f"{glob.escape(output.name)}.*.part"):
        process = part.name.removeprefix(f"{output.name}.").removesuffix(".part")
        if process.isdecimal() and not _alive(int(process)):
            remove_capture(part)


def _alive(process: int) -> bool:
    """Return True if the process exists, or if that is unknown."""
    if os.name != "posix":  # Windows takes signal 0 for Ctrl-C
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):  # another user's process, or an impossible number
        return True
    return True


def _join(captures: Iterable[CaptureReader]) -> tuple[dict[str, list[_Record]], int]:
    """Group the records of every variant by its identity, and count how many were read.

    They are in the order of the captures.
    """
    joined: dict[str, list[_Record]] = {}
    read = 0
    for capture in captures:
        variants = capture.variants()
        digests = {id_: kernel_digest(kernel) for id_, kernel in capture.kernels.items()}
        for variant in variants:
            read += 1
            triton = variant.toolchain.versions.get("triton", "")
            name = identity(digests[variant.kernel.id], triton, variant)
            joined.setdefault(name, []).append((capture, variant))
    return joined, read


def _joined(records: Sequence[_Record]) -> _Joined:
    """Merge all records of one variant."""
    return reduce(_both, (_Joined(record[1], (record,), _stages(record)) for record in records))


def _stages(record: _Record) -> dict[str, tuple[CaptureReader, Artifact]]:
    capture, variant = record
    return {name: (capture, artifact) for name, artifact in variant.artifacts.items()}


def _both(first: _Joined, second: _Joined) -> _Joined:
    """Merge two records of one variant: the first, unless only the second compiled."""
    if first.variant.failure and not second.variant.failure:
        first, second = second, first
    ours, theirs = first.variant, second.variant
    launches = tuple(dict.fromkeys(ours.launches + theirs.launches))
    benchmarks = tuple(dict.fromkeys(ours.benchmarks + theirs.benchmarks))
    same = (launches, benchmarks) == (ours.launches, ours.benchmarks)
    return _Joined(
        variant=replace(ours, launches=launches, benchmarks=benchmarks),
        records=first.records if ours.failure else first.records + second.records,
        # One of them may have additional stages that were derived later.
        stages=first.stages if ours.failure else second.stages | first.stages,
        # Facts include benchmark results, too.
        has_facts=first.has_facts and same,
    )


def _write(writer: CaptureWriter, joined: Mapping[str, Sequence[_Record]]) -> int:
    """Write the variants, one at a time, and return the number of their kernels."""
    kernels: dict[Kernel, int] = {}
    toolchains: dict[int, int] = {}
    remaining = iter(joined.items())
    while batch := list(islice(remaining, _BATCH)):
        with writer.batch():
            for name, records in batch:
                _write_variant(writer, name, _joined(records), kernels, toolchains)
    return len(set(kernels.values()))


def _write_variant(
    writer: CaptureWriter, name: str, item: _Joined, kernels: dict[Kernel, int], toolchains: dict[int, int]
) -> None:
    """Write a variant, of which `name` is the identity.

    `kernels` and `toolchains` (by `id`) are the numbers of those that were written before.
    """
    variant = item.variant
    owner, toolchain = variant.kernel, variant.toolchain
    if owner not in kernels:
        kernels[owner] = writer.add_kernel(owner.source, owner.helpers, owner.parameters)
    if id(toolchain) not in toolchains:
        toolchains[id(toolchain)] = writer.add_toolchain(toolchain.versions, toolchain.command)
    more: dict[str, Any] = {
        "artifacts": {name: copied_blob(writer, *stage) for name, stage in item.stages.items()},
        "passes": _passes(writer, item),
        "attachments": _attachments(writer, item),
    }
    names = [attribute.name for attribute in fields(NewVariant) if attribute.name not in more]
    new = NewVariant(**{name: getattr(variant, name) for name in names}, **more)
    triton = toolchain.versions.get("triton", "")
    id_ = writer.add_variant(kernels[owner], toolchains[id(toolchain)], triton, new, name=name)
    capture, first = item.records[0]
    if item.has_facts and (facts := capture.facts_of(first)):
        writer.add_facts(id_, *facts)
    layouts = next(filter(None, (capture.layouts(record) for capture, record in item.records)), None)
    if layouts is not None:
        writer.add_layouts(id_, layouts)


def _attachments(writer: CaptureWriter, item: _Joined) -> dict[str, Blob]:
    """Return the attachments of all records; of two with one name, the first."""
    copied = (copied_attachments(writer, capture, variant) for capture, variant in item.records)
    return reduce(lambda found, others: others | found, copied, {})


def _passes(writer: CaptureWriter, item: _Joined) -> tuple[NewPass, ...]:
    """Return the compiler passes of the first record that has them."""
    copied = (copied_passes(writer, capture, variant) for capture, variant in item.records)
    return next(filter(None, copied), ())
