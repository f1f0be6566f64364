"""How findings say that the trip count of a loop changed."""

import pytest

from irscope.facts.loops.scf import TripCount
from irscope.findings.loops import trip_changes

SHORT, LONG = TripCount(2, (("n", 64),)), TripCount(32, (("n", 1024),))


@pytest.mark.parametrize(
    ("a", "b", "text"),
    [
        (TripCount(4), TripCount(64), "4 -> 64 iterations"),
        (TripCount(1, (("n", 64),)), SHORT, "1 -> 2 iterations for n=64"),
        (LONG, SHORT, "32 iterations for n=1024 -> 2 iterations for n=64"),
        (SHORT, SHORT, "2 iterations for n=64"),
        (None, SHORT, ""),
        (SHORT, None, ""),
    ],
)
def test_trip_counts_name_the_arguments_of_each_launch(a: TripCount | None, b: TripCount | None, text: str):
    assert "".join(map(str, trip_changes(a, b))) == text
