"""The HTML report in Chromium: no errors, no network, and every control works."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.document.reports import hostile, report, sweep

pytestmark = pytest.mark.slow

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def pages(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    folder = tmp_path_factory.mktemp("pages")
    return {
        "sweep": report(
            sweep(folder / "s.irscope"), folder / "s.html", "--pair", "#1", "#2", "--pair", "#2", "#3"
        ),
        "hostile": report(hostile(folder / "h.irscope"), folder / "h.html", "--pair", "#1", "#2"),
    }


@pytest.fixture
def show(open_page: Open, pages: dict[str, Path]) -> Open:
    """Opens a report."""

    def show_(
        name: str = "sweep", anchor: str = "", size: tuple[int, int] = (1400, 900), **options: Any
    ) -> Any:
        return open_page(pages[name], size, anchor, **options)

    return show_


def ids(page: Any) -> list[str]:
    return page.locator("table.facts tbody tr:visible th").all_inner_texts()


def in_view(page: Any, selector: str) -> bool:
    box = page.locator(selector).first.bounding_box()
    return box is not None and -box["height"] < box["y"] < page.viewport_size["height"]


def test_sorting_puts_problems_last_either_way(show: Open) -> None:
    page = show()
    assert ids(page) == ["#1", "#2", "#3", "#4", "#5"]
    heading = page.get_by_role("columnheader", name="ms", exact=True)
    heading.get_by_role("button").click()
    assert ids(page) == ["#2", "#1", "#3", "#4", "#5"]
    assert heading.get_attribute("aria-sort") == "ascending"
    heading.get_by_role("button").press("Enter")
    assert ids(page) == ["#3", "#1", "#2", "#4", "#5"]


def test_the_filter_takes_values_and_words(show: Open) -> None:
    page = show()
    page.locator(".filter").fill("num_warps=8 block_m=128")
    assert ids(page) == ["#3"]
    assert page.locator(".shown").inner_text() == "1 of 5 variants"
    page.locator(".filter").fill("! failed")
    assert ids(page) == ["#5"]


def test_a_finding_leads_to_the_lines_that_prove_it(show: Open) -> None:
    page = show()
    finding = page.locator("#pair1 li", has_text="instrShape").last
    finding.evaluate("finding => finding.closest('details')?.setAttribute('open', '')")
    finding.locator("a.proof", has_text="B ttgir line").first.click()
    row = page.locator("#pair1-ttgir .row.proof")
    row.wait_for()
    assert in_view(page, "#pair1-ttgir .row.proof")
    assert "instrShape" in row.inner_text() or "sizePerThread" in row.inner_text()
    assert row.locator("mark").count()


def test_a_line_of_python_leads_to_the_stages_and_back(show: Open) -> None:
    page = show()
    source = page.locator("#pair1 table.source tr", has_text="acc = tl.dot(a, b, acc)")
    source.locator("a").click()
    bar = page.locator(".trace")
    bar.get_by_role("button", name=re.compile("^ttgir ")).click()
    lit = page.locator("#pair1-ttgir .half.lit")
    lit.first.wait_for()
    assert in_view(page, "#pair1-ttgir .half.lit")
    assert any("dot" in text for text in lit.all_inner_texts())
    page.keyboard.press("Escape")
    assert not lit.count() and bar.is_hidden()
    page.locator("#pair1-ttgir .half.a", has_text="warp_group_dot").locator("code").first.click()
    bar.wait_for()
    assert "acc = tl.dot(a, b, acc)" in bar.inner_text()
    assert "lit" in str(source.get_attribute("class"))


def test_folds_open_and_keys_step_through_changes(show: Open) -> None:
    page = show()
    stage = page.locator("#pair1-ttir")
    page.locator("#pair1-ttir summary").click() if stage.get_attribute("open") is None else None
    fold = stage.locator(".fold").first
    fold.wait_for()
    (count,) = re.findall(r"[\d,]+", fold.inner_text())
    before = stage.locator(".row").count()
    fold.click()
    page.wait_for_function(
        "([before, more]) => document.querySelectorAll('#pair1-ttir .row').length >= before + more",
        arg=[before, int(count.replace(",", ""))],
    )
    stage.get_by_role("button", name="↓ Change").click()
    page.keyboard.press("]")
    assert in_view(page, "#pair1-ttir .row.both")


def test_a_link_to_a_line_opens_it_out_of_its_fold(show: Open) -> None:
    page = show(anchor="#pair2-ttgir-b120")
    row = page.locator("#pair2-ttgir .row.proof")
    row.wait_for()
    assert row.locator(".half.b .at").inner_text() == "120"


def test_a_switch_turns_dark_to_light(show: Open) -> None:
    page = show(color_scheme="dark")
    color = "getComputedStyle(document.body).backgroundColor"
    dark = page.evaluate(color)
    page.get_by_role("button", name="Dark or light").click()
    assert page.evaluate(color) == "rgb(255, 255, 255)" != dark


def test_charts_without_a_script_say_what_their_axis_and_lines_are(show: Open) -> None:
    page = show(java_script_enabled=False)
    assert page.locator(".plots figure svg").first.is_visible()
    assert page.locator(".plots svg text.axis").first.text_content() == "BLOCK_M"
    assert "A line joins the best variant with the same num_warps" in page.locator(".plots").inner_text()


def test_charts_have_the_same_labels_and_marks_with_and_without_a_script(show: Open) -> None:
    def drawn(page: Any) -> tuple[list[str], list[str | None]]:
        chart = page.locator(".plots figure svg").first
        return chart.locator("text.end").all_text_contents(), [
            mark.get_attribute("d") for mark in chart.locator("path.mark").all()
        ]

    (labels, marks), (static_labels, static_marks) = drawn(show()), drawn(show(java_script_enabled=False))
    assert labels == static_labels and len(labels) > 2
    assert sorted(marks) == sorted(static_marks) and len(set(marks)) == 2, "a mark per number of warps"


def test_without_a_script_table_findings_and_rows_are_there(show: Open) -> None:
    page = show(java_script_enabled=False)
    assert ids(page) == ["#1", "#2", "#3", "#4", "#5"]
    assert page.locator(".filter").is_hidden()
    assert page.locator("#pair1 .findings li").first.is_visible()
    assert page.locator("#pair1 .stage[open] pre").first.is_visible()


def test_a_phone_shows_one_column_without_overflow(show: Open) -> None:
    page = show(size=(390, 844), anchor="#pair1")
    page.locator("#pair1 .stage[open]").scroll_into_view_if_needed()
    row = page.locator("#pair1 .stage[open] .row.both").first
    row.scroll_into_view_if_needed()
    above, below = row.locator(".half").evaluate_all(
        "halves => halves.map((half) => half.getBoundingClientRect().toJSON())"
    )
    assert above["x"] == below["x"] and above["y"] < below["y"]
    assert page.evaluate("document.documentElement.scrollWidth") <= 390


def test_a_phone_shows_the_names_of_a_and_b_in_full(show: Open) -> None:
    page = show(size=(390, 844))
    for side in page.locator(".side a").all():
        box = side.bounding_box()
        assert box["x"] + box["width"] <= 390


def test_every_chosen_stage_is_printed(show: Open, tmp_path: Path) -> None:
    page = show()
    page.wait_for_function("() => [...Stage.all.values()].every((stage) => stage.blocks)")
    folded = page.locator("details.stage:not([open])").count()
    assert folded
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("details.stage").count() == page.locator("details.stage[open]").count()
    assert not page.locator("details.stage .rows:empty").count()
    page.evaluate("dispatchEvent(new Event('afterprint'))")
    assert page.locator("details.stage:not([open])").count() == folded


def test_a_mark_shows_its_variant_here_and_in_the_table(show: Open) -> None:
    page = show()
    chart = page.locator(".plots svg[tabindex]").first
    chart.locator("[data-id='3']").hover(force=True)
    tip = page.locator(".tip")
    assert "#3 BLOCK_M=128,num_warps=8" in tip.inner_text() and "0.75" in tip.inner_text()
    assert page.locator("#v3.hot").count() == 1
    assert page.locator(".plots .hot").count() == page.locator(".plots svg[tabindex]").count()
    page.mouse.move(5, 5)
    assert tip.is_hidden()


def test_keys_choose_the_variants_to_compare(show: Open) -> None:
    page = show()
    chart = page.locator(".plots svg[tabindex]").first
    chart.focus()
    page.keyboard.press("Home")
    page.keyboard.press("a")
    page.keyboard.press("End")
    page.keyboard.press("Enter")
    chosen = page.locator(".compare select").evaluate_all("selects => selects.map((one) => one.value)")
    assert chosen == ["#1 BLOCK_M=64,num_warps=4", "#3 BLOCK_M=128,num_warps=8"]
    row = page.locator(".compare tr", has_text="BLOCK_M")
    assert row.locator("td").all_inner_texts() == ["64", "128"]
    assert "irscope why s.irscope '#1' '#3'" in page.locator(".compare").inner_text()
    page.locator(".compare select").nth(1).select_option("#2 BLOCK_M=128,num_warps=4")
    assert page.locator(".compare a").get_attribute("href") == "#pair1"
    assert page.locator(".plots svg[tabindex]").first.locator("g.b").get_attribute("data-id") == "2"


def test_axes_can_be_chosen(show: Open) -> None:
    page = show()
    title = page.locator(".plots svg text.axis").first
    assert title.text_content() == "BLOCK_M"
    page.get_by_label("Horizontal").select_option("num_warps")
    assert title.text_content() == "num_warps"
    assert "at each num_warps" in page.locator(".plots").inner_text()
    page.get_by_label("Vertical").select_option("Shared")
    assert page.locator(".plots svg[tabindex]").count() == 1
    page.get_by_label("Horizontal").select_option("ms")
    assert title.text_content() == "ms" and not page.locator(".plots .line").count()
    assert page.locator(".plots svg[tabindex] [data-id]").count() == 3, "only #1 to #3 have both values"


def test_hostile_text_stays_text_in_a_browser_too(show: Open) -> None:
    page = show("hostile")
    for stage in page.locator("details").all():
        stage.evaluate("stage => { stage.open = true; }")
    page.locator("#pair1-ttgir").scroll_into_view_if_needed()
    page.locator("#pair1-ttgir .row").first.wait_for()
    page.locator("#pair1 table.source tr[id] a").first.click()
    for chart in page.locator(".plots svg[tabindex]").all():
        chart.focus()
        page.keyboard.press("End")
    page.wait_for_timeout(200)
    assert page.locator("img").count() == 0
    assert page.title().endswith("irscope report")
    assert "<img src=x onerror=" in page.locator("#pair1-ttgir .row").first.inner_text()
