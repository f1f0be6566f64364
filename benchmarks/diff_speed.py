"""Measures parsing, the complete diff, and its alignment compared with git and difflib.

    python -m benchmarks.diff_speed [--difflib-seconds 30]

The texts are committed stages, repeated until they are large, and copies in which every hundredth line is
dropped, doubled or changed. git and difflib compare the normalized texts of the operations.
"""

from __future__ import annotations

import argparse
import difflib
import multiprocessing
import random
import re
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

from benchmarks.processes import ROOT
from irscope.diff.align import common_blocks
from irscope.diff.stage_diff import diff_stage
from irscope.languages.document import Document
from irscope.languages.language import parse

STAGES = ROOT / "tests" / "data" / "stages"
CASES = (
    ("softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.llir", "llvm", 11_000),
    ("softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.llir", "llvm", 50_000),
    (
        "matmul_kernel.cuda-90.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0.ptx",
        "ptx",
        40_000,
    ),
)


def large(text: str, lines: int) -> str:
    """`text` with the bodies of its functions repeated, each time with other constants."""
    head, body, tail = split_body(text.split("\n"))
    copies = 1 + lines // len(body)
    return "\n".join(head + [counted_up(line, copy) for copy in range(copies) for line in body] + tail)


def counted_up(line: str, by: int) -> str:
    return re.sub(r"\b(\d{3,})\b", lambda match: str(int(match[1]) + by), line)


def split_body(lines: list[str]) -> tuple[list[str], list[str], list[str]]:
    """The lines before, inside and after the first function's braces."""
    start = next(i for i, line in enumerate(lines) if line.startswith("{") or line.startswith("define ")) + 1
    end = next(i for i in range(start, len(lines)) if lines[i].startswith("}"))
    return lines[:start], lines[start:end], lines[end:]


def perturbed(text: str, seed: int = 0) -> str:
    """`text` with one line in a hundred dropped, doubled or changed in a number."""
    rng = random.Random(seed)
    out: list[str] = []
    for line in text.split("\n"):
        choice = rng.randrange(300)
        if choice == 0 and line.startswith(("  ", "\t")):
            continue
        out.append(re.sub(r"\d+\b(?=[,;]?$)", "7", line) if choice == 1 else line)
        if choice == 2 and line.startswith(("  ", "\t")):
            out.append(line)
    return "\n".join(out)


def seconds(action: Callable[[], object], times: int = 3) -> float:
    """The minimum wall time of `times` runs in seconds: other work on the machine only adds to it."""
    best = float("inf")
    for _ in range(times):
        start = time.perf_counter()
        action()
        best = min(best, time.perf_counter() - start)
    return best


def git_seconds(left: list[str], right: list[str]) -> float:
    """`git diff --no-index --histogram` on two files of these lines, process and all."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder) / "left", Path(folder) / "right"]
        for path, lines in zip(paths, (left, right), strict=True):
            path.write_text("\n".join(lines))
        command = ["git", "diff", "--no-index", "--histogram", "--stat", *map(str, paths)]
        return seconds(lambda: subprocess.run(command, capture_output=True, check=False))


def difflib_seconds(left: list[str], right: list[str], limit: float) -> float:
    """The time of difflib's matching blocks; infinity if it exceeds `limit`."""
    process = multiprocessing.Process(target=_difflib, args=(left, right))
    start = time.perf_counter()
    process.start()
    process.join(limit)
    if process.is_alive():
        process.terminate()
        return float("inf")
    return time.perf_counter() - start


def _difflib(left: list[str], right: list[str]) -> None:
    difflib.SequenceMatcher(None, left, right).get_matching_blocks()


def normals(document: Document) -> list[str]:
    return [operation.normalized for operation in document.operations]


def numbered(left: list[str], right: list[str]) -> tuple[list[int], list[int]]:
    numbers: dict[str, int] = {}
    return tuple([numbers.setdefault(line, len(numbers)) for line in side] for side in (left, right))  # type: ignore[return-value]


def report(name: str, language: str, lines: int, limit: float) -> str:
    """One line of the table: a stage of `lines` lines compared with its changed copy."""
    text = large((STAGES / name).read_text(), lines)
    other = perturbed(text)
    parsing = seconds(lambda: (parse(text, language), parse(other, language)), 2)
    left, right = parse(text, language), parse(other, language)
    diffing = seconds(lambda: diff_stage("", left, right), 2)
    ours, theirs = normals(left), normals(right)
    align = seconds(lambda: common_blocks(*numbered(ours, theirs)))
    git = git_seconds(ours, theirs)
    slow = difflib_seconds(ours, theirs, limit)
    return (
        f"{language:>7} {len(left.lines):>8} {parsing:8.3f} {diffing:8.3f} {parsing + diffing:8.3f}"
        f" | {align:8.3f} {git:8.3f} {slow:8.3f} | {align / git:9.2f} {slow / align:13.0f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--difflib-seconds", type=float, default=30.0)
    limit = parser.parse_args().difflib_seconds
    print(
        f"{'text, lines':>16} {'parse':>8} {'diff':>8} {'both':>8} | {'align':>8} {'git':>8} {'difflib':>8}"
        f" | {'align/git':>9} {'difflib/align':>13}   (seconds)"
    )
    for case in CASES:
        print(report(*case, limit), flush=True)


if __name__ == "__main__":
    main()
