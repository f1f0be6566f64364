"""The home screen, and what the user picks there: a loop of the app and of what it must not do itself."""

from __future__ import annotations

from typing import TYPE_CHECKING

from irscope.model import UserError
from irscope.model.no_cycles import importing

if TYPE_CHECKING:
    from irscope.tui.home_sections import HomeEntry, Section
    from irscope.tui.home_visits import Ended


def visit(section: Section | None = None, ended: Ended | None = None) -> int:
    """Shows the home screen, lessons and samples until the user quits; returns the exit code.

    `ended` is how an app ended that ran before: its choice is opened first.
    """
    with importing():
        from irscope.tui.app import run as run_app
    from irscope.tui.home_sections import Section as Sections
    from irscope.tui.home_visits import Start
    from irscope.tui.state_file import StateFolder

    section = section or Sections.RECENT
    entry = message = ""
    while True:
        if ended is None or ended.home:
            start = Start(StateFolder(), section=section, entry=entry, message=message)
            ended = run_app(None, start=start)
        if ended.choice is None:
            if ended.home:
                continue
            return ended.code
        section, entry, message = ended.choice.section, ended.choice.name, ""
        try:
            ended = _open(ended.choice)
        except (UserError, KeyboardInterrupt) as error:
            message = str(error) or "Interrupted"
            ended = None


def _open(entry: HomeEntry) -> Ended:
    """Compiles a lesson or a sample, if needed, and shows it."""
    from irscope.cli import learn, tui

    if entry.lesson is not None:
        return learn.show_lesson(str(entry.lesson), from_home=True)
    return tui.show_sample(entry.path.name if entry.path else "")
