"""Measures the size of the HTML report, the time to write it, and the time until Chromium can use it.

    python -m benchmarks.report_size [CAPTURE...]

Without CAPTURE, compiles the 24-variant matmul sweep for cuda:90, and repeats its variants for captures of
504 and 1,200. A page can be used when it is loaded, its charts and its first diffs are drawn, and the table
has been sorted. Prints also whether the page fits a phone, 390 pixels wide. Exits with 1 if a page has 5 MB
or is too wide.
"""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from playwright.sync_api import ViewportSize, sync_playwright

from benchmarks.compile_commands import compile_matmul
from benchmarks.processes import IRSCOPE, run
from benchmarks.scale import write_capture
from irscope.store import CaptureReader

SIZES = (504, 1200)
MAX_BYTES = 5_000_000
PHONE = ViewportSize(width=390, height=844)
ROUNDS = 5
DRAWN = """() => document.readyState === "complete" && Charts.all.every((charts) => charts.pictures)
    && [...Stage.all.values()].every((stage) => !stage.details.open || stage.blocks)"""
SORT = """() => {
    document.querySelector("table.facts thead th:nth-child(3) button")?.click();
    return performance.now();
}"""


def usable(page_path: Path) -> Iterator[tuple[float, float, float]]:
    """ROUNDS times: wall ms until the page can be used, CPU seconds of its main thread, elements."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        for _ in range(ROUNDS):
            page = browser.new_context(viewport={"width": 1400, "height": 900}).new_page()
            session = page.context.new_cdp_session(page)
            session.send("Performance.enable", {"timeDomain": "threadTicks"})
            page.goto(page_path.as_uri(), wait_until="commit")
            page.wait_for_function(DRAWN)
            wall = page.evaluate(SORT)
            metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
            yield wall, metrics["TaskDuration"], page.evaluate("document.querySelectorAll('*').length")
            page.context.close()
        browser.close()


def fits_phone(page_path: Path) -> bool:
    """Whether nothing of the page, everything unfolded, is wider than a phone."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_context(viewport=PHONE).new_page()
        page.goto(page_path.as_uri())
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true; })")
        page.wait_for_function("() => [...Stage.all.values()].every((stage) => stage.blocks)")
        width = page.evaluate("document.documentElement.scrollWidth")
        browser.close()
    return bool(width <= PHONE["width"])


def measure(capture: Path, folder: Path) -> bool:
    """Prints the figures of one capture, the median of the rounds; whether its page is as it should be."""
    page = folder / "report.html"
    seconds = run([*IRSCOPE, "report", capture, "-o", page, "--force"]).wall
    with CaptureReader(capture) as opened:
        variants = len(opened.variants())
    wall, cpu, elements = (median(figures) for figures in zip(*usable(page), strict=True))
    size, fits = page.stat().st_size, fits_phone(page)
    print(
        f"{variants:>5,} variants  {size:>9,} bytes  written in {seconds:.1f} s  "
        f"usable after {wall:,.0f} ms, {cpu:.2f} s of CPU  {elements:,.0f} elements  "
        f"{'fits' if fits else 'DOES NOT FIT'} 390 px  {capture.name}",
        flush=True,
    )
    return fits and size < MAX_BYTES


def main() -> int:
    """Measures the named captures, or the sweep and two large ones."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        captures = [Path(argument) for argument in sys.argv[1:]]
        if not captures:
            sweep = folder / "sweep.irscope"
            run(compile_matmul(sweep), environment=os.environ | {"TRITON_CACHE_DIR": str(folder / "cache")})
            captures = [sweep, *(folder / f"{size}.irscope" for size in SIZES)]
            for path, size in zip(captures[1:], SIZES, strict=True):
                write_capture(sweep, path, size)
        results = [measure(capture, folder) for capture in captures]
        return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
