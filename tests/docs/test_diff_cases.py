"""The pairs of docs/diff-cases.md differ as the page says."""

from __future__ import annotations

import re

import pytest

from irscope.backends import stage_named
from irscope.diff.summary import summarize
from tests.diff.stages import diff_texts
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "diff-cases.md").read_text(encoding="utf-8")
SIDE = r'```(\w+) title="{}"\n(.*?)```\n\n'
CASES = re.findall(SIDE.format("A") + SIDE.format("B") + r"\*\*Summary:\*\* `(.*?)`\n", TEXT, re.S)


def language(stage: str) -> str:
    return stage_named("llir" if stage == "llvm" else stage).language or ""


@pytest.mark.parametrize(("stage", "left", "other", "right", "summary"), CASES)
def test_case(stage: str, left: str, other: str, right: str, summary: str) -> None:
    assert stage == other
    assert left != right
    assert summarize(diff_texts(left, right, language(stage))) == summary


def test_every_pair_is_a_case() -> None:
    assert len(CASES) == TEXT.count('title="A"') == TEXT.count('title="B"')
