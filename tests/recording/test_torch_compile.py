"""`irscope run` of programs with torch.compile, without a GPU."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.store.reader import CaptureReader
from tests.conftest import Irscope
from tests.recording import compiled_programs

torch = pytest.importorskip("torch")

from irscope.compiling.fake_cuda.attention import Attention, AttentionBackend, chosen_backend  # noqa: E402
from irscope.compiling.fake_cuda.device_guard import CUDNN_VERSION  # noqa: E402
from irscope.recording.program import _with_ptxas  # noqa: E402

H100, V100 = (9, 0), (7, 0)


def heads(*shape: int, dtype: object = torch.bfloat16) -> object:
    return torch.empty(*shape, device="meta", dtype=dtype)


@pytest.mark.parametrize(
    ("call", "capability", "expected"),
    [
        (Attention(*[heads(2, 4, 64, 32)] * 3, causal=True), (8, 0), AttentionBackend.FLASH),
        (Attention(*[heads(2, 4, 64, 32)] * 3, causal=True), H100, AttentionBackend.CUDNN),
        (Attention(*[heads(2, 4, 64, 32)] * 3, dropout=0.5), H100, AttentionBackend.CUDNN),
        (Attention(*[heads(2, 4, 64, 256)] * 3), H100, AttentionBackend.CUDNN),
        (Attention(*[heads(2, 4, 64, 256)] * 3), (8, 0), AttentionBackend.FLASH),
        (Attention(*[heads(2, 4, 64, 264)] * 3), H100, AttentionBackend.EFFICIENT),
        (Attention(*[heads(2, 4, 64, 32)] * 3, mask=heads(64, 64)), (8, 0), AttentionBackend.EFFICIENT),
        (Attention(*[heads(2, 4, 64, 32, dtype=torch.float32)] * 3), H100, AttentionBackend.EFFICIENT),
        (Attention(*[heads(2, 4, 64, 30, dtype=torch.float32)] * 3), H100, AttentionBackend.MATH),
        (Attention(*[heads(4, 64, 32)] * 3), H100, AttentionBackend.MATH),
        (Attention(heads(2, 8, 64, 32), *[heads(2, 2, 64, 32)] * 2), H100, AttentionBackend.MATH),
        (
            Attention(heads(2, 8, 64, 32), *[heads(2, 2, 64, 32)] * 2, grouped=True),
            H100,
            AttentionBackend.CUDNN,
        ),
        (Attention(*[heads(2, 4, 64, 32)] * 3), V100, AttentionBackend.MATH),
    ],
)
def test_attention_takes_the_operator_that_a_gpu_would_run(
    call: Attention, capability: tuple[int, int], expected: AttentionBackend, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(torch.backends.cudnn, "version", lambda: CUDNN_VERSION)
    assert chosen_backend(call, capability) is expected


def run(irscope: Irscope, folder: Path, program: str) -> tuple[list[str], list[str], list[str]]:
    """The program's output, irscope's messages without the last, and the kernel's name per variant."""
    (folder / "script.py").write_text(program)
    done = irscope("run", "--target", "cuda:90", "script.py")
    assert done.returncode == 0, done.stderr
    messages = [line for line in done.stderr.splitlines() if line.startswith("irscope: ")]
    assert ", 0 failed" in messages[-1]
    with CaptureReader(folder / "script.irscope") as capture:
        variants = capture.variants()
        assert all("cubin" in variant.artifacts for variant in variants)
        return done.stdout.splitlines(), messages[:-1], [variant.kernel.name for variant in variants]


@pytest.mark.slow
def test_forward_and_backward_are_captured_and_the_module_stays_itself(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.LAYER_NORM)
    assert messages == []
    assert out == [
        "['_orig_mod.norm.bias', '_orig_mod.norm.weight', '_orig_mod.weight'] True",
        "between cuda:0 True",
        "between cuda:0 True",
        "cuda:0 torch.Size([256]) tensor(not computed without a GPU, size=())",
        "2",
        "cpu [1.0, 1.0, 1.0, 1.0]",
    ]
    assert any("_native_layer_norm_" in name for name in names)
    assert any("_native_layer_norm_backward_" in name for name in names)
    assert any("softmax_backward" in name for name in names)


