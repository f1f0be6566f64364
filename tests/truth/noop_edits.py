"""Edits that mean nothing: the diff of every stage must be empty, and there must be no finding.

Each kernel is copied, edited and compiled anew; "warm cache" compiles the copy with the cache of the
original, so that Triton returns the original's IR.
"""

from __future__ import annotations

import ast
import contextlib
import io
import os
import shutil
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from pathlib import Path

import irscope
from irscope.api import Capture
from irscope.cli.main import main as irscope_command
from irscope.model import UserError, Variant
from irscope.workspace import Comparison
from tests.truth import source_edits
from tests.truth.corpus import Case, load

# Findings that only say that A and B are equal.
_SAY_EQUAL = ("identical", "stages")
_CACHE = "TRITON_CACHE_DIR"
_ORIGINAL = "original"
_ALL = "all of these"
_MOST_PRINTED = 5


@dataclass
class Copy:
    """A folder with an edited copy of a kernel's file and of those that it imports."""

    case: Case
    texts: dict[str, str]
    warm: bool = False

    def edited(self, edit: Callable[[str], str]) -> Copy:
        """The copy with every file edited."""
        return replace(self, texts={name: edit(text) for name, text in self.texts.items()})

    def renamed(self, names: Mapping[str, str], function: str | None = None) -> Copy:
        """The copy with names changed in one function of the kernel's file, or in all files."""
        texts = dict(self.texts)
        for name in texts if function is None else [self.case.file.name]:
            texts[name] = source_edits.with_names(texts[name], function, names)
        config = {names.get(name, name): value for name, value in self.case.config.items()}
        kernel = names.get(self.case.kernel, self.case.kernel)
        return replace(self, texts=texts, case=replace(self.case, kernel=kernel, config=config))

    def in_file(self, name: str) -> Copy:
        """The copy with the kernel's file called `name`."""
        texts = {name if key == self.case.file.name else key: text for key, text in self.texts.items()}
        return replace(self, texts=texts, case=replace(self.case, file=Path(name)))

    @property
    def functions(self) -> list[ast.FunctionDef]:
        """The compiled functions in the kernel's file."""
        return source_edits.functions(ast.parse(self.texts[self.case.file.name]))


def _renamed_kernel(copy: Copy) -> Copy:
    return copy.renamed({copy.case.kernel: f"a_much_longer_name_of_{copy.case.kernel}"})


def _renamed_helpers(copy: Copy) -> Copy:
    names = [
        node.name
        for text in copy.texts.values()
        for node in source_edits.functions(ast.parse(text))
        if node.name != copy.case.kernel
    ]
    return copy.renamed({name: f"z{number}_{name[::-1]}" for number, name in enumerate(names)})


def _renamed_parameters(copy: Copy) -> Copy:
    text = copy.texts[copy.case.file.name]
    kernel = next(node for node in copy.functions if node.name == copy.case.kernel)
    named = source_edits.strings_outside(text, kernel)
    names = {
        name: f"arg{number}_of_it"
        for number, name in enumerate(source_edits.parameters(kernel))
        if name not in named
    }
    return copy.renamed(names, copy.case.kernel)


def _renamed_locals(copy: Copy) -> Copy:
    for function in copy.functions:
        names = {
            name: f"v{number}" if number % 2 else f"another_{name}"
            for number, name in enumerate(source_edits.local_names(function))
        }
        copy = copy.renamed(names, function.name)
    return copy


def _everything(copy: Copy) -> Copy:
    for edit in (_renamed_locals, _renamed_parameters, _renamed_helpers, _renamed_kernel):
        copy = edit(copy)
    for change in (source_edits.comments_inside, source_edits.blank_lines, source_edits.code_above):
        copy = copy.edited(change)
    return copy.in_file("everything.py")


EDITS: dict[str, Callable[[Copy], Copy]] = {
    "comments above": lambda copy: copy.edited(source_edits.comments_above),
    "comments inside": lambda copy: copy.edited(source_edits.comments_inside),
    "blank lines": lambda copy: copy.edited(source_edits.blank_lines),
    "moved to another line": lambda copy: copy.edited(source_edits.code_above),
    "moved to another file": lambda copy: copy.in_file("moved_file.py"),
    "renamed kernel": _renamed_kernel,
    "renamed parameters": _renamed_parameters,
    "renamed locals": _renamed_locals,
    "renamed helpers": _renamed_helpers,
    _ALL: _everything,
    "copied file, warm cache": lambda copy: replace(copy.in_file("copied.py"), warm=True),
}


@dataclass
class Totals:
    """The comparisons and their findings, of one kind of edit."""

    pairs: int = 0
    stages: Counter[str] = field(default_factory=Counter)
    changes: int = 0
    findings: int = 0
    elsewhere: int = 0
    cached: int = 0

    @property
    def false(self) -> int:
        """The number of false statements."""
        return self.changes + self.findings + self.elsewhere

    def add(self, other: Totals) -> None:
        """Adds another total to this one."""
        self.pairs += other.pairs
        self.stages += other.stages
        self.changes += other.changes
        self.findings += other.findings
        self.elsewhere += other.elsewhere
        self.cached += other.cached


