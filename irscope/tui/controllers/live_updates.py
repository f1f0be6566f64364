"""Variants compiled while the app runs; `r` compiles again, or loads the variants added to the capture.

A capture that another process is still writing: new rows appear, and what the user chose stays.

Compiles again when the kernel's file is saved.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Collection
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.worker import Worker

from irscope.model import Kernel, UserError, Variant
from irscope.model.text import pluralize
from irscope.tui.background import INTERVAL, SourceWatch
from irscope.tui.controllers import Controller
from irscope.tui.live_connection import EventQueue, LiveConnection
from irscope.tui.pair_state import same_config
from irscope.workspace.growth import Growth, GrowthWatch

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.workspace.live import LiveUpdates, Publish


# A problem may take longer to read than a note.
_PROBLEM_SECONDS = 20.0


class LiveController(Controller):
    """Updates the screen as variants are compiled; the user's choices are kept."""

    def __init__(self, screen: CompareScreen, live: LiveConnection | None) -> None:
        super().__init__(screen)
        self._live = live
        self._queue = live or EventQueue()
        # The what-ifs that have not been answered yet.
        self._what_ifs = 0
        # Called with the ids of variants whose passes were recorded or refused.
        self.passes_answered: Callable[[Collection[int]], None] = lambda ids: None

    def start(self) -> None:
        """Begins to show the compilation, if one is running."""
        if self._live is not None:
            self._screen.run_exclusive(partial(self._follow, self._queue), "live")

    def recompile(self) -> None:
        """Compiles the current source; for a capture, loads the variants added to the file."""
        if self._live is None:
            self._screen.run_exclusive(self._reread, "live")
        else:
            self._live.request()
            self.start()

    def ask(self, begin: Callable[[Publish], None]) -> None:
        """Follows a what-if that `begin` starts."""
        self._what_ifs += 1
        begin(self._queue.publisher())
        self._screen.run_exclusive(partial(self._follow, self._queue), "live")

    async def _follow(self, queue: EventQueue) -> None:
        """Apply events until nothing is being compiled."""
        from irscope.workspace.live import apply_events  # captures open without it

        live = self._live
        while self._what_ifs or (live and live.requested) or self._screen.workspace.in_progress:
            updates = apply_events(self._screen.workspace, await queue.take_all())
            if live:
                live.requested = live.requested and not updates.answered
            self._what_ifs -= updates.what_ifs
            self.update(updates)

    async def _reread(self) -> None:
        from irscope.workspace.live import LiveUpdates  # captures open without it

        screen = self._screen
        try:
            added = len(await screen.background.run(screen.workspace.live.reread))
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
            return
        self.update(LiveUpdates(rows=True, changed={screen.pair.a.id, screen.pair.b.id}))
        name = screen.workspace.path.name
        message = f"{pluralize(added, 'new variant')} in {name}" if added else f"Nothing new in {name}"
        screen.notify(message, markup=False)

    def show_title(self) -> None:
        """Draws the current number of variants, which small screens have in the status line."""
        self._screen.title_bar.show(self._screen.workspace)
        self._screen.update_status()

    def update(self, updates: LiveUpdates) -> None:
        """Draws what changed."""
        screen, workspace = self._screen, self._screen.workspace
        if updates.rows:
            screen.table.load(workspace)
        else:
            screen.table.update_variants(workspace, updates.changed)
        if updates.ended:
            screen.table.fit()
        screen.table.measure(workspace, screen.background)
        self._screen.title_bar.show(workspace)
        before = screen.pair.b
        pair = self._next_pair(updates)
        if pair is not None:
            screen.stages.compare(*pair)
            if updates.added is not None:
                screen.table.go_to(pair[1].id)
        elif updates.changed & {screen.pair.a.id, screen.pair.b.id}:
            self._screen.stages.refresh_pair()
        if updates.planned is not None and self._is_outdated(before, updates.planned.kernel):
            screen.what_if.compile_again(before)
        if updates.rejected is not None:
            screen.stage_editor.ask_again(updates.rejected)
        if updates.passes:
            self.passes_answered(updates.passes)
        for note in updates.notes:
            screen.notify(note, markup=False)
        for problem in updates.problems:
            screen.notify(problem, severity="error", timeout=_PROBLEM_SECONDS, markup=False)
        if updates.ended and not workspace.in_progress and not updates.problems:
            screen.notify("Compiled; saving the source compiles it again, and so does r")

    def _is_outdated(self, variant: Variant, kernel: Kernel) -> bool:
        """Return True if a variant is of an earlier source, and no current variant has its config.

        A current variant is one of `kernel` itself.
        """
        workspace, old = self._screen.workspace, variant.kernel
        return (
            variant in workspace
            and old.id != kernel.id
            and (old.name, old.source.file) == (kernel.name, kernel.source.file)
            and not any(same_config(v, variant) for v in workspace.variants if v.kernel.id == kernel.id)
        )

    def _next_pair(self, updates: LiveUpdates) -> tuple[Variant, Variant] | None:
        """Return A and B if they change, or None.

        They are those of a what-if, B's config before and after an edit, or what remains.
        """
        planned, workspace = updates.planned, self._screen.workspace
        if updates.added is not None:
            return workspace.live.by_id(updates.added.a), workspace.live.by_id(updates.added.b)
        a, b = self._screen.pair.a, self._screen.pair.b
        same = [variant for variant in workspace.variants if same_config(variant, b)]
        new = next((v for v in same if planned is not None and v.kernel.id == planned.kernel.id), None)
        if new is not None and new.kernel.id != b.kernel.id:
            in_progress = workspace.in_progress
            compiled = [v for v in same if v.failure is None and v.id not in in_progress and v is not new]
            return (b if b in compiled else compiled[-1] if compiled else new), new
        left = [variant for variant in (a, b) if variant in workspace] or workspace.variants[:1]
        return None if (a in workspace and b in workspace) or not left else (left[0], new or left[0])


