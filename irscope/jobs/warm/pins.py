"""Pins: the configs that autotuners chose on a GPU, in captures and in pin files, and how sets of them merge.

A pin file is TOML that people read, review and merge:

    [[pin]]
    kernel = "matmul"
    key = "(512, 64, 'torch.float16')"
    config = "BLOCK=64,num_warps=8,num_stages=3"
    ...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from irscope.jobs.warm.plan_file import TEXT, VERSION, KeyKind, key_value, read_tables, text_value
from irscope.model import Benchmark, Config, Tuning, UserError, Variant, format_value, parse_value
from irscope.model.config import torch_name
from irscope.model.text import one_line, split_entries
from irscope.model.tuning_pin import Pin, source_digest
from irscope.store import CaptureReader


def pins_in(capture: Path) -> tuple[Pin, ...]:
    """Return the pins of a capture. Raises UserError if it cannot be read."""
    with CaptureReader(capture) as reader:
        return pins_of(reader.variants())


def pins_of(variants: Iterable[Variant]) -> tuple[Pin, ...]:
    """Return a pin per run of an autotuner whose choice is known, with the times of all its configs."""
    runs: dict[tuple[object, ...], list[tuple[Variant, Benchmark]]] = {}
    for variant in variants:
        for benchmark in variant.benchmarks:
            run_key = variant.kernel.id, variant.target, benchmark.key, _dtypes(variant)
            runs.setdefault(run_key, []).append((variant, benchmark))
    return tuple(_pin(run) for run in runs.values() if any(benchmark.chosen for _, benchmark in run))


def _pin(run: Sequence[tuple[Variant, Benchmark]]) -> Pin:
    chosen = [pair for pair in run if pair[1].chosen]
    # The same key may have been tuned again, by another process or program: the last run counts.
    variant, benchmark = max(chosen, key=lambda pair: pair[1].tuning.date if pair[1].tuning else "")
    timings: dict[Config, float] = {}
    for measured_variant, measured in run:
        timings[measured_variant.config] = min(measured.ms, timings.get(measured_variant.config, measured.ms))
    timings[variant.config] = benchmark.ms
    versions = variant.toolchain.versions
    return Pin(
        kernel=variant.kernel.name,
        source=source_digest(variant.kernel.source.text),
        target=str(variant.target),
        config=variant.config,
        tuning=benchmark.tuning or Tuning(_derived_key(benchmark.key, variant), 0),
        timings=tuple(sorted(timings.items(), key=lambda pair: pair[1])),
        triton=versions.get("triton", ""),
        torch=versions.get("torch", ""),
    )


def _derived_key(key: str, variant: Variant) -> str:
    """Triton's tuning key for "M=512, ACT=relu", of captures that do not have it.

    The types of the tensors follow in the order of the parameters, as in a launch without keywords.
    """
    entries = split_entries(key)
    values = [entry.partition("=") for entry in entries]
    if key.startswith("("):
        return key  # of a trace, which has Triton's text
    if not all(equals for _, equals, _ in values):
        return repr(tuple(map(_value, entries)))  # of a file in Triton's cache
    return repr((*(_value(text) for _, _, text in values), *_dtypes(variant)))


def _value(text: str) -> object:
    value = parse_value(text)
    return value if value is None or isinstance(value, bool | int | float | str) else text


def _dtypes(variant: Variant) -> tuple[str, ...]:
    """Return the types of the tensors as the tuning key has them."""
    return tuple(
        f"torch.{torch_name(argument.type)}"
        for argument in variant.specialization
        if argument.type.startswith("*")
    )


def merged(sets: Mapping[str, Sequence[Pin]]) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """Return the pins of several files as one, and a line per conflict.

    Of two for one kernel, target, tuning key and GPU model, the one that was measured later is kept;
    if that is not known of both, the one whose config is faster.
    """
    by_name: dict[tuple[str, str, str, str], tuple[str, Pin]] = {}
    conflicts = []
    for name, pins in sets.items():
        for pin in pins:
            before = by_name.setdefault(pin.name, (name, pin))
            winner, loser = ((name, pin), before) if _replaces(pin, before[1]) else (before, (name, pin))
            by_name[pin.name] = winner
            if winner[1].config != loser[1].config:
                conflicts.append(_conflict(winner, loser))
    return tuple(pin for _, pin in by_name.values()), tuple(conflicts)


def pins_for(pins: Sequence[Pin], device: str | None) -> tuple[Pin, ...]:
    """Return the pins for one GPU model, by the name that its driver and torch have; None: for the only one.

    A pin without a device is for all that have none of their own. Raises UserError if no pin is for the
    device, or if there is none and the pins of several differ.
    """
    devices = list(dict.fromkeys(pin.tuning.device for pin in pins if pin.tuning.device))
    listed = ", ".join(map(one_line, devices))
    if device is not None and devices and device not in devices:
        raise UserError(f"--device {device}: no pin is for it; there are pins for {listed}")
    chosen: dict[tuple[str, str, str], Pin] = {}
    for pin in sorted(pins, key=lambda pin: bool(pin.tuning.device)):
        earlier = chosen.get(pin.launches)
        if device is None and earlier and earlier.tuning.device and earlier.config != pin.config:
            raise UserError(f"the pins for {listed} differ; --device says which GPU the folder is for")
        if device is None or pin.tuning.device in ("", device):
            chosen[pin.launches] = pin
    return tuple(chosen.values())


def _replaces(new: Pin, old: Pin) -> bool:
    if new.tuning.date and old.tuning.date and new.tuning.date != old.tuning.date:
        return new.tuning.date > old.tuning.date
    if new.milliseconds is None or old.milliseconds is None:
        return old.milliseconds is None
    return new.milliseconds < old.milliseconds


def _conflict(winner: tuple[str, Pin], loser: tuple[str, Pin]) -> str:
    pin, dates = winner[1], {winner[1].tuning.date, loser[1].tuning.date}
    reason = "newer" if "" not in dates and len(dates) == 2 else "faster"
    sides = ", ".join(f"{name} has {pin.config} ({_described(pin)})" for name, pin in (winner, loser))
    return f"{pin.kernel}, key {pin.tuning.key}: {sides}: kept the {reason} one"


def _described(pin: Pin) -> str:
    time = "" if pin.milliseconds is None else f"{pin.milliseconds:.4g} ms"
    return ", ".join(filter(None, [time, pin.tuning.device, pin.tuning.date])) or "no times"


_HEADER = """\
# The configs that Triton's autotuner chose, for irscope warm --pins. To choose another one, edit `config`.
# `key` is Triton's tuning key; [pin.ms] are the medians of all measured configs in milliseconds.
"""
_WORD = re.compile(r"\w[\w.+-]*")
_NEEDED = ("kernel", "key", "target", "config")
_OPTIONAL = ("source", "device", "driver", "triton", "torch", "date")
_PIN = {
    **dict.fromkeys(_NEEDED, TEXT),
    **dict.fromkeys(_OPTIONAL, replace(TEXT, default="")),
    "configs": KeyKind("a number", lambda value: type(value) is int, 0),
    "ms": KeyKind(
        "a table of numbers",
        lambda value: isinstance(value, Mapping) and all(type(ms) in (int, float) for ms in value.values()),
        {},
    ),
}


def pins_text(pins: Iterable[Pin]) -> str:
    """Return the text of a pin file.

    The pins are by kernel, target, key and device, so that two files differ where pins do.
    """
    ordered = sorted(pins, key=lambda pin: pin.name)
    return "\n".join([f"{_HEADER}version = {VERSION}", *("\n".join(_lines(pin)) for pin in ordered), ""])


def _lines(pin: Pin) -> Iterator[str]:
    tuning = pin.tuning
    texts = {
        "kernel": pin.kernel,
        "target": pin.target,
        "key": tuning.key,
        "config": _config_text(pin.config),
        "source": pin.source,
        "device": tuning.device,
        "driver": tuning.driver,
        "triton": pin.triton,
        "torch": pin.torch,
        "date": tuning.date,
    }
    yield "\n[[pin]]"
    yield from (f"{name} = {text_value(text)}" for name, text in texts.items() if text)
    if tuning.configs:
        yield f"configs = {tuning.configs}"
    if pin.timings:
        yield "[pin.ms]"
        yield from (f"{key_value(_config_text(config))} = {ms!r}" for config, ms in pin.timings)


def read_pins(path: Path) -> tuple[Pin, ...]:
    """Read the pins in a file. Raises UserError that names the pin and what is wrong with it."""
    tables = read_tables(path, "pin file", "pin", _PIN)
    return tuple(_written_pin(f"{path}: pin {number}", table) for number, table in enumerate(tables, 1))


def _written_pin(where: str, table: Mapping[str, Any]) -> Pin:
    timings = ((_config(where, text), float(ms)) for text, ms in table["ms"].items())
    return Pin(
        kernel=table["kernel"],
        source=table["source"],
        target=table["target"],
        config=_config(where, table["config"]),
        tuning=Tuning(table["key"], table["configs"], table["device"], table["driver"], table["date"]),
        timings=tuple(timings),
        triton=table["triton"],
        torch=table["torch"],
    )


def _config_text(config: Config) -> str:
    """Return the config as `_config` reads it: strings that are not plain words in quotes."""
    return ",".join(
        f"{name}={repr(v) if isinstance(v, str) and not _WORD.fullmatch(v) else format_value(v)}"
        for name, v in config.values
    )


def _config(where: str, text: str) -> Config:
    """Return the config in `BLOCK=64,num_warps=8`."""
    pairs = [entry.partition("=") for entry in split_entries(text)]
    if not all(equals and name.strip() for name, equals, _ in pairs):
        raise UserError(f"{where}: config '{text}' is not NAME=VALUE,NAME=VALUE")
    return Config(tuple((name.strip(), parse_value(value)) for name, _, value in pairs))
