"""`irscope.fits` drops exactly the configs that cannot be launched, and never disturbs the program."""

from __future__ import annotations

import pickle
from typing import Any

import pytest
import triton
from triton.runtime.jit import MockTensor

import irscope
from irscope.compiling.job import Outcome
from irscope.compiling.standalone.source_text import GeneratedTexts
from irscope.compiling.toolchain import allocation
from irscope.compiling.toolchain.compiler import StageMemory, compile_stages
from irscope.jobs.prune import pruning_result
from irscope.jobs.prune.candidate_worker import allocation_of
from irscope.jobs.prune.candidates import CANNOT_LAUNCH, DUPLICATE, Drop, call_with, candidates_of
from irscope.jobs.prune.pruning_result import PruningResult, summary
from irscope.jobs.prune.worker_pool import pool
from irscope.model import UserError
from tests.prune.conftest import Tune
from tests.prune.kernels import (
    add_kernel,
    asserting_kernel,
    descriptor_kernel,
    heuristic_kernel,
    product_kernel,
    threads_kernel,
    wrong_kernel,
)

torch = pytest.importorskip("torch")

HALF = MockTensor(torch.float16)
PRODUCT = {"a": HALF, "b": HALF, "c": MockTensor(torch.float32)}


def product_config(size: int, deep: int = 16, warps: int = 4) -> triton.Config:
    return triton.Config({"SIZE": size, "DEEP": deep}, num_warps=warps)


SMALL, LARGE = product_config(16), product_config(32, 2048, warps=8)


def test_drops_the_config_that_needs_too_much_shared_memory(
    tune: Tune, capsys: pytest.CaptureFixture[str]
) -> None:
    assert tune(product_kernel, [SMALL, LARGE], irscope.fits(jobs=1), PRODUCT) == [SMALL]
    assert capsys.readouterr().err == ""


def test_compiles_nothing_the_second_time(tune: Tune, monkeypatch: pytest.MonkeyPatch) -> None:
    tune(product_kernel, [SMALL, LARGE], irscope.fits(jobs=1), PRODUCT)
    monkeypatch.setattr(pool, "results", lambda *_: pytest.fail("compiled again"))
    assert tune(product_kernel, [SMALL, LARGE], irscope.fits(), PRODUCT) == [SMALL]


