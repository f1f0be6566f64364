"""The bytes of an open capture: stages as they are stored, and stages derived from them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from pkgutil import resolve_name
from threading import Lock
from typing import TYPE_CHECKING, Any

from irscope.backends import stage_named
from irscope.model import Artifact, Stage, UserError, Variant
from irscope.store import CaptureReader
from irscope.workspace.in_progress import InProgress
from irscope.workspace.texts import TEXTS, check_stage, encoded, missing_text, variant_texts

if TYPE_CHECKING:
    from irscope.analysis.pass_history import PassStep
    from irscope.facts.fact import Fact
    from irscope.workspace.derived_cache import DerivedCache

Disassemble = Callable[[bytes], str]


class StageContents:
    """Reads a capture's stages; several threads may use it.

    Holds what had to be derived (SASS, Triton's layouts) until `close` stores it: in the capture if the
    caller's own command wrote it (`writable`), else in the user's cache folder. Raises UserError if `path` is
    not a capture.
    """

    def __init__(
        self,
        path: Path | str,
        in_progress: InProgress,
        disassemble: Disassemble | None,
        writable: bool = False,
    ) -> None:
        self._reader = CaptureReader(path)
        self._writable = writable
        self.path = self._reader.path
        self._in_progress = in_progress
        self._disassemble = disassemble
        self._lock = Lock()
        self._derived: dict[tuple[int, str], bytes] = {}
        self._layouts: dict[int, dict[str, Any]] = {}
        self._made: dict[str, bytes] = {}  # by their names in the user's cache folder

    def close(self) -> None:
        """Closes the file and stores what had to be derived.

        A capture that is read-only or busy stays as it is: derived stages can be made again. Nothing is
        written to it earlier, because a writer next to an open reader leaves SQLite's log as a second file.
        """
        with self._lock:
            self._reader.close()
        if self._writable and (self._derived or self._layouts):
            self._store_in_capture()
        elif self._made:
            self._cache.write(self._made)
        for kept in (self._derived, self._layouts, self._made):
            kept.clear()

    def _store_in_capture(self) -> None:
        from irscope.store import CaptureWriter  # here, because few commands derive anything

        with contextlib.suppress(UserError, sqlite3.Error), CaptureWriter.resume(self.path) as writer:
            for (variant, stage), content in self._derived.items():
                writer.add_artifact(variant, stage, content)
            for variant, layouts in self._layouts.items():
                writer.add_layouts(variant, layouts)

    @cached_property
    def _cache(self) -> DerivedCache:
        from irscope.workspace.derived_cache import DerivedCache

        return DerivedCache()

    def variants(self) -> dict[int, Variant]:
        """The variants in the file, by id in its order. Raises UserError if the file is damaged."""
        with self._lock:
            return {variant.id: variant for variant in self._reader.variants()}

    def facts(self, variants: Sequence[Variant]) -> dict[int, Mapping[str, Fact]]:
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
            stored = self._reader.layouts(variant)
        if stored is None and (key := self._layouts_key(variant)) and (content := self._cache.read(key)):
            with contextlib.suppress(ValueError):
                stored = self._layouts[variant.id] = dict(json.loads(content))
        return stored

    def add_layouts(self, variant: Variant, layouts: dict[str, Any]) -> None:
        """Adds Triton's own linear layouts of a variant."""
        self._layouts[variant.id] = layouts
        if key := self._layouts_key(variant):
            self._made[key] = json.dumps(layouts).encode()

    def _layouts_key(self, variant: Variant) -> str | None:
        from irscope.workspace.derived_cache import derived_key

        version = variant.toolchain.versions.get("triton", "")
        origin = self.read(variant, "ttgir") if version else None
        return derived_key("layouts", origin, version, str(variant.target)) if origin else None

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
            self._derived[key] = self._derive(derived, origin)
        return self._derived[key]

    def _derive(self, stage: Stage, origin: bytes) -> bytes:
        """A stage made from `origin`, or made before."""
        from irscope.workspace.derived_cache import derived_key

        key = derived_key(stage.name, origin)
        known = self._made.get(key) or self._cache.read(key)
        if known is not None:
            return known
        disassemble: Disassemble = self._disassemble or resolve_name(stage.disassembler)
        self._made[key] = encoded(disassemble(origin))
        return self._made[key]

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
