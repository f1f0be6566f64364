"""Measures how readable the source tree is: sizes, duplicate names, backend literals, unidiomatic English.

    python benchmarks/structure.py            # this tree
    python benchmarks/structure.py ../other   # another one

Uses the standard library only, and reads the files without importing them.
"""

from __future__ import annotations

import argparse
import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from statistics import median

BACKEND_WORDS = {"cuda", "hip", "ptx", "cubin", "sass", "amdgcn", "hsaco"}
# Idioms that native engineering docs hardly use; each should be near 0 per 10,000 words.
IDIOMS = {
    'noun clause "What ..."': r"(?:^|[.!?]\s+)(?:What|Which)\b(?![^.!?]*\?)",
    '"where there is", "where it is" for "if"': r"\bwhere (?:there|it|they|none|one|nothing|that|this)\b",
    '"stands"': r"\bstands?\b(?!-)",
    '"tells", "told"': r"\b(?:tells?|told)\b",
    '"beside", "behind"': r"\b(?:beside|behind)\b",
    '"is no" for "is not"': r"\bis no\b",
    '"alone" for "only"': r"\balone\b",
    '"a thread" for "per thread"': r"\b(?:\w+s|[\d)]) an? (?:thread|block|warp|stage|variant|second)\b",
}


@dataclass(frozen=True)
class Source:
    """A parsed Python file."""

    path: Path
    text: str
    tree: ast.Module

    @property
    def lines(self) -> int:
        """The number of lines of the file."""
        return self.text.count("\n")


def main() -> None:
    """Prints the figures of a tree."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("tree", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    tree = parser.parse_args().tree.resolve()
    package = tree / "irscope"
    sources = [
        Source(path, text := path.read_text(encoding="utf-8"), ast.parse(text))
        for path in sorted(package.rglob("*.py"))
    ]
    for name, value in figures(sources, package):
        print(f"{name:46} {value}")


def figures(sources: list[Source], package: Path) -> Iterator[tuple[str, str]]:
    """Yields the name and the value of each figure."""
    yield "files", f"{len(sources):,}"
    yield "lines", f"{sum(source.lines for source in sources):,}"
    yield from _sizes("file", [(source.lines, _name(source, package)) for source in sources])
    yield from _sizes("function", list(functions(sources, package)))
    modules = [
        source.path.stem for source in sources if source.path.name not in ("__init__.py", "__main__.py")
    ]
    yield "modules that share a file name", _repeated(modules)
    yield "class names defined more than once", _repeated(class_names(sources))
    literals = [
        (word, source.path)
        for source in sources
        if not source.path.is_relative_to(package / "backends")
        for word in backend_literals(source.tree)
    ]
    yield (
        "backend literals outside irscope/backends",
        f"{len(literals)} in {len({path for _, path in literals})} files: "
        + ", ".join(f"{word} {count}" for word, count in Counter(word for word, _ in literals).most_common()),
    )
    texts = [prose for source in sources for prose in prose_of(source)]
    words = sum(len(text.split()) for text in texts)
    yield "words of comments and docstrings", f"{words:,}"
    for name, pattern in IDIOMS.items():
        count = sum(len(re.findall(pattern, text)) for text in texts)
        yield f"  {name}", f"{count * 10_000 / max(words, 1):.1f} per 10,000 words ({count})"


def functions(sources: Iterable[Source], package: Path) -> Iterator[tuple[int, str]]:
    """Yields each function's lines, decorators not counted, and where it is."""
    for source in sources:
        for node in ast.walk(source.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
                yield (
                    (node.end_lineno or node.lineno) - node.lineno + 1,
                    f"{_name(source, package)}:{node.name}",
                )


def class_names(sources: Iterable[Source]) -> Iterator[str]:
    """Yields the name of every class."""
    for source in sources:
        yield from (node.name for node in ast.walk(source.tree) if isinstance(node, ast.ClassDef))


def backend_literals(tree: ast.Module) -> Iterator[str]:
    """Yields the strings that are a backend's name or the name of one of its stages."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in BACKEND_WORDS:
            yield node.value


def prose_of(source: Source) -> Iterator[str]:
    """Yields each docstring, and each run of comment lines."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and (
            text := ast.get_docstring(node)
        ):
            yield _joined(text)
    run: list[str] = []
    last = 0
    for token in tokenize.generate_tokens(io.StringIO(source.text).readline):
        if token.type == tokenize.COMMENT:
            if run and token.start[0] != last + 1:
                yield _joined(" ".join(run))
                run = []
            run.append(token.string.lstrip("#:! "))
            last = token.start[0]
    if run:
        yield _joined(" ".join(run))


def _joined(text: str) -> str:
    return " ".join(text.split())


def _sizes(kind: str, sized: list[tuple[int, str]]) -> Iterator[tuple[str, str]]:
    longest = max(sized)
    yield f"median {kind}", f"{median(size for size, _ in sized):g} lines"
    yield f"longest {kind}", f"{longest[0]:,} lines ({longest[1]})"


def _repeated(names: Iterable[str]) -> str:
    counts = {name: count for name, count in Counter(names).most_common() if count > 1}
    listed = ", ".join(f"{name} {count}" for name, count in counts.items())
    return f"{sum(counts.values())} ({len(counts)} names{': ' if listed else ''}{listed})"


def _name(source: Source, package: Path) -> str:
    return source.path.relative_to(package.parent).as_posix()


if __name__ == "__main__":
    main()
