"""Problems, estimates and picks of a capture, on kernels that are compiled here."""

from __future__ import annotations

import json
import shutil
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.estimating.estimate import estimate
from irscope.interpreting.bits.classes import Evaluation
from irscope.model import Benchmark, Config, Failure, Launch, Target, UserError, Variant
from irscope.model.integer_values import encoded_integers
from irscope.model.text import microseconds_text
from irscope.store import CaptureWriter
from irscope.tui.screens.estimate import pair_estimate_lines
from irscope.workspace import Pick, Workspace
from irscope.workspace.picking import measured_microseconds, never_launched, parse_top, picks
from irscope.workspace.problem_sizes import problems
from irscope.workspace.stage_contents import DerivedCache

SAMPLES = Path(__file__).parents[2] / "samples"
N = 1 << 20
GRID = f"grid=(cdiv(n, BLOCK_SIZE),), n={N}"


def launched(variant: Variant, n: int = N) -> Launch:
    """The launch of samples/vector_add.py for n elements."""
    block = variant.config.get("BLOCK_SIZE")
    assert isinstance(block, int)
    tensors = tuple((name, f"float32[{n}]") for name in ("x_ptr", "y_ptr", "out_ptr"))
    return Launch((-(-n // block), 1, 1), (*tensors, ("n", str(n))))


def measure(path: Path, milliseconds: Mapping[int, float], sizes: tuple[int, ...] = (N,)) -> Path:
    """Adds launches, and the autotuner's times by variant id, to a capture."""
    with Workspace(path) as capture:
        variants = capture.variants
    with CaptureWriter.resume(path) as writer:
        for variant in variants:
            times = [milliseconds[variant.id]] if variant.id in milliseconds else []
            benchmarks = tuple(Benchmark(f"n={N}", ms, ms, ms) for ms in times)
            writer.set_measured(variant.id, tuple(launched(variant, n) for n in sizes), benchmarks)
    return path


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory, triton_cache: Path) -> Path:
    """Block sizes of 32 and 1024, each with two num_stages: the same machine code."""
    path = tmp_path_factory.mktemp("picking") / "add.irscope"
    sweep = ["--config", "BLOCK_SIZE=32,1024", "--config", "num_stages=3,4"]
    signature = ["--signature", "*fp32:16, *fp32:16, *fp32:16, i32:16"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TRITON_CACHE_DIR", str(triton_cache))
        assert main(["compile", str(SAMPLES / "vector_add.py"), *signature, *sweep, "-o", str(path)]) == 0
    return path


@pytest.fixture(scope="module")
def capture(compiled: Path) -> Path:
    """The same with launches, of which the autotuner measured those of #1 and #3."""
    path = compiled.with_name("launched.irscope")
    shutil.copy(compiled, path)
    return measure(path, {1: 0.02, 3: 0.005})


def test_top():
    assert [parse_top(text)(45) for text in ("10%", "8", "100%", "0.1%")] == [5, 8, 45, 1]
    for text in ("0", "-1", "ten", "110%", "1.5", "nan"):
        with pytest.raises(UserError, match="--top"):
            parse_top(text)


def test_a_key_names_the_problem_that_was_measured():
    benchmarks = [Benchmark("M=512, N=64", 0.5, 0.5, 0.5), Benchmark("M=16, N=64", 0.1, 0.1, 0.1)]
    assert measured_microseconds(benchmarks, {"M": "16", "N": "64", "x": "float16[16]"}) == 100
    assert measured_microseconds(benchmarks, {"M": "32", "N": "64"}) is None


def test_the_launches_of_all_configs_for_equal_arguments_are_one_problem(capture: Path):
    with Workspace(capture) as opened:
        (problem,) = problems(opened.variants)
    assert (problem.kernel, problem.target, problem.text) == ("add_kernel", "cuda:90", f"n={N}")
    assert len(problem.variants) == 4 and problem.grid is None
    assert {launch.grid for launch in problem.launches.values()} == {(N // 32, 1, 1), (N // 1024, 1, 1)}


def test_problems_of_other_arguments_and_constants_are_separate(capture: Path):
    with Workspace(capture) as opened:
        first, *rest = opened.variants
    other = replace(first, id=9, launches=(launched(first, 2 * N),))
    flags = Config((*first.config.values, ("CAUSAL", True)))
    flagged = replace(first, id=10, config=flags, benchmarks=())  # benchmarks: flags are tuned
    unlaunched = replace(first, id=11, launches=())
    found = problems([first, *rest, other, flagged, unlaunched])
    assert [len(problem.variants) for problem in found] == [4, 1, 1]
    assert [problem.text for problem in found] == [f"n={N}", f"n={2 * N}", f"n={N}, CAUSAL=True"]
    assert [[v.id for v in problem.unlaunched] for problem in found] == [[11], [11], []]


def test_outputs_that_depend_on_the_config_do_not_separate_problems(capture: Path):
    """A kernel that splits its work writes as many partial results as the config says."""
    with Workspace(capture) as opened:
        first, second, *_ = opened.variants
    arguments = (*launched(first).arguments[:2], ("out_ptr", "float32[4, 1048576]"), ("n", str(N)))
    other = replace(second, launches=(Launch((4, 1, 1), arguments),))
    (problem,) = problems([first, other])
    assert len(problem.variants) == 2
    inputs = (("x_ptr", "float32[2097152]"), *launched(first).arguments[1:])
    other = replace(second, launches=(Launch((4, 1, 1), inputs),))
    assert len(problems([first, other])) == 2


def test_lists_that_depend_on_the_config_do_not_separate_problems(capture: Path):
    """The slots of experts are padded to whole blocks, whose size is the config's."""
    with Workspace(capture) as opened:
        first, second, *_ = opened.variants

    def routed(variant: Variant, block: int, rows: int = 64) -> Variant:
        slots = encoded_integers("int32", range(4 * block))
        padded = encoded_integers("int32", [3 * block])
        lists = (("y_ptr", f"int32[{4 * block}]"), ("out_ptr", "int32[1]"), ("n", str(4 * block)))
        arguments = (("x_ptr", f"float32[{rows}]"), *lists)
        launch = Launch((4, 1, 1), arguments, values=(("y_ptr", slots), ("out_ptr", padded)))
        return replace(variant, launches=(launch,))

    (problem,) = problems([routed(first, 16), routed(second, 32)])
    assert len(problem.variants) == 2
    assert problem.arguments == (("x_ptr", "float32[64]"), ("out_ptr", "int32[1]"))
    assert len(problems([routed(first, 16), routed(second, 32, rows=128)])) == 2
    assert len(problems([routed(first, 16), routed(first, 32)])) == 2  # one config: two calls


def test_an_estimate_that_depends_on_unknown_values_is_not_a_number(
    capture: Path, monkeypatch: pytest.MonkeyPatch
):
    from irscope.estimating.counting.counts import _LaunchCounter

    monkeypatch.setattr(_LaunchCounter, "_depends", lambda *_: iter(["lengths (line 24)"]))
    with Workspace(capture) as opened:
        opened.estimates._cache = DerivedCache(capture.parent / "own")
        facts = opened.estimates.facts(opened.variants[0])
        (pick,) = opened.pick()
        verdict = opened.verdict(opened.variants[0])
    assert facts["estimate"].value is None and facts["bound"].value == "depends on lengths (line 24)"
    assert pick.best is not None and pick.best.estimate is not None
    assert pick.best.estimate.text.endswith("?")
    assert pick.limits[0].startswith("?: depends on the values of lengths (line 24)")
    assert "? us estimated on" in verdict.bound and "depends on the values of lengths" in verdict.bound


def test_a_pick_ranks_configs_and_compares_them_with_measurements(capture: Path):
    with Workspace(capture) as opened:
        (pick,) = opened.pick()
        (limited,) = opened.pick(top=1)
        best = opened.variant(3)
        code = best.config.code
    assert [choice.variant.id for choice in pick.accepted] == [3, 1]
    assert {choice.variant.id: choice.reason for choice in pick.choices[2:]} == {
        2: "duplicate",
        4: "duplicate",
    }
    assert pick.best is not None and pick.best.measured == 5
    assert len(pick.measured) == 2 and pick.correlation is None and pick.speed == 1.0
    assert [choice.reason for choice in limited.choices] == ["", "slower", "duplicate", "duplicate"]
    assert code == 'triton.Config({"BLOCK_SIZE": 1024}, num_stages=3)'


def test_estimates_are_kept_between_sessions(capture: Path, monkeypatch: pytest.MonkeyPatch):
    with Workspace(capture) as opened:
        first = opened.estimate(opened.variant(1))
    monkeypatch.setattr("irscope.estimating.estimate.estimates", None)
    with Workspace(capture) as opened:
        assert opened.estimate(opened.variant(1)) == first
        with pytest.raises(TypeError):  # another launch is not among them
            opened.estimate(opened.variant(1), GRID.replace(str(N), "4096"))


def test_a_variant_without_launches_needs_one(compiled: Path):
    with Workspace(compiled) as opened:
        with pytest.raises(UserError, match="#1 was not launched; give a launch"):
            opened.estimate(opened.variant(1))
        with pytest.raises(UserError, match=r"no launches were recorded; say how .* --launch"):
            opened.pick()
        (pick,) = opened.pick(launch=GRID)
        assert [choice.variant.id for choice in pick.accepted] == [3, 1]
        assert opened.estimate(opened.variant(3), GRID) == pick.accepted[0].estimate


def test_the_table_has_estimates_only_if_asked(capture: Path):
    with Workspace(capture) as opened:
        assert "estimate" not in opened.table()[0]
        (section,) = opened.sections(sort="estimate", estimate=True)
        rows = opened.table(estimate=True)
    assert section.variants[0].id in (3, 4)
    assert rows[0]["estimate"] > rows[2]["estimate"] > 0 and rows[0]["bound"]
    assert rows[0]["estimate_key"] == f"n={N}, x_ptr=float32[{N}], y_ptr=float32[{N}]"


def test_the_command_prints_code_and_json(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["pick", str(capture), "--top", "1", "--explain"]) == 0
    shown = capsys.readouterr().out
    assert f"add_kernel  cuda:90  n={N}" in shown
    assert "4 configs, 1 worth measuring" in shown
    assert '    triton.Config({"BLOCK_SIZE": 1024}, num_stages=3),' in shown
    assert "slower by estimate: 1 config" in shown and "duplicate: 2 configs" in shown
    assert "us estimated on NVIDIA H100" in shown
    assert main(["pick", str(capture), "--format", "json"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    assert document["kernel"] == "add_kernel"
    assert document["launch"]["grid"] == [N // 1024, 1, 1]
    assert document["launch"]["arguments"]["n"] == N
    first, second, *_ = document["ranking"]
    assert first["config"] == {"BLOCK_SIZE": 1024, "num_stages": 3} and first["rejected"] is None
    assert 0 < first["estimate_us"] < second["estimate_us"]
    assert first["measured_us"] == 5
    assert first["bound"] in [term["name"] for term in first["terms"]]


def test_errors_of_the_command_are_one_line(compiled: Path, capsys: pytest.CaptureFixture[str]):
    for words, message in [
        ([], "no launches were recorded"),
        (["--launch", "n=1"], "there is no grid"),
        (["--launch", GRID, "--top", "0"], "--top 0: write a number of configs"),
        (["--launch", GRID, "--kernel", "none"], "none"),
    ]:
        assert main(["pick", str(compiled), *words]) == 2
        error = capsys.readouterr().err
        assert message in error and error.count("\n") == 1


def test_calibrating_fits_the_constants_to_measured_times(
    compiled: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    timed = tmp_path / "timed.irscope"
    shutil.copy(compiled, timed)
    measure(timed, {1: 0.04, 2: 0.04, 3: 0.012, 4: 0.012})
    fitted = tmp_path / "h100.json"
    assert main(["pick", "--calibrate", str(timed), "-o", str(fitted)]) == 0
    shown = capsys.readouterr().out
    assert "NVIDIA H100 SXM 80GB: 4 measured launches of 1 problem" in shown
    assert "memory latency" in shown and "typical error of an estimate: " in shown
    assert main(["pick", "--calibrate", str(timed), "-o", str(fitted)]) == 2
    assert "replace it with --force" in capsys.readouterr().err
    with Workspace(timed) as opened:
        before, after = (opened.pick(device=device)[0] for device in ("H100", str(fitted)))
    assert _error(after) < _error(before)
    assert main(["pick", "--calibrate", str(compiled)]) == 2
    assert "nothing was measured" in capsys.readouterr().err


def _error(pick: Pick) -> float:
    return sum(abs(estimate / measured - 1) for estimate, measured in pick.measured)


def test_a_device_is_a_name_or_a_file(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["pick", str(capture), "--device", "a100"]) == 0
    shown = capsys.readouterr().out
    assert "NVIDIA A100" in shown and "cuda:80" in shown and "cuda:90" not in shown
    assert main(["pick", str(capture), "--device", "Z80"]) == 2
    assert "no device 'Z80'; known: H100" in capsys.readouterr().err


def test_a_pair_has_its_estimates_as_a_finding(capture: Path):
    with Workspace(capture) as opened:
        slow, fast = opened.variant(1), opened.variant(3)
        comparison = opened.compare(slow, fast)
        (finding,) = [one for one in comparison.main_findings if one.kind == "estimate"]
        time = microseconds_text(opened.estimate(slow).microseconds)
        assert f"x faster by estimate ({time} -> " in finding.text
        assert finding.text.endswith(f"for n={N}")
        lines = pair_estimate_lines(comparison)
        duplicates = opened.compare(fast, opened.variant(4))
        assert not [one for one in duplicates.findings if one.kind == "estimate"]
    assert lines[0].text == finding.text
    assert [line.text.split()[0] for line in lines if line.title] == ["A", "B"]
    assert any(line.target is not None for line in lines)


def test_estimates_can_be_checked(capture: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["check", str(capture), "--expect", "estimate > 0 and bound != spills"]) == 0
    assert main(["check", str(capture), "--expect", "estimate < 0.1"]) == 1
    assert "estimate is " in capsys.readouterr().out


def test_a_target_without_a_model_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from tests.cli.conftest import write_capture

    path = write_capture(tmp_path / "plain.irscope")  # without binaries
    assert main(["pick", str(path), "--launch", "grid=1"]) == 0
    shown = capsys.readouterr().out
    assert "not estimated: #1: " in shown and "bound by" not in shown
    assert "triton.Config({" in shown


def test_names_kernels_without_any_launch(compiled: Path, capture: Path) -> None:
    with Workspace(compiled) as without, Workspace(capture) as with_launches:
        assert never_launched(without, None, None) == ["add_kernel"]
        assert never_launched(with_launches, None, None) == []


def test_a_target_without_rates_has_no_estimates(capture: Path) -> None:
    with Workspace(capture) as workspace:
        older = replace(workspace.variants[0], target=Target("cuda", "70", 32))
        with pytest.raises(UserError, match="cuda:70: irscope can estimate only launches on cuda:75, "):
            estimate(older, launched(older), lambda stage: None)


def test_a_failed_config_is_no_reason_for_missing_estimates(
    capture: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with Workspace(capture) as workspace:
        failed = [
            replace(one, failure=Failure("Error", "no", ""), artifacts={}) for one in workspace.variants
        ]
        monkeypatch.setattr(workspace, "select", lambda *_: failed)
        (pick,) = picks(workspace)
    assert pick.trouble == ""
    assert {choice.reason for choice in pick.choices} == {"not compiled"}


# The same bits.


def same_bits(opened: Workspace, name: str) -> Pick:
    (pick,) = opened.pick(same_bits_as=opened.variant(name))
    assert pick.same_bits is not None
    return pick


def test_only_configs_of_the_same_bits_are_picked(bits_capture: Path):
    with Workspace(bits_capture) as opened:
        slow = opened.select("row_sum")[0]
        pick = same_bits(opened, f"#{slow.id}")
        assert [choice.variant for choice in pick.accepted] == [slow]
        assert {choice.reason for choice in pick.choices[1:]} == {"other bits"} and len(pick.choices) == 4
        found = pick.same_bits
        assert found is not None and found.variants == (slow.id,) and not found.unknown
        assert found.fastest is not None and found.fastest.estimate and pick.best and pick.best.estimate
        ratio = pick.best.estimate.microseconds / found.fastest.estimate.microseconds
        assert found.cost == pytest.approx(ratio - 1) and found.cost > 0
        assert f"same bits as #{slow.id}: 1 config; costs {found.cost:.1%} by estimate: " in found.text
        (plain,) = opened.pick("row_sum")
        assert plain.same_bits is None and plain.best and plain.best.variant == found.fastest.variant


def test_the_same_bits_of_a_matmul_cost_nothing(bits_capture: Path):
    with Workspace(bits_capture) as opened:
        first, *others = opened.select("matmul")
        pick = same_bits(opened, f"#{first.id}")
        (plain,) = opened.pick("matmul")
        assert [c.variant.id for c in pick.choices] == [c.variant.id for c in plain.choices]
        assert pick.same_bits and pick.same_bits.cost == 0
        assert pick.same_bits.text.startswith("same bits as #1: 3 configs; costs nothing by estimate: ")
        # What failed to execute is counted, and not picked.
        opened.evaluations.of = lambda variant, launch, kernel=None, of=opened.evaluations.of: (  # type: ignore[method-assign]
            Evaluation(unanswered="no rule for it") if variant == others[0] else of(variant, launch, kernel)
        )
        pick = same_bits(opened, f"#{first.id}")
        (unknown,) = (choice for choice in pick.choices if choice.variant == others[0])
        assert unknown.rejected == "unknown bits: no rule for it" and unknown.reason == "unknown bits"
        assert pick.same_bits and pick.same_bits.unknown == {others[0].id: "no rule for it"}
        assert pick.same_bits.text.endswith("; 1 unknown, not picked")


def test_nothing_has_the_bits_of_what_is_unknown_or_not_repeatable(bits_capture: Path):
    with Workspace(bits_capture) as opened:
        for kernel, why in (("sum_below", "length of a loop"), ("add_all", "order of atomics decides")):
            first = opened.select(kernel)[0]
            pick = same_bits(opened, f"#{first.id}")
            assert not pick.accepted and pick.same_bits and not pick.same_bits.variants
            assert why in pick.same_bits.text and pick.same_bits.text.endswith("; nothing is picked")
            assert pick.same_bits.cost is None
        with pytest.raises(UserError, match="#1 is not launched by what was selected"):
            opened.pick("row_sum", same_bits_as=opened.variant("#1"))


def test_what_the_same_bits_cost_in_every_format(bits_capture: Path, capsys: pytest.CaptureFixture[str]):
    words = ["pick", str(bits_capture), "--same-bits-as", "#4"]
    assert main(words) == 0
    text = capsys.readouterr().out
    assert "same bits as #4: 1 config; costs " in text and "other bits: 3 configs" in text
    assert main([*words, "--format", "json", "--launch", "grid=(16,), N=2048, x=[16, N]"]) == 0
    (document,) = json.loads(capsys.readouterr().out)
    record = document["same_bits"]
    assert (record["reference"], record["variants"], record["unknown"]) == (4, [4], [])
    assert record["fastest_same"]["id"] == 4 and record["cost"] > 0 and record["trouble"] is None
