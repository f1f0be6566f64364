"""Every key of every binding runs its action: a binding without a trial here fails.

A trial presses one key in the real app and waits for its effect. Other tests cover actions in full; these
tests find keys that are dead, wrong, or taken by another panel.
"""

from __future__ import annotations

import asyncio
import contextlib
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from operator import ne
from pathlib import Path
from typing import Any

import pytest
from textual.binding import Binding
from textual.pilot import Pilot
from textual.widget import Widget
from textual.widgets import Markdown

from irscope.learn.lesson import Lesson
from irscope.learn.render import LessonPages
from irscope.model import Config
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target, stages_for
from irscope.tui import key_help
from irscope.tui.app import IrscopeApp
from irscope.tui.controllers import export
from irscope.tui.home_entries import Section
from irscope.tui.home_visits import Start
from irscope.tui.page import LineKind
from irscope.tui.palette import Palette
from irscope.tui.screens.chart import ChartScreen, ChartView
from irscope.tui.screens.choose_kernel import ChooseKernelScreen
from irscope.tui.screens.compare import CompareScreen
from irscope.tui.screens.dialogs import ConfirmScreen, PromptScreen
from irscope.tui.screens.documents import WhyScreen
from irscope.tui.screens.equal_bits import BitsScreen
from irscope.tui.screens.estimate import EstimateScreen
from irscope.tui.screens.explain import ExplainScreen
from irscope.tui.screens.help import HelpScreen
from irscope.tui.screens.home import HomeScreen, HomeView
from irscope.tui.screens.layout import LayoutScreen
from irscope.tui.screens.passes import PassesScreen, PassView
from irscope.tui.screens.timeline import TimelineScreen, TimelineView
from irscope.tui.settings import StateFolder
from irscope.tui.widgets.bars import Bar, StatusLine
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.document_view import DocumentView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.grid_view import GridView
from irscope.tui.widgets.lesson_view import LessonView
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable
from irscope.workspace import Workspace
from tests import recorded_passes
from tests.tui import captures
from tests.tui.driving import drawn, press, settled, tab, texts
from tests.tui.test_lesson import LESSON

pytestmark = pytest.mark.slow  # 150 keys

Look = Callable[[Pilot[None]], Any]
_PATIENCE_SECONDS = 20.0


@dataclass(frozen=True)
class Trial:
    """The keys to press first, what to look at, and how it must differ before and after the key."""

    look: Look
    before: tuple[str, ...] = ()
    right: Callable[[Any, Any], bool] = ne
    panel: type[Widget] | None = None
    place: Look | None = None  # where to put the cursor of the panel
    make: Callable[[Path], Path] = captures.matmul
    lesson: Lesson | None = None
    from_home: bool = False


def becomes(value: Any) -> Callable[[Any, Any], bool]:
    return lambda before, after: before != value and after == value


def more(before: Any, after: Any) -> bool:
    return bool(after > before)


def less(before: Any, after: Any) -> bool:
    return bool(after < before)


def one(pilot: Pilot[None], kind: type[Widget]) -> Any:
    return pilot.app.screen.query(kind).first()


def row(pilot: Pilot[None]) -> int:
    return texts(pilot).row


def pair(pilot: Pilot[None]) -> tuple[int, int]:
    screen = pilot.app.screen
    if isinstance(screen, ChartScreen):
        return screen._pair[0].id, screen._pair[1].id
    a, b = one(pilot, VariantTable)._pair
    return a, b


def screen(pilot: Pilot[None]) -> type:
    return type(pilot.app.screen)


def shown(selector: str) -> Look:
    return lambda pilot: pilot.app.screen.query(selector).first().display


def layout_title(pilot: Pilot[None]) -> str:
    return "".join(label.text for label in pilot.app.screen.query_one("#layout-title", Bar).labels(200))


def copied(pilot: Pilot[None]) -> str:
    return pilot.app.clipboard


def cursor(kind: type[LineView]) -> Look:
    return lambda pilot: one(pilot, kind).cursor


def title(pilot: Pilot[None]) -> str:
    return drawn(pilot.app.screen.query_one("#chart-title"))


def point(pilot: Pilot[None]) -> int:
    return one(pilot, ChartView).point.variant.id


WITH_A_BUFFER = ("shift+tab",) * 9


def at_cell(pilot: Pilot[None]) -> tuple[int, int]:
    return one(pilot, GridView).cursor


