"""Captures for tests of the app: real stages from tests/data, and hostile texts."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from irscope.model import Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.workspace.launch_expression import add_launches

STAGES = Path(__file__).parent.parent / "data" / "stages"
KERNEL = SourceFunction(
    "matmul_kernel",
    "matmul.py",
    24,
    "@triton.jit\ndef matmul_kernel(a_ptr, b_ptr, c_ptr, M, N, K):\n    pid = tl.program_id(0)\n",
)
HELPER = SourceFunction("tile", "helpers.py", 7, "@triton.jit\ndef tile(x):\n    return x + 1\n")
FAILURE = Failure(
    "CompilationError",
    "arange's range must be a power of 2",
    "\n".join(["at 13:39: [bold]not markup[/bold]", *(f"frame {number}" for number in range(60))]),
)
HOSTILE = (
    "\x1b[31mred\x1b]0;title\x07 [red]markup[/red] \u202eoverride \x9b2J \x00 tab\there [@click=app.quit]x[/]"
)

SAMPLES = Path(__file__).parents[2] / "samples"
SMALL = "BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3"
LARGE = "BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,num_warps=4,num_stages=3"

_TRITON = "3.9.0"


def stage(name: str, config: str, kind: str) -> bytes:
    """A committed stage of Triton 3.9.0 for cuda:90."""
    return (STAGES / f"{name}.cuda-90.{config}.triton-{_TRITON}.{kind}").read_bytes()


def large_sass(path: Path, triton_cache: Path) -> Path:
    """Flash attention for cuda:80 under two configs; the SASS of the second has 5,811 instructions."""
    signature = "*fp16:16, *fp16:16, *fp16:16, *fp16:16, fp32, i32:16"
    configs = ("BLOCK_M=64", "BLOCK_N=64,256", "num_warps=4", "num_stages=1")
    words = ["compile", str(SAMPLES / "flash_attention.py"), "--target", "cuda:80", "--signature", signature]
    words += (word for config in configs for word in ("--config", config))
    words += ["--const", "HEAD_DIM=128", "--const", "CAUSAL=True", "--sass", "-o", str(path)]
    environment = os.environ | {"TRITON_CACHE_DIR": str(triton_cache)}
    subprocess.run(
        [sys.executable, "-m", "irscope", *words], env=environment, capture_output=True, check=True
    )
    return path


def write(
    path: Path,
    variants: list[tuple[Mapping[str, object], Mapping[str, bytes] | Failure]],
    source: SourceFunction = KERNEL,
    helper: SourceFunction = HELPER,
) -> Path:
    """A capture of one kernel with these configs, each with its stages or the way it failed."""
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": _TRITON}, "irscope compile matmul.py")
        kernel = writer.add_kernel(source, (helper,), ("a_ptr", "b_ptr", "c_ptr", "M", "N", "K"))
        for config, made in variants:
            failed = isinstance(made, Failure)
            new = NewVariant(
                parse_target("cuda:90"),
                (),
                Config(tuple(config.items())),  # type: ignore[arg-type]
                failure=made if failed else None,
                metadata={"shared": 24576, "num_warps": config.get("num_warps", 4), "name": KERNEL.name},
                artifacts={} if failed else made,
            )
            writer.add_variant(kernel, toolchain, _TRITON, new)
    return path


def matmul(path: Path) -> Path:
    """#1 64x64, #2 128x128 (with a cubin, so SASS can be made), #3 128x128 with 8 warps, #4 failed."""
    small, large = SMALL, LARGE
    wide = large.replace("num_warps=4", "num_warps=8")

    def stages(config: str, *kinds: str) -> dict[str, bytes]:
        return {kind: stage("matmul_kernel", config, kind) for kind in kinds}

    cubin = b"not an ELF file"
    return write(
        path,
        [
            ({"BLOCK_M": 64, "num_warps": 4}, stages(small, "ttir", "ttgir", "ptx", "sass")),
            ({"BLOCK_M": 128, "num_warps": 4}, {**stages(large, "ttir", "ttgir"), "cubin": cubin}),
            ({"BLOCK_M": 128, "num_warps": 8}, stages(wide, "ttgir")),
            ({"BLOCK_M": 96, "num_warps": 4}, FAILURE),
        ],
    )


