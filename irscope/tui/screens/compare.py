"""The main screen: the variants, two of them as A and B, the stages, and what differs."""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import on
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.worker import Worker, WorkerState

from irscope.model import Variant
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.controllers.export import ExportController
from irscope.tui.controllers.findings import FindingsController, SizeController
from irscope.tui.controllers.live_updates import GrowthController, LiveController, RecompileController
from irscope.tui.controllers.navigation import NavigationController
from irscope.tui.controllers.record_passes import RecordPassesController
from irscope.tui.controllers.session import SessionController
from irscope.tui.controllers.source_panel import LineMarksController, SourcePanelController
from irscope.tui.controllers.stages import StageController, TimelineController
from irscope.tui.controllers.variant_panel import BitsController, VariantPanelController
from irscope.tui.controllers.what_if import EditStageController, WhatIfController
from irscope.tui.live_connection import LiveConnection, VariantCompiler
from irscope.tui.pair_state import PairState
from irscope.tui.screens import overlay
from irscope.tui.screens.dialogs import OVERLAYS_CSS, ActionScreen
from irscope.tui.settings import Settings, StateFolder
from irscope.tui.widgets.bars import (
    KeyHints,
    MismatchBar,
    StageTabs,
    StatusLine,
    StoryBar,
    TableNote,
    TitleBar,
)
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.line_view import ItemView, LineView
from irscope.tui.widgets.search_bar import FilterBar, PanelSearch, SearchBar
from irscope.tui.widgets.source_view import LineOutcomesView, SourceView
from irscope.tui.widgets.variant_table import VariantTable

if TYPE_CHECKING:
    from irscope.learn.render import LessonPages
    from irscope.tui.controllers.source_panel import LessonController
    from irscope.tui.widgets.lesson_view import LessonView
    from irscope.workspace import Workspace

# Style classes of the screen by the minimum number of columns and lines.
_WIDTHS = [(0, "-narrow"), (120, "-wide")]
_HEIGHTS = [(0, "-tiny"), (16, "-short"), (30, "-normal"), (40, "-tall")]


