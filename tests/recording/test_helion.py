"""Helion's kernels with Helion itself, which is no dependency of irscope: pip install helion."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from irscope import open as open_capture
from irscope.api import Capture
from irscope.model import Benchmark
from tests.recording.conftest import Recorded, run_program

pytest.importorskip("torch")
pytest.importorskip("helion")
pytestmark = pytest.mark.slow
HERE = Path(__file__).parent
# This search needs no scikit-learn.
ENVIRONMENT = {"HELION_AUTOTUNER": "PatternSearch", "HELION_SKIP_CACHE": "1"}
SIGNATURE = "fp16[128, 64], fp16[64, 96]"


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Recorded:
    """`irscope run --configs 2` of helion_kernels.py."""
    folder = tmp_path_factory.mktemp("helion")
    words = ("-m", "irscope", "run", "--target", "cuda:90", "--configs", "2", HERE / "helion_kernels.py")
    return run_program(folder, "helion_kernels.irscope", folder / "cache", *words, **ENVIRONMENT)


@pytest.fixture(scope="module")
def captured(program: Recorded) -> Capture:
    assert program.done.returncode == 0, program.done.stderr
    return open_capture(program.capture)


def test_the_program_runs_on_the_simulated_device(program: Recorded):
    assert program.done.stdout == "cuda:0 (128, 96) torch.float16 torch.Size([12287])\n", program.done.stderr


def test_every_listed_config_is_compiled(captured: Capture):
    matmul = [variant for variant in captured.variants if variant.kernel.name == "_helion_matmul"]
    assert [captured.names[variant.id].replace(" ", "").split(",num_stages")[0] for variant in matmul] == [
        "block_sizes=[32,32,16],indexing=pointer,num_warps=2",
        "block_sizes=[64,32,16],indexing=pointer,num_warps=4",
        "block_sizes=[32,32,16],indexing=tensor_descriptor,num_warps=2",
    ]
    assert all(variant.failure is None and "cubin" in variant.artifacts for variant in matmul)
    # Values that follow from the config are not part of the specialization.
    assert [str(argument) for argument in matmul[0].specialization] == ["*fp16:16"] * 3
    assert matmul[0].kernel is matmul[1].kernel or matmul[0].kernel == matmul[1].kernel
    assert matmul[0].kernel != matmul[2].kernel


def test_the_first_configs_of_a_search_are_compiled_and_the_capture_says_so(
    program: Recorded, captured: Capture
):
    double = [variant for variant in captured.variants if variant.kernel.name == "_helion_double"]
    assert len({str(variant.config) for variant in double}) == 2
    assert "double: 2 of the " in program.done.stderr
    assert captured.variants[0].toolchain.versions["configs of double"].startswith("2 of the first ")
    assert "2 kernels, 0 failed" in program.done.stderr


def test_the_helion_source_is_the_first_stage(captured: Capture):
    first, *_ = captured.variants
    assert captured.stages(first)[0] == "helion"
    text = captured.text(first, "helion")
    assert text.startswith(f"# {HERE / 'helion_kernels.py'}:")
    assert "acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])" in text


def test_findings_name_the_line_of_the_helion_kernel(captured: Capture):
    a, b, c = captured.variants[:3]
    findings = [finding.text for finding in captured.compare(a, b).findings]
    assert any("helion_kernels.py:" in text and "acc = torch.addmm(" in text for text in findings)
    generated = [finding.text for finding in captured.compare(a, c).findings if "Helion" in finding.text]
    assert len(generated) == 1, "edits of generated code are one finding"


def test_the_machine_code_is_that_of_helion_alone(program: Recorded, captured: Capture, tmp_path: Path):
    (tmp_path / "alone.py").write_text(_ALONE.format(folder=str(HERE)))
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "alone.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == [captured.variants[n].artifacts["ptx"].digest for n in range(2)]


# Generates and compiles two configs of matmul with Helion and Triton only, for FakeTensors on cuda:0. These
# have no address, on which the code of the third config depends.
_ALONE = """
import hashlib, sys
import torch, triton
from torch._subclasses.fake_tensor import FakeTensorMode
from irscope.targets import parse_target
from irscope.compiling.fake_cuda.torch_cuda import _cuda_replacements
from irscope.compiling.toolchain.stub_driver import StubDriver, gpu_target
target = parse_target("cuda:90")
triton.runtime.driver.set_active(StubDriver(target))
for owner, name, value in _cuda_replacements(target):
    setattr(owner, name, value)
