"""A section with measured times or rates says when they were measured."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.docs.pages import PAGES, ROOT

FIGURE = re.compile(r"\d (?:s|ms|us|microseconds|TFLOP/s|TB/s|MB/s)\b|times faster")
# Limits, rules of thumb, and a summary of sections that have dates.
NOT_MEASURED = {
    ("docs/commands/pick.md", "irscope pick"),
    ("docs/capture-format.md", "Captures from strangers"),
    ("docs/commands/dump.md", "Usage"),
    ("docs/commands/run.md", "Without a GPU, or with `--target`"),  # times that a program is told
    ("docs/gallery.md", "Six finds in public kernels"),
}
# tests/learn checks the figures of lessons; a date of the changelog is that of its version.
CHECKED = [page for page in PAGES if "learn" not in page.parts and page.name != "CONTRIBUTING.md"]


@pytest.mark.parametrize("page", CHECKED, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_measured_figures_have_a_date(page: Path) -> None:
    name = page.relative_to(ROOT).as_posix()
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for section in re.split(r"^#+ ", text, flags=re.M):
        title = section.partition("\n")[0]
        if (name, title) not in NOT_MEASURED and FIGURE.search(section):
            assert re.search(r"\b20\d\d\b", section), f"{title}: say when, on what and with which versions"
