import pytest

from irscope.facts.artifacts import scan_ttgir
from tests.findings.builders import stored


def test_layouts_conversions_and_buffers_of_a_pipelined_matmul():
    text = stored("matmul_kernel.cuda-90.BLOCK_M=64", "3.9.0.ttgir")
    found = scan_ttgir(text)
    lines = text.split("\n")
    assert found.layouts == {"blocked": 2, "nvidia_mma": 1, "nvmma_shared": 2}
    assert len(found.layout_lines) == 5
    assert len(found.conversions) == text.count("ttg.convert_layout ")
    assert all("ttg.convert_layout" in lines[line] for line in found.conversions)
    buffers, buffer_lines = found.buffers()
    assert buffers == 3
    assert buffer_lines
    assert all("memdesc<3x" in lines[line] for line in buffer_lines)
    depth, depth_lines = found.depth()
    assert depth == 3
    assert ["scf.for" in lines[line] for line in depth_lines] == [True, False, False]


def test_both_triton_versions_give_the_depth():
    assert scan_ttgir(stored("matmul_kernel.cuda-90.BLOCK_M=64", "3.6.0.ttgir")).depth()[0] == 3


def test_a_kernel_without_a_loop_has_no_pipeline():
    found = scan_ttgir(stored("add_kernel.cuda-90.BLOCK_SIZE=256", "3.9.0.ttgir"))
    assert found.pipelines == []
    assert (found.depth(), found.buffers()) == ((1, []), (0, []))


# (name, depth, buffers): mma.sync and copies through registers need one buffer less than the depth.
PIPELINED = [
    ("matmul_kernel.cuda-80.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0", 3, 2),
    ("matmul_kernel.cuda-80.BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,num_warps=4,num_stages=4.triton-3.9.0", 4, 3),
    ("matmul_kernel.cuda-90.BLOCK_M=128,BLOCK_N=128,BLOCK_K=32,num_warps=4,num_stages=4.triton-3.9.0", 4, 4),
    ("matmul_kernel.cuda-100.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=3.triton-3.9.0", 3, 3),
    ("matmul_kernel.hip-gfx942.BLOCK_M=64,BLOCK_N=64,BLOCK_K=32,num_warps=4,num_stages=2.triton-3.9.0", 2, 1),
    ("specialized_matmul_kernel.cuda-90.STAGES=2,WARP_SPECIALIZE=True.triton-3.9.0", 2, 2),
    ("specialized_matmul_kernel.cuda-100.STAGES=2,WARP_SPECIALIZE=True.triton-3.6.0", 3, 3),
    ("while_kernel.cuda-90.B=256.triton-3.9.0", 1, 0),
]


@pytest.mark.parametrize(("name", "depth", "buffers"), PIPELINED)
def test_the_depth_comes_from_the_loop(name, depth, buffers):
    (found,) = scan_ttgir(stored(name, "ttgir")).pipelines
    assert (found.depth, found.buffers) == (depth, buffers)


LOOP = """\
%barriers = ttg.memdesc_index %b[%c0] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.x
%accumulator = ttg.memdesc_index %t[%c0] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory> -> !ttg.x
%tile = ttg.memdesc_index %s[%c0] {task = array<i32: 0>} : !ttg.memdesc<COPIESx128xf32, #shared, #smem> -> !x
scf.for %i = %a to %b step %c : i32 {
  ttng.async_tma_copy_global_to_local %d[%i] %tile, %barriers, %true : !tt.tensordesc<128xf32, #shared>
  ttng.tc_gen5_mma %tile, %tile, %accumulator : !ttg.memdesc<128xf32>
}"""


@pytest.mark.parametrize("copies", [1, 2, 7])
def test_mbarriers_and_tensor_memory_are_not_pipeline_buffers(copies):
    found = scan_ttgir(LOOP.replace("COPIES", str(copies)))
    assert found.depth()[0] == copies
    assert found.buffers() == ((copies, [2]) if copies > 1 else (0, []))


def test_hostile_text_takes_no_time():
    assert scan_ttgir("ttg.memdesc_index " + "x: !ttg.memdesc<1x" * 200_000).pipelines == []
    assert scan_ttgir("scf.for {\n" * 100_000 + "tt.load tensor<\n" + "}\n" * 100_000).depth()[0] == 1
    assert scan_ttgir("}\n" * 1000 + "scf.for {\n tt.load : tensor<4xf32>").pipelines == []
