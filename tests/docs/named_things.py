"""Find what the docs name and irscope does not have: options, commands, rules, files, schemas, attributes.

Each check takes the prose of a page and yields a line per name that does not exist. They run on all pages, so
a claim that names something is checked even if claims.py does not list it.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable, Iterator
from functools import cache
from importlib import import_module
from pathlib import Path

import irscope
from irscope.cli.main import COMMANDS
from irscope.learn.lesson import lessons
from irscope.lint.rules import RULES
from tests.docs.pages import PAGES, ROOT

# Other tools' own files and options, which a page names as such.
OTHER_TOOLS = re.compile(
    r"tritonparse|dask|docker|git |MLIR|mlir|SGLang|benchmarks/|tools/|[Ss]anitizer|racecheck|torchrun|pip "
    r"|diff --ai|`--ai`|`--compare`"
)
# Names that look like attributes or paths: files, a folder of the cache, the name of a fingerprint.
NO_NAMES = {"irscope.fish", "irscope.whl", "irscope/derived", "irscope/v1"}
_FENCE = re.compile(r"^ *(`{3,}).*?^ *\1 *$", re.M | re.S)
_CODE = re.compile(r"`([^`\n]+)`")


def problems(page: Path) -> Iterator[str]:
    """Yield a line per name on the page that does not exist."""
    text = _FENCE.sub("", page.read_text(encoding="utf-8"))
    for check in CHECKS:
        yield from check(text)


@cache
def options() -> frozenset[str]:
    """Return the options of all commands."""
    parsers = [argparse.ArgumentParser() for _ in COMMANDS]
    for parser, (_, module, *_) in zip(parsers, COMMANDS, strict=True):
        import_module(module).add_arguments(parser)
    actions = [action for parser in parsers for action in parser._actions]
    return frozenset(option for action in actions for option in action.option_strings) | {"--version"}


@cache
def source() -> str:
    """Return the text of the package and of what belongs to it."""
    paths = [*(ROOT / "irscope").rglob("*.py"), *(ROOT / "samples").rglob("*.py"), ROOT / "action.yml"]
    return "\n".join(path.read_text(encoding="utf-8") for path in paths)


def unknown_options(text: str) -> Iterator[str]:
    """Yield the options in code spans that no command has."""
    for line in text.splitlines():
        if OTHER_TOOLS.search(line):
            continue
        for span in _CODE.findall(line):
            if re.search(r"^'?([\w-]+\.py|python -m (benchmarks|tests|tools)\.\S+) ", span):
                continue  # another program
            for option in re.findall(r"(?<![\w-])--[a-z][a-z-]+", span):
                if option not in options() and f'"{option}"' not in source():
                    yield f"no command has the option {option}"


def unknown_commands(text: str) -> Iterator[str]:
    """Yield the words after `irscope ` in code spans that are neither a command nor a capture."""
    names = {name for name, *_ in COMMANDS} | {"COMMAND", "CAPTURE", "help"}
    for word in re.findall(r"`irscope ([a-z]+)(?=[ `])", text):
        if word not in names:
            yield f"irscope has no command {word}"


def unknown_rules(text: str) -> Iterator[str]:
    """Yield the codes of lint rules that do not exist, and those next to the name of another rule."""
    known = {rule.code: rule.name for rule in RULES}
    for code in re.findall(r"\bIRS[12]\d\d\b", text):
        if code not in known:
            yield f"no rule has the code {code}"
    for name, code in re.findall(r"\b([a-z]+(?:-[a-z]+)+),? \(?(IRS[12]\d\d)\b", text):
        if known.get(code, name) != name:
            yield f"{code} is {known[code]}, not {name}"


def missing_files(text: str) -> Iterator[str]:
    """Yield the files of this repository that a page names and that are not there."""
    pattern = r"`(?:python |pytest -m slow )?((?:benchmarks|docs|irscope|samples|tests|tools)/[\w./-]+)"
    for path in re.findall(pattern, text):
        name = path.rstrip("./")
        if name not in NO_NAMES and not any((ROOT / f"{name}{suffix}").exists() for suffix in ("", ".py")):
            yield f"the repository has no {path}"


def unknown_schemas(text: str) -> Iterator[str]:
    """Yield the schemas of JSON documents that no code writes."""
    for schema in re.findall(r"\birscope\.[a-z-]+/\d+\b", text):
        if f'"{schema}"' not in source():
            yield f"no document has the schema {schema}"


def unknown_variables(text: str) -> Iterator[str]:
    """Yield the environment variables of irscope that its code does not have."""
    for variable in re.findall(r"\bIRSCOPE_[A-Z_]+\b", text):
        if variable not in source():
            yield f"irscope reads no variable {variable}"


def unknown_attributes(text: str) -> Iterator[str]:
    """Yield the names of the Python API in code spans that do not exist."""
    for span in _CODE.findall(text):
        for owner, name in re.findall(r"\b(irscope|capture)\.([a-z_]+)\b(?!/|\.py)", span):
            value = irscope if owner == "irscope" else irscope.Capture
            known = hasattr(value, name) or _is_module(owner, name) or name == "irscope"
            if not known and f"{owner}.{name}" not in NO_NAMES:
                yield f"{owner} has no {name}"


def unknown_lessons(text: str) -> Iterator[str]:
    """Yield the numbers of lessons that are links to another lesson."""
    numbers = {f"{lesson.number:02}_{lesson.name}": lesson.number for lesson in lessons()}
    for number, file in re.findall(r"\[lesson (\d+)\]\([^)]*learn/(\w+)\.md", text):
        if numbers.get(file) != int(number):
            yield f"lesson {number} is not {file}"


def _is_module(owner: str, name: str) -> bool:
    return owner == "irscope" and (
        (ROOT / "irscope" / name).is_dir() or (ROOT / "irscope" / f"{name}.py").is_file()
    )


CHECKS: tuple[Callable[[str], Iterator[str]], ...] = (
    unknown_options,
    unknown_commands,
    unknown_rules,
    missing_files,
    unknown_schemas,
    unknown_variables,
    unknown_attributes,
    unknown_lessons,
)


def all_problems() -> list[str]:
    """Return a line per name that does not exist, for every page."""
    return [f"{page.relative_to(ROOT).as_posix()}: {problem}" for page in PAGES for problem in problems(page)]
