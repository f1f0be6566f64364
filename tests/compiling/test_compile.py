"""`irscope compile`, run as a user runs it, on kernels that compile and kernels that do not."""

from __future__ import annotations

import argparse
import os
import re
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irscope.cli import compile as command
from irscope.cli.options import sweep_request
from irscope.compiling.messages import Plan
from irscope.compiling.plan import make_plan
from irscope.model import Dtype, UserError
from irscope.model.errors import ArgumentError
from irscope.store import CaptureReader, variant_names
from tests.conftest import Irscope

# Each test compiles.
pytestmark = pytest.mark.slow

HERE = Path(__file__).parent

PLAIN, TROUBLE = str(HERE / "plain.py"), str(HERE / "trouble.py")
SCALE = [f"{PLAIN}::scale", "--signature", "*fp32, i32, fp32"]
LOOPED = [f"{PLAIN}::looped", "--signature", "*fp32, i32"]
CUDA_STAGES = {"source", "ttir", "ttgir", "llir", "ptx", "cubin"}


def test_autotuned_kernel_is_compiled_under_its_configs_with_every_stage(irscope: Irscope, tmp_path: Path):
    done = irscope("compile", f"{PLAIN}::scale", "--signature", "*fp32:16, i32:16, fp32")
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "scale.irscope") as capture:
        variants = capture.variants()
        names = variant_names(variants)
        assert [str(variant.config) for variant in variants] == [
            "BLOCK=64,EVEN=False,num_warps=2,num_stages=3",
            "BLOCK=64,EVEN=False,num_warps=4,num_stages=3",
            "BLOCK=128,EVEN=True,num_warps=2,num_stages=3",
            "BLOCK=128,EVEN=True,num_warps=4,num_stages=3",
        ]
        assert names[1] == "BLOCK=64,EVEN=False,num_warps=2"
        for variant in variants:
            assert set(variant.artifacts) >= CUDA_STAGES
            assert set(variant.seconds) == CUDA_STAGES - {"source"}
            assert "spill stores" in (variant.log or "")
        assert [helper.name for helper in variants[0].kernel.helpers] == ["scaled"]
        assert "def scale(x_ptr" in variants[0].kernel.source.text
        assert [str(a) for a in variants[0].specialization] == ["*fp32:16", "i32:16", "fp32", "2"]


