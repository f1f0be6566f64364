"""Whether the bits of a row depend on how many rows there are, of kernels that are compiled here."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.model import UserError, Variant
from irscope.workspace import Workspace
from irscope.workspace.bits import NOT_LAUNCHED, ProblemBits
from irscope.workspace.invariance import Invariance

ROWS = "grid=(M,), M=32, N=1100"
TILES = "grid=(cdiv(M, BM), N // BN), M=256, N=256, K=K0, K0=256"


@pytest.fixture
def opened(bits_capture: Path) -> Iterator[Workspace]:
    with Workspace(bits_capture) as workspace:
        yield workspace


def only(answers: list[ProblemBits]) -> Invariance:
    (answer,) = answers
    assert answer.invariance
    return answer.invariance


def test_a_row_per_program_does_not_depend_on_the_number_of_rows(opened: Workspace):
    answer = only(opened.bits("row_sum", launch=ROWS, invariant="M"))
    assert (answer.answer, answer.differences, answer.unknown) == ("invariant", (), ())
    assert answer.sizes == ("M=1", "M=2", "M=16", "M=17", "M=32", "M=48", "M=64") and not answer.unanswered
    # Its four configs compute other bits, but the autotuner chooses one for each N.
    assert answer.choice == "fixed"
    other_key = only(opened.bits("row_sum", launch=[ROWS, ROWS.replace("1100", "1099")], invariant="N"))
    assert (other_key.answer, other_key.choice, other_key.sizes) == (
        "not invariant",
        "key",
        ("N=1099", "N=1100"),
    )


def test_an_autotuner_that_chooses_again_must_not_change_bits(opened: Workspace):
    (bits,) = opened.bits("matmul", launch=TILES, invariant="M")
    answer = bits.invariance
    assert answer and (answer.answer, answer.choice) == ("invariant", "key")
    # The capture has only what is compiled for multiples of 16.
    assert answer.sizes == ("M=16", "M=256", "M=272", "M=512")
    assert answer.unanswered == ("M=1", "M=2", "M=17")
    assert bits.problem.text == "M=512, N=256, K=256" and len(bits.classes) == 1


def test_configs_that_the_launches_choose(opened: Workspace):
    """Few rows are launched with another config than many: the wrapper of a kernel chooses it."""
    first, second, *_ = (_untuned(variant) for variant in opened.select("row_sum"))
    few, many = (_launched(variant, grid) for variant, grid in ((first, 4), (second, 64)))
    (bits,) = opened.bits(variants=[few, many], invariant="grid")
    answer = bits.invariance
    assert answer and (answer.answer, answer.choice) == ("not invariant", "launch")
    (difference,) = answer.differences
    assert (difference.a.size, difference.b.size) == ("grid=(64, 1, 1)", "grid=(4, 1, 1)")
    assert bits.reason_texts(difference)[0].startswith("line 38 (total += tl.sum(values, axis=0)): A adds")
    same = only(opened.bits(variants=[_launched(few, 4), _launched(first, 64)], invariant="grid"))
    assert (same.answer, same.choice) == ("invariant", "open")


def _untuned(variant: Variant) -> Variant:
    """Return the variant as if no autotuner had launched it."""
    source = variant.kernel.source
    text = source.text[source.text.index("@triton.jit") :]
    line = source.line + source.text[: -len(text)].count("\n")
    return replace(
        variant, kernel=replace(variant.kernel, source=replace(source, text=text, line=line)), benchmarks=()
    )


def _launched(variant: Variant, rows: int) -> Variant:
    return replace(variant, launches=(replace(variant.launches[0], grid=(rows, 1, 1)),))


def test_atomics_are_not_invariant(opened: Workspace):
    answer = only(opened.bits("add_all", launch="grid=(M,), M=4", invariant="M"))
    assert answer.answer == "not invariant"
    assert {reason.kind for reason in answer.differences[0].reasons} == {"atomics"}


def test_what_changes_with_the_rows_makes_addresses_unknown(opened: Workspace):
    answer = only(opened.bits("matmul", launch=TILES.replace("K0=256", "K0=M"), invariant="M"))
    assert answer.answer == "unknown"
    assert answer.unknown == ("K changes with M, so that rows cannot be told by their addresses",)


def test_what_is_not_known(opened: Workspace):
    answer = only(opened.bits("matmul", invariant="M"))
    assert answer.answer == "unknown" and answer.unknown[0].startswith("only M=256 is known; say how")
    answer = only(opened.bits("sum_below", launch="grid=(M,), M=4", invariant="M"))
    assert answer.answer == "unknown" and "the length of a loop depends on data" in answer.unknown[0]
    with pytest.raises(UserError, match="no launch has 'Q'; they have N, grid"):
        opened.bits("row_sum", invariant="Q")
    with pytest.raises(UserError, match="give M a number, such as M=4096"):
        opened.bits("row_sum", launch="grid=(16,), N=3000", invariant="M")
    unlaunched = [replace(variant, launches=()) for variant in opened.select("row_sum")]
    with pytest.raises(UserError, match=NOT_LAUNCHED.partition(";")[0]):
        opened.bits(variants=unlaunched, invariant="N")
