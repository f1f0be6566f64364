"""A producer that compiles nothing and sends the events of a test."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from pathlib import Path

from textual.css.query import NoMatches
from textual.pilot import Pilot

from irscope.model import Config, Failure, Kernel, SourceFunction, Toolchain, Variant
from irscope.store import CaptureReader, CaptureWriter, NewVariant
from irscope.targets import parse_target
from irscope.workspace.live import Event, Publish, StageMade, Started, VariantFinished

TARGET = parse_target("cuda:90")
TEXT = "@triton.jit\ndef matmul_kernel(a_ptr):\n    pid = tl.program_id(0)\n    tl.store(a_ptr, pid)\n"
_PATIENCE_SECONDS = 20.0


class Script:
    """Plays the compiler; finished variants are in the capture."""

    name = "matmul.py::matmul_kernel"
    files: tuple[Path, ...] = ()

    def __init__(self, path: Path) -> None:
        self.path = path
        self.asked = 0
        self.options: list[str] = []
        self.rejected = ""
        self._publish: Publish | None = None
        CaptureWriter.create(path).close()

    def begin(self, publish: Publish) -> None:
        self.asked += 1
        self._publish = publish

    def add_options(self, options: str) -> str:
        """The problem that a test set; keeps the options without one."""
        if not self.rejected:
            self.options.append(options)
        return self.rejected

    def publish(self, *events: Event) -> None:
        assert self._publish is not None
        for event in events:
            self._publish(event)

    def kernel(self, text: str = TEXT) -> Kernel:
        source = SourceFunction("matmul_kernel", "matmul.py", 10, text)
        with CaptureWriter.resume(self.path) as writer:
            return Kernel(writer.add_kernel(source, (), ("a_ptr",)), source.name, source, (), ("a_ptr",))

    def variants(self, kernel: Kernel, *blocks: int, first: int = 1) -> tuple[Variant, ...]:
        """A variant per block size, numbered from `first` on."""
        toolchain = Toolchain(1, {"triton": "3.9.0"}, "irscope tui")
        return tuple(
            Variant(id_, kernel, TARGET, (), Config((("BLOCK_M", block), ("num_warps", 4))), toolchain)
            for id_, block in enumerate(blocks, first)
        )

    def compile(self, variant: Variant, stages: Mapping[str, bytes], failure: Failure | None = None) -> None:
        """Sends the events of a variant from start to end."""
        self.publish(Started(variant.id))
        self.publish(*(StageMade(variant.id, name, content) for name, content in stages.items()))
        self.finish(variant, stages, failure)

    def finish(self, variant: Variant, stages: Mapping[str, bytes], failure: Failure | None = None) -> None:
        with CaptureWriter.resume(self.path) as writer:
            toolchain = writer.add_toolchain(variant.toolchain.versions, variant.toolchain.command)
            new = NewVariant(
                TARGET, (), variant.config, failure, {"shared": 0, "num_warps": 4}, artifacts=stages
            )
            writer.add_variant(variant.kernel.id, toolchain, "3.9.0", new, variant.id)
        with CaptureReader(self.path) as capture:
            written = next(v for v in capture.variants() if v.id == variant.id)
        self.publish(VariantFinished(written))


async def until(pilot: Pilot[None], true: Callable[[], object]) -> None:
    """Waits until something is true and drawn; a widget that is not mounted yet is not true."""

    def is_true() -> bool:
        with contextlib.suppress(NoMatches):
            return bool(true())
        return False

    async with asyncio.timeout(_PATIENCE_SECONDS):
        while not is_true():
            await asyncio.sleep(0.01)
        await pilot.pause()
