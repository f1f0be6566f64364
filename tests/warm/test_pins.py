"""Pins: of captures, in files, and merged."""

from __future__ import annotations

import argparse
from dataclasses import replace
from pathlib import Path

import pytest

from irscope.cli import warm
from irscope.jobs.warm.pins import merged, pins_for, pins_of, pins_text, read_pins
from irscope.model import (
    Argument,
    Benchmark,
    Config,
    Dtype,
    Kernel,
    SourceFunction,
    Toolchain,
    Tuning,
    UserError,
    Variant,
)
from irscope.model.tuning_pin import Pin, source_digest
from irscope.store.encoding import benchmarks_from_json, benchmarks_to_json
from irscope.targets import parse_target

SMALL, LARGE = (Config((("BLOCK", block), ("num_warps", 4))) for block in (64, 128))
RUN = Tuning("(512, 'torch.float16')", 2, "NVIDIA H100 80GB HBM3", "550.54.15", "2026-11-22T10:00:00Z")
PIN = Pin("k", "abc", "cuda:90", SMALL, RUN, ((SMALL, 0.25), (LARGE, 0.5)), "3.6.0", "2.11.0")
KERNEL = Kernel(1, "k", SourceFunction("k", "k.py", 1, "def k(x, n): ..."), (), ("x", "n"))


def variant(id_: int, config: Config, *benchmarks: Benchmark, pointer: str = "*fp16") -> Variant:
    arguments = (Argument("x", pointer, "D"), Argument("n", "i32", "D"))
    toolchain = Toolchain(1, {"triton": "3.6.0", "torch": "2.11.0"}, "")
    target = parse_target("cuda:90")
    return Variant(id_, KERNEL, target, arguments, config, toolchain, benchmarks=benchmarks)


def test_the_pins_of_a_capture_have_the_choice_and_all_times():
    run = [
        variant(1, SMALL, Benchmark("n=512", 0.25, 0.2, 0.3, True, RUN), Benchmark("n=64", 0.2, 0.2, 0.2)),
        variant(2, LARGE, Benchmark("n=512", 0.5, 0.4, 0.6), Benchmark("n=64", 0.1, 0.1, 0.1, True)),
    ]
    first, second = pins_of(run)
    assert first == replace(PIN, source=source_digest(KERNEL.source.text))
    assert (second.config, second.tuning.key) == (LARGE, "(64, 'torch.float16')")


def test_launches_with_other_types_are_other_pins():
    pins = pins_of(
        variant(id_, config, Benchmark("n=512", ms, ms, ms, chosen), pointer=pointer)
        for id_, (pointer, config, ms, chosen) in enumerate(
            [
                ("*fp16", SMALL, 1, True), ("*fp16", LARGE, 2, False),
                ("*bf16", SMALL, 2, False), ("*bf16", LARGE, 1, True),
            ]
        )
    )  # fmt: skip
    assert [(pin.config, pin.tuning.key) for pin in pins] == [
        (SMALL, "(512, 'torch.float16')"), (LARGE, "(512, 'torch.bfloat16')"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        ("n=512, ACT=relu", "(512, 'relu', 'torch.float16')"),
        ("n=512, bias=None, causal=True, scale=0.5", "(512, None, True, 0.5, 'torch.float16')"),
        ("512, torch.float16", "(512, 'torch.float16')"),
        ("(4096, 'torch.float32')", "(4096, 'torch.float32')"),
        ("", "('torch.float16',)"),
    ],
)
def test_the_key_of_older_captures_and_imports_is_derived(key: str, expected: str):
    (pin,) = pins_of([variant(1, SMALL, Benchmark(key, 1, 1, 1, True))])
    assert pin.tuning.key == expected


def test_runs_of_autotuners_survive_the_capture_and_old_captures_have_none():
    given = (Benchmark("n=512", 1, 1, 1, True, RUN), Benchmark("n=64", 1, 1, 1))
    found = benchmarks_from_json(benchmarks_to_json(given))
    assert [each.tuning for each in found] == [RUN, None]
    old = '[{"key": "n=1", "ms": 1, "p20": 1, "p80": 1, "chosen": true}]'
    assert benchmarks_from_json(old)[0].tuning is None


def test_a_file_has_the_pins_that_were_written(tmp_path: Path):
    odd = Config((("ACT", 'a "quoted", name'), ("T", Dtype("fp16")), ("F", 0.5), ("N", None), ("B", True)))
    pins = (PIN, replace(PIN, kernel="j\x7f", config=odd, timings=((odd, 1.5),)))
    path = tmp_path / "pins.toml"
    path.write_text(pins_text(pins))
    assert set(read_pins(path)) == set(pins)
    assert pins_text(read_pins(path)) == pins_text(reversed(pins))


