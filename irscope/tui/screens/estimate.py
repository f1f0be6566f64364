"""How long A and B take according to the estimate, which resource bounds each, and why one is slower."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from textual.binding import Binding, BindingType

from irscope.document.blocks import Line, Table
from irscope.document.device_content import device_content
from irscope.model import UserError, Variant
from irscope.tui.bindings import LEAVE, READ, KeyGroup, key
from irscope.tui.screens import OPEN_ESTIMATE
from irscope.tui.screens.documents import DocumentScreen
from irscope.workspace import Comparison, StageLine, TextLine, Workspace
from irscope.workspace.device_matrix import matrices_of_targets
from irscope.workspace.estimate_text import estimate_lines, shared_launch
from irscope.workspace.problem_sizes import launch_text

_OTHERS = "irscope table --devices NAME,... compiles for the targets of other devices"


class EstimateScreen(DocumentScreen):
    """The terms of the estimates, each with a bar; those with code behind them have an arrow."""

    OPENED_BY: ClassVar[Binding] = OPEN_ESTIMATE
    KEYS: ClassVar[Sequence[KeyGroup]] = (
        KeyGroup(
            "In the estimate",
            (
                key("enter", "go", "Go to the code behind the term", "go there", name="go_to_term"),
                key("d", "devices", "All configs on all devices of the capture's targets", "devices"),
            ),
        ),
    )
    BINDINGS: ClassVar[list[BindingType]] = [*KEYS[0].bindings, *READ.bindings, *LEAVE.bindings]
    HEADING = "Estimated time, without a GPU: an estimate, not a measurement"
    WAITING = "estimating..."

    # Whether the matrix of devices is shown.
    devices = False

    async def fill(self) -> None:
        """Estimates A and B, or all configs on all devices of the targets."""
        if not self.devices:
            self.show(await self.background.run(pair_estimate_lines, self.pair.comparison))
            return
        workspace, kernel = self.pair.comparison.workspace, self.pair.a.kernel.name
        matrices = await self.background.run(matrices_of_targets, workspace, kernel)
        blocks = [block for block in device_content(matrices) if isinstance(block, Line | Table)]
        self.show_blocks([*blocks, Line(_OTHERS, gap=True)])

    def action_devices(self) -> None:
        """Show the matrix of devices, or the estimates of A and B again."""
        self.devices = not self.devices
        self.show([TextLine(self.WAITING)])
        self._fill()


def pair_estimate_lines(comparison: Comparison) -> list[TextLine]:
    """Return the estimates of A and B, term by term; a term's line goes to the code behind it."""
    workspace, single = comparison.workspace, comparison.single
    lines = []
    if not single:
        pair = comparison.estimates
        text = pair.text if pair else "A and B were not launched with the same arguments"
        lines.append(TextLine(text, 0))
    for index, variant in enumerate(comparison.variants[: 1 if single else 2]):
        letter = "" if single else f"{'AB'[index]}  "
        lines.append(TextLine(f"{letter}{comparison.heading(index)}", 0, title=True))
        lines += _variant_lines(workspace, variant, index == 1, comparison)
    return lines


def _variant_lines(
    workspace: Workspace, variant: Variant, right: bool, comparison: Comparison
) -> Iterator[TextLine]:
    shared = None if comparison.single else shared_launch(comparison.a, comparison.b)
    launch = shared[right] if shared else next(iter(variant.launches), None)
    if launch is None:
        yield TextLine("not launched: irscope pick --launch estimates it for a launch that you write")
        return
    try:
        estimate = workspace.estimates.of(variant, launch)
    except UserError as error:
        yield TextLine(str(error))
        return
    grid = " x ".join(map(str, launch.grid))
    yield TextLine(f"grid {grid}, {launch_text(variant, launch)}")
    for line in estimate_lines(estimate):
        first = next(iter(line.evidence), None)
        target = StageLine(first.stage, first.line, right) if first else None
        yield TextLine(line.text, target=target)
        if line.detail:
            yield TextLine(line.detail, 3)
