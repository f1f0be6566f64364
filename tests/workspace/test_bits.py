"""Classes of the same bits, of kernels that are compiled here and launched without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.interpreting.bits import classes
from irscope.interpreting.stage_interpreter import KernelLaunch
from irscope.languages.mlir.parser import parse
from irscope.model import Config, Failure, UserError
from irscope.workspace import Workspace
from irscope.workspace.bits import NOT_LAUNCHED, ProblemBits, bit_classes

LAUNCH = "grid=(16,), N=2048, x=[16, N]"


@pytest.fixture
def opened(bits_capture: Path) -> Iterator[Workspace]:
    with Workspace(bits_capture) as workspace:
        yield workspace


def only(answers: list[ProblemBits]) -> ProblemBits:
    (answer,) = answers
    return answer


def ids(opened: Workspace, kernel: str) -> tuple[int, ...]:
    return tuple(variant.id for variant in opened.select(kernel))


def test_all_tiles_of_a_matmul_compute_the_same_bits(opened: Workspace):
    answer = only(opened.bits("matmul"))
    (bit_class,) = answer.classes
    assert (bit_class.name, bit_class.variants, bit_class.repeatable) == ("a", ids(opened, "matmul"), True)
    assert not answer.unknown and not answer.differences
    assert answer.problem.text == "M=256, N=256, K=256" and answer.problem.grid is None
    assert answer.common_config(bit_class) == {} and answer.deciding == ()


def test_the_blocks_and_warps_of_a_looped_sum_decide(opened: Workspace):
    answer = only(opened.bits("row_sum"))
    first, second, third, fourth = ids(opened, "row_sum")
    assert [item.variants for item in answer.classes] == [(first,), (second,), (third,), (fourth,)]
    assert answer.reference == first and answer.reference_class == "a"
    assert answer.common_config(answer.classes[1]) == {"BLOCK": ["512"], "num_warps": ["8"]}
    assert answer.deciding == ("BLOCK", "num_warps")
    assert len(answer.differences) == 6
    (reason,) = answer.differences[0].reasons
    assert answer.place(reason) == "line 38 (total += tl.sum(values, axis=0))"
    assert reason.kind == "sum" and "A" in reason.text and "8 warps" in reason.text


def test_the_class_of_the_reference_is_the_first(opened: Workspace):
    last = opened.select("row_sum")[-1]
    answer = only(opened.bits("row_sum", reference=last))
    assert answer.reference == last.id and answer.classes[0].variants == (last.id,)
    assert all(item.a == "a" for item in answer.differences[:3])
    answer = only(opened.bits("row_sum", launch=LAUNCH, reference=last))
    assert answer.reference == last.id


def test_a_fused_multiply_add_is_another_class(opened: Workspace):
    answer = only(opened.bits("axpy"))
    fused, unfused = answer.classes
    assert answer.common_config(fused) == {"enable_fp_fusion": ["True"]}
    assert answer.common_config(unfused) == {"enable_fp_fusion": ["False"]}
    assert answer.deciding == ("enable_fp_fusion",)
    (reason,) = answer.differences[0].reasons
    assert reason.kind == "fusion" and answer.place(reason).startswith("line 47 (result = left * a + ")


def test_sums_of_atomics_are_not_repeatable(opened: Workspace):
    answer = only(opened.bits("add_all"))
    assert [(len(item.variants), item.repeatable) for item in answer.classes] == [(1, False), (1, False)]
    assert {reason.kind for reason in answer.differences[0].reasons} >= {"atomics"}
    assert answer.deciding == (), "no config repeats its bits"


def test_a_loop_whose_length_is_data_is_unknown(opened: Workspace):
    answer = only(opened.bits("sum_below"))
    assert not answer.classes and answer.reference is None
    assert list(answer.unknown.values()) == ["the length of a loop depends on data"]


def test_launches_that_a_user_writes(opened: Workspace):
    answer = only(opened.bits("row_sum", launch=LAUNCH))
    assert answer.problem.text == "N=2048" and len(answer.classes) == 4
    whole = only(opened.bits("row_sum", launch=LAUNCH.replace("2048", "16")))
    # The four warps of a block of 512 and of 1024 hold the 16 elements alike, but for padding.
    assert len(whole.classes) < 4
    # No argument of the others needs a number.
    assert {one.problem.kernel for one in opened.bits(launch=LAUNCH)} > {"row_sum", "sum_below"}
    with pytest.raises(UserError, match="give the value of N"):
        opened.bits("row_sum", launch="grid=(16,)")


def test_variants_without_launch_or_stage_are_unknown(opened: Workspace):
    first, second, third, fourth = opened.select("row_sum")
    variants = [
        first,
        replace(second, launches=()),
        replace(third, failure=Failure("CompilationError", "arange's range", "")),
        replace(fourth, artifacts={}),
    ]
    answer = only(bit_classes(opened, variants))
    assert [item.variants for item in answer.classes] == [(first.id,)]
    assert answer.unknown == {
        second.id: NOT_LAUNCHED,
        third.id: "it failed to compile: arange's range",
        fourth.id: "the capture has no ttgir of it",
    }
    answer = only(bit_classes(opened, [replace(first, launches=())]))
    assert answer.unknown == {first.id: NOT_LAUNCHED} and not answer.problem.launches
    answer = only(bit_classes(opened, variants, reference=variants[3]))
    assert answer.reference is None and answer.reference_class is None


def test_specializations_are_answered_for_themselves(opened: Workspace):
    first, second, *_ = opened.select("row_sum")
    other = replace(second, specialization=tuple(replace(a, key="") for a in second.specialization))
    assert [len(answer.classes) for answer in bit_classes(opened, [first, other])] == [1, 1]


def test_variants_with_other_flags_are_compared_if_they_are_named(opened: Workspace):
    fused, unfused = (
        replace(variant, config=Config((*variant.config.values, ("FLAG", flag))))
        for variant, flag in zip(opened.select("axpy"), (True, False), strict=True)
    )
    assert [item.problem.constants for item in bit_classes(opened, [fused, unfused])] == [
        (("FLAG", "True"),),
        (("FLAG", "False"),),
    ]
    answer = only(opened.bits(variants=[fused, unfused]))
    assert [item.variants for item in answer.classes] == [(fused.id,), (unfused.id,)]
    assert not answer.problem.constants and answer.reference == fused.id


def test_equal_stages_with_equal_launches_are_executed_once(
    opened: Workspace, monkeypatch: pytest.MonkeyPatch
):
    first, second, *_ = opened.select("row_sum")
    executed: list[object] = []

    def counting(*arguments: object) -> classes.Evaluation:
        executed.append(arguments)
        return classes.evaluate(*arguments)  # type: ignore[arg-type]

    monkeypatch.setattr("irscope.workspace.bits.evaluate", counting)
    answer = only(bit_classes(opened, [first, replace(first, id=99), second]))
    assert [item.variants for item in answer.classes] == [(first.id, 99), (second.id,)]
    bit_classes(opened, [second])
    assert len(executed) == 2


def test_descriptors_and_tuples_are_several_arguments(opened: Workspace, monkeypatch: pytest.MonkeyPatch):
    executed: list[KernelLaunch] = []

    def recording(
        _: object, __: object, launch: KernelLaunch, fusion: bool, flush: bool, first: int
    ) -> classes.Evaluation:
        executed.append(launch)
        return classes.Evaluation(unanswered=f"fusion {fusion}, flush {flush}")

    monkeypatch.setattr("irscope.workspace.bits.evaluate", recording)
    answer = only(opened.bits("shift"))
    # The descriptor, its shape and stride, the two numbers, and a pointer.
    assert executed == [KernelLaunch({1: 1000, 2: 1, 3: 3, 4: 5}, (4, 1, 1))]
    assert list(answer.unknown.values()) == ["fusion True, flush True"]


def test_a_descriptor_that_is_an_argument(opened: Workspace):
    """Its block and element are in its type, its shape and strides in the launch."""
    answer = only(opened.bits("shift"))
    assert not answer.unknown and answer.classes[0].variants == ids(opened, "shift")


def test_a_kernel_that_writes_nothing_is_unknown():
    """ "Same" would promise nothing."""
    stage = parse("module {\n  tt.func public @kernel() {\n    tt.return\n  }\n}\n")
    evaluation = classes.evaluate(stage, (3, 9), KernelLaunch({}, (1, 1, 1)), True)
    assert evaluation.unanswered == "the programs that were executed write nothing to memory"


def test_products_in_tensor_memory_add_in_the_order_of_k(tmp_path: Path, triton_cache: Path):
    """On Blackwell; an instruction of other rows is not promised to add alike."""
    path = tmp_path / "matmul.irscope"
    words = ["-m", "irscope", "compile", "samples/matmul", "--target", "cuda:100", "-o", str(path)]
    environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
    subprocess.run([sys.executable, *words], env=environment, check=True, timeout=600)
    strides = "stride_am=K, stride_bk=N, stride_cm=N"
    with Workspace(path) as workspace:
        launch = f"grid=(cdiv(M, BLOCK_M) * cdiv(N, BLOCK_N),), M=256, N=M, K=M, {strides}"
        answer = only(workspace.bits(launch=launch))
        rows = {v.id: v.settings["BLOCK_M"] for v in workspace.variants}
    assert [{rows[v] for v in item.variants} for item in answer.classes] == [{64}, {128, 256}]
    assert answer.deciding == ("BLOCK_M",) and not answer.unknown
    text = answer.differences[0].reasons[0].text
    assert "64 rows at once" in text and "128 rows at once" in text


@pytest.mark.slow
def test_attention_in_tensor_memory(tmp_path: Path, triton_cache: Path):
    """Its first loop may have no iterations, and then reads an accumulator that nothing wrote."""
    path = tmp_path / "attention.irscope"
    words = ["-m", "irscope", "run", "--target", "cuda:100", "-o", str(path), "samples/flash_attention"]
    environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
    subprocess.run([sys.executable, *words], env=environment, check=True, timeout=600)
    with Workspace(path) as workspace:
        answers = workspace.bits()
        variants = {variant.id: variant for variant in workspace.variants}
        bits = workspace.compare(variants[2], variants[3]).bits
    assert len(answers) == 4 and not any(answer.unknown for answer in answers)
    assert bits is not None and len(bits.findings) == 3
    lines = [finding.text.partition(" in line ")[2].partition(":")[0] for finding in bits.findings]
    # The products of queries and keys, and with values, and the sum of a row: lines of a helper.
    assert lines == ["52", "60", "58"]
