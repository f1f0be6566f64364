"""10,000 damaged texts: no parser fails, none loses a character, none takes more than linear time."""

from __future__ import annotations

import random
import time
from pathlib import Path

import pytest

from irscope.backends import STAGES
from irscope.languages.language_registry import parse

DATA = Path(__file__).parents[1] / "data"
LANGUAGES = {stage.name: stage.language for stage in STAGES if stage.language}
CASES = 10_000
# Short pieces make many cases affordable; the text around the damage does not matter.
PIECE = 1_500


def pieces() -> dict[str, list[str]]:
    """Pieces of real stages by language."""
    found: dict[str, list[str]] = {}
    for path in [*sorted((DATA / "stages").iterdir()), *sorted((DATA / "sources").iterdir())]:
        language = LANGUAGES[path.name.rpartition(".")[2]]
        text = path.read_text()
        found.setdefault(language, []).extend(text[i : i + PIECE] for i in range(0, len(text), PIECE))
    return found


def damaged(pick: random.Random, texts: list[str]) -> str:
    """A real piece, truncated, spliced with another, sprinkled with noise, or only noise."""
    text, other = pick.choice(texts), pick.choice(texts)
    cut, start = pick.randrange(len(text) + 1), pick.randrange(len(other) + 1)
    match pick.randrange(5):
        case 0:
            return text[:cut]
        case 1:
            return text[:cut] + other[start:]
        case 2:
            signs = "".join(pick.choices("{}()<>[]#%^\"'\\@!,:;=\n\r\t\0\x1b \u2028\u202e\ud800", k=20))
            return text[:cut] + signs + text[cut:]
        case 3:
            return text[:cut] + text[cut + pick.randrange(1, 40) :]
        case _:
            return pick.randbytes(pick.randrange(400)).decode("latin-1")


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_damaged_text_never_fails_and_is_never_lost(language: str):
    texts, pick = pieces()[language], random.Random(language)
    for _ in range(CASES // 5):
        text = damaged(pick, texts)
        document = parse(text, language)
        assert document.text == text
        assert all(0 <= op.line < op.end <= len(document.lines) for op in document.operations)
        assert all(-1 <= op.parent < len(document.operations) for op in document.operations)


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_a_line_of_ten_megabytes_is_read_once(language: str):
    (text, *_) = pieces()[language]
    long_line = text.replace("\n", " ") * (10_000_000 // len(text))
    # Ten times the text may take a hundred times what a tenth takes only if something is quadratic.
    short, long = (_seconds(part, language) for part in (long_line[:1_000_000], long_line))
    assert long < 40 * short + 1


def _seconds(text: str, language: str) -> float:
    begun = time.process_time()
    assert parse(text, language).text == text
    return time.process_time() - begun
