import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from irscope.facts.loops.scf import TripCount
from irscope.facts.measure import from_json, measure
from irscope.facts.registry import FACT_KINDS, INSTRUCTIONS, LOAD_WIDTH, MS, OCCUPANCY, SECONDS, STORE_WIDTH
from irscope.findings.computations import chosen_branches
from irscope.findings.finding import (
    Finding,
    FindingCause,
    PairContext,
    Severity,
    ValueChange,
    most_important,
    ranked,
    severity_of,
)
from irscope.findings.loops import trip_changes
from irscope.findings.registry import FINDINGS, findings
from irscope.model import Config, Failure, SourceFunction
from tests.findings.builders import FACTS, stage_diff, stored, variant

SMALL = "add_kernel.cuda-90.BLOCK_SIZE=256,num_warps=4.triton-3.9.0"
LARGE = "add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0"


def facts(**values):
    return from_json(values)


def found(facts_a, facts_b, a=None, b=None, diffs=None):
    return findings(PairContext(a or variant(), b or variant(id_=2), facts_a, facts_b, diffs or {}))


def texts(*args, **more):
    return [finding.text for finding in found(*args, **more)]


def wider_loads(source=None, layout_of_b=None):
    made = [variant(name="add_kernel", id_=number, source=source) for number in (1, 2)]
    stages = [{stage: stored(name, stage) for stage in ("ttgir", "ptx")} for name in (SMALL, LARGE)]
    if layout_of_b:
        stages[1]["ttgir"] = re.sub(r"#ttg\.blocked<.*>", layout_of_b, stages[1]["ttgir"])
    measured = [
        measure(one, {stage: text.encode() for stage, text in texts.items()}.get)
        for one, texts in zip(made, stages, strict=True)
    ]
    diffs = {stage: stage_diff(stage, stages[0][stage], stages[1][stage]) for stage in ("ttgir", "ptx")}
    return findings(PairContext(*made, *measured, diffs)), stages


def test_wider_loads_come_first_with_their_line_and_their_layout():
    listed, stages = wider_loads()
    first = listed[0]
    assert first.kind == "global load"
    assert first.text.startswith("Global loads of line ")
    assert first.text.endswith(": 2 x 8-byte -> 4 x 16-byte (#blocked sizePerThread [2] -> [4])")
    for evidence, texts_ in ((first.evidence_a, stages[0]), (first.evidence_b, stages[1])):
        assert evidence
        assert all("ld.global" in texts_[place.stage].split("\n")[place.line] for place in evidence)


def test_elements_per_thread_of_two_kinds_of_layout_are_not_compared():
    linear = "#ttg.linear<{register = [[1], [2]], lane = [[4], [8], [16], [32], [64]], warp = [[128]]}>"
    listed, _ = wider_loads(layout_of_b=linear)
    assert listed[0].text.endswith(": 2 x 8-byte -> 4 x 16-byte")


def test_a_layout_that_a_finding_about_its_loads_names_is_covered():
    listed, _ = wider_loads()
    (layout,) = (one for one in listed if one.kind == "layout")
    assert layout.text == "#blocked sizePerThread [2] -> [4]"
    assert layout.covered


def test_the_source_line_is_quoted_if_known():
    listed, _ = wider_loads()
    line = int(listed[0].text.split("line ")[1].split(":")[0])
    source = SourceFunction(
        "add_kernel", "/elsewhere/kernels.py", line - 1, "def add_kernel():\n    x = tl.load(p)"
    )
    listed, _ = wider_loads(source)
    assert f"of line {line} (x = tl.load(p)): " in listed[0].text


def test_a_line_within_a_statement_is_quoted_by_the_first_line_of_the_statement():
    listed, _ = wider_loads()
    line = int(listed[0].text.split("line ")[1].split(":")[0])
    text = "def add_kernel():\n    top, total = combine(\n        top, total, 1, False)"
    listed, _ = wider_loads(SourceFunction("add_kernel", "/elsewhere/kernels.py", line - 2, text))
    assert f"of line {line} (top, total = combine(...): " in listed[0].text


def test_findings_are_sorted_by_weight():
    weights = [finding.weight for finding in wider_loads()[0]]
    assert weights == sorted(weights, reverse=True)


