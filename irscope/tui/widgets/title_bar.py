"""The first line: what capture this is."""

from __future__ import annotations

from typing import ClassVar

from irscope.tui.session import Session
from irscope.tui.widgets.bar import Bar, Label


class TitleBar(Bar):
    """Kernels, targets, how many variants, the file."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--app", "title--name", "title--note"}

    def __init__(self, session: Session, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.show(session)

    def show(self, session: Session) -> None:
        """Shows what there is now."""
        kernels = dict.fromkeys(variant.kernel.name for variant in session.variants)
        targets = dict.fromkeys(str(variant.target) for variant in session.variants)
        failed = sum(variant.failure is not None for variant in session.variants)
        count = f"{len(session.variants):,} variants" + (f", {failed:,} failed" if failed else "")
        if session.under_way:
            waiting = session.under_way.waiting
            count += f", {len(session.under_way) - waiting:,} compiling, {waiting:,} waiting"
        self.set_labels(
            [
                Label(" irscope ", "title--app"),
                Label(f" {', '.join(kernels)} ", "title--name"),
                Label(f" {', '.join(targets)}   {count}   {session.capture.path.name}", "title--note"),
            ]
        )
