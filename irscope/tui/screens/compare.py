"""The main screen: the variants, two of them as A and B, the stages, and what differs."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Container, Vertical
from textual.worker import Worker, WorkerState

from irscope.model import UserError, Variant
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.controllers.exporting import ExportActions
from irscope.tui.controllers.layouts import LayoutActions
from irscope.tui.controllers.lesson import LessonActions
from irscope.tui.controllers.live import LiveActions
from irscope.tui.controllers.navigation import ReadActions
from irscope.tui.controllers.open_screens import LookActions
from irscope.tui.controllers.source import SourceActions
from irscope.tui.detail import Detail
from irscope.tui.live import Live
from irscope.tui.pair_state import PairState
from irscope.tui.screens.help import HelpScreen
from irscope.tui.search import Search
from irscope.tui.settings import Settings
from irscope.tui.why_lines import proof
from irscope.tui.widgets.bar import Label
from irscope.tui.widgets.diff_view import DiffView
from irscope.tui.widgets.findings_view import FindingsView
from irscope.tui.widgets.key_hints import KeyHints
from irscope.tui.widgets.line_view import LineView
from irscope.tui.widgets.search_bar import SearchBar
from irscope.tui.widgets.source_view import SourceView
from irscope.tui.widgets.stage_tabs import StageTabs
from irscope.tui.widgets.status_line import StatusLine
from irscope.tui.widgets.title_bar import TitleBar
from irscope.tui.widgets.variant_table import VariantTable
from irscope.tui.widgets.work_view import WorkView
from irscope.workspace import Workspace

if TYPE_CHECKING:
    from irscope.tui.lesson import LessonPages

_START = (0, False)
# Style classes of the screen from so many columns and lines on.
_WIDTHS = [(0, "-narrow"), (120, "-wide")]
_HEIGHTS = [(0, "-tiny"), (16, "-short"), (30, "-normal"), (40, "-tall")]


class CompareScreen(
    LessonActions, LiveActions, LookActions, LayoutActions, SourceActions, ReadActions, ExportActions
):
    """Holds A, B and the stage on show; the panels ask it for everything else."""

    BINDINGS: ClassVar[list[BindingType]] = [
        *keys.LESSON,
        *keys.COMPARE,
        *keys.SEARCH,
        *keys.EXPORT,
        *keys.PANELS,
        *keys.APP,
    ]
    HORIZONTAL_BREAKPOINTS = _WIDTHS
    VERTICAL_BREAKPOINTS = _HEIGHTS

    def __init__(
        self,
        workspace: Workspace,
        background: Background,
        settings: Settings,
        live: Live | None = None,
        pages: LessonPages | None = None,
    ) -> None:
        super().__init__()
        self._workspace = workspace
        self._live = live
        self._pages = pages
        self.set_class(pages is not None, "-lesson")
        self._settings = settings
        self._background = background
        whole = [variant for variant in workspace.variants if variant.failure is None]
        first, *rest = whole or workspace.variants
        self._comparison = PairState(workspace, first, rest[0] if rest else first)
        wanted = settings.stage in self._comparison.stages
        self._stage = settings.stage if wanted else self._comparison.first_stage()
        self._looking = not wanted  # for the first stage that differs, until the user picks one
        self._shown = ""
        self._left_at = _START  # where the cursor was put, and is until the user moves it
        self._moved = False  # whether the user did, in this stage of these two
        self._places: dict[str, tuple[int, bool]] = {}  # where the cursor was in the other stages
        self._search = Search()
        self._detail = Detail.SHAPES

    # The widgets.

    def compose(self) -> ComposeResult:
        """From top to bottom."""
        yield TitleBar(self._workspace, id="title")
        yield VariantTable(id="variants")
        yield SearchBar("filter: words, or conditions like registers>128", id="filter")
        yield StageTabs(id="stages")
        with Container(id="main"):
            yield DiffView(id="texts")
            with Vertical(id="source"):
                yield SourceView()
                yield WorkView()
        if self._pages is not None:
            from irscope.tui.widgets.lesson_view import LessonView  # Markdown takes a while to import

            yield LessonView(id="lesson")
        yield FindingsView(id="findings")
        yield SearchBar("search", id="search")
        yield StatusLine(id="status")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """Shows the first two variants; what takes long begins when they are on the screen."""
        self._table.load(self._workspace)
        self._texts.focus()
        self._show_pair()
        self.call_after_refresh(self._begin)

    def _begin(self) -> None:
        self._table.measure(self._workspace, self._background)
        self._compare()
        if self._live is not None:
            self._attend(self._live)
        if self._pages is not None:
            self.action_lesson(1)

    @property
    def _table(self) -> VariantTable:
        return self.query_one(VariantTable)

    # A, B and the stage.

    def _pair(self, a: Variant, b: Variant) -> None:
        """Compares another two variants; the stage stays, and so does the line of A."""
        self._comparison = PairState(self._workspace, a, b)
        if self._stage not in self._comparison.stages:
            self._stage = self._comparison.first_stage()
        self._places.clear()
        self._moved = False
        self._left_at = self._texts.place
        self._compare_anew()

    def _compare_anew(self) -> None:
        self._show_pair()
        self._compare()

    def _show_pair(self) -> None:
        self._table.set_pair(self._comparison.a.id, self._comparison.b.id)
        self.query_one(FindingsView).set_findings((), "" if self._comparison.single else "comparing...")
        self._show(self._stage)

    def _show(self, stage: str) -> None:
        """Shows a stage, or shows it anew: the cursor where it was left, else on the first change."""
        page = self._comparison.page(stage, self._detail)
        if stage != self._shown:
            self._places[self._shown] = self._texts.place
            place = self._places.get(stage, _START)
            self._moved = False
        else:
            self._moved = self._moved or self._texts.place != self._left_at
            place = self._texts.place if page.left.language else _START
        self._stage = self._shown = stage
        unaligned = not self._texts.page.compared
        self._texts.show(page, self._comparison.headings(), place)
        if place == _START and page.runs and page.runs[0][0]:
            self._texts.go_to_change(1)
        elif page.compared and unaligned and self._moved:
            self._texts.go_to_line(*place)  # no fold over the line that is being read
        self._left_at = self._texts.place
        self._search.look(page, self._texts.located)
        self._update_tabs()
        self._update_status()
        self._follow()

    def _still_looking(self) -> bool:
        """Whether another stage may still be shown by itself: until the user picks one, or moves in one."""
        self._looking = self._looking and not self._moved and self._texts.place == self._left_at
        return self._looking

    def _update_tabs(self) -> None:
        tabs = self.query_one(StageTabs)
        tabs.set_stages(self._comparison.stages, self._comparison.notes)
        tabs.active = self._stage

    @work(exclusive=True, group="compare", exit_on_error=False)
    async def _compare(self) -> None:
        """Compares the stages one by one, that on show first; the tabs fill in."""
        comparison = self._comparison
        for stage in comparison.open_tasks(self._stage, in_order=self._still_looking()):
            try:
                diff = await self._background.run(comparison.work, stage)
            except UserError as error:
                comparison.notes[stage] = "!"
                self.notify(str(error), severity="error", markup=False)
                self._update_tabs()
                continue
            comparison.settle(stage, diff)
            found = self._still_looking() and comparison.matters(stage, diff)
            if found or stage == self._stage:
                self._looking = self._looking and not found
                self._show(stage)
            self._update_tabs()
        self._looking = self._looking and comparison.growing
        if not comparison.single:
            try:
                findings = await self._background.run(comparison.findings)
            except UserError as error:  # a damaged stage
                self.query_one(FindingsView).set_findings((), str(error))
                return
            note = f"{len(findings)} so far" if comparison.growing else ""
            self.query_one(FindingsView).set_findings(findings, note)

    def on_worker_state_changed(self, event: Worker.StateChanged) -> None:
        """Says so where work in the background failed; the app goes on."""
        if event.state is WorkerState.ERROR:
            error = event.worker.error
            self.notify(
                f"{type(error).__name__}: {error}",
                title="irscope failed here",
                severity="error",
                markup=False,
            )

    # Messages of the panels.

    @on(VariantTable.Marked)
    def _mark(self, message: VariantTable.Marked) -> None:
        a, b = self._comparison.a, self._comparison.b
        self._pair(message.variant, b) if message.letter == "a" else self._pair(a, message.variant)

    @on(FindingsView.Chosen)
    def _prove(self, message: FindingsView.Chosen) -> None:
        self._see(proof(message.finding))

    @on(LineView.Moved)
    def _update_status(self) -> None:
        """Where the cursor is; in the table, what is wrong with the variant under it."""
        status = self.query_one(StatusLine)
        if isinstance(self.focused, VariantTable) and self._table.note:
            status.set_labels([Label(f" {self._table.note} ", "words")])
        else:
            status.tell(self._texts, self._detail, self._search, self._comparison.summary(self._stage))

    def on_descendant_focus(self) -> None:
        """Other keys matter in another panel."""
        self.query_one(KeyHints).refresh()
        self._update_status()

    # The search.

    @on(SearchBar.Changed, "#search")
    def _look_for(self, message: SearchBar.Changed) -> None:
        self._search.look(self._texts.page, self._texts.located, message.value)
        self._texts.mark_matches(message.value)
        self._go_to_match(self._search.first())
        self._update_status()

    @on(SearchBar.Submitted, "#search")
    def _close_search(self) -> None:
        self._search_bar.display = False
        self._texts.focus()

    @on(SearchBar.GivenUp, "#search")
    def _give_up_search(self) -> None:
        self._search_bar.value = ""
        self._texts.go_to_row(self._search.origin)
        self._close_search()

    @property
    def _search_bar(self) -> SearchBar:
        return self.query_one("#search", SearchBar)

    def _go_to_match(self, row: int | None) -> None:
        if row is not None:
            self._texts.go_to_row(row)

    # The filter of the table.

    @on(SearchBar.Changed, "#filter")
    def _filter(self, message: SearchBar.Changed) -> None:
        self._table.filter(message.value)
        self._update_status()

    @on(SearchBar.Submitted, "#filter")
    def _keep_filter(self, message: SearchBar.Submitted) -> None:
        message.input.display = bool(message.value)
        self._table.focus()

    @on(SearchBar.GivenUp, "#filter")
    def _give_up_filter(self, message: SearchBar.GivenUp) -> None:
        message.bar.value = ""
        message.bar.display = False
        self._table.focus()

    # Actions.

    def action_filter(self) -> None:
        """Opens the line that filters the table, with the filter that is on."""
        bar = self.query_one("#filter", SearchBar)
        bar.open(bar.value)

    def action_detail(self) -> None:
        """Only real changes, shapes too, or raw text; the cursor stays on its line."""
        self._detail = self._detail.next
        self._show(self._stage)

    def action_toggle_locations(self) -> None:
        """Shows source locations, or hides them."""
        self._texts.toggle_locations()
        self._search.look(self._texts.page, self._texts.located)
        self._update_status()

    def action_search(self) -> None:
        """Opens the search line."""
        self._search.origin = self._texts.row
        self._search_bar.open()

    def action_match(self, direction: int) -> None:
        """To the next or previous line that contains what is searched for."""
        if not self._search.rows:
            self.notify(f"{self._search}" if self._search.query else "Search with / first", markup=False)
        self._go_to_match(self._search.beside(self._texts.row, direction))

    def action_change(self, direction: int) -> None:
        """To the next or previous change."""
        if not self._texts.go_to_change(direction):
            self.notify("No more changes below" if direction > 0 else "No more changes above")

    def action_stage(self, number: int) -> None:
        """Shows the stage with that tab."""
        if number <= len(self._comparison.stages):
            self._choose(self._comparison.stages[number - 1])

    def _choose(self, stage: str) -> None:
        """Shows the stage that the user picked."""
        self._looking = False
        if stage != self._stage:
            self._show(stage)
            self._compare()

    def action_swap(self) -> None:
        """A becomes B and B becomes A."""
        self._pair(self._comparison.b, self._comparison.a)

    def action_step(self, direction: int) -> None:
        """The variant below or above B in the table becomes B; A is passed over."""
        a, b = self._comparison.a, self._comparison.b
        found = self._table.beside(b.id, direction, without=a.id)
        if found is not None:
            self._table.go_to(found.id)
            self._pair(a, found)

    def action_toggle_unified(self) -> None:
        """Two sides, or one column."""
        self._texts.toggle_unified()

    def action_toggle_folded(self) -> None:
        """Folds what is equal, or shows it."""
        self._texts.toggle_folded()

    def action_toggle_variants(self) -> None:
        """Shows or hides the table."""
        self._toggle(self._table)

    def action_toggle_findings(self) -> None:
        """Shows or hides the findings."""
        self._toggle(self.query_one(FindingsView))

    def _toggle(self, panel: LineView) -> None:
        panel.display = not panel.display
        (panel if panel.display else self._texts).focus()

    def action_zoom(self) -> None:
        """The panel that has the focus alone, or all of them again."""
        if self.maximized is not None:
            self.minimize()
        elif isinstance(self.focused, LineView):
            self.maximize(self.focused)

    def action_help(self) -> None:
        """Every key."""
        self.app.push_screen(HelpScreen(self._settings.keys))
