"""Implements LessonCapture on a capture's variants and a function that reads their stages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from irscope.facts.fact import Fact
from irscope.facts.measure import measure
from irscope.languages.document import Document
from irscope.languages.registry import parse
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.model import Variant, stage_named
from irscope.store import find_variant, variant_names

ReadStage = Callable[[Variant, str], bytes | None]


class CaptureAdapter:
    """A LessonCapture. `read` returns the content of a variant's stage, None if it has none."""

    def __init__(self, variants: Sequence[Variant], read: ReadStage) -> None:
        self.variants = variants
        self.names: Mapping[int, str] = variant_names(variants)
        self._read = read
        self._facts: dict[int, Mapping[str, Fact]] = {}

    def find(self, name: str) -> Variant:
        """The variant that `name` identifies. Raises UserError if none or several match."""
        return find_variant(self.variants, name)

    def text(self, variant: Variant, stage: str) -> str:
        """The text of a stage, empty if the variant has none."""
        return (self._read(variant, stage) or b"").decode("utf-8", "replace")

    def facts(self, variant: Variant) -> Mapping[str, Fact]:
        """The facts of a variant, by name."""
        if variant.id not in self._facts:
            self._facts[variant.id] = measure(variant, partial(self._read, variant))
        return self._facts[variant.id]

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed."""
        return parse(self.text(variant, stage), stage_named(stage).language or "")

    def layouts(self, variant: Variant) -> KernelLayouts:
        """The layouts of a variant's TTGIR."""
        version = variant.toolchain.versions.get("triton", "")
        ttgir = self.document(variant, "ttgir")
        return KernelLayouts(ttgir, variant.target, version, self.text(variant, "ptx"))
