"""Renaming, renumbering, stripping, shifting and reordering give an empty diff."""

import pytest

from irscope.diff.rows import Change
from irscope.diff.word_diff import changed_spans
from tests.diff.rewrite import renamed, reordered, shifted, stripped
from tests.diff.stages import NAMES, diff_texts, language_of, text_of


def assert_equal(left: str, right: str, language: str) -> None:
    diff = diff_texts(left, right, language)
    assert diff.counts == {}
    assert diff.layouts == ()
    assert diff.equal
    assert all(row.change is Change.EQUAL for row in diff.rows)
    operations = diff.left.operation_of_line
    for row in diff.rows:
        if row.left in operations and row.right is not None:
            assert changed_spans(diff.left.lines[row.left], diff.right.lines[row.right]) == ([], [])


@pytest.mark.parametrize("name", NAMES)
def test_renamed(name: str) -> None:
    text, language = text_of(name), language_of(name)
    other = renamed(text, language)
    assert other != text
    assert_equal(text, other, language)


@pytest.mark.parametrize("name", NAMES)
def test_stripped(name: str) -> None:
    text, language = text_of(name), language_of(name)
    assert_equal(stripped(text, language), text, language)
    assert_equal(text, stripped(text, language), language)


@pytest.mark.parametrize("name", NAMES)
def test_shifted_and_renamed(name: str) -> None:
    text, language = text_of(name), language_of(name)
    assert_equal(text, renamed(shifted(text, language), language, seed=1), language)


@pytest.mark.parametrize("name", [name for name in NAMES if name.endswith("ttgir")])
def test_reordered_aliases(name: str) -> None:
    text = text_of(name)
    assert_equal(text, renamed(reordered(text), "mlir"), "mlir")


def test_rewrites_do_something() -> None:
    for name in NAMES:
        text, language = text_of(name), language_of(name)
        if "loc" in text or "//##" in text or "!dbg" in text:
            assert stripped(text, language) != text
            assert shifted(text, language) != text
