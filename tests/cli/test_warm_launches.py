"""The options of `irscope warm` about launches and autotuned choices."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from irscope.cli import warm
from irscope.jobs.warm.pins import read_pins
from irscope.jobs.warm.plan_file import read_plan
from irscope.model import Argument, Benchmark, Config, Launch, SourceFunction, Tuning, UserError
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target

TEXT = "@triton.jit\ndef copy(x, n, BLOCK: tl.constexpr): ..."


def arguments(*words: str) -> argparse.Namespace:
    parser = argparse.ArgumentParser()
    warm.add_arguments(parser)
    return parser.parse_args(words)


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """A capture of two configs that were measured for n=512."""
    path = tmp_path / "tuned.irscope"
    versions = {"triton": "3.6.0", "torch": "2.11.0"}
    with CaptureWriter.create(path, False) as writer:
        source = SourceFunction("copy", str(tmp_path / "kernels.py"), 1, TEXT)
        kernel = writer.add_kernel(source, (), ("x", "n", "BLOCK"))
        toolchain = writer.add_toolchain(versions, "irscope run")
        for number, block in enumerate((64, 128), 1):
            tuning = Tuning("(512, 'torch.float16')", 2, "NVIDIA H100", "550.54", "2026-11-22T10:00:00Z")
            new = NewVariant(
                parse_target("cuda:90"),
                (Argument("x", "*fp16", "D"), Argument("n", "i32", "D")),
                Config((("BLOCK", block), ("num_warps", 4), ("num_stages", 3))),
                launches=(Launch((8, 1, 1), (("x", "float16[512]"), ("n", "512"))),),
                benchmarks=(
                    Benchmark("n=512", number, number, number, number == 1, tuning if number == 1 else None),
                ),
            )
            writer.add_variant(kernel, toolchain, "3.6.0", new, number)
    return path


def test_choices_become_a_pin_file_that_is_not_overwritten(
    capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    output = tmp_path / "pins.toml"
    given = arguments(str(capture), "--write-pins", str(output))
    assert warm.write_pins(given) == 0
    assert capsys.readouterr().out == f"{output}: 1 pin of 1 kernel\n"
    (pin,) = read_pins(output)
    assert (pin.kernel, pin.config.get("BLOCK"), pin.tuning.device) == ("copy", 64, "NVIDIA H100")
    assert [ms for _, ms in pin.timings] == [1, 2]
    with pytest.raises(UserError, match="exists"):
        warm.write_pins(given)


def test_pin_files_are_merged(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    first, output = tmp_path / "first.toml", tmp_path / "all.toml"
    warm.write_pins(arguments(str(capture), "--write-pins", str(first)))
    edited = first.read_text().replace('config = "BLOCK=64', 'config = "BLOCK=128')
    first.write_text(edited.replace("11-22", "11-23"))
    warm.write_pins(arguments(str(capture), "--pins", str(first), "--write-pins", str(output)))
    assert "kept the newer one" in capsys.readouterr().out
    assert [pin.config.get("BLOCK") for pin in read_pins(output)] == [128]
    options = warm.warm_options(arguments("--pins", str(output), "--vary", "copy:n=1..8"))
    assert [pin.config.get("BLOCK") for pin in options.pins] == [128]
    assert [axis.text for axis in options.axes] == ["1..8"]


def test_launches_become_a_plan(capture: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    output = tmp_path / "warm.toml"
    given = arguments(str(capture), "--vary", "copy:n=1..64:x16", "--write-plan", str(output))
    assert warm.write_plan(given) == 0
    assert "2 launches of 1 kernel" in capsys.readouterr().out
    (kernel,) = read_plan(output)
    assert kernel.file == tmp_path / "kernels.py"
    assert [axis.text for axis in kernel.axes] == ["1..64:x16"]


@pytest.mark.parametrize("option", ["--write-plan", "--write-pins"])
def test_only_captures_can_be_read(tmp_path: Path, option: str):
    command = warm.write_plan if option == "--write-plan" else warm.write_pins
    with pytest.raises(UserError, match=f"{option}: train.py is no capture"):
        command(arguments("train.py", option, str(tmp_path / "out.toml")))
