"""Pin files: the configs that autotuners chose, as TOML that people read, review and merge.

[[pin]]
kernel = "matmul"
key = "(512, 64, 'torch.float16')"
config = "BLOCK=64,num_warps=8,num_stages=3"
...
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from irscope.model import Config, Tuning, UserError, format_value, parse_value
from irscope.model.text import split_entries
from irscope.model.tuning_pin import Pin
from irscope.warming.toml_text import key_value, read_toml, text_value

VERSION = 1
_HEADER = """\
# The configs that Triton's autotuner chose, for irscope warm --pins. To choose another one, edit `config`.
# `key` is Triton's tuning key; [pin.ms] are the medians of all measured configs in milliseconds.
"""
_WORD = re.compile(r"\w[\w.+-]*")
_TEXTS = ("kernel", "key", "target", "config", "source", "device", "driver", "triton", "torch", "date")
_NEEDED = ("kernel", "key", "target", "config")


def pins_text(pins: Iterable[Pin]) -> str:
    """The text of a pin file: pins by kernel, target and key, so that two files differ where pins do."""
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
    """The pins in a file. Raises UserError that names the pin and what is wrong with it."""
    document = read_toml(path)
    if document.get("version") != VERSION:
        raise UserError(
            f"{path}: not a pin file of version {VERSION}: {document.get('version', 'no version')}"
        )
    tables = document.get("pin", [])
    if not isinstance(tables, list) or not all(isinstance(table, Mapping) for table in tables):
        raise UserError(f"{path}: 'pin' must be [[pin]] tables")
    return tuple(_pin(f"{path}: pin {number}", table) for number, table in enumerate(tables, 1))


def _pin(where: str, table: Mapping[str, Any]) -> Pin:
    known = (*_TEXTS, "configs", "ms")
    if unknown := [name for name in table if name not in known]:
        raise UserError(f"{where}: unknown key '{unknown[0]}'; known: {', '.join(known)}")
    texts = {name: table.get(name, "") for name in _TEXTS}
    if wrong := [name for name, text in texts.items() if not isinstance(text, str)]:
        raise UserError(f"{where}: {wrong[0]} must be a string")
    if missing := [name for name in _NEEDED if not texts[name]]:
        raise UserError(f"{where}: {missing[0]} is missing")
    configs, times = table.get("configs", 0), table.get("ms", {})
    if type(configs) is not int or not isinstance(times, Mapping):
        raise UserError(f"{where}: configs must be a number and ms a table")
    if not all(type(ms) in (int, float) for ms in times.values()):
        raise UserError(f"{where}: the values of ms must be numbers")
    timings = tuple((_config(where, text), float(ms)) for text, ms in times.items())
    tuning = Tuning(texts["key"], configs, texts["device"], texts["driver"], texts["date"])
    return Pin(
        texts["kernel"], texts["source"], texts["target"], _config(where, texts["config"]), tuning, timings,
        texts["triton"], texts["torch"],
    )  # fmt: skip


def _config_text(config: Config) -> str:
    """The config as `_config` reads it: strings that are not plain words in quotes."""
    return ",".join(
        f"{name}={repr(v) if isinstance(v, str) and not _WORD.fullmatch(v) else format_value(v)}"
        for name, v in config.values
    )


def _config(where: str, text: str) -> Config:
    """The config in `BLOCK=64,num_warps=8`."""
    pairs = [entry.partition("=") for entry in split_entries(text)]
    if not all(equals and name.strip() for name, equals, _ in pairs):
        raise UserError(f"{where}: config '{text}' is not NAME=VALUE,NAME=VALUE")
    return Config(tuple((name.strip(), parse_value(value)) for name, _, value in pairs))
