"""Estimates one launch of one variant: the time, the bound, and each term with its numbers.

Says how the time of each term comes about: the work, the rate, and the constants, with units.

The lines of the assembly that show where the work of a term comes from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from math import ceil

import numpy as np

from irscope.estimating.constants import RATED_TARGETS, Constants, DeviceRates, Fit, fit_of, rates_of
from irscope.estimating.model import (
    Numbers,
    alu_cycles,
    atomic_places,
    dram_bytes,
    dram_spread,
    fabric_bytes,
    group_cycles,
    l2_bytes,
    memory_latency,
    program_cycles,
    programs_per_sm,
    replayed,
    synchronous_cycles,
    term_times,
    total_time,
    waves,
)
from irscope.estimating.terms import (
    ATOMICS,
    EXPOSED,
    FABRIC,
    FETCH,
    ISSUE,
    L2,
    LATENCY,
    MEMORY,
    OVERHEAD,
    PROGRAMS,
    RAMP,
    SHARED,
    SPECIAL,
    SPILLS,
    STORES,
    TAIL,
    TENSOR,
    Estimate,
    Term,
)
from irscope.estimating.work import Work, works_of
from irscope.facts.artifacts import VariantArtifacts
from irscope.facts.fact import Evidence, ReadStage, evidence_at
from irscope.model import Launch, UserError, Variant
from irscope.model.text import pluralize
from irscope.targets import CUDA, HIP, in_words_of, target_named

# The text with the numbers behind a term, from the work, the device and the constants of the model.
_Text = Callable[[Numbers, DeviceRates, Constants], str]


def _latency(x: Numbers, device: DeviceRates, c: Constants) -> str:
    latency = memory_latency(x, c)
    cycles, rounds = float(replayed(x, latency)), float(waves(x, device, c["tail"]))
    text = (
        f"{rounds:.2f} waves x ({cycles:,.0f} cycles of a warp alone, loads answered after "
        f"{float(latency):.0f}, + {c['program start']:.0f} to start"
    )
    if x["barriers"]:
        barrier_cycles = c["barrier"] + c["barrier per warp"] * x["warps"]
        text += f" + {pluralize(round(float(x['barriers'])), 'barrier')} x {barrier_cycles:.0f}"
    if x["ordered atomics"]:
        text += f" + {x['ordered atomics'] / x['warps']:,.0f} ordered atomics x {c['ordered atomic']:.0f}"
    longest = f", the longest program {x['longest']:.2f}x the mean" if x["longest"] > 1.05 else ""
    return f"{text}) at {device.clock} GHz{longest}"


def _per_sm(what: str, x: Numbers, device: DeviceRates, c: Constants) -> str:
    return f"{float(programs_per_sm(x, device, c['tail'])):.2f} programs per multiprocessor x {what}"


def _tensor(x: Numbers, device: DeviceRates, c: Constants) -> str:
    parts = []
    if x["wgmma"]:
        cycles = float(group_cycles(x, device, c))
        fed = " (shared memory cannot feed more)" if cycles == x["wgmma operands"] else ""
        parts.append(f"{cycles:,.0f} cycles of wgmma{fed}")
    if x["mma"]:
        parts.append(f"{float(synchronous_cycles(x, device, c)):,.0f} cycles of mma.sync")
    return _per_sm(" + ".join(parts) or "none", x, device, c)


def _memory(x: Numbers, device: DeviceRates, c: Constants) -> str:
    total = float(dram_bytes(x, device, c["l2 reuse"]))
    again = total - x["unique bytes"] - x["stored bytes"]
    text = f"{x['unique bytes'] / 1e6:,.1f} MB loaded + {x['stored bytes'] / 1e6:,.1f} MB stored"
    if again > 0.01 * total:
        text += f" + {again / 1e6:,.1f} MB loaded again, too late for L2"
    reached = c["dram"] / float(dram_spread(x, c))
    spread = f", read from {x['wave footprint'] / 1e6:,.1f} MB at once"
    return f"{text}{spread}, at {reached:.0%} of {device.memory:,.0f} GB/s"


def _l2(x: Numbers, device: DeviceRates, c: Constants) -> str:
    total = float(l2_bytes(x))
    return f"{total / 1e6:,.1f} MB between L2 and the multiprocessors at {device.l2 * c['l2']:,.0f} GB/s"


def _fabric(x: Numbers, device: DeviceRates, c: Constants) -> str:
    total = float(fabric_bytes(x, device))
    return (
        f"{total / 1e6:,.1f} MB between the L2 of {device.dies} dies and the cache that they share, "
        f"at {device.fabric * c['l2']:,.0f} GB/s"
    )


def _shared(x: Numbers, device: DeviceRates, c: Constants) -> str:
    what = f"({x['shared wavefronts']:,.0f} wavefronts of shared memory x {c['shared wavefront']:.2f}"
    if x["shuffles"]:
        what += f" + {x['shuffles']:,.0f} shuffles x {c['shuffle']:.2f}"
    lines = x["load lines"] + x["copy lines"]
    if lines:
        what += f" + {lines:,.0f} lines loaded x {c['l1 line']:.2f}"
    return _per_sm(f"{what} cycles)", x, device, c)


def _stores(x: Numbers, device: DeviceRates, c: Constants) -> str:
    sectors = x["store sectors"] + x["tensor stores"]
    return _per_sm(f"{sectors:,.0f} sectors of 32 bytes x {c['store sector']:.2f} cycles", x, device, c)


def _issue(x: Numbers, device: DeviceRates, c: Constants) -> str:
    what = f"{x['instructions']:,.0f} warp instructions x {c['issue']:.2f} cycles"
    return _per_sm(f"{what}, of which {x['alu']:,.0f} {_alu(x)}", x, device, c)


def _alu(x: Numbers) -> str:
    """Say how long the instructions take that one kind of unit computes: "1,024 integer x 0.5"."""
    each = float(alu_cycles(x)) / x["alu"] if x["alu"] else 0.0
    return f"{'vector' if 'vector cycles' in x else 'integer'} x {each:.2g}"


def _special(x: Numbers, device: DeviceRates, c: Constants) -> str:
    what = f"{x['special']:,.0f} special functions and conversions x {c['special']:.2f} cycles"
    return _per_sm(what, x, device, c)


def _spills(x: Numbers, device: DeviceRates, c: Constants) -> str:
    what = f"({x['local loads']:,.0f} loads + {x['local stores']:,.0f} stores of local memory)"
    return _per_sm(f"{what} x {c['spill']:.1f} cycles", x, device, c)


def _fetch(x: Numbers, device: DeviceRates, c: Constants) -> str:
    what = f"{x['instructions']:,.0f} warp instructions of {x['size'] * 16 / 1024:,.0f} KiB of machine code"
    return _per_sm(f"{what}, of which the instruction cache holds {c['code cache']:.0f}", x, device, c)


def _programs(x: Numbers, device: DeviceRates, c: Constants) -> str:
    ended = f" + {x['ended programs']:,.0f} that end at once" if x["ended programs"] else ""
    return f"{x['programs']:,.0f} programs{ended} started, one per {c['program rate']:.2f} ns"


def _atomics(x: Numbers, device: DeviceRates, c: Constants) -> str:
    kibibytes = float(atomic_places(x))
    rate = 1 / (1 / device.atomics + 1 / (device.atomics_per_kib * kibibytes)) / c["atomic rate"]
    text = (
        f"{x['atomic passes'] * x['programs']:,.0f} sectors of atomics to {kibibytes:,.2f} KiB at once, "
        f"{rate:.2f} sectors per cycle (at most {device.atomics:.0f}, {device.atomics_per_kib} per KiB)"
    )
    if x["ordered atomics"]:
        fences = f"{x['ordered atomics']:,.0f} ordered atomics x {c['fence']:.0f} cycles"
        text += f" + {_per_sm(fences, x, device, c)}"
    return text


def _ramp(x: Numbers, device: DeviceRates, c: Constants) -> str:
    cycles = float(program_cycles(x, c))
    return (
        f"{c['ramp']:.0%} of a program's {cycles:,.0f} cycles, at most of the other terms: until the first "
        "loads are answered, and while the last programs end"
    )


def _exposed(x: Numbers, device: DeviceRates, c: Constants) -> str:
    waves_of = max(1.0, x["programs"] / (x["resident"] * device.multiprocessors))
    return (
        f"{c['exposed']:.0%} of the lesser of memory and computing, by {waves_of:.2f} waves x "
        f"{x['rounds']:.1f} times that a program loads"
    )


_TEXTS: Mapping[str, _Text] = {
    LATENCY: _latency,
    TENSOR: _tensor,
    MEMORY: _memory,
    L2: _l2,
    FABRIC: _fabric,
    SHARED: _shared,
    STORES: _stores,
    ISSUE: _issue,
    SPECIAL: _special,
    SPILLS: _spills,
    ATOMICS: _atomics,
    FETCH: _fetch,
    PROGRAMS: _programs,
    EXPOSED: _exposed,
    RAMP: _ramp,
}


_MOST = 64
_ACCESSES = {
    MEMORY: ("global", ("load", "copy", "store")),
    L2: ("global", ("load", "copy", "store")),
    SHARED: ("shared", ("load", "copy", "store")),
    STORES: ("global", ("store",)),
    ATOMICS: ("global", ("atomic",)),
}


def term_evidence(name: str, work: Work, artifacts: VariantArtifacts | None) -> tuple[Evidence, ...]:
    """Return at most 64 lines of the PTX (AMD: of the LLVM IR), those with most work first."""
    amd = artifacts is not None and artifacts.variant.target.backend == HIP.name
    stage = "llir" if amd else CUDA.assembly
    if name == LATENCY:
        loops = sorted(work.counts.loops, key=lambda loop: -loop.passes * loop.instructions)
        return evidence_at(stage, (loop.header for loop in loops[:_MOST] if loop.passes))
    if name == TENSOR and artifacts is not None and artifacts.scan is not None:
        matrix_lines = [
            line for kind, lines in artifacts.scan.lines.items() if kind.kind == "matrix" for line in lines
        ]
        return evidence_at(HIP.assembly if amd else CUDA.assembly, sorted(matrix_lines)[:_MOST])
    space, names = _ACCESSES.get(name, ("", ()))
    accesses = [one for one in work.counts.accesses if one.space == space and one.name in names]
    accesses.sort(key=lambda one: -(one.sectors + one.wavefronts))
    lines = [one.line for one in accesses if one.warps]
    if name in (MEMORY, L2, STORES):
        lines += [copy.line for copy in work.counts.copies if copy.stores or name != STORES]
    return evidence_at(stage, dict.fromkeys(lines[:_MOST]))


# Terms below this share of the largest are not listed.
_LISTED = 0.005
# The part of what L2 is taken to keep that it keeps if stores take the rest, and its halves hold the same.
_DOUBTFUL_CACHE = 0.25
# The latency is that of matrix products if they take this share of it.
_PRODUCTS = 0.7


def estimate(
    variant: Variant,
    launch: Launch,
    read: ReadStage,
    device: DeviceRates | None = None,
    fit: Fit | None = None,
) -> Estimate:
    """Estimate how long `launch` takes on `device` (None: the usual one of the variant's target).

    `fit` has the constants of the model (None: the ones of the device). `read` and errors are as in
    `estimates`.
    """
    return estimates(variant, launch, read, [device], fit)[0]


def estimates(
    variant: Variant,
    launch: Launch,
    read: ReadStage,
    devices: Sequence[DeviceRates | None],
    fit: Fit | None,
) -> list[Estimate]:
    """Estimate how long `launch` takes on each of `devices`, for which its work is counted once.

    `read` returns the content of a stage, or None if there is none: `lambda stage:
    workspace.contents.read(variant, stage)`; only the PTX and the cubin (AMD: the LLVM IR and the AMDGCN)
    are read. Raises UserError if the variant cannot be estimated: no machine code, a target without rates
    or one that a device does not run.
    """
    usual = rates_of(variant.target)
    rates = [known for device in devices if (known := device or usual)]
    if len(rates) < len(devices):
        targets = ", ".join(RATED_TARGETS)
        raise UserError(f"{variant.target}: irscope can estimate only launches on {targets}")
    if any(device.target != str(variant.target) for device in rates):
        raise UserError(f"{variant.target}: not what {rates[0].name} runs; pick --device compiles for it")
    artifacts = VariantArtifacts(variant, read)
    works = works_of(artifacts, launch, rates)
    return [
        estimate_of(work, device, fit or fit_of(device), artifacts)
        for work, device in zip(works, rates, strict=True)
    ]


def estimate_of(work: Work, device: DeviceRates, fit: Fit, artifacts: VariantArtifacts | None) -> Estimate:
    """Estimate a launch from its known work; `artifacts` are read for evidence."""
    x = {name: np.float64(value) for name, value in work.numbers.items()}
    term_values = term_times(x, device, fit.values)
    times = {name: float(time) for name, time in term_values.items()}
    total = float(total_time(term_values, fit.values))
    largest = max(times, key=times.__getitem__)
    limiting = _limiting(times)
    words = partial(in_words_of, target_named(device.target))
    terms = [
        Term(
            words(name),
            time,
            words(_TEXTS[name](x, device, fit.values)),
            term_evidence(name, work, artifacts),
        )
        for name, time in times.items()
        if time >= _LISTED * times[largest]
    ]
    idle = _idle_share(limiting, work.numbers, device)
    terms.append(Term(TAIL, times[limiting] * idle, words(_tail_text(work.numbers, device))))
    terms.append(Term(OVERHEAD, fit.values["overhead"], "launching a kernel that does nothing"))
    ordered = tuple(sorted(terms, key=lambda term: -term.microseconds))
    limits, unmeasured = tuple(_limits(work)), tuple(_unmeasured(fit))
    notes = (
        *limits,
        *(f"not counted: {text}" for text in work.counts.unknown),
        *work.counts.assumptions,
        *_places_of_atomics(work),
        *unmeasured,
    )
    bound = TAIL if idle > 0.5 else words(limiting)
    complete = all(text.startswith("argument ") for text in work.counts.unknown)
    said = (*limits, *unmeasured)
    depends = work.counts.depends
    risk = _with_small_cache(x, device, fit.values) / total - 1
    return Estimate(total, bound, ordered, device.name, work.numbers, notes, complete, said, depends, risk)


def _with_small_cache(x: Numbers, device: DeviceRates, c: Constants) -> float:
    """Return the microseconds of a launch if L2 keeps less than it is taken to keep."""
    small = {**c, "l2 reuse": c["l2 reuse"] * _DOUBTFUL_CACHE}
    return float(total_time(term_times(x, device, small), small))


def _unmeasured(fit: Fit) -> Iterator[str]:
    """Say that the constants of a GPU were not fitted to measurements."""
    if "assumed" in fit.provenance:
        yield (
            f"no {fit.device} GPU was measured: rates come from documents, other constants from the H100; "
            "compare configs rather than times, or correct them with `irscope pick --calibrate`"
        )


def _limits(work: Work) -> Iterator[str]:
    """Say what the model does not know about this kind of kernel."""
    if work.counts.depends:
        yield (
            f"?: depends on the values of {', '.join(work.counts.depends)}, which are not known: taken so "
            "that programs do their work; --launch gives values"
        )
    if any(kind.startswith("tcgen05.mma") for kind in work.counts.matrix()):
        yield (
            "tcgen05.mma is not modeled: the time of these products, and of waits for them, is missing, "
            "so the estimate is too short"
        )


def _places_of_atomics(work: Work) -> Iterator[str]:
    """Say which places are assumed for atomics whose addresses depend on data."""
    for tensor in work.counts.traffic:
        if tensor.direction == "atomic" and tensor.scattered and tensor.tensor_bytes:
            size = f"{tensor.tensor_bytes / 1024:,.0f} KiB"
            yield f"atomics to places that data decides: spread evenly over the {size} of {tensor.name}"


def _limiting(times: Mapping[str, float]) -> str:
    """Return the term that limits the launch: the longest, or tensor cores if they fill the latency.

    The replayed latency of a program has the time of its own matrix products. If they fill it,
    more programs would not help.
    """
    largest = max(times, key=times.__getitem__)
    products = largest == LATENCY and times[TENSOR] >= _PRODUCTS * times[LATENCY]
    return TENSOR if products else largest


def _idle_share(largest: str, numbers: Mapping[str, float], device: DeviceRates) -> float:
    """Return the share of the time in which idle multiprocessors wait for the last programs."""
    slots = device.multiprocessors * (numbers["resident"] if largest == LATENCY else 1)
    exact = numbers["programs"] / slots
    return 1 - exact / ceil(exact) if exact > 1 or largest != LATENCY else 0.0


def _tail_text(numbers: Mapping[str, float], device: DeviceRates) -> str:
    programs, slots = numbers["programs"], device.multiprocessors * numbers["resident"]
    return (
        f"{programs:,.0f} programs on {device.multiprocessors} multiprocessors x {numbers['resident']:.0f} "
        f"resident = {programs / slots:.2f} waves"
    )
