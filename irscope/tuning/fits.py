"""`irscope.fits`: drops the configs that cannot be launched, without LLVM and ptxas."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from irscope.toolchain.source_text import GeneratedTexts
from irscope.tuning.autotuner_call import call_of_autotuner
from irscope.tuning.candidates import Candidate, candidates_of, groups
from irscope.tuning.jobs import CandidateResult
from irscope.tuning.learned import Learned
from irscope.tuning.pruned import Pruned, drop_of, pruned_or_all
from irscope.tuning.workers import pool

# The default time limit per config, in seconds.
TIMEOUT = 60.0


class Fits:
    """A function for `prune_configs_by={"early_config_prune": ...}`; it never raises."""

    def __init__(self, jobs: int | None = None, timeout: float = TIMEOUT) -> None:
        self._jobs, self._timeout = jobs, timeout

    def __call__(self, configs: Sequence[Any], named_args: Mapping[str, Any], **kwargs: Any) -> list[Any]:
        """The configs that can be launched with these arguments; all of them if that cannot be found out."""

        def prune() -> tuple[str, Pruned]:
            call = call_of_autotuner(named_args, kwargs)
            pruned = fitting(candidates_of(call, configs), limit_of_device(), self._jobs, self._timeout)
            return call.function.__name__, pruned

        return pruned_or_all("fits", configs, prune)


def fitting(
    candidates: Sequence[Candidate], most_shared: int | None, processes: int | None, seconds: float
) -> Pruned:
    """Finds the candidates that can be launched, and why the others cannot."""
    learned = Learned("fits", str(most_shared), *(candidate.key for candidate in candidates))
    known = Pruned.from_json(learned.read(), len(candidates))
    if known is not None:
        return known
    results = results_of(candidates, most_shared, processes, seconds, compiled=False)
    drops = {number: drop for number, result in results.items() if (drop := drop_of(result)) is not None}
    found = Pruned(tuple(number for number in results if number not in drops), drops)
    if found.lasting:
        learned.write(found.to_json())
    return found


def results_of(
    candidates: Sequence[Candidate],
    most_shared: int | None,
    processes: int | None,
    seconds: float,
    compiled: bool,
) -> dict[int, CandidateResult]:
    """The result of each candidate by its number, in order; equal compilations run once.

    Only allocates memory, or, if `compiled`, compiles those that can be launched into Triton's cache.
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
    found = dict(pool.results(jobs, processes, seconds))
    return {candidate.number: found[first[candidate.key]] for candidate in candidates}


def _elements_per_warp(candidate: Candidate) -> float:
    """The product of a config's block sizes per warp: the largest compile longest, and start first."""
    sizes = [value for value in candidate.config.kwargs.values() if type(value) is int and value > 1]
    return float(math.prod(sizes) / candidate.options.num_warps)


def limit_of_device() -> int | None:
    """The bytes of shared memory that a block may have on the current device, as Triton checks at launch."""
    from triton.runtime import driver

    device = driver.active.get_current_device()
    return int(driver.active.utils.get_device_properties(device)["max_shared_mem"])
