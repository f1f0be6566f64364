"""Planted errors are reported at their line by the rule that is about them; corrected, nothing is.

`python -m tests.lint.test_planted` prints how many of each folder are.
"""

from __future__ import annotations

import pytest

from tests.lint.planted import Planted, planted

FOLDERS = ("mistakes", "numbers")
PROGRAMS = [program for folder in FOLDERS for program in planted(folder)]


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_planted_error_is_reported_at_its_line_until_it_is_corrected(program: Planted):
    assert program.found() == [(program.rule, program.line)]
    assert program.found_if_corrected() == []


def test_each_of_the_twelve_mistakes_of_a_reviewer_is_found_in_three_variations():
    kinds = {program.name.rpartition("_")[0] for program in planted("mistakes")}
    assert len(kinds) == 12 and len(list(planted("mistakes"))) == 36


def main() -> None:
    for folder in FOLDERS:
        programs = list(planted(folder))
        hits = [program for program in programs if (program.rule, program.line) in program.found()]
        alarms = [program for program in programs if program.found_if_corrected()]
        print(f"{folder}: {len(hits)} of {len(programs)} found, {len(alarms)} corrected programs reported")


if __name__ == "__main__":
    main()
