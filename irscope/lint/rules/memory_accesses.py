"""Accesses that the compiler cannot make wide."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence, Set
from math import prod

from irscope.facts.accesses.axis_info import AxisFlow, shape_of
from irscope.facts.accesses.global_accesses import global_accesses, memory_use
from irscope.facts.instruction_mix import instructions_by_line
from irscope.facts.occupancy import threads_of
from irscope.lint.compiled import CompiledKernel, launched_variants
from irscope.lint.diagnostic import CaptureRule, Diagnostic, SourceRule, lines_text
from irscope.lint.source.kernel_body import resolve_local, terms
from irscope.lint.source.kernel_source import SPECIALIZATION_LISTS, KernelParameter, KernelSource
from irscope.lint.source.python_module import PythonModule, argument
from irscope.model import Variant
from irscope.targets import backend_of


def narrow_access(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for accesses that only their mask makes narrow, by the bound of the mask."""
    by_bound: dict[str, dict[int, set[int]]] = {}
    for variant in compiled.variants:
        unspecialized = {
            argument.name
            for argument in variant.specialization
            if argument.key is None and argument.type.startswith(("i", "u"))
        }
        for line, name, width in _narrow(compiled, variant) if unspecialized else ():
            if name in unspecialized:
                by_bound.setdefault(name, {}).setdefault(line, set()).add(width)
    for name, lines in by_bound.items():
        widths = sorted(set().union(*lines.values()))
        message = (
            f"accesses at {lines_text(lines)} of {compiled.kernel.name} move only "
            f"{' or '.join(map(str, widths))} bytes at a time on {compiled.target}: the mask compares with "
            f"{name}, which is not specialized and so not known to be divisible by 16"
        )
        fix = f"take {name} out of do_not_specialize, and launch with a multiple of 16 if possible"
        yield compiled.diagnostic(NARROW_ACCESS, message, fix, min(lines))


def _narrow(compiled: CompiledKernel, variant: Variant) -> Iterator[tuple[int, str, int]]:
    """Yield line, bound and width in bytes of each access that only its mask makes narrow."""
    stage, threads = backend_of(variant.target).assembly, threads_of(variant)
    if threads is None or any(compiled.read(variant, name) is None for name in ("ttir", stage)):
        return
    ttir = compiled.document(variant, "ttir")
    work = instructions_by_line(compiled.document(variant, stage), stage)
    narrow = memory_use(variant, ttir, work).narrow
    if not narrow:
        return
    for access in global_accesses(AxisFlow(ttir)):
        key = (access.kind, access.place)
        blame = access.blamed(threads) if key in narrow else None
        if blame and access.place and not blame.pointer and key in work:
            for name in blame.mask:
                yield access.place.line, name, work[key].width


NARROW_ACCESS = CaptureRule(
    "IRS206",
    "narrow-access",
    """\
Loads and stores that are narrow because their mask's bound is not specialized.

**What it does.** Reports loads and stores that are narrower than they could be because the mask compares with
an argument that is not specialized.

**Why is this bad?** The compiler does not know that the bound is divisible by 16, so each access moves
fewer bytes than it could.
""",
    narrow_access,
)


_SECTOR = 32  # bytes, of NVIDIA's L2; AMD's cache lines are longer
_WARP = 32

_Key = tuple[int, str, str]  # line, "global load" or "global store", parameter


