"""Making untrusted text safe to print."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.model.text import clipped, code, display_line, one_line, pluralize, printable

surrogates = st.text(alphabet=st.characters(categories=["Cs", "Cc", "Cf", "Lu", "Zl", "Zp"]))


@given(st.one_of(st.text(), surrogates))
def test_terminal_control_characters_are_removed(text):
    shown = printable(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t" for c in shown)
    assert not any(
        unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for c in shown
    )
    shown.encode()
    assert "\n" not in one_line(text) and "\t" not in one_line(text)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_plain_text_is_unchanged(text):
    assert printable(text) == text


def test_controls_become_visible():
    assert printable("\x1b[31m\r\x7f\x9b\u202e\n\t") == "\u241b[31m\u240d\u2421\\x9b\\u202e\n\t"
    assert one_line("a\nb\tc") == "a\u240ab\u2409c"


def test_clipped():
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abc..."
    assert clipped("abcdefg", 2) == "..."


def test_code_spans_are_escaped_in_a_table():
    assert code("a|b") == "`a\\|b`"
    assert code("a``b") == "``` a``b ```"


@pytest.mark.parametrize(
    ("number", "noun", "text"),
    [
        (1, "pass", "1 pass"), (2, "pass", "2 passes"), (1, "shape", "1 shape"), (0, "variant", "0 variants"),
        (1000, "variant", "1,000 variants"), (2, "entry", "2 entries"), (2, "array", "2 arrays"),
        (3, "more line", "3 more lines"),
    ],
)  # fmt: skip
def test_pluralize(number, noun, text):
    assert pluralize(number, noun) == text


def test_a_line_of_a_screen_has_its_tabs_expanded():
    assert display_line("a\tb\x1b\u202e\n") == "a   b\u241b\\u202e\u240a"
