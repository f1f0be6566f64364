"""The compiler's passes of A and B side by side: what each did, and where A and B diverge.

The passes that a user selects by name, by line of Python, or by an operation, before any format.

LLVM's passes and what ptxas says of a variant: found by compiling its TTGIR again, only when asked for.

LLVM's passes of two variants, line by line: what each pass changed in A and in B, and what ptxas says.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from functools import lru_cache, partial

from irscope.compiling.toolchain.llvm_passes import LlvmPass, record_llvm_passes
from irscope.diff.line_map import NO_LINES
from irscope.diff.rows import Change, StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.facts.source.alignment import line_map
from irscope.findings.passes import (
    KINDS,
    Divergence,
    PassModule,
    PassStep,
    aligned_steps,
    history,
    summary,
    touched,
)
from irscope.languages.document import Document
from irscope.languages.language import Language
from irscope.model import UserError, Variant
from irscope.model.records import frozen
from irscope.targets import backend_of
from irscope.targets.cuda import ptxas_functions
from irscope.workspace.comparison import Comparison
from irscope.workspace.compiler_version import check_installed
from irscope.workspace.workspace import Workspace

# The two modules that the diff of a pass compares.
IN_A, IN_B, BOTH = "a", "b", "both"
_SIDES = IN_A, IN_B
# The diffs that are kept are those of the last passes that were summarized or shown.
_MOST_DIFFS = 64

_NOTHING = "nothing"


@dataclass(slots=True, eq=False)
class PassLine:
    """A pass as A and B ran it, None if one did not.

    `effects` is what it did in A and in B, "" if nothing; None until that is known. `touched` counts, per
    side, the operations of a source line that the pass touched; None if no line was asked for. `diverging`
    names the ways in which A and B diverge in it.
    """

    a: PassStep | None
    b: PassStep | None
    effects: tuple[str, str] | None = None
    touched: tuple[Mapping[Change, int], Mapping[Change, int]] | None = None
    diverging: list[str] = field(default_factory=list)

    @property
    def steps(self) -> list[PassStep]:
        """Return the pass in A, in B, or in both."""
        return [step for step in (self.a, self.b) if step is not None]

    @property
    def step(self) -> PassStep:
        """Return A's step; B's if A did not run the pass."""
        return self.steps[0]

    @property
    def changed(self) -> bool:
        """Return True if the pass changed a module."""
        return any(step.changed for step in self.steps)

    @property
    def options(self) -> str:
        """Return the options of the pass, of both sides if they differ."""
        left, right = (step.options if step else "" for step in (self.a, self.b))
        return _both(self, left, right, "  ")

    @property
    def summary(self) -> str:
        """Return the effect of the pass, of both sides if they differ; "" until that is known."""
        if self.effects is None:
            return ""
        left, right = (
            effect or _NOTHING if step else ""
            for effect, step in zip(self.effects, (self.a, self.b), strict=True)
        )
        return _both(self, left, right, "   ")

    def comparable(self, wanted: str) -> str:
        """Return `wanted` (IN_A, IN_B or BOTH) if both sides ran the pass, else the side that did."""
        if self.a is None or self.b is None:
            return IN_A if self.b is None else IN_B
        return wanted


@frozen
class PassChange:
    """The changes of a pass, or the differences of A and B after it (`between`).

    Without a diff, `note` says why, and `after` is the module after a pass that translated it to another
    language.
    """

    step: PassStep
    between: bool
    diff: StageDiff | None = None
    note: str = ""
    after: Document | None = None


@frozen
class PassDifference:
    """One way in which two variants differ, and what the first such passes did: lines for A and for B.

    `kind` is one of "operations", "layouts" and "attributes"; `divergence` is None if they do not differ in
    it.
    """

    kind: str
    divergence: Divergence | None
    a: Sequence[str] = ()
    b: Sequence[str] = ()


class PassComparison:
    """The passes of A and B, in order; those of one side if both are one variant or only one has any.

    `lines` are cheap to list. The methods compare modules, which takes up to seconds for all of them.
    """

    def __init__(self, pair: Comparison) -> None:
        self._pair = pair
        self._lines = line_map(pair.a.kernel, pair.b.kernel)
        a = pair.workspace.passes(pair.a)
        b = [] if pair.single else pair.workspace.passes(pair.b)
        self.paired = bool(a and b)
        # The summary of a pass and its page have the same diff.
        self._diff = lru_cache(_MOST_DIFFS)(self._new_diff)
        self.lines = [PassLine(left, right) for left, right in aligned_steps(a, b)]

    def mark_divergence(self) -> Divergence | None:
        """Find where A and B diverge, mark these passes, and return the first real divergence."""
        for kind, divergence in self._divergences().items():
            passes = divergence.passes if divergence is not None else None
            steps = () if passes is None else (*passes.a, *passes.b)
            for line in self.lines:
                if any(step in steps for step in line.steps):
                    line.diverging.append(kind)
        return self._pair.divergence.first if self._pair.divergence else None

    def differences(self) -> list[PassDifference]:
        """Return each way in which A and B can differ, and what the passes did in which they diverge."""
        result = []
        for kind, divergence in self._divergences().items():
            passes = divergence.passes if divergence is not None else None
            sides = (passes.a, passes.b) if passes is not None else ((), ())
            steps = zip(_SIDES, sides, strict=True)
            lines = ([self._describe(side, step) for step in ran] for side, ran in steps)
            result.append(PassDifference(kind, divergence, *lines))
        return result

    def summarize(self, line: PassLine) -> None:
        """Compute what a pass did, in A and in B."""
        sides = zip(_SIDES, (line.a, line.b), strict=True)
        left, right = (self._summary(side, step) if step else "" for side, step in sides)
        line.effects = left, right

    def count_touched(self, line: PassLine, number: int) -> bool:
        """Count what a pass did to the operations of a line of Python; return whether it did anything.

        The line is one of B's source.
        """
        sides = zip((line.a, line.b), (self._module_a_in_lines_of_b, self._module_b), strict=True)
        left, right = (touched(step, number, module) if step else {} for step, module in sides)
        line.touched = left, right
        return bool(left or right)

    def change(self, line: PassLine, wanted: str) -> PassChange:
        """Return a pass's changes in A or B (`wanted`); with BOTH, how A and B differ after it."""
        side = line.comparable(wanted)
        step = line.b if side == IN_B and line.b is not None else line.step
        left, right = _modules(line, side)
        between = side == BOTH
        if left is None or right is None:
            return PassChange(step, between, note="the capture does not have this module")
        if left == right and not between:
            return PassChange(step, between, note="changed nothing")
        if left.language != right.language:
            note = f"no diff between {left.language} and {right.language}"
            return PassChange(step, between, note=note, after=self._documents(side, left, right)[1])
        return PassChange(step, between, self._diff(side, step.stage, left, right))

    def _new_diff(self, side: str, stage: str, left: PassModule, right: PassModule) -> StageDiff:
        lines = self._lines if side == BOTH else NO_LINES
        return diff_stage(stage, *self._documents(side, left, right), lines)

    def _documents(self, side: str, left: PassModule, right: PassModule) -> tuple[Document, Document]:
        before = self._module_b(left) if side == IN_B else self._module_a(left)
        return before, self._module_a(right) if side == IN_A else self._module_b(right)

    def _summary(self, side: str, step: PassStep) -> str:
        return summary(step, self._module_b if side == IN_B else self._module_a, partial(self._diff, side))

    def _describe(self, side: str, step: PassStep) -> str:
        options = f" ({step.options})" if step.options else ""
        return f"{step.name}{options}: {self._summary(side, step) or _NOTHING}"

    def _divergences(self) -> dict[str, Divergence | None]:
        """Return the divergence of each kind, None if there is none; empty without a pair."""
        divergence = self._pair.divergence if self.paired else None
        return {} if divergence is None else {kind: getattr(divergence, kind) for kind in KINDS}

    def _module_a(self, module: PassModule) -> Document:
        return self._pair.workspace.module(module, self._pair.a)

    def _module_b(self, module: PassModule) -> Document:
        return self._pair.workspace.module(module, self._pair.b)

    def _module_a_in_lines_of_b(self, module: PassModule) -> Document:
        return self._lines.in_lines_of_b(self._module_a(module))