def run(cases: Sequence[Case], targets: Sequence[str], folder: Path, edits: str = "*") -> int:
    """Prints what each kind of edit that matches a glob changed; returns the number of false statements."""
    warnings.simplefilter("ignore")
    started = time.time()
    totals = {name: Totals() for name in EDITS if fnmatchcase(name, edits)}
    compiled: Counter[str] = Counter()
    for number, case in enumerate(cases):
        chosen = [target for target in targets if target in case.targets]
        if not chosen:
            continue
        compiled.update(chosen)
        for name, found in check(case, chosen, folder / str(number), tuple(totals)).items():
            totals[name].add(found)
        shutil.rmtree(folder / str(number), ignore_errors=True)
        print(f"{time.time() - started:6.0f} s  {case.name}", flush=True)
    _print_totals(totals, compiled)
    return sum(total.false for total in totals.values())


def check(
    case: Case, targets: Sequence[str], folder: Path, edits: Sequence[str] = tuple(EDITS)
) -> dict[str, Totals]:
    """Compiles a kernel and its edited copies in `folder`, and compares each copy with the kernel."""
    original = Copy(case, {file.name: file.read_text() for file in _files(case)})
    copies = {_ORIGINAL: original}
    for name in edits:
        copy = EDITS[name](original)
        if copy != original:  # a kernel without helpers has none to rename
            copies[name] = copy
    captures = []
    for number, (_, copy) in enumerate(copies.items()):
        captures.append(_compile(copy, targets, folder, number))
    merged = folder / "merged.irscope"
    with contextlib.redirect_stdout(io.StringIO()):
        irscope_command(["merge", *map(str, captures), "-o", str(merged)])
    with irscope.open(merged) as capture:
        for variant in capture.variants:
            capture.derive_stages(variant)
    with irscope.open(merged) as capture:
        by_folder: dict[str, dict[str, Variant]] = {}
        for variant in capture.variants:
            own = Path(variant.kernel.source.file).parent.name
            by_folder.setdefault(own, {})[str(variant.target)] = variant
        return {
            name: _compared(capture, name, by_folder["0"], by_folder[str(number)])
            for number, name in enumerate(copies)
            if name != _ORIGINAL
        }


def _files(case: Case) -> list[Path]:
    """The kernel's file, and the modules in its folder that it imports."""
    shared = case.file.parent / "shared_helpers.py"
    imports = shared.is_file() and "shared_helpers" in case.file.read_text()
    return [case.file, shared] if imports else [case.file]


def _compile(copy: Copy, targets: Sequence[str], folder: Path, number: int) -> Path:
    """Compiles a copy into a capture. Raises UserError if a target fails."""
    own = folder / str(number)
    own.mkdir(parents=True)
    for name, text in copy.texts.items():
        (own / name).write_text(text)
    os.environ[_CACHE] = str(folder / "cache" / ("0" if copy.warm else str(number)))
    kernel = getattr(load(own / copy.case.file.name), copy.case.kernel)
    path = folder / f"{number}.irscope"
    with irscope.compile(
        kernel, path, copy.case.signature, config=copy.case.config, target=targets, jobs=2
    ) as capture:
        for variant in capture.variants:
            if variant.failure is not None:
                raise UserError(f"{copy.case.name} {variant.target}: {variant.failure.message[-2000:]}")
    return path


def _compared(
    capture: Capture, name: str, originals: Mapping[str, Variant], copies: Mapping[str, Variant]
) -> Totals:
    """Each target's variant compared with the original, in both directions."""
    total = Totals()
    for target, copy in copies.items():
        total.cached += copy.cached
        pairs = [capture.compare(originals[target], copy)]
        if name == _ALL:  # the other direction is slow, and the most different copy is enough
            pairs.append(capture.compare(copy, originals[target]))
        for pair in pairs:
            total.pairs += 1
            total.elsewhere += _elsewhere(pair.b, pair)
            for number, text in enumerate(_false_statements(pair, total)):
                if number < _MOST_PRINTED:
                    print(f"    {name}, {copy.kernel.name} {target}: {text}")
    return total


def _false_statements(pair: Comparison, total: Totals) -> Iterator[str]:
    for stage, diff in pair.diffs(("source",)).items():
        total.stages[stage] += 1
        changes = sum(diff.counts.values()) + len(diff.layouts)
        total.changes += changes
        if changes:
            rows = [row for row in diff.rows if row.change][:_MOST_PRINTED]
            lefts = [diff.left.lines[row.left] for row in rows if row.left is not None]
            rights = [diff.right.lines[row.right] for row in rows if row.right is not None]
            yield f"{stage}: {changes} changes: {lefts} -> {rights}"
    for finding in pair.findings:
        if finding.kind not in _SAY_EQUAL or not pair.duplicate:
            total.findings += 1
            yield f"finding: {finding}"


def _elsewhere(variant: Variant, pair: Comparison) -> int:
    """How many operations of TTGIR are located in another file than those that were captured."""
    files = {function.file for function in (variant.kernel.source, *variant.kernel.helpers)}
    operations = pair.workspace.document(variant, "ttgir").operations
    return sum(each.location is not None and each.location.outermost.file not in files for each in operations)


def _print_totals(totals: Mapping[str, Totals], compiled: Counter[str]) -> None:
    print(f"\n{max(compiled.values(), default=0)} kernels: {dict(compiled)}")
    heading = ("pairs", "stages", "changes", "findings", "other file", "cached")
    print(f"{'edit':<26}", *(f"{text:>10}" for text in heading))
    for name, total in totals.items():
        numbers = (total.pairs, total.stages.total(), total.changes, total.findings)
        print(f"{name:<26}", *(f"{number:>10,}" for number in (*numbers, total.elsewhere, total.cached)))
    stages: Counter[str] = sum((total.stages for total in totals.values()), Counter())
    print(f"stage pairs: {dict(stages)}")
