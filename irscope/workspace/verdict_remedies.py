"""Remedies for a variant: "try num_warps=8: acc takes 512 registers per thread over 128 threads".

Other variants of the capture are the best evidence: one that differs in a single value and lacks the problem.
Without one, arithmetic with the limits of the target suggests a value, and lint rules bring their fixes. If
nothing suggests a change, there is no remedy.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import TYPE_CHECKING

from irscope.facts.fact import number_of, status_of
from irscope.facts.matrix_products import IEEE
from irscope.facts.occupancy import spills
from irscope.facts.registry import BUFFERS, REGISTERS, SHARED
from irscope.model import Launch, UserError, Value, Variant, format_value
from irscope.model.text import microseconds_text, one_line
from irscope.targets import MAX_THREADS_PER_BLOCK, device_of, in_words_of
from irscope.workspace.problem_sizes import problem_text
from irscope.workspace.verdict import Remedy, Verdict, register_limit
from irscope.workspace.verdict_points import Registers, diagnostics

if TYPE_CHECKING:
    from irscope.workspace.launch_expression import LaunchExpression
    from irscope.workspace.workspace import Workspace

MOST_REMEDIES = 3
_WARPS = "num_warps"
# Tensors cause spills if they take this share of the registers.
_CAUSE = 0.6
# A kernel needs other registers than those of its tensors: addresses, counters, the masks.
_REST = 0.8
# Estimates closer than this are equal; more of the capture is not estimated for one verdict.
_FASTER, _MOST_ESTIMATED = 1.05, 24


def remedies(
    workspace: Workspace, verdict: Verdict, launch: LaunchExpression | None, registers: Registers
) -> list[Remedy]:
    """Return the most convincing remedies first, at most three."""
    if verdict.variant.failure is not None:
        return list(_timeout(verdict.variant))
    by_action: dict[str, Remedy] = {}
    for find in (_duplicate, _launch, partial(_spills, registers=registers), _precision, _pipeline, _lint):
        for remedy in find(workspace, verdict):
            by_action.setdefault(remedy.action, remedy)
    if not any(remedy_found.basis in ("capture", "rule") for remedy_found in by_action.values()):
        for remedy in _faster(workspace, verdict, launch):
            by_action.setdefault(remedy.action, remedy)
    return list(by_action.values())[:MOST_REMEDIES]


def _timeout(own: Variant) -> Iterator[Remedy]:
    """Yield a remedy for a variant that took too long to compile.

    Other failures need another source.
    """
    warps = own.config.get(_WARPS)
    if own.failure is not None and own.failure.kind == "timeout" and isinstance(warps, int):
        reason = "if each thread holds thousands of elements, LLVM and ptxas take minutes"
        yield Remedy(f"{_WARPS}={warps * 4}", reason, "rule", ((_WARPS, warps * 4),))


def _duplicate(workspace: Workspace, verdict: Verdict) -> Iterator[Remedy]:
    variant = verdict.variant
    for candidate in _comparable(workspace, variant):
        if candidate.id < variant.id and workspace.compare(candidate, variant).duplicate:
            yield Remedy(
                "dropping it",
                f"its machine code is identical to that of #{candidate.id}",
                "capture",
                variant=candidate.id,
            )
            return


def _launch(workspace: Workspace, verdict: Verdict) -> Iterator[Remedy]:
    """Yield a remedy for a variant that cannot launch: one that can, or fewer stages."""
    if verdict.launchable is not False:
        return
    variant = verdict.variant
    accept = partial(_launches, workspace)
    if (neighbor := next(_neighbors(workspace, variant, accept), None)) is not None:
        launchable, name = neighbor
        reason = f"#{launchable.id} can be launched, it differs only in {name}"
        yield _of_neighbor(launchable, name, f"{reason}{_shared_text(workspace, launchable)}")
        return
    shared, buffers = (number_of(workspace.facts(variant), kind) for kind in (SHARED, BUFFERS))
    device, stages = device_of(variant.target, variant.metadata), variant.metadata.get("num_stages")
    if not (shared and buffers and device and isinstance(stages, int)) or shared <= device.block_shared:
        return
    for fewer in range(stages - 1, 0, -1):
        needed = int(shared * fewer / stages)
        if needed <= device.block_shared:
            memory = in_words_of(variant.target, "shared memory")
            reason = (
                f"{int(buffers)} buffers per tile take most of the {int(shared):,} bytes of {memory}; "
                f"{fewer} need about {needed:,} of {device.block_shared:,}"
            )
            yield Remedy(f"num_stages={fewer}", reason, "rule", (("num_stages", fewer),))
            return


def _shared_text(workspace: Workspace, variant: Variant) -> str:
    shared = number_of(workspace.facts(variant), SHARED)
    memory = in_words_of(variant.target, "shared memory")
    return "" if shared is None else f" ({int(shared):,} bytes of {memory})"


def _spills(workspace: Workspace, verdict: Verdict, registers: Registers) -> Iterator[Remedy]:
    """Yield remedies for a variant that spills: one that does not, more warps, or a smaller block."""
    variant = verdict.variant
    if not spills(workspace.facts(variant)):
        return
    if isinstance(variant.config.get("maxnreg"), int):
        yield Remedy(
            "without maxnreg", f"maxnreg={variant.config.get('maxnreg')} limits its registers", "rule"
        )

    def fits(other: Variant) -> bool:
        return _launches(workspace, other) and not spills(workspace.facts(other))

    neighbors = [_spill_free(workspace, *neighbor) for neighbor in _neighbors(workspace, variant, fits)]
    yield from (remedy for remedy in neighbors if remedy.config[0][0] == _WARPS)
    yield from _more_room(workspace, variant, registers)
    yield from neighbors[:1]


def _spill_free(workspace: Workspace, other: Variant, name: str) -> Remedy:
    registers = number_of(workspace.facts(other), REGISTERS)
    used = "" if registers is None else f", with {int(registers):,} registers per thread"
    return _of_neighbor(other, name, f"#{other.id} does not spill{used}; it differs only in {name}")


def _more_room(workspace: Workspace, own: Variant, registers: Registers) -> Iterator[Remedy]:
    """Yield the smallest change after which the tensors fit: more warps, half of a block, or both."""
    warps, device = own.metadata.get(_WARPS), device_of(own.target, own.metadata)
    if not isinstance(warps, int) or device is None or workspace.contents.key(own, "ttgir") is None:
        return
    report = registers()
    total = report.tensor_registers
    if not report.tensors or total < _CAUSE * register_limit(device, warps):
        return
    largest = report.tensors[0]
    text = f"{largest.text}{f', {total} with all live tensors' if total > largest.tensor.registers else ''}"
    most = MAX_THREADS_PER_BLOCK // own.target.warp_size
    blocks = _blocks(own, largest.tensor.shape)[:1]
    smaller = [(name, size // 2) for name, size in blocks]
    for config, factor in ((), 2), ((), 4), (smaller, 1), (smaller, 2), (smaller, 4):
        more, rest = warps * factor, total - (largest.tensor.registers // 2 if config else 0)
        limit = register_limit(device, more)
        if (
            (config or factor > 1)
            and (blocks or not config)
            and more <= most
            and rest / factor <= _REST * limit
        ):
            values = (*config, *([(_WARPS, more)] if factor > 1 else []))
            action = ", ".join(f"{name}={value}" for name, value in values)
            yield Remedy(action, f"{text}; with this, they take {rest // factor} of {limit}", "rule", values)
            return


def _blocks(variant: Variant, shape: tuple[int, ...]) -> list[tuple[str, int]]:
    """Return the config values that are sizes of a tensor, the largest first."""
    sizes = [
        (name, value)
        for name, value in variant.config.meta.items()
        if isinstance(value, int) and not isinstance(value, bool) and value in shape and value >= 32
    ]
    return sorted(sizes, key=lambda pair: -pair[1])


def _precision(workspace: Workspace, verdict: Verdict) -> Iterator[Remedy]:
    """Return the remedy for a product of f32 that is too precise for tensor cores."""
    lines = [str(point.line) for point in verdict.points if IEEE in point.causes]
    if lines:
        yield Remedy(
            f'input_precision="tf32" in tl.dot of line {", ".join(lines)}',
            "tensor cores multiply f32 operands as tf32, with 10 bits of mantissa instead of 23; "
            '"tf32x3" is more precise',
            "rule",
        )


def _pipeline(workspace: Workspace, verdict: Verdict) -> Iterator[Remedy]:
    unpipelined = any(point.kind == "pipeline" for point in verdict.points)
    if unpipelined and verdict.variant.metadata.get("num_stages") == 1:
        reason = "its loop is not pipelined, so each iteration waits for its own loads"
        yield Remedy("num_stages=3", reason, "rule", (("num_stages", 3),))


def _lint(workspace: Workspace, verdict: Verdict) -> Iterator[Remedy]:
    for diagnostic in diagnostics(workspace, verdict):
        yield Remedy(diagnostic.fix, f"{diagnostic.rule.name}, line {diagnostic.line}", "lint")


def _faster(workspace: Workspace, verdict: Verdict, launch: LaunchExpression | None) -> Iterator[Remedy]:
    """Yield the config of the same problem with the shortest estimate, if it is clearly shorter."""
    variant, estimate = verdict.variant, verdict.estimate
    if estimate is None:
        return
    best: tuple[float, Variant, str] | None = None
    for candidate in _comparable(workspace, variant)[:_MOST_ESTIMATED]:
        same = _launch_of(verdict, candidate, launch)
        if same is None or not _launches(workspace, candidate):
            continue
        try:
            candidate_estimate = workspace.estimate(candidate, same)
        except UserError:
            continue
        if best is None or candidate_estimate.microseconds < best[0]:
            best = candidate_estimate.microseconds, candidate, candidate_estimate.bound
    if best is not None and estimate.microseconds > _FASTER * best[0]:
        time, candidate, bound = best
        changed = _changed(variant, candidate)
        values = ", ".join(f"{name}={format_value(value)}" for name, value in changed)
        reason = (
            f"{microseconds_text(time)} us by estimate, "
            f"{estimate.microseconds / time:.2f}x faster, bound by {bound}"
        )
        yield Remedy(one_line(f"#{candidate.id} ({values})"), reason, "estimate", changed, candidate.id)


def _launch_of(verdict: Verdict, other: Variant, launch: LaunchExpression | None) -> Launch | None:
    """Return the launch of another variant for the same problem; None if it has none."""
    if launch is not None:
        try:
            return launch.launch_of(other)
        except UserError:
            return None
    if verdict.launch is None:
        return None
    text = problem_text(verdict.variant, verdict.launch)
    return next((candidate for candidate in other.launches if problem_text(other, candidate) == text), None)


def _comparable(workspace: Workspace, own: Variant) -> list[Variant]:
    """Return the other variants of the same kernel, source and target, and for the same arguments."""
    return [
        candidate
        for candidate in workspace.variants
        if candidate.id != own.id
        and candidate.kernel == own.kernel
        and candidate.target == own.target
        and candidate.failure is None
        and _arguments(candidate) == _arguments(own)
    ]


def _arguments(variant: Variant) -> tuple[object, ...]:
    return tuple(argument for argument in variant.specialization if argument.type != "constexpr")


def _neighbors(
    workspace: Workspace, own: Variant, accept: Callable[[Variant], bool]
) -> Iterator[tuple[Variant, str]]:
    """Yield the acceptable variants that differ in a single value, and the name of that value."""
    for candidate in _comparable(workspace, own):
        changed = _changed(own, candidate)
        if len(changed) == 1 and accept(candidate):
            yield candidate, changed[0][0]


def _changed(own: Variant, other: Variant) -> tuple[tuple[str, Value], ...]:
    """Return the values of `other` that differ from those of `own`."""
    before: Mapping[str, Value] = own.settings
    return tuple((name, value) for name, value in other.settings.items() if before.get(name) != value)


def _of_neighbor(other: Variant, name: str, reason: str) -> Remedy:
    value = other.settings.get(name)
    return Remedy(
        one_line(f"{name}={format_value(value)}"), one_line(reason), "capture", ((name, value),), other.id
    )


def _launches(workspace: Workspace, variant: Variant) -> bool:
    status = status_of(variant, workspace.facts(variant))
    return status is None or status.ok
