import json
from pathlib import Path

import pytest

from irscope.facts.measure import FACT_KINDS, FACTS_VERSION, from_json, measure, to_json
from irscope.facts.registry import kinds_for
from irscope.model import Benchmark, Failure
from irscope.store import CaptureWriter
from irscope.workspace import Workspace
from tests.findings.builders import FACTS, stored, variant
from tests.tui import captures

MATMUL = "matmul_kernel.cuda-90.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0"
AMD_MATMUL = "matmul_kernel.hip-gfx942.BLOCK_M=64"

# The metadata that LLVM wrote for a matmul on gfx1100 that spills (triton 3.9.0).
AMD_SPILLS = """\tscratch_store_b32 off, v1, off offset:4 ; 4-byte Folded Spill
\t.amdgpu_metadata
---
amdhsa.kernels:
  - .args:
      - .offset:         0
        .size:           8
        .value_kind:     global_buffer
    .group_segment_fixed_size: 0
    .max_flat_workgroup_size: 128
    .name:           matmul_kernel
    .private_segment_fixed_size: 136
    .sgpr_count:     25
    .sgpr_spill_count: 0
    .vgpr_count:     256
    .vgpr_spill_count: 53
    .wavefront_size: 32
amdhsa.version:
  - 1
  - 2
...
"""


def measured(made, stages):
    return measure(made, stages.get)


def values(made, stages):
    return {name: fact.value for name, fact in measured(made, stages).items()}


def cuda_stages():
    return {stage: stored(MATMUL, stage).encode() for stage in ("ttgir", "ptx")}


def test_a_matmul_without_its_cubin():
    stages = cuda_stages()
    made = variant(stages=stages, seconds={"ttgir": 0.05, "ptx": 0.1}, metadata={"shared": 24576})
    found = values(made, stages)
    assert found["global_loads"] == "12 x 16 B"
    assert (found["load_width"], found["store_width"]) == (16, 16)
    assert found["matrix"] == "2 x wgmma.m64n64k16"
    assert found["async_copies"] == "12 x cp.async"
    assert found["layouts"] == "blocked x2, nvidia_mma, nvmma_shared x2"
    assert (found["buffers"], found["ldmatrix"], found["threads"], found["shared"]) == (3, 4, 128, 24576)
    assert (found["seconds"], found["ptx_seconds"]) == (pytest.approx(0.15), 0.1)
    assert found["ptx_size"] == len(stages["ptx"])
    assert found["launchable"].ok
    unknown = (
        "registers",
        "stack",
        "n_spills",
        "barriers",
        "occupancy",
        "spill_store_bytes",
        "code",
        "llir_seconds",
    )
    assert all(found[name] is None for name in unknown)


def test_a_spilling_kernel_has_registers_stack_and_spills():
    name = "softmax_kernel.spills.cuda-90"
    stages = {"cubin": (FACTS / f"{name}.cubin").read_bytes()}
    log = (FACTS / f"{name}.log").read_text()
    found = values(variant(name="softmax_kernel", log=log, metadata={"shared": 32}), stages)
    assert (found["registers"], found["stack"], found["n_spills"]) == (24, 224, 56)
    assert (found["spill_store_bytes"], found["spill_load_bytes"]) == (316, 412)
    assert (found["blocks_per_sm"], found["occupancy"], found["limiter"]) == (16, 1.0, "warps")


def test_spills_of_another_function_in_the_log_are_not_the_kernels():
    log = (FACTS / "softmax_kernel.spills.cuda-90.log").read_text().replace("softmax_kernel", "helper")
    assert values(variant(name="softmax_kernel", log=log), {})["spill_store_bytes"] is None


def test_an_amd_matmul():
    stages = {stage: stored(AMD_MATMUL, stage).encode() for stage in ("ttgir", "amdgcn")}
    found = values(variant("hip:gfx942", metadata={"shared": 8192}), stages)
    assert (found["registers"], found["accumulation_registers"], found["scalar_registers"]) == (61, 0, 32)
    assert (found["stack"], found["n_spills"], found["vector_spills"]) == (0, 0, 0)
    assert found["matrix"] == "20 x v_mfma_f32_32x32x8_f16"
    assert found["shared_loads"] == "20 x 8 B, 80 x 2 B"
    assert (found["threads"], found["blocks_per_sm"], found["occupancy"]) == (256, 8, 1.0)


def test_an_amd_kernel_that_spills():
    found = measured(variant("hip:gfx1100"), {"amdgcn": AMD_SPILLS.encode()})
    assert (found["registers"].value, found["stack"].value, found["n_spills"].value) == (256, 136, 34)
    assert (found["vector_spills"].value, found["scalar_spills"].value) == (53, 0)
    assert [(line.stage, line.line) for line in found["stack"].evidence] == [("amdgcn", 0)]


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
def test_facts_of_the_backend_are_complete_and_in_table_order(target):
    made = variant(target)
    found = measured(made, {})
    assert list(found) == [kind.name for kind in kinds_for(made.target.backend)]
    assert all(name == fact.kind.name for name, fact in found.items())