def test_config_overrides_the_autotuners_and_targets_repeat(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile", f"{PLAIN}::scale", "--signature", "x_ptr=*fp16:16, n=i32, alpha=1.0", "--config",
        "num_warps=1", "--target", "cuda:80", "--target", "hip:gfx942", "-o", "x.irscope",
    )  # fmt: skip
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "'alpha'" in done.stderr
    done = irscope(
        "compile", f"{PLAIN}::scale", "--signature", "x_ptr=*fp16:16, n=i32, alpha=fp32", "--config",
        "num_warps=1", "--target", "cuda:80", "--target", "hip:gfx942", "-o", "x.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "x.irscope") as capture:
        variants = capture.variants()
        assert [(str(v.target), v.config.get("BLOCK")) for v in variants] == [
            ("cuda:80", 64), ("cuda:80", 128), ("hip:gfx942", 64), ("hip:gfx942", 128),
        ]  # fmt: skip
        assert {"amdgcn", "hsaco"} <= set(variants[2].artifacts)
        assert variants[2].specialization[0].key == "DS"


def test_constexprs_of_every_kind_reach_the_kernel(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile",
        f"{PLAIN}::typed",
        "--signature",
        '*fp32, "ieee", tl.float16, None, True',
        "-o",
        "t.irscope",
    )
    assert done.returncode == 0, done.stderr
    with CaptureReader(tmp_path / "t.irscope") as capture:
        values = [argument.value for argument in capture.variants()[0].specialization]
    assert values == [None, "ieee", Dtype("fp16"), None, True]


def test_if_a_variant_fails_only_that_variant_is_lost(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile", f"{TROUBLE}::trouble", "--signature", "*fp32:16", "--config",
        "HOW=fine,assert,abort,exit,hang", "--config", "BLOCK=64", "--timeout", "8",
    )  # fmt: skip
    assert done.returncode == 1
    assert "1 compiled, 4 failed" in done.stdout
    with CaptureReader(tmp_path / "trouble.irscope") as capture:
        by_how = {variant.config.get("HOW"): variant for variant in capture.variants()}
        assert by_how["fine"].failure is None
        assert "block is" in by_how["fine"].output
        kinds = {how: variant.failure.kind for how, variant in by_how.items() if variant.failure}
        assert kinds == {
            "assert": "CompileTimeAssertionFailure", "abort": "aborted", "exit": "exited", "hang": "timeout",
        }  # fmt: skip
        assert "HOW must not be assert" in by_how["assert"].failure.message  # type: ignore[union-attr]
        assert "SIGABRT" in by_how["abort"].failure.summary  # type: ignore[union-attr]


def test_the_stages_before_a_failure_are_kept(irscope: Irscope, tmp_path: Path):
    done = irscope("compile", f"{TROUBLE}::unfinished", "--signature", "*i32:16", "--config", "BLOCK=64,128")
    assert done.returncode == 1
    with CaptureReader(tmp_path / "unfinished.irscope") as capture:
        for variant in capture.variants():
            assert {"ttir", "ttgir", "llir", "ptx"} <= set(variant.artifacts)
            assert variant.failure is not None
            assert variant.failure.kind == "PTXASError"
            assert "Unknown modifier" in variant.failure.summary
            assert "Unknown modifier '.such'" in variant.failure.message


def test_a_second_run_uses_tritons_cache(irscope: Irscope, tmp_path: Path):
    cold = {"TRITON_CACHE_DIR": str(tmp_path / "cold")}
    words = ("compile", f"{PLAIN}::looped", "--signature", "*fp32:16, i32", "--config", "BLOCK=64")
    assert irscope(*words, "-o", "a.irscope", **cold).returncode == 0
    assert irscope(*words, "-o", "b.irscope", **cold).returncode == 0
    with CaptureReader(tmp_path / "a.irscope") as a, CaptureReader(tmp_path / "b.irscope") as b:
        (first,), (second,) = a.variants(), b.variants()
    assert (first.cached, second.cached) == (False, True)
    assert {s: x.digest for s, x in first.artifacts.items()} == {
        s: x.digest for s, x in second.artifacts.items()
    }
    assert first.log == second.log
    assert first.seconds == second.seconds


def test_the_stages_after_an_identical_ttgir_run_only_once(irscope: Irscope, tmp_path: Path):
    words = ("compile", f"{PLAIN}::looped", "--signature", "*fp32:16, i32", "--config", "BLOCK=64")
    together = (*words, "--config", "num_stages=2,3,4", "-o", "together.irscope", "-j", "1")
    assert irscope(*together, TRITON_CACHE_DIR=str(tmp_path / "cold")).returncode == 0
    again = (*together, "-o", "again.irscope")
    assert irscope(*again, TRITON_CACHE_DIR=str(tmp_path / "cold")).returncode == 0
    apart = []
    for stages in (2, 3, 4):
        name = f"apart{stages}.irscope"
        cache = str(tmp_path / f"cache{stages}")
        more = ("--config", f"num_stages={stages}", "-o", name)
        assert irscope(*words, *more, TRITON_CACHE_DIR=cache).returncode == 0
        with CaptureReader(tmp_path / name) as capture:
            apart += capture.variants()
    with CaptureReader(tmp_path / "together.irscope") as capture:
        variants = capture.variants()
    made = [set(variant.seconds) for variant in variants]
    assert made == [
        CUDA_STAGES - {"source"},
        {"ttir", "ttgir"},
        {"ttir", "ttgir"},
    ]
    with CaptureReader(tmp_path / "again.irscope") as capture:
        assert [variant.seconds for variant in capture.variants()] == [v.seconds for v in variants]
    for shared, alone in zip(variants, apart, strict=True):
        assert {s: x.digest for s, x in shared.artifacts.items()} == {
            s: x.digest for s, x in alone.artifacts.items()
        }
        assert shared.metadata == alone.metadata


def test_an_interrupted_run_keeps_its_variants_and_resumes(irscope: Irscope, tmp_path: Path):
    words = [
        "compile", f"{TROUBLE}::trouble", "--signature", "*fp32:16", "--config", "HOW=fine,hang", "--config",
        "BLOCK=64", "--config", "num_stages=1,2", "-o", "t.irscope", "-j", "1",
    ]  # fmt: skip
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", *words],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        # Tests that run in the background ignore Ctrl-C, and so would their children.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # noqa: PLW1509 - no threads here
    )  # fmt: skip
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and _finished(tmp_path / "t.irscope") < 2:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=30)
    assert process.returncode == 130
    assert _finished(tmp_path / "t.irscope") == 2
    resumed = irscope(*words, "--resume", "--timeout", "3")
    assert resumed.returncode == 1
    assert "2 already there" in resumed.stdout
    with CaptureReader(tmp_path / "t.irscope") as capture:
        assert [v.failure is None for v in capture.variants()] == [True, True, False, False]


