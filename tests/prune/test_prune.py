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
from tests.workspace.bits_program import add_all, row_sum, sum_below

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


# The same bits.

SUM = {"x": FLOAT, "out": FLOAT, "N": 3000}
SUMS: list[Any] = row_sum.configs


@pytest.mark.usefixtures("verbose")
def test_keeps_only_configs_of_the_same_bits(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    kept = tune(row_sum.fn, SUMS, irscope.prune(top=1.0, same_bits_as="first", jobs=1), SUM, (16,))
    assert kept == SUMS[:1]
    printed = capsys.readouterr().err
    assert "3 of 4 configs of row_sum dropped (3 other bits)" in printed
    assert printed.count(": other bits: A = same_bits_as, B = this config: line 3") == 3
    last = irscope.prune(top=1.0, same_bits_as={"BLOCK": 1024, "num_warps": 8}, jobs=1)
    assert tune(row_sum.fn, SUMS, last, SUM, (16,)) == SUMS[3:]


def test_configs_of_the_same_bits_are_ranked(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    def same(top: float) -> list[Any]:
        return tune(add_kernel, CONFIGS, irscope.prune(top, same_bits_as="first", jobs=1), ARGUMENTS, grid)

    kept = same(1.0)
    assert len(kept) == 2 and same(1) == kept[:1]
    monkeypatch.setattr(pool, "results", lambda *_: pytest.fail("compiled again"))
    assert same(1) == kept[:1]


def test_a_config_that_is_not_listed_is_added(tune: Tune) -> None:
    other = triton.Config({"BLOCK": 256}, num_warps=4)
    kept = tune(row_sum.fn, SUMS, irscope.prune(top=1.0, same_bits_as=other, jobs=1), SUM, (16,))
    assert kept == [other]
    equal = triton.Config({"BLOCK": 512}, num_warps=8, pre_hook=lambda values: None)
    (kept_equal,) = tune(row_sum.fn, SUMS, irscope.prune(same_bits_as=equal, jobs=1), SUM, (16,))
    assert kept_equal is SUMS[1]


WARPS = [triton.Config({"BLOCK": 256}, num_warps=warps) for warps in (4, 8)]
INTEGER = MockTensor(torch.int32)


@pytest.mark.parametrize(
    ("kernel", "configs", "arguments", "grid", "why"),
    [
        (
            row_sum.fn,
            SUMS,
            SUM,
            None,
            "the bits of same_bits_as are unknown: the grid of the launch is not known",
        ),
        (add_all, WARPS, {"x": FLOAT, "out": FLOAT}, (4,), "not even two launches of same_bits_as compute "),
        (
            sum_below,
            [triton.Config({}, num_warps=warps) for warps in (4, 8)],
            {"x": INTEGER, "out": INTEGER},
            (1,),
            "the bits of same_bits_as are unknown: the length of a loop depends on data",
        ),
    ],
)
def test_only_the_config_stays_if_its_bits_are_not_known(
    tune: Tune,
    capsys: pytest.CaptureFixture[str],
    kernel: Any,
    configs: list[Any],
    arguments: dict[str, Any],
    grid: Any,
    why: str,
) -> None:
    kept = tune(kernel, configs, irscope.prune(top=1.0, same_bits_as="first", jobs=1), arguments, grid)
    assert kept == configs[:1]
    assert f"only {configs[0]} kept: {why}" in capsys.readouterr().err


def test_configs_of_unknown_bits_are_dropped(
    tune: Tune, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    results = pool.results
    monkeypatch.setattr(
        pool, "results", lambda *words: ((n, result if n < 2 else None) for n, result in results(*words))
    )
    arguments = {**ARGUMENTS, "n": 4096}
    kept = tune(add_kernel, CONFIGS, irscope.prune(1.0, same_bits_as="first", jobs=1), arguments, grid)
    assert kept == CONFIGS[:1]
    text = capsys.readouterr().err
    assert "2 configs dropped, whose bits are unknown: irscope cannot evaluate it" in text


def test_if_pruning_fails_only_the_config_stays(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    prune = irscope.prune(same_bits_as={"BLOCK": 512, "num_stages": 3})
    assert tune(add_kernel, CONFIGS, prune, ARGUMENTS, lambda meta: meta["missing"]) == CONFIGS[3:]
    assert f"irscope: prune: only {CONFIGS[3]} kept: KeyError: 'missing'" in capsys.readouterr().err


def test_the_config_of_the_bits_is_checked(tune: Tune) -> None:
    for value in (3, "last"):
        with pytest.raises(UserError, match=r"give a triton\.Config, a dict of values, or"):
            irscope.prune(same_bits_as=value)
    for values, count in (({"BLOCK": 512}, 2), ({"BLOCK": 7}, 0)):
        with pytest.raises(UserError, match=f"fits {count} of 4 configs"):
            tune(add_kernel, CONFIGS, irscope.prune(same_bits_as=values), ARGUMENTS, grid)
