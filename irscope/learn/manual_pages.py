"""The pages of the documentation that are installed with irscope, as Markdown."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

# The pages are next to this file if irscope is installed, in docs/ in a checkout.
_FOLDERS = (Path(__file__).parent / "manual", Path(__file__).parents[2] / "docs")
_PAGES = (
    "tutorial", "compare", "recipes", "samples", "production", "tuning", "teaching", "lint",
    "python", "plugins", "measured", "capture-format", "json-schemas",
)  # fmt: skip
_COMMENT = re.compile(r"<!--.*?-->\n?", re.DOTALL)


@dataclass(frozen=True, slots=True)
class ManualPage:
    """A page: its title, and its path."""

    title: str
    path: Path

    def text(self) -> str:
        """Read the Markdown of the page, without comments. Raises OSError if it cannot be read."""
        return _COMMENT.sub("", self.path.read_text(encoding="utf-8"))


def manual_pages() -> list[ManualPage]:
    """Return the installed pages: those about everything, then one per command.

    The list is empty if none are installed.
    """
    folder = next(filter(Path.is_dir, _FOLDERS), None)
    if folder is None:
        return []
    pages = [folder / f"{name}.md" for name in _PAGES]
    return [_page(path) for path in (*pages, *sorted((folder / "commands").glob("*.md"))) if path.is_file()]


def _page(path: Path) -> ManualPage:
    with path.open(encoding="utf-8") as lines:
        title = next((line[2:].strip() for line in lines if line.startswith("# ")), path.stem)
    return ManualPage(title, path)
