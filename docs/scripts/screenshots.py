"""Makes the pictures of the terminal app in docs/images from a capture.

irscope compile samples/matmul.py --passes --target cuda:90 --signature "..." -o matmul.irscope
python docs/scripts/screenshots.py matmul.irscope
"""

from __future__ import annotations

import asyncio
import sys
from pathlib import Path

from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace

IMAGES = Path(__file__).parents[1] / "images"
# Configs #6 and #8 of the sample as A and B, which differ only in BLOCK_N, at the tab of TTGIR.
PAIR = ["shift+tab", "g", *"jjjjj", "a", *"jj", "b", "tab", "4"]
# Configs #8 and #9, which differ only in num_stages, and their passes.
STAGES = ["shift+tab", "g", *"jjjjjjj", "a", "j", "b", "p"]
# Name of the picture, size of the terminal, keys to press first, theme.
PICTURES = (
    ("compare", (200, 50), PAIR, "textual-dark"),
    ("compare-light", (120, 40), PAIR, "textual-light"),
    ("compare-small", (80, 24), PAIR, "textual-dark"),
    ("passes", (200, 50), STAGES, "textual-dark"),
    ("help", (100, 50), ["question_mark"], "textual-dark"),
)


async def picture(app: IrscopeApp, size: tuple[int, int], keys: list[str], theme: str = "") -> str:
    """The screen as SVG, after everything is compared and measured."""
    async with app.run_test(size=size) as pilot:
        app.theme = theme or app.theme
        for key in ["", *keys]:
            if key:
                await pilot.press(key)
            await pilot.pause()
            while any(not worker.is_finished for worker in app.workers):
                await asyncio.sleep(0.05)
            await pilot.pause()
        # Without this, SVG viewers other than browsers drop spaces at the ends of texts.
        return app.export_screenshot().replace("<text ", '<text xml:space="preserve" ')


def main() -> None:
    """Writes every picture."""
    IMAGES.mkdir(exist_ok=True)
    for name, size, keys, theme in PICTURES:
        svg = asyncio.run(picture(IrscopeApp(Workspace(sys.argv[1])), size, keys, theme))
        (IMAGES / f"{name}.svg").write_text(svg)


if __name__ == "__main__":
    main()
