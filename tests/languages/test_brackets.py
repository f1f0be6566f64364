"""Splitting and searching outside of nested brackets."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.languages.brackets import closing_bracket, delimiters, split_outermost


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", []),
        ("a, b", ["a", "b"]),
        ("dim = 1, parent = #b<{order = [1, 0]}>", ["dim = 1", "parent = #b<{order = [1, 0]}>"]),
        ('"x, <", y', ['"x, <"', "y"]),
        ("(a) -> b, c", ["(a) -> b", "c"]),
        ("a], b", ["a]", "b"]),
        ("a(b, c", ["a(b, c"]),
    ],
)
def test_split_outermost(text: str, parts: list[str]) -> None:
    assert split_outermost(text) == parts


def test_other_separators_and_brackets() -> None:
    assert split_outermost("[512:+32] {order = [1, 0], x}", ",{}", "[]") == [
        "[512:+32]",
        "order = [1, 0]",
        "x",
    ]


def test_closing_bracket() -> None:
    assert closing_bracket("#a<b<c>, d>, e", 2, "<>") == 10
    assert closing_bracket("#a<b<c>", 2, "<>") is None


@given(st.text(st.sampled_from('()[]{}<>",->a\\')))
def test_any_text_can_be_split(text: str) -> None:
    assert all(depth >= 0 for depth, _ in delimiters(text))
    kept = "".join(split_outermost(text))
    assert sorted(kept.replace(",", "")) == sorted(text.replace(",", ""))
