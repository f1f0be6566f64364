"""The capture at hand: texts, documents, diffs and facts, made once and kept while there is room.

Nothing here draws. What takes long (`make_text`, `diff`, `facts`) is called in the background.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import replace
from threading import Lock

from irscope.analysis.pass_history import Documents, PassStep, documents, steps
from irscope.analysis.source_map import SourceMap
from irscope.backends import stage_named, stages_for
from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.fact import Fact
from irscope.facts.measure import FACTS_VERSION, from_json, measure
from irscope.languages.document import Document
from irscope.languages.lines import Lines
from irscope.languages.registry import parse
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.model import Artifact, Kernel, UserError, Variant
from irscope.store import CaptureReader
from irscope.tui.cache import SizedCache
from irscope.tui.in_progress import InProgress
from irscope.tui.origins import python_of
from irscope.tui.page import PageSide

# The first tab: the kernel's own source. The stage called `source` is the front end's MLIR.
PYTHON = "python"
# A parsed line costs about 400 bytes. The newest document stays held whatever its size.
_HELD_LINES = 50_000
_HELD_ROWS = 240_000
# The stages of which findings need the operations; of the others a view needs the rows alone.
_PARSED_FOR_FINDINGS = ("ttir", "ttgir", "ptx", "amdgcn")
_HELD_CHARACTERS = 24_000_000

Disassemble = Callable[[Variant], str]


class Session:
    """A capture open for viewing. `disassemble` makes the SASS of a variant that has a cubin only.

    Raises UserError where the capture has no variant, unless it is `live`: some will be put there.
    """

    def __init__(
        self, capture: CaptureReader, disassemble: Disassemble | None = None, live: bool = False
    ) -> None:
        self.capture = capture
        self.under_way = InProgress()
        self._variants = {variant.id: variant for variant in capture.variants()}
        if not self._variants and not live:
            raise UserError(f"{capture.path}: no variant in it yet; compile some with `irscope compile`")
        # The sources of each kernel, by their kernels' ids, the newest last.
        self._sources: dict[tuple[str, str], list[int]] = {}
        for kernel in sorted({v.kernel.id: v.kernel for v in self._variants.values()}.values(), key=_id):
            self.renew_source(kernel)
        self._disassemble = disassemble
        self._lock = Lock()
        self._texts: SizedCache[Lines] = SizedCache(_HELD_CHARACTERS)
        self._documents: SizedCache[Document] = SizedCache(_HELD_LINES)
        self._diffs: SizedCache[StageDiff] = SizedCache(_HELD_ROWS)
        self._origins: SizedCache[SourceMap] = SizedCache(_HELD_LINES)
        # Modules between two passes, parsed: takes long for one that was not asked for before.
        self.module: Documents = documents(self._module)

    @property
    def variants(self) -> list[Variant]:
        """The variants, those under way last."""
        return list(self._variants.values())

    def variant(self, id_: int) -> Variant:
        """The variant with this id. Raises KeyError where there is none."""
        return self._variants[id_]

    def __contains__(self, variant: Variant) -> bool:
        return variant.id in self._variants

    def put(self, variant: Variant) -> None:
        """Takes in a variant: a new one, or one that there is more to say of."""
        self._variants[variant.id] = variant

    def drop(self, ids: Collection[int]) -> None:
        """Forgets variants that never will be compiled."""
        for id_ in ids:
            self.under_way.remove(id_)
            del self._variants[id_]
        left = {variant.kernel.id for variant in self._variants.values()}
        self._sources = {name: [k for k in kernels if k in left] for name, kernels in self._sources.items()}

    def reread(self) -> int:
        """Takes in what was added to the file since; how many variants. Raises UserError as the capture."""
        with self._lock:
            there = {variant.id: variant for variant in self.capture.variants()}
        added = there.keys() - self._variants.keys()
        for id_ in sorted(added):
            self.renew_source(there[id_].kernel)
        self._variants |= there
        return len(added)

    def renew_source(self, kernel: Kernel) -> None:
        """Says that this kernel is what its source says now."""
        others = self._sources.get(_name(kernel), ())
        self._sources[_name(kernel)] = [*(id_ for id_ in others if id_ != kernel.id), kernel.id]

    def age(self, variant: Variant) -> str:
        """How many edits of the source ago a variant was compiled: `now`, `before`, `2 before`.

        "" where all variants of its kernel have one source.
        """
        order = self._sources[_name(variant.kernel)]
        if len(order) < 2 or variant.kernel.id not in order:
            return ""
        back = len(order) - 1 - order.index(variant.kernel.id)
        return f"{back} before" if back > 1 else "before" if back else "now"

    def tabs(self, a: Variant, b: Variant) -> list[str]:
        """The Python source and every text stage that A or B has, could have made or is going to have."""
        backends = dict.fromkeys(stage for v in (a, b) for stage in stages_for(v.target.backend))
        texts = [stage for stage in backends if not stage.binary]
        coming = {stage for v in (a, b) if v.id in self.under_way for stage in self.under_way.coming(v)}
        return [
            PYTHON,
            *(s.name for s in texts if s.name in coming or self.key(a, s.name) or self.key(b, s.name)),
        ]

    def key(self, variant: Variant, stage: str) -> str | None:
        """What names the text of a stage: equal keys, equal text. None where there is none."""
        if stage in variant.artifacts:
            return variant.artifacts[stage].digest
        source = stage_named(stage).derived_from if stage != PYTHON else None
        if source is None or source not in variant.artifacts or variant.id in self.under_way:
            return None
        return f"{stage} of {variant.artifacts[source].digest}"

    def comparable(self, a: Variant, b: Variant, stage: str) -> bool:
        """Whether the stage can be had of both, and is not the very same text."""
        there = all(stage in v.artifacts or self.can_make(v, stage) for v in (a, b))
        return there and self.key(a, stage) != self.key(b, stage)

    def at_hand(self, variant: Variant, stage: str) -> bool:
        """Whether the text can be had at once: stored, or made before."""
        return stage in variant.artifacts or self._texts.get(self.key(variant, stage)) is not None

    def can_make(self, variant: Variant, stage: str) -> bool:
        """Whether the text is not there, but can be made from the machine code."""
        return (
            self._disassemble is not None
            and stage not in variant.artifacts
            and bool(self.key(variant, stage))
        )

    def text(self, variant: Variant, stage: str) -> str:
        """The text of a stage. Takes as long as `lines`, and raises as that."""
        return self.lines(variant, stage).text

    def read(self, variant: Variant, stage: str) -> bytes | None:
        """A stage as it is stored; None where there is none. Raises UserError where it is damaged."""
        held = self.under_way.content(variant, stage)
        if held is not None:
            return held
        with self._lock:
            return self.capture.read(variant, stage)

    def lines(self, variant: Variant, stage: str) -> Lines:
        """The lines of a stage; made where they have to be, which takes up to a second.

        Raises UserError where the capture is damaged or the disassembler fails, KeyError where there is none.
        """
        key = self.key(variant, stage)
        held = self._texts.get(key)
        if held is not None:
            return held
        if stage in variant.artifacts:
            text = (self.read(variant, stage) or b"").decode("utf-8", "replace")
        elif self._disassemble is not None:
            text = self._disassemble(variant)
        else:
            raise KeyError(stage)
        return self._texts.put(key, Lines(text), len(text))

    def diff(self, a: Variant, b: Variant, stage: str) -> StageDiff:
        """The diff of a stage that both have."""
        held = self.known_diff(a, b, stage)
        if held is not None:
            return held
        diff = diff_stage(stage, self.document(a, stage), self.document(b, stage))
        if stage not in _PARSED_FOR_FINDINGS:
            diff = replace(diff, left=_unparsed(diff.left), right=_unparsed(diff.right))
        return self._diffs.put((self.key(a, stage), self.key(b, stage)), diff, len(diff.rows))

    def known_diff(self, a: Variant, b: Variant, stage: str) -> StageDiff | None:
        """The diff of a stage, if it is still held."""
        return self._diffs.get((self.key(a, stage), self.key(b, stage)))

    def known_diffs(self, a: Variant, b: Variant, stages: Iterable[str]) -> dict[str, StageDiff]:
        """The diffs that are still held, by stage."""
        diffs = {stage: self.known_diff(a, b, stage) for stage in stages if self.comparable(a, b, stage)}
        return {stage: diff for stage, diff in diffs.items() if diff is not None}

    def origins(self, variant: Variant, stage: str) -> SourceMap:
        """Where the operations of a stage came from; takes as long as `document`, and raises as that."""
        key = self.key(variant, stage)
        held = self._origins.get(key)
        if held is not None:
            return held
        origins = SourceMap(self.document(variant, stage))
        return self._origins.put(key, origins, len(origins))

    def kept_facts(self) -> dict[int, dict[str, Fact]]:
        """The facts that the capture itself holds, by the variant's id."""
        with self._lock:
            kept = self.capture.facts(FACTS_VERSION)
        return {variant: from_json(values) for variant, values in kept.items()}

    def facts(self, variant: Variant) -> dict[str, Fact]:
        """The facts of a variant, measured."""
        return measure(variant, lambda stage: self.read(variant, stage))

    def side(self, variant: Variant, stage: str) -> PageSide:
        """What a variant shows in a tab: the text, or in its place what there is to say."""
        if stage == PYTHON:
            return python_of(variant).side
        if not self.key(variant, stage):
            return PageSide((self.under_way.words(variant.id) or _missing(variant, stage)).split("\n"))
        if not self.at_hand(variant, stage):
            return PageSide(_underived(stage, self._disassemble is not None).split("\n"))
        return PageSide(self.lines(variant, stage), stage_named(stage).language)

    def document(self, variant: Variant, stage: str) -> Document:
        """A stage, parsed: takes long where it was not yet. Raises as `text`."""
        key = self.key(variant, stage)
        held = self._documents.get(key)
        if held is not None:
            return held
        document = parse(self.text(variant, stage), stage_named(stage).language or "")
        return self._documents.put(key, document, len(document.lines))

    def steps(self, variant: Variant) -> list[PassStep]:
        """The compiler's passes of a variant; none where they were not kept."""
        with self._lock:
            return steps(self.capture.passes(variant))

    def layouts(self, variant: Variant) -> KernelLayouts:
        """The layouts of a variant's tensors: takes as long as `document`, and raises as that."""
        document = self.document(variant, "ttgir")
        with self._lock:
            told = self.capture.layouts(variant)
        machine = (self.read(variant, "ptx") or b"").decode("utf-8", "replace")
        version = variant.toolchain.versions.get("triton", "")
        return KernelLayouts(document, variant.target, version, machine, told)

    def _module(self, artifact: Artifact) -> bytes:
        with self._lock:
            return self.capture.content(artifact)


def _id(kernel: Kernel) -> int:
    return kernel.id


def _name(kernel: Kernel) -> tuple[str, str]:
    """What an edit of its source leaves of a kernel."""
    return kernel.name, kernel.source.file


def _unparsed(document: Document) -> Document:
    """The document without what the parser found: half a kilobyte a line."""
    return replace(document, operations=())


def _missing(variant: Variant, stage: str) -> str:
    if variant.failure is not None:
        failure = variant.failure
        return f"{failure.kind}: {failure.summary}\n\n{failure.message}"
    return f"This variant has no {stage}."


def _underived(stage: str, can: bool) -> str:
    if can:
        return f"Making {stage} from the machine code..."
    return f"{stage} is not in this capture: open it with `irscope tui`, or compile with --{stage}."
