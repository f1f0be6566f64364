"""`irscope.fits` drops the configs that cannot be launched, without LLVM and ptxas.

`irscope.prune` compiles the configs in parallel and keeps the few that are worth measuring.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.compiling.kernels import unwrap
from irscope.compiling.messages import SweepRequest
from irscope.compiling.plan import plan_for
from irscope.compiling.standalone.source_text import GeneratedTexts
from irscope.compiling.toolchain.compiler import source_of
from irscope.compiling.toolchain.stub_driver import gpu_target
from irscope.estimating.ranking import enough_measured, measuring_order
from irscope.facts.duplicates import duplicate_groups
from irscope.facts.measure import from_json
from irscope.jobs.prune.candidates import (
    DUPLICATE,
    OTHER_BITS,
    SLOWER,
    UNKNOWN_BITS,
    Candidate,
    CandidateResult,
    CompiledCandidate,
    Drop,
    call_of_autotuner,
    call_with,
    candidates_of,
    groups,
    unwrapped,
)
from irscope.jobs.prune.pruning_result import PruningResult, prune_or_keep_all, remembered
from irscope.jobs.prune.worker_pool import pool
from irscope.model import Launch, Target, UserError
from irscope.model.text import pluralize
from irscope.targets import device_of

PruneConfigs = Callable[..., list[Any]]
# The value of `top` that keeps as many as the estimates need.
AUTO = "auto"
# The value of `same_bits_as` that stands for the first config.
_FIRST = "first"


@dataclass(frozen=True)
class CompileLimits:
    """How to compile candidates: processes (None: one per core), the seconds for each, and what may launch.

    `most_shared` are the bytes of shared memory that a block may have (None: unknown).
    """

    processes: int | None
    seconds: float
    most_shared: int | None

    @classmethod
    def of_device(cls, processes: int | None, seconds: float) -> CompileLimits:
        """Return the limits on the current device; Triton checks its memory at launch."""
        from triton.runtime import driver

        device = driver.active.get_current_device()
        properties = driver.active.utils.get_device_properties(device)
        return cls(processes, seconds, int(properties["max_shared_mem"]))


def fits_function(jobs: int | None, timeout: float) -> PruneConfigs:
    """Return a function for `prune_configs_by` that drops configs that cannot be launched.

    If that cannot be found out, it keeps all of them; it never raises.
    """
    return _prune_function(
        "fits", lambda candidates, _: fitting(candidates, CompileLimits.of_device(jobs, timeout))
    )


def prune_function(
    top: float | int | str, same_bits_as: object, jobs: int | None, timeout: float
) -> PruneConfigs:
    """Return a function for `prune_configs_by` that keeps the configs worth measuring, best first.

    `top` is the part of the configs to keep (0.1) or their number (8); "auto" keeps as many as the estimates
    need, by how sure they are. `same_bits_as` is the config whose
    bits they must compute, as in `irscope.prune`. The function raises UserError if no config is that one, and
    nothing else. Raises UserError if an argument is something else.
    """
    is_number = not isinstance(top, bool) and isinstance(top, int | float)
    if top != AUTO and (
        not is_number or isinstance(top, str) or top <= 0 or (isinstance(top, float) and top > 1)
    ):
        raise UserError(f"top={top!r}: give a part of the configs (0.1), a number of them (8) or '{AUTO}'")

    is_config = isinstance(same_bits_as, Mapping) or _is_config(same_bits_as)
    if not is_config and same_bits_as not in (None, _FIRST):
        raise UserError(
            f"same_bits_as={same_bits_as!r}: give a triton.Config, a dict of values, or '{_FIRST}'"
        )

    def best_of(candidates: Sequence[Candidate], reference: int | None) -> PruningResult:
        if isinstance(top, int | str):
            most: int | None = top if isinstance(top, int) else None
        else:
            most = math.ceil(top * len(candidates))
        return best(candidates, most, CompileLimits.of_device(jobs, timeout), reference)

    return _prune_function("prune", best_of, same_bits_as)


def _prune_function(
    command: str,
    find: Callable[[Sequence[Candidate], int | None], PruningResult],
    same_bits_as: object = None,
) -> PruneConfigs:
    def prune_configs(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        every, reference = _with_reference(configs, same_bits_as)

        def prune() -> tuple[str, PruningResult]:
            call = call_of_autotuner(named_args, kwargs)
            return call.function.__name__, find(candidates_of(call, every), reference)

        return prune_or_keep_all(command, every, prune, reference)

    return prune_configs


def _is_config(value: object) -> bool:
    return callable(getattr(value, "all_kwargs", None))


def _with_reference(configs: Sequence[Any], same_bits_as: Any) -> tuple[Sequence[Any], int | None]:
    """Return the configs and the number of the one whose bits are wanted; a `triton.Config` may be added.

    Raises UserError if values fit none or several.
    """
    if same_bits_as is None:
        return configs, None
    if isinstance(same_bits_as, str):
        return configs, 0
    every = [config.all_kwargs() for config in configs]
    if _is_config(same_bits_as):
        values = same_bits_as.all_kwargs()
        return (configs, every.index(values)) if values in every else ([*configs, same_bits_as], len(configs))
    matching = [n for n, values in enumerate(every) if same_bits_as.items() <= values.items()]
    if len(matching) != 1:
        count = f"{len(matching)} of {pluralize(len(configs), 'config')}"
        raise UserError(f"same_bits_as={same_bits_as}: fits {count}; give the values of one")
    return configs, matching[0]


def fitting(candidates: Sequence[Candidate], limits: CompileLimits) -> PruningResult:
    """Find the candidates that can be launched, and why the others cannot."""

    def find() -> PruningResult:
        results = results_of(candidates, limits, compiled=False)
        drops = {number: result for number, result in results.items() if isinstance(result, Drop)}
        return PruningResult(tuple(number for number in results if number not in drops), drops)

    keys = (candidate.key for candidate in candidates)
    return remembered(len(candidates), find, "fits", str(limits.most_shared), *keys)


def results_of(
    candidates: Sequence[Candidate], limits: CompileLimits, compiled: bool, bits: bool = False
) -> dict[int, CandidateResult]:
    """Return the result of each candidate by its number, in order; equal compilations run once.

    Only allocates memory, or, if `compiled`, compiles those that can be launched into Triton's
    cache. `bits` also evaluates what they compute.
    """

    def elements_per_warp(candidate: Candidate) -> float:
        sizes = [value for value in candidate.config.kwargs.values() if type(value) is int and value > 1]
        return float(math.prod(sizes) / candidate.options.num_warps)

    texts = GeneratedTexts()
    first: dict[str, int] = {}
    for candidate in candidates:
        first.setdefault(candidate.key, candidate.number)
    # The largest compile longest, and start first.
    jobs = [
        candidate.job(group, texts, limits.most_shared, compiled, bits)
        for candidate, group in groups(sorted(candidates, key=elements_per_warp, reverse=True))
        if first[candidate.key] == candidate.number
    ]
    results = dict(pool.results(jobs, limits.processes, limits.seconds))
    return {candidate.number: results[first[candidate.key]] for candidate in candidates}


def fitting_configs(
    kernel: Any,
    configs: Sequence[Any],
    arguments: Sequence[Any],
    named: Mapping[str, Any],
    signature: str | None,
    target: Target | None,
    processes: int | None,
    seconds: float,
) -> list[Any]:
    """Return the `triton.Config`s that can be launched with these arguments or this signature.

    They are those of `configs`. `target` of None is the current device. Raises UserError if the
    arguments do not fit the kernel.
    """
    gpu = _current_target() if target is None else gpu_target(target)
    if signature is not None:
        if arguments or named:
            raise UserError("give fits either the arguments of a launch or a signature")
        candidates = _candidates_of_signature(kernel, configs, signature, gpu, target)
    else:
        candidates = candidates_of(call_with(kernel, arguments, named, gpu), configs)
    if target is None:
        limits = CompileLimits.of_device(processes, seconds)
    else:
        device = device_of(target)
        limits = CompileLimits(processes, seconds, device.block_shared if device else None)
    name = unwrapped(kernel)[0].__name__
    return prune_or_keep_all("fits", configs, lambda: (name, fitting(candidates, limits)))


def _candidates_of_signature(
    kernel: Any, configs: Sequence[Any], signature: str, gpu: Any, target: Target | None
) -> list[Candidate]:
    """Return the candidates of a kernel that is compiled for a signature.

    The signature is in Triton's ahead-of-time notation.
    """
    from triton.runtime.autotuner import autotune

    from irscope.compiling.toolchain.requested_config import requested_target

    function, heuristics = unwrapped(kernel)
    decorated: Any = function
    for values in reversed(heuristics):
        from triton.runtime.autotuner import heuristics as with_heuristics

        decorated = with_heuristics(dict(values))(decorated)
    candidates = []
    for number, config in enumerate(configs):
        tuned = unwrap(autotune([config], key=[])(decorated))
        if tuned is None:
            raise UserError(f"{kernel!r} is not a @triton.jit function")
        file = Path(function.fn.__code__.co_filename)
        where = target or requested_target(gpu)
        plan = plan_for(tuned, SweepRequest(file, function.fn.__name__, signature, {}, {}, (where,)))
        for job in plan.jobs[:1]:
            if job.problem:
                raise UserError(job.problem)
            source, options = source_of(tuned, job)
            candidates.append(Candidate(number, config, source, options, gpu, None))
    return candidates


def _current_target() -> Any:
    from triton.runtime import driver

    try:
        return driver.active.get_current_target()
    except RuntimeError as error:
        raise UserError(f"there is no GPU: name a target, such as target='cuda:90' ({error})") from error


def best(
    candidates: Sequence[Candidate], most: int | None, limits: CompileLimits, reference: int | None
) -> PruningResult:
    """Return the `most` candidates that are fastest by estimate, the others with their reasons.

    A candidate that cannot be estimated is kept. If `reference` is the number of one, all that may compute
    other bits are dropped.
    """

    def find() -> PruningResult:
        results = results_of(candidates, limits, compiled=True, bits=reference is not None)
        drops = {number: result for number, result in results.items() if isinstance(result, Drop)}
        notes: tuple[str, ...] = ()
        if reference is not None:
            drops, notes = _other_bits(candidates, results, reference)
        compiled = {
            number: result
            for number, result in results.items()
            if isinstance(result, CompiledCandidate) and number not in drops
        }
        drops |= _duplicates(candidates, compiled)
        unjudged = tuple(n for n, result in results.items() if result is None and n not in drops)
        ranked = _ranked({n: candidate for n, candidate in compiled.items() if n not in drops}, most)
        keep = (*ranked.keep, *unjudged) or (() if reference is None else (reference,))
        return PruningResult(keep, {**drops, **ranked.drops}, (*notes, *ranked.notes))

    keys = (candidate.key for candidate in candidates)
    launches = (f"{c.launch} {c.launch.values if c.launch else ''}" for c in candidates)
    parts = (str(most), str(limits.most_shared), str(reference), *keys, *launches)
    return remembered(len(candidates), find, "prune", *parts)


def _other_bits(
    candidates: Sequence[Candidate], results: Mapping[int, CandidateResult], reference: int
) -> tuple[dict[int, Drop], tuple[str, ...]]:
    """Return the candidates that may compute other bits than `reference`, and notes on what is unknown."""
    from irscope.interpreting.bits.classes import Evaluation
    from irscope.workspace.bits import classified
    from irscope.workspace.problem_sizes import Problem
    from irscope.workspace.same_bits import bits_answer

    compiled = {n: result for n, result in results.items() if isinstance(result, CompiledCandidate)}
    failed = {n: result for n, result in results.items() if isinstance(result, Drop)}
    evaluations = {}
    for number in sorted(results, key=lambda number: number != reference):
        evaluation = compiled[number].evaluation if number in compiled else None
        why = failed[number].reason if number in failed else "irscope cannot evaluate it"
        evaluations[number] = evaluation or Evaluation(unanswered=why)
    variants = tuple(candidate.variant for candidate in compiled.values())
    bits = classified(Problem("", "", (), (), {}, variants), evaluations, reference)
    drops = {number: drop for number, drop in failed.items() if number != reference}
    for number in evaluations:
        answer = bits_answer(bits, reference, number, "same_bits_as", "this config")
        if number not in failed and number != reference and not answer.same:
            drops[number] = Drop(UNKNOWN_BITS if answer.same is None else OTHER_BITS, answer.reason)
    if trouble := bits.unrepeatable(reference, "same_bits_as"):
        return drops, (f"only {candidates[reference].config} kept: {trouble}",)
    unknown = [drop.reason for drop in drops.values() if drop.kind == UNKNOWN_BITS]
    number_text = pluralize(len(unknown), "config")
    return drops, (f"{number_text} dropped, whose bits are unknown: {unknown[0]}",) if unknown else ()


def _duplicates(
    candidates: Sequence[Candidate], compiled: Mapping[int, CompiledCandidate]
) -> dict[int, Drop]:
    """Return the candidates whose machine code and launch equal those of an earlier one."""
    by_number = {candidate.number: candidate for candidate in candidates}
    variants = [candidate.variant for candidate in compiled.values()]
    facts = {v.id: from_json(compiled[v.id].facts, v.target.backend) for v in variants}
    drops = {}
    for group in duplicate_groups(variants, facts):
        first: dict[Launch | None, int] = {}
        for variant in group:
            original = first.setdefault(by_number[variant.id].launch, variant.id)
            if original != variant.id:
                drops[variant.id] = Drop(DUPLICATE, f"the machine code of {by_number[original].config}")
    return drops


def _ranked(compiled: Mapping[int, CompiledCandidate], most: int | None) -> PruningResult:
    """Return the `most` to measure first, then those that could not be estimated.

    Without `most`: as many as are needed so that the best of them is likely that of all.
    """
    times = {n: result.microseconds for n, result in compiled.items() if result.microseconds is not None}
    numbers = sorted(times, key=lambda number: (times[number], number))
    settings = [compiled[number].variant.settings for number in numbers]
    order = [numbers[index] for index in measuring_order([times[n] for n in numbers], settings)]
    if most is None:
        error = max((compiled[number].error for number in order[:1]), default=1.0)
        own = [compiled[number].variant.settings for number in order]
        most = enough_measured([times[number] for number in order], own, error)
    unknown = [number for number in compiled if number not in times]
    slower = {
        number: Drop(
            SLOWER,
            f"estimated {times[number]:.1f} us ({compiled[number].bound}), "
            f"the best {min(times.values()):.1f} us",
        )
        for number in order[most:]
    }
    why = "".join(compiled[number].note for number in unknown[:1])
    notes = (f"{pluralize(len(unknown), 'config')} kept without an estimate: {why}",) if unknown else ()
    return PruningResult((*order[:most], *unknown), slower, notes)
