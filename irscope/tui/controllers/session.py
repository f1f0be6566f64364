"""Opens a capture as the user left it, and remembers how it is left."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from textual.widget import Widget

from irscope.model import Variant
from irscope.tui.controllers import Controller
from irscope.tui.palette import ThemePreview
from irscope.tui.settings import CaptureState, StateFolder, fingerprint, now
from irscope.tui.widgets.bars import TipBar
from irscope.workspace import Detail, Scope

if TYPE_CHECKING:
    from collections.abc import Sequence

    from irscope.tui.screens.compare import CompareScreen


# What a newcomer tries next: each is shown until it is done, or until the app ends. The first words name the
# action; "table": the focus is there.
TIPS = (
    ("table", "A and B are compared below: what differs is lit.  Tab: the table  ?: the keys"),
    ("mark", "Arrows choose a row, Enter makes it B, a makes it A.  Tab: back to the text"),
    ("change(1)", "] goes to the next change; Enter shows in full what is cut or folded"),
    ("why", "W says what made A and B differ, and whether it was worth it"),
    ("passes", "p shows the compiler passes, and the one in which A and B diverge"),
)


class SessionController(Controller):
    """Restores A, B, the stage, the kernel and target, sort, filter and open panels.

    Without a `folder` it does nothing. `fresh`: opens the capture as if for the first time.
    """

    def __init__(
        self,
        screen: CompareScreen,
        panels: Sequence[Widget],
        folder: StateFolder | None,
        fresh: bool,
    ) -> None:
        super().__init__(screen)
        self._panels = panels
        self._folder = folder
        self._before = None if folder is None or fresh else folder.load(screen.workspace.path)
        self._tip = 0 if folder is None else folder.tips_done()
        self._tip_shown = False
        self.tip_bar = TipBar(id="tip")
        self._show_tip()

    def did(self, name: str) -> None:
        """Go on to the next tip if the user did what the one on screen is about."""
        if self._tip_shown and TIPS[self._tip][0] == name:
            self._tip += 1
            self._show_tip()

    def drop_tip(self) -> bool:
        """Hide the tips until the next start; return False if there is none."""
        shown, self._tip_shown = self._tip_shown, False
        self._tip += shown
        self.tip_bar.show("")
        return shown

    def _show_tip(self) -> None:
        self._tip_shown = self._folder is not None and self._tip < len(TIPS)
        self.tip_bar.show(TIPS[self._tip][1] if self._tip_shown else "")

    def restore(self) -> None:
        """Restores what the capture still has; a filter is shown in its field."""
        state, screen = self._before, self._screen
        if state is not None:
            a, b = (self._find(id_, index) for index, id_ in enumerate((state.a, state.b)))
            if a is not None and b is not None:
                self._screen.stages.restore(a, b, state.stage, _detail(state.detail))
                screen.table.opened(a, b)
            self._restore_scope(state.scope)
            screen.table.restore(state.sort, state.descending, state.filter)
            screen.filter_bar.value, screen.filter_bar.display = state.filter, bool(state.filter)
            screen.texts.chosen_unified = state.unified
            for name, _, size in (text.partition("=") for text in state.sizes):
                screen.sizes.set(name, int(size[:3]) if size.isdecimal() else 1)
            for panel in self._panels:
                if panel.id in state.opened_panels:
                    panel.display = True
            if isinstance(screen.app, ThemePreview):
                screen.app.choose_theme(state.theme)

    def close(self) -> None:
        """Remember how the main screen is left; the tip on it was seen."""
        if self._folder is not None:
            self._folder.save_tips_done(self._tip + self._tip_shown)
        self.save()

    def save(self) -> None:
        """Remembers how the main screen is now; the home screen lists the capture from then on."""
        if self._folder is None:
            return
        screen, workspace, pair = self._screen, self._screen.workspace, self._screen.pair
        variants = workspace.variants
        column, descending = screen.table.sorting
        scope, app = screen.table.model.scope, screen.app
        self._folder.save(
            CaptureState(
                path=os.path.realpath(workspace.path),
                opened=now(),
                kernels=tuple(dict.fromkeys(variant.kernel.name for variant in variants)),
                targets=tuple(dict.fromkeys(str(variant.target) for variant in variants)),
                variants=len(variants),
                a=pair.a.id,
                b=pair.b.id,
                fingerprints=(fingerprint(pair.a), fingerprint(pair.b)),
                stage=screen.stage,
                detail=self._screen.stages.detail.name,
                sort=column,
                descending=descending,
                filter=screen.filter_bar.value,
                unified=screen.texts.chosen_unified,
                scope=(scope.kernel or "", scope.target or ""),
                opened_panels=tuple(panel.id or "" for panel in self._panels if _opened(panel)),
                sizes=tuple(f"{name}={size}" for name, size in screen.sizes.chosen.items()),
                theme=app.chosen_theme if isinstance(app, ThemePreview) else "",
            )
        )

    def _restore_scope(self, names: Sequence[str]) -> None:
        """Show the variants of the kernel and the target with these names, if there are some."""
        table = self._screen.table
        if len(names) == 2:
            scope = Scope(names[0] or None, names[1] or None)
            if scope != table.model.scope and any(variant in scope for variant in table.model.all):
                table.choose(scope)

    def _find(self, id_: int, index: int) -> Variant | None:
        """Return A or B of the state, if the capture has the same variant under the same number."""
        state = self._before
        variants = {variant.id: variant for variant in self._screen.workspace.variants}
        variant = variants.get(id_)
        if state is None or variant is None or len(state.fingerprints) != 2:
            return None
        return variant if fingerprint(variant) == state.fingerprints[index] else None


def _detail(name: str) -> Detail:
    return Detail[name] if name in Detail.__members__ else Detail.SHAPES


def _opened(panel: Widget) -> bool:
    """Return True if the user opened it; by default, its display depends on the size of the terminal.

    `panel.display` would be false while the app ends.
    """
    styles = panel.styles.inline
    return styles.has_rule("display") and styles.display != "none"
