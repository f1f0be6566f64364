"""CDNA4: a copy goes to the slot of the ring that is read next.
target: hip:gfx950

https://github.com/iree-org/aster/pull/572
"""

import torch
from triton.experimental import gluon
from triton.experimental.gluon import language as gl
from triton.experimental.gluon.language.amd.cdna4 import async_copy


@gluon.jit
def total(x, out, steps, B: gl.constexpr, num_warps: gl.constexpr):
    layout: gl.constexpr = gl.BlockedLayout([4], [64], [num_warps], [0])
    shared: gl.constexpr = gl.SwizzledSharedLayout(1, 1, 1, [0])
    i = gl.arange(0, B, layout)
    ring = gl.allocate_shared_memory(gl.float32, [2, B], shared)
    async_copy.global_load_to_shared(ring.index(0), x + i)
    async_copy.commit_group()
    sums = gl.zeros([B], gl.float32, layout)
    for step in range(steps):
        ahead = step % 2  # bug -> ahead = (step + 1) % 2
        async_copy.global_load_to_shared(ring.index(ahead), x + (step + 1) * B + i)  # found: shared-memory-order
        async_copy.commit_group()
        async_copy.wait_group(1)
        sums += ring.index(step % 2).load(layout)  # found: shared-memory-order
    async_copy.wait_group(0)
    gl.store(out + i, sums)


if __name__ == "__main__":
    x = torch.randn(9 * 1024, device="cuda")
    total[(1,)](x, torch.empty(1024, device="cuda"), 8, B=1024, num_warps=4)
