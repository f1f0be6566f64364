"""Answers are bounded, whatever is in them, and nothing that is left out is lost."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.mcp.answers import (
    LEAST,
    MOST_TOKENS,
    Item,
    ToolAnswer,
    clip_tokens,
    compact_json,
    failed,
    rendered,
    tokens,
)
from irscope.mcp.session import Roots
from irscope.model import UserError


@given(st.lists(st.text(max_size=3000), max_size=40), st.integers(LEAST, 4000))
def test_pages_are_within_the_limit_and_cover_all_items(texts: list[str], most: int) -> None:
    answer = ToolAnswer("head", {"known": 1}, "items", [Item(text, text) for text in texts], "tail")
    offset, seen = 0, 0
    while True:
        page = rendered(answer, offset, most)
        assert page.tokens <= most
        seen += len(page.data["items"])
        if "next_offset" not in page.data:
            break
        assert page.data["next_offset"] > offset
        offset = page.data["next_offset"]
    assert seen == len(texts)


@given(st.text(max_size=20_000))
def test_a_long_error_keeps_its_first_line(text: str) -> None:
    page = rendered(failed("it failed", message=text))
    assert page.tokens <= MOST_TOKENS
    assert page.text.startswith("error: it failed")
    assert page.data["error"] == "it failed"


@given(st.text(), st.integers(1, 50))
def test_clipped_text_is_a_beginning(text: str, most: int) -> None:
    clipped = clip_tokens(text, most)
    assert clipped == text or text.startswith(clipped.removesuffix("..."))


def test_tokens_are_counted_from_above() -> None:
    assert tokens("the shared memory") == 5
    assert tokens("%acc_107 = ttng.warp_group_dot") >= 12
    assert tokens("") == 0
    assert tokens("\u2502") == 2
    assert compact_json({"a": [1, None]}) == '{"a":[1,null]}'


def test_only_files_within_the_roots_can_be_named(tmp_path: Path) -> None:
    inside, outside = tmp_path / "in", tmp_path / "out"
    for folder in (inside, outside):
        folder.mkdir()
        (folder / "file.py").write_text("")
    (inside / "link.py").symlink_to(outside / "file.py")
    (inside / "up").symlink_to(outside)
    roots = Roots.of([inside])
    assert roots.file("file.py") == (inside / "file.py").resolve()
    for name in ("../out/file.py", str(outside / "file.py"), "link.py", "up/file.py", "/etc/passwd"):
        with pytest.raises(UserError, match="outside of the folders"):
            roots.file(name)
    for name in ("missing.py", ".", "a\0b", "x" * 5000):
        with pytest.raises(UserError, match="no such file"):
            roots.file(name)
    with pytest.raises(UserError, match="no such folder"):
        Roots.of([tmp_path / "missing"])
