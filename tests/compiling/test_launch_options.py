"""A launch option sets the parameter of that name too, and the capture says what the binary has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from irscope.store import CaptureReader, variant_names
from tests.conftest import Irscope

# Each test compiles.
pytestmark = pytest.mark.slow

FILE = Path(__file__).with_name("launch_options.py")


def compiled(path: Path) -> list[tuple[dict[str, object], dict[str, object], int, int]]:
    """Per variant: config, constants among its arguments, warps in the PTX, factor in the source."""
    found = []
    with CaptureReader(path) as capture:
        for variant in capture.variants():
            threads = re.search(rb"\.reqntid (\d+)", capture.read(variant, "ptx") or b"")
            factor = re.search(rb"dense<(\d)\.0", capture.read(variant, "source") or b"")
            factor = factor or re.search(rb"constant (\d)\.0", capture.read(variant, "source") or b"")
            assert threads
            assert factor
            constants = {a.name: a.value for a in variant.specialization if a.type == "constexpr"}
            found.append((dict(variant.config.values), constants, int(threads[1]) // 32, int(factor[1])))
    return found


@pytest.mark.parametrize(
    ("words", "config", "constants", "warps", "parameter"),
    [
        (["--config", "num_warps=8"], {"num_warps": 8}, {"num_stages": 3}, 8, 8),
        (["--const", "num_warps=8"], {"num_warps": 8}, {"num_stages": 3}, 8, 8),
        (["--config", "num_stages=2"], {"num_stages": 2}, {"num_warps": 4}, 4, 4),
        ([], {}, {"num_warps": 4, "num_stages": 3}, 4, 4),
    ],
)
def test_a_config_sets_option_and_parameter(
    irscope: Irscope, tmp_path: Path, words, config, constants, warps, parameter
):
    signature = ["--signature", "*fp32:16, i32", "--config", "BLOCK=256", "-o", "c.irscope"]
    done = irscope("compile", str(FILE), *signature, *words)
    assert done.returncode == 0, done.stderr
    ((found, fixed, binary, factor),) = compiled(tmp_path / "c.irscope")
    assert found == {"BLOCK": 256} | config
    assert fixed == constants
    assert (binary, factor) == (warps, parameter)


@pytest.mark.parametrize(
    ("signature", "warps"), [("*fp32:16, i32, 256, 8, 3", 4), ("*fp32:16, i32, num_warps=8, BLOCK=256", 8)]
)
def test_a_positional_value_sets_only_the_parameter(irscope: Irscope, tmp_path: Path, signature, warps):
    done = irscope("compile", str(FILE), "--signature", signature, "-o", "c.irscope")
    assert done.returncode == 0, done.stderr
    ((_, _, binary, factor),) = compiled(tmp_path / "c.irscope")
    assert (binary, factor) == (warps, 8)


def test_a_recorded_launch_is_captured_as_the_jit_compiles_it(irscope: Irscope, tmp_path: Path):
    pytest.importorskip("torch")
    done = irscope("run", "--target", "cuda:90", "-o", "r.irscope", str(FILE))
    assert done.returncode == 0, done.stderr
    assert [(found, warps, factor) for found, _, warps, factor in compiled(tmp_path / "r.irscope")] == [
        ({"BLOCK": 256, "num_warps": 4, "num_stages": 3}, 4, 4),
        ({"BLOCK": 256, "num_warps": 8, "num_stages": 2}, 8, 8),
        ({"BLOCK": 256, "num_warps": 4, "num_stages": 3}, 4, 2),
    ]


def test_a_sweep_of_a_recorded_kernel_sets_both(irscope: Irscope, tmp_path: Path):
    pytest.importorskip("torch")
    sweep = ("--sweep", "options:num_warps=1")
    done = irscope("run", "--target", "cuda:90", "-o", "r.irscope", *sweep, str(FILE))
    assert done.returncode == 0, done.stderr
    swept = [row for row in compiled(tmp_path / "r.irscope") if row[0]["num_warps"] == 1]
    assert [(warps, factor) for _, _, warps, factor in swept] == [(1, 1)] * len(swept)
    assert swept


def test_the_environment_makes_another_variant(irscope: Irscope, tmp_path: Path):
    words = ["compile", str(FILE), "--signature", "*fp32:16, i32", "--config", "BLOCK=256", "-o", "e.irscope"]
    assert irscope(*words).returncode == 0
    for environment in ({"DISABLE_LLVM_OPT": "1"}, {"PTXAS_OPTIONS": "-O1"}):
        assert "1 compiled" in irscope(*words, "--resume", **environment).stdout
        assert "1 already there" in irscope(*words, "--resume", **environment).stdout
    assert "1 already there" in irscope(*words, "--resume").stdout
    with CaptureReader(tmp_path / "e.irscope") as capture:
        names = list(variant_names(capture.variants()).values())
    assert names == ["BLOCK=256", "DISABLE_LLVM_OPT=1", "PTXAS_OPTIONS=-O1"]
    why = irscope("why", "e.irscope", "1", "2").stdout
    assert "environment variable DISABLE_LLVM_OPT: unset -> 1" in why
    why = irscope("why", "e.irscope", "1", "3").stdout
    assert "environment variable PTXAS_OPTIONS (ptx_options): unset -> -O1" in why