def number(pilot: Pilot[None]) -> str:
    return drawn(pilot.app.screen.query_one("#layout-title")).split("of")[0]


def drawn_layout(pilot: Pilot[None]) -> str:
    return drawn(one(pilot, GridView))


def first_view(pilot: Pilot[None]) -> str:
    return one(pilot, GridView)._sides[0][0].grid.title


def cell_styles(pilot: Pilot[None]) -> object:
    return [segment.style for segment in one(pilot, GridView).render_line(3)]


def at_span(pilot: Pilot[None]) -> tuple[int, int, float, float]:
    return one(pilot, TimelineView).place


def messages(pilot: Pilot[None]) -> str:
    return "".join(note.message for note in pilot.app._notifications)


def page_title(pilot: Pilot[None]) -> str:
    view = one(pilot, LessonView)
    return f"{view.border_title} {pilot.app.screen.query_one(Markdown).source}"


def started(pilot: Pilot[None]) -> list[list[str]]:
    """The programs that were started."""
    return list(getattr(pilot.app, "started", []))


def fold(pilot: Pilot[None]) -> int:
    lines = texts(pilot)._layout
    return next(index for index in range(len(lines)) if lines[index].kind is LineKind.FOLD)


def proven(pilot: Pilot[None]) -> int:
    view = one(pilot, FindingsView)
    owners = [line.owner for line in view.items if line.owner < len(view.findings)]
    return next(i for i, owner in enumerate(owners) if view.findings[owner].target.line)


def selected(pilot: Pilot[None]) -> int:
    return one(pilot, FindingsView).selected


def of_the_product(pilot: Pilot[None]) -> int:
    """The line of Python with tl.dot."""
    lines = one(pilot, SourceView).python.lines
    return next(index for index, line in enumerate(lines) if "tl.dot" in line.text)


def forget(pilot: Pilot[None]) -> int:
    """Empties the list of recent captures."""
    view = one(pilot, HomeView)
    view.show_section(Section.RECENT, ())
    return int(view.cursor)


def at_lessons(pilot: Pilot[None]) -> int:
    """The title of a section that is not shown completely, after so many recent captures."""
    view = one(pilot, HomeView)
    view.show_section(Section.RECENT, [*view.entries(Section.RECENT)] * 60)
    return next(row for row in view.landmarks() if "Lessons" in view.plain_text(row))


def lessons(pilot: Pilot[None]) -> int:
    """The number of lines that are about lessons."""
    return sum(line.section is Section.LESSONS for line in one(pilot, HomeView).items)


def with_a_goal(pilot: Pilot[None]) -> int:
    return one(pilot, DocumentView).landmarks()[0]


def with_code(pilot: Pilot[None]) -> int:
    return one(pilot, DocumentView).landmarks()[0]


def nine_stages(path: Path) -> Path:
    """A for cuda and B for hip, with all the stages that a kernel in Triton's own languages can have."""
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain({"triton": "3.9.0"}, "test")
        kernel = writer.add_kernel(captures.KERNEL, (), ())
        for target in ("cuda:90", "hip:gfx942"):
            known = [stage for stage in stages_for(target.partition(":")[0]) if not stage.binary]
            stages = [stage.name for stage in known if stage.language != "python"]
            made = {name: f"// {name}\n".encode() for name in stages}
            new = NewVariant(parse_target(target), (), Config(()), artifacts=made)
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return path


