"""The verdict on a variant or a pair: can it launch, what limits it, what matters most, what to try next.

The command line, `Workspace.verdict` and the MCP server give the same answer. It is short on purpose: a
program, or an agent that edits a kernel, reads it after each compilation.

The resources that a variant uses, each with the limit of its target.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache, partial
from typing import TYPE_CHECKING

from irscope.facts.fact import Evidence, FactKind, Facts, number_of, status_of, value_of
from irscope.facts.occupancy import TENSOR_MEMORY_COLUMNS, spills
from irscope.facts.registry import LIMITER, OCCUPANCY, REGISTERS, SHARED, STACK, TENSOR_MEMORY, THREADS
from irscope.findings.finding import Finding
from irscope.model import Launch, UserError, Value, Variant
from irscope.model.records import frozen
from irscope.model.text import one_line, pluralize
from irscope.targets import MAX_THREADS_PER_BLOCK, Device, device_of
from irscope.workspace.launch_expression import parse_launch

if TYPE_CHECKING:
    from irscope.estimating.terms import Estimate
    from irscope.workspace.comparison import Comparison
    from irscope.workspace.pair_bits import PairBits
    from irscope.workspace.workspace import Workspace


@frozen
class Resource:
    """A resource of a thread or block.

    `name` is "registers", "shared", "threads" or another one. `used` is how much of it the variant uses,
    `limit` the most that it may use (None: no limit is known). `unit` is what both count ("bytes", "threads
    per block").
    """

    name: str
    used: int
    limit: int | None
    unit: str

    @property
    def text(self) -> str:
        """Return `registers 255 of 255`, `shared 98,304 of 232,448 B`."""
        unit = " B" if self.unit == "bytes" else ""
        limit = "" if self.limit is None else f" of {self.limit:,}"
        return f"{self.name} {self.used:,}{limit}{unit}"


def resources(variant: Variant, facts: Facts) -> tuple[Resource, ...]:
    """Return the resources that are known; a stack and tensor memory only if they are used."""
    return tuple(_resources(variant, facts))


def register_limit(device: Device, warps: int) -> int:
    """Return the most registers that a thread may have so that one block of `warps` warps fits.

    Each partition holds a share of the warps; registers are allocated in units.
    """
    warps_per_partition = -(-max(warps, 1) // device.partitions)
    most = device.lane_registers // warps_per_partition // device.register_unit * device.register_unit
    return min(device.thread_registers, most)


def _resources(variant: Variant, facts: Facts) -> Iterator[Resource]:
    device = device_of(variant.target, variant.metadata)
    threads = _count(facts, THREADS)
    warps = None if threads is None else threads // variant.target.warp_size
    if (registers := _count(facts, REGISTERS)) is not None:
        limit = register_limit(device, warps) if device and warps else None
        yield Resource("registers", registers, limit, "registers per thread")
    if stack := _count(facts, STACK):
        name = "stack (spills)" if spills(facts) else "stack"
        yield Resource(name, stack, None, "bytes")
    if (shared := _count(facts, SHARED)) is not None:
        yield Resource("shared", shared, device.block_shared if device else None, "bytes")
    if threads is not None:
        yield Resource("threads", threads, MAX_THREADS_PER_BLOCK, "threads per block")
    if columns := _count(facts, TENSOR_MEMORY):
        yield Resource("tensor memory", columns, TENSOR_MEMORY_COLUMNS, "columns")


def _count(facts: Facts, kind: FactKind) -> int | None:
    number = number_of(facts, kind)
    return None if number is None else int(number)


MOST_POINTS = 3
NO_LAUNCH = 'no launch is known; give one, such as "grid=(cdiv(M, BLOCK_M),), M=4096"'


@frozen
class KeyPoint:
    """One thing that matters: a sentence, and where it shows.

    `kind` names the subject, as in Finding. `text` is the sentence. `line` is the line of the kernel's file
    that it is about, None if it is about the whole kernel; `evidence` is the first line that proves it,
    `variant` the id of the variant whose stage has that line. `causes` are the known reasons, which the
    sentence has too.
    """

    kind: str
    text: str
    line: int | None = None
    evidence: Evidence | None = None
    variant: int | None = None
    causes: tuple[str, ...] = ()

    @property
    def stage_line(self) -> str:
        """Return the evidence as `ptx 120`; "" without any."""
        return f"{self.evidence.stage} {self.evidence.line + 1}" if self.evidence else ""


@frozen
class Remedy:
    """Something to try, and the reason.

    `action` is what to try, `reason` is why it may help. `basis` is what the reason comes from: "capture"
    (another variant of this capture shows it), "estimate", "lint" (a rule's fix) or "rule" (arithmetic with
    the limits of the target; compile it to be sure). `config` are the values to compile with, by name; empty
    if the source has to change. `variant` is the one that shows it.
    """

    action: str
    reason: str
    basis: str
    config: tuple[tuple[str, Value], ...] = ()
    variant: int | None = None

    def __str__(self) -> str:
        return (
            f"try: {self.action} ({self.reason})"
            if self.basis == "lint"
            else f"try {self.action}: {self.reason}"
        )


@dataclass(frozen=True)
class PairVerdict:
    """How the variant compares with another one, `against`.

    `against` is the variant that it is compared with. `change` are the config values that differ, from that
    one to this one; `duplicate` says that both have the same machine code; `faster` is the id of the faster
    one by estimate (None: equal, or not estimated), `estimate` the sentence about it. `bits` says whether
    both compute the same bits (None: not launched with the same inputs). `name` is the short name of
    `against`. `points` are the most important differences, `more` is the number of others.
    """

    against: Variant
    name: str
    change: str
    duplicate: bool
    points: tuple[KeyPoint, ...]
    more: int
    estimate: str
    faster: int | None
    bits: PairBits | None

    @property
    def bits_text(self) -> str:
        """Say in one sentence whether both compute the same bits, unless a point says that they differ."""
        pointed = any(point.kind == "bits" for point in self.points)
        return "" if self.bits is None or pointed else self.bits.text


@dataclass(frozen=True)
class Verdict:
    """The verdict on `variant`, whose short name is `name`.

    `resources` are registers, memory and threads with their limits. `occupancy` is the share of the
    multiprocessor's warps that can be resident (0 to 1, None: unknown), `limiter` the resource that limits
    it. `pair` is the comparison with another variant (None: none was asked for). `launchable` is None if it
    is unknown, such as without metadata; `problem` says in one line why the variant failed to compile or
    cannot be launched. `launch` is the launch that was estimated, `estimate` the result; `no_estimate` says
    why there is none. `points` are the most important findings, `more` is the number of others. `remedies`
    are things to try; empty if none is known.
    """

    variant: Variant
    name: str
    launchable: bool | None
    problem: str
    resources: tuple[Resource, ...]
    occupancy: float | None
    limiter: str
    launch: Launch | None
    estimate: Estimate | None
    no_estimate: str
    points: tuple[KeyPoint, ...]
    more: int
    remedies: tuple[Remedy, ...]
    pair: PairVerdict | None = None

    def __repr__(self) -> str:
        points = pluralize(len(self.points) + self.more, "point")
        problem = f", {one_line(self.problem)}" if self.problem else ""
        return f"Verdict(#{self.variant.id} {one_line(self.name)}{problem}: {points})"

    def _repr_html_(self) -> str:
        from irscope.model.text import html_list, html_paragraph

        heading = html_paragraph(f"#{self.variant.id} {self.name}", bold=True)
        points = html_list((point.text for point in self.points), ordered=True)
        remedies = html_list(f"try {remedy.action}: {remedy.reason}" for remedy in self.remedies)
        return heading + html_paragraph(self.problem or self.bound) + points + remedies

    @property
    def bound(self) -> str:
        """Return the estimate in words, or why there is none.

        For example "390 us estimated on H100, bound by latency".
        """
        if self.estimate is None:
            return f"not estimated: {self.no_estimate}"
        estimate = self.estimate
        share = next((term for term in estimate.terms if term.name == estimate.bound), None)
        why = f" ({share.text})" if share else ""
        depends = f", depends on the values of {', '.join(estimate.depends)}" if estimate.depends else ""
        return f"{estimate.text} us estimated on {estimate.device}, bound by {estimate.bound}{why}{depends}"


def verdict(
    workspace: Workspace, variant: Variant, against: Variant | None = None, launch: Launch | str | None = None
) -> Verdict:
    """Return the verdict on a variant; see `Workspace.verdict`."""
    from irscope.workspace.verdict_points import points
    from irscope.workspace.verdict_remedies import remedies

    # Text is often for several variants, of all kernels.
    expression = parse_launch(launch).checked(workspace.variants) if isinstance(launch, str) else None
    known_launch = (
        expression.launch_of(variant) if expression else launch if isinstance(launch, Launch) else None
    )
    facts = workspace.facts(variant)
    status = status_of(variant, facts)
    estimate, no_estimate = _estimate(workspace, variant, known_launch)
    bare = Verdict(
        variant=variant,
        name=workspace.names[variant.id],
        launchable=None if status is None else status.ok,
        problem=one_line(status.problem) if status else "",
        resources=() if variant.failure else resources(variant, facts),
        occupancy=number_of(facts, OCCUPANCY),
        limiter=str(value_of(facts, LIMITER) or ""),
        launch=known_launch or (variant.launches[0] if variant.launches else None),
        estimate=estimate,
        no_estimate=no_estimate,
        points=(),
        more=0,
        remedies=(),
    )
    registers = cache(partial(workspace.registers, variant))
    key_points = points(workspace, bare, registers)
    bare = replace(bare, points=tuple(key_points))
    return replace(
        bare,
        points=tuple(key_points[:MOST_POINTS]),
        more=max(0, len(key_points) - MOST_POINTS),
        remedies=tuple(remedies(workspace, bare, expression, registers)),
        pair=None if against is None else _pair(workspace, against, bare, launch),
    )


def finding_point(pair: Comparison, finding: Finding) -> KeyPoint:
    """Return a finding about a pair as a point, with its line of B's source."""
    for variant, evidence in ((pair.b, finding.evidence_b), (pair.a, finding.evidence_a)):
        if evidence:
            line = python_line(pair.workspace, variant, evidence[0])
            return KeyPoint(finding.kind, finding.text, line, evidence[0], variant.id)
    return KeyPoint(finding.kind, finding.text)


def python_line(workspace: Workspace, variant: Variant, evidence: Evidence) -> int | None:
    """Return the kernel's own line that a line of a stage comes from; None if that is unknown."""
    try:
        source_places = workspace.source_map(variant, evidence.stage).of_line(evidence.line)
    except (UserError, ValueError):
        return None
    kernel_lines = [place.line for place in source_places if place.file == variant.kernel.source.file]
    return kernel_lines[-1] if kernel_lines else None


def _pair(workspace: Workspace, against: Variant, own: Verdict, launch: Launch | str | None) -> PairVerdict:
    pair = _comparison(workspace, against, own.variant, launch)
    points = [finding_point(pair, finding) for finding in pair.main_findings]
    sentence, faster = _faster(pair, own, launch)
    return PairVerdict(
        against=against,
        name=workspace.names[against.id],
        change=pair.config_text,
        duplicate=pair.duplicate,
        points=tuple(points[:MOST_POINTS]),
        more=max(0, len(pair.findings) - MOST_POINTS),
        estimate=sentence,
        faster=faster,
        bits=pair.bits,
    )


def _comparison(
    workspace: Workspace, against: Variant, variant: Variant, launch: Launch | str | None
) -> Comparison:
    """Compare two variants, both launched so if the launch fits both."""
    if isinstance(launch, str):
        with suppress(UserError):
            return workspace.compare(against, variant, launch)
    return workspace.compare(against, variant)


def _faster(pair: Comparison, own: Verdict, launch: Launch | str | None) -> tuple[str, int | None]:
    """Return the faster one of the pair by estimate, in words and by id; "" if that is unknown."""
    from irscope.workspace.estimate_text import are_equal, estimate_difference

    unknown = pair.mismatch or pair.single or own.estimate is None or isinstance(launch, Launch)
    if unknown or pair.estimates is None:
        return "", None
    before, after = pair.estimates.a, pair.estimates.b
    faster = pair.b if after.microseconds < before.microseconds else pair.a
    return estimate_difference(before, after), None if are_equal(before, after) else faster.id


def _estimate(workspace: Workspace, variant: Variant, launch: Launch | None) -> tuple[Estimate | None, str]:
    if variant.failure is not None:
        return None, "it did not compile"
    if launch is None and not variant.launches:
        return None, NO_LAUNCH
    try:
        return workspace.estimate(variant, launch), ""
    except UserError as error:
        return None, str(error)
