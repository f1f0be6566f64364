"""The report as Markdown: its contents, and its length limit."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irscope.document.markdown.reports import LIMIT, report_markdown
from tests.document.reports import gathered, hostile, sweep


def test_it_has_the_table_the_findings_and_the_rows(irscope, tmp_path: Path) -> None:
    text = irscope("report", str(sweep(tmp_path / "s.irscope")), "--format", "markdown").stdout
    assert text.startswith("# matmul\\_kernel\n\ns.irscope: 5 variants for cuda:90, 1 failed")
    assert "| # | `BLOCK_M` | `num_warps` | ms |" in text
    assert re.search(r"^## Pair 1: `.+ -> .+`$", text, re.M)
    assert re.search(r"^1\. \S", text, re.M)
    assert "<details><summary>ttgir</summary>\n\n```diff\n@@" in text
    assert text.count("<details>") == text.count("</details>")
    assert text.count("```") % 2 == 0


@pytest.mark.parametrize("limit", [1_500, 5_000, 20_000, LIMIT])
def test_the_length_limit_is_kept(tmp_path: Path, limit: int) -> None:
    text = report_markdown(gathered(sweep(tmp_path / "s.irscope")), limit)
    assert len(text) <= limit
    assert text.count("```") % 2 == 0
    if limit < LIMIT:
        assert "omitted" in text


def test_hostile_text_is_escaped(irscope, tmp_path: Path) -> None:
    text = irscope("report", str(hostile(tmp_path / "h.irscope")), "--format", "markdown").stdout
    outside = re.sub(r"(`+)(?!`).*?(?<!`)\1(?!`)", "", text, flags=re.S)
    assert "<img" not in outside.replace("\\<img", "")
    assert "\u202e" not in text
