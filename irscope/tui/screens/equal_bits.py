"""Whether A and B compute the same bits, which lines decide, and the classes of all variants."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, ClassVar

from textual import work
from textual.binding import Binding, BindingType

from irscope.document.bits_content import bits_content, wrapped
from irscope.document.blocks import Line, Table, title
from irscope.model import Variant
from irscope.tui.bindings import LEAVE, READ, KeyGroup, key
from irscope.tui.controllers.variant_panel import problem_numbers
from irscope.tui.screens import OPEN_BITS
from irscope.tui.screens.documents import DocumentScreen
from irscope.workspace.problem_sizes import problem_titles

if TYPE_CHECKING:
    from irscope.workspace.bits import ProblemBits

_NO_LAUNCH = (
    "No launch of it was recorded, and what a variant computes depends on the sizes. "
    "`irscope run` records the launches of a program; l takes one that you type."
)
# For the numbers of a launch that the user is asked for.
_EXAMPLE = 4096


class BitsScreen(DocumentScreen):
    """The lines that decide between A and B, then the classes of the kernel's variants."""

    OPENED_BY: ClassVar[Binding] = OPEN_BITS
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the screen of equal bits",
            (
                key("enter", "go", "Go to the line that decides", "go there", name="go_to_deciding_line"),
                key("l", "launch", "Answer for a launch that you type", "launch"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *READ.bindings, *LEAVE.bindings]
    WAITING = "executing A and B..."

    async def fill(self) -> None:
        """Show what decides between A and B, then also the classes."""
        bits, a, b = self.main.bits, self.pair.a, self.pair.b
        blocks: list[Line | Table] = []
        if not self.pair.single:
            blocks += _pair_blocks(await bits.ask([a, b], self.background), {a.id, b.id})
        self.show_blocks([*blocks, title("executing the other variants...")])
        every = self.main.workspace.variants
        answers = await bits.ask(v for v in every if v.kernel.name == b.kernel.name and v.target == b.target)
        if any(answer.problem.launches for answer in answers):
            blocks += bits_content(answers, self.main.workspace.names, problem_numbers(answers))
        else:
            blocks = [title(b.kernel.name), Line(_NO_LAUNCH, 1)]
        self.show_blocks(blocks)

    @work(exclusive=True, group="launch", exit_on_error=False)
    async def action_launch(self) -> None:
        """Ask for a launch, and answer for it instead of the recorded ones; also in the table."""
        typed = next(iter(self.main.bits.launches), "")
        text = await self.main.ask("Answer for this launch:", typed or _example(self.pair.b))
        if text is not None:
            self.main.bits.launches = (text,)
            self.main.bits.start()
            self.on_mount()


def _pair_blocks(answers: Sequence[ProblemBits], pair: set[int]) -> Iterator[Line]:
    """Yield whether A and B compute the same bits at each launch of both, and the lines that decide."""
    common = [answer for answer in answers if answer.problem.launches.keys() >= pair]
    if not common:
        yield title("A and B were not launched with the same arguments")
    same = []
    for answer, text in zip(common, problem_titles([answer.problem for answer in common]), strict=True):
        problems = list(filter(None, map(answer.unrepeatable, sorted(pair))))
        if not problems and not answer.differences:
            same.append(text)
            continue
        yield title(f"A and B differ at {text}")
        yield from (Line(problem, 1) for problem in problems)
        for difference in answer.differences:
            yield from wrapped(answer.reason_lines(difference))
    if same:
        yield title(f"A and B compute the same bits at {same[0]}")
        yield from (Line(f"and at {text}", 1) for text in same[1:])


def _example(variant: Variant) -> str:
    """Return a launch of a variant to edit, with a value for each integer."""
    integers = [a.name for a in variant.specialization if a.type[:1] in ("i", "u")]
    return ", ".join(["grid=(1,)", *(f"{name}={_EXAMPLE}" for name in integers)])
