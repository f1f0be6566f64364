"""A lesson beside the texts: it says where to look, and `.` and `,` turn its pages."""

from __future__ import annotations

from typing import TYPE_CHECKING

from textual import work

from irscope.tui.controllers.base import ComparisonScreen

if TYPE_CHECKING:
    from irscope.tui.lesson import LessonPage, LessonPages


class LessonActions(ComparisonScreen):
    """Opens a page of the lesson and shows the stage that it is about."""

    _pages: LessonPages | None

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        """Pages can be turned in a lesson alone."""
        return self._pages is not None if action == "lesson" else super().check_action(action, parameters)

    @work(exclusive=True, group="lesson", exit_on_error=False)
    async def action_lesson(self, direction: int) -> None:
        """To the next or previous page; first to the end of this one."""
        if self._pages is None:
            return
        from irscope.tui.widgets.lesson_view import LessonView

        view = self.query_one(LessonView)
        if direction > 0 and view.read_on():
            return
        page = await self._background.run(self._pages.turn, direction)
        if page is None:
            self.notify("That was the last page; q ends the lesson" if direction > 0 else "The first page")
            return
        await view.show(page.heading, page.text)
        self._look_at(page)

    def _look_at(self, page: LessonPage) -> None:
        comparison = self._comparison
        if [page.a.id, page.b.id] != [comparison.a.id, comparison.b.id]:
            self._pair(page.a, page.b)
        if page.stage in self._comparison.stages:
            self._choose(page.stage)
        if page.line is not None:
            self._texts.go_to_line(page.line, page.right)
