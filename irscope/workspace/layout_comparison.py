"""The tensors of A and B with their layouts, matched and drawn."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from irscope.layouts.attribute import UnknownLayoutError
from irscope.layouts.describe import conflicts_text
from irscope.layouts.grid import Grid, Window
from irscope.layouts.kernel_layouts import KernelLayouts
from irscope.layouts.shared_accesses import AccessConflicts
from irscope.layouts.tensors import Tensor, distinct, find_tensors

if TYPE_CHECKING:
    from irscope.workspace.comparison import Comparison


@dataclass(frozen=True)
class DrawingOptions:
    """What to draw of a tensor.

    `whole`: all of it instead of the part that repeats. `swizzle`: shared memory as it is, not as it would be
    without its swizzle. `access`: the index of the access whose banks are drawn instead of the buffer.
    """

    whole: bool = False
    swizzle: bool = True
    access: int | None = None


@dataclass(frozen=True)
class LayoutDrawing:
    """The grid of a tensor in one variant, and a description."""

    grid: Grid
    description: str


class LayoutComparison:
    """The layouts of A and B; those of A if both are the same variant. `tensors` are A's, one of each kind.

    Raises UserError if a variant does not have TTGIR.
    """

    def __init__(self, pair: Comparison) -> None:
        variants = (pair.a,) if pair.a.id == pair.b.id else pair.variants
        self._kernels = [pair.workspace.layouts(variant) for variant in variants]
        groups = (group[0] for group in distinct(self._kernels[0].tensors))
        # Without masks and pointers.
        self.tensors = [one for one in groups if one.element != "i1" and not one.element.startswith("!")]

    def find(self, names: Iterable[str], right: bool) -> int:
        """The index in `tensors` of the first value of A, or of B if `right`, that one of `names` names.

        Adds the value to `tensors` if it is not among them. 0 if nothing matches.
        """
        left_kernel = self._kernels[0]
        kernel = self._kernels[-1] if right else left_kernel
        for name in names:
            for found in find_tensors(kernel.tensors, name)[:1]:
                tensor = found if kernel is left_kernel else _match(found, left_kernel)
                if tensor is not None:
                    keys = [_key(other) for other in self.tensors]
                    if _key(tensor) not in keys:
                        self.tensors.insert(0, tensor)
                        return 0
                    return keys.index(_key(tensor))
        return 0

    def access_count(self, tensor: Tensor) -> int:
        """The number of accesses to a buffer whose bank conflicts are known."""
        return len(_accesses(self._kernels[0], tensor))

    def draw(self, tensor: Tensor, options: DrawingOptions) -> list[LayoutDrawing]:
        """A tensor of A, and the matching one of B."""
        drawings = []
        for kernel in self._kernels:
            own = tensor if kernel is self._kernels[0] else _match(tensor, kernel)
            try:
                drawing = _draw(kernel, own, options) if own else None
                problem = f"no {tensor.python} like this"
            except UnknownLayoutError as error:
                drawing, problem = None, f"unknown: {error}"
            drawings.append(drawing or LayoutDrawing(Grid("", (), (), ()), problem))
        return drawings


def _draw(kernel: KernelLayouts, tensor: Tensor, options: DrawingOptions) -> LayoutDrawing:
    if options.access is not None and (accesses := _accesses(kernel, tensor)):
        access = accesses[min(options.access, len(accesses) - 1)]
        conflicts = access.conflicts if options.swizzle else access.plain
        text = conflicts_text(conflicts) if conflicts else access.why_not
        return LayoutDrawing(kernel.wavefronts(access, options.swizzle), text)
    whole = options.whole and len(tensor.shape) > 1 and tensor.shape == tensor.whole
    window = Window((0, tensor.shape[-2]), (0, tensor.shape[-1])) if whole else Window()
    picture = kernel.picture(tensor, window, swizzle=options.swizzle or not tensor.shared)
    return LayoutDrawing(picture.grid, " ".join(picture.sentences))


def _key(tensor: Tensor) -> tuple[str, str, str]:
    return tensor.python, tensor.key, tensor.element


def _match(tensor: Tensor, kernel: KernelLayouts) -> Tensor | None:
    """The tensor of another variant that is the same variable with the most similar layout."""
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
    """The accesses to a buffer whose bank conflicts are known."""
    return [one for one in kernel.accesses_to(tensor) if one.conflicts] if tensor.shared else []
