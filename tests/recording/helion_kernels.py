"""Helion kernels of the tests, and a program that launches them on the device."""

import helion
import helion.language as hl
import torch

CONFIGS = [
    helion.Config(block_sizes=[32, 32, 16], num_warps=2),
    helion.Config(block_sizes=[64, 32, 16], num_warps=4),
    helion.Config(block_sizes=[32, 32, 16], num_warps=2, indexing="tensor_descriptor"),
]


@helion.kernel(configs=CONFIGS)
def matmul(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
    m, k = x.size()
    _, n = y.size()
    out = torch.empty([m, n], dtype=x.dtype, device=x.device)
    for tile_m, tile_n in hl.tile([m, n]):
        acc = hl.zeros([tile_m, tile_n], dtype=torch.float32)
        for tile_k in hl.tile(k):
            acc = torch.addmm(acc, x[tile_m, tile_k], y[tile_k, tile_n])
        out[tile_m, tile_n] = acc
    return out


@helion.kernel(static_shapes=False)
def double(x: torch.Tensor) -> torch.Tensor:
    out = torch.empty_like(x)
    for tile in hl.tile(x.size(0)):
        out[tile] = x[tile] * 2
    return out


if __name__ == "__main__":
    x = torch.randn(128, 64, device="cuda", dtype=torch.float16)
    y = torch.randn(64, 96, device="cuda", dtype=torch.float16)
    z = matmul(x, y)
    print(z.device, tuple(z.shape), double(z.view(-1)).dtype, double(z.view(-1)[1:]).shape)
