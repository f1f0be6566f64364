"""Progress on stderr, if that is a terminal."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from irscope.model.errors import print_note
from irscope.model.text import printable

if TYPE_CHECKING:
    from irscope.compiling.executor import WorkerRate
    from irscope.compiling.messages import Plan
    from irscope.compiling.sweep import Progress, Report
    from irscope.recording.background_writer import WrittenCounts


def count_on_stderr(what: str) -> Callable[[int, int], None]:
    """Return a function that shows a counter on the terminal's last line.

    The function takes a number from 1 and the total.
    """

    def report(number: int, total: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if number == total else ""
            print(f"\r{what}{number} of {total}", end=end, file=sys.stderr, flush=True)

    return report


@contextmanager
def counting_bar(what: str) -> Iterator[Callable[[int, int], None]]:
    """Show a bar; the function takes how many are done, and the total."""
    from rich.console import Console
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    with Bar(console=console, disable=not console.is_terminal, transient=True) as bar:
        task = bar.add_task(what, total=None)
        yield lambda done, total: bar.update(task, completed=done, total=total)


def rates_text(rates: Iterable[WorkerRate]) -> str:
    """Return the variants per minute of each worker of a cluster: `w1 120/min, w2 80/min`."""
    return ", ".join(f"{printable(rate.name)} {rate.per_minute:.0f}/min" for rate in rates)


@contextmanager
def compilation_bar(plan: Plan) -> Iterator[Report]:
    """Show a bar with the variant that is being compiled and the number of failures."""
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
            if progress.rates:
                running = f"{rates_text(progress.rates)}  {running}"
            if progress.failed:
                running = f"{progress.failed} failed  {running}"
            clipped_text = running[: max(console.width - 60, 20)]
            bar.update(task, completed=progress.kept + progress.reused + progress.done, running=clipped_text)

        yield report


@contextmanager
def recording_bar() -> Iterator[Callable[[WrittenCounts], None]]:
    """Print the notes of a recording as they arrive, and show a bar while variants are compiled."""
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeElapsedColumn
    from rich.progress import Progress as Bar

    console = Console(stderr=True)
    columns = (TextColumn("irscope"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    bar = Bar(*columns, console=console, disable=not console.is_terminal, transient=True)
    task = bar.add_task("", total=None)
    printed = 0

    def report(written: WrittenCounts) -> None:
        nonlocal printed
        for note in written.notes[printed:]:
            print_note(note)
        printed = len(written.notes)
        if written.total is not None:
            bar.start()
            bar.update(task, total=written.total, completed=written.variants)

    try:
        yield report
    finally:
        bar.stop()
