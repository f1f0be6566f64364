"""Says how the time of each term comes about: the work, the rate, and the constants, with units."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from irscope.estimating.device_rates import DeviceRates
from irscope.estimating.model import (
    atomic_places,
    dram_bytes,
    dram_spread,
    group_cycles,
    l2_bytes,
    memory_latency,
    program_cycles,
    programs_per_sm,
    replayed,
    synchronous_cycles,
    waves,
)
from irscope.estimating.terms import (
    ATOMICS,
    EXPOSED,
    FETCH,
    ISSUE,
    L2,
    LATENCY,
    MEMORY,
    PROGRAMS,
    RAMP,
    SHARED,
    SPECIAL,
    SPILLS,
    STORES,
    TENSOR,
)

Numbers = Mapping[str, float]
_Text = Callable[[Numbers, DeviceRates, Numbers], str]


def term_text(name: str, x: Numbers, device: DeviceRates, constants: Numbers) -> str:
    """The numbers behind a term."""
    return _TEXTS[name](x, device, constants)


def _latency(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    arrays = {name: np.float64(value) for name, value in x.items()}
    latency = memory_latency(arrays, c)
    cycles, rounds = float(replayed(arrays, latency)), float(waves(arrays, device, c["tail"]))
    text = (
        f"{rounds:.2f} waves x ({cycles:,.0f} cycles of a warp alone, loads answered after "
        f"{float(latency):.0f}, + {c['program start']:.0f} to start"
    )
    if x["barriers"]:
        each = c["barrier"] + c["barrier per warp"] * x["warps"]
        text += f" + {x['barriers']:,.0f} barriers x {each:.0f}"
    if x["ordered atomics"]:
        text += f" + {x['ordered atomics'] / x['warps']:,.0f} ordered atomics x {c['ordered atomic']:.0f}"
    longest = f", the longest program {x['longest']:.2f}x the mean" if x["longest"] > 1.05 else ""
    return f"{text}) at {device.clock} GHz{longest}"


def _per_sm(what: str, x: Numbers, device: DeviceRates, c: Numbers) -> str:
    arrays = {name: np.float64(value) for name, value in x.items()}
    return f"{float(programs_per_sm(arrays, device, c['tail'])):.2f} programs per multiprocessor x {what}"


def _tensor(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    arrays = {name: np.float64(value) for name, value in x.items()}
    parts = []
    if x["wgmma"]:
        cycles = float(group_cycles(arrays, device, c))
        fed = " (shared memory cannot feed more)" if cycles == x["wgmma operands"] else ""
        parts.append(f"{cycles:,.0f} cycles of wgmma{fed}")
    if x["mma"]:
        parts.append(f"{float(synchronous_cycles(arrays, device, c)):,.0f} cycles of mma.sync")
    return _per_sm(" + ".join(parts) or "none", x, device, c)


def _memory(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    total = float(dram_bytes({n: np.float64(v) for n, v in x.items()}, device, c["l2 reuse"]))
    again = total - x["unique bytes"] - x["stored bytes"]
    text = f"{x['unique bytes'] / 1e6:,.1f} MB loaded + {x['stored bytes'] / 1e6:,.1f} MB stored"
    if again > 0.01 * total:
        text += f" + {again / 1e6:,.1f} MB loaded again, too late for L2"
    arrays = {name: np.float64(value) for name, value in x.items()}
    reached = c["dram"] / float(dram_spread(arrays, c))
    spread = f", read from {x['wave footprint'] / 1e6:,.1f} MB at once"
    return f"{text}{spread}, at {reached:.0%} of {device.memory:,.0f} GB/s"


def _l2(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    total = float(l2_bytes({name: np.float64(value) for name, value in x.items()}))
    return f"{total / 1e6:,.1f} MB between L2 and the multiprocessors at {device.l2 * c['l2']:,.0f} GB/s"


def _shared(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    what = f"({x['shared wavefronts']:,.0f} wavefronts of shared memory x {c['shared wavefront']:.2f}"
    if x["shuffles"]:
        what += f" + {x['shuffles']:,.0f} shuffles x {c['shuffle']:.2f}"
    lines = x["load lines"] + x["copy lines"]
    if lines:
        what += f" + {lines:,.0f} lines loaded x {c['l1 line']:.2f}"
    return _per_sm(f"{what} cycles)", x, device, c)


def _stores(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    sectors = x["store sectors"] + x["tensor stores"]
    return _per_sm(f"{sectors:,.0f} sectors of 32 bytes x {c['store sector']:.2f} cycles", x, device, c)


def _issue(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    what = f"{x['instructions']:,.0f} warp instructions x {c['issue']:.2f} cycles"
    return _per_sm(f"{what}, of which {x['alu']:,.0f} integer x 0.5", x, device, c)


def _special(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    what = f"{x['special']:,.0f} special functions and conversions x {c['special']:.2f} cycles"
    return _per_sm(what, x, device, c)


def _spills(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    what = f"({x['local loads']:,.0f} loads + {x['local stores']:,.0f} stores of local memory)"
    return _per_sm(f"{what} x {c['spill']:.1f} cycles", x, device, c)


def _fetch(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    what = f"{x['instructions']:,.0f} warp instructions of {x['size'] * 16 / 1024:,.0f} KiB of machine code"
    return _per_sm(f"{what}, of which the instruction cache holds {c['code cache']:.0f}", x, device, c)


def _programs(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    return f"{x['programs']:,.0f} programs started, one per {c['program rate']:.2f} ns"


def _atomics(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    places = float(atomic_places({name: np.float64(value) for name, value in x.items()}))
    rate = 1 / (1 / device.atomics + 1 / (device.atomics_per_kib * places)) / c["atomic rate"]
    text = (
        f"{x['atomic passes'] * x['programs']:,.0f} sectors of atomics to {places:,.2f} KiB at once, "
        f"{rate:.2f} sectors per cycle (at most {device.atomics:.0f}, {device.atomics_per_kib} per KiB)"
    )
    if x["ordered atomics"]:
        fences = f"{x['ordered atomics']:,.0f} ordered atomics x {c['fence']:.0f} cycles"
        text += f" + {_per_sm(fences, x, device, c)}"
    return text


def _ramp(x: Numbers, device: DeviceRates, c: Numbers) -> str:
    cycles = float(program_cycles({name: np.float64(value) for name, value in x.items()}, c))
    return (
        f"{c['ramp']:.0%} of a program's {cycles:,.0f} cycles, at most of the other terms: until the first "
        "loads are answered, and while the last programs end"
    )


def _exposed(x: Numbers, device: DeviceRates, c: Numbers) -> str:
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
