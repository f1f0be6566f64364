"""Reads the stages of a capture's variants: bytes, text, lines, documents, source maps and diffs.

Stages, parsed and compared; results stay in memory while there is room.

A cache that knows how much it holds: stages differ in size by five orders of magnitude.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from dataclasses import replace
from threading import Lock
from typing import TYPE_CHECKING, Generic, TypeVar

from irscope.model import Kernel, Stage, UserError, Variant
from irscope.targets import backend_with_assembly, backend_with_machine_code, stage_named, stages_of
from irscope.workspace.stage_contents import StageContents
from irscope.workspace.variant_texts import TEXTS, check_stage, text_stages

if TYPE_CHECKING:
    from irscope.diff.rows import StageDiff
    from irscope.facts.source.frame import SourceFrame
    from irscope.facts.source.map import SourceMap
    from irscope.findings.passes import PassModule
    from irscope.languages.document import Document, Lines


Value = TypeVar("Value")


class SizedCache(Generic[Value]):
    """Keeps values until their sizes add up to more than `limit`; the one unused for longest goes first.

    The newest value is kept whatever its size. Several threads may use it.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._held = 0
        self._values: OrderedDict[Hashable, tuple[Value, int]] = OrderedDict()
        self._lock = Lock()

    def get(self, key: Hashable) -> Value | None:
        """Return the value of `key`, None where it is not held."""
        with self._lock:
            if key not in self._values:
                return None
            self._values.move_to_end(key)
            return self._values[key][0]

    def put(self, key: Hashable, value: Value, size: int) -> Value:
        """Keep `value`, and return it."""
        with self._lock:
            if key in self._values:
                self._held -= self._values.pop(key)[1]
            self._values[key] = (value, size)
            self._held += size
            while self._held > self._limit and len(self._values) > 1:
                _, (_, gone) = self._values.popitem(last=False)
                self._held -= gone
        return value


# Limits of what stays in memory; the newest value is always kept. A parsed line takes about 400 bytes, one of
# a source map 110: those of all stages of a pair are read for each key in the panel of Python.
_HELD_CHARACTERS = 24_000_000
_HELD_LINES = 50_000
_HELD_MAPPED_LINES = 400_000
_HELD_ROWS = 240_000
_HELD_MODULES = 128


