"""Plants edits in kernels, and checks that the diff of TTIR names exactly what each changed.

    python benchmarks/truth/planted_edits.py [--limit N] [--show]

Each edited kernel is compiled to TTIR, and compared with the original in both directions. The judge is
`ttir_oracle.py`, which counts operations and shares no code with irscope's diff. An edit is

    exact      if the diff reports exactly the operations that differ, on their lines, with the right classes
    mirrored   if diff(B, A) is diff(A, B) with the sides swapped
    in words   if one finding names the edit and its line, and no other edit is claimed

Edits that do not compile, or that the compiler folds away, are not counted.
"""

from __future__ import annotations

import argparse
import linecache
import os
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType
from typing import Any

sys.path[:0] = [str(Path(__file__).parents[2])]

from benchmarks.truth import edited_kernels
from benchmarks.truth.plant import Planted, planted_edits
from benchmarks.truth.ttir_oracle import Verdict, judge
from irscope.analysis.findings.finding import PairContext
from irscope.analysis.findings.source_edits import source_edits
from irscope.analysis.source_alignment import line_map
from irscope.diff.rows import StageDiff
from irscope.diff.stage_diff import diff_stage
from irscope.languages.language_registry import parse
from irscope.model import Config, Kernel, SourceFunction, Target, Toolchain, Variant

FILE = "/planted/kernels.py"
HEADER = "import triton\nimport triton.language as tl\n"
FIRST_LINE = HEADER.count("\n") + 1


@dataclass(frozen=True)
class Compiled:
    """A kernel's text and its TTIR."""

    name: str
    text: str
    ttir: str

    @property
    def variant(self) -> Variant:
        """A variant of a capture with only what comparing sources needs."""
        source = SourceFunction(self.name, FILE, FIRST_LINE, self.text)
        kernel = Kernel(1, self.name, source, (), ())
        return Variant(1, kernel, Target("cuda", "90", 32), (), Config(), Toolchain(1, {}, ""))


class Compiler:
    """Compiles kernels to TTIR for sm_90, in this process."""

    def __init__(self) -> None:
        from triton.backends.compiler import GPUTarget
        from triton.compiler.compiler import make_backend

        self.target = GPUTarget("cuda", 90, 32)
        self.backend = make_backend(self.target)

    def compile(self, name: str, text: str) -> Compiled:
        """The TTIR of the kernel `name`; raises what Triton raises."""
        from triton._C.libtriton import ir
        from triton.compiler import ASTSource

        function = self._function(name, HEADER + text)
        types, constants = edited_kernels.SPECS[name]
        arguments = [one for one in function.arg_names if one not in constants]
        signature = dict(zip(arguments, types.split(), strict=True)) | dict.fromkeys(constants, "constexpr")
        source = ASTSource(function, signature, constants)
        options = self.backend.parse_options({})
        context = ir.context()
        ir.load_dialects(context)
        self.backend.load_dialects(context)
        codegen = self.backend.get_codegen_implementation(options)
        modules = self.backend.get_module_map()
        module = source.make_ir(self.target, options, codegen, modules, context)
        module = self.backend.make_ttir(module, {}, options, 90)
        return Compiled(name, text, ttir_text(module))

    def _function(self, name: str, text: str) -> Any:
        linecache.cache[FILE] = (len(text), None, text.splitlines(keepends=True), FILE)
        code: CodeType = compile(text, FILE, "exec")
        scope: dict[str, Any] = {"__name__": "kernels"}
        exec(code, scope)
        return scope[name]


@contextmanager
def quiet() -> Iterator[None]:
    """Without what MLIR prints on stderr about kernels that do not compile."""
    saved, sink = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(sink, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(sink)


def ttir_text(module: Any) -> str:
    """A module as Triton stores it, with locations."""
    return str(module)


def kernels() -> Iterator[tuple[str, str]]:
    """The name and text of each kernel, decorator included."""
    text = Path(edited_kernels.__file__).read_text()
    for part in text.split("@triton.jit\n")[1:]:
        name = part.removeprefix("def ").partition("(")[0]
        yield name, "@triton.jit\n" + part.rstrip() + "\n"


def compare(a: Compiled, b: Compiled) -> StageDiff:
    """The diff of TTIR as irscope computes it for a pair of an open capture."""
    lines = line_map(a.variant.kernel, b.variant.kernel)
    return diff_stage("ttir", parse(a.ttir, "mlir"), parse(b.ttir, "mlir"), lines)


def sentences(a: Compiled, b: Compiled, diff: StageDiff) -> list[str]:
    """The findings about the edits of the source."""
    pair = PairContext(a.variant, b.variant, {}, {}, {"ttir": diff.in_lines_of_b()})
    return [finding.text for finding in source_edits(pair)]


def said(edit: Planted, found: list[str]) -> bool:
    """Whether the only sentence names the edit and its line."""
    line = edit.line + FIRST_LINE - 1
    if len(found) != 1:
        return False
    place = f"line {line} of A: " if edit.removed else f"line {line}: "
    if edit.moved:
        return found[0].startswith((place, f"line {line + 1}: ")) and "moved" in found[0]
    return found[0].startswith(place) and all(word in found[0] for word in edit.words)


def mirror(diff: StageDiff, back: StageDiff) -> bool:
    """Whether `back` is `diff` with the sides swapped."""
    counts = {change.mirrored: number for change, number in diff.counts.items()}
    rows = Counter(row.mirrored for row in diff.rows)
    return counts == back.counts and rows == Counter(back.rows)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--limit", type=int, default=10**6, help="edits per kernel")
    parser.add_argument("--kernel", default="", help="only this kernel")
    parser.add_argument("--show", action="store_true", help="print what is wrong")
    options = parser.parse_args()
    compiler, total = Compiler(), Counter[str]()
    wrong: Counter[str] = Counter()
    for name, text in kernels():
        if options.kernel not in ("", name):
            continue
        a = compiler.compile(name, text)
        for edit in list(planted_edits(text))[: options.limit]:
            try:
                with quiet():
                    b = compiler.compile(name, edit.text)
            except Exception:
                total["do not compile"] += 1
                continue
            verdict = check(a, b, edit)
            total.update(verdict.names)
            if verdict.problems:
                wrong[edit.kind] += 1
                if options.show:
                    print(
                        f"--- {name} line {edit.line}: {edit.kind} {edit.words}",
                        *verdict.problems,
                        sep="\n    ",
                    )
    print(", ".join(f"{number} {name}" for name, number in sorted(total.items())))
    print("wrong by kind of edit:", dict(wrong))


@dataclass(frozen=True)
class Outcome:
    """What holds for one edit, and what is wrong."""

    names: list[str]
    problems: list[str]


def check(a: Compiled, b: Compiled, edit: Planted) -> Outcome:
    """Compares both directions and judges them."""

    def moved(line: int) -> int | None:
        new = edit.lines(line - FIRST_LINE + 1)
        return None if new is None else new + FIRST_LINE - 1

    forward, backward = compare(a, b), compare(b, a)
    verdict: Verdict = judge(a.ttir, b.ttir, forward, moved)
    if verdict.folded:
        return Outcome(["folded away"], [])
    found = sentences(a, b, forward)
    names, problems = ["planted"], list(verdict.problems)
    names += [] if verdict.problems else ["exact"]
    names += ["right class"] if not verdict.wrong_class else []
    if mirror(forward, backward):
        names.append("mirrored")
    else:
        problems.append("not mirrored")
    if said(edit, found):
        names.append("in words")
    else:
        problems.append(f"said: {found}")
    return Outcome(names, problems)


if __name__ == "__main__":
    main()
