"""Replays the inputs that coverage-guided fuzzing kept; `make fuzz-coverage` looks for more."""

from __future__ import annotations

import pytest

from tests.hardening.fuzz_targets import TARGETS, corpus, corpus_file


@pytest.mark.parametrize("name", TARGETS)
def test_the_corpus_raises_nothing(name: str):
    inputs = corpus(TARGETS[name])
    assert inputs, "every target has a corpus"
    for content in inputs:
        TARGETS[name].check(content)


def test_the_corpus_is_small():
    assert sum(corpus_file(target).stat().st_size for target in TARGETS.values()) < 300_000
