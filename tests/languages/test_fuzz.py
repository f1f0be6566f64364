"""10,000 damaged texts: no parser fails, none loses a character, none takes more than linear time."""

from __future__ import annotations

import random
import time

import pytest

from irscope.languages.language import parse
from tests.hardening.fuzz_targets import TARGETS, corpus, corpus_file
from tests.hardening.texts import LANGUAGES, check_parsing, damaged_text, pieces

CASES = 10_000


@pytest.mark.slow
@pytest.mark.parametrize("language", sorted(set(LANGUAGES.values())))
def test_damaged_text_never_fails_and_is_never_lost(language: str):
    rng = random.Random(language)
    for _ in range(CASES // 5):
        check_parsing(damaged_text(rng, pieces()[language]), language)


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


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_raises_nothing(name: str):
    inputs = corpus(TARGETS[name])
    assert inputs, "every target has a corpus"
    for content in inputs:
        TARGETS[name].check(content)


def test_the_corpus_is_small():
    assert sum(corpus_file(target).stat().st_size for target in TARGETS.values()) < 300_000
