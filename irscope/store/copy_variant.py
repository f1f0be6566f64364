"""Copying variants between captures: stages stay compressed, and are checked."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass

from irscope.model import Artifact, Pass, UserError, Variant
from irscope.store.encoding import Blob
from irscope.store.reader import CaptureReader
from irscope.store.writer import CaptureWriter, NewPass


@dataclass(frozen=True, slots=True)
class Contents:
    """The contents of a variant as stored: its stages, what is not a stage, and its compiler passes."""

    artifacts: Mapping[str, Blob]
    attachments: Mapping[str, Blob]
    passes: tuple[NewPass, ...]


class Copies:
    """The contents of several variants of a capture, read with few queries.

    Contents that `writer` has, checked, from other variants are not read again.
    """

    def __init__(self, writer: CaptureWriter, capture: CaptureReader, variants: Sequence[Variant]) -> None:
        self._parts: dict[int, tuple[Mapping[str, Artifact], Mapping[str, Artifact], tuple[Pass, ...]]] = {}
        digests = set[str]()
        for variant in variants:
            with suppress(UserError):  # it is damaged: `contents` says so
                parts = variant.artifacts, capture.attached(variant), capture.passes(variant)
                self._parts[variant.id] = parts
                digests |= {artifact.digest for some in parts[:2] for artifact in some.values()}
                digests |= {each.artifact.digest for each in parts[2] if each.artifact}
        self._new = writer.lacking(digests)
        self._blobs = capture.intact_blobs(self._new)

    def contents(self, variant: Variant) -> Contents:
        """The contents of a variant. Raises UserError if something is damaged."""
        if variant.id not in self._parts:
            raise UserError(f"variant #{variant.id} is damaged")
        artifacts, attached, passes = self._parts[variant.id]
        return Contents(
            {name: self._blob(artifact) for name, artifact in artifacts.items()},
            {name: self._blob(artifact) for name, artifact in attached.items()},
            tuple(
                NewPass(one.stage, one.name, one.seconds, self._blob(one.artifact) if one.artifact else None)
                for one in passes
            ),
        )

    def _blob(self, artifact: Artifact) -> Blob:
        """An artifact as stored; without its content if the writer has it."""
        if artifact.digest not in self._new:
            return Blob(artifact.digest, artifact.size, b"")
        if artifact.digest not in self._blobs:
            raise UserError(f"the content of {artifact.stage} is damaged")
        return self._blobs[artifact.digest]


def copied_blob(writer: CaptureWriter, capture: CaptureReader, artifact: Artifact) -> Blob:
    """An artifact as stored; without its content if `writer` has it, checked, from another variant.

    Raises UserError if it is damaged.
    """
    if writer.has_blob(artifact.digest):
        return Blob(artifact.digest, artifact.size, b"")
    return capture.blob(artifact)


def copied_passes(writer: CaptureWriter, capture: CaptureReader, variant: Variant) -> tuple[NewPass, ...]:
    """The compiler passes of a variant of `capture`. Raises UserError if one is damaged."""
    return tuple(
        NewPass(
            each.stage,
            each.name,
            each.seconds,
            copied_blob(writer, capture, each.artifact) if each.artifact else None,
        )
        for each in capture.passes(variant)
    )


def copied_attachments(writer: CaptureWriter, capture: CaptureReader, variant: Variant) -> dict[str, Blob]:
    """The attachments of a variant of `capture`. Raises UserError if one is damaged."""
    found = capture.attached(variant)
    return {name: copied_blob(writer, capture, artifact) for name, artifact in found.items()}
