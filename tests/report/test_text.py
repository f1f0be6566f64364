"""Untrusted text made safe to print."""

from __future__ import annotations

import unicodedata

from hypothesis import given
from hypothesis import strategies as st

from irscope.report.text import clipped, code, one_line, printable

surrogates = st.text(alphabet=st.characters(categories=["Cs", "Cc", "Cf", "Lu", "Zl", "Zp"]))


@given(st.one_of(st.text(), surrogates))
def test_nothing_that_commands_a_terminal_is_left(text):
    shown = printable(text)
    assert not any(unicodedata.category(c) in ("Cc", "Cs", "Zl", "Zp") and c not in "\n\t" for c in shown)
    assert not any(
        unicodedata.bidirectional(c) in ("LRE", "RLE", "LRO", "RLO", "PDF", "LRI", "RLI", "FSI", "PDI")
        for c in shown
    )
    shown.encode()
    assert "\n" not in one_line(text) and "\t" not in one_line(text)


@given(st.text(alphabet=st.characters(min_codepoint=0x20, max_codepoint=0x7E)))
def test_plain_text_stays(text):
    assert printable(text) == text


def test_controls_become_visible():
    assert printable("\x1b[31m\r\x7f\x9b\u202e\n\t") == "\u241b[31m\u240d\u2421\\x9b\\u202e\n\t"
    assert one_line("a\nb\tc") == "a\u240ab\u2409c"


def test_clipped():
    assert clipped("abcdef", 6) == "abcdef"
    assert clipped("abcdefg", 6) == "abc..."
    assert clipped("abcdefg", 2) == "..."


def test_code_spans_hold_in_a_table():
    assert code("a|b") == "`a\\|b`"
    assert code("a``b") == "``` a``b ```"
