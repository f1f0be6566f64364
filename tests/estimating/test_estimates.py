"""Estimates and rankings of a kernel that Triton compiles, and the machine code that they are made from."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

import irscope
import irscope.estimating
from irscope.estimating.constants import DEVICES, H100
from irscope.estimating.estimate import estimate
from irscope.estimating.machine_code import OPCODES, machine_instructions
from irscope.estimating.ranking import confidence_text, doubts, enough_measured, expected_losses, rank
from irscope.estimating.terms import Estimate, Term
from irscope.model import Launch, UserError, Variant
from irscope.workspace import Workspace
from irscope.workspace.estimate_cache import code_digest

ROWS, COLUMNS = 16384, 8192
LAUNCH = Launch(
    (ROWS, 1, 1),
    (("x", f"float32[{ROWS}, {COLUMNS}]"), ("o", f"float32[{ROWS}, {COLUMNS}]"), ("C", str(COLUMNS))),
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Iterator[Workspace]:
    from tests.estimating.ranked_kernels import scale_rows

    os.environ.setdefault("TRITON_CACHE_DIR", str(triton_cache))
    path = tmp_path_factory.mktemp("estimates") / "rows.irscope"
    config = {"B": [64, 2048], "num_warps": [8], "num_stages": [2, 3]}
    signature = "*fp32:16, *fp32:16, i32:16"
    irscope.compile(scale_rows, path, signature, config=config, target="cuda:90", jobs=1).close()
    with Workspace(path) as workspace:
        yield workspace


def _variant(capture: Workspace, block: int, stages: int = 2) -> Variant:
    wanted = {"B": block, "num_stages": stages}
    return next(v for v in capture.variants if wanted.items() <= dict(v.config.values).items())


def _estimate(capture: Workspace, variant: Variant, launch: Launch = LAUNCH) -> Estimate:
    return estimate(variant, launch, partial(capture.contents.read, variant))


def test_memory_bounds_a_kernel_that_streams(capture: Workspace) -> None:
    found = _estimate(capture, _variant(capture, 2048))
    size = ROWS * COLUMNS * 4
    assert found.bound == "memory"
    assert found.facts["unique bytes"] == pytest.approx(size, rel=0.1)
    assert found.facts["stored bytes"] == pytest.approx(size, rel=0.1)
    memory = found.term("memory")
    assert memory is not None
    assert memory.microseconds > 2 * size / (H100.memory * 1e3)
    assert found.microseconds > memory.microseconds
    assert "MB loaded" in memory.text
    assert memory.evidence
    lines = capture.text(_variant(capture, 2048), "ptx").split("\n")
    assert all(".global" in lines[one.line] for one in memory.evidence)


def test_terms_are_in_descending_order_and_have_texts(capture: Workspace) -> None:
    found = _estimate(capture, _variant(capture, 64))
    times = [term.microseconds for term in found.terms]
    assert times == sorted(times, reverse=True)
    assert all(term.text for term in found.terms)


def test_twice_the_rows_take_twice_the_time(capture: Workspace) -> None:
    variant = _variant(capture, 2048)
    shape = f"float32[{2 * ROWS}, {COLUMNS}]"
    twice = Launch((2 * ROWS, 1, 1), (("x", shape), ("o", shape), ("C", str(COLUMNS))))
    ratio = _estimate(capture, variant, twice).microseconds / _estimate(capture, variant).microseconds
    assert 1.7 < ratio < 2.1


def test_a_slower_device_takes_longer(capture: Workspace) -> None:
    variant = _variant(capture, 2048)
    slower = estimate(variant, LAUNCH, partial(capture.contents.read, variant), DEVICES["H100 PCIe"])
    assert slower.microseconds > _estimate(capture, variant).microseconds


def test_code_for_another_target_has_no_estimate(capture: Workspace) -> None:
    variant = _variant(capture, 2048)
    for device in (DEVICES["A100"], DEVICES["MI300X"]):
        with pytest.raises(UserError, match=f"cuda:90: not what {device.name} runs; pick --device compiles"):
            estimate(variant, LAUNCH, partial(capture.contents.read, variant), device)


def test_a_variant_without_machine_code_is_an_error(capture: Workspace) -> None:
    with pytest.raises(UserError, match="needs the PTX and the cubin"):
        estimate(_variant(capture, 64), LAUNCH, lambda stage: None)


def test_an_empty_grid_is_an_error(capture: Workspace) -> None:
    with pytest.raises(UserError, match="empty grid"):
        _estimate(capture, _variant(capture, 64), Launch((0, 1, 1), LAUNCH.arguments))


def test_ranking_puts_wide_blocks_first_and_rejects_duplicates(capture: Workspace) -> None:
    ranking = rank(capture.variants, LAUNCH, lambda variant: partial(capture.contents.read, variant))
    order = [own.variant.config.get("B") for own in ranking.ranked if own.reason != "duplicate"]
    assert order == [2048, 64]
    duplicates = [own.rejected or "" for own in ranking.ranked if own.reason == "duplicate"]
    assert len(duplicates) == 2
    assert all(text.startswith("duplicate of #") for text in duplicates)


def test_machine_code_is_decoded_as_nvdisasm_prints_it(capture: Workspace) -> None:
    variant = _variant(capture, 2048)
    code = machine_instructions(capture.content(variant, "cubin"), "scale_rows", 90)
    assert code is not None
    operations = capture.document(variant, "sass").operations
    assert len(code) == len(operations)
    for at, operation in enumerate(operations):
        name = OPCODES.get(int(code.opcode[at]))
        if name in ("LDG", "STG", "BAR", "SHFL", "EXIT", "BRA"):
            assert operation.opcode.startswith(name)
    loads = [at for at in range(len(code)) if OPCODES.get(int(code.opcode[at])) == "LDG"]
    ptx = capture.text(variant, "ptx").split("\n")
    assert loads
    assert all("ld.global" in ptx[int(code.ptx_line[at])] for at in loads)


@pytest.mark.parametrize("content", [b"", b"\x7fELF", b"\x7fELF" + bytes(200)])
def test_damaged_cubins_have_no_instructions(content: bytes) -> None:
    assert machine_instructions(content, "kernel", 90) is None


def test_what_cannot_be_counted_is_ranked_last(capture: Workspace) -> None:
    slow, fast = _variant(capture, 64), _variant(capture, 2048)
    known = {v.id: _estimate(capture, v) for v in (slow, fast)}
    known[fast.id] = replace(known[fast.id], complete=False, microseconds=1.0)
    ranking = rank(
        [fast, slow], LAUNCH, lambda variant: partial(capture.contents.read, variant), estimates=known
    )
    assert [own.variant for own in ranking.ranked] == [slow, fast]


def test_hopeless_variants_name_the_one_that_beats_them(capture: Workspace) -> None:
    slow, fast = _variant(capture, 64), _variant(capture, 2048)
    known = {v.id: _estimate(capture, v) for v in (slow, fast)}
    term = Term("spills", 1e6, "many")
    known[slow.id] = replace(known[slow.id], microseconds=1e6, terms=(term, *known[slow.id].terms))
    ranking = rank(
        [fast, slow], LAUNCH, lambda variant: partial(capture.contents.read, variant), estimates=known
    )
    (rejected,) = [own for own in ranking.ranked if own.rejected]
    assert rejected.reason == "spills"
    assert f"0 us in #{fast.id}" in (rejected.rejected or "")


@pytest.mark.parametrize("module", ["model.py", "counting/footprints.py"])
def test_a_change_of_any_module_of_the_model_changes_its_digest(tmp_path: Path, module: str) -> None:
    model = Path(irscope.estimating.__file__).parent
    copy = Path(shutil.copytree(model, tmp_path / "model"))
    assert code_digest(copy) == code_digest(model)
    with (copy / module).open("a") as file:
        file.write("# changed\n")
    assert code_digest(copy) != code_digest(model)


def test_more_is_measured_if_many_estimates_are_close_or_unsure() -> None:
    settings = [{"BLOCK": 1 << at, "num_warps": warps} for at in range(6) for warps in (1, 4)]
    apart = [10 * 1.5**at for at in range(12)]
    losses = expected_losses(apart, settings)
    assert losses == sorted(losses, reverse=True) and losses[-1] == 0 and losses[0] < 0.001
    assert enough_measured(apart, settings) == 4
    close = [10 + at / 100 for at in range(12)]
    assert expected_losses(close, settings)[3] > 0.01
    assert 4 < enough_measured(close, settings) <= enough_measured(close, settings, error=2.0) <= 12
    assert expected_losses([10.0], settings) == [0.0]


def test_doubts_name_what_is_not_known() -> None:
    estimate = Estimate(10.0, "atomics", (Term("atomics", 8.0, ""),), "NVIDIA L4", depends=("ids (line 3)",))
    assert list(doubts(estimate)) == [
        "depends on the values of ids (line 3)",
        "much of the time is that of atomics",
        "the constants were fitted to an H100, not to NVIDIA L4",
    ]
    assert doubts(Estimate(10.0, "memory", (), "NVIDIA H100 SXM 80GB")) == {}


def test_rows_that_are_read_twice_are_doubtful_if_l2_may_not_hold_them(capture: Workspace) -> None:
    variant = _variant(capture, 2048)
    shape = f"float32[64, {COLUMNS}]"
    few = _estimate(capture, variant, Launch((64, 1, 1), (("x", shape), ("o", shape), ("C", str(COLUMNS)))))
    assert few.cache_risk == 0
    assert doubts(few) == {}
    many = _estimate(capture, variant)
    assert 0.1 < many.cache_risk < 0.5
    assert [*doubts(many)] == [f"L2 may lose what programs read again: then {many.cache_risk:.0%} longer"]
    assert doubts(replace(many, cache_risk=0.09)) == {}


def test_one_line_says_how_sure_a_ranking_is() -> None:
    terms = (Term("memory", 9.0, ""), Term("issue", 4.0, ""), Term("latency", 2.0, ""))
    sure = Estimate(10.0, "memory", terms, "NVIDIA H200 SXM 141GB")
    likely = "the best of a tenth is likely {} slower than the best"
    assert confidence_text(sure, 0.012) == f"sure: {likely.format('1%')}; memory and issue take longest"
    text = confidence_text(replace(sure, cache_risk=0.23), 0.09)
    assert text.startswith(f"unsure: {likely.format('9%')}; L2 may lose what programs read again: then 23%")
    assert "many estimates are close" in confidence_text(sure, 0.06)
