"""With a ring of three slots, a phase ends every third step, not every step.
target: cuda:100
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.nvidia.blackwell import (
    TensorMemoryLayout,
    allocate_tensor_memory,
    tcgen05_commit,
    tcgen05_mma,
)
from triton.experimental.gluon.language.nvidia.hopper import fence_async_shared, mbarrier, tma
from triton.experimental.gluon.nvidia.hopper import TensorDescriptor


@gluon.jit
def multiply(a_desc, b_desc, c, K, num_warps: gl.constexpr):
    a_tiles = gl.allocate_shared_memory(gl.float16, [3, 128, 64], a_desc.layout)
    b_tiles = gl.allocate_shared_memory(gl.float16, [3, 64, 128], b_desc.layout)
    copied = gl.allocate_shared_memory(gl.int64, [3, 1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    for i in gl.static_range(3):
        mbarrier.init(copied.index(i), count=1)
    mbarrier.init(done, count=1)
    memory: gl.constexpr = TensorMemoryLayout([128, 128], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [128, 128], memory)
    steps = K // 64
    for step in range(steps):
        slot = step % 3
        mbarrier.expect(copied.index(slot), a_desc.block_type.nbytes + b_desc.block_type.nbytes)
        tma.async_load(a_desc, [0, step * 64], copied.index(slot), a_tiles.index(slot))
        tma.async_load(b_desc, [step * 64, 0], copied.index(slot), b_tiles.index(slot))
        phase = step & 1  # bug -> phase = (step // 3) & 1
        mbarrier.wait(copied.index(slot), phase=phase)  # found: shared-memory-order
        tcgen05_mma(a_tiles.index(slot), b_tiles.index(slot), acc, use_acc=step > 0)
        tcgen05_commit(done)
        mbarrier.wait(done, phase=step & 1)
    layout: gl.constexpr = acc.get_reg_layout()
    m = gl.arange(0, 128, gl.SliceLayout(1, layout))
    n = gl.arange(0, 128, gl.SliceLayout(0, layout))
    gl.store(c + m[:, None] * 128 + n[None, :], acc.load(layout))


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    a = torch.randn(128, 512, dtype=torch.float16, device="cuda")
    b = torch.randn(512, 128, dtype=torch.float16, device="cuda")
    c = torch.empty(128, 128, device="cuda")
    multiply[(1,)](descriptor(a, [128, 64]), descriptor(b, [64, 128]), c, 512, num_warps=4)
