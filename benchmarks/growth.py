"""Measures how the parsers, the diff and its summary grow to stages of 1,000,000 lines.

    python -m benchmarks.growth [--lines 10000 100000 1000000] [--kind repeated ...]

Per language: a real stage, over and over with other constants, and its copy in which every hundredth line
is dropped, doubled or changed. Then the texts of tests/hardening/texts.py. Each row is of its own process:
CPU seconds, and peak memory above that of the process with the texts.
"""

from __future__ import annotations

import argparse
import time
from concurrent.futures import ProcessPoolExecutor

from benchmarks.diff_speed import STAGES, perturbed
from benchmarks.processes import peak_megabytes
from irscope.diff.stage_diff import diff_stage
from irscope.languages.language import parse
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--lines", type=int, nargs="+", default=[10_000, 100_000, 1_000_000])
    parser.add_argument("--kind", nargs="+", default=[*KINDS, *LARGE], choices=[*KINDS, *LARGE])
    args = parser.parse_args()
    print(f"{'text':<10} {'lines':>10} {'parse':>9} {'memory':>9} {'diff':>9} {'memory of all':>14}")
    for kind in args.kind:
        for lines in args.lines:
            with ProcessPoolExecutor(1) as pool:
                actual, ((parsing, held), (diffing, total)) = pool.submit(measure, kind, lines).result()
            parsed, diffed = f"{parsing:>7.2f} s {held:>6.0f} MB", f"{diffing:>7.2f} s {total:>11.0f} MB"
            print(f"{kind:<10} {actual:>10,} {parsed} {diffed}", flush=True)


if __name__ == "__main__":
    main()