def strided_access(compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Look for accesses that are contiguous along no dimension."""
    by_access: dict[_Key, tuple[int, int, list[Variant]]] = {}
    contiguous: set[_Key] = set()
    for launched in launched_variants(compiled):
        for access, pointer in launched.accesses():
            if access.place is None:
                continue
            key = (access.place[1], access.kind, pointer.base)
            shape = shape_of(launched.flow.operations[access.index].normalized)
            step = _smallest_step(shape, pointer.steps)
            if step is None or step * access.size < _SECTOR:
                contiguous.add(key)
                continue
            *_, variants = by_access.setdefault(key, (step, access.size, []))
            if launched.variant not in variants:
                variants.append(launched.variant)
    for (line, kind, name), (step, size, variants) in sorted(by_access.items()):
        if (line, kind, name) in contiguous:
            continue
        message = (
            f"neighboring elements of the {kind} of {name} at line {line} of {compiled.kernel.name} are "
            f"{step * size:,} bytes apart, so each {_SECTOR}-byte sector brings {size}, "
            f"in {compiled.share(variants)}"
        )
        fix = f"make the last tl.arange run along the dimension of {name} whose stride is 1, or transpose it"
        yield compiled.diagnostic(STRIDED_ACCESS, message, fix, line)


def _smallest_step(shape: Sequence[int], steps: Sequence[int | None]) -> int | None:
    """Return the smallest step along a dimension with several elements.

    Returns None if one is unknown or the elements are few.
    """
    along = [step for size, step in zip(shape, steps, strict=False) if size > 1]
    if len(shape) != len(steps) or prod(shape) < _WARP or not along:
        return None
    known_steps = [abs(step) for step in along if step is not None]
    return min(known_steps) if len(known_steps) == len(along) else None


STRIDED_ACCESS = CaptureRule(
    "IRS209",
    "strided-access",
    """\
A load or store whose neighboring elements are not neighbors in memory.

**What it does.** Reports loads and stores of at least a warp of elements that step by 32 bytes or more along
every dimension of the block, by the sizes and strides of the recorded launches or by constants of
the kernel.

**Why is this bad?** The threads of a warp access as many 32-byte sectors as they have elements, and use a few
bytes of each.

**Limits.** Loaded offsets (gathers) and steps that are not constant are not reported.
""",
    strided_access,
)


_THREADS = 128  # of four warps, the default
_MASK_POSITION = {"load": 1, "store": 2}


def unspecialized_bound(module: PythonModule) -> Iterator[Diagnostic]:
    """Look for masks bounded by a parameter that is not specialized."""
    for kernel in module.kernels.values():
        unspecialized = _unspecialized(kernel, module)
        accesses = (
            []
            if not unspecialized or _has_rows(kernel)
            else list(_bounds(kernel, unspecialized.keys(), module))
        )
        for name, node in unspecialized.items():
            lines = {line for bound, line in accesses if bound == name}
            if not lines:
                continue
            message = (
                f"{name} is not specialized and bounds the mask at {lines_text(lines)} of "
                f"{kernel.name}: the compiler does not know whether it is divisible by 16, so these accesses "
                "move one element at a time"
            )
            fix = f"take {name} out of the list; if it is a multiple of 16, accesses then move 16 bytes"
            yield module.diagnostic(UNSPECIALIZED_BOUND, node, message, fix, kernel)


def _unspecialized(kernel: KernelSource, module: PythonModule) -> dict[str, ast.expr]:
    """Map each run-time parameter in these lists to its list."""
    list_of: dict[str, ast.expr] = {}
    for keyword in kernel.jit.keywords if isinstance(kernel.jit, ast.Call) else ():
        values = module.value(keyword.value, module.scope) if keyword.arg in SPECIALIZATION_LISTS else None
        for value in values if isinstance(values, list | tuple) else ():
            if isinstance(value, int) and 0 <= value < len(kernel.parameters):
                parameter: KernelParameter | None = kernel.parameters[value]
            else:
                parameter = kernel.parameter(str(value))
            if parameter is not None and not parameter.constexpr:
                list_of[parameter.name] = keyword.value
    return list_of


def _bounds(kernel: KernelSource, unspecialized: Set[str], module: PythonModule) -> Iterator[tuple[str, int]]:
    """Yield the bound and line of each masked, contiguous access.

    It is n and the line of `tl.load(pointer + at, mask=at < n)`.
    """
    for node in kernel.nodes:
        call = module.tl(node, *_MASK_POSITION)
        if call is None or not call.args:
            continue
        mask = argument(call, _MASK_POSITION[module.dotted(call.func).rpartition(".")[2]], "mask")
        match resolve_local(kernel, mask) if mask is not None else None:
            case ast.Compare(ast.expr() as at, [ast.Lt()], [ast.Name() as bound]):
                if _contiguous(kernel, at, unspecialized - {bound.id}, module) and _adds(
                    kernel, call.args[0], at
                ):
                    yield bound.id, call.lineno


def _contiguous(kernel: KernelSource, node: ast.expr, unaligned: Set[str], module: PythonModule) -> bool:
    """Check whether a sum consists of one `tl.arange` and of scalars, none of them `unaligned`."""
    addends = [resolve_local(kernel, term) for term in terms(resolve_local(kernel, node))]
    ranges = [call for addend in addends if (call := module.tl(addend, "arange"))]
    other_parts = [part for addend in addends if not module.tl(addend, "arange") for part in ast.walk(addend)]
    if len(ranges) != 1 or not _long(kernel, ranges[0], module):
        return False
    return not any(isinstance(part, ast.Name) and part.id in unaligned for part in other_parts) and not any(
        isinstance(part, ast.Subscript) or module.tl(part, "arange", "load") for part in other_parts
    )


def _long(kernel: KernelSource, call: ast.Call, module: PythonModule) -> bool:
    """Check whether a `tl.arange` is so long that each thread of four warps holds several elements."""
    end = call.args[-1] if call.args else call
    parameter = kernel.parameter(end.id) if isinstance(end, ast.Name) else None
    if parameter is None:
        values = [module.value(end, module.scope)]
    else:
        launches = [launch for launch in module.launches if launch.kernel is kernel]
        passed = [(launch.arguments.get(parameter.name), launch.scope) for launch in launches]
        values = [module.value(node, scope) for node, scope in passed if node is not None]
        values += (kernel.autotune.values(parameter.name) if kernel.autotune else None) or []
        values += [module.value(parameter.default, module.scope)] if parameter.default else []
    return any(isinstance(value, int) and value > _THREADS for value in values)


def _has_rows(kernel: KernelSource) -> bool:
    """Return True if the kernel has blocks of more than one dimension."""
    return any(
        isinstance(node, ast.Subscript)
        and isinstance(node.slice, ast.Tuple)
        and any(isinstance(index, ast.Constant) and index.value is None for index in node.slice.elts)
        for node in kernel.nodes
    )


def _adds(kernel: KernelSource, pointer: ast.expr, at: ast.expr) -> bool:
    """Return True if a pointer is a sum that has `at` as a term."""
    term_text = ast.dump(at)
    return any(ast.dump(term) == term_text for term in terms(resolve_local(kernel, pointer)))


UNSPECIALIZED_BOUND = SourceRule(
    "IRS110",
    "unspecialized-bound",
    """\
A mask's bound in do_not_specialize.

**What it does.** Reports a parameter in `do_not_specialize` or `do_not_specialize_on_alignment` that
bounds the mask of a contiguous one-dimensional access.

**Why is this bad?** The compiler does not know that the bound is divisible by 16, so each load and store
moves one element instead of up to 16 bytes.

**Example**

```python
@triton.jit(do_not_specialize=["n"])
def add(x_ptr, n, BLOCK: tl.constexpr):
    offsets = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    x = tl.load(x_ptr + offsets, mask=offsets < n)
```

**Use instead**

```python
@triton.jit
def add(x_ptr, n, BLOCK: tl.constexpr): ...
```

**Limits.** Kernels with two-dimensional blocks are skipped, because the bound may limit the rows. So are
ranges that nothing in the file makes longer than 128.
""",
    unspecialized_bound,
)
