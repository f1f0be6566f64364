"""The rules of the table: groups of duplicates, the pair to open with, scopes; the cells of findings."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from irscope.facts.fact import Fact, FactValue
from irscope.facts.registry import FACT_NAMED, kinds_for
from irscope.model import Config, Failure, Kernel, SourceFunction, Toolchain, Value, Variant
from irscope.model.status import OK, cannot_launch
from irscope.targets import parse_target
from irscope.tui.table_model import Folding, constants_text, rows
from irscope.workspace import FactTable, Scope
from irscope.workspace.first_difference import equal_text, joined
from irscope.workspace.kernel_scopes import scope_counts, scope_of
from irscope.workspace.opening import opening_pair
from irscope.workspace.table import TableSection, sorted_variants
from tests.tables import columns_of


def variant(id_: int, config: Mapping[str, Value], kernel: str = "k", target: str = "cuda:90") -> Variant:
    of = Kernel(1, kernel, SourceFunction(kernel, "k.py", 1, ""), (), ())
    values = Config(tuple(config.items()))
    return Variant(id_, of, parse_target(target), (), values, Toolchain(1, {}, ""))


def known(*variants: Variant, **facts: list[FactValue]) -> FactTable:
    """The facts of variants, by name a value for each."""
    table = FactTable()
    for place, one in enumerate(variants):
        own = {"launchable": OK} | {name: values[place] for name, values in facts.items()}
        table.add(one, {name: Fact(FACT_NAMED[name], value) for name, value in own.items()})
    return table


STAGES = [variant(number, {"BLOCK": 64, "num_stages": number + 1}) for number in (1, 2, 3)]


def test_equal_variants_share_a_row() -> None:
    other = variant(4, {"BLOCK": 128, "num_stages": 2})
    facts = known(*STAGES, other, code=["x", "x", "x", "y"])
    folded = rows([*STAGES, other], facts, Folding())
    assert [[v.id for v in row.variants] for row in folded] == [[1, 2, 3], [4]]
    assert equal_text(folded[0].equal) == "3 equal: num_stages=2,3,4"
    expanded = rows([*STAGES, other], facts, Folding().toggled(1))
    assert [(row.variant.id, row.expanded) for row in expanded] == [
        (1, False),
        (2, True),
        (3, True),
        (4, False),
    ]
    assert len(rows([*STAGES, other], facts, Folding(folded=False))) == 4


def test_what_all_variants_have_in_common_is_one_line() -> None:
    facts = known(*STAGES, stack=[0, 0, 0], registers=[32, 64, 96], shared=[None, None, 5])
    section = TableSection(STAGES, facts, columns_of(STAGES, kinds_for("cuda"), facts))
    text = constants_text(section)
    assert text.startswith("all: BLOCK=64, kernel k, target cuda:90, Stack 0 bytes")
    assert "Regs" not in text
    assert "Shared" not in text  # that of two variants is unknown


def test_sorting_is_stable_and_unknown_values_come_last() -> None:
    facts = known(*STAGES, registers=[64, None, 32])
    by = {column.name: column for column in columns_of(STAGES, kinds_for("cuda"), facts)}
    assert [v.id for v in sorted_variants(STAGES, by["registers"], False)] == [3, 1, 2]
    assert [v.id for v in sorted_variants(STAGES, by["registers"], True)] == [1, 3, 2]
    assert [v.id for v in sorted_variants(STAGES[::-1], by["BLOCK"], True)] == [3, 2, 1]


def test_the_app_opens_with_the_step_that_matters_most() -> None:
    """Of two steps of one config value, the one that spills."""
    ladder = [variant(number, {"BLOCK": 32 << number}) for number in range(1, 5)]
    facts = known(
        *ladder, registers=[32, 33, 255, 255], stack=[0, 0, 800, 816], spill_store_bytes=[0, 0, 9, 9]
    )
    assert ids(opening_pair(ladder, facts)) == (2, 3)


def test_the_app_does_not_open_with_a_pipeline_as_deep_as_the_config_says() -> None:
    shallow, deep = (variant(id_, {"num_warps": 4, "num_stages": id_}) for id_ in (2, 3))
    wide = variant(4, {"num_warps": 8, "num_stages": 3})
    facts = known(shallow, deep, wide, pipeline_depth=[2, 3, 3], shared=[4096, 4096, 65536])
    assert ids(opening_pair([shallow, deep, wide], facts)) == (3, 4)


def test_the_app_does_not_open_with_equal_or_failed_variants() -> None:
    last = variant(4, {"BLOCK": 128, "num_stages": 2})
    broken = Variant(**{**vars_of(variant(5, {"BLOCK": 1})), "failure": Failure("E", "no", "no")})
    facts = known(*STAGES, last, code=["x", "x", "x", "y"], registers=[8, 8, 8, 64], stack=[0, 0, 0, 0])
    assert ids(opening_pair([broken, *STAGES, last], facts)) == (1, 4)
    assert ids(opening_pair([*STAGES, last], FactTable())) == (1, 2)  # nothing is known yet
    assert ids(opening_pair([STAGES[0], broken], FactTable())) == (1, 5)
    assert opening_pair([], FactTable()) is None


def test_a_variant_that_cannot_be_launched_is_not_opened() -> None:
    facts = known(*STAGES, registers=[8, 16, 200], launchable=[OK, OK, cannot_launch("too much")])
    assert ids(opening_pair(STAGES, facts)) == (1, 2)


def vars_of(one: Variant) -> dict[str, object]:
    return {name: getattr(one, name) for name in one.__slots__}


def ids(pair: tuple[Variant, Variant] | None) -> tuple[int, int]:
    assert pair is not None
    return pair[0].id, pair[1].id


def test_the_kernels_and_targets_of_a_capture_are_counted() -> None:
    some = [variant(1, {}, "a"), variant(2, {}, "b"), variant(3, {}, "b", "hip:gfx942")]
    counts = {str(one.scope): one.variants for one in scope_counts(some)}
    assert counts == {
        "all kernels": 3, "all kernels cuda:90": 2, "all kernels hip:gfx942": 1, "a cuda:90": 1, "b": 2,
        "b cuda:90": 1, "b hip:gfx942": 1,
    }  # fmt: skip
    assert scope_of(some[1], some[2]) == Scope("b")
    assert some[0] not in scope_of(some[1], some[2])


@pytest.mark.parametrize(
    ("values", "text"),
    [
        ([4, 2, 10, 2], "2,4,10"),
        ([0.5, 2], "0.5,2"),
        ([True, False], "True,False"),
        (["b", 1], "b,1"),
        ([], ""),
    ],
)
def test_folded_values_are_joined_in_order(values: list[object], text: str):
    assert joined(values, str) == text
