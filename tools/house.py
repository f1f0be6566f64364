"""Measure how the code base is built, and exit with 1 if a figure is over its limit.

    python -m tools.house           # this tree
    python -m tools.house ../other  # another one, by its own limits

The limits are in the tree's pyproject.toml, under [tool.irscope-house]. Lower one when a figure falls, so
that it does not grow back. Files are parsed, not imported.
"""

from __future__ import annotations

import argparse
import ast
import sys
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Function = ast.FunctionDef | ast.AsyncFunctionDef

# Words that begin a docstring that names a thing instead of saying what the function does.
NOUN_STARTS = {
    "A", "All", "An", "Each", "Every", "Facts", "How", "If", "Lines", "Names", "One", "The", "Variants",
    "What", "Where", "Whether", "Which", "Why",
}  # fmt: skip
# Local names that say nothing about the value.
VAGUE_NAMES = {
    "asked", "at", "each", "found", "given", "here", "instead", "kept", "known", "left_over", "made", "one",
    "other", "others", "own", "place", "places", "seen", "shown", "taken", "there", "these", "those",
    "wanted", "written",
}  # fmt: skip
# Folders whose modules are named after a command, screen, tool or rule; other modules may share the name.
FOLDERS_WITH_GIVEN_NAMES = {"cli", "screens", "tools", "rules"}
# Folders with kernels of lessons: what a learner edits, not modules of irscope.
KERNEL_FOLDERS = {"exercise_files", "lessons", "samples"}
LONG_FUNCTION, SMALL_MODULE = 40, 100


@dataclass(frozen=True)
class Module:
    """A parsed Python file; `path` is relative to the tree."""

    path: Path
    lines: int
    tree: ast.Module

    @property
    def name(self) -> str:
        """The name to import it by."""
        return ".".join(self.path.with_suffix("").parts).removesuffix(".__init__")

    @property
    def is_package(self) -> bool:
        """Whether it is the `__init__.py` of a package."""
        return self.path.name == "__init__.py"

    @property
    def is_kernel(self) -> bool:
        """Whether it is a kernel of a lesson."""
        return not KERNEL_FOLDERS.isdisjoint(self.path.parts)