def test_without_a_diff_widths_of_the_whole_kernel_are_compared():
    assert texts(facts(global_loads="16 x 4 B"), facts(global_loads="4 x 16 B")) == [
        "Global loads: 16 x 4 B -> 4 x 16 B"
    ]


def test_a_layout_change_is_listed_field_by_field():
    names = [
        f"matmul_kernel.cuda-90.BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,num_warps={n},num_stages=3" for n in (4, 8)
    ]
    diff = stage_diff("ttgir", *(stored(name, "ttgir") for name in names))
    listed = [f for f in found({}, {}, diffs={"ttgir": diff}) if f.kind == "layout"]
    assert "#mma warpsPerCTA [4, 1] -> [8, 1]" in [finding.text for finding in listed]
    assert all(finding.evidence_a and finding.evidence_b for finding in listed)


def test_a_layout_with_another_number_of_dimensions_is_covered():
    texts_ = (stored(SMALL, "ttgir"), stored(LARGE, "ttgir"))
    deeper = re.sub(r"= \[(\d+)\]", r"= [\1, 1]", texts_[1])
    for other, covered in ((texts_[1], False), (deeper.replace("order = [0, 1]", "order = [1, 0]"), True)):
        diff = stage_diff("ttgir", texts_[0], other)
        (layout,) = (f for f in found({}, {}, diffs={"ttgir": diff}) if f.kind == "layout")
        assert layout.covered is covered


def test_launch_failure_is_the_first_finding():
    listed = found(
        facts(launchable="yes", registers=64, stack=0, occupancy=0.5, blocks_per_sm=4, limiter="registers"),
        facts(
            launchable="no: 294,912 bytes of shared memory, limit 232,448",
            registers=255, stack=0, occupancy=0.0, blocks_per_sm=0, limiter="shared memory",
        ),
    )  # fmt: skip
    assert listed[0].text == "B cannot launch on cuda:90: 294,912 bytes of shared memory, limit 232,448"
    assert "occupancy" not in [finding.kind for finding in listed]


def test_a_failed_variant_quotes_its_error():
    b = variant(id_=2, failure=Failure("PTXASError", "ptxas failed with error code 255", "..."))
    assert texts({}, {}, b=b)[0] == "B did not compile: PTXASError: ptxas failed with error code 255"


def test_spills_are_reported_with_the_registers():
    none = facts(stack=0, registers=168)
    some = facts(stack=816, registers=255, spill_store_bytes=1972, spill_load_bytes=1460)
    first = texts(none, some)[0]
    assert first == (
        "B spills, A does not: 816 bytes of stack per thread, "
        "1,972 bytes of spill stores and 1,460 of spill loads, 255 registers (the limit)"
    )
    assert texts(some, none)[0].startswith("A spills, B does not: 816 bytes")


def test_few_registers_with_a_large_stack_are_not_an_improvement():
    gave_up = facts(stack=21_000, registers=32)
    listed = texts(facts(stack=0, registers=168), gave_up)
    assert "with only 32 registers, the register allocator gave up" in listed[0]
    assert "Registers per thread: 168 -> 32 (stack: 0 -> 21,000 bytes)" in listed


@pytest.mark.parametrize("missing", ["registers", "stack"])
def test_registers_are_always_reported_with_stack(missing):
    a, b = facts(registers=64, stack=0), facts(registers=128, stack=0)
    assert [f.kind for f in found(a, b)] == ["registers"]
    b = {**b, **facts(**{missing: None})}
    assert found(a, b) == []


def test_a_fact_unknown_on_one_side_gives_no_finding():
    assert found(facts(shared=None, matrix=None), facts(shared=1024, matrix="1 x mma.sync.m16n8k16")) == []


def test_identical_code_is_the_first_finding():
    content = {"cubin": (FACTS / "add_kernel.cuda-90.cubin").read_bytes()}
    made = [variant(name="add_kernel", id_=number) for number in (1, 2)]
    listed = findings(PairContext(*made, *(measure(one, content.get) for one in made)))
    assert [finding.kind for finding in listed] == ["identical"]


