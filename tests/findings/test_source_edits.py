"""Edits of a kernel's Python in words."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.findings.python_edit_text import describe as changes_of
from irscope.findings.python_edits import StatementEdit, edits, lines_reached
from tests.exhaustive import EXHAUSTIVE

# Planted edits per kernel.
LIMIT = 25 if EXHAUSTIVE else 6

KERNEL = """@triton.jit
def kernel(x_ptr, out_ptr, n, K, BLOCK: tl.constexpr):
    offs = tl.arange(0, BLOCK)
    mask = offs < n
    acc = tl.zeros((BLOCK,), dtype=tl.float32)
    for k in range(0, K, BLOCK):
        x = tl.load(x_ptr + offs + k, mask=mask, other=0.0)
        acc += tl.exp(x) - x
    tl.atomic_add(out_ptr + offs, acc.to(tl.float16), sem="relaxed")
"""

CASES = [
    ("mask=mask, other=0.0", "other=0.0", 7, "the load of x_ptr no longer has a mask"),
    ("other=0.0", "other=1.0", 7, "the load of x_ptr uses other=0.0 -> 1.0"),
    ("mask=mask", "mask=mask, eviction_policy='evict_first'", 7, "now has eviction_policy='evict_first'"),
    ('sem="relaxed"', 'sem="acq_rel"', 9, "tl.atomic_add uses sem='relaxed' -> 'acq_rel'"),
    ("range(0, K,", "range(0, K // 2,", 6, "the loop's upper bound is now K // 2 (was K)"),
    (
        "range(0, K, BLOCK",
        "range(K - 1, -1, -1",
        6,
        "the loop's start is now K - 1 (was 0); the loop's end is now -1",
    ),
    ("K, BLOCK)", "K, BLOCK * 2)", 6, "the loop's step is now BLOCK * 2 (was BLOCK)"),
    ("tl.exp(", "tl.exp2(", 8, "tl.exp -> tl.exp2"),
    ("dtype=tl.float32", "dtype=tl.float16", 5, "acc accumulates in tl.float16 instead of tl.float32"),
    (".to(tl.float16)", ".to(tl.bfloat16)", 9, "acc is converted to tl.bfloat16 instead of tl.float16"),
    ("offs < n", "offs <= n", 4, "`offs < n` -> `offs <= n`"),
    ("+ offs + k", "+ offs + k + 1", 7, "`+ 1` added to `x_ptr + offs + k`"),
    ("tl.exp(x) - x", "x - tl.exp(x)", 8, "the operands of `tl.exp(x) - x` are swapped: `x - tl.exp(x)`"),
    ("acc +=", "acc -=", 8, "`acc += tl.exp(x) - x` -> `acc -= tl.exp(x) - x`"),
    ("tl.exp(x) - x", "tl.exp(x) - x * 2", 8, "`x` -> `x * 2`"),
]


def describe(edit: StatementEdit) -> str:
    return "; ".join(map(str, changes_of(edit)))


@pytest.mark.parametrize(("old", "new", "line", "text"), CASES)
def test_one_edit_is_one_sentence(old: str, new: str, line: int, text: str) -> None:
    [edit] = edits(KERNEL, 1, KERNEL.replace(old, new), 1)
    assert edit.after is not None
    assert edit.after.line == line
    assert text in describe(edit)
    [back] = edits(KERNEL.replace(old, new), 1, KERNEL, 1)
    assert back.after is not None
    assert back.after.line == line


def test_added_removed_and_moved_statements() -> None:
    lines = KERNEL.split("\n")
    [added] = edits(KERNEL, 1, "\n".join([*lines[:7], "        x = x * 2", *lines[7:]]), 1)
    assert describe(added) == "new statement `x = x * 2`"
    [removed] = edits(KERNEL, 1, "\n".join(lines[:7] + lines[8:]), 1)
    assert removed.after is None
    assert describe(removed) == "the statement `acc += tl.exp(x) - x` is gone"
    [moved] = edits(KERNEL, 1, "\n".join([*lines[:3], lines[4], lines[3], *lines[5:]]), 1)
    assert moved.moved
    assert "moved from line" in describe(moved)


def test_comments_and_names_are_no_edits() -> None:
    renamed = KERNEL.replace("acc", "total").replace("x_ptr", "a_ptr").replace("def kernel", "def other")
    assert edits(KERNEL, 1, renamed.replace("    mask", "    # a comment\n\n    mask"), 90) == []
    [edit] = edits(KERNEL, 1, renamed.replace("tl.exp(x)", "tl.exp2(x)"), 1)
    assert describe(edit) == "tl.exp -> tl.exp2"


def test_an_augmented_assignment_is_the_statement_that_it_abbreviates() -> None:
    written_out = KERNEL.replace("acc += tl.exp(x) - x", "acc = acc + (tl.exp(x) - x)")
    assert edits(KERNEL, 1, written_out, 1) == []
    [edit] = edits(KERNEL.replace("acc", "total"), 1, written_out.replace("tl.exp(", "tl.exp2("), 1)
    assert describe(edit) == "tl.exp -> tl.exp2"
    [operator] = edits(KERNEL, 1, written_out.replace("acc + (", "acc - ("), 1)
    assert describe(operator) == "`acc + (tl.exp(x) - x)` -> `acc - (tl.exp(x) - x)`"


def test_lines_reached() -> None:
    assert lines_reached(KERNEL, 1, frozenset(["mask"])) == {6, 7, 8, 9}


@given(st.text(max_size=200), st.text(max_size=200))
def test_any_text(one: str, other: str) -> None:
    for text in (one, f"def f():\n    {one}"):
        assert edits(text, 1, text, 1) == []
        assert all(describe(edit) for edit in edits(text, 1, f"def f():\n    {other}", 1))


def test_deep_and_long_text() -> None:
    deep = "def f():\n    x = " + "-" * 5000 + "1"
    assert edits(deep, 1, deep + "0", 1) == []
    long = "def f():\n" + "    x = x + 1\n" * 500
    assert [describe(edit) for edit in edits(long, 1, long + "    y = 2\n", 1)] == ["new statement `y = 2`"]


@pytest.mark.slow
def test_planted_edits_are_named_exactly() -> None:
    from tests.truth.planted_edits import planted
    from tests.truth.planted_kernels import tuned_cases

    total, problems = planted(tuned_cases(), limit=LIMIT)
    assert problems == []
    assert total["exact"] == total["in words"] == total["mirrored"] == total["planted"] >= 10 * LIMIT
