"""Copying variants between captures: stages stay compressed, and are checked."""

from __future__ import annotations

from irscope.model import Artifact, Variant
from irscope.store.encoding import Blob
from irscope.store.new_variant import NewPass
from irscope.store.reader import CaptureReader
from irscope.store.writer import CaptureWriter


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
