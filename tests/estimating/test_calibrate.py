"""Fitting constants, their files, and the order in which to measure."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from irscope.estimating.calibrate import MeasuredLaunch, Measurements, calibrate
from irscope.estimating.constants import CONSTANTS, DEFAULTS, DEVICES, H100, Fit, fit_of, read_fit, write_fit
from irscope.estimating.model import term_times, total_time
from irscope.estimating.ranking import measuring_order
from irscope.estimating.work import AGAIN, FAR, REPLAYED
from irscope.model import UserError

_NAMES = (
    "instructions", "fma", "special", "double", "alu", "local loads", "local stores", "shuffles", "barriers",
    "wgmma", "wgmma operands", "mma", "load sectors", "copy sectors", "store sectors", "atomic passes",
    "load lines", "copy lines", "tensor loads", "tensor stores", "shared wavefronts", "ordered atomics",
    "unique bytes", "stored bytes", "wave bytes", "wave footprint", "touched bytes", "longest",
    "atomic bytes",
)  # fmt: skip


def _streaming(programs: int, bytes_each: int, resident: int) -> dict[str, float]:
    size = float(programs * bytes_each)
    return dict.fromkeys(_NAMES, 0.0) | {
        "programs": float(programs), "ended programs": 0.0, "warps": 4.0, "longest": 1.0,
        "resident": float(resident), "size": 500.0, "l1 bytes": 2e5,
        "instructions": bytes_each / 100, "unique bytes": size, "touched bytes": size,
        "wave bytes": size, "wave footprint": min(size, 132.0 * resident * bytes_each),
        "load sectors": bytes_each / 32, "rounds": 1.0,
        **{f"again {bits}": 0.0 for bits in AGAIN}, **{f"far {bits}": 0.0 for bits in FAR},
        **{f"latency {memory:.0f}": memory + 100 for memory in REPLAYED},
    }  # fmt: skip


def _measured(constants: dict[str, float]) -> list[MeasuredLaunch]:
    numbers = [_streaming(p, b, r) for p in (500, 5000, 50000) for b in (4096, 32768) for r in (2, 8)]
    columns = {name: np.array([one[name] for one in numbers]) for name in numbers[0]}
    times = total_time(term_times(columns, H100, constants), constants)
    return [
        MeasuredLaunch(own, time / 1e3, at // 4)
        for at, (own, time) in enumerate(zip(numbers, times, strict=True))
    ]


def test_a_fit_finds_the_constants_behind_times() -> None:
    truth = dict(DEFAULTS) | {"dram": 0.7, "overhead": 7.0}
    fit = calibrate(Measurements(_measured(truth)), H100, Fit(H100.name), {"by": "test"}, 900)
    assert fit.values["dram"] == pytest.approx(0.7, abs=0.03)
    assert fit.values["overhead"] == pytest.approx(7.0, rel=0.15)
    assert fit.values["mma"] == DEFAULTS["mma"]  # nothing was said about it
    assert fit.provenance["by"] == "test"
    assert float(fit.provenance["error"].rstrip("%")) < 2


def test_too_few_measurements_are_an_error() -> None:
    with pytest.raises(UserError, match="too few to calibrate"):
        Measurements([])


def test_constants_survive_their_file(tmp_path: Path) -> None:
    path = tmp_path / "devices" / "mine.json"
    write_fit(Fit("mine", dict(DEFAULTS), {"by": "test"}), path)
    found = read_fit(path)
    assert found.values == pytest.approx(DEFAULTS)
    assert found.provenance == {"by": "test"}


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"device": "x", "constants": {"dram": "no"}}'])
def test_damaged_files_are_errors(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(UserError, match="not a file of device constants"):
        read_fit(path)


def test_constants_out_of_range_are_errors(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    write_fit(Fit("x", dict(DEFAULTS) | {"dram": 7.0}), path)
    with pytest.raises(UserError, match=r"dram is 7, not 0\.6 to 1"):
        read_fit(path)


def test_the_own_file_of_a_user_comes_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("irscope.estimating.constants.user_path", lambda device: tmp_path / "own.json")
    assert fit_of(H100).provenance["fitted"]
    write_fit(Fit("own", dict(DEFAULTS)), tmp_path / "own.json")
    assert fit_of(H100).device == "own"


def test_every_device_has_sources_and_constants_in_range() -> None:
    assert all(device.sources for device in DEVICES.values())
    for device in DEVICES.values():
        fit = fit_of(device)
        assert all(one.low <= fit.values[one.name] <= one.high for one in CONSTANTS)


def test_measuring_starts_with_the_fastest_and_leaves_none_out() -> None:
    estimates = [3.0, 1.0, 2.0, float("inf")]
    order = measuring_order(estimates, [{"B": 64}, {"B": 128}, {"B": 256}, {"B": 512}])
    assert order[0] == 1
    assert sorted(order) == [0, 1, 2, 3]
    assert order[-1] == 3


def test_a_different_config_is_measured_before_a_neighbor_of_the_first() -> None:
    settings = [{"B": 64, "S": 2}, {"B": 64, "S": 2}, {"B": 64, "S": 2}, {"B": 4096, "S": 2}]
    assert measuring_order([1.0, 1.0, 1.0, 1.01], settings)[1] == 3


def test_settings_of_any_type_have_an_order() -> None:
    settings = [{"B": 64, "F": True}, {"B": None}, {"B": "tl.float16", "F": False}, {}]
    assert sorted(measuring_order([4.0, 2.0, 3.0, 1.0], settings)) == [0, 1, 2, 3]
