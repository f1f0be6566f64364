"""Reads the stages of a capture's variants: bytes, text, lines, documents, source maps and diffs."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.model import Variant
from irscope.workspace.parsed_stages import ParsedStages
from irscope.workspace.stage_contents import StageContents
from irscope.workspace.texts import text_stages

if TYPE_CHECKING:
    from irscope.analysis.source_map import SourceMap
    from irscope.diff.rows import StageDiff
    from irscope.languages.document import Document, Lines


class StageReader:
    """The part of a `Workspace` that reads stages; parsed ones stay in memory while there is room."""

    def __init__(self, contents: StageContents) -> None:
        self._contents = contents
        self._parsed = ParsedStages(contents)

    def stages(self, variant: Variant) -> list[str]:
        """The text stages that a variant has or that can be derived, in pipeline order."""
        return text_stages(variant)

    def key(self, variant: Variant, stage: str) -> str | None:
        """An identifier of a stage's text: equal keys, equal text. None if the variant lacks the stage."""
        return self._contents.key(variant, stage)

    def available(self, variant: Variant, stage: str) -> bool:
        """Whether the text can be had without deriving it: stored, or derived before."""
        return self._contents.available(variant, stage)

    def derivable(self, variant: Variant, stage: str) -> bool:
        """Whether the stage is not stored but can be derived from another one."""
        return stage not in variant.artifacts and self.key(variant, stage) is not None

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """A stage as it is stored; None if it is not. Raises UserError if it is damaged."""
        return self._contents.read(variant, stage)

    def content(self, variant: Variant, stage: str) -> bytes:
        """The bytes of a stage, derived if needed, or of one of TEXTS ("python", "error", ...).

        Raises UserError if the variant lacks it, saying what it has instead.
        """
        return self._contents.content(variant, stage)

    def find_content(self, variant: Variant, stage: str) -> bytes | None:
        """The bytes of a stage, derived if needed; None if the variant lacks it.

        Raises UserError if the stage is damaged or the disassembler fails, ValueError for an unknown stage.
        """
        return self._contents.find(variant, stage)

    def derive_stages(self, variant: Variant) -> None:
        """Derives the stages that are not stored (SASS). They are kept when this closes."""
        for stage in self.stages(variant):
            if self.derivable(variant, stage):
                self.find_content(variant, stage)

    def text(self, variant: Variant, stage: str) -> str:
        """`content` as text. Raises UserError if the stage is binary or the variant lacks it."""
        return self._parsed.text(variant, stage)

    def lines(self, variant: Variant, stage: str) -> Lines:
        """The lines of a text stage. Raises as `content`."""
        return self._parsed.lines(variant, stage)

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed; its locations are lines of the captured source. Raises as `content`."""
        return self._parsed.document(variant, stage)

    def source_map(self, variant: Variant, stage: str, other: Variant | None = None) -> SourceMap:
        """The Python lines of a stage's operations: lines of the source of `other` if given.

        Raises as `content`.
        """
        return self._parsed.source_map(variant, stage, other)

    def operation_lines(self, variant: Variant, stage: str, line: int) -> list[str]:
        """The lines of the operation that starts at `line` (from 0), with its regions; else that line.

        Raises as `content`.
        """
        return self._parsed.operation_lines(variant, stage, line)

    def comparable(self, a: Variant, b: Variant, stage: str) -> bool:
        """Whether both variants have the stage and its texts differ."""
        keys = [self.key(variant, stage) for variant in (a, b)]
        return None not in keys and keys[0] != keys[1]

    def diff(self, a: Variant, b: Variant, stage: str) -> StageDiff:
        """The diff of a stage that both variants have. Raises as `content`."""
        return self._parsed.diff(a, b, stage)

    def known_diff(self, a: Variant, b: Variant, stage: str) -> StageDiff | None:
        """The diff of a stage if it is in memory."""
        return self._parsed.known_diff(a, b, stage)
