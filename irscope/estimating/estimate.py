"""Estimates one launch of one variant: the time, the bound, and each term with its numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import ceil

import numpy as np

from irscope.estimating.constants import Fit, fit_of
from irscope.estimating.device_rates import RATED_TARGETS, DeviceRates, rates_of
from irscope.estimating.model import term_times, total_time
from irscope.estimating.term_evidence import term_evidence
from irscope.estimating.term_texts import term_text
from irscope.estimating.terms import LATENCY, OVERHEAD, TAIL, TENSOR, Estimate, Term
from irscope.estimating.work import Work, work_of
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import ReadStage
from irscope.model import Launch, UserError, Variant

__all__ = ["Estimate", "Term", "estimate", "estimate_of"]

# Terms below this share of the largest are not listed.
_LISTED = 0.005
# The latency is that of matrix products if they take this share of it.
_PRODUCTS = 0.7


def estimate(
    variant: Variant,
    launch: Launch,
    read: ReadStage,
    device: DeviceRates | None = None,
    fit: Fit | None = None,
) -> Estimate:
    """How long `launch` takes on `device` (None: the usual one of the variant's target).

    `read` returns the content of a stage, None if there is none: `lambda stage: workspace.read(variant,
    stage)`; only the PTX and the cubin are read. `fit` has the constants of the model (None: the ones of the
    device). Raises UserError if the variant cannot be estimated: no machine code, a target without rates.
    """
    device = device or rates_of(variant.target)
    if device is None:
        known = ", ".join(RATED_TARGETS)
        raise UserError(f"{variant.target}: irscope can estimate only launches on {known}")
    artifacts = VariantArtifacts(variant, read)
    return estimate_of(
        work_of(artifacts, launch, device.multiprocessors), device, fit or fit_of(device), artifacts
    )


def estimate_of(
    work: Work, device: DeviceRates, fit: Fit, artifacts: VariantArtifacts | None = None
) -> Estimate:
    """The estimate for known work; `artifacts` are read for evidence."""
    x = {name: np.float64(value) for name, value in work.numbers.items()}
    times = {name: float(time) for name, time in term_times(x, device, fit.values).items()}
    total = float(total_time({name: np.array([time]) for name, time in times.items()}, fit.values)[0])
    largest = max(times, key=times.__getitem__)
    limiting = _limiting(times)
    terms = [
        Term(
            name,
            time,
            term_text(name, work.numbers, device, fit.values),
            term_evidence(name, work, artifacts),
        )
        for name, time in times.items()
        if time >= _LISTED * times[largest]
    ]
    idle = _idle_share(limiting, work.numbers, device)
    terms.append(Term(TAIL, times[limiting] * idle, _tail_text(work.numbers, device)))
    terms.append(Term(OVERHEAD, fit.values["overhead"], "launching a kernel that does nothing"))
    ordered = tuple(sorted(terms, key=lambda term: -term.microseconds))
    limits = tuple(_limits(work))
    notes = (
        *limits,
        *(f"not counted: {text}" for text in work.counts.unknown),
        *work.counts.assumptions,
        *_places_of_atomics(work),
    )
    bound = TAIL if idle > 0.5 else limiting
    complete = all(text.startswith("argument ") for text in work.counts.unknown)
    return Estimate(total, bound, ordered, device.name, work.numbers, notes, complete, limits)


def _limits(work: Work) -> Iterator[str]:
    """Say what the model does not know about this kind of kernel."""
    if any(kind.startswith("tcgen05.mma") for kind in work.counts.matrix()):
        yield (
            "tcgen05.mma is not modeled: the time of these products, and of waits for them, is missing, "
            "so the estimate is too short"
        )


def _places_of_atomics(work: Work) -> Iterator[str]:
    """Says which places are assumed for atomics whose addresses depend on data."""
    for tensor in work.counts.traffic:
        if tensor.direction == "atomic" and tensor.scattered and tensor.tensor_bytes:
            size = f"{tensor.tensor_bytes / 1024:,.0f} KiB"
            yield f"atomics to places that data decides: spread evenly over the {size} of {tensor.name}"


def _limiting(times: Mapping[str, float]) -> str:
    """The term that limits the launch: the longest; tensor cores if most of the latency is theirs.

    The replayed latency of a program has the time of its own matrix products. If they fill it, more programs
    would not help.
    """
    largest = max(times, key=times.__getitem__)
    products = largest == LATENCY and times[TENSOR] >= _PRODUCTS * times[LATENCY]
    return TENSOR if products else largest


def _idle_share(largest: str, numbers: Mapping[str, float], device: DeviceRates) -> float:
    """The share of the time in which the multiprocessors that finish early wait for the last programs."""
    places = device.multiprocessors * (numbers["resident"] if largest == LATENCY else 1)
    exact = numbers["programs"] / places
    return 1 - exact / ceil(exact) if exact > 1 or largest != LATENCY else 0.0


def _tail_text(numbers: Mapping[str, float], device: DeviceRates) -> str:
    programs, places = numbers["programs"], device.multiprocessors * numbers["resident"]
    return (
        f"{programs:,.0f} programs on {device.multiprocessors} multiprocessors x {numbers['resident']:.0f} "
        f"resident = {programs / places:.2f} waves"
    )
