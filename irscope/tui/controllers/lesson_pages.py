"""A lesson next to the texts: each page shows the lines that it is about."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from irscope.tui.controllers.main_screen import MainScreen

if TYPE_CHECKING:
    from irscope.learn.pages import LessonPage, LessonPages
    from irscope.tui.widgets.lesson_view import LessonView


class LessonController:
    """Turns the pages of a lesson and shows the stage that each is about."""

    def __init__(self, screen: MainScreen, pages: LessonPages, view: LessonView) -> None:
        self._screen = screen
        self._pages = pages
        self._view = view

    def action_lesson(self, direction: int) -> None:
        """Goes to the next or previous page; first scrolls to the end of this one."""
        self._screen.run_exclusive(partial(self._turn, direction), "lesson")

    async def _turn(self, direction: int) -> None:
        view = self._view
        if direction > 0 and view.scroll_on():
            return
        page = await self._screen.background.run(self._pages.turn, direction)
        if page is None:
            last = "This is the last page; q ends the lesson"
            self._screen.notify(last if direction > 0 else "This is the first page")
            return
        await view.show(page.heading, page.text)
        self._show_lines(page)

    def _show_lines(self, page: LessonPage) -> None:
        pair = self._screen.pair
        if [page.a.id, page.b.id] != [pair.a.id, pair.b.id]:
            self._screen.compare(page.a, page.b)
        if page.stage in self._screen.pair.stages:
            self._screen.choose(page.stage)
        if page.line is not None:
            self._screen.texts.go_to_line(page.line, page.right)