@pytest.mark.slow
def test_a_function_is_compiled_per_device(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.TWO_DEVICES)
    assert messages == []
    assert out == ["cpu [1.0, 1.0]", "cuda:0", "cpu [1.0, 1.0]", "2"]
    assert len(names) == 1


@pytest.mark.slow
def test_an_unsupported_build_of_torch_is_reported_once(irscope: Irscope, tmp_path: Path):
    program = compiled_programs.UNSUPPORTED
    (tmp_path / "script.py").write_text(program)
    done = irscope("run", "--target", "cuda:90", "script.py")
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["True [1.0, 1.0]"]
    ours = [line for line in done.stderr.splitlines() if "uncompiled" in line]
    assert len(ours) == 1
    assert ours[0].startswith("irscope: script.py:4: torch.compile does not work without a GPU with torch")
    assert ours[0].endswith("none.h is missing; functions run uncompiled")


@pytest.mark.slow
def test_attention_is_one_operator(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.ATTENTION)
    assert messages == []
    assert out == ["torch.Size([128, 384])"]
    assert any("gelu" in name for name in names)
    assert not any("softmax" in name for name in names)


@pytest.mark.slow
def test_max_autotune_compiles_every_choice(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.MAX_AUTOTUNE)
    assert messages == []
    assert out == ["torch.Size([128, 128])"]
    assert len([name for name in names if name.startswith("triton_mm")]) >= 10
    assert any(name.startswith("triton_tem_fused_mm_relu") for name in names)
    with CaptureReader(tmp_path / "script.irscope") as capture:
        assert not any(variant.benchmarks for variant in capture.variants())


@pytest.mark.slow
def test_own_kernels_and_dynamic_shapes(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.DYNAMIC)
    assert messages == []
    assert out == ["torch.Size([3])", "torch.Size([5])", "1"]
    assert "double" in names[0]
    assert any("sum" in name for name in names)


@pytest.mark.slow
def test_a_graph_that_fails_runs_uncompiled_and_the_program_goes_on(irscope: Irscope, tmp_path: Path):
    out, messages, names = run(irscope, tmp_path, compiled_programs.FAILING)
    assert out == ["[1.0, 1.0, 1.0, 1.0] cuda:0"]
    assert len(messages) == 1
    assert messages[0].startswith("irscope: script.py:")
    assert "not today; this graph runs uncompiled" in messages[0]
    assert len(names) == 1


@pytest.mark.slow
def test_a_running_process_compiles_for_the_target_only_within_the_block(tmp_path: Path):
    done = subprocess.run(
        [sys.executable, "-c", compiled_programs.IN_PROCESS],
        cwd=tmp_path, capture_output=True, text=True, check=False, timeout=600,
        env=os.environ | {"TRITON_CACHE_DIR": str(tmp_path / "cache")},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == [
        "[1.0, 1.0, 1.0, 1.0]",
        "cuda:0 cuda:0",
        "[1.0, 1.0, 1.0, 1.0] [2.0]",
        "['triton_per_fused_add_sin_sum_0', 'triton_poi_fused_mul_relu_0']",
    ]


def used() -> str | None:
    return os.environ.get("TRITON_PTXAS_PATH")


def test_the_variable_is_set_only_while_a_config_is_compiled(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.delenv("TRITON_PTXAS_PATH", raising=False)
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/torch/bin/ptxas"
    assert used() is None
    monkeypatch.setenv("TRITON_PTXAS_PATH", "")
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/torch/bin/ptxas"
    assert used() == ""


def test_the_users_own_ptxas_stays(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TRITON_PTXAS_PATH", "/mine")
    assert _with_ptxas(used, "/torch/bin/ptxas")() == "/mine"
    assert used() == "/mine"