def test_a_ctrl_c_that_python_drops_in_a_finalizer_ends_the_sweep(tmp_path: Path):
    """As it did in the finalizers of Dask's futures: the command compiled everything and exited with 0."""
    program = """
import signal, sys
from irscope.cli.main import main
from irscope.compiling import sweep

class Interrupting:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)

def write_interrupted(*arguments, write=sweep._write):
    write(*arguments)
    Interrupting()

signal.signal(signal.SIGINT, signal.default_int_handler)
sweep._write = write_interrupted
sys.exit(main(sys.argv[1:]))
"""
    words = [
        "compile", f"{PLAIN}::scale", "--signature", "*fp32:16, i32:16, fp32", "-o", "s.irscope", "-j", "1",
    ]  # fmt: skip
    command = [sys.executable, "-c", program, *words]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, "KeyboardInterrupt" in done.stderr) == (130, True), done.stderr
    assert _finished(tmp_path / "s.irscope") == 1


def _finished(path: Path) -> int:
    if not path.exists():
        return 0
    try:
        with CaptureReader(path) as capture:
            return len(capture.variants())
    except UserError:  # not a capture yet
        return 0


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nowhere.py"], "nowhere.py: no such file"),
        ([PLAIN, "--target", "cuda:1"], "known: cuda:70"),
        ([f"{PLAIN}::scale"], "--signature: "),
    ],
)
def test_wrong_use_is_reported_in_one_line(irscope: Irscope, tmp_path: Path, words: list[str], message: str):
    done = irscope("compile", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1
    assert done.stdout == ""
    assert not list(tmp_path.glob("*.irscope"))


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([PLAIN], "choose one of scale, typed"),
        ([f"{PLAIN}::scael"], "no kernel 'scael'; the file has scaled, scale, typed"),
        ([f"{PLAIN}::scale", "--signature", "*fp32"], "1 type given; the kernel has 6 parameters"),
        ([f"{PLAIN}::scale", "--signature", "*fp32, i32, fp33"], "argument 'alpha': 'fp33'"),
        ([f"{PLAIN}::scale", "--signature", "*fp32:8, i32, fp32"], "argument 'x_ptr': hint ':8'"),
        ([*SCALE, "--config", "BLOK=4"], "--config: 'BLOK' is unknown"),
        ([*SCALE, "--config", "n=4"], "run-time parameter"),
        ([*SCALE, "--const", "n=4"], "--const: 'n' is not a tl.constexpr"),
        ([*LOOPED, "--target", "hip:gfx942", "--config", "maxnreg=8"], "'maxnreg' is unknown for hip:gfx942"),
        (LOOPED, "no value for the constexpr 'BLOCK' of looped; a guess to check: --config BLOCK=1024"),
        ([f"{PLAIN}::looped"], f'{PLAIN}::looped --signature "*fp16:16, i32:16" --config BLOCK=1024'),
    ],
)  # fmt: skip
def test_a_request_that_does_not_fit_the_kernel_is_rejected(words: list[str], message: str):
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(words)
    with pytest.raises(UserError) as error:
        make_plan(sweep_request(args, args.kernel))
    assert message in error.value.command_line_text
    assert "\n" not in error.value.command_line_text


