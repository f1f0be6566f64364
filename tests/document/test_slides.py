"""Slides of a capture: the story, escaped, in one file; and driven with keys in Chromium."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from irscope.document.html.slides.pair import marked_text
from irscope.document.html.slides.talk import slides_html
from irscope.document.slide_content import slide_deck
from irscope.model import UserError
from irscope.workspace import RowSide, Workspace
from irscope.workspace.variant_registers import compile_time_inputs
from tests.document.reports import HOSTILE, Outline, hostile, report, sweep


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return sweep(tmp_path_factory.mktemp("slides") / "sweep.irscope")


@pytest.fixture(scope="module")
def page(capture: Path) -> str:
    with Workspace(capture) as workspace:
        return slides_html(slide_deck(workspace, [("#1", "#2")]))


def titles(page: str) -> list[str]:
    return re.findall(r"<h[12]>([^<]*)</h[12]>", page)


def test_the_slides_tell_the_story_in_order(page: str) -> None:
    wanted = (
        "matmul_kernel",
        "The kernel: matmul_kernel",
        "Fixed when it is compiled",
        "5 configs, cuda:90",
        "Question: BLOCK_M 64 -&gt; 128. What changes?",
        "BLOCK_M 64 -&gt; 128: another compilation",
        "What differs, most important first",
        "Resources and occupancy",
        "What to do about matmul_kernel",
        "Look for yourself",
    )
    found = titles(page)
    places = [next(n for n, title in enumerate(found) if title.startswith(one)) for one in wanted]
    assert places == sorted(places)
    assert any(title.startswith("The layout of ") for title in found)


def test_it_is_one_file_that_may_load_nothing(page: str) -> None:
    outline = Outline(page)
    assert not outline.open
    policy = next(a["content"] for name, a in outline.elements if a.get("http-equiv"))
    assert policy.startswith("default-src 'none'")
    assert not [a for _, a in outline.elements if {"src", "style", "onclick"} & a.keys()]
    assert not [a for name, a in outline.elements if str(a.get("href", "#"))[0] != "#"]
    assert len(page) < 1_000_000


def test_answers_are_fragments_and_every_slide_has_notes(page: str) -> None:
    slides = page.split("<section")[1:]
    question = next(slide for slide in slides if "What changes?" in slide)
    assert 'class="fragment guess"' in question and 'class="fragment answer"' in question
    assert all("<aside" in slide for slide in slides)
    assert sum("Live: " in slide for slide in slides) > len(slides) / 2


def test_what_cannot_launch_is_advised_against(page: str) -> None:
    advice = page[page.index("What to do about") :]
    assert "Drop #4, #5" in advice


def test_a_hostile_capture_stays_text(tmp_path: Path) -> None:
    with Workspace(hostile(tmp_path / "hostile.irscope")) as workspace:
        text = slides_html(slide_deck(workspace))
    outline = Outline(text)
    assert not outline.open
    assert not [name for name, a in outline.elements if name == "img" or "onerror" in a]
    assert HOSTILE not in text and "\u202e" not in text
    assert text.count("</script>") == 1


def test_every_other_hostile_text_too(hostile_capture: Path) -> None:
    with Workspace(hostile_capture) as workspace:
        assert not Outline(slides_html(slide_deck(workspace))).open


def test_pairs_and_filters_choose_the_chapters(capture: Path) -> None:
    with Workspace(capture) as workspace:
        deck = slide_deck(workspace, [("#2", "#3")], kernel="matmul*")
        assert [pair.title for chapter in deck.chapters for pair in chapter.pairs] == ["num_warps 4 -> 8"]
        with pytest.raises(UserError, match="no kernel"):
            slide_deck(workspace, kernel="softmax")


def test_inputs_name_values_and_what_is_known_of_arguments(capture: Path) -> None:
    with Workspace(capture) as workspace:
        inputs = compile_time_inputs(workspace.variants)
    found = {name: (one.kind, one.values) for one in inputs for name in one.names}
    assert found["BLOCK_M"] == ("constexpr", ("64", "96", "128", "256"))
    assert found["num_warps"] == ("option", ("4", "8"))


def test_a_long_line_is_cut_around_what_changed() -> None:
    side = RowSide(1, f"  {'x' * 1000}<b>{'y' * 1000}", ((1002, 1005),))
    text = marked_text(side)
    assert "x<mark>&lt;b&gt;</mark>y" in text and text.startswith("...x") and text.endswith("y...")
    assert len(text) < 320
    assert marked_text(RowSide(1, "  a b", ((4, 5),))) == "a <mark>b</mark>"


# In Chromium.

Open = Callable[..., Any]


@pytest.fixture(scope="module")
def talk(capture: Path) -> Path:
    return report(capture, capture.with_name("talk.html"), "--slides", "--pair", "#1", "#2")


@pytest.fixture
def show(open_page: Open, talk: Path) -> Open:
    """Opens the talk."""

    def show_(size: tuple[int, int] = (1280, 720), **options: Any) -> Any:
        return open_page(talk, size, **options)

    return show_


def current(page: Any) -> str:
    return page.locator(".slide.current").get_attribute("id")


@pytest.mark.slow
def test_keys_move_and_uncover(show: Open) -> None:
    page = show()
    assert current(page) == "s1"
    page.keyboard.press("ArrowRight")
    page.keyboard.press("PageDown")
    assert current(page) == "s3" and page.url.endswith("#s3")
    page.keyboard.press("ArrowLeft")
    assert current(page) == "s2"
    page.keyboard.press("End")
    last = current(page)
    page.keyboard.press("Home")
    question = page.locator(".slide", has_text="What changes?").get_attribute("id")
    page.evaluate("id => { location.hash = id }", question)
    page.wait_for_function("id => document.querySelector('.current').id === id", arg=question)
    covered = page.locator(".current .fragment:not(.shown)").count()
    page.keyboard.press(" ")
    assert current(page) == question
    assert page.locator(".current .fragment:not(.shown)").count() == covered - 1
    page.keyboard.press("ArrowLeft")
    assert page.locator(".current .fragment.shown").count() == 0
    for _ in range(covered + 1):
        page.keyboard.press("ArrowRight")
    assert current(page) not in (question, last)


@pytest.mark.slow
def test_the_overview_opens_a_slide(show: Open) -> None:
    page = show()
    page.keyboard.press("o")
    assert page.locator(".slide:visible").count() == page.locator(".slide").count()
    page.keyboard.press("ArrowRight")
    page.keyboard.press("Enter")
    assert current(page) == "s2" and page.locator(".slide:visible").count() == 1
    page.get_by_role("button", name="Overview").click()
    page.locator("#s4").click()
    assert current(page) == "s4" and page.locator(".slide:visible").count() == 1


@pytest.mark.slow
def test_the_speaker_window_follows_and_leads(show: Open) -> None:
    page = show()
    page.keyboard.press("ArrowRight")
    with page.expect_popup() as opened:
        page.keyboard.press("s")
    speaker = opened.value
    speaker.wait_for_selector("#s2.current .notes")
    assert "Live: irscope tui" in speaker.locator(".current .notes").inner_text()
    speaker.keyboard.press("ArrowRight")
    page.wait_for_selector("#s3.current")
    page.keyboard.press("ArrowRight")
    speaker.wait_for_selector("#s4.current")
    assert speaker.locator(".clock").inner_text().count(":") == 1


@pytest.mark.slow
def test_a_phone_swipes_and_needs_no_sideways_scrolling(show: Open) -> None:
    page = show(size=(390, 844), has_touch=True)
    swipe = """across => { for (const [name, x] of [['touchstart', 200], ['touchend', 200 + across]]) {
        const touch = new Touch({ identifier: 1, target: document.body, clientX: x, clientY: 300 });
        const touches = name === 'touchstart' ? [touch] : [];
        const details = { touches, changedTouches: [touch], bubbles: true };
        document.body.dispatchEvent(new TouchEvent(name, details));
    } }"""
    page.evaluate(swipe, -120)
    assert current(page) == "s2"
    page.evaluate(swipe, 120)
    assert current(page) == "s1"
    for number in range(page.locator(".slide").count()):
        assert page.evaluate("document.documentElement.scrollWidth") <= 390, number
        page.evaluate(swipe, -120)


@pytest.mark.slow
def test_print_has_a_page_per_slide_with_all_answers(show: Open, tmp_path: Path) -> None:
    page = show()
    pdf = page.pdf(prefer_css_page_size=True)
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) == page.locator(".slide").count()
    page.emulate_media(media="print")
    assert page.locator(".fragment.guess").first.is_visible()
    assert page.locator(".controls").is_hidden()


@pytest.mark.slow
def test_without_a_script_all_slides_are_shown(show: Open) -> None:
    page = show(java_script_enabled=False)
    assert page.locator(".slide:visible").count() == page.locator(".slide").count()
    assert page.locator(".fragment").first.is_visible()
