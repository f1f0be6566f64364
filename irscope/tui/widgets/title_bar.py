"""The first line: what capture this is."""

from __future__ import annotations

from typing import ClassVar

from irscope.tui.widgets.bar import Bar, Label
from irscope.workspace import Workspace


class TitleBar(Bar):
    """Kernels, targets, how many variants, the file."""

    COMPONENT_CLASSES: ClassVar[set[str]] = {"title--app", "title--name", "title--note"}

    def __init__(self, workspace: Workspace, *, id: str | None = None) -> None:  # noqa: A002  Textual's name
        super().__init__(id=id)
        self.show(workspace)

    def show(self, workspace: Workspace) -> None:
        """Shows what there is now."""
        kernels = dict.fromkeys(variant.kernel.name for variant in workspace.variants)
        targets = dict.fromkeys(str(variant.target) for variant in workspace.variants)
        failed = sum(variant.failure is not None for variant in workspace.variants)
        count = f"{len(workspace.variants):,} variants" + (f", {failed:,} failed" if failed else "")
        if workspace.in_progress:
            waiting = workspace.in_progress.waiting
            count += f", {len(workspace.in_progress) - waiting:,} compiling, {waiting:,} waiting"
        self.set_labels(
            [
                Label(" irscope ", "title--app"),
                Label(f" {', '.join(kernels)} ", "title--name"),
                Label(f" {', '.join(targets)}   {count}   {workspace.path.name}", "title--note"),
            ]
        )