torch.empty = (lambda original: lambda *a, **k: None if a == (1,) else original(*a, **k))(torch.empty)
torch.accelerator.current_accelerator = lambda *_, **__: torch.device("cuda")
sys.path.insert(0, {folder!r})
import helion_kernels
from torch._inductor.codecache import PyCodeCache
with FakeTensorMode():
    x = torch.empty_strided((128, 64), (64, 1), dtype=torch.float16, device="cuda:0")
    y = torch.empty_strided((64, 96), (96, 1), dtype=torch.float16, device="cuda:0")
bound = helion_kernels.matmul.bind((x, y))
for config in helion_kernels.CONFIGS[:2]:
    kernel = PyCodeCache.load(bound.to_triton_code(config))._helion_matmul
    signature = {{name: "*fp16" for name in kernel.arg_names}}
    attributes = {{(i,): [["tt.divisibility", 16]] for i in range(3)}}
    source = triton.compiler.ASTSource(kernel, signature, {{}}, attributes)
    stages = bound.config_spec.normalized_config(config).num_stages
    options = {{"num_warps": config.num_warps, "num_stages": stages}}
    compiled = triton.compile(source, target=gpu_target(target), options=options)
    print(hashlib.sha256(compiled.asm["ptx"].encode()).hexdigest())
"""


def compile_matmul(folder: Path, *words: str) -> Recorded:
    kernel = f"{HERE / 'helion_kernels.py'}::matmul"
    all_words = ("-m", "irscope", "compile", kernel, *words)
    return run_program(folder, "matmul.irscope", folder / "cache", *all_words, **ENVIRONMENT)


def test_a_kernel_of_a_file_is_compiled_under_given_configs(tmp_path: Path):
    words = ("--signature", SIGNATURE, "--config", "block_sizes=[32,32,32],[64]", "--config", "num_warps=2,4")
    recorded = compile_matmul(tmp_path, *words)
    assert recorded.done.returncode == 1, recorded.done.stderr
    assert recorded.done.stderr.count("rejected by Helion: block_sizes=[64]") == 4
    # Of the three configs of the kernel, two become equal.
    assert recorded.done.stdout.startswith("matmul.irscope: 4 compiled, 0 failed")


def test_a_signature_that_does_not_fit_is_one_line(tmp_path: Path):
    recorded = compile_matmul(tmp_path, "--signature", "fp16[128, 64]")
    assert recorded.done.returncode == 2
    line, *more = recorded.done.stderr.splitlines()
    assert line.startswith("irscope compile: --signature: missing a required argument: 'y'; matmul has x, y")
    assert not more
    assert not recorded.capture.exists()


def test_on_a_gpu_each_measured_config_has_its_time(tmp_path: Path):
    program = HERE / "helion_gpu_program.py"
    words = ("-W", "ignore", program, "gpu.irscope")
    recorded = run_program(tmp_path, "gpu.irscope", tmp_path / "cache", *words, **ENVIRONMENT)
    assert recorded.done.returncode == 0, recorded.done.stderr
    assert recorded.done.stdout.splitlines() == [
        "torch.Size([4096])",
        "the fastest config runs [128]",
        "double: not captured: 1 config that failed in Helion's autotuner: 1 error",
    ]
    with open_capture(recorded.capture) as capture:
        sizes = [str(variant.config.get("block_sizes")) for variant in capture.variants]
        assert sizes == ["[64]", "[128]", "[256]"]
        assert [variant.benchmarks for variant in capture.variants] == [
            (Benchmark("float32[4096]", 3, 3, 3),),
            (Benchmark("float32[4096]", 1, 1, 1, True),),
            (Benchmark("float32[4096]", 2, 2, 2),),
        ]
        assert [bool(variant.launches) for variant in capture.variants] == [False, True, False]
        assert all("helion" in variant.artifacts for variant in capture.variants)
