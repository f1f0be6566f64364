"""`irscope.fits`: drops the configs that cannot be launched, without LLVM and ptxas.

`irscope.fits(kernel, configs, ...)`: which configs can be launched, asked before any launch.

`irscope.prune`: compiles the configs in parallel and keeps the few that are worth measuring.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
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
    Candidate,
    CandidateResult,
    CompiledCandidate,
    call_of_autotuner,
    call_with,
    candidates_of,
    groups,
    unwrapped,
)
from irscope.jobs.prune.pruning_result import (
    DUPLICATE,
    SLOWER,
    Drop,
    PruningResult,
    StoredResult,
    drop_of,
    prune_or_keep_all,
)
from irscope.jobs.prune.worker_pool import pool
from irscope.model import Launch, Target, UserError
from irscope.model.text import pluralize
from irscope.targets import device_of

# The default time limit per config, in seconds.
TIMEOUT = 60.0


class Fits:
    """A function for `prune_configs_by={"early_config_prune": ...}`; it never raises."""

    def __init__(self, jobs: int | None = None, timeout: float = TIMEOUT) -> None:
        self._jobs, self._timeout = jobs, timeout

    def __call__(self, configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """Return the configs that can be launched with these arguments.

        Return all of them if that cannot be found out.
        """

        def prune() -> tuple[str, PruningResult]:
            call = call_of_autotuner(named_args, kwargs)
            pruned = fitting(candidates_of(call, configs), limit_of_device(), self._jobs, self._timeout)
            return call.function.__name__, pruned

        return prune_or_keep_all("fits", configs, prune)


def fitting(
    candidates: Sequence[Candidate], most_shared: int | None, processes: int | None, seconds: float
) -> PruningResult:
    """Find the candidates that can be launched, and why the others cannot."""
    learned = StoredResult("fits", str(most_shared), *(candidate.key for candidate in candidates))
    cached = PruningResult.from_json(learned.read(), len(candidates))
    if cached is not None:
        return cached
    results = results_of(candidates, most_shared, processes, seconds, compiled=False)
    drops = {number: drop for number, result in results.items() if (drop := drop_of(result)) is not None}
    pruned = PruningResult(tuple(number for number in results if number not in drops), drops)
    if pruned.lasting:
        learned.write(pruned.to_json())
    return pruned


def results_of(
    candidates: Sequence[Candidate],
    most_shared: int | None,
    processes: int | None,
    seconds: float,
    compiled: bool,
) -> dict[int, CandidateResult]:
    """Return the result of each candidate by its number, in order; equal compilations run once.

    Only allocates memory, or, if `compiled`, compiles those that can be launched into Triton's
    cache.
    """
    texts = GeneratedTexts()
    first: dict[str, int] = {}
    for candidate in candidates:
        first.setdefault(candidate.key, candidate.number)
    jobs = [
        candidate.job(group, texts, most_shared, compiled)
        for candidate, group in groups(sorted(candidates, key=_elements_per_warp, reverse=True))
        if first[candidate.key] == candidate.number
    ]
    results_by_number = dict(pool.results(jobs, processes, seconds))
    return {candidate.number: results_by_number[first[candidate.key]] for candidate in candidates}


def _elements_per_warp(candidate: Candidate) -> float:
    """Return the product of a config's block sizes per warp.

    The largest compile longest, and start first.
    """
    sizes = [value for value in candidate.config.kwargs.values() if type(value) is int and value > 1]
    return float(math.prod(sizes) / candidate.options.num_warps)


def limit_of_device() -> int | None:
    """Return the bytes of shared memory that a block may have on the current device.

    Triton checks this limit at launch.
    """
    from triton.runtime import driver

    device = driver.active.get_current_device()
    return int(driver.active.utils.get_device_properties(device)["max_shared_mem"])


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
    device = device_of(target) if target is not None else None
    most_shared = limit_of_device() if target is None else device.block_shared if device else None
    name = unwrapped(kernel)[0].__name__

    def prune() -> tuple[str, PruningResult]:
        return name, fitting(candidates, most_shared, processes, seconds)

    return prune_or_keep_all("fits", configs, prune)


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


class Prune:
    """A function for `prune_configs_by={"early_config_prune": ...}`; it never raises.

    `top` is the part of the configs to keep (0.1) or their number (8). Raises UserError if it is neither.
    """

    def __init__(self, top: float | int = 0.1, jobs: int | None = None, timeout: float = TIMEOUT) -> None:
        number = not isinstance(top, bool) and isinstance(top, int | float)
        if not number or top <= 0 or (isinstance(top, float) and top > 1):
            raise UserError(f"top={top!r}: give a part of the configs (0.1) or a number of them (8)")
        self._top, self._jobs, self._timeout = top, jobs, timeout

    def __call__(self, configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """Return the configs worth measuring for these arguments, best first.

        See `Pruned` for what is dropped.
        """

        def prune() -> tuple[str, PruningResult]:
            call = call_of_autotuner(named_args, kwargs)
            candidates = candidates_of(call, configs)
            most = self._top if isinstance(self._top, int) else math.ceil(self._top * len(configs))
            pruned = best(candidates, most, limit_of_device(), self._jobs, self._timeout)
            return call.function.__name__, pruned

        return prune_or_keep_all("prune", configs, prune)


def best(
    candidates: Sequence[Candidate], most: int, most_shared: int | None, processes: int | None, seconds: float
) -> PruningResult:
    """Return the `most` candidates that are fastest by estimate, the others with their reasons.

    A candidate that cannot be estimated is kept.
    """
    launches = (str(candidate.launch) for candidate in candidates)
    keys = (candidate.key for candidate in candidates)
    learned = StoredResult("prune", str(most), str(most_shared), *keys, *launches)
    cached = PruningResult.from_json(learned.read(), len(candidates))
    if cached is not None:
        return cached
    results = results_of(candidates, most_shared, processes, seconds, compiled=True)
    drops = {number: drop for number, result in results.items() if (drop := drop_of(result)) is not None}
    compiled = {n: result.compiled for n, result in results.items() if result.compiled is not None}
    drops |= _duplicates([c for c in candidates if c.number not in drops], compiled)
    unjudged = tuple(n for n in results if n not in drops and n not in compiled)
    ranked = _ranked({n: pruned for n, pruned in compiled.items() if n not in drops}, most)
    pruned = PruningResult((*ranked.keep, *unjudged), {**drops, **ranked.drops}, ranked.notes)
    if pruned.lasting:
        learned.write(pruned.to_json())
    return pruned


def _duplicates(
    candidates: Sequence[Candidate], compiled: Mapping[int, CompiledCandidate]
) -> dict[int, Drop]:
    """Return the candidates whose machine code and launch equal those of an earlier one."""
    by_number = {candidate.number: candidate for candidate in candidates}
    variants = [candidate_code.variant for number, candidate_code in compiled.items() if number in by_number]
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
    order = _measuring_order(times, compiled)
    unknown = [number for number in compiled if number not in times]
    best_time = f"{min(times.values()):.1f} us" if times else ""
    slower = {
        number: Drop(
            SLOWER, f"estimated {times[number]:.1f} us ({compiled[number].bound}), the best {best_time}"
        )
        for number in order[most:]
    }
    why = "".join(compiled[number].note for number in unknown[:1])
    notes = (f"{pluralize(len(unknown), 'config')} kept without an estimate: {why}",) if unknown else ()
    return PruningResult((*order[:most], *unknown), slower, notes)


def _measuring_order(times: Mapping[int, float], compiled: Mapping[int, CompiledCandidate]) -> list[int]:
    """Return the estimated candidates in the order to measure them; the first is the fastest."""
    numbers = sorted(times, key=lambda number: (times[number], number))
    if not numbers:
        return []
    settings = [compiled[number].variant.settings for number in numbers]
    return [numbers[index] for index in measuring_order([times[number] for number in numbers], settings)]
