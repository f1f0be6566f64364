"""Computes element by element: functions, divisions, fused multiply-adds, casts, random numbers, branches."""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from triton.language.extra import libdevice

from tests.truth.bits.space import Arguments, Config, Data, Grid, Space, cdiv, product, unfused


@triton.jit
def functions(x, o, n, B: tl.constexpr, MODE: tl.constexpr):
    """Computes one function per config: of Triton, of libdevice, or a fast one."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=1.0)
    if MODE == "exp":
        value = tl.exp(value)
    elif MODE == "exp2":
        value = tl.exp2(value)
    elif MODE == "fast_exp":
        value = libdevice.fast_expf(value)
    elif MODE == "device_exp":
        value = libdevice.exp(value)
    elif MODE == "log":
        value = tl.log(tl.abs(value))
    elif MODE == "log2":
        value = tl.log2(tl.abs(value))
    elif MODE == "fast_log":
        value = libdevice.fast_logf(tl.abs(value))
    elif MODE == "device_log":
        value = libdevice.log(tl.abs(value))
    elif MODE == "sin":
        value = tl.sin(value)
    elif MODE == "device_sin":
        value = libdevice.sin(value)
    elif MODE == "tanh":
        value = libdevice.tanh(value)
    elif MODE == "erf":
        value = tl.erf(value)
    elif MODE == "sigmoid":
        value = tl.sigmoid(value)
    else:
        value = 1.0 / (1.0 + tl.exp2(-1.4426950408889634 * value))
    tl.store(o + i, value, mask=i < n)


@triton.jit
def roots_and_quotients(x, y, o, n, B: tl.constexpr, MODE: tl.constexpr):
    """Divides and takes roots, approximately or rounded correctly, of NaN, infinities and denormals too."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    p, q = tl.load(x + i, mask=i < n, other=1.0), tl.load(y + i, mask=i < n, other=1.0)
    if MODE == "div":
        r = p / q
    elif MODE == "div_rn":
        r = tl.math.div_rn(p, q)
    elif MODE == "fdiv":
        r = tl.fdiv(p, q)
    elif MODE == "fast_div":
        r = libdevice.fast_dividef(p, q)
    elif MODE == "times_inverse":
        r = p * (1.0 / q)
    elif MODE == "div_rz":
        r = libdevice.div_rz(p, q)
    elif MODE == "sqrt":
        r = tl.sqrt(p) + q
    elif MODE == "sqrt_rn":
        r = tl.math.sqrt_rn(p) + q
    elif MODE == "device_sqrt":
        r = libdevice.sqrt(p) + q
    elif MODE == "rsqrt":
        r = tl.rsqrt(p) + q
    elif MODE == "inverse_sqrt":
        r = 1.0 / tl.sqrt(p) + q
    else:
        r = libdevice.rsqrt_rn(p) + q
    tl.store(o + i, r, mask=i < n)


@triton.jit
def fused_or_not(x, y, z, o, n, B: tl.constexpr, MODE: tl.constexpr):
    """Multiplies and adds in ways that the compiler may fuse, must fuse, or must not."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b, c = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n), tl.load(z + i, mask=i < n)
    if MODE == "plain":
        r = a * b + c
    elif MODE == "fma":
        r = tl.fma(a, b, c)
    elif MODE == "rounded":
        r = libdevice.add_rn(libdevice.mul_rn(a, b), c)
    elif MODE == "minus":
        r = c - a * b
    elif MODE == "two_products":
        r = a * b + b * c
    elif MODE == "two_products_turned":
        r = b * c + a * b
    elif MODE == "complex":
        r = (a * c - b * b) * (a * c + b * b)
    elif MODE == "horner":
        r = ((a * 0.3 + 0.7) * a + b) * a + c
    elif MODE == "selected":
        r = tl.where(c > 0, a * b, a) + c
    elif MODE == "integer":
        r = (a * 100).to(tl.int32) * 3 + b
    else:
        r = (a.to(tl.float16) * b.to(tl.float16) + c.to(tl.float16)).to(tl.float32)
    tl.store(o + i, r, mask=i < n)


@triton.jit
def rounding_casts(x, half, brain, brain_zero, e4, e5, whole, n, B: tl.constexpr, VIA: tl.constexpr):
    """Casts to narrower types, directly or by way of fp16."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    value = tl.load(x + i, mask=inside)
    if VIA:
        value = value.to(tl.float16).to(tl.float32)
    tl.store(half + i, value.to(tl.float16, fp_downcast_rounding="rtz"), mask=inside)
    tl.store(brain + i, value.to(tl.bfloat16), mask=inside)
    tl.store(brain_zero + i, value.to(tl.bfloat16, fp_downcast_rounding="rtz"), mask=inside)
    tl.store(e4 + i, value.to(tl.float8e4nv), mask=inside)
    tl.store(e5 + i, value.to(tl.float8e5), mask=inside)
    tl.store(whole + i, tl.clamp(value * 20.0, -128.0, 127.0).to(tl.int8), mask=inside)


