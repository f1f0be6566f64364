import torch
import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, y_ptr, stride, D: tl.constexpr, eps):
    row = tl.program_id(0)
    d = tl.arange(0, D)
    x = tl.load(x_ptr + row * stride + d).to(tl.float32)
    tl.store(y_ptr + row * stride + d, x / tl.sqrt(tl.sum(x * x, axis=0) / D + eps))


def rms_norm(x):
    y = torch.empty_like(x)
    norm[(x.shape[0],)](x, y, x.stride(0), x.shape[1], 1e-6)  # bug: block-not-power-of-two -> norm[(x.shape[0],)](x[:, :64], y, x.stride(0), 64, 1e-6)
    return y


def test():
    rms_norm(torch.randn(128, 80, device="cuda"))
