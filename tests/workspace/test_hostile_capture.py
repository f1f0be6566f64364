"""Python's views of a capture in which every text is hostile."""

from __future__ import annotations

import re
from pathlib import Path

import irscope
from tests.hardening.hostile import TEXT


def test_a_notebook_shows_it_as_text(hostile_capture: Path):
    with irscope.open(hostile_capture) as capture:
        page = capture._repr_html_()
    assert "<script" not in page and "&lt;script&gt;" in page


def test_every_question_is_answered(hostile_capture: Path):
    with irscope.open(hostile_capture) as capture:
        first, second, third, failed = capture.variants
        assert capture.variant("#4") == failed and failed.failure is not None
        assert first.kernel.name == TEXT
        for a, b in ((first, second), (first, third), (second, failed)):
            comparison = capture.compare(a, b)
            assert all(isinstance(finding.text, str) for finding in comparison.findings)
        assert {row["id"] for row in capture.table()} == {1, 2, 3, 4}
        assert len(capture.compilations()) == 1
        assert capture.document(first, "ttgir").text.count("tt.load") == 1
        assert re.search(r"BLOCK=64", capture.names[1])