def versions(path: Path) -> Path:
    """One config of a kernel in three versions of its source, #1 to #3; the texts of #1 and #2 are shown."""
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": _TRITON}, "irscope tui matmul.py")
        for config, text in ((SMALL, "+ 1"), (LARGE, "+ 2"), (SMALL, "+ 3")):
            source = replace(KERNEL, text=f"{KERNEL.text}    x = pid {text}\n")
            kernel = writer.add_kernel(source, (), ("a_ptr",))
            stages = {kind: stage("matmul_kernel", config, kind) for kind in ("ttir", "ttgir")}
            new = NewVariant(parse_target("cuda:90"), (), Config((("BLOCK_M", 64),)), artifacts=stages)
            writer.add_variant(kernel, toolchain, _TRITON, new)
    return path


def gluon(path: Path) -> Path:
    """A Gluon kernel with a layout that the compiler chooses."""
    value = "%x = tt.make_range {{end = 128 : i32, start = 0 : i32}} : tensor<128xi32, {}>\n"
    blocked = "#ttg.blocked<{sizePerThread = [1], threadsPerWarp = [32], warpsPerCTA = [4], order = [0]}>"
    stages = {
        "glir": value.format("#gluon.coalesced_encoding").encode(),
        "ttgir": f"#blocked = {blocked}\n{value.format('#blocked')}".encode(),
    }
    return write(path, [({"LAYOUT": "gl.CoalescedLayout()"}, stages)])


def traced(path: Path) -> Path:
    """#1 64x64 and #2 128x128, with their Python source."""
    text = Path(__file__).with_name("matmul_source.txt").read_text()
    source = SourceFunction("matmul_kernel", "/src/kernels.py", 24, text)
    cdiv = SourceFunction(
        "cdiv", "/triton/language/standard.py", 42, "def cdiv(x, div):\n    return (x + div - 1) // div\n"
    )
    made = [
        {kind: stage("matmul_kernel", config, kind) for kind in ("ttir", "ttgir")}
        for config in (SMALL, LARGE)
    ]
    made[0]["ptx"] = stage("matmul_kernel", SMALL, "ptx")
    return write(path, [({"BLOCK_M": 64}, made[0]), ({"BLOCK_M": 128}, made[1])], source, cdiv)


def hostile(path: Path) -> Path:
    """Texts, names and messages that try to act on the terminal or the app."""
    lines = [HOSTILE] * 30
    return write(
        path,
        [
            ({"NAME": "[red]\x1b[2J"}, {"ttgir": "\n".join(lines).encode(), "llir": b"\xff\xfe\x00" * 99}),
            ({"NAME": "\u202e\ud800".encode("utf-8", "replace").decode()}, {"ttgir": b"", "llir": b"\n" * 5}),
            ({"NAME": "x"}, Failure("[b]", HOSTILE, HOSTILE * 50)),
        ],
    )


def softmax(path: Path) -> Path:
    """The rows of a softmax, added up by 2, 4 and 4 warps: #2 and #3 compute the same bits."""
    from irscope.cli.main import main

    words = ["--config", "BLOCK_SIZE=1024", "--config", "num_warps=2,4", "--config", "num_stages=2,3"]
    assert main(["compile", str(SAMPLES / "fused_softmax.py"), *words, "-o", str(path)]) == 0
    add_launches(path, "grid=(8,), out_stride=1008, x_stride=1008, n_cols=1008")
    return path


def launched(path: Path) -> Path:
    """A vector addition with two block sizes, and how it is launched."""
    from irscope.cli.main import main

    words = ["--signature", "*fp32:16, *fp32:16, *fp32:16, i32:16", "--config", "BLOCK_SIZE=32,1024"]
    assert main(["compile", str(SAMPLES / "vector_add.py"), *words, "-o", str(path)]) == 0
    add_launches(path, "grid=(cdiv(n, BLOCK_SIZE),), n=1048576, x_ptr=[n], y_ptr=[n], out_ptr=[n]")
    return path
