"""What the author asked for and the compiler did not do."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator

from irscope.facts.instruction_mix import OPCODE, LostAssembly, lost_assembly, lost_text
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule, lines_text
from irscope.lint.source.evaluate import UNKNOWN
from irscope.lint.source.kernel_source import KernelSource
from irscope.lint.source.python_module import PythonModule
from irscope.model import Variant
from irscope.targets import backend_of

INLINE_ASSEMBLY_LOST_FIX = (
    "use constraints of the target (v or s on AMD's GPUs, r, l, h, f or d on NVIDIA's), or other code there"
)


def inline_assembly_lost(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for the instructions of each variant's inline assembly in its assembly."""
    by_line: dict[tuple[int | None, str], list[tuple[Variant, LostAssembly]]] = {}
    for variant in compiled.variants:
        for line, lost in _lost(compiled, variant):
            by_line.setdefault((line, lost.instruction), []).append((variant, lost))
    for (line, _), pairs in by_line.items():
        variants = list({variant.id: variant for variant, _ in pairs}.values())
        variant, lost = pairs[0]
        message = (
            f"the inline assembly of {compiled.kernel.name} is lost in {compiled.share(variants)}: "
            f"{lost_text(lost, variant)}: {compiled.listed(variants)}"
        )
        yield compiled.diagnostic(INLINE_ASSEMBLY_LOST, message, INLINE_ASSEMBLY_LOST_FIX, line)


def _lost(compiled: CompiledKernel, variant: Variant) -> Iterator[tuple[int | None, LostAssembly]]:
    """Yield what a variant lost, each with its line of the kernel's file; None if it is in another file."""
    ttir = compiled.text(variant, "ttir")
    if ttir is None or OPCODE not in ttir:
        return
    llir = compiled.text(variant, "llir")
    assembly = compiled.text(variant, backend_of(variant.target).assembly)
    if llir is None or assembly is None:
        return
    for lost in lost_assembly(variant, compiled.document(variant, "ttir"), llir, assembly):
        location = lost.operation.location.outermost if lost.operation.location else None
        is_in_file = location is not None and location.file == variant.kernel.source.file
        yield (location.line if location is not None and is_in_file else None), lost


INLINE_ASSEMBLY_LOST = CaptureRule(
    "IRS212",
    "inline-assembly-lost",
    """\
Inline assembly that is missing from the machine code.

**What it does.** Reports the calls of `tl.inline_asm_elementwise` whose first instruction is in LLVM IR, but
not in the assembly of a variant.

**Why is this bad?** Their results are undefined, usually NaN. The cause is a constraint that the target has
no registers for, such as `=f,f` on AMD's GPUs: LLVM prints an error and goes on.

**Limits.** Assembly without an instruction, such as an empty barrier, is not checked.
""",
    inline_assembly_lost,
)


_REQUEST, _SPLIT = "tt.warp_specialize", "ttg.warp_specialize"
WARP_SPECIALIZATION_IGNORED_FIX = (
    "drop warp_specialize=True for this target, or change the block sizes, num_warps or the loop until TTGIR "
    f"has {_SPLIT}"
)


