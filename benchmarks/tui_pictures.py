"""Draws twelve screens of the app at three sizes in three themes, to be reviewed one by one.

Writes SCREEN-SIZE-THEME.svg, 108 files, into the folder, and an index.html that shows all of them, a screen
after the other. docs/app-reviews.md has the last review.

    python -m benchmarks.tui_pictures FOLDER [SCREEN ...]
"""

from __future__ import annotations

import argparse
import asyncio
import tempfile
from collections.abc import Sequence
from html import escape
from pathlib import Path

from irscope.tui.app import IrscopeApp
from irscope.workspace import Workspace
from tests.tui.driving import idle
from tests.tui.test_screens import SCREENS, Shown

DRAWN = (
    "compare", "raw", "search", "table", "source", "explain",
    "chart", "why", "bits", "layout", "passes", "help",
)  # fmt: skip
SIZES = ((80, 24), (120, 40), (200, 50))
THEMES = ("textual-dark", "textual-light", "ansi-dark")
_PATIENCE_SECONDS = 300.0


async def draw(shown: Shown, size: tuple[int, int], capture: Path) -> dict[str, str]:
    """Return the screen as SVG in each theme, by the theme's name."""
    app = IrscopeApp(Workspace(capture))
    pictures = {}
    async with app.run_test(size=size) as pilot:
        for key in ("", *shown.keys):
            if key:
                await pilot.press(key)
            await idle(pilot, _PATIENCE_SECONDS)
        for theme in THEMES:
            app.theme = theme
            await idle(pilot, _PATIENCE_SECONDS)
            pictures[theme] = app.export_screenshot(title=f"{size[0]}x{size[1]} {theme}")
    return pictures


def draw_all(names: Sequence[str], folder: Path) -> list[Path]:
    """Draw the screens with these names; return the files, in the order of a review."""
    files = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in names:
            capture = SCREENS[name].make(Path(scratch) / f"{name}.irscope")
            for size in SIZES:
                for theme, picture in asyncio.run(draw(SCREENS[name], size, capture)).items():
                    files.append(folder / f"{name}-{size[0]}x{size[1]}-{theme}.svg")
                    files[-1].write_text(picture, encoding="utf-8")
                print(f"{name} {size[0]}x{size[1]}", flush=True)
    return files


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("folder", type=Path, help="where to write the pictures")
    parser.add_argument("screen", nargs="*", help=f"default: {', '.join(DRAWN)}")
    args = parser.parse_args()
    args.folder.mkdir(parents=True, exist_ok=True)
    files = draw_all(args.screen or DRAWN, args.folder)
    shown = "\n".join(f'<h2>{escape(file.stem)}</h2><img src="{escape(file.name)}">' for file in files)
    index = args.folder / "index.html"
    index.write_text(
        f'<!doctype html><meta charset="utf-8"><title>irscope</title>\n{shown}\n', encoding="utf-8"
    )
    print(f"{len(files)} pictures: {index}")


if __name__ == "__main__":
    main()
