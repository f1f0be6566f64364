"""Checks that a measurement survives configs that crash, hang or break the device."""

from __future__ import annotations

import io
import json
import os
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

pytest.importorskip("torch")
pytest.importorskip("triton")

from tests.truth.bits import measure
from tests.truth.bits.space import Config, Space

_KERNEL = SimpleNamespace(__name__="kernel")
_NAMES = ("works", "uncompiled", "crashes", "hangs", "breaks", "works too")


def _space() -> Space:
    configs: list[Config] = [{"NAME": name} for name in _NAMES]
    return Space("space", _KERNEL, configs, (1,), lambda data: (), lambda config: (1,))


def _answers(connection: Any, listed: Any) -> Iterator[tuple[str, Any]]:
    while True:
        task = connection.recv()
        yield listed[task.space].configs[task.config]["NAME"], connection.send


def _compile(connection: Any, listed: Any) -> None:
    for name, send in _answers(connection, listed):
        send({"error": "no such operation"} if name == "uncompiled" else {"seconds": 0.1})


def _launch(connection: Any, listed: Any) -> None:
    for name, send in _answers(connection, listed):
        if name == "crashes":
            os._exit(7)
        if name == "hangs":
            time.sleep(100)
        if name == "breaks":
            send({"error": "an illegal address", "broken": True})
        else:
            send({"bits": [os.getpid()], "stage": "module {}"})


def test_every_config_has_a_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """What fails is recorded with its reason, and the others are measured."""
    monkeypatch.setattr(measure, "_compile", _compile)
    monkeypatch.setattr(measure, "_launch", _launch)
    monkeypatch.setitem(measure._MOST_SECONDS, "launch", 0.5)
    output, stages = io.StringIO(), io.StringIO()
    measurement = measure.Measurement([_space()], output, stages, set())
    assert measurement.run(2, time.monotonic() + 60)
    lines = {line["config"]["NAME"]: line for line in map(json.loads, output.getvalue().splitlines())}
    assert {name: line.get("error") for name, line in lines.items()} == {
        "works": None,
        "uncompiled": "no such operation",
        "crashes": "launch: the process ended with 7",
        "hangs": "launch: no end within the limit of time",
        "breaks": "an illegal address",
        "works too": None,
    }
    assert len(stages.getvalue().splitlines()) == 2


def test_it_stops_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is left is measured by the next call."""
    monkeypatch.setattr(measure, "_compile", _compile)
    monkeypatch.setattr(measure, "_launch", _launch)
    output = io.StringIO()
    skipped = {measure.key("space", {"NAME": name}) for name in _NAMES if name != "hangs"}
    assert not measure.Measurement([_space()], output, io.StringIO(), skipped).run(1, time.monotonic() + 1)
    assert not output.getvalue()