def warp_specialization_ignored(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Compare the loops that request warp specialization in TTIR with the final TTGIR's operations."""
    lines = {variant.id: _ignored(compiled, variant) for variant in compiled.variants}
    bad = [variant for variant in compiled.variants if lines[variant.id] is not None]
    if bad:
        all_lines = sorted({line for variant in bad for line in lines[variant.id] or ()})
        where = f" at {lines_text(all_lines)}" if all_lines else ""
        message = (
            f"the warp specialization requested{where} of {compiled.kernel.name} has no effect on "
            f"{compiled.target} in {compiled.share(bad)}, whose TTGIR has no {_SPLIT}: {compiled.listed(bad)}"
        )
        yield compiled.diagnostic(
            WARP_SPECIALIZATION_IGNORED,
            message,
            WARP_SPECIALIZATION_IGNORED_FIX,
            all_lines[0] if all_lines else None,
        )


def _ignored(compiled: CompiledKernel, variant: Variant) -> set[int] | None:
    """Return the lines of the kernel's file whose request had no effect, or None without a request."""
    ttir = compiled.text(variant, "ttir")
    if ttir is None or _REQUEST not in ttir:
        return None
    ttgir = compiled.text(variant, "ttgir")
    if ttgir is None or _SPLIT in ttgir:
        return None
    loops = [
        operation
        for operation in compiled.document(variant, "ttir").operations
        if operation.opcode == "scf.for" and _REQUEST in operation.normalized
    ]
    locations = [loop.location.outermost for loop in loops if loop.location]
    return (
        {location.line for location in locations if location.file == variant.kernel.source.file}
        if loops
        else None
    )


WARP_SPECIALIZATION_IGNORED = CaptureRule(
    "IRS211",
    "warp-specialization-ignored",
    """\
Loops with warp_specialize=True that the compiler did not split.

**What it does.** Reports variants whose TTIR has a loop marked `tt.warp_specialize` and whose TTGIR, after
all passes, has no `ttg.warp_specialize`: all warps execute all of the kernel, as without the request.

**Why is this bad?** The compiler does not say so, and an autotuner measures the same machine code twice.

**Limits.** Nothing is reported if any loop of the kernel was split.
""",
    warp_specialization_ignored,
)


def num_stages_unused(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for numbers of stages of kernels without a loop."""
    for kernel in module.kernels.values():
        if kernel.decorators_known and not _may_loop(kernel, module):
            yield from _check_configs(kernel, module)
            yield from _check_launches(kernel, module)


def _may_loop(kernel: KernelSource, module: PythonModule) -> bool:
    for node in (part for statement in kernel.node.body for part in ast.walk(statement)):
        match node:
            case ast.While() | ast.Try() | ast.With():
                return True
            case ast.For():
                if not (isinstance(node.iter, ast.Call) and module.tl(node.iter, "static_range")):
                    return True
            case ast.Call(func=function):
                name = module.dotted(function)
                package, _, short = name.rpartition(".")
                is_method = isinstance(function, ast.Attribute) and not name
                is_value = package.partition(".")[0] in {*kernel.assigned, *kernel.runtime_parameters}
                if not (is_method or is_value or package.startswith("triton") or hasattr(builtins, short)):
                    return True
    return False


def _check_configs(kernel: KernelSource, module: PythonModule) -> Iterator[Diagnostic]:
    """Report the first config that only repeats another one with other stages."""
    by_rest: dict[str, int] = {}
    for config in kernel.autotune.configs or () if kernel.autotune else ():
        stages = config.options.get("num_stages", UNKNOWN)
        rest = {name: value for name, value in config.options.items() if name != "num_stages"}
        if config.kwargs is None or not isinstance(stages, int):
            return
        key = repr((sorted(config.kwargs.items()), sorted(rest.items(), key=str)))
        first = by_rest.setdefault(key, stages)
        if first != stages and "num_stages" not in config.kwargs and UNKNOWN not in rest.values():
            message = (
                f"{kernel.name} has no loop, so num_stages = {first} and {stages} make the same code: "
                "tuning measures it again"
            )
            yield module.diagnostic(
                NUM_STAGES_UNUSED, config.node or kernel.jit, message, "tune something else", kernel
            )
            return


def _check_launches(kernel: KernelSource, module: PythonModule) -> Iterator[Diagnostic]:
    for launch in module.launches:
        for keyword in launch.call.keywords if launch.kernel is kernel else ():
            if keyword.arg == "num_stages" and not kernel.parameter("num_stages"):
                stages = module.value(keyword.value, launch.scope)
                if isinstance(stages, int) and stages > 1:
                    message = f"num_stages={stages} changes nothing: {kernel.name} has no loop to pipeline"
                    yield module.diagnostic(
                        NUM_STAGES_UNUSED, launch.call, message, "drop num_stages", kernel
                    )


NUM_STAGES_UNUSED = SourceRule(
    "IRS122",
    "num-stages-unused",
    """\
A num_stages for a kernel that has no loop.

**What it does.** Reports configs that differ in `num_stages`, and launches that set it to more than 1, if the
kernel has no loop and calls no function that may have one.

**Why is this bad?** `num_stages` is how many iterations of a loop the compiler overlaps. Without a loop, the
machine code is the same: tuning measures the same kernel again.

**Example**

```python
@triton.autotune([triton.Config({"BLOCK": 1024}, num_stages=s) for s in (2, 3, 4)], key=["n"])
@triton.jit
def add(x_ptr, y_ptr, n, BLOCK: tl.constexpr):
    at = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(y_ptr + at, tl.load(x_ptr + at, mask=at < n) + 1, mask=at < n)
```

**Use instead**

```python
@triton.autotune([triton.Config({"BLOCK": b}) for b in (512, 1024, 2048)], key=["n"])
```
""",
    num_stages_unused,
)