def test_an_edited_pin_needs_only_four_lines(tmp_path: Path):
    path = tmp_path / "pins.toml"
    path.write_text(
        'version = 1\n[[pin]]\nkernel = "k"\ntarget = "cuda:90"\nkey = "(512,)"\n'
        'config = "BLOCK=64,num_warps=4"\n'
    )
    (pin,) = read_pins(path)
    assert (pin.config, pin.milliseconds, pin.tuning.configs) == (SMALL, None, 0)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("", "not a pin file of version 1: no version"),
        ("version = 2", "not a pin file of version 1: 2"),
        ("version = 1\npin = 3", "'pin' must be"),
        ("version = 1\n[[pin]]\nkernel = 3", "pin 1: kernel must be a string"),
        ('version = 1\n[[pin]]\nkernel = "k"', "pin 1: key is missing"),
        ("version = 1\n[[pin]]\nspeed = 3", "pin 1: unknown key 'speed'; known: kernel, key"),
        ("version = ", "not valid TOML"),
        (
            'version = 1\n[[pin]]\nkernel="k"\nkey="()"\ntarget="cuda:90"\nconfig="BLOCK"',
            "config 'BLOCK' is not NAME=VALUE",
        ),
        (
            'version = 1\n[[pin]]\nkernel="k"\nkey="()"\ntarget="cuda:90"\nconfig="B=1"\nms={"B=1"="x"}',
            "ms must be a table of numbers",
        ),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, problem: str):
    path = tmp_path / "pins.toml"
    path.write_text(text)
    with pytest.raises(UserError, match=problem):
        read_pins(path)


def test_the_newer_pin_wins_and_the_conflict_is_one_line():
    newer = replace(
        PIN, config=LARGE, tuning=replace(RUN, date="2026-11-23T10:00:00Z"), timings=((LARGE, 0.5),)
    )
    for sets in ({"a": [PIN], "b": [newer]}, {"b": [newer], "a": [PIN]}):
        pins, conflicts = merged(sets)
        assert pins == (newer,)
        assert conflicts == (
            "k, key (512, 'torch.float16'): b has BLOCK=128,num_warps=4 (0.5 ms, NVIDIA H100 80GB HBM3, "
            "2026-11-23T10:00:00Z), a has BLOCK=64,num_warps=4 (0.25 ms, NVIDIA H100 80GB HBM3, "
            "2026-11-22T10:00:00Z): kept the newer one",
        )


def test_without_dates_the_faster_pin_wins():
    bare = replace(RUN, date="")
    slow = replace(PIN, tuning=bare, config=LARGE, timings=((LARGE, 0.5),))
    fast = replace(PIN, tuning=bare)
    for sets in ({"a": [slow], "b": [fast]}, {"b": [fast], "a": [slow]}):
        pins, (conflict,) = merged(sets)
        assert pins == (fast,)
        assert conflict.endswith("kept the faster one")


def test_equal_choices_and_other_targets_are_no_conflict():
    again = replace(PIN, tuning=replace(RUN, date="2026-11-23T10:00:00Z"))
    other = replace(PIN, target="cuda:100", config=LARGE)
    assert merged({"a": [PIN], "b": [again, other]}) == ((again, other), ())


H200 = replace(PIN, config=LARGE, tuning=replace(RUN, device="NVIDIA H200"))


def test_gpus_of_one_target_have_their_own_pins(tmp_path: Path):
    pins, conflicts = merged({"a": [PIN], "b": [H200]})
    assert pins == (PIN, H200) and not conflicts
    (tmp_path / "pins.toml").write_text(pins_text(pins))
    assert read_pins(tmp_path / "pins.toml") == (PIN, H200)
    assert pins_for(pins, "NVIDIA H200") == (H200,)
    assert pins_for(pins, "NVIDIA H100 80GB HBM3") == (PIN,)
    with pytest.raises(UserError, match="NVIDIA H100 80GB HBM3, NVIDIA H200 differ; --device says"):
        pins_for(pins, None)
    with pytest.raises(UserError, match="no pin is for it; there are pins for NVIDIA H100 80GB HBM3"):
        pins_for([PIN], "NVIDIA L4")


@pytest.mark.parametrize(
    ("device", "target"), [("MI300X", "hip:gfx942"), ("NVIDIA_H200", "cuda:90"), ("NVIDIA X1", None)]
)
def test_a_folder_for_a_gpu_model_is_for_its_target(device: str, target: str | None):
    parser = argparse.ArgumentParser()
    warm.add_arguments(parser)
    command = ["serve.py", "-o", "folder", "--device", device]
    built_for = warm.warm_options(parser.parse_args(command)).target
    assert (str(built_for) if built_for else None) == target
    other = parser.parse_args([*command, "--target", "cuda:80"])
    if target is None:
        assert str(warm.warm_options(other).target) == "cuda:80"
        return
    # Pins and code of the GPU are for its target: none would fit, and nothing would say so.
    with pytest.raises(
        UserError, match=f"--device {device} is a GPU of {target}: leave out --target cuda:80"
    ):
        warm.warm_options(other)
    same = parser.parse_args([*command, "--target", target])
    assert str(warm.warm_options(same).target) == target


def test_a_pin_without_a_device_is_for_all_that_have_none_of_their_own():
    written = replace(PIN, config=LARGE, tuning=replace(RUN, device=""))
    other = replace(written, tuning=replace(RUN, key="(64, 'torch.float16')", device=""))
    for pins in ([PIN, written, other], [other, written, PIN]):
        assert set(pins_for(pins, "NVIDIA H100 80GB HBM3")) == {PIN, other}
        assert set(pins_for(pins, None)) == {PIN, other}
    assert pins_for([written], "NVIDIA L4") == (written,)
    same = replace(H200, config=PIN.config)
    assert len(pins_for([PIN, same], None)) == 1  # they agree
