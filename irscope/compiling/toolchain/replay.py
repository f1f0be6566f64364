"""Launches a kernel again with recorded or varied arguments, so that Triton says what it would compile.

    attention, M=17, stride=17  ->  the heuristics, the autotuner's pruning and key, the specialization

Nothing is compiled or executed, and nothing is measured. Runs in processes that have Triton.

The arguments of a recorded launch as objects that Triton's launch code takes, without a GPU.

Triton asks a tensor for its type and whether its address is divisible by 16; heuristics and prune functions
also for its shape and strides. Runs in processes that have Triton.
"""

from __future__ import annotations

import ast
import functools
import importlib
import math
import re
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from irscope.compiling.constexpr_values import Constants
from irscope.compiling.launch_grid import LaunchCase
from irscope.compiling.python_files import load_file
from irscope.compiling.toolchain.patching import patched
from irscope.compiling.toolchain.stub_driver import call_once
from irscope.model import UserError
from irscope.model.config import torch_name
from irscope.model.errors import error_line

_SIZES = r"\[([\d, ]*)\]"
# How a launch describes a tensor and a tensor descriptor (recording/launch_records.py).
TENSOR = re.compile(rf"(\w+){_SIZES}(?: strides \[(-?[\d, -]*)\])?")
DESCRIPTOR = re.compile(rf"tensordesc (.+) in blocks of {_SIZES}")
_BITS = re.compile(r"\d+")