class CompareScreen(ActionScreen[None]):
    """Owns the panels and the controllers, and passes messages from the ones to the others."""

    CSS_PATH = None  # irscope.tcss has its styles; parsing those of other screens takes longer than its paint
    KEYS = keys.MAIN_GROUPS
    PANELS: ClassVar[Sequence[type[LineView]]] = (
        VariantTable, DiffView, FindingsView, SourceView, LineOutcomesView,
    )  # fmt: skip
    BINDINGS: ClassVar[list[BindingType]] = [*keys.MAIN]
    ALLOW_IN_MAXIMIZED_VIEW = "#stages, #search, #filter, #status, #keys"
    ESCAPE_TO_MINIMIZE = False  # Escape leaves the search first
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    # What the actions in keys.py use.
    texts: DiffView
    stages: StageController
    navigation: NavigationController
    source_panel: SourcePanelController
    variant_panel: VariantPanelController
    findings: FindingsController
    sizes: SizeController
    live: LiveController
    recompile_on_save: RecompileController
    timeline: TimelineController
    export: ExportController
    what_if: WhatIfController
    stage_editor: EditStageController

    def __init__(
        self,
        workspace: Workspace,
        background: Background,
        settings: Settings,
        live: LiveConnection | None = None,
        pages: LessonPages | None = None,
        states: StateFolder | None = None,
        fresh: bool = False,
        go_home: Callable[[], None] | None = None,
        compiler: VariantCompiler | None = None,
    ) -> None:
        super().__init__()
        self.workspace = workspace
        self.background = background
        self._settings = settings
        self.set_class(pages is not None, "-lesson")
        self.title_bar = TitleBar(workspace, id="title")
        self.table = VariantTable(id="variants")
        self.table.load(workspace)
        self.table_note = TableNote(self.table.model, id="table-note")
        self.mismatch = MismatchBar(id="mismatch")
        words = "filter: words, or conditions like registers>128"
        self.filter_bar = FilterBar(words, self.table, self.table.line_count, self._filter_table)
        self.tabs = StageTabs(id="stages")
        self.texts = DiffView(id="texts")
        self.source = Vertical(id="source")
        self.source_view, self.outcomes_view = SourceView(), LineOutcomesView()
        self.costs, self.divergence = StoryBar(id="costs"), StoryBar(id="divergence")
        self.findings_view = FindingsView(id="findings")
        self.search_bar = PanelSearch()
        self._status = StatusLine(id="status")
        self._hints = KeyHints(id="keys")
        self._lesson_view: LessonView | None = None
        self.stages = StageController(self, settings.stage)
        self.navigation = NavigationController(self)
        self.source_panel = SourcePanelController(self)
        self.variant_panel = VariantPanelController(self)
        self.findings = FindingsController(self)
        self.sizes = SizeController(self)
        self._marks = LineMarksController(self)
        self.live = LiveController(self, live)
        self.recompile_on_save = RecompileController(self, live)
        self._growth = None if live is not None else GrowthController(self)
        self.lesson = self._lesson_controller(pages) if pages is not None else None
        self.timeline = TimelineController(self)
        self.export = ExportController(self)
        self.can_compile = compiler is not None
        self.what_if = WhatIfController(self, compiler)
        self.bits = BitsController(self)
        self.stage_editor = EditStageController(self, compiler)
        self.passes = RecordPassesController(self, self.live, self.what_if, compiler)
        self._session = SessionController(self, (self.source, self.findings_view), states, fresh)
        self._go_home = go_home

    def _lesson_controller(self, pages: LessonPages) -> LessonController:
        from irscope.tui.controllers.source_panel import LessonController
        from irscope.tui.widgets.lesson_view import LessonView  # importing Markdown takes a while

        self._lesson_view = LessonView(id="lesson")
        return LessonController(self, pages, self._lesson_view)

    def compose(self) -> ComposeResult:
        """Yield the panels, from top to bottom, in the styles for this size: Textual knows it later."""
        for length, classes in zip(self.app.size, (_WIDTHS, _HEIGHTS), strict=True):
            self.add_class(max(fit for fit in classes if fit[0] <= length)[1], update=False)
        yield self.title_bar
        yield self.table
        yield self.table_note
        yield self.mismatch
        yield self.filter_bar
        yield self._session.tip_bar
        yield self.tabs
        with Container(id="main"):
            yield self.texts
            with self.source:
                yield self.source_view
                yield self.outcomes_view
        if self._lesson_view is not None:
            yield self._lesson_view
        yield self.costs
        yield self.divergence
        yield self.findings_view
        yield self.search_bar
        yield self._status
        yield self._hints

    def on_mount(self) -> None:
        """Show the opening pair; slow work starts after the first paint."""
        self.table.opened(self.pair.a, self.pair.b)
        self._session.restore()
        self.texts.focus()
        self.stages.show_pair()
        self.call_after_refresh(self._start)

    def on_unmount(self) -> None:
        """Remembers how the capture was left."""
        self._session.close()
        self.stages.close()
        self.bits.close()

    def _start(self) -> None:
        if not self.app.stylesheet.has_source(str(OVERLAYS_CSS)):  # reading it parses all styles again
            self.app.stylesheet.read(OVERLAYS_CSS)
        self._session.save()
        self.table.measure(self.workspace, self.background)
        self.stages.start_comparing()
        self.live.start()
        self.recompile_on_save.start()
        if self._growth is not None:
            self._growth.start()
        self.timeline.start()
        if self.lesson is not None:
            self.lesson.turn(1)

    # What controllers and other screens use.

    @property
    def pair(self) -> PairState:
        """Return A and B."""
        return self.stages.pair

    @property
    def stage(self) -> str:
        """Return the stage on screen."""
        return self.stages.stage

    def shown_variant(self, right: bool) -> Variant:
        """Return the variant whose text is on screen: B if `right`, else A; the only one if one is shown."""
        return self.pair.only_variant(self.stage) or (self.pair.b if right else self.pair.a)

    def page_changed(self) -> None:
        """Update what depends on the page on screen."""
        self.search_bar.find()
        self.update_status()
        self._hints.refresh()
        self.source_panel.follow()
        self.call_after_refresh(self._marks.update)
        self.variant_panel.pair_changed()

    @property
    def numbered(self) -> str:
        """Return what the lines of the focused panel are called."""
        return self.navigation.panel.NUMBERED

    def go_to_number(self, text: str) -> bool:
        """Go to a line, a variant or a finding by its number, in the focused panel."""
        return self.navigation.go_to_number(text)

    def run_exclusive(self, work: Callable[[], Coroutine[None, None, None]], group: str) -> Worker[None]:
        """Run `work` in the app's thread and cancel earlier work of the same group."""
        return self.run_worker(work, group=group, exclusive=True, exit_on_error=False)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Show an unexpected error of background work; the app goes on."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            message = f"{type(error).__name__}: {error}"
            self.notify(message, title="Internal error in irscope", severity="error", markup=False)

    # Messages of the panels.

    @on(VariantTable.Marked)
    def _mark(self, message: VariantTable.Marked) -> None:
        self._session.did("mark")
        a, b = self.pair.a, self.pair.b
        self.stages.compare(*((message.variant, b) if message.letter == "a" else (a, message.variant)))

    @on(VariantTable.Arranged)
    def _fit_table(self) -> None:
        self.variant_panel.arranged()

    @on(VariantTable.Filled)
    def _classify(self) -> None:
        self.bits.start()

    @on(LineView.CursorMoved)
    def _follow_cursor(self, message: LineView.CursorMoved) -> None:
        if message.view is not self.source_view:
            self.update_status()
        self.source_panel.follow(message.view)

    @on(LineView.Dragged)
    def _drag(self, message: LineView.Dragged) -> None:
        if message.view in (self.texts, self.findings_view):
            self.sizes.drag(message.view, message.lines)

    @on(ItemView.Chosen)
    def _open_item(self, message: ItemView.Chosen) -> None:
        if message.view is self.source_view:
            self.source_panel.go_to_next()
        elif message.view is self.outcomes_view:
            self.source_panel.go_to_outcome()
        else:
            self.findings.go()

    def update_status(self) -> None:
        """Show where the cursor is; in the table, why its variant failed or cannot be launched."""
        if isinstance(self.focused, VariantTable) and self.table.note:
            self._status.show_message(self.table.note)
        else:
            summary = self.pair.summary(self.stage)
            progress = ""
            if not self.title_bar.display:  # it is hidden on small screens
                progress = self.workspace.growth.progress(len(self.workspace.variants))
            search = self.navigation.search
            self._status.show_position(self.texts, self.stages.detail, search, summary, progress)

    def on_descendant_focus(self) -> None:
        """Update what is about the focused panel."""
        self.update_status()
        if isinstance(self.focused, VariantTable):
            self._session.did("table")

    @on(SearchBar.Changed, "#search")
    def _search(self, message: SearchBar.Changed) -> None:
        self.navigation.query_changed(message.value)

    @on(SearchBar.Submitted, "#search")
    def _close_search(self) -> None:
        self.navigation.keep_search()

    @on(SearchBar.Canceled, "#search")
    def _cancel_search(self) -> None:
        self.navigation.cancel_search()

    def _filter_table(self, query: str) -> None:
        self.table.filter(query)
        self.update_status()

    # Actions: keys.py declares what each runs, and when.

    def action_run(self, name: str) -> None:
        """Run the action of this name in `keys.ACTIONS`; one that takes a while goes on in the background."""
        self._session.did(name)
        run = keys.ACTIONS[name].run
        work = run and run(self)
        if isinstance(work, Coroutine):
            self.run_worker(work, group=name, exclusive=True, exit_on_error=False)

    @property
    def came_from_home(self) -> bool:
        """Return True if there is a home screen to return to."""
        return self._go_home is not None

    def return_home(self) -> None:
        """Close the capture and return to the home screen from which it was opened."""
        if self._go_home is not None:
            self._go_home()

    def undo_view(self) -> None:
        """Undoes zoom, search, filter and the last jump, one per press."""
        if self.maximized is not None:
            self.minimize()
        elif self.navigation.search.words:
            self.navigation.clear_search()
        elif self.filter_bar.value:
            self.filter_bar.drop()
        elif self.navigation.has_jumped:
            self.navigation.go_back()
        elif not self._session.drop_tip():
            self.notify("Nothing to go back to; q quits", timeout=2)

    def turn_lesson(self, direction: int) -> None:
        """Go on in the lesson, or back."""
        if self.lesson is not None:
            self.lesson.turn(direction)

    def action_show_constants(self) -> None:
        """Show the columns that are equal in all rows."""
        self.table.action_constants()

    def open_overlay(self, name: str) -> None:
        """Open a screen over this one."""
        overlay(name).open(self)

    def action_filter(self) -> None:
        """Open the filter of the table."""
        self.filter_bar.open()

    def toggle_locations(self) -> None:
        """Show or hides source locations."""
        self.texts.toggle_locations()
        self.search_bar.find()
        self.update_status()

    def toggle_variants(self) -> None:
        """Show or hides the table."""
        self.table.display = not self.table.display
        (self.table if self.table.display else self.texts).focus()
        self.variant_panel.arranged()

    def zoom(self) -> None:
        """Show only the focused panel, or all panels."""
        if self.maximized is not None:
            self.minimize()
        elif isinstance(self.focused, LineView):
            self.maximize(self.focused)
