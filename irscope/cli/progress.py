"""The progress bar of a compilation, on stderr where that is a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from irscope.capturing.compile.sweep import Progress, Report
from irscope.capturing.messages import Plan


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """A bar that is told how many are done, and of how many; shows nothing where nobody looks."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


@contextmanager
def progress_bar(plan: Plan) -> Iterator[Report]:
    """A bar with the variant under way and the failures so far; shows nothing where nobody looks."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    columns = (
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[running]}", markup=False),
    )
    console = Console(stderr=True)
    with Bar(*columns, console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(plan.source.name, total=len(plan.jobs), running="")

        def report(progress: Progress, variant: int | None) -> None:
            running = str(progress.running[-1].config) if progress.running else ""
            if progress.failed:
                running = f"{progress.failed} failed  {running}"
            shown = running[: max(console.width - 60, 20)]
            bar.update(task, completed=progress.kept + progress.done, running=shown)

        yield report
