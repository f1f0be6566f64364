"""Kernels that a front end generated: their config, what follows from it, and which are the same kernel."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

from irscope.compiling.messages import KernelRecorded, Record, RunOptions, ToolchainUsed
from irscope.compiling.toolchain.requested_config import SourceConfig, TunedNames
from irscope.model import parse_value
from irscope.recording.background_writer import BackgroundWriter
from irscope.recording.recorder import Generated, RecordedCompilation, Recorder
from irscope.store import CaptureWriter
from irscope.targets import parse_target

pytest.importorskip("triton")
pytestmark = pytest.mark.filterwarnings("ignore:TRITON_DEFAULT_FP_FUSION is unset")

TEXT = """
import triton
import triton.language as tl

_BLOCK_SIZE_0 = tl.constexpr({size})
_SHAPE = tl.constexpr(100)

{comment}
@triton.jit
def _generated(x):
    offsets = tl.arange(0, _BLOCK_SIZE_0)
    tl.store(x + offsets, {value}, mask=offsets < _SHAPE)
"""


class FrontEnd:
    """A recorder of generated kernels; `sent` are its records."""

    def __init__(self, folder: Path) -> None:
        self.sent: list[Record] = []
        self.recorder = Recorder(RunOptions(parse_target("cuda:90")), self.sent.append)
        self._frontend = self.recorder.with_frontend(self._generated)
        self._frontend.__enter__()
        self._folder, self._sizes = folder, dict[str, int]()

    def _generated(self, function: Any) -> Generated | None:
        size = self._sizes.get(function.fn.__code__.co_filename)
        if size is None:
            return None
        values = {"block_sizes": parse_value(f"[{size}]"), "num_warps": 4}
        return Generated(config=SourceConfig(values, {"_BLOCK_SIZE_0": size}, "the user's"))

    def record(
        self, size: int, value: str = "1.0", comment: str = "", generated: bool = True
    ) -> RecordedCompilation:
        """Records a kernel in a file of its own."""
        from triton.compiler import ASTSource, make_backend

        from irscope.compiling.toolchain.stub_driver import gpu_target

        path = self._folder / f"c{len(list(self._folder.iterdir()))}.py"
        path.write_text(TEXT.format(size=size, value=value, comment=comment))
        if generated:
            self._sizes[str(path)] = size
        spec = importlib.util.spec_from_file_location(path.stem, path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        target = gpu_target(parse_target("cuda:90"))
        source = ASTSource(module._generated, {"x": "*fp32"})
        options = make_backend(target).parse_options({"num_warps": 2})
        found, _ = self.recorder.record(source, options, target, TunedNames())
        assert found is not None
        return found


@pytest.fixture
def front_end(tmp_path: Path) -> FrontEnd:
    return FrontEnd(tmp_path)


def test_the_config_is_that_of_the_front_end_and_the_options_are_tritons(front_end: FrontEnd):
    variant = front_end.record(64).variant
    assert str(variant.config) == "block_sizes=[64],num_warps=2,num_stages=3"


def test_what_follows_from_the_config_is_no_argument(front_end: FrontEnd):
    generated, written = front_end.record(64).variant, front_end.record(64, "2.0", generated=False).variant
    assert [argument.name for argument in generated.specialization] == ["x", "global _SHAPE"]
    assert [argument.name for argument in written.specialization][1:] == [
        "global _BLOCK_SIZE_0", "global _SHAPE",
    ]  # fmt: skip


def test_equal_texts_in_different_files_are_one_kernel(front_end: FrontEnd):
    kernels = [front_end.record(*given).kernel for given in ((64,), (128,), (128, "2.0"), (64, "1.0", "# 1"))]
    assert kernels == [0, 0, 1, 0]


def test_kernels_of_one_family_count_as_one(front_end: FrontEnd, tmp_path: Path):
    for value in ("1.0", "2.0"):
        front_end.record(64, value)
    sent = [record for record in front_end.sent if isinstance(record, KernelRecorded | ToolchainUsed)]
    writer = BackgroundWriter(lambda: CaptureWriter.create(tmp_path / "x.irscope"), "test", lambda _: None)
    for record in sent:
        writer.put(record)
    assert writer.close().kernels == 1


def test_a_limit_of_the_capture_is_kept_with_the_versions(front_end: FrontEnd):
    front_end.recorder.add_version("helion", "1.0")
    front_end.record(64)
    front_end.recorder.add_version("configs of kernel", "10 of the first 100")
    first, second = (record.versions for record in front_end.sent if isinstance(record, ToolchainUsed))
    assert first["helion"] == "1.0"
    assert second == {**first, "configs of kernel": "10 of the first 100"}
