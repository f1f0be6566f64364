"""An open capture, which answers every question about it once, for every view.

The command line, the app, the reports, the lessons, notebooks, the pytest fixture and users' own Python call
the same methods, so that they show the same words and the same numbers.

Architecture Invariant: nothing here draws or formats for one view, and no view parses, compares or measures.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from irscope.model import Kernel, Launch, UserError, Variant
from irscope.store import find_variant, select_variants, variant_names, variant_number
from irscope.targets import backend_of
from irscope.workspace.fact_table import MeasuredFacts
from irscope.workspace.growth import Growth, GrowthWatch
from irscope.workspace.live import InProgress, SourceAges
from irscope.workspace.stage_contents import Disassemble, StageContents
from irscope.workspace.stage_reader import StageReader

if TYPE_CHECKING:
    from irscope.estimating.terms import Estimate
    from irscope.facts.fact import Fact, FactKind
    from irscope.facts.loops.kernel_loops import Loop
    from irscope.facts.registers.register_report import RegisterReport
    from irscope.findings.compilations import Compilations
    from irscope.findings.passes import PassStep
    from irscope.layouts.kernel_layouts import KernelLayouts
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.estimate_cache import Estimates
    from irscope.workspace.picking import Pick
    from irscope.workspace.table_sections import PlainValue, TableSection
    from irscope.workspace.verdict import Verdict

_Self = TypeVar("_Self", bound="Workspace")  # typing.Self needs Python 3.11


class Workspace(StageReader):
    """A capture open for reading, with everything that can be computed from it.

    Results are computed when they are first asked for and kept while there is room. Methods may be called
    from several threads. Stages that had to be derived (SASS) are kept when this closes: in the capture if
    `writable`, for callers whose own command wrote it, else in the user's cache folder. `also` are later
    captures, whose variants follow those of `path`. Raises UserError if one is not a capture.
    """

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
        self.path = self._contents.path
        # Of a large capture, they are read when they are asked for, so that opening takes constant time.
        self._loaded: dict[int, Variant] | None = None
        # The open files, and the index of the one that has a variant.
        self.captures, self.capture_index = self._contents.paths, self._contents.place
        try:
            if not self._contents.large:
                self._loaded = self._contents.variants()
            kernels = self._contents.kernels() if self._loaded is None else [v.kernel for v in self.variants]
        except UserError:
            self._contents.close()
            raise
        self._names: dict[int, str] | None = None
        self._facts = MeasuredFacts(self)
        self._ages = SourceAges(kernels)

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
        self._contents.close()

    # Variants.

    @property
    def _variants(self) -> dict[int, Variant]:
        if self._loaded is None:
            self._loaded = self._contents.variants()
        return self._loaded

    @property
    def variants(self) -> tuple[Variant, ...]:
        """Return every variant in the order of the capture, those still compiling last."""
        return tuple(self._variants.values())

    @property
    def names(self) -> Mapping[int, str]:
        """Return each variant's short name by id: the values that set it apart from its kernel's others."""
        if self._names is None:
            self._names = variant_names(self.variants)
        return self._names

    def __contains__(self, variant: Variant) -> bool:
        return variant.id in self._variants

    def by_id(self, id_: int) -> Variant:
        """Return the variant with this id. Raises KeyError if there is none."""
        if self._loaded is None and (variant := self._contents.variant(id_)):
            return variant
        return self._variants[id_]

    def variant(self, name: str | int) -> Variant:
        """Find the variant called `name`: its number (3 or "#3"), its short name, or NAME=VALUE pairs.

        Raises UserError, listing candidates, if none or several match.
        """
        if self._loaded is None and (number := variant_number(str(name))) is not None:
            with suppress(KeyError):
                return self.by_id(number)
        return find_variant(self.variants, str(name))

    def select(self, kernel: str | None = None, target: str | None = None) -> list[Variant]:
        """Return the variants whose kernel matches the glob `kernel` and whose target is `target`.

        None selects all. Raises UserError, listing what the capture has, if either matches nothing.
        """
        return select_variants(self.variants, kernel, target)

    # Pairs.

    def compare(self, a: Variant, b: Variant) -> Comparison:
        """Return everything about how B differs from A; computed when it is asked for."""
        from irscope.workspace.comparison import Comparison

        return Comparison(self, a, b)

    def equal_stages(self, variant: Variant) -> Mapping[int, tuple[str, str]]:
        """Return the stages of a large capture's variants, and those with the content `variant` has.

        By id, names separated by commas; empty if all artifacts are in memory. Raises UserError if
        the file is damaged.
        """
        return self._contents.equal_stages(variant)

    # Facts.

    def is_outdated(self, variant: Variant) -> bool:
        """Check whether there is a newer state of a variant that was being compiled."""
        current = (self._loaded or {}).get(variant.id)
        return current is not None and current is not variant and current != variant

    def facts(self, variant: Variant) -> Mapping[str, Fact]:
        """Return the facts of a variant with the lines that prove them, by name in table order."""
        return self._facts.of(variant)

    def stored_facts(self) -> dict[int, Mapping[str, Fact]]:
        """Return the facts that the capture itself stores, by variant id and name; without evidence.

        Variants that a fact was not measured for, because it is newer, are left out.
        """
        return self._contents.facts(self.variants)

    def all_facts(self, variants: Iterable[Variant] | None = None) -> dict[int, Mapping[str, Fact]]:
        """Return the facts of `variants` (None: all) by variant id: as stored, else measured.

        Facts read from the capture carry no evidence.
        """
        stored = self.stored_facts()
        selected = self.variants if variants is None else variants
        return {v.id: stored[v.id] if v.id in stored else self.facts(v) for v in selected}

    def store_facts(self, report: Callable[[int, int], None] = lambda done, total: None) -> None:
        """Measure the facts that the capture does not store yet and store them, which closes this.

        `report` receives the number of variants done and in total. A variant takes 2 to 5 ms.
        """
        from irscope.workspace.fact_table import store_facts

        store_facts(self, report)

    # The table.

    def sections(
        self,
        kernel: str | None = None,
        target: str | None = None,
        sort: str | None = None,
        kinds: Sequence[FactKind] | None = None,
        estimate: bool = False,
    ) -> list[TableSection]:
        """Return the variants by kernel and target with their facts; if `estimate`, with ESTIMATE_KINDS.

        `kernel` and `target` select as in `select`; `sort` is the name of a fact or config value
        (None: the capture's order); `kinds` are the facts that can be sorted by (None: all). Raises
        UserError if nothing matches.
        """
        from irscope.workspace.table_sections import capture_sections

        return capture_sections(self, kernel, target, sort, kinds, estimate)

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
        from irscope.workspace.estimate_cache import estimate_of

        return estimate_of(self, variant, launch, device)

    def pick(
        self,
        kernel: str | None = None,
        target: str | None = None,
        launch: str | Sequence[str] = (),
        top: str | int | None = None,
        device: str | None = None,
    ) -> list[Pick]:
        """Rank the configs of each problem that the capture launches, the most promising first.

        `kernel` and `target` select as in `select`. `launch` are launches to pick for instead, as
        text. `top` is how many configs to keep per problem: 8, or "10%" of them; the others are
        rejected as slower. `device` is its name, or a file that `irscope pick --calibrate` wrote.
        Raises UserError if nothing matches or nothing was launched.
        """
        from irscope.workspace.picking import picks

        launches = [launch] if isinstance(launch, str) else launch
        return picks(self, kernel, target, launches, None if top is None else str(top), device)

    def verdict(
        self, variant: Variant, against: Variant | None = None, launch: Launch | str | None = None
    ) -> Verdict:
        """Say what matters about a variant: can it launch, its resources, the bound, what to try.

        `against` is a variant to compare it with. `launch` is a recorded one (None: the first), or
        text as for `estimate`. Raises UserError if the launch does not fit the variant, and as
        `content`.
        """
        from irscope.workspace.verdict import verdict

        return verdict(self, variant, against, launch)

    # Loops, layouts, passes and compilations.

    def loops(self, variant: Variant, stage: str) -> tuple[Loop, ...]:
        """Return a stage's loops, each after the loop around it, with their `for` and `while` statements.

        Empty for the front end's stages and LLVM IR, and if loops cannot be known: without TTGIR, or
        if the control flow is irreducible or jumps to a computed address. Raises as `content`.
        """
        from irscope.workspace.variant_registers import variant_loops

        return variant_loops(self, variant, stage)

    def layouts(self, variant: Variant, stage: str = "ttgir") -> KernelLayouts:
        """Return the layouts of a variant's tensors in TTGIR, or in the `written_stage`.

        Raises as `content`. Triton's own linear layouts are used if the capture has them, or if the
        Triton that compiled the variant is installed here; irscope's otherwise.
        """
        from irscope.layouts.kernel_layouts import KernelLayouts

        version = variant.toolchain.versions.get("triton", "")
        assembly = (self.read(variant, backend_of(variant.target).assembly) or b"").decode("utf-8", "replace")
        document = self.document(variant, stage)
        return KernelLayouts(document, variant.target, version, assembly, self._contents.layouts(variant))

    def ask_triton_for_layouts(self, variant: Variant) -> None:
        """Have the installed Triton compute a variant's layouts if it is the one that compiled it.

        They are kept when this closes. Raises as `content`.
        """
        from irscope.compiling.toolchain.triton_layouts import installed_triton, triton_layouts

        version = variant.toolchain.versions.get("triton", "")
        if self._contents.layouts(variant) is None and version and installed_triton() == version:
            layouts = triton_layouts(self.text(variant, "ttgir"), variant.target)
            self._contents.add_layouts(variant, dict(layouts))

    def registers(self, variant: Variant, stage: str | None = None) -> RegisterReport:
        """Return the register pressure of an assembly stage, the values live at its peak, and spills.

        `stage` is "sass", "ptx" or "amdgcn"; None: the machine code, or PTX if SASS cannot be had.
        Takes 10 to 100 ms, and SASS has to be derived first. Raises as `content`, and UserError for
        another stage.
        """
        from irscope.workspace.variant_registers import variant_registers

        return variant_registers(self, variant, stage)

    def passes(self, variant: Variant) -> list[PassStep]:
        """Return the compiler's passes of a variant in order; none if they were not recorded."""
        return self._contents.passes(variant)

    def add_passes(self, variant: int, path: Path, stored: int) -> None:
        """Take the passes of a variant from the capture at `path`, where it has the id `stored`.

        Raises UserError if `path` is not a capture.
        """
        self._contents.add_passes(variant, path, stored)

    def compilations(self) -> list[Compilations]:
        """Return the compilations of each kernel: how many, why, which produced nothing new; no edits."""
        from irscope.findings.compilations import compilations_by_kernel

        compiled = [variant for variant in self.variants if variant.edit is None]
        return compilations_by_kernel(compiled, self.all_facts(compiled))

    # Variants that are still compiling.

    def put(self, variant: Variant, path: Path | None = None) -> None:
        """Add a variant, or replace it by a newer state.

        Its stages are in the capture at `path` if given. Raises UserError if `path` is not a
        capture.
        """
        if path is not None:
            self._contents.add_capture(path, variant.id)
        self._variants[variant.id] = variant
        self._facts.forget([variant.id])
        self.estimates.forget([variant.id])
        self._names = None

    def drop(self, ids: Collection[int]) -> None:
        """Remove variants that will not be compiled."""
        for id_ in ids:
            self.in_progress.remove(id_)
            del self._variants[id_]
            self._facts.forget([id_])
        self._names = None
        self._ages.keep(variant.kernel for variant in self._variants.values())

    def reread(self, whole: bool = True) -> set[int]:
        """Load what was added to the file since; return the ids of the new variants.

        Not `whole`: only those and the ones that failed before and compiled since, which is quick.
        Raises UserError if the file is damaged.
        """
        current = self._contents.variants() if whole else self._contents.newer(self._variants)
        added = current.keys() - self._variants.keys() if whole else current.keys()
        for id_ in sorted(added):
            self.renew_source(current[id_].kernel)
        if current:
            self._facts.forget(current)
            if "estimates" in vars(self):
                self.estimates.forget(current)
            self._loaded = dict(sorted((self._variants | current).items()))
            self._names = None
        return set(added)

    def renew_source(self, kernel: Kernel) -> None:
        """Make `kernel` the current source among those of the same name and file."""
        self._ages.renew(kernel)

    def age(self, variant: Variant) -> str:
        """Say how many source edits ago it was compiled: `now`, `2 before`; "" if there was no edit."""
        return self._ages.of(variant.kernel)
