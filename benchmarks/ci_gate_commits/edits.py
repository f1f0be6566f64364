"""Edits of real kernels: ten that make the compiled code worse, and twenty that change nothing that matters."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

LIBRARY = "liger_kernel"
_OPS = f"{LIBRARY}/ops"
_SOFTMAX, _NORM, _MATMUL = "kernels/fused_softmax.py", "kernels/layer_norm.py", "kernels/matmul.py"
_ATTENTION, _ADD = "kernels/flash_attention.py", "kernels/vector_add.py"
_RMS, _SWIGLU, _ENTROPY = (f"{_OPS}/{name}.py" for name in ("rms_norm", "swiglu", "cross_entropy"))


@dataclass(frozen=True)
class Edit:
    """A commit: replacements (file, old text, new text), then `then`, which may do anything else."""

    title: str
    replacements: tuple[tuple[str, str, str], ...] = ()
    then: Callable[[Path], None] = field(default=lambda _: None)

    @property
    def needs_library(self) -> bool:
        """Whether it edits Liger-Kernel."""
        return any(file.startswith(LIBRARY) for file, _, _ in self.replacements)

    def apply(self, repository: Path) -> None:
        """Edits the files. Raises ValueError if a text is not there."""
        for file, old, new in self.replacements:
            path = repository / file
            text = path.read_text(encoding="utf-8")
            if old not in text:
                raise ValueError(f"{self.title}: {file} has no {old!r}")
            path.write_text(text.replace(old, new), encoding="utf-8")
        self.then(repository)


def _move(old: str, new: str, also: str = "") -> Callable[[Path], None]:
    """Moves a file, and leaves `also` in its place."""

    def move(repository: Path) -> None:
        (repository / old).rename(repository / new)
        if also:
            (repository / old).write_text(also, encoding="utf-8")

    return move


def _reordered(repository: Path) -> None:
    """Moves the kernel for the gradient of the parameters above the others."""
    path = repository / _NORM
    head, first, *rest = path.read_text(encoding="utf-8").split("\n@triton.jit\n")
    last, wrapper = rest[-1].split("\n\ndef forward(", 1)
    kernels = "\n@triton.jit\n".join(["", last, first, *rest[:-1]])
    path.write_text(f"{head}{kernels}\n\ndef forward({wrapper}", encoding="utf-8")


def _reformatted(repository: Path) -> None:
    """One argument per line, as formatters do with a trailing comma."""
    path = repository / _SOFTMAX
    text = path.read_text(encoding="utf-8")
    old = "def softmax_kernel(out_ptr, x_ptr, out_stride, x_stride, n_cols, BLOCK_SIZE: tl.constexpr):"
    names = old.partition("(")[2].removesuffix("):").split(", ")
    new = "def softmax_kernel(\n" + "".join(f"    {name},\n" for name in names) + "):"
    old_load = 'tl.load(x_ptr + row * x_stride + cols, mask=mask, other=float("-inf"))'
    new_load = 'tl.load(\n        x_ptr + row * x_stride + cols,\n        mask=mask,\n        other=float("-inf"),\n    )'
    path.write_text(text.replace(old, new).replace(old_load, new_load), encoding="utf-8")


REGRESSIONS = (
    Edit(
        "matmul: multiply in IEEE fp32 (tensor cores lost)",
        (
            (
                _MATMUL,
                "acc = tl.dot(a, b, acc)",
                'acc = tl.dot(a.to(tl.float32), b.to(tl.float32), acc, input_precision="ieee")',
            ),
        ),
    ),
    Edit(
        "softmax: a single warp per row (spills)",
        ((_SOFTMAX, "num_warps = 4 if block <= 2048 else 8", "num_warps = 1"),),
    ),
    Edit(
        "softmax: read columns backwards (narrow loads)",
        ((_SOFTMAX, "x_stride + cols, mask", "x_stride + (n_cols - 1 - cols), mask"),),
    ),
    Edit(
        "add: do_not_specialize n (narrow loads)",
        ((_ADD, "@triton.jit\ndef add_kernel", '@triton.jit(do_not_specialize=["n"])\ndef add_kernel'),),
    ),
    Edit(
        "layer norm: accumulate in float64",
        ((_NORM, "dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float32)", "dw = tl.zeros((BLOCK_M, BLOCK_N), dtype=tl.float64)"),),
    ),
    Edit(
        "attention: unroll the loop over the keys by 4",
        ((_ATTENTION, "for start in range(first, last, BLOCK_N):", "for start in tl.range(first, last, BLOCK_N, loop_unroll_factor=4):"),),
    ),
    Edit(
        "attention: keep the probabilities in float32 for the second product",
        ((_ATTENTION, "acc = tl.dot(p.to(v.dtype), v, acc", "acc = tl.dot(p, v.to(tl.float32), acc"),),
    ),
    Edit(
        "rms norm (Liger): eps and offset are float64 scalars",
        ((_RMS, "        eps = eps.to(tl.float32)\n", "        eps = eps.to(tl.float64)\n"),),
    ),
    Edit(
        "swiglu (Liger): a function that Triton does not have",
        ((_SWIGLU, "return x * tl.sigmoid(x)", "return x * tl.libdevice.sigmoid(x)"),),
    ),
    Edit(
        "cross entropy (Liger): softmax over a float64 block",
        (
            (
                _ENTROPY,
                "            # Ensure float32 precision for softmax calculation\n        ).cast(tl.float32)",
                "            # Ensure float64 precision for softmax calculation\n        ).cast(tl.float64)",
            ),
        ),
    ),
)  # fmt: skip

HARMLESS = (
    Edit("matmul: rename local variables", ((_MATMUL, "tile_m", "row_tile"), (_MATMUL, "acc", "total"))),
    Edit("softmax: rename parameters", ((_SOFTMAX, "x_stride", "stride_x"), (_SOFTMAX, "n_cols", "columns"))),
    Edit("matmul: rename constexprs", ((_MATMUL, "GROUP_M", "ROWS_PER_GROUP"),)),
    Edit("add: rename the kernel", ((_ADD, "add_kernel", "elementwise_add_kernel"),)),
    Edit("attention: rename a helper", ((_ATTENTION, "attend(", "update_block("),)),
    Edit(
        "softmax: a docstring in the kernel",
        ((_SOFTMAX, "    row = tl.program_id(0)", '    """Softmax of one row per program."""\n    row = tl.program_id(0)'),),
    ),
    Edit(
        "softmax: a new parameter with a default",
        (
            (_SOFTMAX, "BLOCK_SIZE: tl.constexpr):", "BLOCK_SIZE: tl.constexpr, SCALED: tl.constexpr = False):"),
            (_SOFTMAX, "    tl.store(out_ptr", "    if SCALED:\n        out *= 2.0\n    tl.store(out_ptr"),
        ),
    ),
    Edit("softmax: reformat", (), _reformatted),
    Edit("matmul: blank lines and a license header", ((_MATMUL, "    c_ptrs = c_ptr", "\n\n    c_ptrs = c_ptr"), (_MATMUL, "from typing", "# Copyright: the authors.\n\nfrom typing"))),
    Edit("layer norm: move a kernel above the others", (), _reordered),
    Edit(
        "add: move the module to another file",
        (),
        _move(_ADD, "kernels/elementwise.py", "from kernels.elementwise import add, add_kernel\n"),
    ),
    Edit(
        "add: a default that every launch overrides",
        ((_ADD, "BLOCK_SIZE: tl.constexpr):", "BLOCK_SIZE: tl.constexpr = 128):"),),
    ),
    Edit("another kernel, that is not launched, is edited", (("kernels/heuristics.py", "import triton.language as tl", "import triton.language as tl  # noqa"),)),
    Edit(
        "add: a new kernel in the file",
        ((_ADD, "@triton.jit\ndef add_kernel", "@triton.jit\ndef scale_kernel(x_ptr, factor):\n    tl.store(x_ptr, tl.load(x_ptr) * factor)\n\n\n@triton.jit\ndef add_kernel"),),
    ),
    Edit(
        "matmul: move an expression into a helper",
        (
            (_MATMUL, "tile_n = place // group_rows", "tile_n = column_of(place, group_rows)"),
            (_MATMUL, "@triton.autotune(CONFIGS", "@triton.jit\ndef column_of(place, group_rows):\n    return place // group_rows\n\n\n@triton.autotune(CONFIGS"),
        ),
    ),
    Edit(
        "softmax: check the argument in the wrapper",
        ((_SOFTMAX, "    out = torch.empty_like(x)\n", '    if x.ndim != 2:\n        raise ValueError(f"{x.ndim} dimensions")\n    out = torch.empty_like(x)\n'),),
    ),
    Edit(
        "matmul: equivalent expressions",
        ((_MATMUL, "range(0, K, BLOCK_K)", "range(0, K, 1 * BLOCK_K)"), (_MATMUL, "other=0.0)", "other=0.)")),
    ),
    Edit("rms norm (Liger): rename local variables", ((_RMS, "mean_square", "mean_of_squares"), (_RMS, "x_base", "x_start"))),
    Edit(
        "cross entropy (Liger): a longer docstring and new comments",
        ((_ENTROPY, "    # 2. locate the start index\n", "    # 2. locate the start index\n    # (rows are contiguous)\n"), (_ENTROPY, "    This kernel computes both", "    Computes in one pass.\n\n    This kernel computes both")),
    ),
    Edit(
        "swiglu (Liger): parentheses, a new optional argument of the wrapper",
        ((_SWIGLU, "return x * tl.sigmoid(x)", "return (x * (tl.sigmoid(x)))"), (_SWIGLU, "def _should_tile(n_cols):", "def _should_tile(n_cols, force=False):")),
    ),
)  # fmt: skip
