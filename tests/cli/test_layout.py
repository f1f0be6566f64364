"""`irscope layout` as a user runs it: the list, pictures, --no-swizzle, errors."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections.abc import Callable
from pathlib import Path

import pytest

from irscope.cli.main import main
from irscope.model import Config, SourceFunction
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.targets import parse_target

STAGES = Path(__file__).parent.parent / "data" / "stages"
TILE = "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3"
HOSTILE = (
    b'#x = #ttg.blocked<{}>\n%a = "\x1b[31m"() : tensor<4x4xf32, #x> loc(#loc1)\n'
    b'#loc1 = loc("\x9bname"(#loc))'
)

Run = Callable[..., str]


@pytest.fixture
def capture(tmp_path: Path) -> Path:
    """#1 for sm_80 with layouts recorded by Triton, #2 for sm_90, #3 nasty, #4 without TTGIR.

    Their Triton version is not installed, so Triton is not started.
    """
    path = tmp_path / "m.irscope"
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0+test"}, "irscope compile matmul.py")
        kernel = writer.add_kernel(SourceFunction("matmul_kernel", "m.py", 1, "def f(): pass\n"), (), ())
        texts = [
            (STAGES / f"matmul_kernel.cuda-{arch}.{TILE}.triton-3.9.0.ttgir").read_bytes()
            for arch in (80, 90)
        ]
        for number, (arch, text) in enumerate(zip(("80", "90", "90"), [*texts, HOSTILE], strict=True)):
            artifacts = {"ttgir": text, "ptx": b"ldmatrix.sync.aligned.m8n8.x4.shared.b16"}
            new = NewVariant(parse_target(f"cuda:{arch}"), (), Config((("N", number),)), artifacts=artifacts)
            writer.add_variant(kernel, toolchain, "3.9.0", new)
        new = NewVariant(parse_target("cuda:90"), (), Config((("N", 3),)), artifacts={"ttir": b"module {}"})
        writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path


@pytest.fixture
def layout(capture: Path, capsys: pytest.CaptureFixture[str]) -> Run:
    def call(*words: str, code: int = 0) -> str:
        assert main(["layout", str(capture), *words]) == code
        out = capsys.readouterr()
        return out.err if code else out.out

    return call


def test_the_list_has_tensors_accesses_and_conversions(layout: Run):
    listed = layout("#1")
    assert "tensor<64x64xf32, #mma>" in listed
    assert "4-way conflicts: 32 wavefronts instead of 8" in listed
    assert "#mma -> #blocked: between warps: through shared memory" in listed


def test_a_variable_is_drawn_with_a_description(layout: Run):
    drawn = layout("#1", "acc")
    assert " 1 T4:0-1 " in drawn
    assert "4 warps of 32 lanes, 32 elements per thread." in drawn
    assert "computed by irscope" in drawn
    window = layout("#1", "acc", "--rows", "8:9", "--cols", "2:4", "--thread", "1")
    assert " [T1:2-3]" in window
    assert "registers 2-3: (8, 2-3)" in window


def test_no_swizzle(layout: Run):
    assert "144 b4" in layout("#1", "#shared")
    plain = layout("#1", "#shared", "--no-swizzle")
    assert "128 b0" in plain
    assert "144 b4  128 b0" not in plain
    assert "4-way conflicts" in plain
    assert "wavefront 8" in layout("#1", "--access", "4", "--no-swizzle")
    assert "wavefront 2" not in layout("#1", "--access", "4")


def test_two_variants_are_side_by_side_if_they_fit(layout: Run):
    wide = layout("#1", "acc", "--against", "#2", "--width", "200")
    assert any(line.startswith("#1") and "#2" in line for line in wide.splitlines())
    narrow = layout("#1", "acc", "--against", "#2", "--width", "80")
    assert not any(line.startswith("#1") and "#2" in line for line in narrow.splitlines())
    assert max(map(len, narrow.splitlines())) < 140


def test_svg_is_well_formed_and_written_once(layout: Run, tmp_path: Path):
    file = tmp_path / "x.svg"
    layout("#1", "acc", "--against", "#2", "-o", str(file))
    texts = [element.text for element in ET.parse(file).iter() if element.tag.endswith("text")]
    assert texts.count("T5:0-1") == 2
    assert "exists" in layout("#1", "acc", "-o", str(file), code=2)
    layout("#2", "acc", "-o", str(file), "--force")


def test_json_has_the_vectors_and_the_wavefronts(layout: Run):
    drawn = json.loads(layout("#1", "acc", "--format", "json"))
    assert drawn["schema"] == "irscope.layout/1"
    (side,) = drawn["sides"]
    assert side["linear_layout"]["bases"]["lane"] == [[0, 2], [0, 4], [1, 0], [2, 0], [4, 0]]
    assert side["tensor"]["variable"] == "acc"
    listed = json.loads(layout("#1", "--format", "json"))["sides"][0]
    ways = [one["without_swizzle"]["ways"] for one in listed["accesses"] if "load" in one["operation"]]
    assert ways == [4, 8]
    assert [one["moves"] for one in listed["conversions"]] == ["warps"]


def test_layouts_recorded_by_triton_are_used(layout: Run, capture: Path):
    with CaptureWriter.resume(capture) as writer:
        key = (
            "64x64 #ttg.nvidia_mma<{versionMajor = 2, versionMinor = 0, warpsPerCTA = [2, 2], "
            "instrShape = [16, 8]}>"
        )
        bases = {"register": [], "lane": [[0, 1], [0, 2], [0, 4], [0, 8], [0, 16]], "warp": [], "block": []}
        writer.add_layouts(1, {key: bases})
    with CaptureReader(capture) as read:
        assert read.layouts(read.variants()[0]) == {key: bases}
    drawn = layout("#1", "acc", "--rows", "0:1", "--cols", "0:2")
    assert "from Triton 3.9.0+test" in drawn
    assert "T1:0" in drawn


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("#1", "nothing"), "has no 'nothing'; variables: "),
        (("#1", "acc", "--rows", "64:65"), "the tensor ends at 64"),
        (("#1", "acc", "--thread", "999"), "no thread 999: there are 128"),
        (("#1", "acc", "--no-swizzle"), "has no swizzle"),
        (("#1", "--access", "99"), "has no access 99"),
        (("#1", "--format", "svg"), "name a value to draw"),
        (("#4",), "has no ttgir"),
        (("#3", "%a"), "unknown layout: #ttg.blocked has no list of numbers order"),
        (("#1", "acc", "-o", "/nowhere/x.txt"), "cannot be written"),
    ],
)
def test_wrong_use_is_one_line(layout: Run, words: tuple[str, ...], message: str):
    error = layout(*words, code=2)
    assert message in error
    assert error.count("\n") == 1


def test_control_characters_do_not_reach_the_terminal(layout: Run):
    listed = layout("#3")
    assert "\x1b" not in listed
    assert "\x9b" not in listed


def test_gluon_has_layouts_as_written_and_as_lowered(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    blocked = "#ttg.blocked<{sizePerThread = [4], threadsPerWarp = [32], warpsPerCTA = [1], order = [0]}>"
    value = "%x = tt.make_range {{end = 128 : i32, start = 0 : i32}} : tensor<128xi32, {}>\n"
    lowered = f"#blocked = {blocked}\n{value.format('#blocked')}".encode()
    path = str(tmp_path / "g.irscope")
    with CaptureWriter.create(tmp_path / "g.irscope") as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0+test"}, "irscope compile copy.py")
        kernel = writer.add_kernel(SourceFunction("copy", "c.py", 1, "def f(): pass\n"), (), ())
        written = value.format("#gluon.auto_encoding").encode()
        for number, (stage, text) in enumerate((("glir", written), ("source", lowered))):
            artifacts = {stage: text, "ttgir": lowered}
            new = NewVariant(parse_target("cuda:90"), (), Config((("N", number),)), artifacts=artifacts)
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    assert main(["layout", path, "1"]) == 0
    written_part, lowered_part = capsys.readouterr().out.split("Tensors as lowered (ttgir)")
    assert "Tensors as written (glir)" in written_part
    assert "tensor<128xi32, #gluon.auto_encoding>" in written_part
    assert "tensor<128xi32, #blocked>" in lowered_part
    assert main(["layout", path, "2"]) == 0
    assert "Tensors as written (source)" in capsys.readouterr().out
    assert main(["layout", path, "2", "%x", "--stage", "source"]) == 0
    assert "T1:0-3" in capsys.readouterr().out
    assert main(["layout", path, "1", "%x", "--stage", "glir"]) == 2
    assert capsys.readouterr().err == "irscope: %x has no layout here: the compiler chooses it, see ttgir\n"
    assert main(["layout", path, "2", "%x", "--stage", "glir"]) == 2
