"""Pins of a capture that was made on a GPU, and how several sets of pins become one."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from irscope.model import Benchmark, Config, Tuning, Variant, parse_value
from irscope.model.element_types import torch_name
from irscope.model.text import split_entries
from irscope.model.tuning_pin import Pin, source_digest
from irscope.store import CaptureReader


def pins_of(variants: Iterable[Variant]) -> tuple[Pin, ...]:
    """A pin per run of an autotuner, with the times of all configs that it measured."""
    runs: dict[tuple[object, ...], list[tuple[Variant, Benchmark]]] = {}
    for variant in variants:
        for benchmark in variant.benchmarks:
            place = variant.kernel.id, variant.target, benchmark.key, _dtypes(variant)
            runs.setdefault(place, []).append((variant, benchmark))
    return tuple(pin for run in runs.values() if (pin := _pin(run)) is not None)


def pins_in(capture: Path) -> tuple[Pin, ...]:
    """The pins of a capture. Raises UserError if it cannot be read."""
    with CaptureReader(capture) as reader:
        return pins_of(reader.variants())


def _pin(run: Sequence[tuple[Variant, Benchmark]]) -> Pin | None:
    """The pin of a run; None if the choice is not in the capture."""
    chosen = [pair for pair in run if pair[1].chosen]
    if not chosen:
        return None
    # The same key may have been tuned again, by another process or program: the last run counts.
    variant, benchmark = max(chosen, key=lambda pair: pair[1].tuning.date if pair[1].tuning else "")
    timings: dict[Config, float] = {}
    for other, measured in run:
        timings[other.config] = min(measured.ms, timings.get(other.config, measured.ms))
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
    values = [entry.partition("=") for entry in split_entries(key)]
    if key.startswith("("):
        return key  # of a trace, which has Triton's text
    if not all(equals for _, equals, _ in values):
        return repr(tuple(_value(entry) for entry in split_entries(key)))  # of a file in Triton's cache
    return repr((*(_value(text) for _, _, text in values), *_dtypes(variant)))


def _value(text: str) -> object:
    value = parse_value(text)
    return value if value is None or isinstance(value, bool | int | float | str) else text


def _dtypes(variant: Variant) -> tuple[str, ...]:
    """The types of the tensors as the tuning key has them."""
    return tuple(
        f"torch.{torch_name(argument.type)}"
        for argument in variant.specialization
        if argument.type.startswith("*")
    )


def merged(sets: Mapping[str, Sequence[Pin]]) -> tuple[tuple[Pin, ...], tuple[str, ...]]:
    """The pins of several files as one, and a line per conflict.

    Of two for one kernel, target and tuning key, the one that was measured later is kept; if that is not
    known of both, the one whose config is faster.
    """
    found: dict[tuple[str, str, str], tuple[str, Pin]] = {}
    conflicts = []
    for name, pins in sets.items():
        for pin in pins:
            before = found.get(pin.name)
            if before is None:
                found[pin.name] = name, pin
                continue
            winner, loser = ((name, pin), before) if _replaces(pin, before[1]) else (before, (name, pin))
            found[pin.name] = winner
            if winner[1].config != loser[1].config:
                conflicts.append(_conflict(winner, loser))
    return tuple(pin for _, pin in found.values()), tuple(conflicts)


def _replaces(new: Pin, old: Pin) -> bool:
    if new.tuning.date and old.tuning.date and new.tuning.date != old.tuning.date:
        return new.tuning.date > old.tuning.date
    if new.milliseconds is None or old.milliseconds is None:
        return old.milliseconds is None
    return new.milliseconds < old.milliseconds


def _conflict(winner: tuple[str, Pin], loser: tuple[str, Pin]) -> str:
    name, pin = winner
    dates = pin.tuning.date, loser[1].tuning.date
    reason = "newer" if all(dates) and dates[0] != dates[1] else "faster"
    return (
        f"{pin.kernel}, key {pin.tuning.key}: {name} has {pin.config} ({_described(pin)}), {loser[0]} has "
        f"{loser[1].config} ({_described(loser[1])}): kept the {reason} one"
    )


def _described(pin: Pin) -> str:
    time = "" if pin.milliseconds is None else f"{pin.milliseconds:.4g} ms"
    return ", ".join(filter(None, [time, pin.tuning.device, pin.tuning.date])) or "no times"
