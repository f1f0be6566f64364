"""The film of the README: small, without scripts or requests, and recorded from a real terminal."""

from __future__ import annotations

import re
import shutil
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.docs.pages import ROOT

sys.path.append(str(ROOT / "docs" / "scripts"))

from film import FILM, SCRIPT, STILL, Press, Show, Type, record
from film_svg import Frame, film_svg

SVG = "{http://www.w3.org/2000/svg}"
RED = "\x1b[31mred\x1b[0m"


def frames() -> list[Frame]:
    return [
        Frame(f"$ one\n{RED} <&> plain", 1.0, "First <b>"),
        Frame(f"$ one\n{RED} <&> plain\n\x1b[7mreverse\x1b[0m", 3.0, "Second", "W"),
        Frame(f"$ two\n{RED} <&> plain", 1.0),
    ]


def test_the_film_is_small_and_loads_nothing() -> None:
    text = FILM.read_text(encoding="utf-8")
    assert 20_000 < FILM.stat().st_size < 1_000_000
    names = {element.tag.removeprefix(SVG) for element in ElementTree.fromstring(text).iter()}
    assert names <= {"svg", "style", "defs", "g", "rect", "circle", "text", "use"}
    assert not re.search(r"@import|url\(|href=\"[^#]", text)
    assert "prefers-reduced-motion" in text
    assert all(step.caption.replace("'", "&#x27;") in text for step in SCRIPT)


def test_the_readme_shows_a_still_picture_with_words_that_links_to_the_film() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.search(r"\[!\[[^\]]{100,}\]\(docs/images/still.svg\)\]\(docs/images/film.svg\)", text)
    still = STILL.read_text(encoding="utf-8")
    assert still.count("translateX(") == 2  # where its only frame is, with and without motion
    assert "spills" in still


def test_it_begins_with_a_result() -> None:
    """A viewer sees the first frame before anything moves, and as the picture of the file."""
    first = re.search(r'<g class="strip"><g transform="translate\(0\)">(.*?)</g>', FILM.read_text("utf-8"))
    assert first and first[1].count("<use ") >= 8
    assert isinstance(SCRIPT[0], Show)


def test_a_phone_is_wide_enough_to_read_it() -> None:
    """At 390 pixels, its letters are at least 11 pixels high."""
    for path in (FILM, STILL):
        width = re.search(r'viewBox="0 0 (\d+) ', path.read_text(encoding="utf-8"))
        assert width and 16.6 * 390 / int(width[1]) >= 11


@pytest.mark.parametrize("path", sorted((ROOT / "docs").rglob("*.svg")), ids=lambda path: path.stem)
def test_no_picture_names_a_folder_of_a_machine(path: Path) -> None:
    found = re.search(r"/(?:tmp|work|home|root|Users|private|mnt)\b[^<]*", path.read_text(encoding="utf-8"))
    assert not found, found


def test_each_distinct_line_is_stored_once_and_text_stays_text() -> None:
    root = ElementTree.fromstring(film_svg(frames(), (30, 4)))
    texts = ["".join(element.itertext()) for element in root.iter(f"{SVG}text")]
    assert texts.count("red") == texts.count("<&> plain") == texts.count("$ one") == 1
    assert "First <b>" in texts
    lines = list(root.find(f"{SVG}defs"))
    assert len(lines) == 4


def test_the_strip_moves_at_the_start_of_each_frame_and_rests_at_the_longest() -> None:
    text = film_svg(frames(), (30, 4))
    width = 30 * 10 + 2 * 12
    assert re.findall(r"([\d.]+)%\{transform:translateX\((-?\d+)px\)\}", text) == [
        ("0.000", "0"),
        ("20.000", str(-width)),
        ("80.000", str(-2 * width)),
    ]
    assert f".strip{{animation:none;transform:translateX({-width}px)}}" in text
    assert "animation:film 5.00s" in text


def test_equal_screens_that_follow_each_other_are_one_frame() -> None:
    same = Frame("$", 0.5)
    assert film_svg([same, same, Frame("$ x", 1.0)], (10, 1)).count("<g transform=") == 2


@pytest.mark.slow
@pytest.mark.skipif(shutil.which("tmux") is None, reason="no tmux: apt-get install tmux")
def test_a_short_script_is_recorded(tmp_path: Path) -> None:
    script = (
        Show("printf '%s\\n' before", "before\n$", 0.5, "A result"),
        Type("printf '\\033[32m%s\\033[0m\\n' done", "done", 1.0, "A command"),
        Press("h i", 0.5, "Keys", until="hi", last=2.0),
    )
    found = record(script, tmp_path, (60, 9))
    assert "before" in found[0].screen and found[0].caption == "A result"
    assert found[-1].screen.rstrip().endswith("hi") and found[-1].key == "i" and found[-1].seconds == 2.0
    assert any("\x1b[32mdone" in frame.screen for frame in found)
    assert {frame.caption for frame in found} == {"A result", "A command", "Keys"}
