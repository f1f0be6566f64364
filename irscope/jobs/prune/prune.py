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
from irscope.estimating.ranking import measuring_order
from irscope.facts.duplicates import duplicate_groups
from irscope.facts.measure import from_json
from irscope.jobs.prune.candidates import (
    DUPLICATE,
    SLOWER,
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
        "fits", lambda candidates: fitting(candidates, CompileLimits.of_device(jobs, timeout))
    )


def prune_function(top: float | int, jobs: int | None, timeout: float) -> PruneConfigs:
    """Return a function for `prune_configs_by` that keeps the configs worth measuring, best first.

    `top` is the part of the configs to keep (0.1) or their number (8). The function never raises. Raises
    UserError if `top` is neither.
    """
    number = not isinstance(top, bool) and isinstance(top, int | float)
    if not number or top <= 0 or (isinstance(top, float) and top > 1):
        raise UserError(f"top={top!r}: give a part of the configs (0.1) or a number of them (8)")

    def best_of(candidates: Sequence[Candidate]) -> PruningResult:
        most = top if isinstance(top, int) else math.ceil(top * len(candidates))
        return best(candidates, most, CompileLimits.of_device(jobs, timeout))

    return _prune_function("prune", best_of)


def _prune_function(command: str, find: Callable[[Sequence[Candidate]], PruningResult]) -> PruneConfigs:
    def prune_configs(configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        def prune() -> tuple[str, PruningResult]:
            call = call_of_autotuner(named_args, kwargs)
            return call.function.__name__, find(candidates_of(call, configs))

        return prune_or_keep_all(command, configs, prune)

    return prune_configs


def fitting(candidates: Sequence[Candidate], limits: CompileLimits) -> PruningResult:
    """Find the candidates that can be launched, and why the others cannot."""

    def find() -> PruningResult:
        results = results_of(candidates, limits, compiled=False)
        drops = {number: result for number, result in results.items() if isinstance(result, Drop)}
        return PruningResult(tuple(number for number in results if number not in drops), drops)

    keys = (candidate.key for candidate in candidates)
    return remembered(len(candidates), find, "fits", str(limits.most_shared), *keys)


def results_of(
    candidates: Sequence[Candidate], limits: CompileLimits, compiled: bool
) -> dict[int, CandidateResult]:
    """Return the result of each candidate by its number, in order; equal compilations run once.

    Only allocates memory, or, if `compiled`, compiles those that can be launched into Triton's
    cache.
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
        candidate.job(group, texts, limits.most_shared, compiled)
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


def best(candidates: Sequence[Candidate], most: int, limits: CompileLimits) -> PruningResult:
    """Return the `most` candidates that are fastest by estimate, the others with their reasons.

    A candidate that cannot be estimated is kept.
    """

    def find() -> PruningResult:
        results = results_of(candidates, limits, compiled=True)
        drops = {number: result for number, result in results.items() if isinstance(result, Drop)}
        compiled = {n: result for n, result in results.items() if isinstance(result, CompiledCandidate)}
        drops |= _duplicates(candidates, compiled)
        unjudged = tuple(number for number, result in results.items() if result is None)
        ranked = _ranked({n: candidate for n, candidate in compiled.items() if n not in drops}, most)
        return PruningResult((*ranked.keep, *unjudged), {**drops, **ranked.drops}, ranked.notes)

    keys = (candidate.key for candidate in candidates)
    launches = (str(candidate.launch) for candidate in candidates)
    return remembered(len(candidates), find, "prune", str(most), str(limits.most_shared), *keys, *launches)


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


def _ranked(compiled: Mapping[int, CompiledCandidate], most: int) -> PruningResult:
    """Return the `most` to measure first, then those that could not be estimated."""
    times = {n: result.microseconds for n, result in compiled.items() if result.microseconds is not None}
    numbers = sorted(times, key=lambda number: (times[number], number))
    settings = [compiled[number].variant.settings for number in numbers]
    order = [numbers[index] for index in measuring_order([times[n] for n in numbers], settings)]
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
