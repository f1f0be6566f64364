"""A step of a Mamba layer's recurrence, as it is served: a program per block of rows of a head."""

import triton
import triton.language as tl


@triton.jit
def state_update(
    state, x, dt, decay, b, c, out, N, nheads, dim, dstate, heads_per_group,
    BLOCK_SIZE_M: tl.constexpr, BLOCK_SIZE_DSTATE: tl.constexpr,
):  # fmt: skip
    """Read the state once, decay it, add the input to it, write it back, and project it to the output."""
    sequence, head = tl.program_id(1), tl.program_id(2)
    rows = tl.program_id(0) * BLOCK_SIZE_M + tl.arange(0, BLOCK_SIZE_M)
    columns = tl.arange(0, BLOCK_SIZE_DSTATE)
    whole = (rows[:, None] < dim) & (columns[None, :] < dstate)
    groups = nheads // heads_per_group
    own = (sequence.to(tl.int64) * nheads + head) * dim
    states = state + (own + rows[:, None]) * dstate + columns[None, :]
    values = tl.load(states, mask=whole, other=0.0).to(tl.float32)
    inputs = tl.load(x + own + rows, mask=rows < dim, other=0.0).to(tl.float32)
    steps = tl.load(dt + own + rows, mask=rows < dim, other=0.0).to(tl.float32)
    rates = tl.load(decay + (head * dim + rows[:, None]) * dstate + columns[None, :], mask=whole, other=0.0)
    group = (sequence * groups + head // heads_per_group) * dstate
    left = tl.load(b + group + columns, mask=columns < dstate, other=0.0).to(tl.float32)
    right = tl.load(c + group + columns, mask=columns < dstate, other=0.0).to(tl.float32)
    values = values * tl.exp(rates * steps[:, None]) + left[None, :] * (steps * inputs)[:, None]
    tl.store(states, values.to(state.dtype.element_ty), mask=whole)
    tl.store(out + own + rows, tl.sum(values * right[None, :], axis=1), mask=rows < dim)
