"""A variant as a reproducer needs it: the kernel's file, Triton's input, its launch and its machine code."""

from __future__ import annotations

import ast
import struct
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from irscope.compiling.standalone import CALL, KERNEL, VALUES, Call, parse_call
from irscope.compiling.toolchain.replay import DESCRIPTOR, TENSOR, contiguous, integers
from irscope.facts.fact import Fact, value_named
from irscope.facts.measure import measure
from irscope.jobs.reproduce import scaffold
from irscope.model import Launch, Variant
from irscope.model.text import split_entries
from irscope.store import CaptureReader
from irscope.targets import backend_of, stage_named
from irscope.targets.elf import code_digest

# A launch's argument as a literal of the script: a number, None, a tensor's or descriptor's description.
Specification = object


@dataclass(frozen=True)
class Recorded:
    """A variant of a capture with all that a reproducer of it needs.

    `kernel` is the text of the kernel's file, `values` a file of torch with the arguments of its launch.
    """

    variant: Variant
    kernel: str
    call: Call
    artifacts: Mapping[str, bytes]
    facts: Mapping[str, Fact] = field(default_factory=dict)
    values: bytes | None = None

    @property
    def launch(self) -> Launch | None:
        """Return the first launch that the capture has; with `values`, the one that had them."""
        return self.variant.launches[0] if self.variant.launches else None

    @property
    def binary(self) -> bytes | None:
        """Return the cubin or code object, or None if the variant did not compile."""
        return self.artifacts.get(backend_of(self.variant.target).binary)


def read_recorded(path: Path, variant: Variant) -> Recorded:
    """Read a variant of the capture at `path`. Raises UserError if it lacks what a reproducer needs."""
    with CaptureReader(path) as reader:
        attached = {name: reader.content(artifact) for name, artifact in reader.attached(variant).items()}
        artifacts = {stage: reader.content(artifact) for stage, artifact in variant.artifacts.items()}
    call = parse_call(attached.get(CALL), f"#{variant.id} ({variant.kernel.name})")
    kernel = attached.get(KERNEL, b"").decode("utf-8", "replace")
    facts = measure(variant, artifacts.get)
    return Recorded(variant, kernel, call, artifacts, facts, attached.get(VALUES))


def recorded_facts(recorded: Recorded) -> dict[str, Any]:
    """Return the values that the script compares.

    They are the hash of the code, and registers and spills as printed.
    """
    variant = recorded.variant
    values: dict[str, Any] = {"registers": None, "code": None}
    if recorded.binary is not None:
        with suppress(struct.error, ValueError, LookupError):  # anybody may have written the capture
            code_digest(recorded.binary)  # checks sizes, which the script's own function trusts
            facts: Callable[..., dict[str, Any]] = scaffold.facts
            values = facts(_Texts(recorded.artifacts), variant.log or "")
    if values["registers"] is None:
        values["registers"] = value_named(recorded.facts, "registers")
    return {**values, "failure": variant.failure.kind if variant.failure else None}


class _Texts(dict[str, Any]):
    """Artifacts as Triton's `asm` has them: text, and bytes of the binary."""

    def __getitem__(self, stage: str) -> Any:
        content = super().__getitem__(stage)
        return content if stage_named(stage).binary else content.decode("utf-8", "replace")


def specification(text: str) -> Specification:
    """Return an argument of a launch as a literal, or None if the text only names its class."""
    if match := DESCRIPTOR.fullmatch(text):
        return {"base": specification(match[1]), "block": list(integers(match[2]))}
    if match := TENSOR.fullmatch(text):
        shape = integers(match[2])
        strides = contiguous(shape) if match[3] is None else integers(match[3])
        return {"dtype": match[1], "shape": list(shape), "strides": list(strides)}
    if text.startswith("(") and text.endswith(")"):
        return tuple(map(specification, split_entries(text[1:-1])))
    if text in ("inf", "-inf", "nan"):
        return _Infinite(text)
    try:
        value = ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return None
    return value if value is None or isinstance(value, bool | int | float) else None


class _Infinite(float):
    """A float without a literal."""

    def __repr__(self) -> str:
        return f'float("{super().__repr__()}")'


def unaligned(call: Call) -> tuple[str, ...]:
    """Return the parameters whose pointers were not divisible by 16."""
    aligned = {
        path.strip("()").partition(",")[0]
        for path, attributes in call.attrs.items()
        if "tt.divisibility" in attributes
    }
    return tuple(name for index, name in enumerate(call.parameters) if str(index) not in aligned)