@triton.jit
def half_arithmetic(x, y, o, n, B: tl.constexpr, WIDE: tl.constexpr):
    """Computes in the type of the elements, or in 32 bits."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    a, b = tl.load(x + i, mask=inside), tl.load(y + i, mask=inside)
    if WIDE:
        a, b = a.to(tl.float32), b.to(tl.float32)
    result = a * b + a - b * b
    tl.store(o + i, (result * result + a).to(o.dtype.element_ty), mask=inside)


@triton.jit
def special_choices(x, y, o, n, B: tl.constexpr, MODE: tl.constexpr):
    """Chooses among NaN, infinities, zeros of both signs and denormals."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    a, b = tl.load(x + i, mask=inside), tl.load(y + i, mask=inside)
    if MODE == "max":
        r = tl.maximum(a, b)
    elif MODE == "max_nan":
        r = tl.maximum(a, b, propagate_nan=tl.PropagateNan.ALL)
    elif MODE == "min":
        r = tl.minimum(a, b)
    elif MODE == "where":
        r = tl.where(a > b, a, b)
    elif MODE == "clamp":
        r = tl.clamp(a, -1.0, 1.0)
    elif MODE == "relu":
        r = tl.where(a < 0, 0.0, a)
    elif MODE == "relu_max":
        r = tl.maximum(a, 0.0)
    elif MODE == "plus_zero":
        r = a + 0.0
    elif MODE == "minus_itself":
        r = a - a
    elif MODE == "times_zero":
        r = a * 0.0
    elif MODE == "tiny":
        r = a * 1e-30 * 1e-8 + b * 0.5
    else:
        r = -(-a + b)
    tl.store(o + i, r, mask=inside)


@triton.jit
def dropout(x, o, seed, n, rate, B: tl.constexpr, MODE: tl.constexpr):
    """Drops elements: the random numbers depend on the element, on the place in the block, or come in fours."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n)
    if MODE == "element":
        chance = tl.rand(seed, i)
    elif MODE == "block":
        chance = tl.rand(seed + tl.program_id(0), tl.arange(0, B))
    else:
        first, second, third, fourth = tl.rand4x(seed, tl.program_id(0) * (B // 4) + tl.arange(0, B // 4))
        chance = tl.reshape(tl.join(tl.join(first, second), tl.join(third, fourth)), (B,))
    tl.store(o + i, tl.where(chance > rate, value / (1.0 - rate), 0.0), mask=i < n)


@triton.jit
def noise(o, bits, seed, n, B: tl.constexpr, ROUNDS: tl.constexpr):
    """Writes random numbers."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    tl.store(o + i, tl.randn(seed, i, n_rounds=ROUNDS), mask=i < n)
    tl.store(bits + i, tl.randint(seed, i, n_rounds=ROUNDS), mask=i < n)


