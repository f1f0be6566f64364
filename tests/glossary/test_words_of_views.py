"""Every word that a view prints as a heading, a status or a term has an entry in the glossary.

Headings and findings are those of the outputs in the docs, which tests/docs compares with the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from irscope.cli.main import main
from irscope.estimating import terms
from irscope.facts.registry import FACT_KINDS
from irscope.findings.cache_key import KINDS
from irscope.glossary.glossary import entries_in_line, find_entries
from irscope.model.status import StatusKind
from tests.docs.pages import PAGES, commands

OUTPUTS = [command.output for page in PAGES for command in commands(page) if command.output]
RULE = re.compile("─{3,}")
FINDING = re.compile(r" +\d+\. (.+)")
# In a heading: the name of a config value or half of one, a number, or a sign.
NAME = re.compile(r"[A-Z_\d]+_?|\W+|.+_")
# Headings and labels that the outputs in the docs do not happen to have.
LABELS = (
    "stage", "pass", "effect", "ms", "us", "estimate", "measured", "bound", "note", "remedy", "try",
    "verdict",
    "registers", "threads", "shared", "occupancy", "rank", "heatmap", "minimap", "pressure", "lesson",
    "exercise",
    "baseline", "unchanged", "worse", "better", "Memory", "Findings", "Stages",
)  # fmt: skip


def headings() -> Iterator[str]:
    """The headings above the rule of each table in the docs; of a heading of two lines, the second."""
    for output in OUTPUTS:
        for index, line in enumerate(output):
            if RULE.fullmatch(line.strip()):
                yield from filter(None, re.split(r" {2,}", output[index - 1].strip()))


def without_entry(words: set[str]) -> list[str]:
    return [word for word in sorted(words) if not find_entries(word)]


def test_headings_of_tables_have_entries():
    found = {cell for cell in headings() if not NAME.fullmatch(cell)}
    assert len(found) > 10
    assert without_entry(found) == []


def test_statuses_terms_and_components_have_entries():
    statuses = {status.value for status in StatusKind}
    names = {value for name, value in vars(terms).items() if name.isupper() and isinstance(value, str)}
    assert len(names) > 10
    assert without_entry({*statuses, *names, *KINDS, *LABELS}) == []


def test_every_finding_has_a_word_that_the_app_explains():
    findings = {match[1] for output in OUTPUTS for line in output if (match := FINDING.match(line))}
    assert len(findings) > 20
    assert [text for text in sorted(findings) if not entries_in_line(text, of_view=True)] == []


@pytest.mark.parametrize("kind", FACT_KINDS, ids=lambda kind: kind.name)
def test_the_app_explains_the_title_of_every_column(kind):
    if not kind.name.endswith(("_seconds", "_size")):
        assert entries_in_line(kind.heading or kind.title, of_view=True), kind.title


@pytest.mark.parametrize("word", ["bank conflicts", "Limited by", "cannot launch", "Differs in", "launches"])
def test_explain_prints_an_entry(word, capsys):
    assert main(["explain", word]) == 0
    assert capsys.readouterr().out


def test_terms_of_several_words_come_before_their_words():
    text = "Theoretical occupancy: limited by shared memory, bank conflicts"
    assert [word for word, _ in entries_in_line(text, of_view=True)] == [
        "Theoretical occupancy", "limited by", "shared memory", "bank conflicts",
    ]  # fmt: skip
