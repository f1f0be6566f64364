"""A capture in which every text is hostile: every command shows it, and nothing commands the terminal."""

from __future__ import annotations

from pathlib import Path

import pytest

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
    for file in tmp_path.rglob("*"):
        assert file.resolve().is_relative_to(tmp_path.resolve())
