"""Launches each kernel of the repository once or more."""

import importlib.util

import torch
from kernels import flash_attention, fused_softmax, layer_norm, matmul, vector_add


def launch(program) -> None:
    """Runs a part; a kernel that does not compile must not keep the others from being captured."""
    try:
        program()
    except Exception as error:
        print(f"{program.__name__}: {type(error).__name__}")


def half(*shape) -> torch.Tensor:
    return torch.randn(*shape, device="cuda", dtype=torch.float16)


def elementwise() -> None:
    vector_add.add(torch.rand(4096, device="cuda"), torch.rand(4096, device="cuda"))


def softmax() -> None:
    for columns in (1024, 4096):
        fused_softmax.softmax(torch.randn(128, columns, device="cuda"))


def norm() -> None:
    x, w, b = half(1024, 4096), half(4096), half(4096)
    y, mean, rstd = layer_norm.forward(x, w, b)
    layer_norm.backward(torch.ones_like(y), x, w, mean, rstd)


def product() -> None:
    matmul.matmul(half(512, 512), half(512, 512))


def attention() -> None:
    q, k, v = (half(2, 4, 512, 64) for _ in range(3))
    flash_attention.attention(q, k, v, causal=True)


def rms_norm() -> None:
    from liger_kernel.ops.rms_norm import LigerRMSNormFunction

    x, w = half(512, 4096).requires_grad_(), half(4096).requires_grad_()
    LigerRMSNormFunction.apply(x, w, 1e-6, 0.0, "llama", False).backward(half(512, 4096))


def swiglu() -> None:
    from liger_kernel.ops.swiglu import swiglu_forward

    swiglu_forward(half(512, 4096), half(512, 4096))


def cross_entropy() -> None:
    from liger_kernel.ops.cross_entropy import LigerCrossEntropyFunction

    x, target = half(256, 8192).requires_grad_(), torch.zeros(256, dtype=torch.long, device="cuda")
    LigerCrossEntropyFunction.apply(x, target, None)


for part in (elementwise, softmax, norm, product, attention):
    launch(part)
if importlib.util.find_spec("liger_kernel"):
    for part in (rms_norm, swiglu, cross_entropy):
        launch(part)
