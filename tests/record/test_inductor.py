"""Kernels that torch.compile loads from Triton's cache, as its autotuner holds them on a GPU."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from irscope.capturing.messages import KernelRecorded, Note, Record, RunOptions, VariantDone
from irscope.capturing.record.inductor.graphs import InductorGraphs
from irscope.capturing.record.inductor.results import InductorResults
from irscope.capturing.record.recorder import Recorder
from tests.record.conftest import Recorded

pytest.importorskip("torch")
pytestmark = pytest.mark.slow


def autotuner(hashes: list[str]) -> SimpleNamespace:
    """An autotuner of Inductor's whose kernels have these hashes of Triton's."""
    results = [
        SimpleNamespace(
            kernel=SimpleNamespace(hash=hash_),
            compile_meta={"constants": {"BLOCK": 256, ("x",): 1}},
            config=SimpleNamespace(kwargs={"BLOCK": 256}),
        )
        for hash_ in hashes
    ]
    properties = SimpleNamespace(index=0)
    return SimpleNamespace(compile_results=results, device_props=properties, fn=SimpleNamespace())


def hashes_of(cache: Path, kernel: str) -> list[str]:
    """The hashes of a kernel's entries in Triton's cache."""
    return sorted(json.loads(path.read_text())["hash"] for path in cache.glob(f"*/{kernel}.json"))


@pytest.fixture
def sent(ordinary: Recorded, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What is recorded of an autotuner with two configs, one twice, and one that the cache does not have."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(ordinary.cache))
    found: list[Record] = []
    recorder = Recorder(RunOptions(None), found.append)
    first, second, *_ = hashes_of(ordinary.cache, "scale")
    results = InductorResults(recorder, InductorGraphs())
    results.record(autotuner([first, first, "0" * 64]))
    results.record(autotuner([first, second]))
    return found


def test_a_cached_kernel_is_recorded_once_with_its_stages(sent: list[Record]) -> None:
    (kernel,) = (record for record in sent if isinstance(record, KernelRecorded))
    done, other = (record for record in sent if isinstance(record, VariantDone))
    assert (done.number, done.kernel, other.number, other.kernel) == (0, 0, 1, 0)
    assert kernel.source.name == "scale"
    assert "def scale(x, n, factor, BLOCK" in kernel.source.text
    assert done.variant.config.get("BLOCK") == 256
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= done.variant.artifacts.keys()


def test_an_entry_that_is_gone_is_reported(sent: list[Record]) -> None:
    missing = base64.b32encode(bytes(32)).decode().rstrip("=")
    (note,) = (record.text for record in sent if isinstance(record, Note))
    assert missing in note
    assert "No such file or directory" in note