def planned(*words: str) -> Plan:
    """The plan for arguments of the command."""
    parser = argparse.ArgumentParser()
    command.add_arguments(parser)
    args = parser.parse_args(words)
    return make_plan(sweep_request(args, args.kernel))


def test_missing_types_and_constexprs_are_guessed_on_request() -> None:
    plan = planned(f"{PLAIN}::looped", "--guess")
    assert plan.notes == ('looped: guessed --signature "x_ptr=*fp16:16, n=i32:16" --config BLOCK=1024',)
    assert [argument.type for argument in plan.jobs[0].specialization] == ["*fp16", "i32", "constexpr"]
    given = planned(f"{PLAIN}::looped", "--guess", "--signature", "*fp32, i32", "--config", "BLOCK=64")
    assert given.notes == ()
    assert [argument.type for argument in given.jobs[0].specialization] == ["*fp32", "i32"]


OPTIONAL = """
import triton
import triton.language as tl

@triton.heuristics({"HAS_B": lambda args: args["b"] is not None, "EVEN": lambda args: args["n"] % 8 == 0})
@triton.jit
def optional(x, b, n, HAS_B: tl.constexpr, EVEN: tl.constexpr):
    tl.store(x, n)
"""


def test_a_value_in_the_signature_replaces_a_heuristic(tmp_path: Path) -> None:
    file = tmp_path / "given_heuristic.py"
    file.write_text(OPTIONAL)
    for signature in ("*fp16, *fp16, i32, EVEN=True", "*fp16, *fp16, i32, False, True"):
        (job,) = planned(f"{file}::optional", "--signature", signature).jobs
        assert {one.name: one.value for one in job.specialization}["EVEN"] is True
        assert job.config.get("EVEN") is None


TUNED_FOR_AMD = """
import triton
import triton.language as tl

@triton.autotune([triton.Config({"N": 64, "waves_per_eu": 1})], key=[])
@triton.jit
def tuned(x, N: tl.constexpr):
    tl.store(x + tl.arange(0, N), 1)
"""


def test_an_option_that_the_target_lacks_is_attributed_to_the_decorator(tmp_path: Path) -> None:
    file = tmp_path / "tuned_for_amd.py"
    file.write_text(TUNED_FOR_AMD)
    words = (f"{file}::tuned", "--signature", "*fp16")
    with pytest.raises(UserError) as error:
        planned(*words)
    assert error.value.command_line_text == (
        "the autotune configs of tuned set 'waves_per_eu', which is neither a tl.constexpr of it nor an "
        "option of cuda:90; it is one of hip: --target hip:gfx90a"
    )
    assert len(planned(*words, "--target", "hip:gfx942").jobs) == 1
    with pytest.raises(UserError, match="'N': leave it out; --config N=VALUE overrides them"):
        planned(f"{file}::tuned", "--signature", "*fp16, N=32", "--target", "hip:gfx942")
    with pytest.raises(UserError, match=r"known: .*num_warps.*, enable_fp_fusion, "):
        planned(*words, "--target", "hip:gfx942", "--config", "nun_warps=4")


def test_a_heuristic_may_ask_whether_an_argument_is_none(tmp_path: Path) -> None:
    file = tmp_path / "optional_arguments.py"
    file.write_text(OPTIONAL)
    for type_, expected in (("*fp16", True), ("None", False)):
        plan = planned(f"{file}::optional", "--signature", f"*fp16, {type_}, i32", "--const", "EVEN=True")
        assert plan.jobs[0].config.get("HAS_B") is expected
    with pytest.raises(UserError, match="the heuristic of 'EVEN' reads the run-time argument 'n'"):
        planned(f"{file}::optional", "--signature", "*fp16, *fp16, i32")
    assert planned(f"{file}::optional", "--guess").jobs[0].config.get("EVEN") is False


ALIASED = """
import triton
import triton.language as tl
from triton.language import constexpr as C

@triton.jit
def aliased(x, N: C):
    tl.store(x + tl.arange(0, N), 1)
"""


