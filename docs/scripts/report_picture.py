"""Makes docs/images/report.png, the picture of the HTML report of the matmul sample.

irscope report matmul.irscope --pair '#6' '#8' -o report.html
python docs/scripts/report_picture.py report.html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGE = Path(__file__).parents[1] / "images" / "report.png"
SIZE = {"width": 1240, "height": 1080}


def main() -> None:
    """Takes a picture of the pair, with a line of Python highlighted in the open stage."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(Path(sys.argv[1]).resolve().as_uri())
        line = page.locator("table.source tr", has_text="acc = tl.dot(")
        line.locator("a").click()
        page.locator(".trace").wait_for()
        line.evaluate("line => line.scrollIntoView({ block: 'center' })")
        page.evaluate("document.querySelector('#pair1 h2').scrollIntoView()")
        page.locator("#pair1 .row").first.wait_for()
        page.screenshot(path=IMAGE)
        browser.close()


if __name__ == "__main__":
    main()
