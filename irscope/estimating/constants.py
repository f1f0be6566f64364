"""The fitted constants of the model: one number with a unit, a range and a meaning each."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path

import platformdirs

from irscope.estimating.device_rates import DeviceRates
from irscope.model import UserError


@dataclass(frozen=True, slots=True)
class Constant:
    """A constant of the model: `value` before any fit, the range in which a fit may move it, its unit."""

    name: str
    value: float
    low: float
    high: float
    unit: str
    meaning: str


CONSTANTS = (
    Constant("overhead", 5.0, 1.0, 9.0, "us", "launching a kernel that does nothing, as timed by events"),
    Constant("power", 4.0, 1.2, 12.0, "", "how well resources overlap: p of their p-norm"),
    Constant("latency power", 2.2, 1.2, 8.0, "", "how well latency and resources overlap: p of their p-norm"),
    Constant("memory latency", 800, 500, 1500, "cycles", "a load from DRAM"),
    Constant("l2 latency", 300, 200, 900, "cycles", "a load from L2"),
    Constant(
        "shared misses", 0.4, 0.05, 1.5, "", "how often loads of data that programs share wait for DRAM"
    ),
    Constant("program rate", 0.6, 0.3, 1.2, "ns", "starting a program, wherever it runs"),
    Constant("fetch", 4.0, 0.5, 12.0, "cycles", "an instruction that misses the instruction cache"),
    Constant("code cache", 96, 32, 256, "KiB", "the machine code that the instruction cache holds"),
    Constant("program start", 700, 100, 3000, "cycles", "starting a program and draining its stores"),
    Constant("barrier", 20, 5, 120, "cycles", "a barrier of all warps"),
    Constant("barrier per warp", 2, 0, 16, "cycles", "the same, for each warp that must arrive"),
    Constant("tail", 0.8, 0.0, 1.0, "", "how much of a partly filled last wave costs as a full one"),
    Constant("dram", 0.9, 0.6, 1.0, "of peak", "the bandwidth of DRAM that streaming reaches"),
    Constant(
        "dram spread", 0.02, 0.0, 0.1, "", "slower DRAM per doubling of the bytes that a wave reads from"
    ),
    Constant("l2", 0.8, 0.3, 1.3, "of rate", "the bandwidth of L2 that multiprocessors reach together"),
    Constant("l1 line", 0.5, 0.05, 4.0, "cycles", "a line of 128 bytes that a request touches in L1"),
    Constant("store sector", 0.5, 0.05, 4.0, "cycles", "32 bytes that are stored to global memory"),
    Constant(
        "atomic rate", 1.0, 0.6, 2.0, "x", "atomics against the rate that L2 reaches if they do nothing else"
    ),
    Constant("fence", 35, 10, 100, "cycles", "an atomic with acquire and release order, per multiprocessor"),
    Constant("ordered atomic", 700, 50, 3000, "cycles", "an atomic with acquire and release order"),
    Constant("shared wavefront", 1.0, 0.5, 2.5, "cycles", "128 bytes of shared memory"),
    Constant("shuffle", 2.0, 0.5, 6.0, "cycles", "a shuffle of a warp"),
    Constant("spill", 8.0, 1.0, 40.0, "cycles", "a load or store of local memory of a warp"),
    Constant("issue", 0.3, 0.2, 1.2, "cycles", "an instruction of a warp, on four schedulers"),
    Constant("special", 2.0, 1.0, 6.0, "cycles", "a special function or conversion of a warp"),
    Constant("mma", 1.6, 1.2, 2.5, "x", "mma.sync against the peak rate of the tensor cores"),
    Constant("wgmma", 1.3, 1.0, 2.0, "x", "wgmma against the peak rate of the tensor cores"),
    Constant("exposed", 0.7, 0.0, 1.5, "", "the part of a first load that no computing overlaps with"),
    Constant(
        "ramp", 0.3, 0.0, 1.0, "", "the part of a program's time in which not all multiprocessors are busy"
    ),
    Constant("l2 reuse", 0.6, 0.1, 2.0, "of size", "the part of L2 that holds what programs read again"),
)
DEFAULTS: Mapping[str, float] = {one.name: one.value for one in CONSTANTS}


@dataclass(frozen=True)
class Fit:
    """The constants of one device, with their provenance: what they were fitted to, how well, and when."""

    device: str
    values: Mapping[str, float] = field(default_factory=lambda: dict(DEFAULTS))
    provenance: Mapping[str, str] = field(default_factory=dict)


_FITTED = "nvidia-h100-sxm-80gb"


def fit_of(device: DeviceRates) -> Fit:
    """The constants of a device: the user's own, else those that irscope has, else those of the H100.

    The user's own are in the file that `irscope pick --calibrate` wrote. A damaged file is an error.
    Raises UserError if it cannot be read.
    """
    own = user_path(device.name)
    return read_fit(own) if own.is_file() else shipped_fit(device.name)


@cache
def shipped_fit(device: str) -> Fit:
    """The constants that irscope has for a device; those of the H100 if it has none."""
    path = Path(__file__).with_name("fits") / f"{_file_name(device)}.json"
    return read_fit(path if path.is_file() else path.with_name(f"{_FITTED}.json"))


def user_path(device: str) -> Path:
    """The file with the user's own constants of a device."""
    return (
        platformdirs.user_config_path("irscope", appauthor=False) / "devices" / f"{_file_name(device)}.json"
    )


def read_fit(path: Path) -> Fit:
    """The constants in a file; those that it lacks have their default. Raises UserError."""
    try:
        found = json.loads(path.read_text(encoding="utf-8"))
        values = {str(name): float(value) for name, value in found["constants"].items()}
        provenance = {str(name): str(value) for name, value in found.get("provenance", {}).items()}
        device = str(found["device"])
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{path}: not a file of device constants: {error}; calibrate again") from None
    for one in CONSTANTS:
        if not one.low <= values.setdefault(one.name, one.value) <= one.high:
            raise UserError(f"{path}: {one.name} is {values[one.name]:g}, not {one.low:g} to {one.high:g}")
    return Fit(device, {one.name: values[one.name] for one in CONSTANTS}, provenance)


def write_fit(fit: Fit, path: Path) -> None:
    """Writes the constants with their units and provenance. Raises UserError."""
    units = {one.name: f"{one.unit or 'a number'}: {one.meaning}" for one in CONSTANTS}
    content = {
        "device": fit.device,
        "constants": {name: float(f"{value:.4g}") for name, value in fit.values.items()},
        "units": units,
        "provenance": dict(fit.provenance),
    }
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        raise UserError(f"{path}: cannot be written: {error.strerror}") from None


def _file_name(device: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", device.lower()).strip("-")
