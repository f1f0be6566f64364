"""The table's surroundings: the choice of kernel and target, the lines below it, and its height.

Which variants compute the same bits: the column of the table, and the answers for the screen.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from string import digits
from typing import TYPE_CHECKING

from textual.worker import WorkerCancelled, get_current_worker

from irscope.model import UserError, Variant
from irscope.tui.background import Background
from irscope.tui.controllers import Controller
from irscope.tui.widgets.line_view import HEADING
from irscope.workspace import Scope
from irscope.workspace.kernel_scopes import mismatch, scope_counts, scope_of

if TYPE_CHECKING:
    from irscope.tui.screens.compare import CompareScreen
    from irscope.workspace.bits import ProblemBits

_NO_LAUNCH = "No launch was recorded: `irscope run` records those of a program; I, then l takes one"


class VariantPanelController(Controller):
    """Chooses what the table shows, and gives it the rows that the texts do not need."""

    def choose_kernel(self) -> None:
        """Asks for a kernel and a target, and shows only their variants."""
        screen = self._screen
        counts = scope_counts(screen.workspace.variants)

        from irscope.tui.screens.choose_kernel import ChooseKernelScreen  # after the first paint

        def choose(scope: Scope | None) -> None:
            if scope is not None:
                screen.table.choose(scope)
                screen.table.display = True
                screen.table.focus()

        screen.app.push_screen(ChooseKernelScreen(counts, screen.table.model.scope), choose)

    def pair_changed(self) -> None:
        """Show a warning if A and B should not be compared; the table shows the kernel of A and B."""
        pair, table = self._screen.pair, self._screen.table
        self._screen.mismatch.show(mismatch(pair.a, pair.b))
        if pair.a not in table.model.scope and pair.b not in table.model.scope:
            table.choose(scope_of(pair.a, pair.b))
        self._screen.call_after_refresh(self.fit)

    def arranged(self) -> None:
        """Update the line below the table and its height."""
        self._screen.table_note.update(self._screen.table.display)
        self.fit()

    def fit(self) -> None:
        """Give the table the rows that are empty below the texts, and take back the others."""
        table, texts = self._screen.table, self._screen.texts
        if not table.display or not texts.size.height or table.has_class("-sized"):
            return
        full_height = table.line_count() + HEADING
        default = min(full_height, self._default_height())
        free = table.size.height + texts.size.height - default - HEADING - texts.line_count()
        rows = min(full_height, default + free) if free > 0 and full_height > default else None
        if rows or table.styles.inline.has_rule("max_height"):  # Textual lays the screen out again
            table.styles.max_height = rows

    def _default_height(self) -> int:
        """Return the height that the style sheet allows the table, in lines."""
        table = self._screen.table
        limit = table.styles.base.max_height
        if limit is None:
            return table.size.height
        share = self._screen.app.size.height / 100 if limit.is_percent else 1
        return int(limit.value * share)


class BitsController(Controller):
    """Executes variants in a thread of its own, since other work must not wait for it.

    `launches` are those that the user typed, which replace the recorded ones.
    """

    def __init__(self, screen: CompareScreen) -> None:
        super().__init__(screen)
        self.launches: tuple[str, ...] = ()
        self._interpreter: Background | None = None

    def start(self) -> None:
        """Fill the column of the table, for the variants that it shows."""
        self._screen.run_exclusive(self._fill_column, "bits")

    def close(self) -> None:
        """End the thread."""
        if self._interpreter is not None:
            self._interpreter.close()

    async def ask(
        self, variants: Iterable[Variant], background: Background | None = None
    ) -> list[ProblemBits]:
        """Return the classes of variants; the first one is the reference. Raises UserError."""
        if self._interpreter is None:
            self._interpreter = Background()
        worker = get_current_worker()

        def stop_if_canceled(done: int, total: int) -> None:
            if worker.is_cancelled:
                raise WorkerCancelled

        bits = self._screen.workspace.bits
        job = partial(bits, launch=self.launches, variants=list(variants), report=stop_if_canceled)
        return await (background or self._interpreter).run(job)

    async def _fill_column(self) -> None:
        screen, model = self._screen, self._screen.table.model
        variants = [variant for variant in screen.workspace.variants if variant in model.scope]
        most = screen.workspace.most_estimated
        answers: list[ProblemBits] = []
        model.without_bits = ""
        if not self.launches and not any(variant.launches for variant in variants):
            model.without_bits = _NO_LAUNCH
        elif len(variants) > most:
            model.without_bits = f"More than {most} variants are classified only when you press I"
        else:
            try:
                answers = await self.ask(variants)
            except UserError as error:  # no variant of this kernel fits the launch that the user typed
                model.without_bits = str(error)
        model.bits = _cells(answers)
        screen.table.fit()


def problem_numbers(answers: Sequence[ProblemBits]) -> list[str]:
    """Return the number of each answer among those of its kernel and target; "" if it is the only one."""
    keys = [(answer.problem.kernel, answer.problem.target) for answer in answers]
    numbers = [keys[: index + 1].count(key) for index, key in enumerate(keys)]
    return [str(number) if keys.count(key) > 1 else "" for number, key in zip(numbers, keys, strict=True)]


def _cells(answers: Sequence[ProblemBits]) -> dict[int, tuple[str, str]]:
    """Return the class of each variant, "a" or "1a 2b" if classes depend on the problem, and what is wrong.

    "?" is unknown, and "~" says that not even launches of one variant compute the same bits.
    """
    cells: dict[int, tuple[str, str]] = {}
    for number, answer in zip(problem_numbers(answers), answers, strict=True):
        marks = dict.fromkeys(answer.unknown, "?")
        for item in answer.classes:
            marks |= dict.fromkeys(item.variants, item.name if item.repeatable else f"{item.name}~")
        for variant, mark in marks.items():
            text, problem = cells.get(variant, ("", ""))
            cells[variant] = f"{text} {number}{mark}".strip(), problem or answer.unrepeatable(variant)
    classes = {v: {part.lstrip(digits) for part in text.split()} for v, (text, _) in cells.items()}
    if any(len(names) > 1 for names in classes.values()):
        return cells
    return {variant: (names.pop(), cells[variant][1]) for variant, names in classes.items()}