STAGES = ["python", "source", "glir", "ttir", "ttgir", "llir", "ptx", "sass", "amdgcn"]
DOT = ("3", "S", "slash", *"group_dot %", "enter")
SEARCHED = ("3", "f", "g", "slash", *"arith", "enter")
COMPARE = {
    "change(1)": Trial(row, ("3", "g"), more),
    "change(-1)": Trial(row, ("3", "G"), less),
    "step(1)": Trial(pair, right=becomes((1, 3))),
    "step(-1)": Trial(pair, ("J",), becomes((1, 2))),
    "swap": Trial(pair, right=becomes((2, 1))),
    "version(1)": Trial(pair, right=becomes((2, 3)), make=captures.versions),
    "version(-1)": Trial(pair, ("}",), becomes((1, 2)), make=captures.versions),
    "finding(1)": Trial(selected, right=becomes(1)),
    "finding(-1)": Trial(selected, ("greater_than_sign",), becomes(0)),
    "go_to_finding": Trial(tab, ("1",), becomes("ttgir")),
    "toggle_unified": Trial(lambda pilot: texts(pilot).unified),
    "toggle_folded": Trial(lambda pilot: texts(pilot).line_count(), ("3",), more),
    "detail": Trial(lambda pilot: "raw text" in drawn(one(pilot, StatusLine)), ("3",), becomes(True)),
    "toggle_locations": Trial(lambda pilot: texts(pilot).located, right=becomes(True)),
}
TABLE = {
    "mark('a')": Trial(pair, ("G", "k"), becomes((3, 2)), VariantTable),
    "mark('b')": Trial(pair, ("G", "k"), becomes((1, 3)), VariantTable),
    "column(1)": Trial(lambda pilot: one(pilot, VariantTable)._column, (), more, VariantTable),
    "column(-1)": Trial(lambda pilot: one(pilot, VariantTable)._column, ("l", "l"), less, VariantTable),
    "sort": Trial(
        lambda pilot: [variant.id for variant in one(pilot, VariantTable).order],
        ("l",),
        becomes([1, 4, 2, 3]),
        VariantTable,
    ),
    "number": Trial(messages, (), lambda _, note: "type its number" in note, VariantTable),
    "screen.filter": Trial(shown("#filter"), (), becomes(True), VariantTable),
    "expand": Trial(lambda pilot: one(pilot, VariantTable).model.folding, (), ne, VariantTable),
    "fold": Trial(
        lambda pilot: one(pilot, VariantTable).model.folding.folded, (), becomes(False), VariantTable
    ),
    "constants": Trial(lambda pilot: one(pilot, VariantTable).model.constants, (), ne, VariantTable),
}
TEXTS = {
    "pan(8)": Trial(lambda pilot: texts(pilot)._x, right=becomes(8)),
    "pan(-8)": Trial(lambda pilot: texts(pilot)._x, ("l", "l"), becomes(8)),
    "pan_home": Trial(lambda pilot: texts(pilot)._x, ("l", "l"), becomes(0)),
    "wrap": Trial(lambda pilot: texts(pilot).wraps),
    "gauge": Trial(lambda pilot: texts(pilot).gauge, ("4",)),
    "open_fold": Trial(lambda pilot: texts(pilot).line_count(), ("3",), more, DiffView, fold),
}
PANELS = {
    "jump": Trial(tab, ("1",), becomes("ttgir"), FindingsView, proven),
    "all_findings": Trial(lambda pilot: len(one(pilot, FindingsView).findings), (), more, FindingsView),
    "follow": Trial(row, ("3", "S"), ne, SourceView, of_the_product, captures.traced),
    "go": Trial(tab, DOT, becomes("ttir"), LineOutcomesView, None, captures.traced),
}
MOVE = {
    "down": Trial(cursor(DiffView), ("f", "g"), becomes(1)),
    "up": Trial(cursor(DiffView), ("f", "g", "j"), becomes(0)),
    "page_down": Trial(lambda pilot: texts(pilot).scroll_offset.y, ("3", "f", "g"), more),
    "page_up": Trial(lambda pilot: texts(pilot).scroll_offset.y, ("3", "f", "G"), less),
    "half_page(1)": Trial(lambda pilot: texts(pilot).scroll_offset.y, ("3", "f", "g"), more),
    "half_page(-1)": Trial(lambda pilot: texts(pilot).scroll_offset.y, ("3", "f", "G"), less),
    "first": Trial(cursor(DiffView), ("f", "G"), becomes(0)),
    "last": Trial(lambda pilot: texts(pilot).cursor == texts(pilot).line_count() - 1, ("f", "g"), more),
}
FIND = {
    "search": Trial(shown("#search"), right=becomes(True)),
    "match(1)": Trial(row, SEARCHED, more),
    "match(-1)": Trial(row, SEARCHED, more),  # around the end
    "go_to_line": Trial(screen, right=becomes(PromptScreen)),
    "explain": Trial(screen, ("3", "slash", *"sizePer", "enter"), becomes(ExplainScreen)),
    "back": Trial(row, ("f", "g", "slash", *"tt.store", "enter"), becomes(0)),
    "escape": Trial(
        lambda pilot: drawn(one(pilot, StatusLine)).count("tt.store"), ("slash", *"tt.store", "enter"), less
    ),
}
EXPORT = {
    "copy_line": Trial(copied, ("3",), lambda _, text: "\n" not in text and "=" in text),
    "copy_config": Trial(copied, (), lambda _, text: "BLOCK_M" in text and "128" in text),
    "copy_operation": Trial(copied, ("3", "slash", *"scf.for", "enter"), lambda _, text: "\n-" in text),
    "page": Trial(started, ("3",), lambda _, found: found and found[0][0] == "less"),
    "save": Trial(screen, ("3",), becomes(PromptScreen)),
}
SHOW = {
    **{
        f"stage({number})": Trial(
            tab, ("1",) if number > 1 else ("2",), becomes(STAGES[number - 1]), make=nine_stages
        )
        for number in range(1, 10)
    },
    "toggle_variants": Trial(shown("#variants"), right=becomes(False)),
    "toggle_source": Trial(shown("#source"), right=becomes(True)),
    "grow(1)": Trial(lambda pilot: one(pilot, FindingsView).size.height),
    "grow(-1)": Trial(lambda pilot: one(pilot, FindingsView).size.height, ("right_parenthesis",)),
    "toggle_findings": Trial(shown("#findings"), right=becomes(False)),
    "choose_kernel": Trial(screen, right=becomes(ChooseKernelScreen)),
    "layout": Trial(screen, right=becomes(LayoutScreen)),
    "chart": Trial(screen, right=becomes(ChartScreen)),
    "estimate": Trial(screen, right=becomes(EstimateScreen), make=captures.launched),
    "why": Trial(screen, right=becomes(WhyScreen)),
    "bits": Trial(screen, right=becomes(BitsScreen)),
    "passes": Trial(screen, right=becomes(PassesScreen), make=recorded_passes.write),
    "timeline": Trial(screen, right=becomes(TimelineScreen)),
    "zoom": Trial(lambda pilot: pilot.app.screen.maximized is not None, right=becomes(True)),
}
CHART = {
    "move(1)": Trial(point, ("C",)),
    "move(-1)": Trial(point, ("C", "l"), becomes(1)),
    "fact(1)": Trial(title, ("C",)),
    "fact(-1)": Trial(title, ("C",)),
    "axis": Trial(lambda pilot: "over num_warps" in title(pilot), ("C",), becomes(True)),
    "split": Trial(lambda pilot: ", by " in title(pilot), ("C",), becomes(False)),
    "mark('a')": Trial(pair, ("shift+tab", "G", "k", "C"), becomes((3, 2))),
    "mark('b')": Trial(pair, ("shift+tab", "G", "k", "C"), becomes((1, 3))),
}
WHY = {
    "go": Trial(screen, ("W",), becomes(CompareScreen), DocumentView, with_a_goal),
    "all_findings": Trial(lambda pilot: getattr(pilot.app.screen, "every", None), ("W",), becomes(True)),
}
ESTIMATE = {
    "go_to_term": Trial(
        screen, ("B",), becomes(CompareScreen), DocumentView, with_code, make=captures.launched
    ),
    "devices": Trial(
        lambda pilot: getattr(pilot.app.screen, "devices", None),
        ("B",),
        becomes(True),
        make=captures.launched,
    ),
}
BITS = {
    "go_to_deciding_line": Trial(
        screen, ("I",), becomes(CompareScreen), DocumentView, with_code, make=captures.softmax
    ),
    "launch": Trial(screen, ("I",), becomes(PromptScreen)),
}
PASSES = {
    "open": Trial(shown("#passes"), ("p",), becomes(False), PassView, make=recorded_passes.write),
    "changed": Trial(
        lambda pilot: one(pilot, PassView).line_count(), ("p",), more, make=recorded_passes.write
    ),
    "filter": Trial(shown("#filter"), ("p",), becomes(True), make=recorded_passes.write),
    "changed_pass(1)": Trial(cursor(PassView), ("p", "g"), more, make=recorded_passes.write),
    "changed_pass(-1)": Trial(cursor(PassView), ("p", "G"), less, make=recorded_passes.write),
    "divergence": Trial(cursor(PassView), ("p", "g"), more, make=recorded_passes.write),
    "compare": Trial(
        lambda pilot: texts(pilot)._headings[0], ("p",), becomes("A before tritongpu-pipeline"),
        make=recorded_passes.write,
    ),
}  # fmt: skip
LAYOUT = {
    "cell(0, 1)": Trial(at_cell, ("T",), more),
    "cell(0, -1)": Trial(at_cell, ("T", "l", "l"), less),
    "cell(1, 0)": Trial(at_cell, ("T",), becomes((1, 0))),
    "cell(-1, 0)": Trial(at_cell, ("T", "j", "j"), becomes((1, 0))),
    "cells_down(1)": Trial(at_cell, ("T",), more),
    "cells_down(-1)": Trial(at_cell, ("T", "j"), becomes((0, 0))),
    "half_page(1)": Trial(at_cell, ("T",), more),
    "half_page(-1)": Trial(at_cell, ("T", "j"), becomes((0, 0))),
    "first": Trial(at_cell, ("T", "j", "j"), becomes((0, 0))),
    "last": Trial(at_cell, ("T", "j"), more),
    "filter": Trial(shown("#filter"), ("T",), becomes(True)),
    "value(1)": Trial(number, ("T", "l", "h")),
    "value(-1)": Trial(number, ("T",)),
    "element": Trial(messages, ("T",), lambda _, note: "type its indices" in note),
    "whole": Trial(drawn_layout, ("T",), lambda old, new: "thread:registers" in old and "warp" in new),
    "view": Trial(first_view, ("T",), lambda old, new: (old, new) == ("thread:registers", "warp")),
    "color": Trial(cell_styles, ("T",)),
    "swizzle": Trial(drawn_layout, ("T", *WITH_A_BUFFER)),
    "written": Trial(layout_title, ("T",), lambda _, title: "as written" in title, make=captures.gluon),
    "banks": Trial(lambda pilot: "wavefront 1" in drawn_layout(pilot), ("T", *WITH_A_BUFFER), becomes(True)),
}
TIMELINE = {
    "span(1)": Trial(at_span, ("P",), lambda old, new: new[:2] == (old[0], old[1] + 1)),
    "span(-1)": Trial(at_span, ("P", "l", "l"), lambda old, new: new[:2] == (old[0], old[1] - 1)),
    "lane(1)": Trial(at_span, ("P",), lambda old, new: new[0] == old[0] + 1),
    "lane(-1)": Trial(at_span, ("P", "j", "j"), lambda old, new: new[0] == old[0] - 1),
    "page_down": Trial(at_span, ("P",), lambda old, new: new[0] > old[0] + 1),
    "page_up": Trial(at_span, ("P", "j", "j"), lambda _, new: new[0] == 0),
    "half_page(1)": Trial(at_span, ("P",), lambda old, new: new[0] > old[0] + 1),
    "half_page(-1)": Trial(at_span, ("P", "j", "j"), lambda _, new: new[0] == 0),
    "first": Trial(at_span, ("P", "j", "j"), lambda _, new: new[0] == 0),
    "last": Trial(at_span, ("P",), lambda old, new: new[0] > old[0] + 1),
    "zoom_time(1)": Trial(at_span, ("P",), lambda old, new: new[3] > old[3]),
    "zoom_time(-1)": Trial(at_span, ("P", "+", "+"), lambda old, new: new[3] < old[3]),
    "whole_time": Trial(at_span, ("P", "+", "+"), lambda old, new: new[3] < old[3] and new[3] == 1),
    "follow_wait": Trial(at_span, ("P",), lambda old, new: new[:2] != old[:2]),
    "go_to_span": Trial(screen, ("P", "j"), becomes(CompareScreen)),
}
TURNED = {
    "lesson(1)": Trial(page_title, lesson=LESSON),
    "lesson(-1)": Trial(page_title, (".",), lesson=LESSON),
}
LEAVE = {
    "go_to_line": Trial(screen, ("C",), becomes(PromptScreen)),
    "close": Trial(screen, ("C",), becomes(CompareScreen)),
    "explain": Trial(screen, ("C",), becomes(ExplainScreen)),
}
READ = {
    "search": Trial(shown("#search"), ("W",), becomes(True)),
    "match(1)": Trial(cursor(DocumentView), ("W", "slash", *"constexpr", "enter", "g"), more),
    "match(-1)": Trial(
        cursor(DocumentView), ("W", "slash", *"constexpr", "enter", "g"), more
    ),  # around the end
    "change(1)": Trial(cursor(DocumentView), ("W",), more),
    "change(-1)": Trial(cursor(DocumentView), ("W", "G"), less),
}
HOME = {
    "open": Trial(lessons, ("H",), more, HomeView, at_lessons),
    "refresh_lists": Trial(
        lambda pilot: len(one(pilot, HomeView).entries(Section.RECENT)), ("H",), more, HomeView, forget
    ),
}
ASK = {
    "confirm": Trial(lambda pilot: pilot.app.is_running, ("q",), becomes(False)),
    "stay": Trial(screen, ("q",), becomes(CompareScreen)),
}
APP = {
    "what_if": Trial(messages, right=lambda _, notes: "Nothing can be compiled here" in notes),
    "edit_stage": Trial(messages, right=lambda _, notes: "Nothing can be built here" in notes),
    "recompile": Trial(messages, right=lambda _, notes: "Nothing new in" in notes),
    "help": Trial(screen, right=becomes(HelpScreen)),
    "palette": Trial(screen, right=becomes(Palette)),
    "home": Trial(screen, right=becomes(HomeScreen)),
    "return_home": Trial(lambda pilot: pilot.app.is_running, right=becomes(False), from_home=True),
    "suspend": Trial(started, right=becomes([["suspend"]])),
    "app.quit": Trial(screen, right=becomes(ConfirmScreen)),
}
# By the title of the group in key_help.sections().
TRIALS: dict[str, dict[str, Trial]] = {
    "Compare": COMPARE,
    "In the table of variants": TABLE,
    "In the texts": TEXTS,
    "In the findings": PANELS,
    "In the Python source": PANELS,
    "In the list of what a line became": PANELS,
    "In a lesson": TURNED,
    "In the chart": CHART,
    "In the estimate": ESTIMATE,
    "In the reasons": WHY,
    "In the screen of equal bits": BITS,
    "In the layouts": LAYOUT,
    "In the timeline": TIMELINE,
    "In the list of passes": PASSES,
    "In the passes": PASSES,
    "In a screen over the main one": LEAVE,
    "In a screen of text": READ,
    "In the home screen": HOME,
    "When irscope asks whether to quit": ASK,
    "Move, in every panel": MOVE,
    "Find": FIND,
    "Copy, open, save": EXPORT,
    "Panels and stages": SHOW,
    "The app": APP,
}
EVERY = [
    pytest.param(group.title, binding.id, key.key, id=f"{group.title}: {key.key}")
    for group in key_help.sections()
    for binding in group.bindings
    for key in Binding.make_bindings([binding])
]


