"""Parsing the coalescing pass's log and matching it to TTIR."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from irscope.facts.accesses.global_accesses import CoalescingDecision, match_decisions, parse_decisions
from tests.findings.reason_data import NAMES, text, ttir

PRODUCT = "product.cuda-90.triton-3.9.0"


@pytest.mark.parametrize("version", ["3.6.0", "3.9.0"])
def test_each_operation_has_its_log_entry(version):
    name = f"masked.cuda-90.triton-{version}"
    load, store = parse_decisions(text(name, "reasons"))
    assert load == CoalescingDecision("tt.load", (256,), (256,), (16,), (1,), 4, 2)
    assert (store.opcode, store.pointer_limit, store.per_thread) == ("tt.store", 4, 2)


def test_each_operation_has_its_own_and_the_second_run_has_none():
    document = ttir(PRODUCT)
    decisions = match_decisions(parse_decisions(text(PRODUCT, "reasons")), document)
    assert [document.operations[index].opcode for index in decisions] == ["tt.load", "tt.load", "tt.store"]
    assert [reason.shape for reason in decisions.values()] == [(64, 32), (32, 64), (64, 64)]


def test_reasons_of_another_kernel_match_nothing():
    reasons = parse_decisions(text("masked.cuda-90.triton-3.9.0", "reasons"))
    assert match_decisions(reasons, ttir(PRODUCT)) == {}
    more = parse_decisions(text(PRODUCT, "reasons"))
    assert match_decisions(more, ttir("masked.cuda-90.triton-3.9.0")) == {}


def test_truncated_text_gives_the_complete_entries():
    whole = text(PRODUCT, "reasons")
    first = parse_decisions(whole)[0]
    cut = whole[: whole.index("Considering op", 40)]
    assert parse_decisions(cut) == [first]
    assert parse_decisions(whole[:300]) == []
    assert parse_decisions("") == []


@settings(max_examples=100, deadline=None)
@given(
    st.sampled_from(NAMES),
    st.lists(st.tuples(st.floats(0, 1), st.floats(0, 1), st.text(max_size=20)), min_size=1, max_size=5),
)
def test_damaged_text_never_raises(name, edits):
    damaged = text(name, "reasons")
    for start, end, put in edits:
        a, b = sorted((int(start * len(damaged)), int(end * len(damaged))))
        damaged = damaged[:a] + put + damaged[b:]
    match_decisions(parse_decisions(damaged), ttir(name))
