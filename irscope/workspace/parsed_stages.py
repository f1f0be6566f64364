"""Stages, parsed and compared; results stay in memory while there is room."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from irscope.backends import BACKENDS, stage_named
from irscope.model import UserError, Variant
from irscope.workspace.cache import SizedCache
from irscope.workspace.stage_contents import StageContents
from irscope.workspace.texts import TEXTS, check_stage

if TYPE_CHECKING:
    from irscope.analysis.pass_history import PassModule
    from irscope.analysis.source_map import SourceMap
    from irscope.diff.rows import StageDiff
    from irscope.languages.document import Document, Lines

# Limits of what stays in memory. A parsed line takes about 400 bytes; the newest value is always kept.
_HELD_CHARACTERS = 24_000_000
_HELD_LINES = 50_000
_HELD_ROWS = 240_000
_HELD_MODULES = 128
# Findings need the operations of these stages; of the others, views need only the rows.
_PARSED_FOR_FINDINGS = ("ttir", "ttgir", *(backend.assembly for backend in BACKENDS))


class ParsedStages:
    """The lines, documents, source maps and diffs of a capture's stages; several threads may use it.

    The methods raise UserError if a stage is missing or damaged.
    """

    def __init__(self, contents: StageContents) -> None:
        self._contents = contents
        self._texts: SizedCache[Lines] = SizedCache(_HELD_CHARACTERS)
        self._documents: SizedCache[Document] = SizedCache(_HELD_LINES)
        self._diffs: SizedCache[StageDiff] = SizedCache(_HELD_ROWS)
        self._source_maps: SizedCache[SourceMap] = SizedCache(_HELD_LINES)
        self._modules: SizedCache[Document] = SizedCache(_HELD_LINES)

    def text(self, variant: Variant, stage: str) -> str:
        """The text of a stage or of one of TEXTS. Raises UserError if the stage is binary."""
        if check_stage(stage, with_texts=True).binary:
            raise UserError(f"{stage} is binary; read it with Workspace.content or irscope show -o FILE")
        if stage in TEXTS:
            return self._contents.content(variant, stage).decode("utf-8", "replace")
        return self.lines(variant, stage).text

    def lines(self, variant: Variant, stage: str) -> Lines:
        """The lines of a text stage."""
        from irscope.languages.document import Lines

        key = self._contents.key(variant, stage)
        held = self._texts.get(key) if key else None
        if held is not None:
            return held
        text = self._contents.content(variant, stage).decode("utf-8", "replace")
        return self._texts.put(key, Lines(text), len(text))

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed."""
        from irscope.languages.language_registry import parse

        key = self._contents.key(variant, stage), stage  # stages in two languages may have the same text
        held = self._documents.get(key)
        if held is not None:
            return held
        document = parse(self.text(variant, stage), stage_named(stage).language or "")
        return self._documents.put(key, document, len(document.lines))

    def source_map(self, variant: Variant, stage: str) -> SourceMap:
        """Which Python lines the operations of a stage came from."""
        from irscope.analysis.source_map import SourceMap

        key = self._contents.key(variant, stage), stage
        held = self._source_maps.get(key)
        if held is not None:
            return held
        source_map = SourceMap(self.document(variant, stage))
        return self._source_maps.put(key, source_map, len(source_map))

    def diff(self, a: Variant, b: Variant, stage: str) -> StageDiff:
        """The diff of a stage that both variants have."""
        from irscope.diff.stage_diff import diff_stage

        held = self.known_diff(a, b, stage)
        if held is not None:
            return held
        diff = diff_stage(stage, self.document(a, stage), self.document(b, stage))
        if stage not in _PARSED_FOR_FINDINGS:
            diff = replace(diff, left=_unparsed(diff.left), right=_unparsed(diff.right))
        return self._diffs.put(self._diff_key(a, b, stage), diff, len(diff.rows))

    def known_diff(self, a: Variant, b: Variant, stage: str) -> StageDiff | None:
        """The diff of a stage if it is in memory."""
        return self._diffs.get(self._diff_key(a, b, stage))

    def module(self, module: PassModule) -> Document:
        """A module between two passes, parsed."""
        from irscope.languages.language_registry import parse

        key = (module.artifact.digest, module.language)
        held = self._modules.get(key)
        if held is not None:
            return held
        content = self._contents.artifact(module.artifact)
        document = parse(content.decode("utf-8", "replace"), module.language)
        # The newest modules stay whatever their size: one pass's module is the next one's input.
        return self._modules.put(key, document, min(len(document.lines), _HELD_LINES // _HELD_MODULES))

    def operation_lines(self, variant: Variant, stage: str, line: int) -> list[str]:
        """The lines of the operation that starts at `line` (from 0), with its regions; else that line."""
        document = self.document(variant, stage)
        index = document.operation_of_line.get(line)
        end = line + 1 if index is None else max(document.operations[index].end, line + 1)
        return [document.lines[number] for number in range(line, end)]

    def _diff_key(self, a: Variant, b: Variant, stage: str) -> tuple[str, str | None, str | None]:
        return stage, self._contents.key(a, stage), self._contents.key(b, stage)


def _unparsed(document: Document) -> Document:
    """The document without its operations, which take half a kilobyte per line."""
    return replace(document, operations=())
