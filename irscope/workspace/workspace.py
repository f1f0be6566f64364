"""An open capture, which answers every question about it once, for every view.

The command line, the app, the reports, the lessons, notebooks, the pytest fixture and users' own Python call
the same methods, so that they show the same words and the same numbers.

Architecture Invariant: nothing here draws or formats for one view, and no view parses, compares or measures.
"""

from __future__ import annotations

import contextlib
import sqlite3
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, TypeVar

from irscope.backends import BACKENDS, backend_of, stage_named
from irscope.model import Artifact, Kernel, UserError, Variant
from irscope.store import CaptureReader, CaptureWriter, find_variant, variant_names
from irscope.workspace.cache import SizedCache
from irscope.workspace.live import InProgress
from irscope.workspace.texts import TEXTS, check_stage, encoded, missing_text, text_stages, variant_texts

if TYPE_CHECKING:
    from irscope.analysis.compilations import Compilations
    from irscope.analysis.pass_history import PassModule, PassStep
    from irscope.analysis.source_map import SourceMap
    from irscope.diff.rows import StageDiff
    from irscope.facts.fact import Fact, FactKind
    from irscope.languages.document import Document, Lines
    from irscope.layouts.kernel_layouts import KernelLayouts
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.table import PlainValue, TableSection

# Limits of what stays in memory. A parsed line takes about 400 bytes; the newest value is always kept.
_HELD_CHARACTERS = 24_000_000
_HELD_LINES = 50_000
_HELD_ROWS = 240_000
_HELD_MODULES = 128
# Findings need the operations of these stages; of the others, views need only the rows.
_PARSED_FOR_FINDINGS = ("ttir", "ttgir", *(backend.assembly for backend in BACKENDS))

Disassemble = Callable[[bytes], str]
_Self = TypeVar("_Self", bound="Workspace")  # typing.Self needs Python 3.11


