"""Compiles again when the kernel's file is saved."""

from __future__ import annotations

from pathlib import Path

from irscope.tui.controllers.live_updates import LiveController
from irscope.tui.controllers.main_screen import MainScreen
from irscope.tui.live_connection import LiveConnection
from irscope.tui.source_watch import INTERVAL, SourceWatch


class RecompileController:
    """Watches the files of the kernel and the functions it calls; `R` turns that off and on."""

    def __init__(self, screen: MainScreen, updates: LiveController, live: LiveConnection | None) -> None:
        self._screen = screen
        self._updates = updates
        self._live = live
        self._watch = SourceWatch()
        self._on = True

    def start(self) -> None:
        """Begins to watch, if the app compiles."""
        if self._live is not None:
            self._watch.follow(self._files(self._live))
            self._screen.set_interval(INTERVAL, self._look)

    def action_toggle_recompile(self) -> None:
        """Turns compiling after a save on or off."""
        if self._live is None:
            self._screen.notify("Only irscope tui FILE.py compiles after a save; r reloads a capture")
            return
        self._on = not self._on
        off = "Compile on save is off; r compiles"
        self._screen.notify("Compile on save is on" if self._on else off)

    def _look(self) -> None:
        """Asks for a compilation if a file was saved; one saved while this is off counts later."""
        live = self._live
        if live is None or not self._on or live.requested:
            return
        if self._watch.saved():
            self._updates.action_recompile()
            self._watch.follow(self._files(live))

    def _files(self, live: LiveConnection) -> list[Path]:
        """The file that the user named, and those of the last kernel and its helpers."""
        variants = self._screen.workspace.variants
        kernel = max((v.kernel for v in variants), key=lambda kernel: kernel.id, default=None)
        functions = (kernel.source, *kernel.helpers) if kernel is not None else ()
        return [*live.producer.files, *(Path(function.file) for function in functions)]