def test_says_what_it_did_if_asked(
    tune: Tune, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("IRSCOPE_VERBOSE", "1")
    tune(product_kernel, [SMALL, LARGE], irscope.fits(jobs=1), PRODUCT)
    assert (
        "irscope: fits: 1 of 2 configs of product_kernel dropped (1 cannot launch) in "
        in capsys.readouterr().err
    )


@pytest.mark.parametrize("config", [SMALL, product_config(128, 32, warps=8), LARGE])
def test_allocates_what_the_full_compilation_does(h100: Any, config: triton.Config) -> None:
    call = call_with(product_kernel, (), PRODUCT, h100.get_current_target())
    (candidate,) = candidates_of(call, [config])
    job = pickle.loads(pickle.dumps(candidate.job(0, GeneratedTexts(), None, full=False)))
    found = allocation_of(job.text, candidate.options, candidate.gpu)
    outcome = Outcome()
    compile_stages(candidate.source, candidate.options, candidate.gpu, StageMemory(), outcome.add)
    assert (found.shared, found.warps) == (outcome.metadata["shared"], outcome.metadata["num_warps"])


def test_the_verifier_is_left_out_only_where_that_was_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    assert (allocation._disable() is not None) == triton.__version__.startswith(allocation._CHECKED)
    allocation._disable.cache_clear()
    monkeypatch.setattr(allocation, "_CHECKED", ())
    assert allocation._disable() is None
    allocation._disable.cache_clear()


def test_keeps_all_configs_if_no_autotuner_calls_it(h100: Any, capsys: pytest.CaptureFixture[str]) -> None:
    configs = [SMALL, LARGE]
    assert irscope.fits()(configs, PRODUCT) == configs
    assert "all 2 configs kept: UserError: it was not called by @triton.autotune" in capsys.readouterr().err


def test_keeps_all_configs_if_a_heuristic_fails(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    configs = [triton.Config({"STEP": step}) for step in (1, 2)]
    assert tune(heuristic_kernel, configs, irscope.fits(), {"x": HALF}) == configs
    assert "all 2 configs kept: KeyError: 'n'" in capsys.readouterr().err


def test_heuristics_see_the_config_and_the_arguments(h100: Any) -> None:
    call = call_with(heuristic_kernel, (HALF, 512), {}, h100.get_current_target())
    (candidate,) = candidates_of(call, [triton.Config({"STEP": 2})])
    assert candidate.source.constants == {(2,): 64, (3,): 2}


def test_a_config_that_asserts_is_dropped_silently(tune: Tune, capsys: pytest.CaptureFixture[str]) -> None:
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    assert tune(asserting_kernel, configs, irscope.fits(jobs=1), {"x": HALF}) == configs[:1]
    assert capsys.readouterr().err == ""


def test_a_config_that_does_not_compile_is_dropped_with_a_line(
    tune: Tune, capsys: pytest.CaptureFixture[str]
) -> None:
    configs = [triton.Config({"BLOCK": block}) for block in (64, 128)]
    assert tune(wrong_kernel, configs, irscope.fits(jobs=1), {"x": HALF}) == configs[:1]
    assert "missing_name is not defined" in capsys.readouterr().err
    assert tune(wrong_kernel, configs[1:], irscope.fits(jobs=1), {"x": HALF}) == configs[1:], "none is left"


def test_a_hook_sets_the_block_of_a_copy_of_the_descriptor(h100: Any) -> None:
    from triton.tools.tensor_descriptor import TensorDescriptor

    base = torch.empty(64, 64, dtype=torch.float16)
    descriptor = TensorDescriptor(base, [64, 64], [64, 1], [1, 1])
    config = triton.Config({"BLOCK": 32}, pre_hook=set_block)
    call = call_with(descriptor_kernel, (descriptor, HALF), {}, h100.get_current_target())
    (candidate,) = candidates_of(call, [config])
    assert candidate.source.signature["source"].startswith("tensordesc<fp16[32, 64]")
    assert descriptor.block_shape == [1, 1]


def set_block(arguments: dict[str, Any]) -> None:
    arguments["source"].block_shape = [arguments["BLOCK"], 64]


def test_texts_are_shared_unless_the_kernel_reads_the_option(h100: Any) -> None:
    assert number_of_texts(add_kernel, {"x": HALF, "y": HALF, "n": 512}, h100) == 1
    assert number_of_texts(threads_kernel, {"x": HALF}, h100) == 2


def number_of_texts(kernel: Any, arguments: dict[str, Any], stub: Any) -> int:
    configs = [triton.Config({"BLOCK": 64}, num_warps=warps) for warps in (1, 2)]
    texts = GeneratedTexts()
    call = call_with(kernel, (), arguments, stub.get_current_target())
    made = [texts.text(c.source, c.options, c.gpu) for c in candidates_of(call, configs)]
    return len({id(text) for text in made})


def test_without_a_launch() -> None:
    kept = irscope.fits(
        product_kernel, [SMALL, LARGE], signature="*fp16:16, *fp16:16, *fp32:16", target="cuda:90", jobs=1
    )
    assert kept == [SMALL]
    with pytest.raises(UserError, match="either the arguments"):
        irscope.fits(product_kernel, [SMALL], HALF, signature="*fp16:16", target="cuda:90")


def test_summary() -> None:
    drops = {0: Drop(CANNOT_LAUNCH, ""), 2: Drop(DUPLICATE, ""), 3: Drop(DUPLICATE, "")}
    expected = "3 of 4 configs of k dropped (1 cannot launch, 2 duplicates)"
    assert summary("k", 4, PruningResult((1,), drops)) == expected
    assert summary("k", 2, PruningResult((0, 1), {})) == "all 2 configs of k kept"


def test_what_was_learned_is_ignored_if_damaged() -> None:
    found = PruningResult((1, 0), {2: Drop(DUPLICATE, "same")})
    assert PruningResult.from_json(found.to_json(), 3) == found
    for damaged in (
        None,
        {},
        {"keep": [0], "drops": {}},
        {"keep": ["x"], "drops": {}},
        {"keep": 1, "drops": []},
    ):
        assert PruningResult.from_json(damaged, 3) is None


def test_results_are_stored_under_the_code_that_made_them() -> None:
    folders = {line.rpartition("/")[0] for line in pruning_result._code().splitlines()}
    assert {"estimating", "estimating/counting", "facts", "jobs/prune"} <= folders