# Seconds between two looks at the files while they are written, and how many times rarer it looks if not. A
# look takes three system calls: a job of the background thread would take ten times as long.
_INTERVAL = 1.0
_RARER = 2
# Loading new variants may take this share of the time.
_SHARE = 0.1
_MESSAGE_SECONDS = 20.0


class GrowthController(Controller):
    """Looks once per second whether the file changed, and who writes it."""

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self._watch: GrowthWatch | None = None
        self._resting_until = 0.0
        self._changed = False
        self._finished = False
        self._loading: Worker[None] | None = None
        self._ticks = 0
        self._said = Growth()

    def start(self) -> None:
        """Begins to follow the file. The app itself must not be its writer."""
        self._watch = self._screen.workspace.watch  # it has seen the file before the variants were read
        self._look()
        self._screen.set_interval(_INTERVAL, self._look)

    def _look(self) -> None:
        watch, screen, workspace = self._watch, self._screen, self._screen.workspace
        self._ticks += 1
        if watch is None or not (workspace.growth.running or self._ticks % _RARER == 1):
            return
        growth, changed = watch.look()
        self._changed = self._changed or changed
        before, workspace.growth = workspace.growth, growth
        self._finished = self._finished or (before.running and growth.writer is None)
        # A diff of large stages may keep the background thread busy for longer than the interval.
        idle = self._loading is None or self._loading.is_finished
        if self._changed and idle and (self._finished or time.monotonic() >= self._resting_until):
            self._loading = screen.run_exclusive(self._load, "growth")
        elif before != growth:
            self._screen.live.show_title()
        if not self._changed and idle:
            self._say_if_ended()

    def _say_if_ended(self) -> None:
        """Says once that the writer was killed, when all that it wrote is on screen."""
        growth = self._screen.workspace.growth
        message = growth.ended(len(self._screen.workspace.variants))
        if message and growth != self._said:
            self._said = growth
            self._screen.notify(message, severity="warning", timeout=_MESSAGE_SECONDS, markup=False)

    async def _load(self) -> None:
        """Show new variants; all again once the writer has finished, because it may have changed others."""
        screen, start, finished = self._screen, time.monotonic(), self._finished
        self._changed = self._finished = False
        only = screen.pair.a if len(screen.workspace.variants) == 1 else None
        try:
            added = await screen.background.run(screen.workspace.live.reread, finished)
        except UserError as error:
            screen.notify(str(error), severity="warning", markup=False)
            return
        if added or finished:
            from irscope.workspace.live import LiveUpdates  # most captures do not grow

            self._screen.live.update(LiveUpdates(rows=True, changed=added))
        self._screen.live.show_title()
        self._say_if_ended()
        if only is not None and added and screen.pair.single:
            screen.stages.compare(only, screen.workspace.variants[1])
        self._resting_until = time.monotonic() + (time.monotonic() - start) / _SHARE


class RecompileController(Controller):
    """Watches the files of the kernel and the functions it calls."""

    def __init__(self, screen: CompareScreen, live: LiveConnection | None) -> None:
        super().__init__(screen)
        self._live = live
        self._watch = SourceWatch()

    def start(self) -> None:
        """Begins to watch, if the app compiles."""
        if self._live is not None:
            self._watch.follow(self._files(self._live))
            self._screen.set_interval(INTERVAL, self._look)

    def _look(self) -> None:
        """Asks for a compilation if a file was saved."""
        live = self._live
        if live is None or live.requested:
            return
        if self._watch.saved():
            self._screen.live.recompile()
            self._watch.follow(self._files(live))

    def _files(self, live: LiveConnection) -> list[Path]:
        """Return the file that the user named, and those of the last kernel and its helpers."""
        variants = self._screen.workspace.variants
        kernel = max((v.kernel for v in variants), key=lambda kernel: kernel.id, default=None)
        functions = (kernel.source, *kernel.helpers) if kernel is not None else ()
        return [*live.producer.files, *(Path(function.file) for function in functions)]
