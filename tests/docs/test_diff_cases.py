"""The pairs of docs/diff-cases.md have the summaries that the page shows."""

from __future__ import annotations

import re

import pytest

from irscope.targets import stage_named
from tests.diff.stages import diff_texts
from tests.docs.pages import ROOT

TEXT = (ROOT / "docs" / "diff-cases.md").read_text(encoding="utf-8")
_SIDE = r'```(?P<stage_{0}>\w+) title="{0}"\n(?P<{0}>.*?)```\n\n'
CASE = re.compile(_SIDE.format("A") + _SIDE.format("B") + r"\*\*Summary:\*\* `(?P<summary>.*?)`\n", re.S)
CASES = list(CASE.finditer(TEXT))


def summary_of(case: re.Match[str]) -> str:
    """The summary of a case's diff, as irscope prints it."""
    stage = "llir" if case["stage_A"] == "llvm" else case["stage_A"]
    return diff_texts(case["A"], case["B"], stage_named(stage).language or "").summary


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"line{TEXT.count(chr(10), 0, case.start()) + 1}")
def test_case(case: re.Match[str]) -> None:
    assert case["stage_A"] == case["stage_B"]
    assert case["A"] != case["B"]
    assert summary_of(case) == case["summary"]


def test_every_pair_is_documented() -> None:
    assert len(CASES) == TEXT.count('title="A"') == TEXT.count('title="B"')
