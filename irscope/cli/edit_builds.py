"""Builds the edits that a user makes in the app, and stores them where what-ifs are stored."""

from __future__ import annotations

import sqlite3
from threading import Event
from typing import TYPE_CHECKING

from irscope.capturing.compile.sweep import stored_variant
from irscope.capturing.edits.build import EditRequest, RebuildError, build_variant
from irscope.model import UserError, Variant
from irscope.tui.live_connection import Publish
from irscope.workspace import CaptureWriter
from irscope.workspace.edits import StageEdit
from irscope.workspace.live import Added, EditRejected, NotAdded, VariantFinished

if TYPE_CHECKING:
    from irscope.capturing.edits.build import BuiltVariant
    from irscope.cli.what_if import Storage

# More messages than these follow from the first ones.
_MAX_PROBLEMS = 8


def build_edit(edit: StageEdit, storage: Storage, seconds: float, publish: Publish, ended: Event) -> None:
    """Builds and stores the variant of an edit; nothing is stored once the app has ended."""
    request = EditRequest(edit.stage, edit.text, seconds=seconds)
    try:
        built = build_variant(edit.variant, edit.contents.get, request, edit.taken)
        if not ended.is_set():
            _store(edit, built, storage, publish)
    except RebuildError as error:
        publish(EditRejected(edit, *_problems(error)))
    except (UserError, OSError, sqlite3.Error) as error:
        publish(NotAdded(str(error)))


def _problems(error: RebuildError) -> tuple[tuple[str, ...], int | None]:
    """The messages, and the line of the first that has one."""
    errors = [each for each in error.diagnostics if each.severity == "error"]
    line = next((each.line for each in errors if each.line), None)
    texts = tuple(dict.fromkeys(map(str, errors)))[:_MAX_PROBLEMS]
    return texts or (str(error),), line


def _store(edit: StageEdit, built: BuiltVariant, storage: Storage, publish: Publish) -> None:
    """Adds the variant to the app and the capture; it is compared with its original."""
    old, new = edit.variant, built.new
    id_ = storage.reserve(1, edit.first_id)
    variant = Variant(
        id_,
        old.kernel,
        new.target,
        new.specialization,
        new.config,
        old.toolchain,
        metadata=new.metadata,
        cache_key=new.cache_key,
    )
    publish(Added((variant,), old.id, id_))

    def write(writer: CaptureWriter) -> None:
        toolchain = writer.add_toolchain(old.toolchain.versions, old.toolchain.command)
        kernel = writer.add_kernel(old.kernel.source, old.kernel.helpers, old.kernel.parameters)
        writer.add_variant(kernel, toolchain, old.toolchain.versions.get("triton", ""), new, id_)
        publish(VariantFinished(stored_variant(variant, new), storage.path))

    storage.store(write)
