"""irscope bits --run: what launches on a GPU computed is compared with the predicted classes."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from irscope.compiling.processes import child_process
from irscope.jobs.bit_launch_child import Results, VariantLaunch, changed_hashes
from tests.cli.conftest import Run
from tests.fake_gpu import build_libcuda, production_environment


class Device:
    """Takes the place of the process that launches: `bits` computes what two launches of a variant write."""

    def __init__(self, bits: Callable[[int], Sequence[str]] = lambda variant: "11") -> None:
        self.bits = bits
        self.calls: list[list[VariantLaunch]] = []

    def __call__(self, _: Any, launches: list[VariantLaunch], seconds: float) -> tuple[str, Results] | str:
        self.calls.append(launches)
        assert all((launch.folder / "kernel.cubin").stat().st_size for launch in launches)
        results: Results = {}
        for launch in launches:
            written = self.bits(launch.key[1])
            if written == "broken":
                results[launch.key] = "AcceleratorError: an illegal memory access"
                break
            results[launch.key] = [{"out": bits} if bits != "-" else {} for bits in written]
        return "NVIDIA H200", results


@pytest.fixture
def device(monkeypatch: pytest.MonkeyPatch) -> Device:
    device = Device()
    monkeypatch.setattr("irscope.jobs.bit_launches.call_in_process", device)
    return device


def test_equal_bits_prove_a_class(irscope: Run, bits_capture: Path, device: Device) -> None:
    done = irscope("bits", bits_capture, "--kernel", "matmul", "--run", "--trust")
    assert done.returncode == 0 and not done.stderr
    assert "launched on NVIDIA H200, each variant twice, from random values\n" in done.stdout
    assert "  same bits: proved on NVIDIA H200 for a (3 variants)\n" in done.stdout
    (launches,) = device.calls
    assert [launch.grid for launch in launches] == [(4, 4, 1), (2, 4, 1), (4, 2, 1)]
    inputs = launches[0].inputs
    assert inputs.arguments["a"] == {"dtype": "float16", "shape": [256, 256], "strides": [256, 1]}
    assert inputs.arguments["K"] == 256 and inputs.unread == {"c"} and not inputs.values
    assert (launches[0].types["c"], launches[0].types["BM"]) == ("*fp16", "constexpr")


def test_descriptors_and_tuples_are_launched(irscope: Run, bits_capture: Path, device: Device) -> None:
    assert irscope("bits", bits_capture, "--kernel", "shift", "--run", "--trust").returncode == 0
    ((launch,),) = device.calls
    assert launch.types["numbers"] == ("i32", "i32") and launch.inputs.arguments["numbers"] == (3, 5)
    source = launch.inputs.arguments["source"]
    assert source["base"]["shape"] == [1000] and source["block"] == [256]


def test_a_contradiction_fails(irscope: Run, bits_capture: Path, device: Device) -> None:
    """Two variants that are called the same wrote different bits."""
    device.bits = lambda variant: "22" if variant == 3 else "11"
    words = ("bits", bits_capture, "--kernel", "matmul", "--run", "--trust")
    done = irscope(*words)
    assert done.returncode == 1
    assert "CONTRADICTION  #1 and #3 should compute the same bits, but differ in out\n" in done.stdout
    assert "proved" not in done.stdout
    done = irscope(*words, "--format", "json")
    (answer,) = json.loads(done.stdout)
    assert done.returncode == 1 and answer["launched"]["hashes"]["3"] == [{"out": "2"}, {"out": "2"}]
    assert [point["kind"] for point in answer["agreement"]] == ["contradiction"]
    device.bits = lambda variant: "12" if variant == 2 else "11"
    assert "CONTRADICTION  #1 and #2 should" in irscope(*words).stdout


def test_launches_that_repeat_and_classes_that_are_alike(
    irscope: Run, bits_capture: Path, device: Device
) -> None:
    """Classes that differ may give equal bits for these values; atomics need not differ, but may."""
    device.bits = lambda variant: {12: "12", 7: "77"}.get(variant, "11")
    done = irscope("bits", bits_capture, "--run", "--trust")
    assert done.returncode == 0
    text = " ".join(done.stdout.split())
    proved = "same bits: proved on NVIDIA H200 for a (1 variant), b (1 variant), c (1 variant), d (1 variant)"
    assert proved in text
    assert "  a, b, c compute the same bits from these values\n" in done.stdout
    assert "  a is not repeatable: its launches differ\n" in done.stdout


def test_what_breaks_the_device_is_said(irscope: Run, bits_capture: Path, device: Device) -> None:
    """The variants after it are launched by another process."""
    device.bits = lambda variant: "broken" if variant == 1 else "11"
    text = irscope("bits", bits_capture, "--kernel", "matmul", "--run", "--trust").stdout
    assert [len(launches) for launches in device.calls] == [3, 2]
    assert "  same bits: proved on NVIDIA H200 for a (2 variants)\n" in text
    assert "  #1 not launched: AcceleratorError: an illegal memory access\n" in text


def test_launches_that_write_nothing_prove_nothing(irscope: Run, bits_capture: Path, device: Device) -> None:
    device.bits = lambda variant: "--"
    text = irscope("bits", bits_capture, "--kernel", "axpy", "--run", "--trust").stdout
    assert "  the launches changed no tensor, so they prove nothing\n" in text and "proved" not in text


def test_a_shape_is_needed(irscope: Run, bits_capture: Path, device: Device) -> None:
    words = ("bits", bits_capture, "#4", "--run", "--trust", "--launch")
    done = irscope(*words, "grid=(16,), N=2048")
    assert "#4 not launched: its launch has no shape for x: say it, --launch" in " ".join(done.stdout.split())
    assert done.returncode == 1 and "no variant was launched" in done.stdout
    assert not device.calls
    assert "proved" in irscope(*words, "grid=(16,), N=2048, x=[16, N], out=[16]").stdout


def test_a_gpu_and_consent_are_needed(
    irscope: Run, bits_capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Machine code of somebody else's capture is launched only if the user says so."""
    done = irscope("bits", bits_capture, "--run", IRSCOPE_STATE=str(tmp_path))
    assert done.returncode == 2 and "this executes the machine code of #1" in done.stderr
    reason = "torch sees no GPU on this machine"
    monkeypatch.setattr("irscope.jobs.bit_launches.call_in_process", lambda *_: reason)
    done = irscope("bits", bits_capture, "--run", "--trust")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"irscope: --run: {reason}; without --run, irscope predicts the bits\n"


