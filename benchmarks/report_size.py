"""Measures the size of the HTML report, the time to write it, and the time until Chromium can use it.

    python benchmarks/report_size.py [CAPTURE...]

Without CAPTURE, compiles the 24-variant matmul sweep for cuda:90, and repeats its variants for captures of
504 and 1,200. A page can be used when it is loaded, its charts and its first diffs are drawn, and the table
has been sorted. Prints also whether the page fits a phone, 390 pixels wide. Exits with 1 if a page has 5 MB
or is too wide.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median

from playwright.sync_api import sync_playwright
from sweep import AXES, SAMPLE, SIGNATURE

from irscope.model import Config
from irscope.store import CaptureReader, CaptureWriter, NewVariant

TIMES = (21, 50)
MAX_BYTES = 5_000_000
PHONE = {"width": 390, "height": 844}
ROUNDS = 5
DRAWN = """() => document.readyState === "complete" && Charts.all.every((charts) => charts.pictures)
    && [...Stage.all.values()].every((stage) => !stage.details.open || stage.blocks)"""
SORT = """() => {
    document.querySelector("table.facts thead th:nth-child(3) button")?.click();
    return performance.now();
}"""


def compiled(folder: Path) -> Path:
    """The sweep's capture."""
    capture = folder / "sweep.irscope"
    axes = [word for name, values in AXES.items() for word in ("--config", f"{name}={values}")]
    command = [
        sys.executable, "-m", "irscope", "compile", str(SAMPLE), "--signature", SIGNATURE, *axes,
        "--config", "GROUP_M=8", "--config", "num_stages=3", "-o", str(capture),
    ]  # fmt: skip
    environment = os.environ | {"TRITON_CACHE_DIR": str(folder / "cache")}
    subprocess.run(command, check=True, env=environment, stderr=subprocess.DEVNULL)
    return capture


def multiplied(capture: Path, path: Path, times: int) -> Path:
    """Copies of the variants, distinguished by one more config value."""
    with CaptureReader(capture) as opened, CaptureWriter.create(path) as writer:
        for variant in opened.variants():
            kernel = writer.add_kernel(
                variant.kernel.source, variant.kernel.helpers, variant.kernel.parameters
            )
            toolchain = writer.add_toolchain(variant.toolchain.versions, variant.toolchain.command)
            blobs = {name: opened.blob(artifact) for name, artifact in variant.artifacts.items()}
            for copy in range(times):
                new = NewVariant(
                    variant.target, variant.specialization, Config((*variant.config.values, ("COPY", copy))),
                    metadata=variant.metadata, seconds=variant.seconds, log=variant.log, artifacts=blobs,
                )  # fmt: skip
                writer.add_variant(kernel, toolchain, variant.toolchain.versions["triton"], new)
    return path


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
    start = time.perf_counter()
    command = [sys.executable, "-m", "irscope", "report", str(capture), "-o", str(page), "--force"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
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
            sweep = compiled(folder)
            captures = [sweep, *(multiplied(sweep, folder / f"x{times}.irscope", times) for times in TIMES)]
        results = [measure(capture, folder) for capture in captures]
        return int(not all(results))


if __name__ == "__main__":
    sys.exit(main())
