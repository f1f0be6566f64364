"""Measures how the parsers, the diff and its summary grow to stages of 1,000,000 lines.

    python -m benchmarks.growth [--lines 10000 100000 1000000] [--kind repeated ...]
    python -m benchmarks.growth --timelines CAPTURE ...

Per language: a real stage, over and over with other constants, and its copy in which every hundredth line
is dropped, doubled or changed. Then the texts of tests/hardening/texts.py. Each row is of its own process:
CPU seconds, and peak memory above that of the process with the texts.

`--timelines` measures the CPU seconds of the timelines of captures, each after one that is not counted: the
slowest as text and as SVG, and that with most partitions if the body of its kernel is there 2 and 4 times.
"""

from __future__ import annotations

import argparse
import re
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path

from benchmarks.diff_speed import STAGES, perturbed
from benchmarks.processes import peak_megabytes
from irscope.diff.stage_diff import diff_stage
from irscope.document.html.timeline_svg import timeline_svg
from irscope.document.terminal.document_text import text_lines
from irscope.document.timeline_content import timeline_content
from irscope.estimating.timeline_clock import stage_timeline
from irscope.languages.language import parse
from irscope.layouts.convert import triton_version
from irscope.workspace import Workspace
from tests.hardening.texts import LANGUAGES, LARGE, large_text

KINDS = ("ttgir", "llir", "ptx", "sass", "amdgcn", "source")


def texts(kind: str, lines: int) -> tuple[str, str, str]:
    """Two texts of `lines` lines, and their language."""
    if kind in LARGE:
        (left, language), (right, _) = (large_text(kind, lines, seed) for seed in (1, 2))
        return left, right, language
    longest = max(STAGES.glob(f"*.{kind}"), key=lambda path: path.stat().st_size)
    body = longest.read_text().split("\n")
    copies = 1 + lines // len(body)
    left = "\n".join(line for _ in range(copies) for line in body)
    return left, perturbed(left), LANGUAGES[kind]


def measure(kind: str, lines: int) -> tuple[int, list[tuple[float, float]]]:
    """The number of lines, and CPU seconds and megabytes of parsing one side and of the diff."""
    left, right, language = texts(kind, lines)
    base, start = peak_megabytes(), time.process_time()
    first = parse(left, language)
    found = [(time.process_time() - start, peak_megabytes() - base)]
    second = parse(right, language)
    start = time.process_time()
    assert diff_stage("stage", first, second).summary
    found.append((time.process_time() - start, peak_megabytes() - base))
    return len(first.lines), found


def repeated(text: str, copies: int) -> str:
    """TTGIR with the body of its only function so many times, one after the other."""
    lines = text.split("\n")
    first = next(number for number, line in enumerate(lines) if "tt.func public" in line)
    last = max(number for number, line in enumerate(lines) if line.strip().startswith("tt.return"))
    arguments = set(re.findall(r"%\w+", lines[first]))

    def renamed(copy: int) -> str:
        body = "\n".join(lines[first + 1 : last])
        return re.sub(
            r"%(\w+)", lambda name: name[0] if name[0] in arguments else f"%v{name[1]}_{copy}", body
        )

    return "\n".join([*lines[: first + 1], *map(renamed, range(copies)), *lines[last:]])


def measure_timelines(captures: Sequence[Path]) -> None:
    """Print the CPU seconds of the timelines of captures, and how they grow with the stage."""
    times, stages = [], []
    for capture in captures:
        with Workspace(capture) as workspace:
            compiled = [variant for variant in workspace.variants if variant.failure is None]
            workspace.kernel_timeline(compiled[0])
        with Workspace(capture) as workspace:
            for variant in (variant for variant in workspace.variants if variant.failure is None):
                start = time.process_time()
                timeline = workspace.kernel_timeline(variant)
                computed = time.process_time() - start
                text_lines(timeline_content([timeline], [variant.kernel.name], 80), 80)
                drawn = time.process_time() - start
                timeline_svg([timeline], [variant.kernel.name])
                partitions = sum(lane.engine == "warps" for lane in timeline.lanes)
                name = f"{capture.name} #{variant.id} {variant.kernel.name}, {partitions} partitions"
                times.append((time.process_time() - start, drawn, computed, name))
                triton = triton_version(variant.toolchain.versions.get("triton", ""))
                stages.append((partitions, name, workspace.text(variant, "ttgir"), variant.target, triton))
    total, drawn, computed, name = max(times)
    print(f"asked: a picture in 0.5 s. The slowest of {len(times)}: {computed:.2f} s computed, with text")
    print(f"{drawn:.2f} s, with text and SVG {total:.2f} s ({name})")
    _, name, text, target, triton = max(stages, key=lambda stage: stage[0])
    print(f"asked: linear in the stage. {name}, its body 1, 2 and 4 times:")
    for copies in (1, 2, 4):
        longer = repeated(str(text), copies)
        start = time.process_time()
        timeline = stage_timeline(parse(longer, "mlir"), target, triton)
        seconds = time.process_time() - start
        print(f"{longer.count(chr(10)):>7,} lines {len(timeline.spans):>7,} spans {seconds:>7.2f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--kind", nargs="+", default=[*KINDS, *LARGE], choices=[*KINDS, *LARGE])
    parser.add_argument("--timelines", type=Path, nargs="+", metavar="CAPTURE")
    args = parser.parse_args()
    if args.timelines:
        measure_timelines(args.timelines)
        return
    print(f"{'text':<10} {'lines':>10} {'parse':>9} {'memory':>9} {'diff':>9} {'memory of all':>14}")
    for kind in args.kind:
        for lines in args.lines:
            with ProcessPoolExecutor(1) as pool:
                actual, ((parsing, held), (diffing, total)) = pool.submit(measure, kind, lines).result()
            parsed, diffed = f"{parsing:>7.2f} s {held:>6.0f} MB", f"{diffing:>7.2f} s {total:>11.0f} MB"
            print(f"{kind:<10} {actual:>10,} {parsed} {diffed}", flush=True)


if __name__ == "__main__":
    main()
