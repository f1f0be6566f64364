from irscope.facts.artifacts import scan_ttgir
from tests.analysis.builders import stored


def test_layouts_conversions_and_buffers_of_a_pipelined_matmul():
    text = stored("matmul_kernel.cuda-90.BLOCK_M=64", "3.9.0.ttgir")
    found = scan_ttgir(text)
    lines = text.split("\n")
    assert found.layouts == {"blocked": 2, "nvidia_mma": 1, "nvmma_shared": 2}
    assert len(found.layout_lines) == 5
    assert len(found.conversions) == text.count("ttg.convert_layout ")
    assert all("ttg.convert_layout" in lines[line] for line in found.conversions)
    assert found.buffers == 3
    assert found.buffer_lines
    assert all("memdesc<3x" in lines[line] for line in found.buffer_lines)


def test_both_triton_versions_give_the_depth():
    assert scan_ttgir(stored("matmul_kernel.cuda-90.BLOCK_M=64", "3.6.0.ttgir")).buffers == 3


def test_a_kernel_without_a_loop_has_no_pipeline():
    assert scan_ttgir(stored("add_kernel.cuda-90.BLOCK_SIZE=256", "3.9.0.ttgir")).buffers == 0


def test_mbarriers_and_tensor_memory_are_not_pipeline_buffers():
    barrier = "%3 = ttg.memdesc_index %2[%c0_i32] : !ttg.memdesc<4x1xi64, #shared1, #smem, mutable> -> !ttg.x"
    accumulator = (
        "%3 = ttg.memdesc_index %2[%c0_i32] : !ttg.memdesc<2x128x128xf32, #tmem, #ttng.tensor_memory> -> !"
    )
    assert scan_ttgir(f"{barrier}\n{accumulator}").buffers == 0
    tile = "%3 = ttg.memdesc_index %2[%c0_i32] : !ttg.memdesc<2x128xf32, #shared, #smem, mutable> -> !ttg.x"
    assert scan_ttgir(f"{barrier}\n{tile}").buffers == 2


def test_a_hostile_line_takes_no_time():
    assert scan_ttgir("ttg.memdesc_index " + "x: !ttg.memdesc<1x" * 200_000).buffers == 0
