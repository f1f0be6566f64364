"""Which code of a capture nobody has vouched for: other people's captures can name and have any.

Code is trusted if it was compiled on this machine before. A file is also trusted if it has the kernel as the
capture does: the file is then what the capture was made of.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from pathlib import Path
from textwrap import dedent

from irscope.model import Kernel, UserError, Variant
from irscope.model.files import check_regular
from irscope.store import CaptureReader
from irscope.store.made_here import is_remembered
from irscope.store.new_variant import kernel_digest
from irscope.targets import backend_of
from irscope.workspace.what_if import source_state

# The largest file that is parsed.
_MAX_BYTES = 10_000_000


def untrusted_files(kernels: Iterable[Kernel]) -> Iterator[str]:
    """Yield a line for each file that compiling the kernels would execute, and that is not trusted."""
    for kernel in dict.fromkeys(kernels):
        file = Path(kernel.source.file)
        if not file.is_file() or is_remembered([kernel_digest(kernel)]):
            continue  # what is not there is not executed
        if not file.is_absolute():
            yield f"{file} (a relative path)"
        elif not has_kernel(file, kernel):
            yield f"{file} ({source_state(file, kernel)})"


def trusted_file(kernel: Kernel) -> Path | None:
    """Return the file that compiling a kernel executes; None if there is none, or it is not trusted."""
    file = Path(kernel.source.file)
    return file if file.is_file() and not any(untrusted_files([kernel])) else None


def has_kernel(file: Path, kernel: Kernel) -> bool:
    """Return True if a file has the function as it was captured. Execute nothing.

    A part of the function is not enough: the capture of somebody else could name one that any file has.
    """
    text = kernel.source.text.strip()
    if not re.search(rf"\bdef {re.escape(kernel.name)}\b", text):
        return False
    try:
        if check_regular(file).st_size > _MAX_BYTES:
            return False
        content = file.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(content)))
    except (OSError, UserError, ValueError, SyntaxError, RecursionError, MemoryError):
        return False
    lines = content.splitlines(keepends=True)
    for node in nodes:
        if isinstance(node, ast.FunctionDef) and node.name == kernel.name:
            first = min([node.lineno, *(decorator.lineno for decorator in node.decorator_list)])
            function, whole = ("".join(lines[start - 1 : node.end_lineno]) for start in (node.lineno, first))
            for captured in (text, dedent(kernel.source.text).strip()):
                if any(of(function).strip() in captured and captured in of(whole) for of in (str, dedent)):
                    return True
    return False


def kernels_of(path: Path) -> list[Kernel]:
    """Return the kernels of the variants of a capture. Raise UserError if it cannot be read."""
    with CaptureReader(path) as reader:
        return list(dict.fromkeys(variant.kernel for variant in reader.variants()))


def has_trusted_text(path: Path, variant: Variant) -> bool:
    """Return True if the stand-alone text of a variant's kernel, which `reproduce` runs, was made here."""
    with CaptureReader(path) as reader:
        return is_remembered([artifact.digest for artifact in reader.attached(variant).values()])


def has_trusted_binary(variant: Variant) -> bool:
    """Return True if the machine code of a variant was compiled here, or there is none."""
    artifact = variant.artifacts.get(backend_of(variant.target).binary)
    return artifact is None or is_remembered([artifact.digest])
