"""The campaign's short part: a few seeded cases of every area; `make fuzz` runs the long one."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from irscope.diff.stage_diff import diff_stage
from irscope.languages.language_registry import parse
from tests.hardening.areas import AREAS, Area, generator
from tests.hardening.campaign import campaign
from tests.hardening.texts import LARGE, large_text


@pytest.mark.parametrize("area", AREAS, ids=lambda area: area.name.replace(" ", "-"))
def test_damaged_input_is_no_bug(area: Area, tmp_path: Path):
    for number in range(area.short):
        folder = tmp_path / str(number)
        folder.mkdir()
        area.run(generator(area.name, 1, number), folder)


@pytest.mark.slow
def test_many_cases_keep_within_the_limits():
    results = campaign(3000, seed=2, areas=[area.name for area in AREAS], jobs=2)
    assert all(result.sound for result in results.values()), results
    assert sum(result.cases for result in results.values()) >= 3000 - len(AREAS)


@pytest.mark.slow
@pytest.mark.parametrize("kind", LARGE)
def test_parsing_and_diffing_take_linear_time(kind: str):
    short, long = (_seconds(kind, lines) for lines in (5_000, 40_000))
    # Eight times the lines; quadratic would be 64 times.
    assert long < 24 * short + 1


def _seconds(kind: str, lines: int) -> float:
    (left, language), (right, _) = (large_text(kind, lines, seed) for seed in (1, 2))
    begun = time.process_time()
    diff_stage("stage", parse(left, language), parse(right, language))
    return time.process_time() - begun
