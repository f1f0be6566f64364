"""An autotuner whose choice changes results.

**What it does.** Reports configs of one `@triton.autotune` that compute other bits from the same inputs at a
recorded launch, the config values that decide, and the first line where they do. Few configs are executed:
the first and the last and, if their bits differ, one for each value that differs.

**Why is this bad?** The autotuner picks by time, so another run, rank, machine or release may pick a config
that adds in another order. If a size is in its key, results may also change from one size to the next, for
rows that are equal. `irscope.prune(same_bits_as=...)` in the autotuner, or `irscope pick --same-bits-as`,
leave only configs that change nothing; [`irscope bits`](commands/bits.md) shows all classes.

**Limits.** Only one launch of each kernel, and about 24 configs of a capture, are executed; what cannot be
executed is not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic
from irscope.lint.source.python_module import PythonModule, tuning_keys
from irscope.model.text import one_line

# The source of a kernel has no imports.
_IMPORTS = "import triton\nimport triton.language as tl\nfrom triton import autotune, jit\n"
FIX = (
    "if results must not change, leave only configs of the same bits: irscope pick --same-bits-as, or "
    'irscope.prune(same_bits_as="first") in prune_configs_by'
)


def choice_changes_results(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the bits of the configs of an autotuned kernel."""
    key = _key(compiled)
    if key is None:
        return
    change = compiled.changed_results([v for v in compiled.variants if compiled.launches(v)])
    if change is None:
        return
    names = " and ".join(change.names)
    verb = "decide" if len(change.names) > 1 else "decides"
    message = (
        f"the config that is chosen for {compiled.kernel.name} changes its results on {compiled.target}: "
        f"{names} {verb} at {change.launch} ({change.executed} of {len(compiled.variants):,} configs were "
        f"executed); {change.reason}"
    )
    if sizes := [name for name in key if name in change.sizes]:
        message += f"; its key has {', '.join(sizes)}, so results may change from one size to the next"
    yield compiled.diagnostic(RULE, one_line(message), FIX, change.line)


def _key(compiled: CompiledKernel) -> list[str] | None:
    """Return the names in the key of the kernel's autotuner; None if it has none."""
    source = compiled.kernel.source
    try:
        module = PythonModule(_IMPORTS + source.text, source.file)
    except (SyntaxError, ValueError, RecursionError):
        return None
    kernel = module.kernels.get(compiled.kernel.name)
    if kernel is None or kernel.autotune is None:
        return None
    return [name for key in tuning_keys(module) if key.kernel is kernel for name in key.names]


RULE = CaptureRule("IRS213", "choice-changes-results", __doc__, choice_changes_results)