def test_a_ptxas_warning_of_one_side_is_a_finding():
    warning = (
        "ptxas info    : (C7511) Potential Performance Loss: wgmma.mma_async instructions are "
        "serialized due to insufficient register resources for the wgmma pipeline "
        "in the function 'matmul_kernel' in line 979\n"
    )
    warnings = texts({}, {}, a=variant(log=""), b=variant(id_=2, log=warning * 2))
    assert len(warnings) == 1
    assert warnings[0].startswith("ptxas warns about B: Potential Performance Loss: wgmma.mma_async")
    assert texts({}, {}, a=variant(), b=variant(id_=2, log=warning)) == []


def test_the_first_stage_that_really_differs():
    diffs = {
        stage: stage_diff(stage, stored(SMALL, stage), stored(LARGE, stage)) for stage in ("ttir", "ttgir")
    }
    (finding,) = (f for f in found({}, {}, diffs=diffs) if f.kind == "stages")
    assert finding.text.startswith("First real difference: ttgir (")
    same = {
        stage: stage_diff(stage, stored(SMALL, stage), stored(SMALL, stage)) for stage in ("ttir", "ttgir")
    }
    assert texts({}, {}, diffs=same) == ["All compared stages are equal: ttir, ttgir"]


def test_a_finding_is_one_function(monkeypatch):
    def always(pair):
        yield Finding(f"B is {pair.b.kernel.name}", 10_000, "example")

    monkeypatch.setattr("irscope.findings.registry.FINDINGS", (*FINDINGS, always))
    assert texts({}, {})[0].startswith("B is ")


def test_every_fact_with_a_weight_has_a_finding():
    for kind in FACT_KINDS:
        if kind.weight and kind not in (LOAD_WIDTH, STORE_WIDTH, MS, SECONDS, OCCUPANCY, INSTRUCTIONS):
            values = ("1 x 4 B", "2 x 4 B") if not kind.unit else (1, 2)
            a, b = (from_json({"stack": 0, "registers": 64, kind.name: value}) for value in values)
            assert found(a, b), kind.name


@pytest.mark.parametrize(
    ("finding", "text", "cells"),
    [
        (
            Finding(
                "Occupancy",
                1,
                "occupancy",
                changes=(ValueChange("50%", "12.5%"),),
                causes=(FindingCause("limit", ("registers",)),),
            ),
            "Occupancy: 50% -> 12.5%, limited by registers",
            ("Occupancy", "50%", "12.5%, limited by registers"),
        ),
        (
            Finding("Tensor cores lost", 1, "matrix path", changes=(ValueChange("x", "y", "tl.dot of l:"),)),
            "Tensor cores lost: tl.dot of l: x -> y",
            ("Tensor cores lost: tl.dot of l", "x", "y"),
        ),
        (
            Finding(
                "#mma",
                1,
                "layout",
                changes=(ValueChange("[16, 64]", "[8]", "instrShape"), ValueChange("1", "2", "rank")),
            ),
            "#mma instrShape [16, 64] -> [8], rank 1 -> 2",
            ("#mma instrShape", "[16, 64]", "[8], rank 1 -> 2"),
        ),
        (
            Finding(
                "The loop", 1, "loop", changes=("unrolled x2", ValueChange("2", "4", "pipelined,", "deep"))
            ),
            "The loop: unrolled x2; pipelined, 2 -> 4 deep",
            ("The loop: unrolled x2; pipelined,", "2", "4 deep"),
        ),
        (
            Finding(
                "B spills, A does not",
                1,
                "spills",
                changes=("8 bytes",),
                causes=(FindingCause("tensors", ("acc f32 -> f16",)),),
            ),
            "B spills, A does not: 8 bytes; acc f32 -> f16",
            None,
        ),
        (Finding("A and B are identical", 1, "identical"), "A and B are identical", None),
    ],
)
def test_the_sentence_and_the_cells_are_made_from_the_same_fields(
    finding: Finding, text: str, cells: tuple[str, str, str] | None
) -> None:
    assert finding.text == text
    assert finding.cells == (cells or (text, "", ""))


def test_a_finding_that_another_one_covers_comes_after_all_others():
    headline = Finding(
        "wgmma became mma.sync", Severity.MATRIX_PATH.weight(), "path", covers=frozenset(["m", "l #mma"])
    )
    own = Finding("#blocked changed", Severity.LAYOUT.weight(), "l", subject="#blocked")
    covered = [
        Finding("other instructions", Severity.MEMORY.weight(3), "m", subject="line 3"),
        Finding("#mma changed", Severity.LAYOUT.weight(9), "l", subject="#mma"),
    ]
    weightier = Finding("spills", Severity.FAILURE.weight(), "m")
    listed = ranked([own, *covered, headline, weightier])
    assert [str(finding) for finding in listed] == [
        "spills", "wgmma became mma.sync", "#blocked changed", "other instructions", "#mma changed"
    ]  # fmt: skip
    assert list(most_important(listed)) == listed[:3]
    assert [finding.covered for finding in listed] == [False, False, False, True, True]