@pytest.mark.parametrize(("section", "action", "key"), EVERY)
async def test_a_key_runs_its_action(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, section: str, action: str, key: str
) -> None:
    assert action in TRIALS.get(section, {}), f"write a trial of {action} ({section})"
    trial = TRIALS[section][action]
    workspace = Workspace(trial.make(tmp_path / "x.irscope"))
    lesson = LessonPages(trial.lesson, workspace) if trial.lesson else None
    start = Start(StateFolder(tmp_path / "state"), from_home=trial.from_home)
    app = IrscopeApp(workspace, lesson=lesson, start=start)
    started: list[list[str]] = []
    app.started = started  # type: ignore[attr-defined]

    def run(command: list[str], check: bool) -> subprocess.CompletedProcess[str]:
        started.append(command)
        return subprocess.CompletedProcess(command, 0)

    monkeypatch.setattr(export.subprocess, "run", run)
    monkeypatch.setattr(IrscopeApp, "suspend", contextlib.nullcontext)
    monkeypatch.setattr(IrscopeApp, "action_suspend_process", lambda app: started.append(["suspend"]))
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PAGER", raising=False)
    monkeypatch.delenv("EDITOR", raising=False)
    async with app.run_test(size=(160, 50)) as pilot:
        await settled(pilot)
        if section == "In the table of variants":
            one(pilot, VariantTable).focus()
        await press(pilot, *trial.before)
        if trial.panel is not None:
            panel = one(pilot, trial.panel)
            panel.focus()
            if trial.place is not None:
                panel.cursor = trial.place(pilot)
            await settled(pilot)
        before = trial.look(pilot)
        await pilot.press(key)
        async with asyncio.timeout(_PATIENCE_SECONDS):
            while not trial.right(before, trial.look(pilot)):
                await pilot.pause(0.01)
