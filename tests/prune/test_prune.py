"""`irscope.prune` keeps the few configs worth measuring, compiled into the cache that the program uses."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import triton
from triton.runtime.jit import MockTensor

import irscope
from irscope.compiling.toolchain.patching import patched
from irscope.jobs.prune.worker_pool import pool
from irscope.model import UserError
from tests.prune.conftest import Tune
from tests.prune.kernels import add_kernel

torch = pytest.importorskip("torch")

FLOAT = MockTensor(torch.float32)
ARGUMENTS = {"x": FLOAT, "y": FLOAT, "n": 1 << 20}
CONFIGS = [
    triton.Config({"BLOCK": block}, num_warps=4, num_stages=stages)
    for block in (128, 512)
    for stages in (2, 3)
]


def grid(meta: dict[str, Any]) -> tuple[int]:
    return (triton.cdiv(meta["n"], meta["BLOCK"]),)


@pytest.fixture
def verbose(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("IRSCOPE_VERBOSE", "2")
    yield


@pytest.mark.usefixtures("verbose")
def test_keeps_the_best_without_duplicates(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tune(add_kernel, CONFIGS, irscope.prune(top=1, jobs=1), ARGUMENTS, grid)
    assert len(kept) == 1
    assert kept[0] in CONFIGS
    printed = capsys.readouterr().err
    assert "3 of 4 configs of add_kernel dropped (2 duplicates, 1 slower by estimate)" in printed
    assert printed.count("duplicate: the machine code of BLOCK: ") == 2


def test_the_autotuner_then_compiles_nothing(tune: Tune) -> None:
    from triton import knobs

    (kept,) = tune(add_kernel, CONFIGS, irscope.prune(top=1, jobs=1), ARGUMENTS, grid)
    hits = []
    add_kernel.device_caches.clear()
    with patched(knobs.compilation, "listener", lambda *, cache_hit, **_: hits.append(cache_hit)):
        add_kernel.run(*ARGUMENTS.values(), grid=grid, warmup=False, **kept.all_kwargs())
    assert hits == [True]


def test_learns_per_launch(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(add_kernel, CONFIGS, irscope.prune(top=1, jobs=1), ARGUMENTS, grid)
    monkeypatch.setattr(pool, "results", lambda *_: pytest.fail("compiled again"))
    assert len(tune(add_kernel, CONFIGS, irscope.prune(top=1), ARGUMENTS, grid)) == 1
    monkeypatch.setattr(pool, "results", lambda *_: {}.items())
    assert tune(add_kernel, CONFIGS, irscope.prune(top=1), ARGUMENTS, (7,)) == CONFIGS, "another launch"


def test_without_a_grid_only_duplicates_are_dropped(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tune(add_kernel, CONFIGS, irscope.prune(top=1, jobs=1), ARGUMENTS, None)
    assert kept == [CONFIGS[0], CONFIGS[2]]
    assert (
        "2 configs kept without an estimate: the grid of the launch is not known" in capsys.readouterr().err
    )


def test_a_grid_that_fails_costs_nothing(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    assert tune(add_kernel, CONFIGS, irscope.prune(), ARGUMENTS, lambda meta: meta["missing"]) == CONFIGS
    assert "irscope: prune: all 4 configs kept: KeyError: 'missing'" in capsys.readouterr().err


@pytest.mark.parametrize("top", [0, -1, 1.5, "3", True])
def test_top_is_checked(top: Any) -> None:
    with pytest.raises(UserError, match="give a part of the configs"):
        irscope.prune(top)
