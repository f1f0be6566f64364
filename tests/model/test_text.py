"""Making untrusted text safe to print."""

from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.model.text import clipped, code, display_line, natural_key, one_line, pluralize, printable

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


def test_invisible_characters_become_visible():
    """One of each range of Default_Ignorable_Code_Point, and an annotation, which it leaves out."""
    hidden = (
        "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b\u180e\u200b\u200f\u202e\u2060\u2065\u206f\u3164\ufe00\ufe0f"
        "\ufeff\uffa0\ufff0\ufff9\ufffb\U0001bca0\U0001d173\U000e0000\U000e0041\U000e007f\U000e0100\U000e01ef\U000e0fff"
    )
    assert printable("a\u3164b\ufe0f\U000e0041") == "a\\u3164b\\ufe0f\\U000e0041"
    for character in hidden:
        assert printable(f"a{character}b").isascii()
        assert printable(character).startswith("\\")
    visible = "é ∀ \u0301 \u0600 一 \u00a0 \U0001f600 한"
    assert printable(visible) == visible


@given(st.text(alphabet=st.characters(categories=["Cf"])))
def test_characters_for_formatting_are_shown_as_escapes_unless_they_have_a_glyph(text):
    with_glyph = "\u0600\u0601\u0602\u0603\u0604\u0605\u06dd\u070f\u0890\u0891\u08e2\U000110bd\U000110cd"
    assert not any(unicodedata.category(c) == "Cf" and c not in with_glyph for c in printable(text))


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


def test_versions_and_types_sort_by_their_numbers() -> None:
    versions = ["3.10.0", "3.8.0", "3.9.1", "3.9.0"]
    assert sorted(versions, key=natural_key) == ["3.8.0", "3.9.0", "3.9.1", "3.10.0"]
    assert sorted(["i32:16", "i8", "fp16"], key=natural_key) == ["fp16", "i8", "i32:16"]
    assert sorted(["b", "a" * 3, "1" * 40], key=natural_key) == ["1" * 40, "aaa", "b"]
