"""Varied and pinned launches, from the capture of a program to a machine with a (fake) GPU."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.compiling.launch_grid import parse_axes
from irscope.compiling.toolchain.patching import variable_set
from irscope.jobs.warm.cache_folder import write_files
from irscope.jobs.warm.launch_plans import CompiledLaunches, WarmOptions, compile_launches, launches_of
from irscope.model import Config, Tuning, Variant
from irscope.model.tuning_pin import Pin
from irscope.store import CaptureReader
from irscope.targets import parse_target

pytest.importorskip("torch")
pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
KEYS = {
    "pruned": "(512, 'relu', 'torch.float32', 'torch.float32')",
    "scaled": "(64, 512, 'torch.float32', 'torch.float16')",
    "hooked": "(512, 'torch.float32', 'torch.float32')",
}
WINNER = Config((("BLOCK", 256), ("num_warps", 4), ("num_stages", 3)))


def pin(kernel: str, config: Config = WINNER, key: str = "", configs: int = 0) -> Pin:
    return Pin(kernel, "", "cuda:90", config, Tuning(key or KEYS[kernel], configs), ())


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The capture of tuned_program.py without a GPU; the program is next to it."""
    folder = tmp_path_factory.mktemp("tuned")
    shutil.copy(HERE / "tuned_program.py", folder)
    words = ["-m", "irscope", "run", "--target", "cuda:90", "-o", "tuned.irscope", "tuned_program.py"]
    variables = {**os.environ, "TRITON_CACHE_DIR": str(folder / "first-cache")}
    subprocess.run([sys.executable, *words], cwd=folder, env=variables, check=True, capture_output=True)
    return folder / "tuned.irscope"


@pytest.fixture
def known_cache(capture: Path, tmp_path: Path) -> Path:
    """A cache with what the capture has, for tests of what is planned."""
    (tmp_path / "cache").symlink_to(capture.parent / "first-cache")
    return tmp_path / "cache"


def warmed(capture: Path, cache: Path, options: WarmOptions) -> CompiledLaunches:
    with variable_set("TRITON_CACHE_DIR", str(cache)):
        varied = compile_launches(
            [kernel for kernel in launches_of(capture, options) if options.expands(kernel)],
            cache.with_suffix(".irscope"),
            options,
        )
    write_files(cache, varied.files)
    return varied


def produced(program: Path, cache: Path, tmp_path: Path, *words: str) -> dict[str, int]:
    """Counts what Triton compiles and measures on a machine with a fake GPU that has this cache."""
    fake_gpu = pytest.importorskip("tests.fake_gpu")
    library = fake_gpu.build_libcuda(tmp_path / "libcuda")
    variables = fake_gpu.production_environment(library, cache) | {"TRITON_CACHE_AUTOTUNING": "1"}
    command = [sys.executable, HERE / "count_compilations.py", HERE.parent / "fake_gpu", program, *words]
    done = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    counts: dict[str, int] = json.loads(done.stdout.splitlines()[-1])
    return counts


def variants_of(capture: Path) -> list[Variant]:
    with CaptureReader(capture) as reader:
        return list(reader.variants())


def test_recorded_launches_need_exactly_the_recorded_variants(capture: Path, known_cache: Path):
    options = WarmOptions(axes=parse_axes("*:n=512;rows=64"), prices=False)
    varied = warmed(capture, known_cache, options)
    assert (varied.problems, varied.failed) == ((), 0)
    assert {plan.kernel for plan in varied.plans} == {"pruned", "scaled", "hooked"}
    jobs = {
        (plan.kernel, job.specialization, frozenset(job.config.values))
        for plan in varied.plans
        for job in plan.warm.plan.jobs
    }
    assert jobs == {
        (variant.kernel.name, variant.specialization, frozenset(variant.config.values))
        for variant in variants_of(capture)
    }


