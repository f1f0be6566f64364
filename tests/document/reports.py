"""Captures to report on, and the report of one."""

from __future__ import annotations

import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path

from irscope.document.report_content import CaptureReport, capture_report
from irscope.model import Argument, Benchmark, Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.workspace import Workspace
from tests.tui.captures import LARGE, SMALL, stage

_PYTHON = Path(__file__).parent.parent / "tui" / "matmul_source.txt"
# Text that acts if it is interpreted as markup, script, style, an attribute or a template.
HOSTILE = (
    "</script><img src=x onerror=\"document.title='owned'\"><!-- ' ]]> {{7*7}} \u202e & </pre></noscript>"
)
TRITON = "3.9.0"


def sweep(path: Path) -> Path:
    """#1 64x64, #2 128x128 and #3 with 8 warps, measured; #4 as #3 but cannot launch; #5 failed."""
    source = SourceFunction("matmul_kernel", "/src/kernels.py", 24, _PYTHON.read_text())
    cdiv = SourceFunction(
        "cdiv", "/triton/language/standard.py", 42, "def cdiv(x, div):\n    return (x + div - 1) // div\n"
    )
    small = {kind: stage("matmul_kernel", SMALL, kind) for kind in ("ttir", "ttgir", "ptx")}
    large = {kind: stage("matmul_kernel", LARGE, kind) for kind in ("ttir", "ttgir")}
    # A PTX whose loads are half as wide, as none of another config is committed.
    large["ptx"] = small["ptx"].replace(b"m64n64k16", b"m64n128k16")
    wide = {**large, "ttgir": stage("matmul_kernel", LARGE.replace("num_warps=4", "num_warps=8"), "ttgir")}
    failure = Failure("CompilationError", "arange's range must be a power of 2", "at 13:39: <b>whole</b>")
    made: list[tuple[int, int, int, dict[str, bytes] | Failure, float | None]] = [
        (64, 4, 24_576, small, 0.5),
        (128, 4, 49_152, large, 0.25),
        (128, 8, 49_152, wide, 0.75),
        (256, 8, 300_000, wide, None),
        (96, 4, 0, failure, None),
    ]
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": TRITON}, "irscope compile kernels.py")
        kernel = writer.add_kernel(source, (cdiv,), ("a_ptr", "b_ptr"))
        for block, warps, shared, artifacts, ms in made:
            failed = isinstance(artifacts, Failure)
            chosen = ms == 0.25
            new = NewVariant(
                parse_target("cuda:90"),
                (),
                Config((("BLOCK_M", block), ("num_warps", warps))),
                failure=failure if failed else None,
                metadata={"shared": shared, "num_warps": warps, "name": "matmul_kernel"},
                artifacts={} if isinstance(artifacts, Failure) else artifacts,
                benchmarks=() if ms is None else (Benchmark("n=512", ms, ms, ms, chosen),),
            )
            writer.add_variant(kernel, toolchain, TRITON, new)
    return path


def hostile(path: Path) -> Path:
    """A capture whose texts are all HOSTILE."""
    source = SourceFunction(f"k{HOSTILE}", f"/{HOSTILE}.py", 1, f'"{HOSTILE}"\n# {HOSTILE}\n')
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": HOSTILE}, HOSTILE)
        kernel = writer.add_kernel(source, (source,), (HOSTILE,))
        for number in range(3):
            texts = "\n".join(
                [f'  %{HOSTILE} = tt.x{number} loc("{HOSTILE}":1:1)', HOSTILE, f"{HOSTILE} {number}"]
            )
            new = NewVariant(
                parse_target("cuda:90"),
                (Argument(HOSTILE, HOSTILE, HOSTILE),),
                Config(((HOSTILE, HOSTILE), ("NAME", f"{HOSTILE}{number}"))),
                failure=Failure(HOSTILE, HOSTILE, HOSTILE) if number == 2 else None,
                metadata={"shared": number, "num_warps": 4},
                artifacts={} if number == 2 else {"ttgir": texts.encode(), "llir": texts.encode()},
                log=f"warning : {HOSTILE} {number}",
                benchmarks=(Benchmark(HOSTILE, 1.0 + number, 1, 1, True),),
            )
            writer.add_variant(kernel, toolchain, HOSTILE, new)
    return path


def report(capture: Path, page: Path, *words: str) -> Path:
    """`page`, written by the command line as a user runs it."""
    command = [sys.executable, "-m", "irscope", "report", str(capture), "-o", str(page), *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    return page


def gathered(capture: Path) -> CaptureReport:
    """The report on a capture."""
    with Workspace(capture) as workspace:
        return capture_report(workspace)


class Outline(HTMLParser):
    """The elements of a page with their attributes, and the ids of those that are open when it ends."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.elements.append((tag, dict(attrs)))
        if tag not in ("meta", "input", "br", "link", "col", "wbr"):
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open.pop() == tag
