"""The lesson next to the texts: a question or its answer."""

from __future__ import annotations

from pygments.token import Token
from textual.app import ComposeResult
from textual.containers import VerticalScroll
from textual.content import Content
from textual.highlight import (
    ANSIDarkHighlightTheme,
    ANSILightHighlightTheme,
    HighlightTheme,
    highlight,
)
from textual.widgets import Markdown
from textual.widgets._markdown import MarkdownBlock, MarkdownFence

# A lexer's error is not the reader's: excerpts have `...`, and Pygments does not know all of LLVM and PTX.
_NO_ERRORS = {Token.Error: ""}


class _LessonTheme(HighlightTheme):
    STYLES = HighlightTheme.STYLES | _NO_ERRORS


class _AnsiDark(ANSIDarkHighlightTheme):
    STYLES = ANSIDarkHighlightTheme.STYLES | _NO_ERRORS


class _AnsiLight(ANSILightHighlightTheme):
    STYLES = ANSILightHighlightTheme.STYLES | _NO_ERRORS


class LessonCode(MarkdownFence):
    """A block of code without the red boxes of Textual's around what the lexer does not know."""

    @classmethod
    def highlight(cls, code: str, language: str, ansi: bool = False, dark: bool = False) -> Content:
        """Return the colored code."""
        theme = (_AnsiDark if dark else _AnsiLight) if ansi else _LessonTheme
        return highlight(code, language=language or None, theme=theme)


class LessonMarkdown(Markdown):
    """The Markdown of a page."""

    def get_block_class(self, block_name: str) -> type[MarkdownBlock]:
        """Return the widget of a kind of block."""
        return LessonCode if block_name in ("fence", "code_block") else super().get_block_class(block_name)


class LessonView(VerticalScroll):
    """Shows a page of the lesson."""

    def compose(self) -> ComposeResult:
        """Yield the Markdown of the page."""
        yield LessonMarkdown(open_links=False)

    async def show(self, heading: str, text: str) -> None:
        """Show a page from its top."""
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
