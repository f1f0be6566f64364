"""The comparison table: sorting, marks, width and formats."""

from __future__ import annotations

import csv
import io
import json
import re
from dataclasses import replace

import pytest

from irscope.document.csv import table_csv
from irscope.document.json.capture import table_document
from irscope.document.json.records import to_json
from irscope.document.markdown.reports import table_markdown
from irscope.document.table_content import table_content
from irscope.document.terminal.document_text import text_lines
from irscope.document.terminal.styles import PLAIN, Paint
from irscope.model import Artifact, UserError
from irscope.workspace import TableView
from irscope.workspace.table_sections import SHOWN_TOGETHER, chosen_kinds, entries, sections
from tests.document.conftest import KINDS, facts, variant

VARIANTS = [
    variant(1, BLOCK=64, num_warps=4),
    variant(2, BLOCK=128, num_warps=4),
    variant(3, "bad\x1b range", BLOCK=96, num_warps=4),
    variant(4, BLOCK=256, num_warps=8),
    variant(5, BLOCK=128, num_warps=8),
]


def measured(registers, shared, occupancy, code, launchable="yes", stack=0):
    return facts(
        launchable=launchable,
        registers=registers,
        stack=stack,
        n_spills=stack // 4,
        shared=shared,
        occupancy=occupancy,
        code=code,
        threads=128,
    )


TOO_MUCH = "no: 300,000 bytes of shared memory, limit 232,448"
FACTS = {
    1: measured(64, 2048, 0.5, "aa"),
    2: measured(96, 1024, 0.25, "bb"),
    3: {},
    4: measured(32, 300000, 0.0, "cc", TOO_MUCH, stack=4096),
    5: measured(96, 1024, None, "bb"),
}
NAMES = {v.id: str(v.config) for v in VARIANTS}
ENTRIES = entries(VARIANTS, NAMES, FACTS)
SHOWN = [KINDS[name] for name in ("registers", "stack", "n_spills", "shared", "occupancy", "threads")]


def section(sort=None):
    (only,) = sections(ENTRIES, sort, list(KINDS.values()))
    return only


def order(sort):
    return [entry.variant.id for entry in section(sort).entries]


def best(of, name):
    return of.best_values(KINDS[name]).best


def test_a_variant_with_a_problem_is_never_best():
    assert best(section(), "registers") == 64
    assert best(section(), "shared") == 1024
    assert best(section(), "occupancy") == 0.5
    assert best(section(), "stack") is None, "nothing to choose between equal values"


@pytest.mark.parametrize(
    ("spilling", "top"),
    [
        ({"stack": 2128, "n_spills": 532}, (96, 0.25)),
        ({"stack": 2128, "spill_store_bytes": 900, "spill_load_bytes": 900}, (96, 0.25)),
        ({"stack": 0, "vector_spills": 0, "scalar_spills": 24}, (96, 0.25)),
        ({"stack": 64, "spill_store_bytes": 0, "spill_load_bytes": 0}, (32, 1.0)),
    ],
)
def test_a_variant_that_spills_is_never_best_in_registers(spilling, top):
    known = {
        1: facts(registers=32, occupancy=1.0, shared=0, **spilling),
        2: facts(registers=96, occupancy=0.25, shared=1024, stack=0),
    }
    (only,) = sections(entries(VARIANTS[:2], NAMES, known), None, list(KINDS.values()))
    assert (best(only, "registers"), best(only, "occupancy")) == top
    assert best(only, "shared") == 0


def test_sorting_puts_the_best_first_and_problems_last():
    assert order("registers") == [1, 2, 5, 4, 3]
    assert order("occupancy") == [1, 2, 5, 4, 3], "high is good, unknown after all known"
    assert order("BLOCK") == [1, 2, 5, 3, 4]
    assert order(None) == [1, 2, 3, 4, 5]
    with pytest.raises(UserError, match="BLOCK"):
        order("nothing")


def test_a_duplicate_refers_to_the_first():
    assert [entry.duplicate_of for entry in section().entries] == [None, None, None, None, 2]


def test_registers_are_always_shown_with_stack():
    assert [kind.name for kind in chosen_kinds(["shared", "registers"])] == [
        "shared",
        *SHOWN_TOGETHER,
    ]
    for width in range(20, 120):
        text = table_text(TableView.of_section(section(), SHOWN), width, PLAIN)
        assert ("Regs" in text) == ("Stack" in text) == ("Spills" in text)


def table_text(view: TableView, width: int | None, paint: Paint) -> str:
    return "".join(f"{line}\n" for line in text_lines(table_content(view), width, paint))


GOLDEN = {
    80: """\
k  cuda:90  5 variants
            num_
 #  BLOCK  warps  Regs  Stack  Spills   Shared  Occupancy  Threads  note
─────────────────────────────────────────────────────────────────────────────
#1     64      4   64*      0       0    2,048       50%*      128
#2    128      4   96       0       0    1,024       25%       128
#3     96      4    -       -       -        -         -         -  failed
#4    256      8   32   4,096   1,024  300,000        0%       128  no launch
#5    128      8   96       0       0    1,024         ?       128  = #2
* best among the variants that can launch
#3 failed: Error: bad␛ range
#4 cannot launch: 300,000 bytes of shared memory, limit 232,448
= identical machine code: benchmarking 1 of 5 variants is redundant
""",
    60: """\
k  cuda:90  5 variants
            num_
 #  BLOCK  warps  Regs  Stack  Spills   Shared  note
─────────────────────────────────────────────────────────
#1     64      4   64*      0       0    2,048
#2    128      4   96       0       0    1,024
#3     96      4    -       -       -        -  failed
#4    256      8   32   4,096   1,024  300,000  no launch
#5    128      8   96       0       0    1,024  = #2
* best among the variants that can launch
#3 failed: Error: bad␛ range
#4 cannot launch: 300,000 bytes of shared memory, limit 232,448
= identical machine code: benchmarking 1 of 5 variants is redundant
omitted to fit the width: occupancy, threads
(use a wider terminal, a pipe or --columns)
""",
}