@pytest.mark.slow
def test_triton_launches_the_machine_code(
    irscope: Run, bits_capture: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its own launcher runs, on a driver that does nothing."""
    environment = production_environment(build_libcuda(tmp_path / "lib"), tmp_path / "cache")
    program = Path(__file__).parent.parent / "fake_gpu" / "production.py"

    def command(*words: str) -> list[str]:
        return [sys.executable, str(program), child_process.__file__, *words]

    monkeypatch.setattr("irscope.compiling.processes.run_tool.python_command", command)
    done = irscope("bits", bits_capture, "#1", "#4", "#11", "--run", "--trust", **environment)
    assert done.stdout.count("the launches changed no tensor, so they prove nothing") == 3, done.stdout


def test_every_nan_is_the_same() -> None:
    """The bits of a NaN have no meaning; those of zeros have."""
    torch = pytest.importorskip("torch")
    zeros = {"out": torch.zeros(2)}
    first, second = (
        torch.tensor([bits, 0], dtype=torch.int32).view(torch.float32) for bits in (-1, 2**31 - 1)
    )
    assert changed_hashes(zeros, {"out": first}) == changed_hashes(zeros, {"out": second})
    assert changed_hashes(zeros, {"out": torch.zeros(2)}) == {}
    assert changed_hashes(zeros, {"out": -torch.zeros(2)}).keys() == {"out"}
