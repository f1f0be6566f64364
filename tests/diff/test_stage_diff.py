"""Diffs of real pairs match the change that was made to the config."""

import gc

import pytest

from irscope.diff.rows import Change
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.languages.language import parse
from irscope.model.process import cycles_not_collected
from tests.diff.stages import NAMES, diff_files, diff_texts, language_of, text_of


def matmul(target: str, block: int, num_warps: int, num_stages: int, stage: str) -> str:
    config = f"BLOCK_M={block},BLOCK_N={block},BLOCK_K=32,num_warps={num_warps},num_stages={num_stages}"
    return f"matmul_kernel.{target}.{config}.triton-3.9.0.{stage}"


@pytest.mark.parametrize("target", ["cuda-80", "cuda-90"])
def test_another_tile_in_ttir_is_shapes_and_constants(target: str) -> None:
    diff = diff_files(matmul(target, 64, 4, 3, "ttir"), matmul(target, 128, 4, 3, "ttir"))
    assert set(diff.counts) == {Change.SHAPE, Change.CONSTANT}
    assert not diff.structural


@pytest.mark.parametrize(
    ("target", "layout", "field"),
    [
        ("cuda-80", "#blocked", ("threadsPerWarp", "[4, 8]", "[2, 16]")),
        ("cuda-90", "#mma", ("instrShape", "[16, 64, 16]", "[16, 128, 16]")),
    ],
)
def test_another_tile_in_ttgir(target: str, layout: str, field: tuple[str, str, str]) -> None:
    diff = diff_files(matmul(target, 64, 4, 3, "ttgir"), matmul(target, 128, 4, 3, "ttgir"))
    assert Change.ADDED not in diff.counts
    assert Change.REMOVED not in diff.counts
    assert diff.structural
    [change] = [change for change in diff.layouts if change.left and change.left.alias == layout]
    assert field in change.fields


def test_more_warps_change_only_layouts_and_the_module() -> None:
    diff = diff_files(matmul("cuda-90", 128, 4, 3, "ttgir"), matmul("cuda-90", 128, 8, 3, "ttgir"))
    assert set(diff.counts) == {Change.LAYOUT, Change.ATTRIBUTE}
    assert diff.counts[Change.ATTRIBUTE] == 1
    fields = {(change.left.alias, change.fields) for change in diff.layouts if change.left}
    warps = (("warpsPerCTA", "[4, 1]", "[8, 1]"),)
    assert fields == {("#blocked", warps), ("#blocked1", warps), ("#mma", warps)}
    [row] = [row for row in diff.rows if row.change is Change.ATTRIBUTE]
    assert row.left is not None
    assert diff.left.lines[row.left].startswith("module attributes")
    defined = [
        row for row in diff.rows if row.left is not None and diff.left.lines[row.left].startswith("#mma =")
    ]
    assert [row.change for row in defined] == [Change.LAYOUT]


@pytest.mark.parametrize("target", ["cuda-80", "cuda-90"])
def test_one_more_stage_adds_only_a_prologue(target: str) -> None:
    diff = diff_files(matmul(target, 128, 4, 3, "ttgir"), matmul(target, 128, 4, 4, "ttgir"))
    assert Change.REMOVED not in diff.counts
    operations = diff.right.operation_of_line
    loop = next(i for i, op in enumerate(diff.right.operations) if op.opcode == "scf.for")
    for row in diff.rows:
        if row.change is Change.ADDED:
            assert row.right is not None
            operation = diff.right.operations[operations[row.right]]
            assert operation.parent != loop
            assert operation.line < diff.right.operations[loop].line
        elif row.change and row.right in operations:
            # The ring of buffers is larger, one more copy is in flight, the loop carries its tokens.
            text = diff.right.lines[row.right]
            deeper = ("memdesc<3x", "memdesc<4x", "async_wait", "%c3_i32", "%c4_i32", "pendings")
            assert any(word in text for word in deeper) or "scf." in text or "_i32" in text


@pytest.mark.parametrize("name", NAMES)
def test_rows_hold_every_line_once_in_order(name: str) -> None:
    language = language_of(name)
    others = [
        other for other in NAMES if other.split(".")[0] == name.split(".", maxsplit=1)[0] and other != name
    ]
    others = [other for other in others if language_of(other) == language]
    for other in others[:3]:
        diff = diff_files(name, other)
        assert [row.left for row in diff.rows if row.left is not None] == list(range(len(diff.left.lines)))
        assert [row.right for row in diff.rows if row.right is not None] == list(range(len(diff.right.lines)))
        pairs = [(row.left, row.right) for row in diff.rows if row.left is not None and row.right is not None]
        for i, j in pairs:
            left, right = diff.left.operation_of_line.get(i), diff.right.operation_of_line.get(j)
            if left is not None and right is not None:
                assert diff.left.operations[left].opcode == diff.right.operations[right].opcode


