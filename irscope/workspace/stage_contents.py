"""The bytes of an open capture: stages as they are stored, and stages derived from them."""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Sequence
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import TYPE_CHECKING, Any

from irscope.backends import stage_named
from irscope.model import Artifact, UserError, Variant
from irscope.store import CaptureReader
from irscope.workspace.in_progress import InProgress
from irscope.workspace.texts import TEXTS, check_stage, encoded, missing_text, variant_texts

if TYPE_CHECKING:
    from irscope.analysis.pass_history import PassStep
    from irscope.facts.fact import Fact

Disassemble = Callable[[bytes], str]


class StageContents:
    """Reads a capture's stages; several threads may use it.

    Holds what had to be derived (SASS, Triton's layouts) until `close` stores it. Raises UserError if `path`
    is not a capture.
    """

    def __init__(self, path: Path | str, in_progress: InProgress, disassemble: Disassemble | None) -> None:
        self._reader = CaptureReader(path)
        self.path = self._reader.path
        self._in_progress = in_progress
        self._disassemble = disassemble
        self._lock = Lock()
        self._derived: dict[tuple[int, str], bytes] = {}
        self._layouts: dict[int, dict[str, Any]] = {}

    def close(self) -> None:
        """Closes the file and stores what had to be derived in it.

        A capture that is read-only or busy stays as it is: derived stages can be made again. Nothing is
        written earlier, because a writer next to an open reader leaves SQLite's log as a second file.
        """
        with self._lock:
            self._reader.close()
        if not self._derived and not self._layouts:
            return
        from irscope.store import CaptureWriter  # here, because few commands derive anything

        with contextlib.suppress(UserError, sqlite3.Error), CaptureWriter.resume(self.path) as writer:
            for (variant, stage), content in self._derived.items():
                writer.add_artifact(variant, stage, content)
            for variant, layouts in self._layouts.items():
                writer.add_layouts(variant, layouts)
        self._derived.clear()
        self._layouts.clear()

    def variants(self) -> dict[int, Variant]:
        """The variants in the file, by id in its order. Raises UserError if the file is damaged."""
        with self._lock:
            return {variant.id: variant for variant in self._reader.variants()}

    def facts(self, variants: Sequence[Variant]) -> dict[int, dict[str, Fact]]:
        """The facts that the file stores for `variants`, by variant id and name; without evidence.

        Variants that a fact was not measured for, because it is newer, are left out.
        """
        from irscope.facts.measure import FACTS_VERSION, from_json
        from irscope.facts.registry import kinds_for

        with self._lock:
            stored = self._reader.facts(FACTS_VERSION)
        backends = {variant.target.backend for variant in variants}
        names = {backend: {kind.name for kind in kinds_for(backend)} for backend in backends}
        return {
            variant.id: from_json(stored[variant.id], variant.target.backend)
            for variant in variants
            if stored.get(variant.id, {}).keys() >= names[variant.target.backend]
        }

    def passes(self, variant: Variant) -> list[PassStep]:
        """The compiler's passes of a variant in order."""
        from irscope.analysis.pass_history import steps

        with self._lock:
            return steps(self._reader.passes(variant))

    def artifact(self, artifact: Artifact) -> bytes:
        """The content of an artifact. Raises UserError if it is damaged."""
        with self._lock:
            return self._reader.content(artifact)

    def layouts(self, variant: Variant) -> dict[str, Any] | None:
        """Triton's own linear layouts of a variant; None if nobody asked Triton."""
        if variant.id in self._layouts:
            return self._layouts[variant.id]
        with self._lock:
            return self._reader.layouts(variant)

    def add_layouts(self, variant: Variant, layouts: dict[str, Any]) -> None:
        """Adds Triton's own linear layouts of a variant."""
        self._layouts[variant.id] = layouts

    def key(self, variant: Variant, stage: str) -> str | None:
        """An identifier of a stage's text: equal keys, equal text. None if the variant lacks the stage."""
        if stage in variant.artifacts:
            return variant.artifacts[stage].digest
        source = None if stage in TEXTS else stage_named(stage).derived_from
        if source is None or source not in variant.artifacts or variant.id in self._in_progress:
            return None
        return f"{stage} of {variant.artifacts[source].digest}"

    def available(self, variant: Variant, stage: str) -> bool:
        """Whether the stage is stored, or was derived before."""
        return stage in variant.artifacts or (variant.id, stage) in self._derived

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """A stage as it is stored; None if it is not. Raises UserError if it is damaged."""
        held = self._in_progress.content(variant, stage)
        if held is not None:
            return held
        with self._lock:
            return self._reader.read(variant, stage)

    def find(self, variant: Variant, stage: str) -> bytes | None:
        """The bytes of a stage, derived if needed; None if the variant lacks it.

        Raises UserError if the stage is damaged or the disassembler fails, ValueError for an unknown stage.
        """
        if stage in variant.artifacts:
            return self.read(variant, stage)
        derived = stage_named(stage)
        origin = self.read(variant, derived.derived_from) if derived.derived_from else None
        if not origin:
            return None
        key = (variant.id, stage)
        if key not in self._derived:
            disassemble: Disassemble = self._disassemble or resolve_name(derived.disassembler)
            self._derived[key] = encoded(disassemble(origin))
        return self._derived[key]

    def content(self, variant: Variant, stage: str) -> bytes:
        """The bytes of a stage, derived if needed, or of one of TEXTS.

        Raises UserError if the variant lacks it, saying what it has instead.
        """
        check_stage(stage, with_texts=True)
        if stage in TEXTS:
            text = variant_texts(variant).get(stage)
            content = None if text is None else encoded(text)
        else:
            content = self.find(variant, stage)
        if content is None:
            raise UserError(missing_text(variant, stage))
        return content
