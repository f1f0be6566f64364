"""Comparing two captures: matching, sorting of regressions, added and removed variants."""

from __future__ import annotations

from dataclasses import replace

import pytest

from irscope.facts.measure import from_json
from irscope.model import Argument, Config, Failure, SourceFunction
from irscope.workspace.capture_comparison import matched_variants
from tests.findings.builders import variant

GOOD = {
    "code": "a", "launchable": "yes", "registers": 64, "stack": 0, "shared": 1024, "occupancy": 0.5,
    "load_width": 16, "store_width": 16, "instructions": 100, "threads": 128,
    "pipeline_depth": 3, "async_copies": "27 x cp.async", "matrix": "4 x wgmma.m64n128k16",
    "warp_specialization": "none",
}  # fmt: skip


def made(
    id_=1, block=64, name="add", target="cuda:90", text="def add(x): pass", key="D", failure=None, **values
):
    source = SourceFunction(name, "k.py", 1, text)
    one = variant(target, name, id_, source, failure=failure, seconds=values.pop("seconds", {"llir": 0.1}))
    one = replace(one, specialization=(Argument("x", "*fp16", key),), config=Config((("B", block),)))
    return one, from_json(GOOD | values)


def compare(old, new):
    return matched_variants(
        [one for one, _ in old], [one for one, _ in new],
        {one.id: facts for one, facts in old}, {one.id: facts for one, facts in new},
    )  # fmt: skip


@pytest.mark.parametrize(
    ("values", "worse", "better"),
    [
        ({"code": "a"}, [], []),
        ({"code": "b"}, [], []),
        ({"code": "b", "stack": 8}, ["stack"], []),
        ({"code": "b", "load_width": 4}, ["load_width"], []),
        ({"code": "b", "occupancy": 0.25}, ["occupancy"], []),
        ({"code": "b", "occupancy": 1.0, "shared": 2048}, ["shared"], ["occupancy"]),
        ({"code": "b", "launchable": "no: too much"}, ["launchable"], []),
        ({"code": "b", "registers": None}, [], []),
        ({"code": "b", "instructions": 104}, [], []),
        ({"code": "b", "instructions": 110}, ["instructions"], []),
        ({"code": "b", "load_width": 0}, [], []),
        ({"code": "a", "seconds": {"llir": 3.0}}, [], []),
        ({"code": "b", "seconds": {"llir": 0.01}}, [], []),
        ({"code": "b", "registers": 32, "stack": 2128, "occupancy": 1.0}, ["stack"], []),
        ({"code": "b", "shared": 0, "pipeline_depth": 1}, ["pipeline_depth"], ["shared"]),
        ({"code": "b", "shared": 512, "pipeline_depth": 2}, [], ["shared"]),
        ({"code": "b", "async_copies": "none"}, ["async_copies"], []),
        ({"code": "b", "async_copies": "4 x cp.async"}, [], []),
        ({"code": "b", "async_copies": "2 x cp.async.bulk.tensor load"}, [], ["async_copies"]),
        ({"code": "b", "matrix": "none"}, ["matrix"], []),
        ({"code": "b", "matrix": "16 x mma.sync.m16n8k16"}, ["matrix"], []),
        ({"code": "b", "matrix": "4 x tcgen05.mma.kind::f16"}, [], ["matrix"]),
        ({"code": "b", "matrix": "2 x wgmma.m64n256k16"}, [], []),
        ({"code": "b", "warp_specialization": "default: 4 warps"}, [], ["warp_specialization"]),
    ],
)
def test_better_and_worse_facts_are_listed(values, worse, better):
    (pair,) = compare([made()], [made(**values)]).pairs
    assert [change.name for change in pair.worse] == worse
    assert [change.name for change in pair.better] == better
    assert pair.identical == (values["code"] == "a")


def test_most_important_change_is_first():
    old = [made(n, block=n) for n in range(1, 7)]
    new = [
        made(1, block=1, code="b", registers=66),
        made(2, block=2, code="b", stack=64),
        made(3, block=3, code=None, failure=Failure("E", "no", "no")),
        made(4, block=4, code="b", launchable="no: too much"),
        made(5, block=5, code="b", load_width=4),
        made(6, block=6),
    ]
    assert [pair.b.id for pair in compare(old, new).pairs] == [3, 4, 2, 5, 1, 6]


def test_matched_by_specialization_config_and_target():
    old = [made(1), made(2, key=""), made(3, block=128), made(4, target="cuda:80")]
    new = [made(1, target="cuda:80"), made(2, block=128), made(3, key="")]
    found = compare(old, new)
    assert found.by_target
    assert {(pair.a.id, pair.b.id) for pair in found.pairs} == {(2, 3), (3, 2), (4, 1)}
    assert [one.id for one in found.only_a] == [1] and found.only_b == ()


def test_captures_of_other_targets_are_matched_without_them():
    found = compare([made(target="cuda:80")], [made(target="cuda:90")])
    assert not found.by_target and len(found.pairs) == 1


def test_a_renamed_kernel_is_found_by_its_source_and_by_its_code():
    old = [made(1, text="def add(x): return 1")]
    by_source = compare(old, [made(1, name="sum", text="def sum(x): return 1", code="z")])
    assert by_source.renamed == {"add": "sum"} and len(by_source.pairs) == 1
    by_code = compare(old, [made(1, name="sum", text="")])
    assert by_code.renamed == {"add": "sum"} and by_code.pairs[0].identical
    other = compare(old, [made(1, name="sum", text="def sum(x): return 2", code="z")])
    assert other.renamed == {} and other.pairs == ()
    assert len(other.only_a) == len(other.only_b) == 1


def test_identical_variants_are_matched_in_order():
    found = compare([made(1), made(2)], [made(7), made(8), made(9)])
    assert [(pair.a.id, pair.b.id) for pair in found.pairs] == [(1, 7), (2, 8)]
    assert [one.id for one in found.only_b] == [9]


def test_a_lost_tma_load_is_worse_though_stores_remain():
    old = made(async_copies="2 x cp.async.bulk.tensor load, 1 x cp.async.bulk.tensor store")
    (pair,) = compare([old], [made(code="b", async_copies="1 x cp.async.bulk.tensor store")]).pairs
    assert [change.name for change in pair.worse] == ["async_copies"]


def test_units_that_another_target_has_are_not_compared():
    (pair,) = compare([made()], [made(target="cuda:80", code="b", matrix="16 x mma.sync.m16n8k16")]).pairs
    assert pair.changes == ()
