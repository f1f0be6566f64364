"""Each how-to page leads from a need to a result in at most five commands, and on to other pages."""

from __future__ import annotations

import re

import pytest

from tests.docs.pages import ROOT

NUMBERS = {"one": 1, "two": 2, "three": 3, "four": 4, "five": 5}
# Pages of the group "How to" in mkdocs.yml that begin with their result.
HOW_TO = ("tuning", "production", "upgrading", "ci", "libraries", "agents")


@pytest.mark.parametrize("name", HOW_TO)
def test_a_page_has_a_result_in_at_most_five_commands(name: str) -> None:
    text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
    section = re.search(r"^## In (\w+) commands?\n(.*?)^## ", text, re.M | re.S)
    assert section, "a section 'In N commands' comes before the details"
    assert len(re.findall(r"^\$ ", section[2], re.M)) == NUMBERS[section[1]]
    assert re.search(r"\]\([\w/.]+\.md", text[section.end() :]), "links onward"


def test_the_site_lists_each_how_to_page() -> None:
    nav = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    group = nav[nav.index("  - How to:") : nav.index("  - Lessons:")]
    assert [name for name in HOW_TO if f" {name}.md" not in group] == []


def test_the_contents_say_which_page_is_for_whom() -> None:
    text = (ROOT / "docs" / "contents.md").read_text(encoding="utf-8")
    section = text[text.index("## Where to begin") : text.index("## Commands")]
    assert len(re.findall(r"^- You ", section, re.M)) == 5
    assert [name for name in HOW_TO if f"({name}.md" not in section] == []


def test_the_contents_link_every_page() -> None:
    docs = ROOT / "docs"
    text = (docs / "contents.md").read_text(encoding="utf-8")
    pages = {page.relative_to(docs).as_posix() for page in docs.rglob("*.md") if page.parent.name != "learn"}
    linked = set(re.findall(r"\]\(([^)#]+)", text)) | {"contents.md"}
    assert {page for page in pages - linked if not page.startswith("api/")} == set()


def test_the_first_page_is_short() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.split()) < 800
    assert text.count("```console\n$ irscope ") == 3
    assert len(re.findall(r"^- .*\]\(docs/", text, re.M)) == 5
