"""The fitted constants of the model: one number with a unit, a range and a meaning each.

The rates of GPUs, which devices.toml has with their sources. Rates per multiprocessor and clock are those of
the CUDA Programming Guide ("Throughput of Native Arithmetic Instructions") and of the architecture white
papers; bandwidths are those of the data sheets.
What documents do not say is among the fitted constants (`irscope.estimating.constants`).
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from dataclasses import field
from functools import cache
from pathlib import Path
from typing import Any

import platformdirs

from irscope.model import Target, UserError
from irscope.model.records import frozen

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

KIB, MIB = 1024, 1024**2
_FITTED = "nvidia-h100-sxm-80gb"


@frozen
class DeviceRates:
    """One GPU, and what Triton compiles for it.

    `clock` is in GHz, under load; `memory` (DRAM) and `l2` are bandwidths in GB/s; `l2_bytes` is the size
    of the L2 cache. `tensor` is dense FP16 multiply-adds per multiprocessor and clock; `special` are special
    functions per multiprocessor and clock. `atomics` are the sectors (32 bytes) to which all of L2 adds per
    clock, `atomics_per_kib` those of one KiB: it belongs to one unit. `warp_groups` is true if the device has
    matrix instructions of warp groups or larger (wgmma, tcgen05): mma.sync then stays below its peak rate.
    `sources` names the documents. `driver` is what the driver calls it, "" if that is the name.
    """

    name: str
    target: str
    multiprocessors: int
    clock: float
    memory: float
    l2: float
    l2_bytes: int
    tensor: int
    warp_groups: bool
    sources: str
    atomics: float
    special: int = 16
    # Dies with an L2 of their own; what a cache behind L2 delivers in GB/s (0: there is none), and its size.
    dies: int = 1
    fabric: float = 0
    cache_bytes: int = 0
    l1_kib: int = 256
    fit: str = _FITTED
    atomics_per_kib: float = 1.71
    driver: str = ""

    @property
    def driver_name(self) -> str:
        """Return what the device's driver and torch call it, which names the files of serving systems."""
        return self.driver or self.name


# No document has the rate of atomics. An H100 at 1.98 GHz reached 44 to 48 sectors per clock spread over 1 to
# 16 MB, 1.71 within one KiB and 3.4 within two (tools/calibration/tune/atomics.py, 2026-11-22, Triton 3.6.0);
# other GPUs have it scaled by what L2 delivers per clock.
_ATOMICS_PER_BYTE = 48 / 5120


def _read_devices() -> dict[str, DeviceRates]:
    """Read devices.toml: the rates of each device by its short name."""
    text = Path(__file__).with_name("devices.toml").read_text(encoding="utf-8")
    return {name: _rates(table) for name, table in tomllib.loads(text).items()}


def _rates(table: dict[str, Any]) -> DeviceRates:
    rates = {"atomics": _ATOMICS_PER_BYTE * table["l2"] / table["clock"], **table}
    l2_bytes = rates.pop("l2_mib") * MIB
    cache_bytes = rates.pop("cache_mib", 0) * MIB
    return DeviceRates(**rates, l2_bytes=l2_bytes, cache_bytes=cache_bytes or l2_bytes)


def read_device(path: Path) -> DeviceRates:
    """Read a file with one table like those of devices.toml. Raises UserError if it describes no device."""
    try:
        ((name, table),) = tomllib.loads(path.read_text(encoding="utf-8")).items()
        rates = _rates({"name": name, "warp_groups": False, "sources": path.name, **table})
        if min(rates.multiprocessors, rates.clock, rates.memory, rates.l2, rates.l2_bytes, rates.tensor) <= 0:
            raise ValueError("a rate is not above 0")
    except (OSError, ValueError, KeyError, TypeError, ArithmeticError) as error:
        raise UserError(
            f"{path}: not the rates of a device ({error}); write one table like those of devices.toml"
        ) from None
    return rates


DEVICES = _read_devices()
H100, H200, A100, B200 = (DEVICES[name] for name in ("H100", "H200", "A100", "B200"))
# The first device of each target.
_DEFAULT = {device.target: device for device in reversed(DEVICES.values())}
# The targets that have a device without one being named.
RATED_TARGETS = tuple(sorted(_DEFAULT, key=lambda target: (len(target), target)))


def rates_of(target: Target) -> DeviceRates | None:
    """Return the device that estimates for a target assume by default, or None if there is none."""
    return _DEFAULT.get(str(target))


@frozen
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
# The values of all constants by name.
Constants = Mapping[str, float]

DEFAULTS: Constants = {one.name: one.value for one in CONSTANTS}


@frozen
class Fit:
    """The constants of one device, with their provenance: what they were fitted to, how well, and when."""

    device: str
    values: Constants = field(default_factory=lambda: dict(DEFAULTS))
    provenance: Mapping[str, str] = field(default_factory=dict)


def fit_of(device: DeviceRates) -> Fit:
    """Return the constants of a device.

    The user's own come first, then those that irscope has, then those of the H100. The user's own
    are in the file that `irscope pick --calibrate` wrote; a damaged file is an error. Raises
    UserError if it cannot be read.
    """
    path = user_path(device.name)
    return read_fit(path) if path.is_file() else shipped_fit(device.fit)


@cache
def shipped_fit(name: str) -> Fit:
    """Return the constants in a file of irscope's own by its name, those of the H100 by default."""
    return read_fit(Path(__file__).with_name("fits") / f"{name}.json")


def user_path(device: str) -> Path:
    """Return the path of the file with the user's own constants of a device."""
    return (
        platformdirs.user_config_path("irscope", appauthor=False) / "devices" / f"{_file_name(device)}.json"
    )


def read_fit(path: Path) -> Fit:
    """Read the constants in a file; those that it lacks get their default. Raises UserError."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
        values = {str(name): float(value) for name, value in content["constants"].items()}
        provenance = {str(name): str(value) for name, value in content.get("provenance", {}).items()}
        device = str(content["device"])
    except (OSError, ValueError, KeyError, AttributeError, TypeError) as error:
        raise UserError(f"{path}: not a file of device constants: {error}; calibrate again") from None
    for spec in CONSTANTS:
        if not spec.low <= values.setdefault(spec.name, spec.value) <= spec.high:
            raise UserError(
                f"{path}: {spec.name} is {values[spec.name]:g}, not {spec.low:g} to {spec.high:g}"
            )
    return Fit(device, {spec.name: values[spec.name] for spec in CONSTANTS}, provenance)


def write_fit(fit: Fit, path: Path) -> None:
    """Write the constants with their units and provenance. Raises UserError."""
    units = {constant.name: f"{constant.unit or 'a number'}: {constant.meaning}" for constant in CONSTANTS}
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