def _modules(line: PassLine, shown: str) -> tuple[PassModule | None, PassModule | None]:
    if shown == BOTH and line.a is not None and line.b is not None:
        return line.a.after, line.b.after
    step = line.b if shown == IN_B and line.b is not None else line.step
    return step.before, step.after


def _both(line: PassLine, left: str, right: str, gap: str) -> str:
    if line.a is None or line.b is None or left == right:
        return left or right
    return f"A {left}{gap}B {right}"


@dataclass(frozen=True)
class PassReport:
    """The selected passes of one or two variants, in order; `steps` are all passes of A.

    `differences` is None for one variant.
    """

    capture: str
    variants: Sequence[Variant]
    names: Sequence[str]
    lines: Sequence[PassLine]
    steps: Sequence[PassStep]
    differences: Sequence[PassDifference] | None


@frozen
class OperationEvent:
    """A pass that created or changed an operation, and the operation's text after it."""

    step: PassStep
    change: Change
    text: str


def pass_report(
    pair: Comparison, *, name: str = "*", changed: bool = False, line: int | None = None
) -> PassReport:
    """Report the passes of A and B, or of one variant if both are the same.

    `name` is a glob of passes; `changed` selects those that changed the module; `line` those
    that touched this line of the Python source. Raises UserError if the passes of a variant were
    not recorded.
    """
    passes = _recorded(pair)
    selected = []
    for pass_line in passes.lines:
        if not any(fnmatchcase(step.name, name) for step in pass_line.steps) or (
            changed and not pass_line.changed
        ):
            continue
        if line is None or passes.count_touched(pass_line, line):
            passes.summarize(pass_line)
            selected.append(pass_line)
    sides = 1 if pair.single else 2
    steps = [pass_line.a for pass_line in passes.lines if pass_line.a is not None]
    differences = None if pair.single else passes.differences()
    capture = str(pair.workspace.path)
    return PassReport(
        capture, pair.variants[:sides], pair.names[:sides], selected, steps, differences
    )  # fmt: skip