def test_a_constexpr_by_another_name_is_guessed_a_value(tmp_path: Path) -> None:
    file = tmp_path / "aliased_constexpr.py"
    file.write_text(ALIASED)
    plan = planned(f"{file}::aliased", "--guess")
    assert plan.notes == ('aliased: guessed --signature "x=*fp16:16" --config N=1024',)


FAILING = """
import triton
import triton.language as tl

WARPS = {64: 4}

@triton.heuristics({"WARPS": lambda args: WARPS[args["BLOCK"]], "MODE": lambda args: args["mode"]})
@triton.jit
def failing(x, BLOCK: tl.constexpr, WARPS: tl.constexpr, MODE: tl.constexpr):
    tl.store(x, WARPS)
"""


@pytest.mark.parametrize(
    ("block", "problem"),
    [
        (32, "the heuristic of 'WARPS' fails: KeyError: 32; give 'WARPS' a value"),
        (
            64,
            "the heuristic of 'MODE' reads the run-time argument 'mode', which has no value",
        ),
    ],
)
def test_an_error_of_a_heuristic_is_not_a_missing_argument(tmp_path: Path, block: int, problem: str) -> None:
    file = tmp_path / f"failing_heuristic_{block}.py"
    file.write_text(FAILING)
    with pytest.raises(UserError, match=re.escape(problem)):
        planned(f"{file}::failing", "--signature", "*fp32", "--const", f"BLOCK={block}")


QUOTED = """
import triton
import triton.language as tl

@triton.jit
def quoted(x, MODE: tl.constexpr, KIND: tl.constexpr):
    if MODE == "two words":
        tl.store(x, 1)
"""


def test_the_suggested_command_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    file = tmp_path / "quoted_values.py"
    file.write_text(QUOTED)
    with pytest.raises(ArgumentError) as raised:
        planned(f"{file}::quoted", "--const", 'KIND="16"')
    words = shlex.split(raised.value.command)
    assert words[:2] == ["irscope", "compile"]
    plan = planned(*words[2:])
    values = {one.name: one.value for one in plan.jobs[0].specialization} | dict(plan.jobs[0].config.values)
    assert (values["MODE"], values["KIND"]) == ("two words", "16")


@pytest.mark.slow
def test_every_kernel_of_a_file_compiles_with_guesses(irscope: Irscope, tmp_path: Path) -> None:
    done = irscope("compile", PLAIN, "--guess", "-j", "1", "-o", "all.irscope")
    assert done.returncode == 1  # `typed` checks the values of its constexprs
    assert "looped: guessed --signature" in done.stderr
    with CaptureReader(tmp_path / "all.irscope") as capture:
        compiled = {variant.kernel.name for variant in capture.variants() if variant.failure is None}
    assert compiled == {"scale", "unspecialized", "looped"}


def test_no_capture_is_written_without_a_plan(irscope: Irscope, tmp_path: Path) -> None:
    done = irscope("compile", PLAIN, "--guess", "--config", "BLOKC=64", "-o", "none.irscope")
    assert done.returncode == 2
    assert "'BLOKC' is unknown" in done.stderr
    assert done.stderr.endswith("irscope: nothing to compile: none.irscope was not written\n")
    assert not (tmp_path / "none.irscope").exists()


def test_no_file_is_called_as_others_call_stdout(irscope: Irscope, tmp_path: Path) -> None:
    done = irscope("compile", f"{PLAIN}::looped", "--guess", "-o", "-")
    assert done.returncode == 2
    assert "-: is not the name of a file here" in done.stderr
    assert not (tmp_path / "-").exists()


def test_an_existing_file_is_never_overwritten_without_force(irscope: Irscope, tmp_path: Path):
    target = tmp_path / "looped.irscope"
    target.write_text("precious")
    words = ("compile", f"{PLAIN}::looped", "--signature", "*fp32, i32", "--config", "BLOCK=64")
    done = irscope(*words)
    assert done.returncode == 2
    assert "looped.irscope exists" in done.stderr
    assert target.read_text() == "precious"
    assert irscope(*words, "--force").returncode == 0