class StageReader:
    """The part of a `Workspace` that reads stages; parsed ones stay in memory while there is room.

    Several threads may use it. `contents` is what irscope's own views need besides: the stages unparsed.
    """

    def __init__(self, contents: StageContents) -> None:
        self.contents = contents
        self._texts: SizedCache[Lines] = SizedCache(_HELD_CHARACTERS)
        self._documents: SizedCache[Document] = SizedCache(_HELD_LINES)
        self._diffs: SizedCache[StageDiff] = SizedCache(_HELD_ROWS)
        self._source_maps: SizedCache[SourceMap] = SizedCache(_HELD_MAPPED_LINES)
        self._modules: SizedCache[Document] = SizedCache(_HELD_LINES)
        self._frames: dict[tuple[Kernel, str], SourceFrame] = {}

    def pipeline(self, variant: Variant) -> tuple[Stage, ...]:
        """Return the stages that a variant can have, binary ones included, in pipeline order."""
        return stages_of(variant)

    def stages(self, variant: Variant) -> list[str]:
        """Return the text stages that a variant has or that can be derived, in pipeline order."""
        return text_stages(variant)

    def content(self, variant: Variant, stage: str) -> bytes:
        """Return the bytes of a stage, derived if needed, or of one of TEXTS ("python", "error", ...).

        Raises UserError if the variant lacks it, saying what it has instead.
        """
        return self.contents.content(variant, stage)

    def derive_stages(self, variant: Variant) -> None:
        """Derive the stages that are not stored (SASS). They are kept when this closes."""
        for stage in self.stages(variant):
            if self.contents.derivable(variant, stage):
                self.contents.find(variant, stage)

    def text(self, variant: Variant, stage: str) -> str:
        """Return `content` as text. Raises UserError if the stage is binary or the variant lacks it."""
        if check_stage(stage, with_texts=True).binary:
            raise UserError(f"{stage} is binary; read it with Workspace.content or irscope show -o FILE")
        if stage in TEXTS:
            return self.content(variant, stage).decode("utf-8", "replace")
        return self.lines(variant, stage).text

    def lines(self, variant: Variant, stage: str) -> Lines:
        """Return the lines of a text stage. Raises as `content`."""
        from irscope.languages.document import Lines

        key = self.contents.key(variant, stage)
        held = self._texts.get(key) if key else None
        if held is not None:
            return held
        text = self.content(variant, stage).decode("utf-8", "replace")
        return self._texts.put(key, Lines(text), len(text))

    def document(self, variant: Variant, stage: str) -> Document:
        """Parse a stage; its locations are lines of the captured source. Raises as `content`."""
        from irscope.languages.language import parse

        # Stages in two languages may have the same text, and kernels in two files the same stages.
        key = self.contents.key(variant, stage), stage, variant.kernel
        held = self._documents.get(key)
        if held is not None:
            return held
        document = parse(self.text(variant, stage), stage_named(stage).language or "")
        document = self._frame(variant).in_captured_source(document)
        document = self._in_lines_of_assembly(document, variant, stage)
        return self._documents.put(key, document, len(document.lines))

    def _in_lines_of_assembly(self, document: Document, variant: Variant, stage: str) -> Document:
        """Return machine code located in the assembly that it was made from, if its cubin has lines."""
        from irscope.facts.source.map import in_lines_of_ptx
        from irscope.targets.elf import ptx_line_table

        backend = backend_with_machine_code(stage)
        if backend is None or backend.assembly == stage:
            return document
        if not {backend.assembly, backend.binary} <= variant.artifacts.keys():
            return document
        table = ptx_line_table(self.content(variant, backend.binary))
        return in_lines_of_ptx(document, self.document(variant, backend.assembly), table)

    def source_map(self, variant: Variant, stage: str, other: Variant | None = None) -> SourceMap:
        """Return the Python lines of a stage's operations: lines of the source of `other` if given.

        Raises as `content`.
        """
        from irscope.facts.source.alignment import line_map
        from irscope.facts.source.map import SourceMap

        kernels = variant.kernel, (other or variant).kernel
        key = self.contents.key(variant, stage), stage, kernels
        held = self._source_maps.get(key)
        if held is not None:
            return held
        source_map = SourceMap(line_map(*kernels).in_lines_of_b(self.document(variant, stage)))
        return self._source_maps.put(key, source_map, len(source_map))

    def diff(self, a: Variant, b: Variant, stage: str) -> StageDiff:
        """Return the diff of a stage that both variants have. Raises as `content`."""
        from irscope.diff.stage_diff import diff_stage
        from irscope.facts.source.alignment import line_map

        held = self.known_diff(a, b, stage)
        if held is not None:
            return held
        lines = line_map(a.kernel, b.kernel)
        diff = diff_stage(stage, self.document(a, stage), self.document(b, stage), lines)
        if not _needed_for_findings(stage):
            # Operations take half a kilobyte per line.
            left, right = (replace(document, operations=()) for document in (diff.left, diff.right))
            diff = replace(diff, left=left, right=right)
        return self._diffs.put(self._diff_key(a, b, stage), diff, len(diff.rows))

    def known_diff(self, a: Variant, b: Variant, stage: str) -> StageDiff | None:
        """Return the diff of a stage if it is in memory."""
        return self._diffs.get(self._diff_key(a, b, stage))

    def module(self, module: PassModule, variant: Variant) -> Document:
        """Parse a module between two passes of a variant, located in the captured source.

        Raises UserError if it is damaged.
        """
        from irscope.languages.language import parse

        key = (module.artifact.digest, module.language, variant.kernel)
        held = self._modules.get(key)
        if held is not None:
            return held
        content = self.contents.artifact(module.artifact)
        document = parse(content.decode("utf-8", "replace"), module.language)
        document = self._frame(variant).in_captured_source(document)
        # The newest modules stay whatever their size: one pass's module is the next one's input.
        return self._modules.put(key, document, min(len(document.lines), _HELD_LINES // _HELD_MODULES))

    def operation_lines(self, variant: Variant, stage: str, line: int) -> list[str]:
        """Return the lines of the operation that starts at `line` (from 0), with regions; else that line.

        Raises as `content`.
        """
        document = self.document(variant, stage)
        index = document.operation_of_line.get(line)
        end = line + 1 if index is None else max(document.operations[index].end, line + 1)
        return [document.lines[number] for number in range(line, end)]

    def _frame(self, variant: Variant) -> SourceFrame:
        """Locate a variant's functions in the captured source, by the first stage that has them."""
        from irscope.facts.source.frame import LOCATING_STAGES, SourceFrame, ir_functions

        stage = next((name for name in LOCATING_STAGES if name in variant.artifacts), "")
        key = variant.kernel, variant.artifacts[stage].digest if stage else ""
        if key not in self._frames:
            functions = ir_functions(self.text(variant, stage)) if stage else []
            self._frames[key] = SourceFrame(variant.kernel, functions)
        return self._frames[key]

    def _diff_key(self, a: Variant, b: Variant, stage: str) -> tuple[object, ...]:
        return stage, self.contents.key(a, stage), self.contents.key(b, stage), a.kernel, b.kernel


def _needed_for_findings(stage: str) -> bool:
    """Check whether findings need the operations of a stage; of the others, views need only the rows."""
    if stage in ("ttir", "ttgir"):
        return True
    return (backend_with_assembly(stage) or backend_with_machine_code(stage)) is not None
