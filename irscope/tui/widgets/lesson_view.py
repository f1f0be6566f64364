"""The lesson next to the texts: a question or its answer."""

from __future__ import annotations

from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.widgets import Markdown


class LessonView(VerticalScroll):
    """Shows a page of the lesson."""

    def compose(self) -> ComposeResult:
        """The Markdown of the page."""
        yield Markdown(open_links=False)

    async def show(self, heading: str, text: str) -> None:
        """Shows a page from its top."""
        self.border_title = heading
        self.border_subtitle = ". next  , back"
        await self.query_one(Markdown).update(text)
        await self.wait_for_refresh()  # only then the height of the page is known
        self.scroll_home(animate=False)

    def scroll_on(self) -> bool:
        """Scrolls down by a screen; False if the end is already on screen."""
        if self.scroll_offset.y >= self.max_scroll_y:
            return False
        self.scroll_page_down(animate=False)
        return True
