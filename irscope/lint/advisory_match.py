"""Which advisories affect a kernel: of a capture, by its stages, or of a Python file, by its source."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib.metadata import distributions
from itertools import islice
from textwrap import dedent

from irscope.diff.def_use import Definitions
from irscope.languages.document import Document
from irscope.lint.advisory import Advisory, OperationPattern, holds
from irscope.lint.compiled import CompiledKernel
from irscope.lint.diagnostic import Diagnostic
from irscope.lint.source.python_module import PythonModule
from irscope.model import Variant

_CONVERSION = "ttg.convert_layout"
# The argument of a region, such as a value that a loop carries, instead of an opcode.
_ARGUMENT = "argument"
# The packages that have Triton: from PyPI, and from PyTorch's index.
_PACKAGES = ("triton", "pytorch-triton", "pytorch-triton-rocm", "triton-rocm")
# Config values of Triton, which its metadata has under the same names.
_OPTIONS = ("num_warps", "num_stages", "num_ctas")


def installed_triton() -> str:
    """Return the version of the installed Triton without importing it, "" if none is installed."""
    found = (package for name in _PACKAGES for package in distributions(name=name))
    return next((package.version for package in found), "")


def advise_source(advisory: Advisory, module: PythonModule, triton: str) -> Iterator[Diagnostic]:
    """Yield a diagnostic per kernel of a file that this version of Triton gets wrong.

    Only advisories whose calls alone identify an affected kernel are decided by source.
    """
    if not advisory.calls or advisory.operations or advisory.config or not advisory.affects(triton):
        return
    for kernel in module.kernels.values():
        if not any(fnmatchcase(kernel.name, name) for name in advisory.kernels):
            continue
        nodes = _affected_calls(advisory, kernel.node)
        if nodes:
            message = _message(advisory, kernel.name, f"the installed Triton {triton}")
            yield module.diagnostic(advisory, nodes[0], message, _fix(advisory), kernel)


def advise_capture(advisory: Advisory, compiled: CompiledKernel) -> Iterator[Diagnostic]:
    """Yield a diagnostic per version of Triton that made affected variants of a kernel."""
    matches: dict[tuple[str, int | None], list[Variant]] = {}
    is_target = any(fnmatchcase(str(compiled.target), name) for name in advisory.targets)
    if not is_target or not any(fnmatchcase(compiled.kernel.name, name) for name in advisory.kernels):
        return
    for variant in compiled.variants:
        triton = variant.toolchain.versions.get("triton", "")
        ptxas = variant.toolchain.versions.get("ptxas", "")
        if advisory.affects(triton) and advisory.affects_ptxas(ptxas) and _has_config(advisory, variant):
            line = _affected_line(advisory, compiled, variant)
            if line is not None:
                matches.setdefault((triton, line or None), []).append(variant)
    for (triton, line), variants in matches.items():
        subject = f"{compiled.kernel.name}: {compiled.share(variants)}: {compiled.listed(variants)}"
        message = _message(advisory, subject, f"Triton {triton} for {compiled.target}")
        yield compiled.diagnostic(advisory, message, _fix(advisory), line)


def _message(advisory: Advisory, subject: str, compiler: str) -> str:
    title = advisory.summary.rstrip(".")
    return f"{advisory.effect}: {title}, with {compiler} (affected: {advisory.versions}): {subject}"


def _fix(advisory: Advisory) -> str:
    return f"{advisory.workaround}; see {advisory.source}"


def _has_config(advisory: Advisory, variant: Variant) -> bool:
    if not advisory.config:
        return True
    values = {name: variant.metadata[name] for name in _OPTIONS if name in variant.metadata}
    values |= {argument.name: argument.value for argument in variant.specialization if argument.value}
    values |= variant.settings
    return all(holds(values.get(name), expected) for name, expected in advisory.config)


def _affected_line(advisory: Advisory, compiled: CompiledKernel, variant: Variant) -> int | None:
    """Return the line of the kernel's file that is affected, 0 if no one line is; None if none is."""
    if advisory.failure is not None:
        output = f"{variant.failure.message if variant.failure else ''}\n{variant.output}"
        return 0 if advisory.failure.search(output) else None
    if variant.failure is not None:
        return None
    lines: list[int] = []
    if advisory.calls:
        nodes = [
            line
            for function in variant.kernel.own_functions
            for line in _call_lines(advisory, function.text, function.line)
        ]
        if not nodes:
            return None
        lines += nodes
    for pattern in advisory.operations:
        line = _operation_line(pattern, compiled, variant)
        if line is None:
            return None
        lines.append(line)
    return next(filter(None, lines), 0)