class Workspace:
    """A capture open for reading, with everything that can be computed from it.

    Results are computed when they are first asked for and kept while there is room. Methods may be called
    from several threads. Stages that had to be derived (SASS) are stored in the capture when this closes, if
    the file is writable. Raises UserError if `path` is not a capture.
    """

    def __init__(self, path: Path | str, disassemble: Disassemble | None = None) -> None:
        self._reader = CaptureReader(path)
        self.path = self._reader.path
        self.in_progress = InProgress()
        self._disassemble = disassemble or _nvdisasm
        self._lock = Lock()
        self._derived: dict[tuple[int, str], bytes] = {}
        self._asked_layouts: dict[int, dict[str, Any]] = {}
        self._facts: dict[int, Mapping[str, Fact]] = {}
        self._texts: SizedCache[Lines] = SizedCache(_HELD_CHARACTERS)
        self._documents: SizedCache[Document] = SizedCache(_HELD_LINES)
        self._diffs: SizedCache[StageDiff] = SizedCache(_HELD_ROWS)
        self._source_maps: SizedCache[SourceMap] = SizedCache(_HELD_LINES)
        self._modules: SizedCache[Document] = SizedCache(_HELD_LINES)
        try:
            self._variants = {variant.id: variant for variant in self._reader.variants()}
        except UserError:
            self._reader.close()
            raise
        self._names: dict[int, str] | None = None
        # The ids of each kernel's sources, oldest first.
        self._sources: dict[tuple[str, str], list[int]] = {}
        for kernel in sorted({v.kernel.id: v.kernel for v in self._variants.values()}.values(), key=_id):
            self.renew_source(kernel)

    def __repr__(self) -> str:
        return f"Workspace('{self.path}')"

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the file and stores what had to be derived in it.

        A capture that is read-only or busy stays as it is: derived stages can be made again. Nothing is
        written earlier, because a writer next to an open reader leaves SQLite's log as a second file.
        """
        with self._lock:
            self._reader.close()
        if not self._derived and not self._asked_layouts:
            return
        with contextlib.suppress(UserError, sqlite3.Error), CaptureWriter.resume(self.path) as writer:
            for (variant, stage), content in self._derived.items():
                writer.add_artifact(variant, stage, content)
            for variant, layouts in self._asked_layouts.items():
                writer.add_layouts(variant, layouts)
        self._derived.clear()
        self._asked_layouts.clear()

    # Variants.

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Every variant in the order of the capture, those still compiling last."""
        return tuple(self._variants.values())

    @property
    def names(self) -> Mapping[int, str]:
        """The short name of each variant, by id: the values in which it differs from its kernel's others."""
        if self._names is None:
            self._names = variant_names(self.variants)
        return self._names

    def __contains__(self, variant: Variant) -> bool:
        return variant.id in self._variants

    def by_id(self, id_: int) -> Variant:
        """The variant with this id. Raises KeyError if there is none."""
        return self._variants[id_]

    def variant(self, name: str | int) -> Variant:
        """The variant called `name`: its number (3 or "#3"), its short name, or NAME=VALUE pairs.

        Raises UserError, listing candidates, if none or several match.
        """
        return find_variant(self.variants, str(name))

    def select(self, kernel: str | None = None, target: str | None = None) -> list[Variant]:
        """The variants whose kernel matches the glob `kernel` and whose target is `target`; None: all.

        Raises UserError, listing what the capture has, if either matches nothing.
        """
        for pattern, what, known in (
            (kernel, "kernel", [variant.kernel.name for variant in self.variants]),
            (target, "target", [str(variant.target) for variant in self.variants]),
        ):
            if pattern is not None and not any(fnmatchcase(name, pattern) for name in known):
                names = ", ".join(dict.fromkeys(known)) or "none"
                raise UserError(f"no {what} '{pattern}' in the capture; it has: {names}")
        return [
            variant
            for variant in self.variants
            if fnmatchcase(variant.kernel.name, kernel or "*")
            and fnmatchcase(str(variant.target), target or "*")
        ]

    # Texts and parsed stages.

    def stages(self, variant: Variant) -> list[str]:
        """The text stages that a variant has or that can be derived, in pipeline order."""
        return text_stages(variant)

    def key(self, variant: Variant, stage: str) -> str | None:
        """An identifier of a stage's text: equal keys, equal text. None if the variant lacks the stage."""
        if stage in variant.artifacts:
            return variant.artifacts[stage].digest
        source = None if stage in TEXTS else stage_named(stage).derived_from
        if source is None or source not in variant.artifacts or variant.id in self.in_progress:
            return None
        return f"{stage} of {variant.artifacts[source].digest}"

    def available(self, variant: Variant, stage: str) -> bool:
        """Whether the text can be had without deriving it: stored, or derived before."""
        return stage in variant.artifacts or (variant.id, stage) in self._derived

    def derivable(self, variant: Variant, stage: str) -> bool:
        """Whether the stage is not stored but can be derived from another one."""
        return stage not in variant.artifacts and self.key(variant, stage) is not None

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """A stage as it is stored; None if it is not. Raises UserError if it is damaged."""
        held = self.in_progress.content(variant, stage)
        if held is not None:
            return held
        with self._lock:
            return self._reader.read(variant, stage)

    def content(self, variant: Variant, stage: str) -> bytes:
        """The bytes of a stage, derived if needed, or of one of TEXTS ("python", "error", ...).

        Raises UserError if the variant lacks it, saying what it has instead.
        """
        check_stage(stage, with_texts=True)
        if stage in TEXTS:
            text = variant_texts(variant).get(stage)
            content = None if text is None else encoded(text)
        else:
            content = self.find_content(variant, stage)
        if content is None:
            raise UserError(missing_text(variant, stage))
        return content

    def find_content(self, variant: Variant, stage: str) -> bytes | None:
        """The bytes of a stage, derived if needed; None if the variant lacks it.

        Raises UserError if the stage is damaged or the disassembler fails, ValueError for an unknown stage.
        """
        if stage in variant.artifacts:
            return self.read(variant, stage)
        source = stage_named(stage).derived_from
        origin = self.read(variant, source) if source else None
        if not origin:
            return None
        key = (variant.id, stage)
        if key not in self._derived:
            # SASS is the only derived stage.
            self._derived[key] = encoded(self._disassemble(origin))
        return self._derived[key]

    def derive_stages(self, variant: Variant) -> None:
        """Derives the stages that are not stored (SASS). They are stored when this closes."""
        for stage in self.stages(variant):
            if self.derivable(variant, stage):
                self.find_content(variant, stage)

    def text(self, variant: Variant, stage: str) -> str:
        """`content` as text. Raises UserError if the stage is binary or the variant lacks it."""
        if check_stage(stage, with_texts=True).binary:
            raise UserError(f"{stage} is binary; read it with Workspace.content or irscope show -o FILE")
        if stage in TEXTS:
            return self.content(variant, stage).decode("utf-8", "replace")
        return self.lines(variant, stage).text

    def lines(self, variant: Variant, stage: str) -> Lines:
        """The lines of a text stage. Raises as `content`."""
        from irscope.languages.document import Lines

        key = self.key(variant, stage)
        held = self._texts.get(key) if key else None
        if held is not None:
            return held
        text = self.content(variant, stage).decode("utf-8", "replace")
        return self._texts.put(key, Lines(text), len(text))

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed. Raises as `content`."""
        from irscope.languages.language_registry import parse

        key = self.key(variant, stage), stage  # stages in two languages may have the same text
        held = self._documents.get(key)
        if held is not None:
            return held
        document = parse(self.text(variant, stage), stage_named(stage).language or "")
        return self._documents.put(key, document, len(document.lines))

    def source_map(self, variant: Variant, stage: str) -> SourceMap:
        """Which Python lines the operations of a stage came from. Raises as `content`."""
        from irscope.analysis.source_map import SourceMap

        key = self.key(variant, stage), stage
        held = self._source_maps.get(key)
        if held is not None:
            return held
        origins = SourceMap(self.document(variant, stage))
        return self._source_maps.put(key, origins, len(origins))

    # Pairs.

    def compare(self, a: Variant, b: Variant) -> Comparison:
        """Everything about how B differs from A; computed when it is asked for."""
        from irscope.workspace.comparison import Comparison

        return Comparison(self, a, b)

    def comparable(self, a: Variant, b: Variant, stage: str) -> bool:
        """Whether both variants have the stage and its texts differ."""
        keys = [self.key(variant, stage) for variant in (a, b)]
        return None not in keys and keys[0] != keys[1]

    def diff(self, a: Variant, b: Variant, stage: str) -> StageDiff:
        """The diff of a stage that both variants have. Raises as `content`."""
        from irscope.diff.stage_diff import diff_stage

        held = self.known_diff(a, b, stage)
        if held is not None:
            return held
        diff = diff_stage(stage, self.document(a, stage), self.document(b, stage))
        if stage not in _PARSED_FOR_FINDINGS:
            diff = replace(diff, left=_unparsed(diff.left), right=_unparsed(diff.right))
        return self._diffs.put((stage, self.key(a, stage), self.key(b, stage)), diff, len(diff.rows))

    def known_diff(self, a: Variant, b: Variant, stage: str) -> StageDiff | None:
        """The diff of a stage if it is in memory."""
        return self._diffs.get((stage, self.key(a, stage), self.key(b, stage)))

    # Facts.

    def facts(self, variant: Variant) -> Mapping[str, Fact]:
        """The facts of a variant with the lines that prove them, by name in table order."""
        from irscope.facts.measure import measure

        if variant.id not in self._facts or variant.id in self.in_progress:
            self._facts[variant.id] = measure(variant, lambda stage: self.read(variant, stage))
        return self._facts[variant.id]

    def stored_facts(self) -> dict[int, dict[str, Fact]]:
        """The facts that the capture itself stores, by variant id and name; without evidence.

        Variants that a fact was not measured for, because it is newer, are left out.
        """
        from irscope.facts.measure import FACTS_VERSION, from_json
        from irscope.facts.registry import kinds_for

        with self._lock:
            stored = self._reader.facts(FACTS_VERSION)
        names = {backend.name: {kind.name for kind in kinds_for(backend.name)} for backend in BACKENDS}
        return {
            variant.id: from_json(stored[variant.id])
            for variant in self.variants
            if stored.get(variant.id, {}).keys() >= names[variant.target.backend]
        }

    def all_facts(self, variants: Iterable[Variant] | None = None) -> dict[int, Mapping[str, Fact]]:
        """The facts of `variants` (None: all) by variant id: as stored, measured where they are not.

        Facts read from the capture carry no evidence.
        """
        stored = self.stored_facts()
        wanted = self.variants if variants is None else variants
        return {v.id: stored[v.id] if v.id in stored else self.facts(v) for v in wanted}

    def store_facts(self, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Measures the facts that the capture does not store yet and stores them, which closes this.

        `report` receives the number of variants done and in total. A variant takes 2 to 5 ms.
        """
        from irscope.facts.measure import FACTS_VERSION, to_json

        stored = self.stored_facts()
        missing = [variant for variant in self.variants if variant.id not in stored]
        measured = {}
        for variant in missing:
            measured[variant.id] = to_json(self.facts(variant))
            report(len(measured), len(missing))
        self.close()
        with CaptureWriter.resume(self.path) as writer:
            for id_, values in measured.items():
                writer.add_facts(id_, FACTS_VERSION, values)

    # The table.

    def sections(
        self,
        kernel: str | None = None,
        target: str | None = None,
        sort: str | None = None,
        kinds: Sequence[FactKind] | None = None,
    ) -> list[TableSection]:
        """The variants by kernel and target with their facts.

        `kernel` and `target` select as in `select`; `sort` is the name of a fact or config value (None: the
        capture's order); `kinds` are the facts that can be sorted by (None: all). Raises UserError if
        nothing matches.
        """
        from irscope.facts.registry import FACT_KINDS
        from irscope.workspace.table import entries, sections

        variants = self.select(kernel, target)
        found = entries(variants, self.names, self.all_facts(variants))
        return sections(found, sort, FACT_KINDS if kinds is None else kinds)

    def table(self, kernel: str | None = None, target: str | None = None) -> list[dict[str, PlainValue]]:
        """One dict per variant: id, kernel, target, name, config values, facts, problem, duplicate_of.

        `pandas.DataFrame(capture.table())` works. A config value that has the name of a fact appears as
        `config.NAME`. Raises UserError if nothing matches `kernel` and `target`.
        """
        from irscope.workspace.table import table_rows

        return table_rows(self.sections(kernel, target))

    # Layouts, passes and compilations.

    def layouts(self, variant: Variant) -> KernelLayouts:
        """The layouts of a variant's tensors. Raises as `content`.

        Triton's own linear layouts are used if the capture has them, or if the Triton that compiled the
        variant is installed here; irscope's otherwise.
        """
        from irscope.layouts.kernel_layouts import KernelLayouts

        version = variant.toolchain.versions.get("triton", "")
        assembly = (self.read(variant, backend_of(variant.target).assembly) or b"").decode("utf-8", "replace")
        document = self.document(variant, "ttgir")
        return KernelLayouts(document, variant.target, version, assembly, self._triton_layouts(variant))

    def ask_triton_for_layouts(self, variant: Variant) -> None:
        """Has the installed Triton compute a variant's layouts if it is the one that compiled the variant.

        They are stored in the capture when this closes. Raises as `content`.
        """
        from irscope.toolchain.triton_layouts import installed_triton, triton_layouts

        version = variant.toolchain.versions.get("triton", "")
        if self._triton_layouts(variant) is None and version and installed_triton() == version:
            asked = triton_layouts(self.text(variant, "ttgir"), variant.target)
            self._asked_layouts[variant.id] = dict(asked)

    def passes(self, variant: Variant) -> list[PassStep]:
        """The compiler's passes of a variant in order; none if they were not recorded."""
        from irscope.analysis.pass_history import steps

        with self._lock:
            return steps(self._reader.passes(variant))

    def module(self, module: PassModule) -> Document:
        """A module between two passes, parsed. Raises UserError if it is damaged."""
        from irscope.languages.language_registry import parse

        key = (module.artifact.digest, module.language)
        held = self._modules.get(key)
        if held is not None:
            return held
        document = parse(self._artifact(module.artifact).decode("utf-8", "replace"), module.language)
        # The newest modules stay whatever their size: one pass's module is the next one's input.
        return self._modules.put(key, document, min(len(document.lines), _HELD_LINES // _HELD_MODULES))

    def compilations(self) -> list[Compilations]:
        """The compilations of each kernel: how many, why, and which produced nothing new."""
        from irscope.analysis.compilations import compilations

        facts = self.all_facts()
        names = dict.fromkeys(variant.kernel.name for variant in self.variants)
        return [
            compilations(name, [variant for variant in self.variants if variant.kernel.name == name], facts)
            for name in names
        ]

    # Variants that are still compiling.

    def put(self, variant: Variant) -> None:
        """Adds a variant, or replaces it by a newer state of itself."""
        self._variants[variant.id] = variant
        self._facts.pop(variant.id, None)
        self._names = None

    def drop(self, ids: Collection[int]) -> None:
        """Removes variants that will not be compiled."""
        for id_ in ids:
            self.in_progress.remove(id_)
            del self._variants[id_]
            self._facts.pop(id_, None)
        self._names = None
        left = {variant.kernel.id for variant in self._variants.values()}
        self._sources = {name: [k for k in kernels if k in left] for name, kernels in self._sources.items()}

    def reread(self) -> int:
        """Loads what was added to the file since; returns the number of new variants.

        Raises UserError if the file is damaged.
        """
        with self._lock:
            current = {variant.id: variant for variant in self._reader.variants()}
        added = current.keys() - self._variants.keys()
        for id_ in sorted(added):
            self.renew_source(current[id_].kernel)
        self._variants |= current
        self._facts.clear()
        self._names = None
        return len(added)

    def renew_source(self, kernel: Kernel) -> None:
        """Makes `kernel` the current source among those of the same name and file."""
        others = self._sources.get(_name(kernel), ())
        self._sources[_name(kernel)] = [*(id_ for id_ in others if id_ != kernel.id), kernel.id]

    def age(self, variant: Variant) -> str:
        """How many source edits ago a variant was compiled: `now`, `before`, `2 before`.

        "" if all variants of its kernel have one source.
        """
        order = self._sources[_name(variant.kernel)]
        if len(order) < 2 or variant.kernel.id not in order:
            return ""
        back = len(order) - 1 - order.index(variant.kernel.id)
        return f"{back} before" if back > 1 else "before" if back else "now"

    def operation_lines(self, variant: Variant, stage: str, line: int) -> list[str]:
        """The lines of the operation that starts at `line` (from 0), with its regions; else that line.

        Raises as `content`.
        """
        document = self.document(variant, stage)
        index = document.operation_of_line.get(line)
        end = line + 1 if index is None else max(document.operations[index].end, line + 1)
        return [document.lines[number] for number in range(line, end)]

    def _triton_layouts(self, variant: Variant) -> dict[str, Any] | None:
        if variant.id in self._asked_layouts:
            return self._asked_layouts[variant.id]
        with self._lock:
            return self._reader.layouts(variant)

    def _artifact(self, artifact: Artifact) -> bytes:
        with self._lock:
            return self._reader.content(artifact)


def _nvdisasm(cubin: bytes) -> str:
    from irscope.toolchain.disassembler import disassemble

    return disassemble(cubin)


def _id(kernel: Kernel) -> int:
    return kernel.id


def _name(kernel: Kernel) -> tuple[str, str]:
    """What an edit of its source leaves unchanged of a kernel."""
    return kernel.name, kernel.source.file


def _unparsed(document: Document) -> Document:
    """The document without its operations, which take half a kilobyte per line."""
    return replace(document, operations=())
