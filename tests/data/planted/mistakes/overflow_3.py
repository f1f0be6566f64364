import torch
import triton
import triton.language as tl


VOCAB = 128_256


@triton.jit
def cross_entropy(logits_ptr, labels_ptr, loss_ptr, V, BLOCK: tl.constexpr):
    token = tl.program_id(0)
    base = logits_ptr + token * V  # bug: offset-overflow -> base = logits_ptr + token.to(tl.int64) * V
    best = -float("inf")
    for start in range(0, V, BLOCK):
        at = start + tl.arange(0, BLOCK)
        best = tl.maximum(best, tl.max(tl.load(base + at, mask=at < V, other=-float("inf")), axis=0))
    tl.store(loss_ptr + token, best - tl.load(base + tl.load(labels_ptr + token)))


def loss(batch=8, seq=4096):
    logits = torch.randn(batch * seq, VOCAB, device="cuda", dtype=torch.bfloat16)
    labels = torch.zeros(batch * seq, dtype=torch.int64, device="cuda")
    out = torch.empty(batch * seq, device="cuda")
    n_tokens = logits.size(0)
    cross_entropy[(n_tokens,)](logits, labels, out, VOCAB, BLOCK=4096)
    return out


loss(8, 4096)
