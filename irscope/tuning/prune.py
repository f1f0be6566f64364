"""`irscope.prune`: compiles the configs in parallel and keeps the few that are worth measuring."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from irscope.analysis.duplicates import duplicate_groups
from irscope.estimating.measuring_order import measuring_order
from irscope.facts.measure import from_json
from irscope.model import Launch, UserError
from irscope.model.text import pluralize
from irscope.tuning.autotuner_call import call_of_autotuner
from irscope.tuning.candidates import Candidate, candidates_of
from irscope.tuning.fits import TIMEOUT, limit_of_device, results_of
from irscope.tuning.jobs import Compiled
from irscope.tuning.learned import Learned
from irscope.tuning.pruned import DUPLICATE, SLOWER, Drop, Pruned, drop_of, pruned_or_all


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
        """The configs worth measuring for these arguments, best first; see `Pruned` for what is dropped."""

        def prune() -> tuple[str, Pruned]:
            call = call_of_autotuner(named_args, kwargs)
            candidates = candidates_of(call, configs)
            most = self._top if isinstance(self._top, int) else math.ceil(self._top * len(configs))
            pruned = best(candidates, most, limit_of_device(), self._jobs, self._timeout)
            return call.function.__name__, pruned

        return pruned_or_all("prune", configs, prune)


def best(
    candidates: Sequence[Candidate], most: int, most_shared: int | None, processes: int | None, seconds: float
) -> Pruned:
    """The `most` candidates that are fastest by estimate, the others with their reasons.

    A candidate that cannot be estimated is kept.
    """
    launches = (str(candidate.launch) for candidate in candidates)
    keys = (candidate.key for candidate in candidates)
    learned = Learned("prune", str(most), str(most_shared), *keys, *launches)
    known = Pruned.from_json(learned.read(), len(candidates))
    if known is not None:
        return known
    results = results_of(candidates, most_shared, processes, seconds, compiled=True)
    drops = {number: drop for number, result in results.items() if (drop := drop_of(result)) is not None}
    compiled = {n: result.compiled for n, result in results.items() if result.compiled is not None}
    drops |= _duplicates([c for c in candidates if c.number not in drops], compiled)
    unjudged = tuple(n for n in results if n not in drops and n not in compiled)
    ranked = _ranked({n: found for n, found in compiled.items() if n not in drops}, most)
    found = Pruned((*ranked.keep, *unjudged), {**drops, **ranked.drops}, ranked.notes)
    if found.lasting:
        learned.write(found.to_json())
    return found


def _duplicates(candidates: Sequence[Candidate], compiled: Mapping[int, Compiled]) -> dict[int, Drop]:
    """The candidates whose machine code and launch equal those of an earlier one."""
    by_number = {candidate.number: candidate for candidate in candidates}
    variants = [found.variant for number, found in compiled.items() if number in by_number]
    facts = {v.id: from_json(compiled[v.id].facts, v.target.backend) for v in variants}
    drops = {}
    for group in duplicate_groups(variants, facts):
        first: dict[Launch | None, int] = {}
        for variant in group:
            original = first.setdefault(by_number[variant.id].launch, variant.id)
            if original != variant.id:
                drops[variant.id] = Drop(DUPLICATE, f"the machine code of {by_number[original].config}")
    return drops


def _ranked(compiled: Mapping[int, Compiled], most: int) -> Pruned:
    """The `most` to measure first, then those that could not be estimated."""
    times = {n: each.microseconds for n, each in compiled.items() if each.microseconds is not None}
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
    return Pruned((*order[:most], *unknown), slower, notes)


def _measuring_order(times: Mapping[int, float], compiled: Mapping[int, Compiled]) -> list[int]:
    """The estimated candidates in the order to measure them; the first has the lowest estimate."""
    numbers = sorted(times, key=lambda number: (times[number], number))
    if not numbers:
        return []
    settings = [compiled[number].variant.settings for number in numbers]
    return [numbers[at] for at in measuring_order([times[number] for number in numbers], settings)]
