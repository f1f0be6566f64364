"""Makes docs/images/slides.png, the overview of the slides of the matmul sample.

irscope report matmul.irscope --slides -o talk.html
python docs/scripts/slides_picture.py talk.html
"""

from __future__ import annotations

import shutil
import sys
from pathlib import Path

from playwright.sync_api import sync_playwright

IMAGE = Path(__file__).parents[1] / "images" / "slides.png"
SIZE = {"width": 1400, "height": 870}


def main() -> None:
    """Takes a picture of all slides, with every answer covered."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = browser.new_page(viewport=SIZE, color_scheme="light")
        page.goto(Path(sys.argv[1]).resolve().as_uri())
        page.keyboard.press("o")
        page.locator("#s2").wait_for()
        page.screenshot(path=IMAGE)
        browser.close()


if __name__ == "__main__":
    main()
