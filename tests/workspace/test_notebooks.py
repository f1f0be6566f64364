"""What a notebook shows of each public value: short text, and HTML that is escaped and complete."""

from __future__ import annotations

from html.parser import HTMLParser
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import irscope
from irscope.model.text import html_list, html_table
from tests.document.reports import HOSTILE, hostile, sweep

LAUNCH = "grid=(64,), M=4096, N=4096, K=4096"
# A value takes a few lines of a notebook, not a screen.
SHORT = 300


class Elements(HTMLParser):
    """The elements of HTML that a browser would make."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.names: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.names.append(tag)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> irscope.Capture:
    return irscope.open(sweep(tmp_path_factory.mktemp("notebook") / "sweep.irscope"))


def values(capture: irscope.Capture) -> list[Any]:
    """Return one value of each public type that a capture answers with."""
    variant, other, *_ = capture.variants
    comparison = capture.compare(variant, other)
    return [
        capture,
        variant,
        comparison,
        comparison.diffs()["ttgir"],
        comparison.findings[0],
        capture.verdict(variant),
        *capture.facts(variant).values(),
    ]


def test_every_value_has_short_text_and_html(capture: irscope.Capture) -> None:
    for value in values(capture):
        assert 0 < len(repr(value)) < SHORT, type(value)
        assert "\n" not in repr(value)
        assert Elements(value._repr_html_()).names or "failed" in repr(value)


def test_the_facts_of_a_variant_fit_a_screen(capture: irscope.Capture) -> None:
    assert len(repr(dict(capture.facts(capture.variants[0])))) < 6000


def test_a_comparison_shows_its_findings(capture: irscope.Capture) -> None:
    comparison = capture.compare(*capture.variants[:2])
    printed: list[str] = []
    comparison._repr_pretty_(SimpleNamespace(text=printed.append), False)
    first = comparison.findings[0].text
    assert first in printed[0]
    html = comparison._repr_html_()
    assert html.count("<li>") == len(printed[0].splitlines()) - 1


def test_equal_variants_say_that_their_stages_are_equal(capture: irscope.Capture) -> None:
    same = capture.compare(capture.variants[0], capture.variants[0])
    assert "All compared stages are equal" in same._repr_html_()


def test_text_of_a_capture_is_no_markup(tmp_path: Path) -> None:
    with irscope.open(hostile(tmp_path / "h.irscope")) as opened:
        variant, other, failed = opened.variants
        shown = [
            opened.compare(variant, other),
            variant,
            failed,
            opened.verdict(failed),
            *opened.facts(variant).values(),
        ]
        for value in shown:
            assert HOSTILE not in value._repr_html_()
            assert "script" not in Elements(value._repr_html_()).names
            assert repr(value).isprintable()


def test_a_long_table_says_what_it_leaves_out() -> None:
    html = html_table(("a",), [("1",)] * 250)
    assert html.count("<tr>") == 101
    assert "and 150 more" in html
    assert html_list(()) == ""


def test_a_pick_is_a_line_and_a_table(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> None:
    from tests.estimating.ranked_kernels import scale_rows

    path = tmp_path_factory.mktemp("pick") / "rows.irscope"
    config = {"B": [64, 2048], "num_warps": [8]}
    with irscope.compile(
        scale_rows, path, "*fp32:16, *fp32:16, i32:16", config=config, target="cuda:90", jobs=1
    ) as opened:
        (pick,) = opened.pick(launch="grid=(1024,), C=4096")
        assert "2 configs" in repr(pick)
        assert len(repr([pick])) < 2 * SHORT
        assert pick._repr_html_().count("<tr>") == 1 + len(pick.choices)
        (choice, *_) = pick.choices
        assert f"#{choice.variant.id}" in repr(choice)
        assert choice.estimate is not None
        assert "us on NVIDIA H100" in repr(choice.estimate)
        assert "<table>" in choice.estimate._repr_html_()
