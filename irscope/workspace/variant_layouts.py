"""The layouts of one variant, selected, drawn and described as a user names them, before any format."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.banks import AccessConflicts
from irscope.layouts.color_map import Cell, ColorBy, cell_size
from irscope.layouts.describe import describe_thread
from irscope.layouts.grid import Grid, Window
from irscope.layouts.kernel_layouts import KernelLayouts, Picture
from irscope.layouts.tensors import Tensor, distinct, find_tensors
from irscope.model import UserError, Variant
from irscope.workspace.workspace import Workspace

_MAX_LISTED = 12


@dataclass(frozen=True)
class DrawingOptions:
    """How to draw a tensor.

    `window` is the part to draw. `thread` is the thread whose elements are
    marked. `swizzle`: shared memory as it is, not as it would be without its swizzle. `access`: the index of
    the access to the buffer whose banks are drawn instead of the buffer. `cell`: the whole tensor as a map
    with one glyph per cell of this many rows and columns, by `color_by` if it applies (None: no map).
    """

    window: Window = field(default_factory=Window)
    thread: int | None = None
    swizzle: bool = True
    access: int | None = None
    cell: Cell | None = None
    color_by: ColorBy | None = None

    def as_map(
        self, shapes: Sequence[tuple[int, ...]], rows: int, columns: int, by: ColorBy | None = None
    ) -> DrawingOptions:
        """Return the options for maps of all `shapes` with the fewest elements per cell that fit.

        `rows` and `columns` of cells are the room for one map.
        """
        return replace(self, cell=cell_size(shapes, rows, columns), color_by=by)


@dataclass(frozen=True)
class LayoutDrawing:
    """A grid with the sentences that describe it; `picture` is None for an access or a missing tensor."""

    grid: Grid
    sentences: Sequence[str] = ()
    picture: Picture | None = None


class VariantLayouts:
    """The tensors, shared-memory accesses and layout conversions of a variant.

    `stage` is "ttgir", or the `written_stage` of a Gluon kernel. Raises UserError if the variant lacks it.
    `kernel` has the underlying layouts.
    """

    def __init__(self, workspace: Workspace, variant: Variant, stage: str = "ttgir") -> None:
        self.variant = variant
        self.stage = stage
        self.name = workspace.names[variant.id]
        self.kernel: KernelLayouts = workspace.layouts(variant, stage)

    @property
    def title(self) -> str:
        """Return the variant in one line."""
        return f"#{self.variant.id} {self.name}  {self.variant.kernel.name}  {self.variant.target}"

    @property
    def tensors(self) -> list[list[Tensor]]:
        """Return the tensors and buffers, those with the same variable and type grouped."""
        return list(distinct(self.kernel.tensors))

    @property
    def accesses(self) -> list[AccessConflicts]:
        """Return the accesses to shared memory with their bank conflicts."""
        return self.kernel.accesses

    def access(self, number: int) -> AccessConflicts:
        """Return the access with this number, from 1. Raises UserError if there is none."""
        if not 1 <= number <= len(self.accesses):
            raise UserError(f"#{self.variant.id} has no access {number}; it has {len(self.accesses)}")
        return self.accesses[number - 1]

    def known_accesses(self, tensor: Tensor) -> list[AccessConflicts]:
        """Return the accesses to a buffer whose bank conflicts are known."""
        return (
            [access for access in self.kernel.accesses_to(tensor) if access.conflicts]
            if tensor.shared
            else []
        )

    def find(self, name: str) -> list[Tensor]:
        """Return the tensors that `name` matches, one of each kind, the likeliest first.

        `name` is a variable (a, or a:88 with its line), a line (:88), a value (%a_12) or a layout
        (#blocked). Raises UserError if none matches.
        """
        matches = find_tensors(self.kernel.tensors, name)
        if not matches:
            variables = dict.fromkeys(tensor.python for tensor in self.kernel.tensors if tensor.python)
            raise UserError(
                f"#{self.variant.id} has no '{name}'; variables: {', '.join(variables) or 'none'}"
            )
        return [group[0] for group in distinct(matches)]

    def draw(self, tensor: Tensor, options: DrawingOptions) -> LayoutDrawing:
        """Draw a tensor, or the banks of an access to it. Raises UserError if the layout is unknown."""
        accesses = [] if options.access is None else self.known_accesses(tensor)
        if options.access is not None and accesses:
            return self.draw_access(accesses[min(options.access, len(accesses) - 1)], options.swizzle)
        if tensor.attribute.kind.startswith("gluon."):
            raise UserError(f"{tensor.name} has no layout here: the compiler chooses it, see ttgir")
        try:
            if options.cell is not None:
                by, cell = options.color_by, options.cell
                picture = self.kernel.color_map(tensor, by, cell, options.window.plane, options.swizzle)
            else:
                picture = self.kernel.picture(tensor, options.window, options.thread, options.swizzle)
            notes = picture.grid.notes if options.cell is not None else ()
            return LayoutDrawing(picture.grid, [*notes, *self._sentences(picture, options)], picture)
        except UnknownLayoutError as error:
            raise UserError(f"unknown layout: {error}") from error

    def maps(self, tensor: Tensor, options: DrawingOptions) -> list[Grid]:
        """Draw a map by each property of the elements; [] for an access and for unknown layouts."""
        if options.access is not None and self.known_accesses(tensor):
            return []
        with suppress(UnknownLayoutError):
            return self.kernel.maps(tensor, options.window, options.cell, options.swizzle)
        return []

    def element_text(self, tensor: Tensor, element: Sequence[int], swizzle: bool) -> str:
        """Say which thread, warp and register hold an element, and its byte and bank; "" if unknown."""
        with suppress(UnknownLayoutError):
            return self.kernel.element_text(tensor, element, swizzle)
        return ""

    def draw_access(self, access: AccessConflicts, swizzle: bool) -> LayoutDrawing:
        """Draw the worst pass of an access over the banks. Raises UserError if the layout is unknown."""
        try:
            return LayoutDrawing(self.kernel.wavefronts(access, swizzle))
        except UnknownLayoutError as error:
            raise UserError(f"unknown layout: {error}") from error

    def _sentences(self, picture: Picture, options: DrawingOptions) -> list[str]:
        sentences = list(picture.sentences)
        for access in self.kernel.accesses_to(picture.tensor) if picture.tensor.shared else ():
            conflicts = access.conflicts if options.swizzle else access.plain
            line = f" in line {access.access.line}" if access.access.line else ""
            text = conflicts.text if conflicts else access.why_not
            sentences.append(f"{access.access.opcode}{line}: {text}.")
        if options.thread is not None and picture.layout.in_registers:
            sentences += describe_thread(picture.layout, options.thread)
        version = self.variant.toolchain.versions.get("triton", "")
        source = (
            f"from Triton {version}" if picture.source == "Triton" else "computed by irscope, not by Triton"
        )
        return [*sentences, f"Linear layout: {source}."]


def ask_triton_for_layouts(workspace: Workspace, variant: Variant) -> None:
    """Have the installed Triton compute a variant's layouts if it is the one that compiled it.

    They are kept when the workspace closes. Raises as `Workspace.content`.
    """
    from irscope.compiling.toolchain.triton_layouts import installed_triton, triton_layouts

    version = variant.toolchain.versions.get("triton", "")
    if workspace.contents.layouts(variant) is None and version and installed_triton() == version:
        layouts = triton_layouts(workspace.text(variant, "ttgir"), variant.target)
        workspace.contents.add_layouts(variant, dict(layouts))


def listed_tensors(tensors: Sequence[Tensor]) -> str:
    """Return the names and types of tensors in one line; "" if there are none."""
    listed = ", ".join(f"{tensor.name} {tensor.type}" for tensor in tensors[:_MAX_LISTED])
    return f"{listed}{', ...' if len(tensors) > _MAX_LISTED else ''}"