@triton.jit
def assembly(x, y, o, n, B: tl.constexpr, MODE: tl.constexpr, PACK: tl.constexpr):
    """Computes with PTX: a fused or flushed multiply-add, an approximation, or packed halves."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = tl.load(x + i, mask=i < n), tl.load(y + i, mask=i < n)
    if MODE == "fma":
        r = tl.inline_asm_elementwise("fma.rn.f32 $0, $1, $2, $1;", "=f,f,f", [a, b], tl.float32, True, 1)
    elif MODE == "ftz":
        r = tl.inline_asm_elementwise("mul.rn.ftz.f32 $0, $1, $2;", "=f,f,f", [a, b], tl.float32, True, 1)
    elif MODE == "approx":
        r = tl.inline_asm_elementwise("ex2.approx.ftz.f32 $0, $1;", "=f,f", [a], tl.float32, True, 1) * b + a
    elif MODE == "rz":
        r = tl.inline_asm_elementwise("add.rz.f32 $0, $1, $2;", "=f,f,f", [a, b], tl.float32, True, PACK)
    else:
        p, q = a.to(tl.float16), b.to(tl.float16)
        r = tl.inline_asm_elementwise("mul.rn.f16x2 $0, $1, $2;", "=r,r,r", [p, q], tl.float16, True, 2).to(
            tl.float32
        )
    tl.store(o + i, r + a * b, mask=i < n)


@triton.jit
def newton_roots(x, o, steps_out, n, tolerance, B: tl.constexpr):
    """Iterates until the block's largest error is small: the number of steps depends on the block's data."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n, other=1.0)
    root = tl.where(value > 1.0, value, 1.0)
    error = tl.max(tl.abs(root * root - value), 0)
    steps = 0
    while error > tolerance:
        root = 0.5 * (root + value / root)
        error = tl.max(tl.abs(root * root - value), 0)
        steps += 1
    tl.store(o + i, root, mask=i < n)
    tl.store(steps_out + tl.program_id(0), steps)


@triton.jit
def branches(x, kinds, o, columns, B: tl.constexpr):
    """Treats each row as the data say."""
    row = tl.program_id(0)
    i = row * columns + tl.arange(0, B)
    inside = tl.arange(0, B) < columns
    value = tl.load(x + i, mask=inside, other=0.0)
    kind = tl.load(kinds + row)
    if kind == 0:
        value = value - tl.sum(value) / columns
    elif kind == 1:
        value = value / tl.sqrt(tl.sum(value * value) + 1e-6)
    else:
        for _ in range(kind):
            value = value * 0.5 + 0.1
    tl.store(o + i, value, mask=inside)


@triton.jit
def swiglu_backward(gate, up, grad, grad_gate, grad_up, columns, B: tl.constexpr):
    """Writes the gradients of silu(gate) * up over the inputs."""
    row = tl.program_id(0)
    for start in range(tl.program_id(1) * B, columns, tl.num_programs(1) * B):
        i = row * columns + start + tl.arange(0, B)
        g, u = tl.load(gate + i).to(tl.float32), tl.load(up + i).to(tl.float32)
        d = tl.load(grad + i).to(tl.float32)
        sigmoid = tl.sigmoid(g)
        silu = g * sigmoid
        tl.store(grad_up + i, (d * silu).to(tl.bfloat16))
        tl.store(grad_gate + i, (d * u * (sigmoid + silu * (1 - sigmoid))).to(tl.bfloat16))


@triton.jit
def gelu(x, o, n, B: tl.constexpr, TANH: tl.constexpr):
    """Computes the activation, by erf or by tanh."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    value = tl.load(x + i, mask=i < n).to(tl.float32)
    if TANH:
        inner = 0.7978845608028654 * (value + 0.044715 * value * value * value)
        result = 0.5 * value * (1.0 + libdevice.tanh(inner))
    else:
        result = 0.5 * value * (1.0 + tl.erf(value * 0.7071067811865476))
    tl.store(o + i, result.to(tl.float16), mask=i < n)


@triton.jit
def adamw(p, g, m, v, n, rate, beta1, beta2, eps, decay, step, B: tl.constexpr):
    """Updates parameters and both moments in place."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    inside = i < n
    weight, gradient = tl.load(p + i, mask=inside), tl.load(g + i, mask=inside).to(tl.float32)
    first, second = tl.load(m + i, mask=inside), tl.load(v + i, mask=inside)
    weight = weight * (1.0 - rate * decay)
    first = beta1 * first + (1.0 - beta1) * gradient
    second = beta2 * second + (1.0 - beta2) * gradient * gradient
    first_scaled = first / (1.0 - tl.exp2(step * tl.log2(beta1)))
    second_scaled = second / (1.0 - tl.exp2(step * tl.log2(beta2)))
    weight = weight - rate * first_scaled / (tl.sqrt(second_scaled) + eps)
    tl.store(p + i, weight, mask=inside)
    tl.store(m + i, first, mask=inside)
    tl.store(v + i, second, mask=inside)


