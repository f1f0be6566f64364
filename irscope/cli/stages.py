"""The content of a variant's stages, for every command that shows one: read, or made where it is derived."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from irscope.backends import STAGES, stage_named, stages_for
from irscope.model import SourceFunction, Stage, UserError, Variant
from irscope.store import CaptureReader, CaptureWriter

# What `--stage` takes beside the names of the stage table: texts that belong to a variant.
TEXTS = ("python", "error", "log", "output", "reasons")


class Stages:
    """A capture's stages. What had to be made is kept in the capture when this closes, if it is writable.

    Not before: a writer beside an open reader would leave SQLite's log behind as a second file.
    """

    def __init__(self, path: Path) -> None:
        self.capture = CaptureReader(path)
        self._made: dict[tuple[int, str], bytes] = {}

    def __enter__(self) -> Stages:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Lets go of the capture and keeps in it what was made."""
        self.capture.close()
        if not self._made:
            return
        # A capture that is read-only or busy stays as it is: the stage can be made again.
        with contextlib.suppress(UserError, sqlite3.Error), CaptureWriter.resume(self.capture.path) as writer:
            for (variant, stage), content in self._made.items():
                writer.add_artifact(variant, stage, content)
        self._made.clear()

    def read(self, variant: Variant, name: str) -> bytes | None:
        """The content of the stage called `name`, made from another where it is derived; None where
        the variant has neither. Raises UserError where the tool that makes it is not there, and
        ValueError for a name that is in no stage table.
        """
        if name in variant.artifacts:
            return self.capture.read(variant, name)
        source = stage_named(name).derived_from
        origin = source and self.capture.read(variant, source)
        if not origin:
            return None
        key = (variant.id, name)
        if key not in self._made:
            from irscope.toolchain.disassembler import disassemble

            # SASS is the one stage that is derived.
            self._made[key] = encoded(disassemble(origin))
        return self._made[key]

    def content(self, variant: Variant, name: str) -> bytes:
        """The stage or text (one of TEXTS) called `name`. Raises UserError, saying what there is instead."""
        check_stage(name, with_texts=True)
        if name in TEXTS:
            text = texts(variant).get(name)
            content = None if text is None else encoded(text)
        else:
            content = self.read(variant, name)
        if content is None:
            raise UserError(_missing(variant, name))
        return content

    def text(self, variant: Variant, name: str) -> str:
        """`content` as text. Raises UserError for a stage that is binary."""
        if name not in TEXTS and check_stage(name).binary:
            raise UserError(f"{name} is binary: there is no text to show")
        return self.content(variant, name).decode("utf-8", "replace")


def check_stage(name: str, with_texts: bool = False) -> Stage:
    """The stage called `name` (a text stage for one of TEXTS). Raises UserError, naming the known ones."""
    if with_texts and name in TEXTS:
        return Stage(name, "python" if name == "python" else "text")
    try:
        return stage_named(name)
    except ValueError as error:
        more = f", {', '.join(TEXTS)}" if with_texts else ""
        raise UserError(f"{error}{more}") from error


def text_stages(variant: Variant) -> list[str]:
    """The stages of a variant that are text, made ones included, in pipeline order."""
    return [
        stage.name
        for stage in stages_for(variant.target.backend)
        if not stage.binary and (stage.name in variant.artifacts or stage.derived_from in variant.artifacts)
    ]


def texts(variant: Variant) -> dict[str, str]:
    """Those of TEXTS that a variant has.

    "python": the kernel's source and that of the jit functions it calls; "error": why it failed, with
    the compiler's whole message; "log": what ptxas printed; "output": what the compiler printed beside it;
    "reasons": what the coalescing pass said of each load and store.
    """
    failure = variant.failure
    there = {
        "python": "\n\n".join(map(_with_place, (variant.kernel.source, *variant.kernel.helpers))),
        "error": f"{failure.kind}: {failure.summary}\n\n{failure.message.rstrip()}\n" if failure else None,
        "log": variant.log,
        "output": variant.output,
        "reasons": variant.reasons,
    }
    return {name: text for name, text in there.items() if text}


def _missing(variant: Variant, name: str) -> str:
    failure = variant.failure
    if failure and name not in TEXTS:
        return (
            f"#{variant.id} has no {name}, it failed: {failure.kind}: {failure.summary}; "
            "irscope show has the whole message with --stage error"
        )
    there = [stage.name for stage in STAGES if stage.name in variant.artifacts]
    return f"#{variant.id} ({variant.target}) has no {name}; it has: {', '.join([*there, *texts(variant)])}"


def _with_place(function: SourceFunction) -> str:
    # One line: a line feed in the file's name must not end the comment.
    place = f"# {function.file}:{function.line}".replace("\n", " ").replace("\r", " ")
    return f"{place}\n{function.text.rstrip()}\n"


def encoded(text: str) -> bytes:
    """`text` in UTF-8; what cannot be encoded (halves of surrogate pairs) as question marks."""
    return text.encode("utf-8", "replace")
