"""The values of a launch's tensors, before and after it, for `irscope run --values`. Needs torch.

Kept as a file of torch: "before" and "after" map names to the elements of a tensor's memory, from its first
to its last, as one dimension; "after" has only tensors that the launch changed. "same" names an argument that
is the same tensor as an earlier one. Elements of a tuple are "name.0".
"""

from __future__ import annotations

import io
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from irscope.model.text import pluralize

MIB = 1 << 20


@dataclass
class LaunchValues:
    """The tensors of a launch as they were before it; `left_out` says why some are missing."""

    tensors: dict[str, Any]
    before: dict[str, Any] = field(default_factory=dict)
    same: dict[str, str] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)

    def file(self, launched: bool) -> bytes:
        """The values as a file; with `launched`, also those after the launch."""
        import torch

        after = {}
        if launched:
            torch.cuda.synchronize()
            for name, values in self.before.items():
                now = _copy(self.tensors[name])
                if not torch.equal(now.view(torch.uint8), values.view(torch.uint8)):
                    after[name] = now
        kept = {"before": self.before, "after": after, "same": self.same, "left_out": self.left_out}
        file = io.BytesIO()
        torch.save(kept, file)
        return file.getvalue()


def values_of(
    function: Any, given: tuple[Any, ...], most: int, known: Callable[[Any], bool] = lambda _: True
) -> LaunchValues | None:
    """The values of a launch's tensors, of at most `most` bytes together; None within a CUDA graph.

    `given` is what Triton passes to a kernel's `run`; tensors that are not `known` are left out.
    """
    import torch

    if torch.cuda.is_available() and torch.cuda.is_current_stream_capturing():
        return None
    arguments = zip((parameter.name for parameter in function.params), given[9:], strict=False)
    found, size = LaunchValues(dict(tensors_in(arguments))), 0
    first: dict[tuple[Any, ...], str] = {}
    for name, tensor in found.tensors.items():
        place = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if first.setdefault(place, name) != name:
            found.same[name] = first[place]
            continue
        size += _elements(tensor) * tensor.element_size()
        if not known(tensor):
            found.left_out[name] = "computed by a kernel, which did not run"
        elif size > most:
            found.left_out[name] = f"more than {pluralize(most // MIB, 'MiB')} with those before it"
        else:
            found.before[name] = _copy(tensor)
    return found


def tensors_in(arguments: Iterable[tuple[str, Any]]) -> Iterator[tuple[str, Any]]:
    """The tensors of arguments by name, those of descriptors and tuples too."""
    for name, value in arguments:
        if hasattr(value, "data_ptr") and hasattr(value, "stride"):
            yield name, value
        elif hasattr(value, "base") and hasattr(value, "block_shape"):
            yield name, value.base
        elif isinstance(value, tuple):
            yield from tensors_in((f"{name}.{index}", item) for index, item in enumerate(value))


def _elements(tensor: Any) -> int:
    """The elements of its memory from the first to the last."""
    if not tensor.numel():
        return 0
    pairs = zip(tensor.shape, tensor.stride(), strict=True)
    return 1 + sum((int(size) - 1) * int(stride) for size, stride in pairs)


def _copy(tensor: Any) -> Any:
    flat = tensor.detach().as_strided((_elements(tensor),), (1,), tensor.storage_offset())
    return flat.to("cpu", copy=True)
