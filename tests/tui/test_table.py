"""The table of variants: hidden columns, marks, the filter."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.facts.fact import Fact, FactKind
from irscope.model import Config, Kernel, SourceFunction, Toolchain, Variant
from irscope.model.status import OK, cannot_launch
from irscope.targets import parse_target
from irscope.tui.app import IrscopeApp
from irscope.tui.table_model import matching
from irscope.tui.widgets.bars import StatusLine, TableNote
from irscope.tui.widgets.search_bar import SearchBar
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import FactTable, Scope, Workspace
from irscope.workspace.table import TableSection
from tests.tables import columns_of
from tests.tui import captures
from tests.tui.driving import drawn, press, settled

CAPTURES = Path(__file__).parents[1] / "data" / "captures"
WIDE = (160, 50)


async def ids(pilot) -> list[int]:
    await settled(pilot)
    return [variant.id for variant in pilot.app.screen.query_one(VariantTable).order]


async def test_the_filter_applies_while_typing(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "F", *"num_warps=8")
        assert await ids(pilot) == [3]
        await press(pilot, "enter")
        assert app.focused is app.screen.query_one(VariantTable)
        assert "1 of 4 variants match num_warps=8" in drawn(app.screen.query_one(StatusLine))
        await press(pilot, "backslash", "escape")
        assert await ids(pilot) == [1, 2, 3, 4]
        assert not app.screen.query_one("#filter", SearchBar).display


async def test_filter_and_order_combine(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "s", "s", "F", *"warps<8", "enter")
        assert await ids(pilot) == [4, 2, 1]


async def test_stepping_skips_filtered_variants(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "F", *"warps=8", "enter", "K")
        assert marked(pilot) == (1, 2)  # above #2, which is hidden, nothing is shown
        await press(pilot, "J")
        assert marked(pilot) == (1, 3)
        await press(pilot, "J")
        assert marked(pilot) == (1, 3)
        await press(pilot, "F", "escape", "K")
        assert marked(pilot) == (1, 2)


async def test_a_condition_applies_to_facts_measured_later(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        table = app.screen.query_one(VariantTable)
        table.filter("conversions>=0")  # before the first is measured
        assert await ids(pilot) == [1, 2, 3]


async def test_sorting_puts_the_best_first_and_the_table_at_its_top() -> None:
    async with IrscopeApp(Workspace(CAPTURES / "v3.irscope")).run_test(size=(120, 40)) as pilot:
        await press(pilot, "shift+tab", "G")
        table = pilot.app.screen.query_one(VariantTable)
        for name, best_first in (("registers", [1, 3, 2]), ("load_width", [3, 1, 2])):
            assert table.go_to_column(name)
            for order in (best_first, [*best_first[1::-1], 2]):
                await press(pilot, "G", "s")
                assert await ids(pilot) == order  # the variant that failed comes last in both
                assert (table.cursor, table.scroll_offset.y) == (0, 0)


async def test_a_typed_number_selects_its_row(tmp_path: Path) -> None:
    text = {"ttir": b"module {\n}\n"}
    path = captures.write(tmp_path / "x.irscope", [({"BLOCK_M": n}, text) for n in range(20)])
    async with IrscopeApp(Workspace(path)).run_test(size=(80, 24)) as pilot:
        await press(pilot, "shift+tab", "D", "1", "2")
        table = pilot.app.screen.query_one(VariantTable)
        assert table.current is not None and table.current.id == 12
        assert "go to #12" in drawn(pilot.app.screen.query_one(StatusLine))
        await press(pilot, "backspace", "9")
        assert table.current.id == 19
        await press(pilot, "9")
        assert "go to #199: no such row" in drawn(pilot.app.screen.query_one(StatusLine))
        await press(pilot, "escape", "7", "enter")
        assert table.current.id == 7
        assert pilot.app.screen.pair.b.id == 7


async def test_the_number_stays_when_the_columns_scroll() -> None:
    async with IrscopeApp(Workspace(CAPTURES / "v3.irscope")).run_test(size=(80, 24)) as pilot:
        await press(pilot, "shift+tab", "X", *["l"] * 12)
        heading, first, *_ = drawn(pilot.app.screen.query_one(VariantTable)).splitlines()
        assert heading.split()[0] == "<#"
        assert re.match(r">[AB ]{2}. +1 ", first)


@pytest.mark.parametrize("name", ["v1", "v2", "v3"])
async def test_best_cells_are_those_of_the_command_line_and_the_report(
    name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = shutil.copy(CAPTURES / f"{name}.irscope", tmp_path)
    assert main(["table", path, "--width", "1000"]) == 0
    rows = re.findall(r"^#(\d+) +(.*)", capsys.readouterr().out, re.M)
    printed = {
        int(id_): sorted(re.findall(r"(\S+)\*", cells)) for id_, cells in rows if "failed:" not in cells
    }
    assert main(["report", path, "-o", str(tmp_path / "x.html")]) == 0
    reported = (tmp_path / "x.html").read_text().count("best among the variants that can launch")
    async with IrscopeApp(Workspace(Path(path))).run_test(size=(120, 40)) as pilot:
        await press(pilot)
        model = pilot.app.screen.query_one(VariantTable).model
        model.scope = Scope()
        model.refresh()
        shown = {
            variant.id: sorted(
                cell.text
                for cell in (model.section.cell(column, variant) for column in model.columns)
                if cell.best
            )
            for variant in model.all
        }
    assert any(shown.values())
    assert shown == printed
    assert reported == sum(map(len, shown.values()))


def marked(pilot) -> tuple[int, int]:
    """A and B."""
    return pilot.app.screen.query_one(VariantTable)._pair


async def test_keys_work_if_the_filter_matches_nothing(app: IrscopeApp) -> None:
    async with app.run_test(size=WIDE) as pilot:
        await press(pilot, "shift+tab", "F", *"nothing", "enter", "s", "a", "b", "j", "G", "l", "e", "escape")
        assert await ids(pilot) == []
        assert app.is_running


async def test_columns_that_vary_are_shown_and_the_others_listed(app: IrscopeApp) -> None:
    async with app.run_test(size=(400, 50)) as pilot:
        await settled(pilot)
        table, note = app.screen.query_one(VariantTable), app.screen.query_one(TableNote)
        heading = ["#", "BLOCK_M", "warps", "Differs", "in"]
        assert drawn(table).splitlines()[0].split()[:5] == heading
        assert drawn(note).startswith(" all: kernel matmul_kernel, target cuda:90, ")
        assert "Shared 24,576 bytes" in drawn(note)
        assert "Regs" not in drawn(note)  # there is no machine code
        await press(pilot, "shift+tab", "X")
        assert "Shared bytes" in drawn(table).splitlines()[0]
        assert not note.display


REGISTERS = FactKind("registers", "regs", "registers", "low", "Registers of a thread")
OCCUPANCY = FactKind("occupancy", "occ", "fraction", "high", "Share of warps in flight")


@pytest.fixture
def table() -> TableSection:
    facts = FactTable()
    variants = []
    for number, registers in enumerate([32, 64, 128, 255, None], 1):
        variants.append(variant(number))
        facts.add(
            variants[-1], {"registers": Fact(REGISTERS, registers), "occupancy": Fact(OCCUPANCY, 1 / number)}
        )
    return TableSection(variants, facts, columns_of(variants, [REGISTERS, OCCUPANCY], facts))


@pytest.mark.parametrize(
    ("query", "kept"),
    [
        ("registers>128", [4]),
        ("registers>=128", [3, 4]),
        ("REGS<64", [1]),
        ("regs!=64", [1, 3, 4]),
        ("occ=50%", [2]),
        ("num_warps=4", [2, 5]),
        ("warps=4 regs=64", [2]),
        ("dtype=fp3", [3]),
        ("fp", [1, 2, 3, 4, 5]),
        ("FP5", [5]),
        ("no_column>1", []),
        ("registers>", []),
        ("", [1, 2, 3, 4, 5]),
    ],
)
def test_queries_filter_rows(table: TableSection, query: str, kept: list[int]) -> None:
    assert [variant.id for variant in matching(query, table, table.variants)] == kept


def test_duplicates_are_found_as_facts_arrive() -> None:
    code = FactKind("code", "Code", "", "", "Machine code")
    facts, variants = FactTable(), [variant(number) for number in range(1, 5)]
    for number, text in ((3, "x"), (1, "x"), (4, "y")):
        facts.add(variants[number - 1], {"code": Fact(code, text)})
    assert [facts.duplicate_of(one) for one in variants] == [None, None, 1, None]
    facts.add(variants[1], {"code": Fact(code, "y")})
    assert [facts.duplicate_of(one) for one in variants] == [None, None, 1, 2]
    facts.remove(2)
    assert facts.duplicate_of(variants[3]) is None


def variant(number: int) -> Variant:
    kernel = Kernel(1, "k", SourceFunction("k", "k.py", 1, ""), (), ())
    config = Config((("num_warps", 2 ** (number % 3)), ("DTYPE", f"Fp{number}")))
    return Variant(number, kernel, parse_target("cuda:90"), (), config, Toolchain(1, {"triton": "3.9.0"}, ""))


def mark(values: list[float | None], value: float, better: str = "low", failed: int = 0) -> str:
    """How `value` is marked in a column of `values`; the variant numbered `failed` cannot be launched."""
    kind = FactKind("stack", "Stack", "bytes", better, "")
    launch = FactKind("launchable", "Launch", "", "", "")
    facts, variants = FactTable(), [variant(number + 1) for number in range(len(values))]
    for one, own in zip(variants, values, strict=True):
        status = cannot_launch("too much") if one.id == failed else OK
        facts.add(one, {"stack": Fact(kind, own), "launchable": Fact(launch, status)})
    section = TableSection(variants, facts, columns_of(variants, [kind], facts))
    return section.cell(section.fact_columns[0], variants[values.index(value)]).mark


def test_the_best_and_the_worst_value_are_marked() -> None:
    values: list[float | None] = [32, 64, 128, 255, None]
    assert [mark(values, value) for value in (32, 64, 255)] == ["best", "", "worst"]
    assert [mark([1, 2], value, "high") for value in (1, 2)] == ["worst", "best"]
    assert mark(values, 32, better="") == ""


def test_frequent_values_are_not_marked() -> None:
    assert mark([32, 32, 32, 255], 32) == ""
    assert mark([32, 32], 32) == ""


def test_a_variant_that_cannot_be_launched_is_not_the_best() -> None:
    assert mark([32, 64, 128], 32, failed=1) == ""
    assert mark([32, 64, 128], 64, failed=1) == "best"


async def test_a_row_that_ends_at_the_edge_has_no_ellipsis(app: IrscopeApp) -> None:
    async with app.run_test(size=(80, 24)) as pilot:
        await settled(pilot)
        heading, first, second, *_ = drawn(app.screen.query_one(VariantTable)).split("\n")
        assert heading.endswith("Loop instr>")
        assert first.endswith(" 69")
        assert "…" not in first + second
