"""`irscope verdict`: what matters about kernels that are compiled here, and what to try about them."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.mcp.warm_compiler import Compiler, Limits
from irscope.model import Target, UserError, Value
from irscope.workspace import Verdict, Workspace
from irscope.workspace.launch_expression import add_launches

KERNELS = """\
import triton
import triton.language as tl


@triton.jit
def squares(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + i, mask=i < n)
    tl.store(y_ptr + i, x / tl.sum(x * x, axis=0), mask=i < n)


@triton.jit
def product(a_ptr, b_ptr, c_ptr, K, BLOCK: tl.constexpr, PRECISION: tl.constexpr):
    i = tl.arange(0, BLOCK)
    place = i[:, None] * BLOCK + i[None, :]
    acc = tl.zeros((BLOCK, BLOCK), tl.float32)
    for k in range(0, K, BLOCK):
        a = tl.load(a_ptr + place + k * BLOCK)
        b = tl.load(b_ptr + place + k * BLOCK)
        acc = tl.dot(a, b, acc, input_precision=PRECISION)
    tl.store(c_ptr + place, acc)


@triton.jit
def wrong(x_ptr, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    tl.store(x_ptr + i, missing_name)
"""
POINTERS = "*fp32:16, *fp32:16, *fp32:16, i32"
SWEEPS: tuple[tuple[str, str, dict[str, Value]], ...] = (
    ("squares", "*fp32:16, *fp32:16, i32", {"BLOCK": 4096, "num_warps": 4, "maxnreg": 24}),
    ("squares", "*fp32:16, *fp32:16, i32", {"BLOCK": 4096, "num_warps": 4}),
    ("product", POINTERS, {"BLOCK": 16, "PRECISION": "ieee", "num_stages": 1}),
    ("product", POINTERS, {"BLOCK": 64, "PRECISION": "tf32", "num_stages": 12}),
    ("product", POINTERS, {"BLOCK": 64, "PRECISION": "tf32", "num_stages": 3}),
    ("wrong", "*fp32:16", {"BLOCK": 64}),
    ("product", POINTERS, {"BLOCK": 64, "PRECISION": "tf32", "num_stages": 1, "maxnreg": 64}),
)


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """#1 spills, #2 does not; #3 uses no tensor cores, #4 cannot launch, #5 can; #6 fails to compile;
    #7 spills in its loop."""
    folder = tmp_path_factory.mktemp("verdict")
    file, path = folder / "kernels.py", folder / "all.irscope"
    file.write_text(KERNELS)
    compiler = Compiler(Limits())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        for kernel, signature, values in SWEEPS:
            axes = {name: (value,) for name, value in values.items()}
            request = SweepRequest(file, kernel, signature, {}, axes, (Target("cuda", "90", 32),))
            compiler.compile(request, path, Stop())
    compiler.close()
    return path


def verdict_on(capture: Path, number: int, against: int | None = None, launch: str | None = None) -> Verdict:
    with Workspace(capture) as workspace:
        other = None if against is None else workspace.live.by_id(against)
        return workspace.verdict(workspace.live.by_id(number), other, launch)


def test_a_spill_has_its_line_and_the_variant_that_does_not_spill(capture: Path) -> None:
    found = verdict_on(capture, 1)
    assert found.launchable
    resources = {resource.name: resource for resource in found.resources}
    assert resources["registers"].used <= 24
    assert resources["stack (spills)"].used > 0
    assert found.points[0].kind == "spills"
    assert found.points[0].line in range(6, 10)
    assert [remedy.action for remedy in found.remedies][:1] == ["without maxnreg"]
    assert not any(point.kind == "spills" for point in verdict_on(capture, 2).points)


def test_the_spilled_value_is_named_by_the_order_in_which_it_is_chosen(capture: Path) -> None:
    for number, in_loops in ((1, False), (7, True)):
        with Workspace(capture) as workspace:
            found = workspace.registers(workspace.live.by_id(number)).spills
        known = [one for one in found if one.value.line]
        accesses = [one.loop_loads + one.loop_stores for one in known]
        first = known[0]
        amount = f"{first.words} word{'s' if first.words > 1 else ''}"
        text = verdict_on(capture, number).points[0].text
        if in_loops:
            assert accesses[0] == max(accesses) > 0
            assert re.search(
                rf": in loops mostly .*line {first.value.line}: {amount}, {accesses[0]} access", text
            )
        else:
            assert max(accesses) == 0
            assert first.words == max(one.words for one in known)
            assert re.search(rf": mostly .*line {first.value.line}: {amount}, none in a loop", text)


def test_a_pair_says_what_changed(capture: Path) -> None:
    pair = verdict_on(capture, 2, against=1).pair
    assert pair is not None
    assert pair.change == "maxnreg 24 -> unset"
    assert pair.points[0].text.startswith("A spills, B does not")
    assert not pair.duplicate


def test_a_product_without_tensor_cores_says_why(capture: Path) -> None:
    found = verdict_on(capture, 3)
    texts = {point.kind: point for point in found.points}
    assert texts["matrix"].text.startswith("tl.dot of line 20 uses no tensor cores (FMA)")
    assert 'input_precision="ieee"' in texts["matrix"].text
    assert texts["matrix"].line == 20
    assert [one.action for one in found.remedies] == ['input_precision="tf32" in tl.dot of line 20']
    assert not any("tf32" in one.action for one in verdict_on(capture, 5).remedies)


def test_a_variant_that_cannot_launch_names_one_that_can(capture: Path) -> None:
    found = verdict_on(capture, 4)
    assert found.launchable is False
    assert "bytes of shared memory, limit 232,448" in found.problem
    assert found.remedies[0].config == (("num_stages", 3),)
    assert (found.remedies[0].basis, found.remedies[0].variant) == ("capture", 5)


def test_a_failure_has_the_compilers_line(capture: Path) -> None:
    found = verdict_on(capture, 6)
    assert found.launchable is False
    assert found.problem == "failed: CompilationError: NameError('missing_name is not defined')"
    assert [(point.line, point.text) for point in found.points] == [
        (27, "in tl.store(x_ptr + i, missing_name)")
    ]
    assert not found.remedies


def test_the_bound_needs_a_launch(capture: Path) -> None:
    assert verdict_on(capture, 2).bound.startswith("not estimated: no launch is known")
    found = verdict_on(capture, 2, launch="grid=(cdiv(n, BLOCK),), n=1048577")
    assert "estimated on NVIDIA H100" in found.bound
    assert found.estimate is not None
    with pytest.raises(UserError, match="give the value of n"):
        verdict_on(capture, 2, launch="grid=(64,)")


def test_a_given_launch_is_judged_like_a_recorded_one(capture: Path, tmp_path: Path) -> None:
    launch = "grid=(1,), K=64, a_ptr=[4096], b_ptr=[4096], c_ptr=[100]"
    recorded = tmp_path / "recorded.irscope"
    shutil.copy(capture, recorded)
    with pytest.raises(UserError, match="no parameter or expression uses 'KK'; did you mean K"):
        add_launches(recorded, f"{launch}, KK=64", [7])
    add_launches(recorded, launch, [7])
    given, stored = verdict_on(capture, 7, launch=launch), verdict_on(recorded, 7)
    assert any(remedy.reason == "out-of-bounds, line 21" for remedy in given.remedies)
    assert (given.points, given.more) == (stored.points, stored.more)
    assert list(map(str, given.remedies)) == list(map(str, stored.remedies))
    # A launch that is given is judged instead of the recorded one.
    fitting = verdict_on(recorded, 7, launch=launch.replace("100", "4096"))
    assert not any("out-of-bounds" in remedy.reason for remedy in fitting.remedies)


def test_the_command_prints_text_and_json(capture: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verdict", str(capture), "#2", "--against", "#1"]) == 0
    text = capsys.readouterr().out
    assert text.startswith("#2 ")
    assert "B, compared with A = #1" in text
    assert main(["verdict", str(capture), "--format", "json"]) == 1  # two of them cannot launch
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "irscope.verdict/1"
    assert [one["launchable"] for one in document["verdicts"]] == [True, True, True, False, True, False, True]
    assert document["verdicts"][0]["resources"]["registers"][0] <= 24
    assert main(["verdict", str(capture), "#1", "--kernel", "squares"]) == 2
