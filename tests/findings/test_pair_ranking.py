"""The pairs that a report shows by default."""

from __future__ import annotations

from dataclasses import replace

from irscope.facts.measure import from_json
from irscope.model import Failure, Variant
from irscope.workspace.charts import axis_scale
from irscope.workspace.pair_ranking import rank_pairs
from tests.document.conftest import variant


def facts(**values):
    return from_json({"launchable": "yes", "stack": 0, **values})


def ids(variants: list[Variant], known, most: int = 9) -> list[tuple[int, int]]:
    return [(a.id, b.id) for a, b in rank_pairs(variants, known, most)]


SWEEP = [
    variant(1, BLOCK=64, num_warps=4),
    variant(2, BLOCK=128, num_warps=4),
    variant(3, BLOCK=64, num_warps=8),
    variant(4, BLOCK=128, num_warps=8),
]
FACTS = {
    1: facts(registers=32, code="a"),
    2: facts(registers=128, code="b"),
    3: facts(registers=30, code="c"),
    4: facts(registers=34, code="d"),
}


def test_one_pair_per_varying_property_sorted_by_effect():
    assert ids(SWEEP, FACTS) == [(1, 2), (2, 4)], "only BLOCK, only num_warps"
    assert ids(SWEEP, FACTS, most=1) == [(1, 2)]


def test_unlaunchable_and_identical_variants_are_not_paired():
    unlaunchable = {**FACTS, 2: facts(registers=128, launchable="no: 300,000 bytes of shared memory")}
    failed = [SWEEP[0], replace(SWEEP[1], failure=Failure("E", "e", "e")), *SWEEP[2:]]
    assert ids(SWEEP, unlaunchable) == ids(failed, FACTS) == [(3, 4), (1, 3)]
    same = {number: facts(registers=32, shared=0, threads=128, code="a") for number in FACTS}
    assert ids(SWEEP, same) == []


def test_times_are_compared_only_for_the_same_problem():
    timed = {
        number: facts(registers=32, ms=ms, ms_key=key)
        for number, ms, key in ((1, 0.001, "n"), (2, 0.002, "n"), (3, 0.008, "n"), (4, 0.5, "m"))
    }
    assert ids(SWEEP, timed) == [(1, 3), (1, 2)]


def test_pairs_differ_in_as_few_values_as_possible():
    apart = [
        variant(1, M=1, N=1, K=1),
        variant(2, M=2, N=2, K=1),
        variant(3, M=3, N=3, K=3),
    ]
    known = {number: facts(registers=8 * 4**number) for number in (1, 2, 3)}
    assert ids(apart, known) == [(1, 3), (1, 2)]


def test_kernels_take_turns():
    others = [variant(11, kernel="other", BLOCK=1), variant(12, kernel="other", BLOCK=2)]
    known = {**FACTS, 11: facts(registers=10), 12: facts(registers=11)}
    assert ids([*SWEEP, *others], known, most=2) == [(1, 2), (11, 12)]


def test_an_axis_scale_is_round_and_covers_all_values():
    assert list(axis_scale(0.03, 0.81, 4).values()) == [0.0, 0.5, 1.0]
    assert axis_scale(100.0, 101.0, 4)[:2] == (100.0, 101.0)
    assert axis_scale(5.0, 5.0, 4).low <= 5.0 < axis_scale(5.0, 5.0, 4).high
    assert axis_scale(0.0, 40_000.0, 4).label(20_000.0, "bytes") == "20k"
