"""One partition stores to tensor memory and another loads from it, and nothing orders them.
target: cuda:100

https://github.com/triton-lang/triton/pull/10043
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
def fill(memory_tile, filled, layout: gl.constexpr):
    memory_tile.store(gl.full([128, 128], 3.0, gl.float32, layout))
    pass  # bug -> mbarrier.arrive(filled)


@gluon.jit
def drain(out, memory_tile, filled, layout: gl.constexpr):
    pass  # bug -> mbarrier.wait(filled, phase=0)
    value = memory_tile.load(layout)  # found: shared-memory-order
    m = gl.arange(0, 128, gl.SliceLayout(1, layout))
    n = gl.arange(0, 128, gl.SliceLayout(0, layout))
    gl.store(out + m[:, None] * 128 + n[None, :], value)


@gluon.jit
def relay(out, num_warps: gl.constexpr):
    memory: gl.constexpr = TensorMemoryLayout([128, 128], col_stride=1)
    tile = allocate_tensor_memory(gl.float32, [128, 128], memory)
    filled = gl.allocate_shared_memory(gl.int64, [1], mbarrier.MBarrierLayout())
    mbarrier.init(filled, count=1)
    layout: gl.constexpr = tile.get_reg_layout()
    gl.warp_specialize(
        [(drain, (out, tile, filled, layout)), (fill, (tile, filled, layout))],
        [4],
        [128],
    )


def descriptor(x, block):
    layout = gl.NVMMASharedLayout.get_default_for(block, gl.float16)
    return TensorDescriptor.from_tensor(x, block, layout)


if __name__ == "__main__":
    out = torch.empty(128, 128, device="cuda")
    relay[(1,)](out, num_warps=4)
