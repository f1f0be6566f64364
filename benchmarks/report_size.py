"""Measures the size of the HTML report, the time to write it, and the time until Chromium can use it.

    python benchmarks/report_size.py [CAPTURE]

Without CAPTURE, compiles the 24-variant matmul sweep for cuda:90, and repeats its variants for a second
capture of 504. A page can be used when it is loaded, its first diff has rows, and the table has been
sorted.
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

TIMES = 21
ROUNDS = 5
SORT = """() => {
    document.querySelector("table.facts thead th:nth-child(3) button").click();
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


def multiplied(capture: Path, path: Path) -> Path:
    """The same variants TIMES times, distinguished by one more config value."""
    with CaptureReader(capture) as opened, CaptureWriter.create(path) as writer:
        for variant in opened.variants():
            kernel = writer.add_kernel(
                variant.kernel.source, variant.kernel.helpers, variant.kernel.parameters
            )
            toolchain = writer.add_toolchain(variant.toolchain.versions, variant.toolchain.command)
            blobs = {name: opened.blob(artifact) for name, artifact in variant.artifacts.items()}
            for copy in range(TIMES):
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
            page.wait_for_selector(".stage[open] .rows", state="attached")
            wall = page.evaluate(SORT)
            metrics = {m["name"]: m["value"] for m in session.send("Performance.getMetrics")["metrics"]}
            yield wall, metrics["TaskDuration"], page.evaluate("document.querySelectorAll('*').length")
            page.context.close()
        browser.close()


def measure(capture: Path, folder: Path) -> None:
    """Prints the figures of one capture, the median of the rounds."""
    page = folder / "report.html"
    start = time.perf_counter()
    command = [sys.executable, "-m", "irscope", "report", str(capture), "-o", str(page), "--force"]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    seconds = time.perf_counter() - start
    with CaptureReader(capture) as opened:
        variants = len(opened.variants())
    wall, cpu, elements = (median(figures) for figures in zip(*usable(page), strict=True))
    print(
        f"{variants:>4} variants  {page.stat().st_size:>9,} bytes  written in {seconds:.1f} s  "
        f"usable after {wall:,.0f} ms, {cpu:.2f} s of CPU  {elements:,.0f} elements"
    )


def main() -> None:
    """Measures the named capture, or the sweep and the large one."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        capture = Path(sys.argv[1]) if len(sys.argv) > 1 else compiled(folder)
        measure(capture, folder)
        if len(sys.argv) < 2:
            measure(multiplied(capture, folder / "large.irscope"), folder)


if __name__ == "__main__":
    main()
