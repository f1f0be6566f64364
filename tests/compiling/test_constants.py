"""Objects as constexpr values of `irscope compile`: layouts, functions, enums, tuples, dataclasses."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from irscope.model import NamedValue, Variant
from irscope.store import CaptureReader
from tests.conftest import Irscope

# Each test compiles.
pytestmark = pytest.mark.slow

OBJECTS = Path(__file__).with_name("objects.py")
POINTERS = ("--signature", "*fp32:16, *fp32:16")
ONE, FOUR, EIGHT = (f"gl.BlockedLayout([{size}], [32], [4], [0])" for size in (1, 4, 8))


def variants_of(path: Path) -> list[Variant]:
    with CaptureReader(path) as capture:
        return list(capture.variants())


def layouts_of(path: Path) -> list[str]:
    return [str(variant.config.get("LAYOUT")) for variant in variants_of(path)]


def test_layouts_are_swept_resumed_named_and_explained(irscope: Irscope, tmp_path: Path):
    copied = ("compile", f"{OBJECTS}::copied", *POINTERS, "-o", "c.irscope")
    done = irscope(*copied, "--config", f"LAYOUT={ONE}, {FOUR}")
    assert done.returncode == 0, done.stderr
    # The same layouts in other words are already there.
    words = "NARROW, BlockedLayout(size_per_thread=(4,), threads_per_warp=[32], warps_per_cta=[4], order=[0])"
    done = irscope(*copied, "--resume", "--config", f"LAYOUT={words}, {EIGHT}")
    assert "1 compiled, 2 already there" in done.stdout
    assert layouts_of(tmp_path / "c.irscope") == [ONE, FOUR, EIGHT]
    done = irscope("why", "c.irscope", f"LAYOUT={ONE}", f"LAYOUT={FOUR}")
    assert "    constexpr LAYOUT: size_per_thread [1] -> [4]\n" in done.stdout
    (reason,) = json.loads(irscope("why", "c.irscope", "1", "2", "--format", "json").stdout)["reasons"]
    assert (reason["a"], reason["b"]) == (ONE, FOUR)
    assert reason["parameters"] == [{"name": "size_per_thread", "a": "[1]", "b": "[4]"}]
    assert "LAYOUT.size_per_thread [1] -> [4]" in irscope("diff", "c.irscope", "1", "2").stdout
    (kernel,) = json.loads(irscope("list", "c.irscope", "--format", "json").stdout)["kernels"]
    assert kernel["variants"][0]["config"]["LAYOUT"] == ONE
    pairs = json.loads(irscope("diff", "c.irscope", "c.irscope", "--format", "json").stdout)["pairs"]
    assert [(pair["old"]["id"], pair["new"]["id"]) for pair in pairs] == [(1, 1), (2, 2), (3, 3)]


def test_autotuned_layouts_come_from_the_decorator(irscope: Irscope, tmp_path: Path):
    done = irscope("compile", f"{OBJECTS}::copied", *POINTERS, "-o", "c.irscope")
    assert done.returncode == 0, done.stderr
    variants = variants_of(tmp_path / "c.irscope")
    assert layouts_of(tmp_path / "c.irscope") == [ONE, FOUR]
    assert all("ttir" not in v.artifacts and "ttgir" in v.artifacts for v in variants)
    shown = irscope("layout", "c.irscope", "1").stdout
    assert "Tensors as written (" in shown
    assert "Tensors as lowered (ttgir)" in shown


def test_functions_types_and_tuples_reach_the_kernel(irscope: Irscope, tmp_path: Path):
    done = irscope(
        "compile", f"{OBJECTS}::mapped", "--signature", "*fp32:16", "--const", "SIZES=(16, 8)", "--config",
        "FUNCTION=doubled,squared", "--config", "DTYPE=tl.float16,torch.float32", "-o", "m.irscope",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    variants = variants_of(tmp_path / "m.irscope")
    assert [str(v.config) for v in variants] == [
        f"FUNCTION={name},DTYPE=tl.{dtype}" for name in ("doubled", "squared") for dtype in ("fp16", "fp32")
    ]
    value = variants[0].config.get("FUNCTION")
    assert isinstance(value, NamedValue)
    assert value.source
    assert variants[0].artifacts["ttir"] != variants[2].artifacts["ttir"]
    why = irscope("why", "m.irscope", "1", "3").stdout
    assert f"constexpr FUNCTION: doubled (source {value.source}) -> squared (source " in why


def test_enums_and_objects_reach_the_kernel_and_a_compared_word_stays_a_string(
    irscope: Irscope, tmp_path: Path
):
    values = "squared, Mode.FAST, Tile(4), Scales(0.5)"
    done = irscope("compile", f"{OBJECTS}::chosen", "--signature", f"*fp32:16, {values}", "-o", "c.irscope")
    assert done.returncode == 0, done.stderr
    (variant,) = variants_of(tmp_path / "c.irscope")
    assert [str(a) for a in variant.specialization[1:]] == values.split(", ")
    assert variant.specialization[1].value == "squared"


@pytest.mark.parametrize(
    ("value", "problem"),
    [
        ("gl.BlockLayout([1])", "has no attribute 'BlockLayout'"),
        ("gl.BlockedLayout([1], [32], [4])", "missing 1 required positional argument: 'order'"),
        ("gl.BlockedLayout([1], [32], [4], [0, 1])", "AssertionError: assert len(self.order) == rank"),
        ("gl.BlockedLayout([1", "not a Python expression"),
        ("layouts.NARROW", "NameError: name 'layouts' is not defined"),
        ("gl.nvidia", "a module, not a constant"),
    ],
)
def test_a_wrong_expression_is_one_line(irscope: Irscope, value: str, problem: str):
    done = irscope("compile", f"{OBJECTS}::copied", *POINTERS, "--const", f"LAYOUT={value}")
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert done.stderr.startswith(f"irscope: --const: LAYOUT={value}: ")
    assert problem in done.stderr


@pytest.mark.parametrize(
    ("given", "hint"),
    [
        ("fp16", " (DTYPE=fp16 is a string; the element type is tl.float16)"),
        ("double", " (DTYPE=double is a string; the element type is tl.float64)"),
        ("bfloat16", " (DTYPE=bfloat16 is a string; the element type is tl.bfloat16)"),
        ("wide", ""),
    ],
)
def test_a_string_in_place_of_an_element_type_names_the_type(
    irscope: Irscope, tmp_path: Path, given: str, hint: str
):
    path = tmp_path / "cast.py"
    path.write_text(
        "import triton\nimport triton.language as tl\n\n\n@triton.jit\n"
        "def cast(x, y, DTYPE: tl.constexpr):\n    tl.store(y, tl.load(x).to(DTYPE).to(tl.float32))\n"
    )
    for option in ("--config", "--const"):
        words = [option, f"DTYPE={given}", "-o", f"{option[2:]}.irscope"]
        done = irscope("compile", str(path), "--signature", "*fp32, *fp32", *words)
        assert done.returncode == 1
        assert f"'str' object has no attribute 'scalar'{hint}\n" in done.stdout + done.stderr
