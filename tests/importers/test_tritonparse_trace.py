"""tritonparse's traces: records that tritonparse 0.6.0 wrote, raw and compressed."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import pytest

from irscope.model import Argument, Benchmark, Dtype
from irscope.store import CaptureReader
from tests.conftest import Irscope

TRACE = Path(__file__).parents[1] / "data" / "import" / "tritonparse-0.6.0.ndjson"


@pytest.mark.parametrize("suffix", [".ndjson", ".ndjson.gz"])
def test_a_trace_gives_configs_types_and_python(irscope: Irscope, tmp_path: Path, suffix: str):
    path = tmp_path / f"run{suffix}"
    path.write_bytes(gzip.compress(TRACE.read_bytes()) if suffix.endswith("gz") else TRACE.read_bytes())
    done = irscope("import", str(path))
    assert done.returncode == 0, done.stderr
    assert "3 variants of 2 kernels from a tritonparse trace, 1 already there" in done.stdout
    with CaptureReader(tmp_path / "run.irscope") as capture:
        first, second, typed = capture.variants()
        ptx = capture.read(first, "ptx") or b""
    assert first.config.values == (("BLOCK", 64), ("num_warps", 2), ("num_stages", 3))
    assert second.config.get("BLOCK") == 128
    assert first.specialization == (Argument("x_ptr", "*fp32", "D"), Argument("n", "i32", ""))
    assert first.kernel.parameters == ("x_ptr", "n", "BLOCK")
    assert first.kernel.source.line == 39
    assert first.kernel.source.text.startswith("@triton.jit\ndef looped(x_ptr, n, BLOCK")
    assert set(first.artifacts) == {"ttir", "ttgir", "llir", "ptx"}
    assert b".visible .entry looped" in ptx
    assert first.seconds["ttir"] == pytest.approx(0.00796)
    assert first.toolchain.versions["triton"] == "3.9.0"
    assert str(typed.target) == "hip:gfx942"
    assert typed.config.meta == {"MODE": "ieee", "TYPE": Dtype("fp16"), "MAYBE": None, "ON": True}


def test_lines_that_are_not_records_are_skipped(irscope: Irscope, tmp_path: Path):
    lines = TRACE.read_bytes().splitlines()
    broken = json.loads(lines[0])
    broken["payload"]["file_content"] = None
    odd = json.loads(lines[2])
    odd["payload"]["metadata"] |= {"src_constants": {"__import__('os')": 1, "(99,)": 2, "(2,)": [1, 2]}}
    odd["payload"]["metadata"]["times"] = {"lowering_stages": [["ttir"], "x", ["ptx", "soon"]]}
    odd["payload"]["python_source"]["start_line"] = "39"
    content = [b"{", lines[0], json.dumps(broken).encode(), b"\xff\xfe", json.dumps(odd).encode(), b"[1]"]
    (tmp_path / "t.ndjson").write_bytes(b"\n".join(content))
    done = irscope("import", "t.ndjson")
    assert done.returncode == 1
    assert done.stderr.count("skipped") == 4
    with CaptureReader(tmp_path / "t.irscope") as capture:
        assert len(capture.variants()) == 2


def test_a_truncated_gzip_keeps_what_came_before(irscope: Irscope, tmp_path: Path):
    content = gzip.compress(TRACE.read_bytes(), compresslevel=0)
    (tmp_path / "t.ndjson.gz").write_bytes(content[:-2000])
    done = irscope("import", "t.ndjson.gz")
    assert done.returncode == 1
    assert "the rest cannot be read" in done.stderr
    with CaptureReader(tmp_path / "t.irscope") as capture:
        assert capture.variants()


def test_autotune_events_give_times(irscope: Irscope, tmp_path: Path):
    config = "BLOCK: {}, num_warps: 2, num_ctas: 1, num_stages: 3, maxnreg: None"
    event = {
        "event_type": "autotune",
        "kernel_name": "looped",
        "autotune_key": "(4096,)",
        "configs_timings": {config.format(64): [0.2, 0.1, 0.3], config.format(128): 0.1},
    }
    (tmp_path / "t.ndjson").write_bytes(TRACE.read_bytes() + json.dumps(event).encode())
    assert irscope("import", "t.ndjson").returncode == 0
    with CaptureReader(tmp_path / "t.irscope") as capture:
        first, second, _ = capture.variants()
    assert first.benchmarks == (Benchmark("(4096,)", 0.2, 0.1, 0.3),)
    assert second.benchmarks == (Benchmark("(4096,)", 0.1, 0.1, 0.1, chosen=True),)