def pass_changes(pair: Comparison, name: str) -> list[PassChange]:
    """Return the diffs of the passes called `name`, or with that number.

    With one variant, the modules before and after the pass; with two, the modules of A and B
    after it. Of a pass that ran several times, those that changed something. Raises UserError if
    there is none.
    """
    passes = _recorded(pair)
    matches = [
        line for line in passes.lines if line.a is not None and name in (str(line.a.number), line.a.name)
    ]
    if not matches:
        raise UserError(f"no pass '{name}'; irscope passes without --show lists them")
    active = [line for line in matches if line.changed]
    return [passes.change(line, BOTH if passes.paired else IN_A) for line in active or matches]


def operation_history(workspace: Workspace, variant: Variant, place: str) -> list[OperationEvent]:
    """List the passes that created or changed the operation at `place`, "STAGE:LINE", lines from 1.

    Raises UserError if `place` is malformed, or no pass touched an operation there.
    """
    steps = _recorded_steps(workspace, variant)
    stage, colon, line = place.partition(":")
    stages = dict.fromkeys(step.stage for step in steps)
    if not colon or not line.isdecimal() or int(line) < 1 or stage not in stages:
        raise UserError(f"--operation {place}: not STAGE:LINE; stages with passes: {', '.join(stages)}")
    events = history(steps, stage, int(line) - 1, partial(workspace.module, variant=variant))
    if not events:
        raise UserError(f"--operation {place}: no pass created or changed an operation there")
    result = []
    for event in events:
        text = ""
        if event.step.after is not None:
            after = workspace.module(event.step.after, variant)
            text = Language.named(after.language).strip_location(after.lines[event.line]).strip()
        result.append(OperationEvent(event.step, event.change, text))
    return result


def _recorded(pair: Comparison) -> PassComparison:
    """Return the passes of a pair. Raises UserError if those of a variant were not recorded."""
    for variant in pair.variants:
        _recorded_steps(pair.workspace, variant)
    return PassComparison(pair)


def _recorded_steps(workspace: Workspace, variant: Variant) -> list[PassStep]:
    steps = workspace.passes(variant)
    if not steps:
        raise UserError(
            f"#{variant.id} has no passes; irscope compile --passes and irscope run --passes record them"
        )
    return steps


# The instructions whose counts changed most are named.
_MOST = 4


@frozen
class LlvmReport:
    """LLVM's passes of a variant in order, numbered from 1.

    `functions` are those in the log of ptxas with its statistics, `advice` its performance warnings.
    """

    variant: Variant
    name: str
    passes: tuple[tuple[int, LlvmPass], ...]
    total: int
    changed: int
    functions: tuple[tuple[str, str], ...]
    advice: tuple[str, ...]


def llvm_report(workspace: Workspace, variant: Variant, changed: bool) -> LlvmReport:
    """Report LLVM's passes of a variant, whose TTGIR is compiled again.

    `changed`: only passes that changed the module. Raises UserError if the variant has no TTGIR,
    another Triton is installed, or the compilation fails.
    """
    check_installed(variant, "LLVM's passes are found")
    backend = backend_of(variant.target)
    passes = record_llvm_passes(
        workspace.text(variant, "ttgir"),
        variant.target,
        {**variant.metadata, **dict(variant.config.values)},
        backend.assembly,
        variant.metadata,
        {name: value for name, value in variant.environment.items() if name.isupper()},
    )
    numbered = tuple(
        (n, llvm_pass) for n, llvm_pass in enumerate(passes, 1) if llvm_pass.changed or not changed
    )
    return LlvmReport(
        variant,
        workspace.names[variant.id],
        numbered,
        len(passes),
        sum(llvm_pass.changed for llvm_pass in passes),
        ptxas_functions(variant.log),
        backend.warnings(variant.log),
    )


def effect_text(each: LlvmPass) -> str:
    """Write how the counts of instructions changed: "-64 extractelement, +1 phi"."""
    if not each.changed:
        return "="
    if not each.effect:
        return "operands, attributes or order"
    texts = [f"{count:+d} {opcode}" for opcode, count in each.effect[:_MOST]]
    more = ", ..." if len(each.effect) > _MOST else ""
    return f"{', '.join(texts)}{more}"