class UnknownDtype:
    """An element type for processes without torch, with the text and size of torch's."""

    def __init__(self, name: str) -> None:
        self._name = name
        bits = _BITS.search(name)
        self.itemsize = 1 if bits is None else max(1, int(bits[0]) // 8)
        self.is_floating_point = "float" in name

    def __str__(self) -> str:
        return f"torch.{self._name}"

    def __eq__(self, other: object) -> bool:
        return str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


class ReplayedTensor:
    """A tensor without memory. Its methods have torch's names and meanings."""

    is_cuda = True
    requires_grad = False

    def __init__(self, dtype: Any, shape: Sequence[int], strides: Sequence[int], aligned: bool) -> None:
        self.dtype, self.shape, self._strides, self._aligned = dtype, tuple(shape), tuple(strides), aligned
        self.ndim = len(self.shape)

    def data_ptr(self) -> int:
        """Return an address that is divisible by 256, or by none of 2, 4, 8 and 16."""
        return 0x7F0000000000 + (0 if self._aligned else 1)

    def ptr_range(self) -> int:
        """Return the size in bytes, which AMD's backend compares with 2 GiB."""
        return self.numel() * self.element_size()

    def stride(self, dim: int | None = None) -> Any:
        """Return the strides in elements, or one of them."""
        return self._strides if dim is None else self._strides[dim]

    def size(self, dim: int | None = None) -> Any:
        """Return the shape, or one of its sizes."""
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        """Return the number of elements."""
        return math.prod(self.shape)

    def element_size(self) -> int:
        """Bytes per element."""
        return int(self.dtype.itemsize)

    def dim(self) -> int:
        """Return the number of dimensions."""
        return self.ndim

    def is_contiguous(self) -> bool:
        """Return True if the strides are those of a new tensor."""
        return self._strides == contiguous(self.shape)

    @property
    def device(self) -> Any:
        """Return the first GPU."""
        try:
            return importlib.import_module("torch").device("cuda", 0)
        except ImportError:
            return "cuda:0"

    def clone(self) -> ReplayedTensor:
        """Itself: nothing is written."""
        return self

    def zero_(self) -> ReplayedTensor:
        """Itself: it has no memory."""
        return self

    def copy_(self, _: Any) -> ReplayedTensor:
        """Itself: it has no memory."""
        return self


def argument_object(name: str, text: str, aligned: bool) -> Any:
    """Create the object of an argument that a launch has as `text`.

    Raises UserError if the text does not say.
    """
    if text.startswith("*"):
        return ReplayedTensor(_dtype(torch_name(text)), (4096,), (1,), aligned)
    if match := DESCRIPTOR.fullmatch(text):
        return _descriptor(argument_object(name, match[1], True), integers(match[2]))
    if match := TENSOR.fullmatch(text):
        shape = integers(match[2])
        strides = contiguous(shape) if match[3] is None else integers(match[3])
        return ReplayedTensor(_dtype(match[1]), shape, strides, aligned)
    if text in ("inf", "-inf", "nan"):
        return float(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        value = text
    if value is None or isinstance(value, int | float):
        return value
    raise UserError(f"argument {name}: the capture only has its type ({text[:60]}), no value to launch with")


def _descriptor(base: ReplayedTensor, block: Sequence[int]) -> Any:
    from triton.tools.tensor_descriptor import TensorDescriptor

    return TensorDescriptor(base, list(base.shape), list(base.stride()), list(block))


def _dtype(name: str) -> Any:
    # The type of a descriptor that was never launched is Triton's.
    name = torch_name(name)
    try:
        torch = importlib.import_module("torch")
    except ImportError:
        return UnknownDtype(name)
    attribute = getattr(torch, name, None)
    return attribute if isinstance(attribute, torch.dtype) else UnknownDtype(name)


def contiguous(shape: Sequence[int]) -> tuple[int, ...]:
    """Return the strides of a new tensor, in elements."""
    strides = [1]
    for size in reversed(shape[1:]):
        strides.append(strides[-1] * max(size, 1))
    return tuple(reversed(strides)) if shape else ()


def integers(text: str) -> tuple[int, ...]:
    """Return the numbers in "64, 32"."""
    return tuple(int(word) for word in text.split(",") if word.strip())


# More decorators around each other than any kernel has: a bound on a chain that may have a cycle.
_MOST_DECORATORS = 16
# Options as a capture has them that a launch takes in another form.
_NO_KEYWORDS = frozenset(["extern_libs"])


@dataclass(frozen=True)
class Launchable:
    """A kernel with Triton's decorators around it, as a program launches it.

    `function` is the JITFunction inside; `tuner` the autotuner, None if it has none. `tuned` are the names
    that the autotuner's configs set, `computed` those that heuristics set. `prunes` is true if the
    autotuner drops configs that depend on the launch.
    """

    outer: Any
    function: Any
    tuner: Any
    tuned: frozenset[str]
    computed: frozenset[str]
    prunes: bool

    @property
    def depends_on_values(self) -> bool:
        """Return True if launches that specialize alike may still be compiled differently."""
        return self.prunes or bool(self.computed)


def launchable(path: Path, name: str) -> Launchable:
    """Return the kernel of a file as a program launches it. Raises UserError if there is none."""
    from triton.runtime.autotuner import Autotuner, Heuristics
    from triton.runtime.jit import JITFunction

    value = load_file(path).get(name)
    outer = tuner = None
    computed: set[str] = set()
    for _ in range(_MOST_DECORATORS):
        if isinstance(value, Autotuner | Heuristics | JITFunction):
            outer = outer or value
        if isinstance(value, JITFunction):
            configs: list[Any] = [] if tuner is None else tuner.configs
            tuned = frozenset(name for config in configs for name in config.all_kwargs())
            prunes = tuner is not None and bool(tuner.perf_model or tuner.early_config_prune)
            return Launchable(outer, value, tuner, tuned, frozenset(computed), prunes)
        if isinstance(value, Autotuner):
            tuner = value
        elif isinstance(value, Heuristics):
            computed |= set(value.values)
        value = next(
            (vars(value)[attribute] for attribute in ("jit_function", "fn") if attribute in _vars(value)),
            None,
        )
    raise UserError(f"{path}: no kernel '{name}' that can be launched")


def _vars(value: Any) -> Mapping[str, Any]:
    attributes: Mapping[str, Any] = getattr(value, "__dict__", {})
    return attributes


@contextmanager
def replaying(kernel: Launchable) -> Iterator[None]:
    """Within the block, autotuners measure nothing, and the kernel is compiled for every launch anew."""
    from triton.runtime import driver
    from triton.runtime.autotuner import Autotuner

    @functools.wraps(Autotuner.check_disk_cache)
    def check_disk_cache(_: Any, key: Any, configs: Any, measure: Callable[[], None]) -> bool:
        measure()
        return False

    device = driver.active.get_current_device()
    with ExitStack() as stack:
        kernel.function.device_caches.pop(device, None)
        stack.callback(kernel.function.device_caches.pop, device, None)
        stack.enter_context(patched(Autotuner, "do_bench", property(lambda _: call_once)))
        stack.enter_context(patched(Autotuner, "check_disk_cache", check_disk_cache))
        yield


def replay(kernel: Launchable, case: LaunchCase, constants: Constants) -> None:
    """Launch a kernel with the arguments of `case`. Raises UserError if a launch is not possible."""
    positional, keywords = _arguments(kernel, case, constants)
    _check_all_given(kernel, len(positional), keywords)
    if kernel.tuner is not None:
        kernel.tuner.cache.clear()  # else its other configs are not compiled for another specialization
    try:
        kernel.outer.run(*positional, grid=(1, 1, 1), warmup=False, **keywords)
    except UserError:
        raise
    except Exception as error:  # user code: heuristics, prune functions, hooks
        raise UserError(f"{kernel.function.fn.__name__}: the launch fails: {error_line(error)}") from error


def _check_all_given(kernel: Launchable, positional: int, keywords: Mapping[str, Any]) -> None:
    """Raise UserError if a parameter without a default has no value, as in a launch from a Triton cache."""
    set_later = kernel.tuned | kernel.computed | keywords.keys()
    missing = [
        parameter.name
        for parameter in kernel.function.params[positional:]
        if parameter.name not in set_later and not parameter.has_default
    ]
    if missing:
        raise UserError(
            f"{kernel.function.fn.__name__}: a launch has no {', '.join(missing)}: Triton's cache does not "
            "contain arguments that are None, 1 or a constant; add them to the launch in a plan"
        )


def outcome(kernel: Launchable, case: LaunchCase, constants: Constants) -> Hashable:
    """Return the configs that a launch leaves after pruning, and what heuristics compute for each.

    If the launch fails, return the text of the error.
    """
    from triton.runtime.jit import JITFunction

    remaining: list[Hashable] = []
    names = kernel.tuned | kernel.computed

    def run(function: Any, *_: Any, **keywords: Any) -> None:
        remaining.append(tuple((name, repr(keywords[name])) for name in sorted(names & keywords.keys())))

    with patched(JITFunction, "run", run):
        try:
            replay(kernel, case, constants)
        except UserError as error:
            return str(error)
    return tuple(remaining)


def _arguments(
    kernel: Launchable, case: LaunchCase, constants: Constants
) -> tuple[Sequence[Any], dict[str, Any]]:
    """Return the leading run-time arguments, and the other arguments.

    The leading ones are those that most programs pass by position.
    """
    arguments = {
        name: argument_object(name, text, name not in case.unaligned) for name, text in case.arguments
    }
    dropped = kernel.tuned | kernel.computed | _NO_KEYWORDS
    arguments |= {name: constants.real(value) for name, value in case.constants if name not in dropped}
    positional = []
    for parameter in kernel.function.params:
        if parameter.name not in arguments or parameter.name in dropped:
            break
        positional.append(arguments.pop(parameter.name))
    return positional, arguments


def without_tuned(kernel: Launchable, cases: Sequence[LaunchCase]) -> tuple[LaunchCase, ...]:
    """`cases` without the values that the autotuner and heuristics set; those that are then equal, once."""
    dropped = kernel.tuned | kernel.computed
    bare = (
        LaunchCase(
            case.arguments,
            tuple(sorted((pair for pair in case.constants if pair[0] not in dropped), key=lambda p: p[0])),
            case.unaligned,
            case.choices,
        )
        for case in cases
    )
    return tuple(dict.fromkeys(bare))
