"""The trends of a history, and their page."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser

import pytest

from irscope.jobs.trends.trends import read_history, read_trends
from irscope.jobs.trends.trends_page import sparkline, trends_html
from irscope.model import UserError
from tests.cli.conftest import irscope  # noqa: F401 - a fixture
from tests.document.reports import HOSTILE
from tests.trends.histories import COMMITS, entry, history


@pytest.fixture
def folder(tmp_path):
    history(tmp_path / "nightly")
    return tmp_path / "nightly"


def test_a_series_per_kernel_target_and_triton(folder):
    trends = read_trends(folder)
    assert [one.commit for one in trends.commits] == list(COMMITS)
    kernels = {kernel.name: kernel for kernel in trends.kernels}
    assert [series.title for series in kernels["add_kernel"].series] == [
        "cuda:90, triton 3.8.0", "cuda:90, triton 3.9.0",
    ]  # fmt: skip
    old, new = kernels["add_kernel"].series
    assert new.values["registers"] == (64, 64, 128, 128)
    assert new.values["n_spills"] == (0, 0, 16, 16)
    assert new.values["shared"] == (1024, 1024, 512, 512)
    assert new.variants == (2, 2, 2, 2)
    assert old.values["registers"] == (64, None, None, None) and old.variants == (2, 0, 0, 0)
    # Those that moved are first.
    assert [kernel.name for kernel in trends.kernels] == ["add_kernel", "mul_kernel"]


def test_a_step_says_what_got_worse_and_better(folder):
    steps = {step.index: step for step in read_trends(folder).steps}
    assert set(steps) == {1, 2}  # the last commit changed nothing
    (worse,) = steps[2].worse
    assert worse.startswith("add_kernel on cuda:90, triton 3.9.0: ") and "Stack 0 -> 64 bytes" in worse
    assert worse.endswith("2 variants in all")
    assert steps[1].worse == ("mul_kernel on cuda:90, triton 3.8.0: does not compile: arange's range is bad",)
    assert any("Renamed  add_kernel -> mul_kernel (triton 3.8.0)" in line for line in steps[1].other)


def test_entries_are_sorted_by_date_whatever_their_time_zone(tmp_path):
    made = history(tmp_path / "h")
    late = entry(3, "a.irscope", "4.0.0")
    early = entry(0, "a.irscope", "4.0.0")
    object.__setattr__(early, "date", "2026-05-04T23:00:00+14:00")  # 09:00 UTC, before 12:00+02:00
    made = made.with_entry(late).with_entry(early)
    assert [one.commit for one in made.entries if one.triton == "4.0.0"] == [COMMITS[0], COMMITS[3]]


@pytest.mark.parametrize(
    "text",
    [
        "", "[]", "{}", '{"schema": "irscope.history/1"}', "\x00",
        '{"schema": "irscope.history/1", "name": "", "url": "", "entries": [1]}',
    ],
)  # fmt: skip
def test_a_damaged_history_is_one_line(tmp_path, text):
    (tmp_path / "history.json").write_text(text)
    with pytest.raises(UserError, match="not a history of irscope trends"):
        read_history(tmp_path)


def test_a_history_cannot_name_other_files(folder):
    path = folder / "history.json"
    document = json.loads(path.read_text())
    document["entries"][0]["capture"] = "../../secret.irscope"
    path.write_text(json.dumps(document))
    with pytest.raises(UserError, match="is no name of a capture"):
        read_history(folder)


def test_the_command_writes_the_page(irscope, folder):  # noqa: F811
    done = irscope("trends", "nightly", "-o", "site/index.html")
    assert done.returncode == 0, done.stderr
    summary = "4 commits, 2 kernels; cuda:90; triton 3.8.0, 3.9.0"
    assert done.stdout == f"site/index.html: {summary}; 2 commits with changes\n"
    page = (folder.parent / "site" / "index.html").read_text()
    assert f"https://github.com/owner/library/commit/{COMMITS[2]}" in page
    done = irscope("trends", "none")
    assert done.returncode == 2 and "has no captures of commits" in done.stderr


class Elements(HTMLParser):
    """The elements of a page, and the ids that it defines."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.tags: list[str] = []
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append(tag)
        self.attributes += attrs


def test_the_page_loads_nothing_and_escapes_everything(tmp_path):
    history(tmp_path / "h", name=HOSTILE, subject=HOSTILE)
    page = trends_html(read_trends(tmp_path / "h"))
    elements = Elements(page)
    assert "img" not in elements.tags and "link" not in elements.tags
    assert elements.tags.count("script") == 1 and "\u202e" not in page
    assert not [
        name for name, _ in elements.attributes if name in ("src", "srcset", "style") or name[:2] == "on"
    ]
    links = [value for name, value in elements.attributes if name == "href"]
    assert links and all(link.startswith("https://github.com/owner/library/commit/") for link in links)
    ids = [value for name, value in elements.attributes if name == "id"]
    assert len(ids) == len(set(ids))
    assert "default-src &#x27;none&#x27;" in page


def test_only_addresses_of_known_hosts_become_links(tmp_path):
    made = history(tmp_path / "h")
    path = made.folder / "history.json"
    path.write_text(path.read_text().replace("https://github.com/owner/library", "javascript:alert(1)//"))
    assert "href" not in trends_html(read_trends(made.folder)).partition("<main>")[2]


def test_every_chart_is_described_in_words(folder):
    page = trends_html(read_trends(folder))
    labels = re.findall(r'aria-label="(Registers[^"]*)"', page)
    assert "Registers per thread: 64 at 1111111111 2026-05-01; 128 from 3333333333 2026-05-03" in labels
    # The last commit of the other Triton has no value, so no change either.
    assert re.search(r"Regs <b>not compiled</b></figcaption>", page)
    assert page.count("<details") >= page.count('class="series"')


def test_a_sparkline_has_gaps_and_marks():
    svg = sparkline([10, 10, None, 20, 5], list("abcde"), "words", str)
    (path,) = re.findall(r'<path d="([^"]+)"', svg)
    assert path.count("M") == 2  # it starts again after the gap
    assert re.findall(r"<title>([^<]+)</title>", svg) == ["a: 10", "d: 20", "e: 5"]
    assert 'class="rise"' in svg and 'class="fall"' in svg
    assert "no values" in sparkline([None, None], ["a", "b"], "", str)
    assert "<path" in sparkline([3], ["a"], "one commit", str)


@pytest.mark.slow
@pytest.mark.parametrize("width", [390, 1400])
def test_the_page_in_a_browser(open_page, folder, tmp_path, width):
    path = tmp_path / "page.html"
    path.write_text(trends_html(read_trends(folder)))
    page = open_page(path, (width, 844))
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.keyboard.press("Tab")  # the theme
    page.keyboard.press("Enter")
    assert page.evaluate("document.documentElement.dataset.theme") in ("light", "dark")
    page.focus("#filter")
    page.keyboard.type("mul")
    assert page.locator(".kernel:visible").count() == 1
    page.fill("#filter", "")
    page.check("#moved")
    assert page.locator(".kernel:visible h3 code").all_inner_texts() == ["add_kernel"]
    page.focus(".kernel:not([hidden]) summary")
    page.keyboard.press("Enter")
    assert page.locator(".kernel:visible table:visible").count() == 1
