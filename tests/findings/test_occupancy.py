import pytest

from irscope.facts.occupancy import BlockUse, launch_problem, occupancy
from irscope.targets import TARGETS, device_of, parse_target
from tests.findings.builders import variant


def resident(target, **use):
    return occupancy(device_of(parse_target(target)), BlockUse(**use))


def test_every_target_has_its_limits():
    assert all(device_of(target) for target in TARGETS)


@pytest.mark.parametrize(
    ("target", "threads", "blocks", "shared", "block_shared"),
    [
        # CUDA Programming Guide, tables 30 and 31: threads and blocks an SM, KB an SM and a block
        ("cuda:75", 1024, 16, 64, 64),
        ("cuda:80", 2048, 32, 164, 163),
        ("cuda:86", 1536, 16, 100, 99),
        ("cuda:87", 1536, 16, 164, 163),
        ("cuda:89", 1536, 24, 100, 99),
        ("cuda:90", 2048, 32, 228, 227),
        ("cuda:100", 2048, 32, 228, 227),
        ("cuda:103", 2048, 32, 228, 227),
        ("cuda:110", 1536, 24, 228, 227),
        ("cuda:120", 1536, 24, 100, 99),
    ],
)
def test_limits_equal_the_published_ones(target, threads, blocks, shared, block_shared):
    device = device_of(parse_target(target))
    assert (device.warps * 32, device.blocks) == (threads, blocks)
    assert (device.shared, device.block_shared) == (shared * 1024, block_shared * 1024)
    # 64 K registers an SM: 32 lanes of each of its partitions.
    assert device.lane_registers * 32 * device.partitions == 64 * 1024


@pytest.mark.parametrize(
    ("use", "blocks", "limits"),
    [
        ({"warps": 4, "registers": 32, "shared": 0}, 16, ("warps", "registers")),
        ({"warps": 1, "registers": 16, "shared": 0}, 32, ("blocks",)),
        ({"warps": 4, "registers": 255, "shared": 98304}, 2, ("registers", "shared memory")),
        ({"warps": 4, "registers": 168, "shared": 147456}, 1, ("shared memory",)),
        ({"warps": 32, "registers": 65, "shared": 0}, 0, ("registers",)),
        ({"warps": 1, "registers": 16, "shared": 0, "barriers": 16}, 4, ("barriers",)),
    ],
)
def test_hopper_limiters(use, blocks, limits):
    found = resident("cuda:90", **use)
    assert (found.blocks, found.limits) == (blocks, limits)
    assert found.fraction == blocks * use["warps"] / 64


@pytest.mark.parametrize("target", ["hip:gfx942", "cuda:75", "cuda:90"])
def test_shared_memory_that_is_not_used_limits_nothing(target):
    assert "shared memory" not in resident(target, warps=1, registers=16, shared=0).limits
    device = device_of(parse_target(target))
    full = device.block_shared
    assert resident(target, warps=1, registers=16, shared=full).limits == ("shared memory",)


# LLVM prints the waves a SIMD that registers allow as "Occupancy" in the AMDGCN text: what it printed for
# a matmul on each target (triton 3.9.0), with the VGPRs and SGPRs of its metadata.
@pytest.mark.parametrize(
    ("target", "registers", "scalars", "waves_a_simd"),
    [
        ("hip:gfx90a", 130, 30, 3),
        ("hip:gfx90a", 80, 30, 6),
        ("hip:gfx942", 142, 32, 3),
        ("hip:gfx942", 61, 32, 8),
        ("hip:gfx950", 124, 37, 4),
        ("hip:gfx950", 82, 43, 5),
        ("hip:gfx1100", 256, 25, 5),
        ("hip:gfx1100", 202, 26, 7),
        ("hip:gfx1101", 202, 26, 7),
        ("hip:gfx1102", 112, 21, 9),
        ("hip:gfx1102", 252, 18, 4),
        ("hip:gfx1151", 112, 21, 12),
        ("hip:gfx1151", 250, 16, 5),
        ("hip:gfx1200", 246, 24, 5),
        ("hip:gfx1201", 154, 24, 9),
        ("hip:gfx1250", 86, 68, 10),
        ("hip:gfx1250", 134, 68, 7),
        ("hip:gfx1250", 218, 68, 4),
    ],
)
def test_waves_per_register_count_equal_llvms(target, registers, scalars, waves_a_simd):
    found = resident(target, warps=4, registers=registers, shared=0, barriers=1, scalar_registers=scalars)
    assert found.warps == waves_a_simd * 4


def test_lds_of_cdna4_is_larger_than_that_of_cdna3():
    use = {"warps": 4, "registers": 64, "shared": 40_000, "barriers": 1}
    assert resident("hip:gfx942", **use).blocks == 1
    assert resident("hip:gfx950", **use).blocks == 4


def test_cu_mode_leaves_half_of_a_work_group_processor():
    target = parse_target("hip:gfx1100")
    use = BlockUse(warps=4, registers=96, shared=30_000, barriers=1)
    assert occupancy(device_of(target), use).blocks == 4
    assert occupancy(device_of(target, {"wgp_cu_mode": "cu"}), use).blocks == 2


@pytest.mark.parametrize(
    ("target", "metadata", "reason"),
    [
        ("cuda:90", {"shared": 232448}, None),
        ("cuda:90", {"shared": 294912}, "294,912 bytes of shared memory, limit 232,448"),
        ("cuda:90", {"num_warps": 64}, "2,048 threads per block, limit 1,024"),
        ("cuda:90", {"num_warps": 32}, None),
        ("hip:gfx942", {"num_warps": 32}, "2,048 threads per workgroup, limit 1,024"),
        ("hip:gfx942", {"shared": 81920}, "81,920 bytes of LDS, limit 65,536"),
        ("hip:gfx950", {"shared": 81920}, None),
        ("cuda:100", {"tmem_size": 640}, "640 columns of tensor memory, limit 512"),
        ("cuda:100", {"tmem_size": 512}, None),
        ("cuda:90", {"shared": "many", "num_warps": None}, None),
    ],
)
def test_an_impossible_launch_names_the_limit(target, metadata, reason):
    assert launch_problem(variant(target, metadata=metadata)) == reason
