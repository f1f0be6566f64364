"""The layouts of A and B: which thread holds which element, where it lies in memory, which banks serve it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from textual import on, work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.screen import Screen

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.describe import conflicts_text
from irscope.layouts.grid import Grid, Window
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.layouts.shared_accesses import AccessConflicts
from irscope.layouts.tensors import Tensor, distinct, find_tensors
from irscope.model import UserError
from irscope.tui import keys
from irscope.tui.background import Background
from irscope.tui.pair_state import PairState
from irscope.tui.widgets.bar import Label
from irscope.tui.widgets.key_hints import KeyHints
from irscope.tui.widgets.layout_view import LayoutBar, LayoutView


class LayoutScreen(Screen[None]):
    """Begins with the value that `wanted` names in the side that `right` says, as find_tensors reads it."""

    BINDINGS: ClassVar[list[BindingType]] = [*keys.LAYOUT, *keys.LEAVE]

    def __init__(
        self, comparison: PairState, background: Background, wanted: Sequence[str], right: bool
    ) -> None:
        super().__init__()
        self._comparison = comparison
        self._background = background
        self._wanted, self._right = wanted, right
        self._kernels: list[KernelLayouts] = []
        self._choices: list[Tensor] = []
        self._chosen = 0
        self._whole = False
        self._swizzle = True
        self._words: list[str] = []
        self._access = -1  # of those to the buffer, the one whose banks are drawn; -1: the buffer itself

    def compose(self) -> ComposeResult:
        """Whose layouts, the grids, for each side the cell under the cursor and more, the keys."""
        yield LayoutBar(id="layout-title")
        yield LayoutView()
        yield LayoutBar(id="layout-a")
        yield LayoutBar(id="layout-b")
        yield KeyHints(id="keys")

    def on_mount(self) -> None:
        """The stages are parsed in the background."""
        self.query_one(LayoutView).focus()
        self.query_one("#layout-title", LayoutBar).set_labels([Label(" reading the layouts ...", "note")])
        self._read()

    @work(exclusive=True, exit_on_error=False)
    async def _read(self) -> None:
        workspace, (a, b) = self._comparison.workspace, (self._comparison.a, self._comparison.b)
        variants = [a] if self._comparison.single else [a, b]
        try:
            self._kernels = [await self._background.run(workspace.layouts, v) for v in variants]
        except (UserError, KeyError):
            self._say([Label(" No TTGIR of both: there are no layouts ", "trouble")])
            return
        self._choices = _choices(self._kernels[0])
        self._begin()
        self._show()

    def _begin(self) -> None:
        """Chooses the value that was under the cursor."""
        side = self._kernels[-1] if self._right else self._kernels[0]
        for text in self._wanted:
            for found in find_tensors(side.tensors, text)[:1]:
                own = found if side is self._kernels[0] else _partner(found, self._kernels[0])
                if own is not None:
                    keys_ = [(tensor.python, tensor.key, tensor.element) for tensor in self._choices]
                    key = (own.python, own.key, own.element)
                    if key not in keys_:
                        self._choices.insert(0, own)
                    self._chosen = keys_.index(key) if key in keys_ else 0
                    return

    # What is drawn.

    def _show(self) -> None:
        if not self._choices:
            self._say([Label(" No tensor of this kernel has a layout ", "trouble")])
            return
        tensor = self._choices[self._chosen]
        grids: list[Grid] = []
        words: list[str] = []
        for kernel in self._kernels:
            own = tensor if kernel is self._kernels[0] else _partner(tensor, kernel)
            try:
                grid, said = self._drawn(kernel, own) if own else (None, f"no {tensor.python} like this")
            except UnknownLayoutError as error:
                grid, said = None, f"not known: {error}"
            grids.append(grid or Grid("", (), (), ()))
            words.append(said)
        self.query_one(LayoutView).show(grids)
        number = Label(f" {self._chosen + 1} of {len(self._choices)} ", "value")
        self._say([number, *(Label(f" {head} ", "name") for head in self._comparison.headings() if head)])
        self._words = words
        self._tell()

    def _drawn(self, kernel: KernelLayouts, tensor: Tensor) -> tuple[Grid, str]:
        """The grid of a tensor, or of the banks of an access to it, and what there is to say."""
        if self._access >= 0 and (found := _accesses(kernel, tensor)):
            one = found[min(self._access, len(found) - 1)]
            counted = one.conflicts if self._swizzle else one.plain
            return kernel.wavefronts(one, self._swizzle), conflicts_text(counted) if counted else one.why_not
        swizzle = self._swizzle or not tensor.shared
        window = Window((0, tensor.shape[-2]), (0, tensor.shape[-1])) if self._big(tensor) else Window()
        picture = kernel.picture(tensor, window, swizzle=swizzle)
        return picture.grid, " ".join(picture.sentences)

    def _big(self, tensor: Tensor) -> bool:
        return self._whole and len(tensor.shape) > 1 and tensor.shape == tensor.whole

    def _say(self, labels: Sequence[Label]) -> None:
        self.query_one("#layout-title", LayoutBar).set_labels(labels)

    @on(LayoutView.Moved)
    def _tell(self) -> None:
        """What is under the cursor, and what there is to say of each side."""
        cells = self.query_one(LayoutView).cells()
        for index, letter in enumerate("AB"):
            bar = self.query_one(f"#layout-{letter.lower()}", LayoutBar)
            bar.display = index < len(self._words)
            if bar.display:
                cell = cells[index] if index < len(cells) else None
                said = [Label(f" {cell.description} ", "value")] if cell else []
                name = Label(f" {letter} " if len(self._words) > 1 else " ", "name")
                bar.set_labels([name, *said, Label(f" {self._words[index]} ", "note")])

    # What the user does.

    def action_cell(self, rows: int, columns: int) -> None:
        """The cursor to another cell."""
        view = self.query_one(LayoutView)
        view.cursor = (view.cursor[0] + rows, view.cursor[1] + columns)

    def action_cells_down(self, pages: int) -> None:
        """The cursor a screen down, or up."""
        self.action_cell(pages * self.query_one(LayoutView).page(), 0)

    def action_value(self, step: int) -> None:
        """Another tensor of the kernel."""
        if self._choices:
            self._chosen = (self._chosen + step) % len(self._choices)
            self._access = -1
            self._show()

    def action_whole(self) -> None:
        """The whole tensor, or the part that repeats."""
        self._whole = not self._whole
        self._show()

    def action_swizzle(self) -> None:
        """Buffers without their swizzle, or with it."""
        self._swizzle = not self._swizzle
        self._show()

    def action_banks(self) -> None:
        """The banks of the next access to the buffer, then the buffer again."""
        if not self._choices:
            return
        number = len(_accesses(self._kernels[0], self._choices[self._chosen]))
        if not number:
            self.notify("No access to shared memory is counted of this value", severity="warning")
            return
        self._access = self._access + 1 if self._access + 1 < number else -1
        self._show()

    def action_close(self) -> None:
        """Back to the texts."""
        self.dismiss(None)


def _choices(kernel: KernelLayouts) -> list[Tensor]:
    """One tensor of each kind, without masks and pointers."""
    groups = (group[0] for group in distinct(kernel.tensors))
    return [tensor for tensor in groups if tensor.element != "i1" and not tensor.element.startswith("!")]


def _partner(tensor: Tensor, kernel: KernelLayouts) -> Tensor | None:
    """The tensor of another variant that is the same variable in the same role."""
    named = [t for t in kernel.tensors if t.python == tensor.python and t.kind == tensor.kind]
    for same in (
        lambda t: (t.element, len(t.shape), t.attribute.kind, t.alias),
        lambda t: (t.element, len(t.shape), t.attribute.kind),
        lambda t: (t.element, len(t.shape)),
    ):
        for other in named:
            if same(other) == same(tensor):
                return other
    return None


def _accesses(kernel: KernelLayouts, tensor: Tensor) -> list[AccessConflicts]:
    """The accesses to a buffer whose turns are known."""
    return [one for one in kernel.accesses_to(tensor) if one.conflicts] if tensor.shared else []