@pytest.mark.parametrize("width", GOLDEN)
def test_text_is_as_recorded(width):
    assert table_text(TableView.of_section(section(), SHOWN), width, PLAIN) == GOLDEN[width]


def test_a_pipe_gets_every_column():
    text = table_text(TableView.of_section(section(), list(KINDS.values())), None, PLAIN)
    assert "omitted" not in text
    assert "Limited" in text


def test_csv_has_every_value():
    text = "".join(table_csv([section()], SHOWN))
    rows = list(csv.DictReader(io.StringIO(text)))
    assert [row["id"] for row in rows] == ["1", "2", "3", "4", "5"]
    assert rows[0]["registers"] == "64" and rows[0]["BLOCK"] == "64"
    assert rows[2]["registers"] == "" and rows[2]["problem"].startswith("failed: Error")
    assert rows[4]["same_code_as"] == "2"
    assert "\x1b" not in text


def test_csv_cells_are_not_formulas():
    only = variant(1, BLOCK="=1+1", kernel="@SUM(A1)")
    (made,) = sections(entries([only], {1: "=cmd"}, {1: facts(registers=-1)}), None, [])
    (row,) = csv.DictReader(table_csv([made], [KINDS["registers"]]))
    assert (row["kernel"], row["variant"], row["BLOCK"], row["registers"]) == (
        "'@SUM(A1)",
        "'=cmd",
        "'=1+1",
        "-1",
    )


def test_an_unknown_fact_is_null_in_json():
    document = json.loads(to_json(table_document([section()], SHOWN, "c.irscope")))
    assert document["schema"] == "irscope.table/1"
    assert [column["name"] for column in document["columns"]] == [kind.name for kind in SHOWN]
    first, *_, last = document["variants"]
    assert first["facts"]["registers"] == 64
    assert last["facts"]["occupancy"] is None and last["same_code_as"] == 2
    assert document["variants"][3]["problem"].startswith("cannot launch: 300,000")


def test_markdown_is_one_table():
    lines = list(table_markdown(TableView.of_section(section(), SHOWN)))
    cells = [line.count(" | ") for line in lines if line.startswith("|")]
    assert len(cells) == 7 and len(set(cells)) == 1
    assert "**64**" in lines[4]


def test_kernels_and_targets_are_not_compared_with_each_other():
    mixed = [
        variant(1, BLOCK=1),
        variant(2, BLOCK=1, target="hip:gfx942"),
        variant(3, BLOCK=1, kernel="other"),
    ]
    made = sections(entries(mixed, {1: "a", 2: "b", 3: "c"}, {}), None, [])
    assert [(s.kernel, s.target) for s in made] == [
        ("k", "cuda:90"),
        ("k", "hip:gfx942"),
        ("other", "cuda:90"),
    ]


def test_a_fact_without_known_values_has_no_column():
    assert "seconds" not in [kind.name for kind in section().default_kinds()]
    assert "shared" in [kind.name for kind in section().default_kinds()]


def test_a_terminal_gets_styles_and_the_same_text():
    styled = table_text(TableView.of_section(section(), SHOWN), 80, Paint(True, True))
    assert "\x1b[1;32m" in styled
    plain = "".join(f"{line.rstrip()}\n" for line in re.sub(r"\x1b\[[0-9;]*m", "", styled).splitlines())
    assert plain == table_text(TableView.of_section(section(), SHOWN), 80, PLAIN)


def test_the_seconds_that_stage_reuse_saved_are_shown_if_known():
    stages = {stage: Artifact(stage, "", 1) for stage in ("ttir", "ttgir", "llir", "ptx", "cubin")}
    made = {"ttir": 0.1, "ttgir": 0.1, "llir": 0.6, "ptx": 0.1, "cubin": 0.3}
    taken = {"ttir": 0.1, "ttgir": 0.1}
    pair = [
        replace(variant(number, num_stages=number), seconds=seconds, artifacts=stages)
        for number, seconds in ((1, made), (2, taken))
    ]
    same = {number: facts(code="aa", registers=1) for number in (1, 2)}
    names = {1: "a", 2: "b"}

    def shown(variants):
        (only,) = sections(entries(variants, names, same), None, [])
        return table_text(TableView.of_section(only, SHOWN), None, PLAIN)

    message = "1 of them reused the stages of a variant with equal TTGIR"
    assert f"{message}, which saved about 1 s\n" in shown(pair)
    unknown = replace(pair[0], seconds={}, cached=True)
    assert f"{message}\n" in shown([unknown, pair[1]])
    assert message not in shown([pair[0], replace(pair[1], cached=True)])
