"""Captures with chosen facts, to compare."""

from __future__ import annotations

from collections.abc import Collection
from itertools import product
from pathlib import Path

from irscope.facts.measure import FACTS_VERSION, to_json
from irscope.model import Argument, Config, Failure, SourceFunction
from irscope.store import CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.workspace import Workspace
from tests.cli.conftest import TTGIR, VERSIONS, specialization


def write(
    path: Path,
    registers: int = 64,
    stack: int = 0,
    shared: int = 1024,
    *,
    blocks: Collection[int] = (64, 128),
    target: str = "cuda:90",
    name: str = "add_kernel",
    failed: Collection[int] = (),
    constants: Collection[tuple[str, int]] = (),
) -> Path:
    """A capture with a variant per block and these facts; the blocks in `failed` did not compile.

    `constants` are further constexprs of the kernel; those with the same name make a variant each.
    """
    added = [(Argument(each, "constexpr", None, value),) for each, value in constants] or [()]
    with CaptureWriter.create(path) as writer:
        toolchain = writer.add_toolchain(VERSIONS, "irscope compile add.py")
        parameters = ("x", "BLOCK", *dict.fromkeys(each for each, _ in constants))
        text = f"@triton.jit\ndef {name}(x, BLOCK: tl.constexpr):\n    pass\n"
        kernel = writer.add_kernel(SourceFunction(name, "add.py", 3, text), (), parameters)
        for block, more in product(blocks, added):
            failure = Failure("CompilationError", "arange's range is bad", "at 14:9\n")
            new = NewVariant(
                parse_target(target),
                (*specialization(block), *more),
                Config((("BLOCK", block), ("num_stages", 3))),
                metadata={"shared": shared, "num_warps": 4},
                seconds={"ttgir": 0.25},
                failure=failure if block in failed else None,
                artifacts={} if block in failed else {"ttgir": TTGIR.format(block=block, per=1).encode()},
            )
            writer.add_variant(kernel, toolchain, "3.9.0", new)
    return _with_facts(path, registers=registers, stack=stack, n_spills=stack // 4)


def _with_facts(path: Path, **facts: int) -> Path:
    """Stores these facts for each variant that compiled: measuring them would need machine code."""
    with Workspace(path) as workspace:
        measured = {v.id: to_json(workspace.facts(v)) for v in workspace.variants if v.failure is None}
    with CaptureWriter.resume(path) as writer:
        for id_, known in measured.items():
            writer.add_facts(id_, FACTS_VERSION, {**known, **facts})
    return path
