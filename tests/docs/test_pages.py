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

from usage import BEGIN, with_usage

by_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())


@pytest.mark.parametrize(("name", "module"), [(name, module) for name, module, _ in COMMANDS])
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