def test_a_swapped_operand_is_reported() -> None:
    text = text_of(matmul("cuda-90", 64, 4, 3, "ttir"))
    swapped = text.replace("tt.addptr %a_ptrs_33,", "tt.addptr %b_ptrs_34,")
    assert swapped != text
    assert diff_texts(text, swapped, "mlir").counts == {Change.OPERANDS: 1}


def test_operand_order_matters_for_a_difference_but_not_for_a_sum() -> None:
    def module(operation: str) -> str:
        return f"module {{\n  tt.func @f(%a: i32, %b: i32) {{\n    %c = arith.{operation} : i32\n  }}\n}}\n"

    assert diff_texts(module("addi %a, %b"), module("addi %b, %a"), "mlir").equal
    assert diff_texts(module("subi %a, %b"), module("subi %b, %a"), "mlir").counts == {Change.OPERANDS: 1}


def test_another_constant_is_not_a_change_of_operands() -> None:
    def module(constant: str) -> str:
        return (
            "module {\n  tt.func @f(%a: i32) {\n    %x = arith.constant 1 : i32\n"
            "    %y = arith.constant 2 : i32\n    %z = arith.constant 1 : i32\n"
            f"    %b = arith.addi %a, {constant} : i32\n  }}\n}}\n"
        )

    assert diff_texts(module("%x"), module("%y"), "mlir").counts == {Change.CONSTANT: 1}
    assert diff_texts(module("%x"), module("%z"), "mlir").equal


def test_lines_outside_of_operations() -> None:
    name = "add_kernel.cuda-90.BLOCK_SIZE=256,num_warps=4.triton-3.9.0.ptx"
    text = text_of(name)
    diff = diff_texts(text, text.replace(".reqntid 128", ".reqntid 256"), "ptx")
    assert diff.counts == {Change.TEXT: 1}
    assert not diff.structural


def test_empty_and_foreign_texts() -> None:
    empty = Document("mlir", "", ())
    assert diff_stage("ttir", empty, empty).equal
    for text in ("", "\n\n", "no such language {", "}\n}\n"):
        for language in ("mlir", "llvm", "ptx", "sass", "amdgcn"):
            diff = diff_stage("x", parse(text, language), parse("something else\n" + text, language))
            assert [row.left for row in diff.rows if row.left is not None] == list(
                range(text.count("\n") + 1)
            )


def test_another_triton_counts_columns_differently() -> None:
    new = matmul("cuda-90", 64, 4, 3, "ttgir")
    diff = diff_files(new.replace("3.9.0", "3.6.0"), new)
    assert diff.counts.get(Change.ADDED, 0) + diff.counts.get(Change.REMOVED, 0) <= 5


def test_a_loop_with_more_results_than_operands_is_compared():
    # Coverage-guided fuzzing found it: no operand is the initial value of the last results.
    def loop(carried: int) -> str:
        results = ", ".join(["i32"] * carried)
        arguments = ", ".join(f"%x{n}: i32" for n in range(carried))
        head = f'%0:{carried} = "scf.while"(%a) ({{\n^bb0({arguments}):\n'
        return f"{head}  scf.yield %x0\n}}) : (i32) -> ({results})"

    for a, b in ((2, 3), (3, 2)):
        left, right = parse(loop(a), "mlir"), parse(loop(b), "mlir")
        assert not diff_stage("ttir", left, right).equal


def test_moves_are_not_looked_for_in_huge_stages_which_the_summary_says(monkeypatch):
    names = ("addi", "subi", "muli", "andi", "ori", "xori")
    lines = [f"  %{n} = arith.{name} %a, %b : i32" for n, name in enumerate(names)]
    left, right = (parse("\n".join(each), "mlir") for each in (lines, [*lines[3:], *lines[:3]]))
    whole = diff_stage("ttir", left, right)
    monkeypatch.setattr("irscope.diff.stage_diff._MOST_WITH_MOVES", 3)
    diff = diff_stage("ttir", left, right)
    assert diff.without_moves and diff.mirrored.without_moves and not whole.without_moves
    assert "too large to look for moved operations" in diff.summary
    assert [row.left for row in diff.rows if row.left is not None] == list(range(len(lines)))


def test_the_search_for_cycles_goes_on_after_a_diff():
    assert gc.isenabled()
    diff_stage("ttir", parse("a", "mlir"), parse("b", "mlir"))
    assert gc.isenabled()
    with cycles_not_collected(), cycles_not_collected():
        assert not gc.isenabled()
    assert gc.isenabled()