def main() -> int:
    """Print the figures; return 1 if one is over its limit."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("tree", nargs="?", type=Path, default=Path(__file__).resolve().parent.parent)
    root: Path = parser.parse_args().tree
    with (root / "pyproject.toml").open("rb") as file:
        tools = tomllib.load(file)["tool"]
    limits: dict[str, float] = tools["irscope-house"]
    values = figures(root, tools)
    problems = [f"{name}: no figure has this name" for name in limits.keys() - values.keys()]
    for name, value in values.items():
        limit = limits.get(name)
        print(f"{name:34} {value:>7,} of {limit:,}" if limit is not None else f"{name:34} {value:>7,}")
        if limit is None:
            problems.append(f"{name}: no limit in pyproject.toml")
        elif value > limit:
            problems.append(f"{name}: {value:,} is over the limit of {limit:,}")
    for problem in problems:
        print(problem, file=sys.stderr)
    return 1 if problems else 0


def figures(root: Path, tools: Mapping[str, Any]) -> dict[str, float]:
    """Return each figure of a tree by its name; `tools` are the tables under [tool] of its pyproject.toml."""
    modules = list(read_modules(root))
    functions = [node for module in modules for node in functions_of(module)]
    exports = exported_names(modules)
    return {
        "ast-nodes": sum(1 for module in modules for _ in ast.walk(module.tree)),
        "files": sum(not module.is_kernel for module in modules),
        "packages": len({module.path.parts[1] for module in modules if len(module.path.parts) > 2}),
        "import-layers": import_layers(tools),
        "workspace-exports": len(exports),
        "workspace-exported-functions": sum(name[0].islower() for name in exports),
        "small-modules-with-one-importer": len(small_modules_with_one_importer(modules)),
        "class-names-defined-twice": len(class_names_defined_twice(modules)),
        "modules-sharing-a-name": modules_sharing_a_name(modules),
        "functions-over-40-lines": sum(line_count(function) > LONG_FUNCTION for function in functions),
        "longest-file": max(module.lines for module in modules),
        "docstrings-without-a-verb-percent": percent(map(lacks_verb, docstrings(functions))),
        "vague-locals-percent": percent(name in VAGUE_NAMES for name in local_names(functions)),
        "benchmark-files": len(list((root / "benchmarks").rglob("*.py"))),
    }


def read_modules(root: Path) -> Iterator[Module]:
    """Yield the modules of the package."""
    for path in sorted((root / "irscope").rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        yield Module(path.relative_to(root), text.count("\n"), ast.parse(text))


def functions_of(module: Module) -> Iterator[Function]:
    """Yield the functions and methods of a module, nested ones included."""
    for node in ast.walk(module.tree):
        if isinstance(node, Function):
            yield node


def exported_names(modules: Iterable[Module]) -> list[str]:
    """Return the names that the workspace exports: what its `__init__` imports from irscope."""
    return [
        alias.asname or alias.name
        for module in modules
        if module.name == "irscope.workspace"
        for node in ast.walk(module.tree)
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("irscope.")
        for alias in node.names
    ]


def import_layers(tools: Mapping[str, Any]) -> int:
    """Return the number of layers that import-linter checks."""
    contracts = tools.get("importlinter", {}).get("contracts", [])
    return sum(len(contract["layers"]) for contract in contracts if contract["type"] == "layers")


def small_modules_with_one_importer(modules: Sequence[Module]) -> list[str]:
    """Return the modules that could be part of the only module that imports them."""
    names = {module.name for module in modules}
    importers: dict[str, set[str]] = defaultdict(set)
    for module in modules:
        for target in imported_modules(module, names):
            importers[target].add(module.name)
    return [
        module.name
        for module in modules
        if not module.is_package
        and not module.is_kernel
        and module.lines < SMALL_MODULE
        and len(importers[module.name]) == 1
    ]


def imported_modules(module: Module, names: set[str]) -> Iterator[str]:
    """Yield the modules that a module imports. `names` are all modules: `from x import y` may import x.y."""
    for node in ast.walk(module.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                qualified = f"{node.module}.{alias.name}"
                yield qualified if qualified in names else node.module


def class_names_defined_twice(modules: Iterable[Module]) -> list[str]:
    """Return the class names with more than one definition."""
    nodes = (node for module in modules for node in ast.walk(module.tree))
    definitions = Counter(node.name for node in nodes if isinstance(node, ast.ClassDef))
    return [name for name, count in definitions.items() if count > 1]


def modules_sharing_a_name(modules: Iterable[Module]) -> int:
    """Return how many modules have the file name of another."""
    names = Counter(
        module.path.name
        for module in modules
        if not module.is_package and FOLDERS_WITH_GIVEN_NAMES.isdisjoint(module.path.parts)
    )
    return sum(count for count in names.values() if count > 1)


def line_count(function: Function) -> int:
    """Return the lines of a function, without its decorators."""
    return (function.end_lineno or function.lineno) - function.lineno + 1


def docstrings(functions: Iterable[Function]) -> Iterator[str]:
    """Yield the docstrings of the functions that have one."""
    for function in functions:
        if text := ast.get_docstring(function):
            yield text


def lacks_verb(docstring: str) -> bool:
    """Return True if a docstring begins with a noun phrase or a clause."""
    return docstring.split(maxsplit=1)[0] in NOUN_STARTS


def local_names(functions: Iterable[Function]) -> Iterator[str]:
    """Yield a name per assignment in a function; nested functions count again."""
    for function in functions:
        for node in ast.walk(function):
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
                yield node.id


def percent(answers: Iterable[bool]) -> float:
    """Return the share of true answers in percent, to one decimal."""
    values = list(answers)
    return round(100 * sum(values) / max(len(values), 1), 1)


if __name__ == "__main__":
    sys.exit(main())
