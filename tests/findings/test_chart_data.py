"""Chart data: axes, ticks, and the points that lines join."""

from __future__ import annotations

import pytest

from irscope.facts.fact import Fact, FactKind, FactValue
from irscope.model import Config, Dtype, Failure, Kernel, SourceFunction, Toolchain, Value, Variant
from irscope.model.status import parse_status
from irscope.targets import parse_target
from irscope.workspace.charts import EACH, Chart, axes, chart, chartable_facts, lines_text

REGISTERS = FactKind("registers", "Regs", "registers", "low", "")
OCCUPANCY = FactKind("occupancy", "Occupancy", "fraction", "high", "")
LAUNCH = FactKind("launchable", "Launch", "", "", "")
KERNEL = Kernel(1, "k", SourceFunction("k", "k.py", 1, ""), (), ())


def variant(id_: int, failed: bool = False, target: str = "cuda:90", **config: Value) -> Variant:
    failure = Failure("E", "s", "m") if failed else None
    toolchain = Toolchain(1, {"triton": "3.9.0"}, "")
    return Variant(id_, KERNEL, parse_target(target), (), Config(tuple(config.items())), toolchain, failure)


def facts(registers: FactValue, occupancy: FactValue = None, launch: str = "yes") -> dict[str, Fact]:
    found = (Fact(REGISTERS, registers), Fact(OCCUPANCY, occupancy), Fact(LAUNCH, parse_status(launch)))
    return {fact.kind.name: fact for fact in found}


VARIANTS = [
    variant(1, BLOCK=1024, num_warps=4),
    variant(2, BLOCK=256, num_warps=4),
    variant(3, BLOCK=512, num_warps=4),
    variant(4, BLOCK=1024, num_warps=8),
    variant(5, BLOCK=256, num_warps=8, failed=True),
    variant(6, BLOCK=1024, num_warps=8),
]
FACTS = {
    1: facts(64, 0.5),
    2: facts(16, 1.0),
    3: facts(None),
    4: facts(48, 0.25),
    6: facts(32, 0.75, "no: big"),
}


def shape(found: Chart) -> dict[str, list[tuple[int, int, float | None, str]]]:
    return {
        one.value: [(point.variant.id, point.tick, point.y, point.trouble) for point in one.points]
        for one in found.series
    }


def test_axes_are_the_varying_properties_sorted_by_number_of_values() -> None:
    assert list(axes(VARIANTS)) == ["BLOCK", "num_warps", EACH]
    assert list(axes([VARIANTS[0]])) == [EACH]
    mixed = [variant(1, BLOCK=1), variant(2, target="hip:gfx942", BLOCK=1)]
    assert list(axes(mixed)) == ["target", EACH]


def test_ticks_are_sorted_by_size_and_series_by_value() -> None:
    found = chart(VARIANTS, FACTS, REGISTERS, "BLOCK", "num_warps")
    assert found.ticks == ("256", "512", "1024")
    assert shape(found) == {
        "4": [(1, 2, 64, ""), (2, 0, 16, ""), (3, 1, None, "")],
        "8": [(4, 2, 48, ""), (5, 0, None, "failed"), (6, 2, 32, "cannot launch")],
    }
    assert [one.line for one in found.series] == [((0, 16), (2, 64)), ((2, 48),)]
    assert not found.crowded


def test_a_line_joins_the_best_launchable_variants() -> None:
    low = chart(VARIANTS, FACTS, REGISTERS, "BLOCK")
    assert [one.line for one in low.series] == [((0, 16), (2, 48))]
    assert low.crowded
    high = chart(VARIANTS, FACTS, OCCUPANCY, "BLOCK")
    assert [one.line for one in high.series] == [((0, 1.0), (2, 0.5))]


def test_each_variant_has_a_tick_and_the_best_is_first() -> None:
    found = chart(VARIANTS, FACTS, REGISTERS, EACH, "num_warps")
    assert found.ticks == ("#2", "#4", "#1", "#6", "#3", "#5")
    assert [point.variant.id for point in found.points] == [2, 4, 1, 6, 3, 5]
    assert chart(VARIANTS, FACTS, OCCUPANCY, EACH).ticks[:3] == ("#2", "#1", "#4")


def test_points_go_from_left_to_right_and_up() -> None:
    found = chart(VARIANTS, FACTS, REGISTERS, "BLOCK", "num_warps")
    assert [point.variant.id for point in found.points] == [2, 5, 3, 1, 6, 4]


def test_facts_that_are_numbers_and_differ_come_first() -> None:
    some = {1: {"x": Fact(FactKind("x", "X", "u", "", ""), 1), **facts(1, None)}, 2: facts(2, None)}
    assert [kind.name for kind in chartable_facts(VARIANTS, some)] == ["registers", "x"]
    assert chartable_facts(VARIANTS, {}) == []


@pytest.mark.parametrize(
    "values", [[True, 1, 0], [None, 2.5, 1], ["b", 3, Dtype("fp16")], [float("nan"), 1, 2]]
)
def test_values_of_all_kinds_have_an_order(values: list[Value]) -> None:
    variants = [variant(number, V=value) for number, value in enumerate(values, 1)]
    known = {number: facts(number) for number in range(1, 4)}
    found = chart(variants, known, REGISTERS, "V", "V")
    assert sorted(point.variant.id for point in found.points) == [1, 2, 3]


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan"), -(10**30)])
def test_invalid_numbers_are_not_plotted(value: FactValue) -> None:
    found = chart(VARIANTS[:1], {1: facts(value)}, REGISTERS, EACH)
    assert found.points[0].y is None


def test_a_sentence_says_what_lines_join() -> None:
    assert lines_text(VARIANTS, "BLOCK", "") == (
        "The line joins the best variant that can be launched at each BLOCK; "
        "along a line, num_warps may differ too."
    )
    assert lines_text(VARIANTS, "BLOCK", "num_warps") == (
        "A line joins the best variant with the same num_warps that can be launched at each BLOCK."
    )
    assert lines_text(VARIANTS, EACH, "BLOCK") == (
        "A line joins the variants with the same BLOCK, from best to worst."
    )
