"""`irscope run` without a GPU, run as a user runs it."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from irscope.model.text import pluralize
from irscope.store.reader import CaptureReader
from tests.conftest import Irscope
from tests.exhaustive import EXHAUSTIVE
from tests.recording import programs
from tests.recording.conftest import Recorded

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
TUNED = [
    f"EVEN=False,BLOCK={block},num_warps={warps},num_stages=3" for block in (64, 128) for warps in (2, 4)
]
DATA = Path(__file__).parent.parent / "data" / "scripts"


@pytest.fixture
def script(tmp_path: Path):
    def write(text: str) -> str:
        (tmp_path / "script.py").write_text(text)
        return "script.py"

    return write


def captured(path: Path) -> dict[str, list[str]]:
    with CaptureReader(path) as capture:
        found: dict[str, list[str]] = {}
        for variant in capture.variants():
            found.setdefault(variant.kernel.name, []).append(str(variant.config))
        return found


def test_the_specialization_is_that_of_a_launch_on_a_gpu(irscope: Irscope, tmp_path: Path):
    done = irscope("run", "--target", "cuda:90", "-o", "s.irscope", str(DATA / "specialization.py"))
    assert done.returncode == 0, done.stderr
    # The last line of the same file on an H200.
    assert done.stdout.splitlines()[-1] == "SPEC 23 7527bfaffb83c400"
    with CaptureReader(tmp_path / "s.irscope") as capture:
        variants = capture.variants()
        assert len(variants) == 23
        assert all(variant.failure is None and "cubin" in variant.artifacts for variant in variants)
        assert [str(variant.specialization[0]) for variant in variants[:4]] == [
            "*fp32:16", "*fp32", "*fp16:16", "*fp16",
        ]  # fmt: skip


def test_a_program_keeps_its_output_and_exit_code(ordinary: Recorded):
    done = ordinary.done
    assert done.returncode == 7, done.stderr
    assert done.stdout.splitlines() == [
        f"arguments ['script.py', '--kernel', '7'] __main__ {ordinary.capture.parent / 'script.py'}",
        "NVIDIA A100-SXM4-80GB 108 (8, 0) cuda:0 True",
        "True True",
    ]
    ours = [line for line in done.stderr.splitlines() if line.startswith("irscope: ")]
    assert "on stderr" in done.stderr
    assert ours == [
        "irscope: script.irscope: 6 variants of 2 kernels, 0 failed; browse: irscope script.irscope"
    ]
    assert captured(ordinary.capture) == {
        "scale": ["BLOCK=256,num_warps=4,num_stages=3", "BLOCK=512,num_warps=8,num_stages=3"],
        "tuned": TUNED,
    }


def test_every_config_that_pruning_left_is_captured_with_its_launch(ordinary: Recorded):
    with CaptureReader(ordinary.capture) as capture:
        variants = [variant for variant in capture.variants() if variant.kernel.name == "tuned"]
    assert [str(variant.config) for variant in variants] == TUNED
    assert [variant.launches[0].grid for variant in variants] == [(4, 1, 1)] * 2 + [(2, 1, 1)] * 2
    assert variants[0].launches[0].arguments == (("x", "float32[4096]"), ("y", "float32[4096]"), ("n", "200"))
    assert not any(variant.benchmarks for variant in variants)


def test_invented_times_are_not_cached_for_the_programs_own_runs(ordinary: Recorded):
    assert list(ordinary.cache.glob("**/tuned.cubin"))
    assert not list(ordinary.cache.glob("**/*autotune*"))


def test_sweep_and_limit(irscope: Irscope, tmp_path: Path, script):
    words = (
        "run",
        "--target",
        "hip:gfx942",
        "--sweep",
        "scale:BLOCK=64,128",
        "--sweep",
        "scale:num_warps=1,2",
    )
    irscope(*words, "--kernel", "scale", "--max-variants", "6", script(programs.ORDINARY))
    with CaptureReader(tmp_path / "script.irscope") as capture:
        variants = capture.variants()
    assert len(variants) == 6
    assert all("hsaco" in variant.artifacts for variant in variants)
    assert "BLOCK=128,num_warps=2,num_stages=2" in [str(variant.config) for variant in variants]


def test_reading_a_kernels_result_stops_the_program_with_one_line(irscope: Irscope, tmp_path: Path, script):
    done = irscope("run", "--target", "cuda:90", script(programs.ASKS))
    assert done.returncode == 1
    assert "not here" not in done.stdout
    assert done.stdout == "here tensor(not computed without a GPU, size=(4096,))\n"
    (line,) = [line for line in done.stderr.splitlines() if "script.py:" in line]
    assert "if x.sum().item() > 0:: needs a value" in line
    with CaptureReader(tmp_path / "script.irscope") as capture:
        assert [dict(v.launches[0].arguments)["n"] for v in capture.variants()] == ["4096", "16"]


def test_a_value_assumed_for_a_result_lets_the_program_go_on(irscope: Irscope, tmp_path: Path, script):
    name = script(programs.ASKS_IN_A_LOOP)
    stopped = irscope("run", "--target", "cuda:90", name)
    assert stopped.returncode == 1
    line = stopped.stderr.partition("--assume ")[2].partition("=VALUE")[0]
    done = irscope("run", "--target", "cuda:90", "--force", "--assume", f"{line}=2", name)
    assert done.returncode == 0, done.stderr
    assert "rounds 2" in done.stdout
    with CaptureReader(tmp_path / "script.irscope") as capture:
        assert [variant.toolchain.versions["assumed"] for variant in capture.variants()] == [f"{line}=2"] * 2


def test_a_run_of_interpreted_kernels_says_that_nothing_is_compiled(
    irscope: Irscope, tmp_path: Path, script, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITON_INTERPRET", "1")
    done = irscope("run", "--target", "cuda:90", script("import triton"))
    assert "irscope: TRITON_INTERPRET is set, so that Triton compiles no kernel" in done.stderr
    assert not list(tmp_path.glob("*.irscope*"))


def test_a_run_that_captures_nothing_says_why_and_leaves_no_file(irscope: Irscope, tmp_path: Path, script):
    done = irscope("run", "--target", "cuda:90", script("import sys; sys.exit(5)"))
    assert done.returncode == 5
    assert "irscope: this process launched no @triton.jit kernel" in done.stderr
    assert not list(tmp_path.glob("*.irscope*"))
    excluded = irscope("run", "--target", "cuda:90", "--kernel", "other", script(programs.ASKS_IN_A_LOOP))
    assert "irscope: no kernel matches 'other', only scale" in excluded.stderr


def test_an_exception_is_printed_and_the_capture_is_complete(irscope: Irscope, tmp_path: Path, script):
    done = irscope("run", "--target", "cuda:90", script(programs.RAISES))
    assert done.returncode == 1
    alone = done.stderr.partition("Traceback")[2].partition("irscope: ")[0]
    assert alone.splitlines()[1].startswith(f'  File "{tmp_path / "script.py"}", line ')
    assert alone.rstrip().endswith("ValueError: the program's own")
    assert captured(tmp_path / "script.irscope") == {"scale": ["BLOCK=256,num_warps=4,num_stages=3"]}


def test_backward_passes_and_modules_have_fake_cuda_tensors(irscope: Irscope, tmp_path: Path, script):
    done = irscope("run", "--target", "cuda:90", script(programs.BACKWARD))
    assert done.returncode == 0, done.stderr
    blocks = [config.partition(",")[0] for config in captured(tmp_path / "script.irscope")["scale"]]
    assert blocks == ["BLOCK=64", "BLOCK=32", "BLOCK=16"]


@pytest.mark.parametrize("who", ["parent", "program"])
def test_a_killed_run_leaves_the_finished_variants(tmp_path: Path, script, who: str):
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", "run", "--target", "cuda:90", script(programs.HANGS)],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout is not None
    word, program = process.stdout.readline().split()
    assert word == "compiled"
    os.kill(process.pid if who == "parent" else int(program), signal.SIGKILL)
    if who == "parent":
        process.wait()
        os.kill(int(program), signal.SIGKILL)
    process.communicate(timeout=60)
    assert process.returncode == (-9 if who == "parent" else 137)
    assert captured(tmp_path / "script.irscope") == {"scale": ["BLOCK=256,num_warps=4,num_stages=3"]}


@pytest.mark.parametrize(
    ("number", "how"), [(signal.SIGTERM, "was ended by SIGTERM"), (signal.SIGINT, "was ended by Ctrl-C")]
)
def test_an_interrupted_run_says_so_and_marks_its_capture(
    irscope: Irscope, tmp_path: Path, script, number: int, how: str
):
    capture = tmp_path / "script.irscope"
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", "run", "--target", "cuda:90", "-j", "1", script(programs.MANY)],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        stderr=subprocess.PIPE, text=True,
    )  # fmt: skip
    while not (capture.exists() and captured(capture)) and process.poll() is None:
        time.sleep(0.1)
    process.send_signal(number)
    _, printed = process.communicate(timeout=60)
    assert process.returncode == 128 + number
    assert "Traceback" not in printed
    finished = len(captured(capture)["squares"])
    assert 0 < finished < 30
    assert f"0 failed; interrupted: the program {how}, " in printed
    missing = pluralize(30 - finished, "launched variant")
    assert f" {missing} not compiled: --resume compiles the rest" in printed
    incomplete = f"script.irscope is incomplete. The writer has ended, {finished} of 30; `irscope run"
    for command in ("list", "verdict"):
        assert incomplete in irscope(command, "script.irscope").stderr


@pytest.mark.parametrize("seed", range(4 if EXHAUSTIVE else 2))
def test_killed_at_any_moment_the_capture_opens_with_the_finished_variants(tmp_path: Path, script, seed: int):
    chosen = random.Random(seed)
    both = seed % 2  # kills irscope too, or only the program
    process = subprocess.Popen(
        [sys.executable, "-m", "irscope", "run", "--target", "cuda:90", script(programs.COMPILES_ON)],
        cwd=tmp_path, env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, start_new_session=True,
    )  # fmt: skip
    assert process.stdout is not None
    program = int(process.stdout.readline().split()[1])
    for _ in range(chosen.randrange(5)):
        process.stdout.readline()
    time.sleep(chosen.uniform(0, 0.5))
    if both:
        os.killpg(process.pid, signal.SIGKILL)
    else:
        os.kill(program, signal.SIGKILL)
    printed = process.communicate(timeout=120)[0].split()
    assert process.returncode == (-9 if both else 137)
    if not both and not (tmp_path / "script.irscope").exists():
        assert not printed  # nothing was compiled, and an empty capture is not left behind
        return
    with CaptureReader(tmp_path / "script.irscope") as capture:
        variants = capture.variants()
        for variant in variants:
            assert variant.failure is None
            assert "cubin" in variant.artifacts
            assert all(capture.read(variant, stage) for stage in variant.artifacts)
    # Killing irscope itself loses records in transit; killing the program loses nothing.
    if not both and printed:
        assert len(variants) >= int(printed[-1])


def test_a_sweep_of_an_unknown_name_is_reported(irscope: Irscope, script):
    sweep = ("--sweep", "scale:BLOCKS=1,2", "--sweep", "nothing:BLOCK=1", "--kernel", "scale")
    done = irscope("run", "--target", "cuda:80", *sweep, script(programs.ORDINARY))
    assert "irscope: sweep: 'BLOCKS' is neither a tl.constexpr of scale nor an option" in done.stderr
    assert "irscope: sweep: no kernel named 'nothing' was launched" in done.stderr
    assert "2 variants of 1 kernel, 0 failed" in done.stderr


def test_resume_compiles_only_missing_variants(irscope: Irscope, tmp_path: Path, script):
    words = ("run", "--target", "cuda:90", script(programs.ORDINARY))
    assert irscope("run", "--target", "cuda:90", "--max-variants", "2", "script.py").returncode == 7
    again = irscope(*words)
    assert again.returncode == 2
    assert "script.irscope exists" in again.stderr
    assert again.stdout == ""
    resumed = irscope("run", "--resume", "--target", "cuda:90", "script.py")
    assert "there already" in resumed.stderr
    with CaptureReader(tmp_path / "script.irscope") as capture:
        assert len(capture.variants()) == 6


def test_modules_and_code_run_as_python_runs_them(irscope: Irscope, tmp_path: Path, script):
    script("import sys; print(sys.argv[1:], __name__)")
    assert irscope("run", "-m", "script", "-x", "--help").stdout == "['-x', '--help'] __main__\n"
    assert irscope("run", "-c", "import sys; print(sys.argv)", "-v").stdout == "['-c', '-v']\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ([], "specify SCRIPT.py"),
        (["nowhere.py"], "nowhere.py: no such file"),
        (["--target", "cuda:1", "-c", "1"], "known: cuda:70"),
        (["--sweep", "scale", "-c", "1"], "not KERNEL:NAME=V1,V2"),
        (["-j", "0", "-c", "1"], "-j must be at least 1"),
    ],
)
def test_wrong_use_is_reported_in_one_line(irscope: Irscope, words: list[str], message: str):
    done = irscope("run", *words)
    assert done.returncode == 2
    assert message in done.stderr
    assert done.stderr.count("\n") == 1


def test_the_limit_of_variants_is_per_kernel(irscope: Irscope, tmp_path: Path, script):
    done = irscope("run", "--target", "cuda:90", "--max-variants", "2", script(programs.TWO_KERNELS))
    assert captured(tmp_path / "script.irscope") == {
        "one": ["B=64,num_warps=4,num_stages=3", "B=128,num_warps=4,num_stages=3"],
        "two": ["B=64,num_warps=4,num_stages=3"],
    }
    assert "the limit of 2 variants per kernel (--max-variants) left out 1 of one\n" in done.stderr


def test_a_librarys_tuner_measures_what_it_would_and_stores_nothing(irscope: Irscope, tmp_path: Path):
    for name, text in programs.LIBRARY_TUNER.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    for _ in range(2):  # what the first run measured is not real: the second measures again
        done = irscope("run", "--force", "--target", "cuda:90", "script.py")
        assert done.returncode == 0, done.stderr
        assert "scale: flag_gems' tuner measures 3 configs before it launches one" in done.stderr
        configs = captured(tmp_path / "script.irscope")["scale"]
        assert [config.partition(",")[0] for config in configs] == ["B=32", "B=64", "B=128"]
    assert not (tmp_path / "tuned.json").exists()
