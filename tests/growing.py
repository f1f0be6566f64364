"""Another process that writes a capture, variant by variant as a test asks for them."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import TracebackType

# Reads a line per variant: its block size; an empty line closes the capture.
_WRITES = """
import sys
from pathlib import Path
from irscope.targets import parse_target
from irscope.model import Config, SourceFunction
from irscope.store import CaptureWriter, NewVariant
path, planned = Path(sys.argv[1]), int(sys.argv[2])
stages = {name: Path(file).read_bytes() for name, file in (pair.split("=", 1) for pair in sys.argv[3:])}
with CaptureWriter.resume(path) if path.exists() else CaptureWriter.create(path) as writer:
    toolchain = writer.add_toolchain({"triton": "3.9.0"}, "irscope compile k.py")
    kernel = writer.add_kernel(SourceFunction("k", "k.py", 1, "def k(): pass"), (), ())
    writer.expect(planned)
    print("open", flush=True)
    for line in sys.stdin:
        if not line.strip():
            break
        config = Config((("BLOCK", int(line)), ("num_warps", 4)))
        made = {name: content + line.encode() for name, content in stages.items()}
        new = NewVariant(parse_target("cuda:90"), (), config, metadata={"num_warps": 4}, artifacts=made)
        writer.add_variant(kernel, toolchain, "3.9.0", new)
        print("added", flush=True)
print("closed", flush=True)
"""


class OtherWriter:
    """A process that has the capture at `path` open and plans to add `planned` variants with these stages."""

    def __init__(self, path: Path, planned: int, stages: dict[str, Path] | None = None) -> None:
        files = [f"{name}={file}" for name, file in (stages or {}).items()]
        self.process = subprocess.Popen(
            [sys.executable, "-c", _WRITES, str(path), str(planned), *files],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._expect("open")

    def __enter__(self) -> OtherWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.process.kill()
        self.process.communicate()

    def add(self, *blocks: int) -> None:
        """Adds a variant per block size; returns when they are written."""
        for block in blocks:
            self._send(f"{block}\n")
            self._expect("added")

    def close(self) -> None:
        """Closes the capture as a sweep that is done does."""
        self._send("\n")
        self._expect("closed")
        self.process.wait()

    def kill(self) -> None:
        """Ends the process without a chance to clean up."""
        self.process.kill()
        self.process.wait()

    def _send(self, line: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(line)
        self.process.stdin.flush()

    def _expect(self, line: str) -> None:
        assert self.process.stdout is not None
        assert self.process.stdout.readline().strip() == line