def test_within_a_severity_the_weight_does_not_decide_what_is_covered():
    loop = Finding("pipelined, 2 -> 4 deep", Severity.LOOP.weight(), "loop", covers=frozenset(["depth"]))
    depth = Finding("Depth: 2 -> 4", Severity.LOOP.weight(1), "depth")
    assert [finding.covered for finding in ranked([loop, depth])] == [False, True]


def test_at_most_ten_findings_are_shown_and_if_all_are_covered_the_first_of_them():
    many = ranked(Finding(f"{n}", Severity.COUNT.weight(n), "kind") for n in range(12))
    assert [str(finding) for finding in most_important(many)] == [str(n) for n in range(11, 1, -1)]
    only = ranked([Finding("equal", Severity.COUNT.weight(), "stages", covered=True)])
    assert list(most_important(only)) == only


@given(st.lists(st.tuples(st.sampled_from(Severity), st.floats(0, 1e6))))
def test_no_effect_ranks_a_finding_above_a_more_severe_one(drawn):
    for severity, moved in drawn:
        weight = severity.weight(moved)
        assert severity_of(weight) is severity
        assert all(weight < other for other in Severity if other > severity)


def test_another_matrix_instruction_weighs_more_than_another_number_of_them():
    def severity(a, b):
        (finding,) = found(facts(matrix=a), facts(matrix=b))
        return finding.severity

    assert severity("4 x wgmma.m64n64k16", "8 x wgmma.m64n64k16") is Severity.COUNT
    assert severity("4 x wgmma.m64n64k16", "4 x wgmma.m64n128k16") is Severity.RESOURCES
    assert severity("4 x wgmma.m64n64k16", "32 x mma.sync.m16n8k16") is Severity.MATRIX_PATH
    assert severity("8 x v_mfma_f32_32x32x8_f16", "none") is Severity.MATRIX_PATH


def test_findings_do_not_restate_the_config():
    def threads(warps_a, warps_b):
        configs = [Config((("num_warps", w),) if w else ()) for w in (warps_a, warps_b)]
        made = [variant(id_=n, config=config) for n, config in enumerate(configs, 1)]
        return texts(facts(threads=128), facts(threads=256), *made)

    assert threads(4, 8) == threads(None, 8) == []
    assert threads(4, 4) == ["Threads per block: 128 -> 256"]


def test_a_stack_that_holds_an_array_is_not_called_a_spill():
    spilled = {"spill_store_bytes": 0, "spill_load_bytes": 0}
    listed = texts(facts(stack=0, **spilled), facts(stack=64, **spilled))
    assert listed == [
        "Stack per thread: 0 -> 64 bytes; nothing is spilled, it holds arrays of the kernel",
    ]


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


CHAIN = SourceFunction(
    "kernel",
    "kernels.py",
    1,
    """\
def kernel(x, MODE):
    if MODE == 0:
        x = x + 1
    elif MODE == 1:
        x = x * 2
    else:
        x = x - 3
    return x
""",
)


def test_the_condition_that_differs_in_a_chain_is_named() -> None:
    """MODE 1 against MODE 2: `MODE == 0` is false on both sides."""
    (branch,) = chosen_branches(CHAIN, {"MODE"}, {5, 8}, {7, 8})
    assert (branch.line, branch.test) == (4, "MODE == 1")
    assert (branch.only_a, branch.only_b) == ((5,), (7,))


def test_the_first_condition_of_a_chain_is_named_if_it_differs() -> None:
    (branch,) = chosen_branches(CHAIN, {"MODE"}, {3, 8}, {5, 8})
    assert (branch.line, branch.test) == (2, "MODE == 0")


def test_a_condition_of_equal_values_is_not_named() -> None:
    assert chosen_branches(CHAIN, {"OTHER"}, {3, 8}, {5, 8}) == []
