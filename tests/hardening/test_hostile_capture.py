"""A capture in which every text is hostile: every command shows it, and nothing commands the terminal."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

import irscope
from tests.hardening.hostile import TEXT
from tests.hardening.views import UNSAFE, VIEWS, run


@pytest.mark.parametrize("words", VIEWS, ids=" ".join)
def test_every_command_shows_it(words: tuple[str, ...], hostile_capture: Path, tmp_path: Path):
    code, _ = run(words, hostile_capture, tmp_path)
    assert code in (0, 1), "it is a sound capture"
    for file in (tmp_path / "report.html", tmp_path / "report.md"):
        if file.exists():
            text = file.read_text(encoding="utf-8")
            assert not UNSAFE.search(text)
            assert "<script>alert" not in text
            assert not any(UNSAFE.search(data) for data in payloads(text))
    for file in tmp_path.rglob("*"):
        assert file.resolve().is_relative_to(tmp_path.resolve())
        assert not UNSAFE.search(str(file))


def payloads(page: str) -> Iterator[str]:
    """Yield the data that a page's scripts show: JSON whose escapes are decoded."""
    for data in re.findall(r'<script type="text/plain"[^>]*>([^<]*)<', page):
        escaped = zlib.decompress(base64.b64decode(data)).decode()
        yield re.sub(r"(?<!\\)\\u([0-9a-f]{4})", lambda match: chr(int(match[1], 16)), escaped)


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
