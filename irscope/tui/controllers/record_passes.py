"""`p` without recorded passes: compiles A and B once more with their passes, then shows them."""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from textual.widgets import Input

from irscope.model import UserError, Variant
from irscope.tui.bindings import key
from irscope.tui.controllers.live_updates import LiveController
from irscope.tui.controllers.what_if import WhatIfController
from irscope.tui.input_queue import hold_input
from irscope.tui.live_connection import VariantCompiler
from irscope.workspace.compiler_version import check_installed
from irscope.workspace.what_if import PassRequest

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen

_COMPILE = key("enter,y", "answer('y')", "Compile with passes", "compile")


class RecordPassesController:
    """Asks, has the variants compiled, and opens the passes once all are there."""

    def __init__(
        self,
        screen: CompareScreen,
        updates: LiveController,
        what_if: WhatIfController,
        compiler: VariantCompiler | None,
    ) -> None:
        self._screen = screen
        self._updates = updates
        self._what_if = what_if
        self._compiler = compiler
        # The ids of the variants that are being compiled.
        self._compiling: set[int] = set()
        updates.passes_answered = self._answered

    def offer(self) -> None:
        """Asks whether to compile those of A and B that have no passes."""
        if self._compiler is not None:
            self._screen.run_exclusive(partial(self._offer, self._compiler), "ask")

    async def _offer(self, compiler: VariantCompiler) -> None:
        pair = self._screen.pair
        variants = [variant for variant in pair.without_passes if self._can_compile(variant)]
        files: list[Path] = []
        if variants:
            with hold_input(self._screen.app):
                files = await self._files(compiler, variants)
        if files:
            self._begin(compiler, variants, files)
        elif pair.has_passes:
            self._show()

    def _can_compile(self, variant: Variant) -> bool:
        """Return False, with a message, if a variant surely cannot be compiled once more."""
        try:
            self._check(variant)
        except UserError as error:
            self._screen.notify(str(error), severity="warning", markup=False)
            return False
        return True

    def _check(self, variant: Variant) -> None:
        """Raise UserError if a variant surely cannot be compiled once more, or is being compiled."""
        number = f"#{variant.id}"
        if variant.id in self._compiling or variant.id in self._screen.workspace.in_progress:
            raise UserError(f"{number} is being compiled")
        if variant.edit is not None:
            raise UserError(f"{number} was built from an edited stage, so its passes cannot be recorded")
        if not variant.kernel.source.text:
            raise UserError(f"The capture has no source of {number}, so its passes cannot be recorded")
        check_installed(variant, f"The passes of {number} are recorded")

    async def _files(self, compiler: VariantCompiler, variants: Sequence[Variant]) -> list[Path]:
        """Return the file to compile each variant from, or none if the user does not want to."""
        from irscope.tui.screens.dialogs import ConfirmScreen  # after the first paint
        from irscope.workspace.trust import trusted_file

        known_files = [
            self._what_if.known_file(compiler, variant)
            or await asyncio.to_thread(trusted_file, variant.kernel)
            for variant in variants
        ]
        cancel = "only the other's" if self._screen.pair.has_passes else "cancel"
        answers = (_COMPILE, key("escape,n,q", "answer('')", "Cancel", cancel))
        question = f"No passes of {_numbers(variants)} were recorded. Compile once more, with passes?"
        if all(known_files) and not await self._screen.app.push_screen_wait(
            ConfirmScreen([question], answers)
        ):
            return []
        files = []
        for variant, known_file in zip(variants, known_files, strict=True):
            file = known_file or await self._what_if.allowed_file(compiler, variant, question)
            if file is None:
                return []
            files.append(file)
        return files

    def _begin(self, compiler: VariantCompiler, variants: Sequence[Variant], files: Sequence[Path]) -> None:
        self._compiling.update(variant.id for variant in variants)
        self._screen.notify(f"Compiling {_numbers(variants)} with passes, which open when they are there")
        for variant, file in zip(variants, files, strict=True):
            self._updates.ask(partial(compiler.record_passes, PassRequest(variant, file)))

    def _answered(self, ids: Collection[int]) -> None:
        """Show the passes once nothing is being compiled, unless the user is elsewhere by now."""
        self._compiling.difference_update(ids)
        pair = self._screen.pair
        if self._compiling or not pair.has_passes:
            return
        is_typing = isinstance(self._screen.focused, Input)
        if {pair.a.id, pair.b.id}.intersection(ids) and self._screen.is_active and not is_typing:
            self._show()
        else:
            self._screen.notify("The passes are recorded: p shows them")

    def _show(self) -> None:
        from irscope.tui.screens.passes import PassesScreen  # after the first paint

        PassesScreen.show(self._screen)


def _numbers(variants: Sequence[Variant]) -> str:
    """`#1 and #2`."""
    return " and ".join(f"#{variant.id}" for variant in variants)