@triton.jit
def in_place(x, y, n, B: tl.constexpr, TIMES: tl.constexpr):
    """Reads from and writes to the same memory several times; both arguments are one tensor."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    for _ in range(TIMES):
        value = tl.load(x + i, mask=i < n)
        tl.store(y + i, value * 1.01 + 0.1, mask=i < n)


@triton.jit
def mirrored_in_place(x, y, columns, B: tl.constexpr):
    """Adds each row and its mirror image, in place; both arguments are one tensor."""
    row = tl.program_id(0)
    i = tl.arange(0, B)
    value = tl.load(x + row * columns + i) + 0.5 * tl.load(y + row * columns + columns - 1 - i)
    tl.debug_barrier()
    tl.store(y + row * columns + i, value)


@triton.jit
def fp64_functions(x, y, o, n, B: tl.constexpr, MODE: tl.constexpr):
    """Computes in 64 bits."""
    i = tl.program_id(0) * B + tl.arange(0, B)
    a, b = (
        tl.load(x + i, mask=i < n, other=1.0).to(tl.float64),
        tl.load(y + i, mask=i < n, other=1.0).to(tl.float64),
    )
    if MODE == 0:
        r = a * b + a
    elif MODE == 1:
        r = tl.exp(a) / (1.0 + b * b)
    else:
        r = tl.sqrt(tl.abs(a)) - b * 0.1
    tl.store(o + i, r, mask=i < n)


def _programs(n: int) -> object:
    def grid(config: Config) -> Grid:
        return (cdiv(n, config["B"]),)

    return grid


def _vectors(inputs: int, n: int, dtype: torch.dtype = torch.float32) -> object:
    def make(data: Data) -> Arguments:
        return *(data.normal(n, dtype=dtype) for _ in range(inputs)), data.zeros(n, dtype=dtype), n

    return make


def _quotients(data: Data) -> Arguments:
    return data.special(8000), data.special(8000), data.zeros(8000), 8000


def _casts(data: Data) -> Arguments:
    dtypes = (
        torch.float16,
        torch.bfloat16,
        torch.bfloat16,
        torch.float8_e4m3fn,
        torch.float8_e5m2,
        torch.int8,
    )
    return data.normal(8000, scale=3.0), *(data.zeros(8000, dtype=dtype) for dtype in dtypes), 8000


def _swiglu(data: Data) -> Arguments:
    inputs = (data.normal(32, 2048, dtype=torch.bfloat16) for _ in range(3))
    return *inputs, *(data.zeros(32, 2048, dtype=torch.bfloat16) for _ in range(2)), 2048


def _adamw(data: Data) -> Arguments:
    p, g, m, v = (
        data.normal(9000),
        data.normal(9000, dtype=torch.bfloat16),
        data.normal(9000),
        data.uniform(9000),
    )
    return p, g, m, v, 9000, 1e-3, 0.9, 0.999, 1e-8, 0.01, 7


def _twice(data: Data) -> Arguments:
    x = data.normal(8000)
    return x, x, 8000


def _mirrored(data: Data) -> Arguments:
    x = data.normal(64, 512)
    return x, x, 512


_BLOCKS = {"B": [128, 256, 512, 1024, 2048], "num_warps": [1, 2, 4, 8]}
_FEW = {"B": [128, 1024], "num_warps": [1, 4]}
_FUNCTIONS = (
    "exp", "exp2", "fast_exp", "device_exp", "log", "log2", "fast_log", "device_log", "sin", "device_sin", "tanh", "erf",
    "sigmoid", "sigmoid2",
)  # fmt: skip
_QUOTIENTS = (
    "div", "div_rn", "fdiv", "fast_div", "times_inverse", "div_rz", "sqrt", "sqrt_rn", "device_sqrt", "rsqrt",
    "inverse_sqrt", "rsqrt_rn",
)  # fmt: skip
_FUSIONS = (
    "plain", "fma", "rounded", "minus", "two_products", "two_products_turned", "complex", "horner", "selected",
    "integer", "half",
)  # fmt: skip
_CHOICES = (
    "max", "max_nan", "min", "where", "clamp", "relu", "relu_max", "plus_zero", "minus_itself", "times_zero", "tiny",
    "negated",
)  # fmt: skip

SPACES = [
    Space("functions", functions, unfused(product(MODE=_FUNCTIONS, **_FEW)), (8000,), _vectors(1, 8000), _programs(8000)),
    Space(
        "functions_special",
        functions,
        unfused(product(MODE=_FUNCTIONS, B=[256], num_warps=[1, 4], enable_reflect_ftz=[True, False])),
        (8000,),
        lambda data: (data.special(8000), data.zeros(8000), 8000),
        _programs(8000),
    ),
    Space(
        "roots_and_quotients",
        roots_and_quotients,
        unfused(product(MODE=_QUOTIENTS, **_FEW)),
        (8000,),
        _quotients,
        _programs(8000),
    ),
    Space(
        "fused_or_not",
        fused_or_not,
        # The two configs of a mode with and without fusion differ in nothing else.
        [
            config | {"enable_fp_fusion": fused}
            for config in product(MODE=_FUSIONS, **_FEW)
            for fused in (True, False)
        ],
        (8000,),
        _vectors(3, 8000),
        _programs(8000),
    ),
    Space("rounding_casts", rounding_casts, unfused(product(VIA=[False, True], **_BLOCKS)), (8000,), _casts, _programs(8000)),
    Space(
        "half_arithmetic",
        half_arithmetic,
        unfused(product(WIDE=[False, True], **_BLOCKS)),
        (8000,),
        _vectors(2, 8000, torch.float16),
        _programs(8000),
    ),
    Space(
        "brain_arithmetic",
        half_arithmetic,
        unfused(product(WIDE=[False, True], **_BLOCKS)),
        (8000,),
        _vectors(2, 8000, torch.bfloat16),
        _programs(8000),
    ),
    Space(
        "special_choices",
        special_choices,
        unfused(product(MODE=_CHOICES, **_FEW)),
        (8000,),
        lambda data: (data.special(8000), data.special(8000), data.zeros(8000), 8000),
        _programs(8000),
    ),
    Space(
        "dropout",
        dropout,
        unfused(product(MODE=["element", "block", "fours"], **_BLOCKS)),
        (8000,),
        lambda data: (data.normal(8000), data.zeros(8000), 123, 8000, 0.3),
        _programs(8000),
    ),
    Space(
        "noise",
        noise,
        unfused(product(ROUNDS=[7, 10], **_BLOCKS)),
        (8000,),
        lambda data: (data.zeros(8000), data.zeros(8000, dtype=torch.int32), 99, 8000),
        _programs(8000),
    ),
    Space(
        "assembly",
        assembly,
        unfused(product(MODE=["fma", "ftz", "approx", "rz", "packed"], PACK=[1], **_FEW | {"B": [128, 512, 1024]})),
        (8000,),
        _vectors(2, 8000),
        _programs(8000),
    ),
    Space(
        "newton_roots",
        newton_roots,
        unfused(product(**_BLOCKS)),
        (8000,),
        lambda data: (data.uniform(8000, low=0.01, high=30.0), data.zeros(8000), data.zeros(64, dtype=torch.int32), 8000, 1e-4),
        _programs(8000),
    ),
    Space(
        "branches",
        branches,
        unfused(product(B=[512, 1024], num_warps=[1, 2, 4, 8, 16], num_stages=[1, 3])),
        (64, 500),
        lambda data: (data.normal(64, 500), data.integers(0, 6, 64), data.zeros(64, 500), 500),
        lambda _config: (64,),
    ),
    Space(
        "swiglu_backward",
        swiglu_backward,
        unfused(product(**_BLOCKS, num_stages=[1, 3])),
        (32, 2048),
        _swiglu,
        lambda config: (32, min(2, 2048 // config["B"])),
    ),
    Space("gelu", gelu, unfused(product(TANH=[False, True], **_BLOCKS)), (8000,), _vectors(1, 8000, torch.float16), _programs(8000)),
    Space("adamw", adamw, unfused(product(**_BLOCKS, maxnreg=[None, 32])), (9000,), _adamw, _programs(9000)),
    Space("in_place", in_place, unfused(product(TIMES=[1, 2, 5], **_FEW)), (8000,), _twice, _programs(8000)),
    Space(
        "mirrored_in_place",
        mirrored_in_place,
        unfused(product(B=[512], num_warps=[1, 2, 4, 8, 16])),
        (64, 512),
        _mirrored,
        lambda _config: (64,),
    ),
    Space("fp64_functions", fp64_functions, unfused(product(MODE=[0, 1, 2], **_FEW)), (8000,), _vectors(2, 8000), _programs(8000)),
]  # fmt: skip
