"""Kernels that torch.compile loads from Triton's cache, as its autotuner holds them on a GPU."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from irscope.capturing.messages import KernelRecorded, Note, Record, RunOptions, VariantDone
from irscope.capturing.record.inductor import InductorResults
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


def entry_of(cache: Path, kernel: str) -> dict[str, object]:
    """The metadata of an entry in Triton's cache."""
    return json.loads(next(cache.glob(f"*/{kernel}.json")).read_text())


@pytest.fixture
def sent(ordinary: Recorded, monkeypatch: pytest.MonkeyPatch) -> list[Record]:
    """What is recorded of an autotuner with one kernel twice, and one that the cache does not have."""
    monkeypatch.setenv("TRITON_CACHE_DIR", str(ordinary.cache))
    found: list[Record] = []
    recorder = Recorder(RunOptions(None), found.append)
    hash_ = str(entry_of(ordinary.cache, "scale")["hash"])
    results = InductorResults(recorder)
    results.record(autotuner([hash_, hash_, "0" * 64]))
    results.record(autotuner([hash_]))
    return found


def test_a_cached_kernel_is_recorded_once_with_its_stages(sent: list[Record]) -> None:
    (kernel,) = (record for record in sent if isinstance(record, KernelRecorded))
    (done,) = (record for record in sent if isinstance(record, VariantDone))
    assert kernel.source.name == "scale"
    assert "def scale(x, n, factor, BLOCK" in kernel.source.text
    assert done.variant.config.get("BLOCK") == 256
    assert {"ttir", "ttgir", "llir", "ptx", "cubin"} <= done.variant.artifacts.keys()


def test_an_entry_that_is_gone_is_reported(sent: list[Record]) -> None:
    missing = base64.b32encode(bytes(32)).decode().rstrip("=")
    (note,) = (record.text for record in sent if isinstance(record, Note))
    assert missing in note
    assert "No such file or directory" in note
