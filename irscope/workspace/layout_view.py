"""The layouts of one variant, selected and described as a user names them, before any format."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.describe import conflicts_text, describe_thread
from irscope.layouts.grid import Grid, Window
from irscope.layouts.kernel_layouts import KernelLayouts, Picture
from irscope.layouts.shared_accesses import AccessConflicts
from irscope.layouts.tensors import Tensor, distinct, find_tensors
from irscope.model import UserError, Variant
from irscope.workspace.workspace import Workspace

_MAX_LISTED = 12


@dataclass(frozen=True)
class TensorDrawing:
    """A tensor as a grid with sentences below it; `others` are tensors that the same name matches."""

    picture: Picture
    sentences: tuple[str, ...]
    others: Sequence[Tensor]

    @property
    def others_text(self) -> str:
        """What else the name matches, in one sentence; "" if nothing."""
        if not self.others:
            return ""
        listed = ", ".join(f"{tensor.name} {tensor.type}" for tensor in self.others[:_MAX_LISTED])
        return f"{listed}{', ...' if len(self.others) > _MAX_LISTED else ''}"


class LayoutView:
    """The tensors, shared-memory accesses and layout conversions of a variant.

    Raises UserError if the variant has no TTGIR. `kernel` has the underlying layouts.
    """

    def __init__(self, workspace: Workspace, variant: Variant) -> None:
        workspace.ask_triton_for_layouts(variant)
        self.variant = variant
        self.name = workspace.names[variant.id]
        self.kernel: KernelLayouts = workspace.layouts(variant)

    @property
    def title(self) -> str:
        """The variant in one line."""
        return f"#{self.variant.id} {self.name}  {self.variant.kernel.name}  {self.variant.target}"

    @property
    def tensors(self) -> list[list[Tensor]]:
        """The tensors and buffers, those with the same variable and type grouped."""
        return list(distinct(self.kernel.tensors))

    @property
    def accesses(self) -> list[AccessConflicts]:
        """The accesses to shared memory with their bank conflicts."""
        return self.kernel.accesses

    def find(self, name: str) -> list[Tensor]:
        """The tensors that `name` matches, one of each kind, the likeliest first. Raises UserError if none.

        `name` is a variable (a, or a:88 with its line), a line (:88), a value (%a_12) or a layout (#blocked).
        """
        found = find_tensors(self.kernel.tensors, name)
        if not found:
            variables = dict.fromkeys(tensor.python for tensor in self.kernel.tensors if tensor.python)
            raise UserError(
                f"#{self.variant.id} has no '{name}'; variables: {', '.join(variables) or 'none'}"
            )
        return [group[0] for group in distinct(found)]

    def draw(
        self, name: str, window: Window, thread: int | None = None, swizzle: bool = True
    ) -> TensorDrawing:
        """The tensor that `name` matches best. Raises UserError if there is none or its layout is unknown."""
        tensor, *others = self.find(name)
        try:
            picture = self.kernel.picture(tensor, window, thread, swizzle)
            sentences = tuple(self._sentences(picture, thread, swizzle))
        except UnknownLayoutError as error:
            raise UserError(f"unknown layout: {error}") from error
        return TensorDrawing(picture, sentences, others)

    def draw_access(self, number: int, swizzle: bool = True) -> Grid:
        """The worst pass of access `number` (from 1) over the banks. Raises UserError as `draw`."""
        if not 1 <= number <= len(self.accesses):
            raise UserError(f"#{self.variant.id} has no access {number}; it has {len(self.accesses)}")
        try:
            return self.kernel.wavefronts(self.accesses[number - 1], swizzle)
        except UnknownLayoutError as error:
            raise UserError(f"unknown layout: {error}") from error

    def _sentences(self, picture: Picture, thread: int | None, swizzle: bool) -> list[str]:
        sentences = list(picture.sentences)
        for one in self.kernel.accesses_to(picture.tensor) if picture.tensor.shared else ():
            conflicts = one.conflicts if swizzle else one.plain
            line = f" in line {one.access.line}" if one.access.line else ""
            text = conflicts_text(conflicts) if conflicts else one.why_not
            sentences.append(f"{one.access.opcode}{line}: {text}.")
        if thread is not None and picture.layout.in_registers:
            sentences += describe_thread(picture.layout, thread)
        version = self.variant.toolchain.versions.get("triton", "")
        source = (
            f"from Triton {version}" if picture.source == "Triton" else "computed by irscope, not by Triton"
        )
        return [*sentences, f"Linear layout: {source}."]
