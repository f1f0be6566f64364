"""Going to a line, and what the words on it mean."""

from __future__ import annotations

import re

from textual import work

from irscope.glossary.glossary import entries_in_line
from irscope.tui.controllers.base import ComparisonScreen
from irscope.tui.screens.explain import ExplainScreen
from irscope.tui.screens.prompt import PromptScreen
from irscope.tui.widgets.source_view import SourceView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.tui.widgets.work_view import WorkView

_LINE = re.compile(r"([abAB]?) *([0-9]{1,9})")


class ReadActions(ComparisonScreen):
    """Finds one's way in a stage."""

    @work(exclusive=True, group="ask", exit_on_error=False)
    async def action_go_to_line(self) -> None:
        """Asks for a line and goes there."""
        answer = await self.app.push_screen_wait(PromptScreen("Go to line (of B; a12 is line 12 of A):"))
        if answer is None:
            return
        match = _LINE.fullmatch(answer)
        page = self._texts.page
        right = page.right is not None and (match is None or match[1].lower() != "a")
        side = page.right if right and page.right else page.left
        line = side.line_numbered(int(match[2])) if match else None
        if line is None:
            self.notify(f"No line {answer} here", severity="warning", markup=False)
            return
        self._texts.go_to_line(line, right)
        self._texts.focus()

    def action_explain(self) -> None:
        """Explains the words on the line under the cursor; in the table, the column."""
        text = self._under_cursor()
        found = entries_in_line(text)
        if found:
            self.app.push_screen(ExplainScreen(found))
        else:
            self.notify("No word on this line is in the glossary; `irscope explain` lists all")

    def _under_cursor(self) -> str:
        if isinstance(self.focused, VariantTable | WorkView | SourceView):
            return self.focused.words
        return self._texts.line_text(True) or ""
