"""Recording of torch.compile on a GPU, on a stub of one."""

from __future__ import annotations

import base64
import json
import os
import subprocess
import sys
from collections import Counter
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import NamedTuple

import pytest

from irscope.compiling.messages import KernelRecorded, Note, Record, RunOptions, VariantDone
from irscope.model import Variant
from irscope.model.origin import Origin, origin_from_metadata
from irscope.recording.inductor.graphs import GeneratedKernel, InductorGraphs
from irscope.recording.inductor.results import InductorResults
from irscope.recording.recorder import Recorder
from irscope.store.reader import CaptureReader
from irscope.workspace import Workspace
from tests.recording import programs
from tests.recording.conftest import Recorded

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
    """The record of an autotuner with two configs, one twice, and one that the cache does not have."""
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


def test_a_kernel_whose_source_inductor_did_not_write_has_the_source_and_origin_that_it_generated(
    ordinary: Recorded, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(ordinary.cache))
    sent: list[Record] = []
    graphs = InductorGraphs()
    origin = Origin("0/0 inference", ("y",), ("aten.mul",))
    graphs._kernels["cabc"] = GeneratedKernel(programs.ORDINARY, "/cache/output_code.py", origin)
    loaded = autotuner(hashes_of(ordinary.cache, "scale")[:1])
    loaded.filename = "/gone/cabc.py"
    loaded.autotune_cache_info = {"autotune_cache_state": "hit"}
    InductorResults(Recorder(RunOptions(None), sent.append), graphs).record(loaded)
    (kernel,) = (record for record in sent if isinstance(record, KernelRecorded))
    (done,) = (record for record in sent if isinstance(record, VariantDone))
    assert kernel.source.file == "/gone/cabc.py"
    assert kernel.source.text.startswith("@triton.jit\ndef scale(")
    assert done.files == {"output_code": "/cache/output_code.py"}
    assert origin_from_metadata(done.variant.metadata) == replace(origin, configs=0)


def test_a_template_is_found_by_its_name_because_its_autotuner_has_no_file(
    ordinary: Recorded, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("TRITON_CACHE_DIR", str(ordinary.cache))
    (tmp_path / "output_code.py").write_text(TEMPLATE)
    sent: list[Record] = []
    graphs = InductorGraphs()
    loaded = autotuner(hashes_of(ordinary.cache, "scale")[:1])
    loaded.filename, loaded.inductor_meta = None, {"kernel_name": "triton_tem_fused_mm_0"}
    with graphs.loading(str(tmp_path / "output_code.py"), ()):
        graphs.add_kernel("triton_tem_fused_mm_0", "its source")
        InductorResults(Recorder(RunOptions(None), sent.append), graphs).record(loaded)
    (done,) = (record for record in sent if isinstance(record, VariantDone))
    origin = origin_from_metadata(done.variant.metadata)
    assert origin is not None
    assert (origin.graph, origin.nodes) == ("backward", ("mm_1",))
    assert done.files["output_code"].endswith("output_code.py")


TEMPLATE = """\
# AOT ID: ['1_backward']
# Topologically Sorted Source Nodes: [mm_1], Original ATen: [aten.mm]
triton_tem_fused_mm_0 = async_compile.triton('triton_tem_fused_mm_0', '''
''', device_str='cuda')
"""


class Runs(NamedTuple):
    """Two runs of inductor_program.py that share their caches, with what is in their captures."""

    done: list[subprocess.CompletedProcess[str]]
    cold: list[Variant]
    warm: list[Variant]
    capture: Path


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Runs:
    folder = tmp_path_factory.mktemp("inductor")
    program = Path(__file__).with_name("inductor_program.py")
    variables = {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache"), "TORCHINDUCTOR_COMPILE_THREADS": "1"}
    done, found = [], []
    for name in ("cold.irscope", "warm.irscope"):
        words = [sys.executable, "-W", "ignore", str(program), str(folder / name)]
        run = subprocess.run(words, env=os.environ | variables, capture_output=True, text=True, check=False)
        done.append(run)
        assert run.returncode == 0, run.stderr
        with CaptureReader(folder / name) as capture:
            found.append(capture.variants())
    return Runs(done, found[0], found[1], folder / "cold.irscope")


def origin_of(variant: Variant) -> Origin:
    assert variant.origin is not None
    return variant.origin


def test_hooks_are_removed_and_print_nothing(runs: Runs) -> None:
    assert [run.stdout for run in runs.done] == ["restored True\n"] * 2
    assert not any("irscope" in run.stderr for run in runs.done)


def test_kernels_name_their_nodes_and_lines_of_the_program_forward_and_backward(runs: Runs) -> None:
    for variants in (runs.cold, runs.warm):
        forward, backward = {v.kernel.name: origin_of(v) for v in variants}.values()
        assert {"relu", "y", "softmax"} <= set(forward.nodes)
        assert {"aten.relu", "aten._softmax"} <= set(forward.operators)
        assert [line.text for line in forward.lines] == [
            "y = torch.relu(x) * weight", "return y.softmax(-1)",
        ]  # fmt: skip
        assert {line.function for line in (*forward.lines, *backward.lines)} == {"scaled"}
        assert {Path(line.file).name for line in backward.lines} == {"inductor_program.py"}
        assert (forward.graph, backward.graph) == ("0/0 forward", "0/0 backward")


def test_a_graph_has_one_output_code_which_all_its_kernels_share(runs: Runs) -> None:
    for variants in (runs.cold, runs.warm):
        codes = {v.kernel.name: v.artifacts["output_code"].digest for v in variants}
        assert {v.artifacts["output_code"].digest for v in variants} == set(codes.values())
        assert len(set(codes.values())) == 2
    with Workspace(runs.capture) as workspace:
        variant = workspace.variants[0]
        assert workspace.stages(variant)[0] == "output_code"
        assert f"{variant.kernel.name} = async_compile.triton(" in workspace.text(variant, "output_code")


def test_every_config_has_its_time_and_the_fastest_is_chosen(runs: Runs) -> None:
    forward = [v for v in runs.cold if v.kernel is runs.cold[0].kernel]
    benchmarks = [v.benchmarks[0] for v in forward]
    assert [(b.ms, b.chosen, b.key) for b in benchmarks] == [
        (place + 1, place == 0, "x=64, r0_=128") for place in range(len(forward))
    ]
    assert len(forward) > 1
    assert forward[0].specialization[-1].value == "x=64:r0_=128"


def test_a_warm_autotune_cache_is_said(runs: Runs) -> None:
    configs = {v.kernel.name: origin_of(v).configs for v in runs.warm}
    number = Counter(v.kernel.name for v in runs.cold)
    assert configs == number
    assert all(origin_of(v).configs is None for v in runs.cold)
    assert [v.config.get("XBLOCK") for v in runs.warm] == [
        v.config.get("XBLOCK") for v in runs.cold if v.benchmarks[0].chosen
    ]


def test_the_python_source_begins_with_the_lines_of_the_program(runs: Runs) -> None:
    with Workspace(runs.capture) as workspace:
        text = workspace.text(workspace.variants[0], "python")
        (section, _) = workspace.sections()
    assert text.startswith("# computes relu, ")
    assert ": y = torch.relu(x) * weight\n" in text
    assert "def triton_per_fused" in text
    assert section.origin.startswith("computes relu")