def test_with_pins_only_winners_are_compiled_and_production_measures_nothing(capture: Path, tmp_path: Path):
    small = Config((("BLOCK", 128), ("num_warps", 2), ("num_stages", 3), ("WHOLE", False)))
    again = pin("pruned", small, "(100, 'relu', 'torch.float32', 'torch.float32')")
    pins = (pin("pruned", configs=4), again, pin("scaled"), pin("hooked"))
    cache = tmp_path / "cache"
    varied = warmed(capture, cache, WarmOptions(pins=pins, prices=False))
    assert {plan.kernel: len(plan.warm.plan.jobs) for plan in varied.plans} == {
        "pruned": 2, "scaled": 1, "hooked": 2,
    }  # fmt: skip
    assert len(varied.files) == 3
    notes = "\n".join(varied.lines)
    assert "hooked: Triton keeps no autotune results of it (a config has a pre_hook): all 2 configs" in notes
    assert "pruned: " not in notes
    assert "scaled: " not in notes
    counts = produced(capture.with_name("tuned_program.py"), cache, tmp_path)
    assert counts == {"compiled": 0, "hits": 5, "measured": 2}  # of `hooked`, as the note says


def test_pins_that_do_not_fit_are_named_and_everything_is_compiled(capture: Path, known_cache: Path):
    gone = Config((("BLOCK", 512), ("num_warps", 4), ("num_stages", 3)))
    pins = (pin("pruned", gone), pin("scaled", key="(64, 512, 'torch.bfloat16')"))
    varied = warmed(capture, known_cache, WarmOptions(pins=pins, prices=False))
    notes = "\n".join(varied.lines)
    assert f"no config is {gone} any more, so all 4 are compiled" in notes
    assert "scaled: no pin for 1 tuning key" in notes
    assert {plan.kernel: len(plan.warm.plan.jobs) for plan in varied.plans} == {"pruned": 6, "scaled": 4}
    assert varied.files == {}


def test_varied_launches_are_warm_for_values_that_were_never_launched(capture: Path, tmp_path: Path):
    program = tmp_path / "other_values.py"
    calls = "\n".join(
        f"    pruned[(8,)](out, out, {n}, ACTIVATION='relu')" for n in (1, 7, 16, 129, 384, 1000, 4096)
    )
    # The cache key has a kernel's text and first line, so the kernels are imported.
    program.write_text(
        f"import sys\nsys.path.insert(0, {str(capture.parent)!r})\n"
        "import torch\nfrom tuned_program import pruned\n"
        f"if True:\n    out = torch.zeros(65536, device='cuda', dtype=torch.float32)\n{calls}\n"
    )
    cache = tmp_path / "cache"
    varied = warmed(capture, cache, WarmOptions(axes=parse_axes("pruned:n=1..4096"), prices=False))
    assert varied.failed == 0
    counts = produced(program, cache, tmp_path)
    assert counts["compiled"] == 0
    assert counts["measured"] > 0  # no pins


def test_the_price_of_not_specializing_is_measured(capture: Path, tmp_path: Path):
    options = WarmOptions(axes=parse_axes("hooked:n=1..4096"))
    varied = warmed(capture, tmp_path / "cache", options)
    (line,) = [line for line in varied.lines if "do_not_specialize" in line]
    assert "do_not_specialize=['n'] would save 4 of 6 compilations, at this price for n=" in line
    assert "Instructions in the assembly: " in line


def test_code_that_only_shows_the_price_is_not_in_the_folder(capture: Path, tmp_path: Path):
    varied = warmed(capture, tmp_path / "cache", WarmOptions(axes=parse_axes("hooked:n=1,16")))
    (line,) = [line for line in varied.lines if "do_not_specialize" in line]
    assert "do_not_specialize=['n'] would save 2 of 4 compilations, at " in line
    assert len(variants_of(tmp_path / "cache.irscope")) == 4
    assert len(list((tmp_path / "cache").glob("*/__grp__hooked.json"))) == 4


def test_amd_targets(tmp_path: Path, capture: Path):
    target = parse_target("hip:gfx942")
    options = WarmOptions(axes=parse_axes("hooked:n=1..64"), prices=False)
    kernels = tuple(
        type(each)(each.kernel, each.file, target, each.cases, each.axes)
        for each in launches_of(capture, options)
        if options.expands(each)
    )
    with variable_set("TRITON_CACHE_DIR", str(tmp_path / "cache")):
        varied = compile_launches(kernels, tmp_path / "out.irscope", options)
    assert varied.failed == 0
    assert {str(job.target) for plan in varied.plans for job in plan.warm.plan.jobs} == {"hip:gfx942"}
    assert {job.specialization[0].key for job in varied.plans[0].warm.plan.jobs} == {"DS"}
