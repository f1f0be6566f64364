"""An open capture, which answers every question about it once, for every view.

The command line, the app, the reports, the lessons, notebooks, the pytest fixture and users' own Python call
the same methods, so that they show the same words and the same numbers.

Architecture Invariant: nothing here draws or formats for one view, and no view parses, compares or measures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, TypeVar

from irscope.model import Launch, UserError, Variant
from irscope.model.text import split_entries
from irscope.store import find_variant, select_variants, variant_names, variant_number
from irscope.targets import backend_of
from irscope.workspace.growth import Growth, GrowthWatch, InProgress, LiveVariants
from irscope.workspace.stage_contents import Disassemble, StageContents
from irscope.workspace.stage_reader import StageReader

if TYPE_CHECKING:
    from irscope.estimating.terms import Estimate
    from irscope.facts.fact import Fact
    from irscope.facts.loops.kernel_loops import Loop
    from irscope.facts.registers.register_report import RegisterReport
    from irscope.findings.compilations import Compilations
    from irscope.findings.passes import PassStep
    from irscope.layouts.kernel_layouts import KernelLayouts
    from irscope.model.kernel_timeline import KernelTimeline
    from irscope.workspace.bits import Evaluations, ProblemBits
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.estimate_cache import Estimates
    from irscope.workspace.picking import Pick
    from irscope.workspace.table import TableSection
    from irscope.workspace.table_sections import PlainValue
    from irscope.workspace.verdict import Verdict

_Self = TypeVar("_Self", bound="Workspace")  # typing.Self needs Python 3.11


class Workspace(StageReader):
    """A capture open for reading, with everything that can be computed from it.

    Results are computed when they are first asked for and kept while there is room. Methods may be called
    from several threads. Stages that had to be derived (SASS) are kept when this closes: in the capture if
    `writable`, for callers whose own command wrote it, else in the user's cache folder. `also` are later
    captures, whose variants follow those of `path`. `live` is what changes while this is open. Raises
    UserError if one is not a capture.
    """

    most_estimated: ClassVar[int] = 128  # views that nobody asked for estimates make no more of them

    def __init__(
        self,
        path: Path | str,
        disassemble: Disassemble | None = None,
        writable: bool = False,
        also: Sequence[Path] = (),
    ) -> None:
        self.in_progress = InProgress()
        self.growth = Growth()
        self.watch = GrowthWatch(Path(path))  # sees what is added from here on
        super().__init__(StageContents(path, self.in_progress, disassemble, writable, also))
        self.path = self.contents.path
        self._facts: dict[int, Mapping[str, Fact]] = {}  # those measured so far
        self._timelines: dict[int, dict[int, KernelTimeline]] = {}  # by variant and iterations
        try:
            self.live = LiveVariants(self.contents, self.in_progress, self._forget)
        except UserError:
            self.contents.close()
            raise

    def __repr__(self) -> str:
        return f"Workspace('{self.path}')"

    def __enter__(self: _Self) -> _Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the file and keep what had to be derived."""
        if "estimates" in vars(self):
            self.estimates.save()
        self.contents.close()

    def _forget(self, ids: Collection[int]) -> None:
        """Forget what was computed from variants that changed."""
        for id_ in ids:
            self._facts.pop(id_, None)
            self._timelines.pop(id_, None)
        if "estimates" in vars(self):
            self.estimates.forget(ids)

    # Variants.

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return every variant in the order of the capture, those still compiling last."""
        return tuple(self.live.by_number.values())

    @property
    def names(self) -> Mapping[int, str]:
        """Return each variant's short name by id: the values that set it apart from its kernel's others."""
        return self.live.names

    def names_among(self, variants: Sequence[Variant]) -> Mapping[int, str]:
        """Return short names by id that only set these variants apart from each other."""
        return variant_names(variants)

    def __contains__(self, variant: Variant) -> bool:
        return variant.id in self.live.by_number

    def variant(self, name: str | int) -> Variant:
        """Find the variant called `name`: its number (3 or "#3"), its short name, or NAME=VALUE pairs.

        Raises UserError, listing candidates, if none or several match.
        """
        number = variant_number(str(name))
        if number is not None:
            with suppress(KeyError):
                return self.live.by_id(number)
        return find_variant(self.variants, str(name))

    def select(self, kernel: str | None = None, target: str | None = None) -> list[Variant]:
        """Return the variants whose kernel matches the glob `kernel` and whose target is `target`.

        None selects all. Raises UserError, listing what the capture has, if either matches nothing.
        """
        return select_variants(self.variants, kernel, target)

    @property
    def abandoned(self) -> bool:
        """Return True if the capture is empty and no other process compiles into it."""
        return not self.variants and not Growth.read(self.path).running

    # Pairs.

    def compare(self, a: Variant, b: Variant, launch: str | Sequence[str] = ()) -> Comparison:
        """Return everything about how B differs from A; computed when it is asked for.

        `launch` is how both are launched instead of as recorded, "grid=(cdiv(M, BLOCK_M),), M=4096", or
        several such texts. Raises UserError if one does not fit both variants, or has a name that neither
        uses.
        """
        from irscope.workspace.comparison import Comparison

        if launch:
            from irscope.workspace.launch_expression import launched

            (a, b), refusals = launched((a, b), [launch] if isinstance(launch, str) else launch)
            if refusals:
                raise UserError(next(iter(refusals.values())))
        return Comparison(self, a, b)

    # Facts.

    def facts(self, variant: Variant) -> Mapping[str, Fact]:
        """Return the facts of a variant with the lines that prove them, by name in table order."""
        from irscope.facts.measure import measure

        cached = self._facts.get(variant.id)
        if cached is not None:
            return cached
        measured = self._facts[variant.id] = measure(variant, partial(self._measured_stage, variant))
        # Checked after the assignment: the variant may have been compiled while this thread measured it.
        if variant.id in self.in_progress or self.live.is_outdated(variant):
            self._facts.pop(variant.id, None)
        return measured

    def _measured_stage(self, variant: Variant, stage: str) -> bytes | None:
        """Return a stored stage; derive assembly that only a disassembler has (SPIR-V)."""
        if stage == backend_of(variant.target).assembly and self.contents.derivable(variant, stage):
            with suppress(UserError):
                return self.contents.find(variant, stage)
        return self.contents.read(variant, stage)

    def all_facts(
        self, variants: Iterable[Variant] | None = None, estimate: bool = False
    ) -> dict[int, Mapping[str, Fact]]:
        """Return the facts of `variants` (None: all) by variant id: as stored, else measured.

        Facts read from the capture carry no evidence. `estimate` adds estimate, bound and
        estimate_key of the first launch.
        """
        stored = self.contents.facts(self.variants)
        selected = self.variants if variants is None else tuple(variants)
        facts = {v.id: stored[v.id] if v.id in stored else self.facts(v) for v in selected}
        if estimate:
            return {v.id: {**facts[v.id], **self.estimates.facts(v)} for v in selected}
        return facts

    def store_facts(self, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Measure the facts that the capture does not store yet and store them, which closes this.

        `report` receives the number of variants done and in total. A variant takes 2 to 5 ms.
        """
        from irscope.facts.measure import FACTS_VERSION, to_json
        from irscope.store import CaptureWriter

        stored = self.contents.facts(self.variants)
        missing = [variant for variant in self.variants if variant.id not in stored]
        measured = {}
        for variant in missing:
            measured[variant.id] = to_json(self.facts(variant))
            report(len(measured), len(missing))
        self.close()
        if measured:
            with CaptureWriter.resume(self.path, amends=True) as writer:
                for id_, values in measured.items():
                    writer.add_facts(id_, FACTS_VERSION, values)

    # The table.

    def sections(
        self,
        kernel: str | None = None,
        target: str | None = None,
        sort: str | None = None,
        estimate: bool = False,
    ) -> list[TableSection]:
        """Return the variants by kernel and target with their facts; if `estimate`, with ESTIMATE_KINDS.

        `kernel` and `target` select as in `select`; `sort` is the name of a fact or config value
        (None: the capture's order). Raises UserError if nothing matches.
        """
        from irscope.workspace.fact_table import FactTable
        from irscope.workspace.table_sections import sections

        variants = self.select(kernel, target)
        facts = FactTable()
        facts.add_all(variants, self.all_facts(variants, estimate))
        return sections(variants, self.names, facts, sort, estimate)

    def table(
        self, kernel: str | None = None, target: str | None = None, estimate: bool = False
    ) -> list[dict[str, PlainValue]]:
        """Return one dict per variant.

        Its keys are id, kernel, target, name, config values, facts, problem, duplicate_of.
        `pandas.DataFrame(capture.table())` works. A config value that has the name of a fact appears
        as `config.NAME`. `kernel`, `target` and errors are as in `select`. `estimate` adds estimate,
        bound and estimate_key of the first launch.
        """
        from irscope.workspace.table_sections import table_rows

        return table_rows(self.sections(kernel, target, estimate=estimate))

    # Estimates.

    @cached_property
    def estimates(self) -> Estimates:
        """Return the estimates of launches that were made so far."""
        from irscope.workspace.estimate_cache import Estimates

        return Estimates(self)

    def estimate(
        self, variant: Variant, launch: Launch | str | None = None, device: str | None = None
    ) -> Estimate:
        """Estimate how long a launch of a variant takes on a device, and what limits it.

        `launch` is a recorded one (None: the first), or text: "grid=(cdiv(M, BLOCK_M),), M=4096".
        `device` None is that of the variant's target. Takes about 0.1 s the first time. Raises
        UserError if there is no launch, or no estimate for it.
        """
        from irscope.workspace.launch_expression import parse_launch
        from irscope.workspace.picking import device_named

        if isinstance(launch, str):
            launch = parse_launch(launch).checked([variant]).launch_of(variant)
        if launch is None and not variant.launches:
            raise UserError(f"#{variant.id} was not launched; give a launch, such as 'grid=(64,), M=4096'")
        rates, fit = device_named(device) if device else (None, None)
        return self.estimates.of(variant, launch or variant.launches[0], rates, fit)

    def pick(
        self,
        kernel: str | None = None,
        target: str | None = None,
        launch: str | Sequence[str] = (),
        top: str | int | None = None,
        device: str | None = None,
        same_bits_as: Variant | None = None,
    ) -> list[Pick]:
        """Rank the configs of each problem that the capture launches, the most promising first.

        `kernel` and `target` select as in `select`. `launch` are launches to pick for instead, as
        text. `top` is how many configs to keep per problem: 8, or "10%" of them; the others are
        rejected as slower. `device` is its name, or a file that `irscope pick --calibrate` wrote.
        `same_bits_as` is a variant: only its problems are ranked, and configs that compute other bits are
        rejected. Raises UserError if nothing matches or nothing was launched.
        """
        from irscope.workspace.picking import picks

        launches = [launch] if isinstance(launch, str) else launch
        share = None if top is None else str(top)
        return picks(self, kernel, target, launches, share, device, same_bits_as=same_bits_as)

    def verdict(
        self, variant: Variant, against: Variant | None = None, launch: Launch | str | None = None
    ) -> Verdict:
        """Say what matters about a variant: can it launch, its resources, the bound, what to try.

        `against` is a variant to compare it with. `launch` is a recorded one (None: the first), or
        text as for `estimate`. Raises UserError if the launch does not fit the variant or has a name that no
        kernel of the capture uses, and as `content`.
        """
        from irscope.workspace.verdict import verdict

        return verdict(self, variant, against, launch)

    # The same bits.

    @cached_property
    def evaluations(self) -> Evaluations:
        """Return the evaluations of launches that were made so far."""
        from irscope.workspace.bits import Evaluations

        return Evaluations(self)

    def bits(
        self,
        kernel: str | None = None,
        target: str | None = None,
        launch: str | Sequence[str] = (),
        variants: Sequence[Variant] | None = None,
        reference: Variant | None = None,
        report: Callable[[int, int], None] = lambda done, total: None,
        invariant: str | Sequence[str] = (),
    ) -> list[ProblemBits]:
        """Say which variants compute the same bits at each launch that the capture has, and what decides.

        `kernel` and `target` select as in `select`; `variants` are those to compare instead. `launch` are
        launches to answer for instead, as text. `reference` is the variant that others are compared with
        (None: the first of each launch). With `variants` or `reference`, flags and types such as
        `PRECISION="tf32"` do not tell problems apart. `report` receives the number of variants done and in
        total.
        `invariant` names what varies with the number of rows, "M" or "grid": each answer, one per problem at
        its largest size, then says whether the bits of a row depend on that.
        Raises UserError if nothing matches, or a launch fits no variant or has a name that nothing uses.
        """
        from irscope.workspace.bits import bit_classes

        launches = [launch] if isinstance(launch, str) else launch
        across_flags = variants is not None or reference is not None
        if variants is None:
            variants = [variant for variant in self.select(kernel, target) if variant.edit is None]
        if invariant:
            from irscope.workspace.invariance import with_invariance

            names = split_entries(invariant) if isinstance(invariant, str) else invariant
            return with_invariance(self, variants, launches, names, reference, report)
        return bit_classes(self, variants, launches, reference, report, across_flags)

    # Loops, layouts, passes and compilations.

    def loops(self, variant: Variant, stage: str) -> tuple[Loop, ...]:
        """Return a stage's loops, each after the loop around it, with their `for` and `while` statements.

        Empty for the front end's stages and LLVM IR, and if loops cannot be known: without TTGIR, or
        if the control flow is irreducible or jumps to a computed address. Raises as `content`.
        """
        from irscope.facts.loops.kernel_loops import kernel_loops, mlir_loops
        from irscope.facts.loops.scf import trip_counts

        document = self.document(variant, stage)
        ttir = self.document(variant, "ttir") if self.contents.key(variant, "ttir") else None
        if stage in ("ttir", "ttgir"):
            return mlir_loops(document, trip_counts(ttir, variant) if ttir else {})
        backend = backend_of(variant.target)
        is_assembly = stage in (backend.assembly, backend.machine_code)
        if not is_assembly or not self.contents.key(variant, "ttgir"):
            return ()
        return kernel_loops(document, stage, self.document(variant, "ttgir"), ttir, variant)

    def layouts(self, variant: Variant, stage: str = "ttgir") -> KernelLayouts:
        """Return the layouts of a variant's tensors in TTGIR, or in the `written_stage`.

        Raises as `content`. Triton's own linear layouts are used if the capture has them, or if the
        Triton that compiled the variant is installed here; irscope's otherwise.
        """
        from irscope.layouts.kernel_layouts import KernelLayouts

        version = variant.toolchain.versions.get("triton", "")
        assembly = (self.contents.read(variant, backend_of(variant.target).assembly) or b"").decode(
            "utf-8", "replace"
        )
        document = self.document(variant, stage)
        return KernelLayouts(document, variant.target, version, assembly, self.contents.layouts(variant))

    def registers(self, variant: Variant, stage: str | None = None) -> RegisterReport:
        """Return the register pressure of an assembly stage, the values live at its peak, and spills.

        `stage` is "sass", "ptx" or "amdgcn"; None: the machine code, or PTX if SASS cannot be had.
        Takes 10 to 100 ms, and SASS has to be derived first. Raises as `content`, and UserError for
        another stage.
        """
        from irscope.workspace.variant_registers import variant_registers

        return variant_registers(self, variant, stage)

    def kernel_timeline(self, variant: Variant, iterations: int = 4) -> KernelTimeline:
        """Return what is in flight when in one program of a variant, and what waits for what.

        `iterations` is how many iterations of the steady state it has, with those before and after. Takes
        0.05 to 0.5 s the first time. If there is no timeline, `notes` say why.
        """
        timelines = self._timelines.setdefault(variant.id, {})
        if iterations not in timelines:
            from irscope.estimating.timeline_clock import kernel_timeline
            from irscope.facts.artifacts import VariantArtifacts
            from irscope.model.kernel_timeline import KernelTimeline

            artifacts = VariantArtifacts(variant, partial(self.contents.read, variant))
            try:
                document = self.document(variant, "ttgir")
            except UserError as error:
                timelines[iterations] = KernelTimeline(notes=(f"no timeline: {error}",))
            else:
                timeline = kernel_timeline(document, artifacts, iterations)
                timelines[iterations] = replace(timeline, shared=artifacts.count("shared") or 0)
        return timelines[iterations]

    def passes(self, variant: Variant) -> list[PassStep]:
        """Return the compiler's passes of a variant in order; none if they were not recorded."""
        return self.contents.passes(variant)

    def compilations(self) -> list[Compilations]:
        """Return the compilations of each kernel: how many, why, which produced nothing new; no edits."""
        from irscope.findings.compilations import compilations_by_kernel

        compiled = [variant for variant in self.variants if variant.edit is None]
        return compilations_by_kernel(compiled, self.all_facts(compiled))