def _call_lines(advisory: Advisory, text: str, first: int) -> list[int]:
    return [first + node.lineno - 1 for node in _affected_calls(advisory, _parse(text))]


@lru_cache(maxsize=256)
def _parse(text: str) -> ast.Module:
    try:
        return ast.parse(dedent(text))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _affected_calls(advisory: Advisory, tree: ast.AST) -> list[ast.Call]:
    """Return the calls that match, in the order of the patterns; none if a pattern matches no call."""
    texts = [(node, text) for node, text in _calls(tree) if text]
    found = []
    for pattern in advisory.calls:
        node = next((node for node, text in texts if pattern.match(text)), None)
        if node is None:
            return []
        found.append(node)
    return found


@lru_cache(maxsize=256)
def _calls(tree: ast.AST) -> Sequence[tuple[ast.Call, str]]:
    """Return the calls of a function with their texts: "softmax(x, dim=1)" for `tl.softmax(x, dim=1)`."""
    calls = [node for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [(node, _without_module(node)) for node in calls]


def _without_module(call: ast.Call) -> str:
    arguments = [ast.unparse(argument) for argument in [*call.args, *call.keywords]]
    function = call.func
    name = function.attr if isinstance(function, ast.Attribute) else getattr(function, "id", "")
    return f"{name}({', '.join(arguments)})"


def _operation_line(pattern: OperationPattern, compiled: CompiledKernel, variant: Variant) -> int | None:
    """Return the line of the kernel's file where a stage has the operation, 0 if it has no line there.

    Returns None if the stage does not have it; if it must be absent, None if the stage has it.
    """
    text = compiled.text(variant, pattern.stage)
    if text is None:
        return None
    if not _may_match(pattern, text):
        return 0 if pattern.absent else None
    document = compiled.document(variant, pattern.stage)
    defined = compiled.definitions(variant, pattern.stage)
    indices = list(islice(_find(pattern, document, defined), pattern.count))
    has_enough = len(indices) == pattern.count
    if has_enough == pattern.absent:
        return None
    if pattern.absent:
        return 0
    location = document.operations[indices[0]].location
    outermost = location.outermost if location else None
    is_in_file = outermost is not None and outermost.file == variant.kernel.source.file
    return outermost.line if outermost is not None and is_in_file else 0


def _may_match(pattern: OperationPattern, text: str) -> bool:
    """Return False if a stage's text shows that it has no match: parsing takes a hundred times as long."""
    opcodes = {pattern.opcode, pattern.inside, *pattern.operands} - {_ARGUMENT}
    has_opcodes = all(opcode.rstrip("*") in text for opcode in opcodes)
    return has_opcodes and (pattern.text is None or pattern.text.search(text) is not None)


def _find(pattern: OperationPattern, document: Document, defined: Definitions) -> Iterator[int]:
    for index, operation in enumerate(document.operations):
        if not fnmatchcase(operation.opcode, pattern.opcode):
            continue
        if pattern.text is not None and not pattern.text.search(document.lines[operation.line]):
            continue
        if pattern.inside and not _is_inside(document, index, pattern.inside):
            continue
        if not pattern.operands or _comes_from(document, defined, index, pattern.operands):
            yield index


def _is_inside(document: Document, index: int, opcode: str) -> bool:
    parent = document.operations[index].parent
    while parent >= 0:
        if fnmatchcase(document.operations[parent].opcode, opcode):
            return True
        parent = document.operations[parent].parent
    return False


def _comes_from(document: Document, defined: Definitions, index: int, opcodes: Sequence[str]) -> bool:
    """Return True if an operand of an operation comes from `opcodes`, the last one first."""
    if not opcodes:
        return True
    for definition in defined[index]:
        if definition is None:
            continue
        if definition.argument:
            if opcodes == (_ARGUMENT,):
                return True
            continue
        opcode = document.operations[definition.owner].opcode
        remaining = opcodes if opcode == _CONVERSION else opcodes[1:]
        is_next = opcode == _CONVERSION or fnmatchcase(opcode, opcodes[0])
        if is_next and _comes_from(document, defined, definition.owner, remaining):
            return True
    return False
