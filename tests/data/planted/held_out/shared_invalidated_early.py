"""A barrier is invalidated before the product that arrives at it is complete.
target: cuda:100

https://github.com/triton-lang/triton/pull/10409
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
def multiply(a_desc, b_desc, c, num_warps: gl.constexpr):
    a_tile = gl.allocate_shared_memory(gl.float16, [128, 64], a_desc.layout)
    b_tile = gl.allocate_shared_memory(gl.float16, [64, 128], b_desc.layout)
    copied = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    done = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(copied, count=1)
    mbarrier.init(done, count=1)
    memory: gl.constexpr = TensorMemoryLayout([128, 128], col_stride=1)
    acc = allocate_tensor_memory(gl.float32, [128, 128], memory)
    mbarrier.expect(copied, a_desc.block_type.nbytes + b_desc.block_type.nbytes)
    tma.async_load(a_desc, [0, 0], copied, a_tile)
    tma.async_load(b_desc, [0, 0], copied, b_tile)
    mbarrier.wait(copied, phase=0)
    tcgen05_mma(a_tile, b_tile, acc, use_acc=False)
    tcgen05_commit(done)
    pass  # bug -> mbarrier.wait(done, phase=0)
    mbarrier.invalidate(copied)
    mbarrier.invalidate(done)  # found: shared-memory-order
    layout: gl.constexpr = acc.get_reg_layout()
    m = gl.arange(0, 128, gl.SliceLayout(1, layout))
    n = gl.arange(0, 128, gl.SliceLayout(0, layout))
    gl.store(c + m[:, None] * 128 + n[None, :], acc.load(layout))  # found: shared-memory-order


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    a = torch.randn(128, 64, dtype=torch.float16, device="cuda")
    b = torch.randn(64, 128, dtype=torch.float16, device="cuda")
    c = torch.empty(128, 128, device="cuda")
    multiply[(1,)](descriptor(a, [128, 64]), descriptor(b, [64, 128]), c, num_warps=4)
