"""The model: the time of each resource from the work of a launch, the rates of a device and fitted constants.

All functions take numbers or arrays of them (one element per launch): a fit evaluates the same formulas.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from irscope.estimating.constants import Constants, DeviceRates
from irscope.estimating.terms import (
    ATOMICS,
    EXPOSED,
    FABRIC,
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
from irscope.estimating.work import AGAIN, COUNTED_TENSOR, FAR, REPLAYED

Values: TypeAlias = NDArray[np.float64]
# The bytes of DRAM that can be open: 5 stacks x 32 pseudo-channels x 64 banks x 1 KiB (JEDEC JESD238, HBM3).
OPEN_ROWS = 10 * 2.0**20
# A line has the rate of its KiB; a single address takes 1.5 (integers) to 3.5 cycles (FP32) per atomic.
_LINE, _ADDRESS = 128.0, 0.25
# Resources that the programs of one multiprocessor share.
_LOCAL = (TENSOR, SHARED, STORES, ISSUE, FETCH, SPECIAL, SPILLS)
Numbers = Mapping[str, Values]


def waves(x: Numbers, device: DeviceRates, tail: float) -> Values:
    """Count the programs that follow each other in one place; a partial last wave counts by `tail`."""
    return _partly_filled(x["programs"] / (x["resident"] * device.multiprocessors), tail)


def programs_per_sm(x: Numbers, device: DeviceRates, tail: float) -> Values:
    """Count the programs that the busiest multiprocessor runs."""
    return _partly_filled(x["programs"] / device.multiprocessors, tail)


def _partly_filled(exact: Values, tail: float) -> Values:
    return np.maximum(1.0, exact + tail * (np.ceil(exact) - exact))


def memory_latency(x: Numbers, c: Constants) -> Values:
    """Return the mean latency of loads in cycles: the first load of each byte misses L2, others hit."""
    missed = np.minimum(1.0, x["unique bytes"] / np.maximum(x["touched bytes"], 1.0))
    result: Values = c["l2 latency"] + (c["memory latency"] - c["l2 latency"]) * missed ** c["shared misses"]
    return result


def replayed(x: Numbers, memory: Values) -> Values:
    """Return the latency of one warp in cycles, interpolated between those at which it was replayed."""
    low, middle, high = (x[f"latency {latency:.0f}"] for latency in REPLAYED)
    first = low + (middle - low) * (memory - REPLAYED[0]) / (REPLAYED[1] - REPLAYED[0])
    second = middle + (high - middle) * (memory - REPLAYED[1]) / (REPLAYED[2] - REPLAYED[1])
    return np.where(memory < REPLAYED[1], first, second)


def again_bytes(x: Numbers, device: DeviceRates, reuse: float) -> Values:
    """Return the bytes that DRAM delivers again, because L2 cannot keep them until they are reread.

    A program reads bytes again after a distance, in which all programs that run with it read, too,
    in part the same; the next wave of programs reads again what the one before has read.
    """
    capacity = reuse * max(device.cache_bytes, device.l2_bytes)
    lost: Values = np.zeros_like(x["programs"])
    for bits in FAR:
        lost = lost + x[f"far {bits}"] / (1 + (capacity / 2.0**bits) ** 4)
    between = x["wave bytes"] - x["unique bytes"]
    result: Values = lost + between / (1 + (capacity / np.maximum(1.0, x["wave footprint"])) ** 4)
    fits = x["unique bytes"] + x["stored bytes"] < capacity
    return np.where(fits, 0.0, result)


def l2_bytes(x: Numbers) -> Values:
    """Return the bytes that L2 delivers or takes: loads that hit L1 stay in the multiprocessor.

    Warps that load the same bytes at once load them once; a program hits what it has loaded
    before, unless the programs of the multiprocessor have loaded more than L1 holds since.
    """
    cached = x["load sectors"] / np.maximum(1.0, x["load sectors"] + x["copy sectors"] + x["tensor loads"])
    hit: Values = np.zeros_like(cached)
    for bits in AGAIN:
        hit = hit + x[f"again {bits}"] / (1 + (x["resident"] * 2.0**bits / x["l1 bytes"]) ** 4)
    stored = (x["store sectors"] + x["tensor stores"]) * 32 * x["programs"]
    return np.maximum(x["touched bytes"] - cached * hit, x["unique bytes"]) + stored


def fabric_bytes(x: Numbers, device: DeviceRates) -> Values:
    """Return the bytes between the L2 of each die and the cache behind them: what programs of two dies
    share comes twice.
    """
    if not device.fabric:
        return np.zeros_like(x["programs"])
    result: Values = np.minimum(x["die bytes"], x["touched bytes"] + x["stored bytes"])
    return result


def dram_bytes(x: Numbers, device: DeviceRates, reuse: float) -> Values:
    """Return the bytes of DRAM: each byte read or stored, and those that are reread too late for L2."""
    return x["unique bytes"] + x["stored bytes"] + again_bytes(x, device, reuse)


def dram_spread(x: Numbers, c: Constants) -> Values:
    """Return the factor by which DRAM is slower.

    The more bytes a wave reads from, the fewer open rows it finds.
    """
    result: Values = 1 + c["dram spread"] * np.log2(1 + x["wave footprint"] / OPEN_ROWS)
    return result


def atomic_places(x: Numbers) -> Values:
    """Return the KiB to which a wave adds: at least one, or the part that a few sectors reach."""
    result: Values = np.maximum(x["atomic bytes"] / 1024, np.clip(x["atomic bytes"] / _LINE, _ADDRESS, 1.0))
    return result


def atomic_cycles(x: Numbers, device: DeviceRates) -> Values:
    """Return the cycles of a launch's atomics: those of all L2 units, and of those with the bytes.

    Each KiB belongs to one unit. If a wave adds to few of them, they do the work while the others
    wait.
    """
    kibibytes = atomic_places(x)
    cycles_per_sector = 1 / device.atomics + 1 / (device.atomics_per_kib * kibibytes)
    result: Values = x["atomic passes"] * x["programs"] * cycles_per_sector
    return result


def group_cycles(x: Numbers, device: DeviceRates, c: Constants) -> Values:
    """Return the cycles per program that wgmma keeps the tensor cores of one multiprocessor busy."""
    result: Values = np.maximum(
        x["wgmma"] * c["wgmma"] * (COUNTED_TENSOR / device.tensor), x["wgmma operands"]
    )
    return result


def synchronous_cycles(x: Numbers, device: DeviceRates, c: Constants) -> Values:
    """Return the cycles per program that mma.sync keeps the tensor cores of one multiprocessor busy.

    Where nothing larger exists, mma.sync comes as close to the peak rate as wgmma does on Hopper.
    """
    efficiency = c["mma"] if device.warp_groups else c["wgmma"]
    return x["mma"] * (efficiency * COUNTED_TENSOR / device.tensor)


def alu_cycles(x: Numbers) -> Values:
    """Return the cycles of what one kind of unit computes: integers of NVIDIA, all vectors of AMD."""
    result: Values = x.get("vector cycles", x["alu"] * 0.5)
    return result


def term_times(x: Numbers, device: DeviceRates, c: Constants) -> dict[str, Values]:
    """Return the microseconds of each term, by name."""
    clock = device.clock * 1e3
    per_sm = programs_per_sm(x, device, c["tail"]) / clock
    stored_sectors = x["store sectors"] + x["tensor stores"]
    chain = program_cycles(x, c)
    wave = waves(x, device, c["tail"])
    pipes = np.maximum(x["instructions"] * c["issue"], alu_cycles(x) + x["double"] * 7.5)
    missed = np.maximum(0.0, 1 - c["code cache"] * 1024 / (x["size"] * 16)) ** 2
    lines = (x["load lines"] + x["copy lines"]) * c["l1 line"]
    times = {
        LATENCY: chain * (wave + x["longest"] - 1) / clock,
        TENSOR: (group_cycles(x, device, c) + synchronous_cycles(x, device, c)) * per_sm,
        MEMORY: dram_bytes(x, device, c["l2 reuse"]) * dram_spread(x, c) / (device.memory * c["dram"] * 1e3),
        L2: l2_bytes(x) / (device.l2 * c["l2"] * 1e3),
        FABRIC: fabric_bytes(x, device) / (max(device.fabric, 1.0) * c["l2"] * 1e3),
        SHARED: (x["shared wavefronts"] * c["shared wavefront"] + x["shuffles"] * c["shuffle"] + lines)
        * per_sm,
        STORES: stored_sectors * c["store sector"] * per_sm,
        ISSUE: pipes * per_sm,
        FETCH: x["instructions"] * c["fetch"] * missed * per_sm,
        PROGRAMS: (x["programs"] + x["ended programs"]) * c["program rate"] / 1e3,
        SPECIAL: x["special"] * c["special"] * per_sm,
        SPILLS: (x["local loads"] + x["local stores"]) * c["spill"] * per_sm,
        ATOMICS: atomic_cycles(x, device) * c["atomic rate"] / clock
        + x["ordered atomics"] * c["fence"] * per_sm,
    }
    ramp = c["ramp"] * np.minimum(chain / clock, _others(times, c))
    return times | {EXPOSED: _exposed(times, x, device, c), RAMP: ramp}


def program_cycles(x: Numbers, c: Constants) -> Values:
    """Return the cycles that a program takes by itself, from its start to its end."""
    result: Values = (
        replayed(x, memory_latency(x, c))
        + c["program start"]
        + x["barriers"] * (c["barrier"] + c["barrier per warp"] * x["warps"])
        + x["ordered atomics"] / x["warps"] * c["ordered atomic"]
    )
    return result


def _others(times: Mapping[str, Values], c: Constants) -> Values:
    """Return the p-norm of the terms that overlap in full, without latency."""
    apart = (LATENCY, EXPOSED, RAMP)
    return _norm([time for name, time in times.items() if name not in apart], c["power"])


def _exposed(times: Mapping[str, Values], x: Numbers, device: DeviceRates, c: Constants) -> Values:
    """Return the time that memory and computing cannot hide: a wave's programs do the same at once.

    A program that loads once computes when all others compute, too. Further waves, or iterations
    of a loop that loads, overlap.
    """
    rounds = x["rounds"] * np.maximum(1.0, x["programs"] / (x["resident"] * device.multiprocessors))
    computing = _norm([times[name] for name in _LOCAL], c["power"])
    return np.minimum(times[MEMORY], computing) * c["exposed"] / rounds


def total_time(times: Mapping[str, Values], c: Constants) -> Values:
    """Return overhead, what does not overlap, and the p-norm of latency and of the other terms' norm."""
    added = c["overhead"] + times[EXPOSED] + times[RAMP]
    return added + _norm([times[LATENCY], _others(times, c)], c["latency power"])


def _norm(times: Sequence[Values], power: float) -> Values:
    stacked = np.stack([np.asarray(time, np.float64) for time in times])
    largest = np.maximum(stacked.max(axis=0), 1e-9)
    result: Values = largest * ((stacked / largest) ** power).sum(axis=0) ** (1 / power)
    return result