def test_fact_names_are_unique_and_belong_to_a_backend():
    names = [kind.name for kind in FACT_KINDS]
    assert len(set(names)) == len(names)
    assert {"tensor_memory", "cubin_size", "ptx_seconds"} & {k.name for k in kinds_for("hip")} == set()
    assert {"vector_spills", "hsaco_size", "amdgcn_seconds"} & {k.name for k in kinds_for("cuda")} == set()
    assert {kind.name for backend in ("cuda", "hip") for kind in kinds_for(backend)} == set(names)


def test_a_failed_variant_has_the_facts_of_the_stages_it_has():
    stages = {"ttgir": cuda_stages()["ttgir"]}
    made = variant(failure=Failure("PTXASError", "ptxas failed", ""), metadata={"shared": None})
    found = values(made, stages)
    assert str(found["launchable"]) == "no: not compiled"
    assert found["buffers"] == 3
    assert found["registers"] is None
    assert found["instructions"] is None


def test_a_variant_that_exceeds_the_limits_is_not_launchable():
    found = values(
        variant(metadata={"shared": 294912}), {"cubin": (FACTS / "add_kernel.cuda-90.cubin").read_bytes()}
    )
    assert str(found["launchable"]) == "no: 294,912 bytes of shared memory, limit 232,448"


def test_evidence_proves_the_fact():
    stages = cuda_stages()
    facts = measured(variant(), stages)
    lines = {stage: content.decode().split("\n") for stage, content in stages.items()}
    words = {
        "global_loads": "cp.async.cg",
        "global_stores": "st.global.v4.b32",
        "matrix": "wgmma.mma_async",
        "ldmatrix": "ldmatrix",
        "conversions": "ttg.convert_layout",
        "buffers": "memdesc<3x",
        "layouts": " = #tt",
    }
    for name, word in words.items():
        assert facts[name].evidence, name
        assert all(word in lines[place.stage][place.line] for place in facts[name].evidence), name


def test_facts_survive_json():
    stages = cuda_stages()
    facts = measured(variant(), stages)
    back = from_json(json.loads(json.dumps(to_json(facts))))
    assert to_json(back) == to_json(facts)
    assert [fact.kind for fact in back.values()] == [fact.kind for fact in facts.values()]


def test_invalid_json_facts_are_skipped():
    assert list(from_json({"registers": [1], "nonsense": 3, "stack": None, "shared": 5})) == [
        "stack",
        "shared",
    ]


@pytest.mark.parametrize("target", ["cuda:90", "hip:gfx942"])
@pytest.mark.parametrize("content", [b"", b"\xff\xfe\x00" * 50, b"\x7fELF\x02\x01" + b"\xff" * 200])
def test_damaged_stages_make_unknown_facts(target, content):
    stages = dict.fromkeys(["ttgir", "ptx", "cubin", "amdgcn", "hsaco"], content)
    found = values(variant(target, metadata={"num_warps": 0}), stages)
    assert found["registers"] is None
    assert found["code"] is None
    assert found["occupancy"] is None


def test_variants_whose_stored_facts_lack_a_fact_are_measured_again(tmp_path: Path) -> None:
    path = captures.matmul(tmp_path / "a.irscope")
    with Workspace(path) as workspace:
        complete, lacking = workspace.variants[:2]
        values = {variant.id: to_json(workspace.facts(variant)) for variant in (complete, lacking)}
    del values[lacking.id]["registers"]
    with CaptureWriter.resume(path) as writer:
        for id_, facts in values.items():
            writer.add_facts(id_, FACTS_VERSION, facts)
    with Workspace(path) as workspace:
        assert list(workspace.contents.facts(workspace.variants)) == [complete.id]
        assert "registers" in workspace.all_facts()[lacking.id]


def facts(*benchmarks: Benchmark):
    measured = measure(variant(benchmarks=benchmarks), lambda _: None)
    return [measured[name].value for name in ("ms", "ms_key", "chosen")]


def test_the_latest_time_and_every_won_key_are_kept():
    won, lost = Benchmark("n=1", 3.0, 2.5, 4.0, chosen=True), Benchmark("n=2", 1.5, 1.0, 2.0)
    assert facts(won, lost) == [1.5, "n=2", "n=1"]
    assert facts(lost) == [1.5, "n=2", "no"]
    assert facts(Benchmark("", 3.0, 2.5, 4.0, chosen=True)) == [3.0, "", "all"]


def test_without_a_gpu_there_are_no_times():
    assert facts() == [None, None, None]
