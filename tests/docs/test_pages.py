"""Every command has a page that lists its options, and links have targets."""

from __future__ import annotations

import re
import sys
from itertools import pairwise
from pathlib import Path

import pytest

from irscope.cli.main import COMMANDS
from tests.docs.pages import PAGES, ROOT, commands, setups
from tests.docs.shell import NEEDS, SETUPS

sys.path.append(str(ROOT / "docs" / "scripts"))

from page_checks import problems_of_pages, repetitions_in_page, tables_without_blank_line
from usage import BEGIN, with_usage

from tests.docs.pages import ROOT

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@pytest.mark.parametrize(("name", "module"), [(name, module) for name, module, *_ in COMMANDS])
def test_a_commands_page_lists_its_options(name: str, module: str) -> None:
    text = (ROOT / "docs" / "commands" / f"{name}.md").read_text(encoding="utf-8")
    assert BEGIN in text
    assert with_usage(text, name, module) == text, "run python docs/scripts/usage.py"


@by_page
def test_links_have_targets(page: Path) -> None:
    text = re.sub(r"^ *```.*?^ *```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S)
    for target, anchor in re.findall(r"\]\((?!\w+:)([^)\s#]*)(?:#([^)\s]*))?\)", text):
        linked = (page.parent / target).resolve() if target else page
        assert linked.is_relative_to(ROOT), target
        assert linked.exists(), target
        assert not anchor or anchor in anchors(linked), f"{target}#{anchor}"


def anchors(page: Path) -> set[str]:
    """The anchors of a page's headings, as GitHub and Python-Markdown make them."""
    titles = re.findall(r"^#+ +(.+)$", page.read_text(encoding="utf-8"), re.M)
    return {re.sub(r"[^\w\- ]", "", title.lower()).strip().replace(" ", "-") for title in titles}


@by_page
def test_setups_and_needs_exist(page: Path) -> None:
    assert set(setups(page)) <= SETUPS.keys()
    assert {command.needs for command in commands(page) if command.needs} <= NEEDS.keys()


@pytest.mark.parametrize(
    "page", sorted((ROOT / "docs" / "commands").glob("*.md")), ids=lambda page: page.stem
)
def test_a_page_of_a_command_says_how_to_make_the_captures_that_it_shows(page: Path) -> None:
    shown = (ROOT / "docs" / "samples.md").read_text(encoding="utf-8")
    for name in setups(page):
        assert "samples.md#the-captures-in-these-pages" in page.read_text(encoding="utf-8")
        assert all(f"\n$ {part}\n" in shown for part in SETUPS[name][1].split(" && "))


@by_page
def test_lists_show_on_the_site_as_on_github(page: Path) -> None:
    """Python-Markdown wants a blank line before a list, and four blanks before what belongs to an item."""
    lines = re.sub(r"^```.*?^```$", "", page.read_text(encoding="utf-8"), flags=re.M | re.S).splitlines()
    for before, line in pairwise(lines):
        is_item = re.match(r"([-*]|\d+\.) ", line)
        assert (
            not is_item or not before or re.match(r" |[-*] |\d+\. ", before) or before.startswith("<!--")
        ), line
        assert not re.match(r" {1,3}([-*] |\d+\. |\||```)", line), line


def test_no_page_repeats_itself_or_another_one() -> None:
    pages = {page.relative_to(ROOT).as_posix(): page.read_text(encoding="utf-8") for page in PAGES}
    assert list(problems_of_pages(pages)) == []


def test_a_paragraph_that_a_merge_left_twice_is_found() -> None:
    text = (
        "It opens at once. One core stays free for the app; `-j` changes that value.\n"
        "It opens at once. One core stays free for the app, and `-j` changes that value.\n"
    )
    assert len(list(repetitions_in_page(text))) == 1
    rows = "| question | answer |\n| --- | --- |\n| Why is it slow? | [x](a.md) |\n| Why is it slow? | y |\n"
    assert list(repetitions_in_page(rows)) == ["the table has two rows 'Why is it slow?'"]
    assert not list(
        repetitions_in_page("The first pass adds what the second one removes.\n\n```\na\na\n```\n")
    )


def test_a_table_that_markdown_reads_as_text_is_found() -> None:
    table = "| a | b |\n| --- | --- |\n| 1 | 2 |\n"
    assert not list(tables_without_blank_line(f"Text.\n\n{table}\nText.\n"))
    assert len(list(tables_without_blank_line(f"Text.\n{table}"))) == 1
    assert len(list(tables_without_blank_line(f"{table}## Heading\n"))) == 1
    assert len(list(tables_without_blank_line("- An item.\n\n| a row of another table | 2 |\n"))) == 1


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
