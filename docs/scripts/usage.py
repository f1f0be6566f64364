"""Writes the arguments of each command into its page docs/commands/NAME.md, from the command's parser.

    python docs/scripts/usage.py

The list is between two comments; the rest of the page is written by hand. The words are the parser's; the
format is not, because argparse's help differs between versions of Python.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path

from irscope.cli.main import COMMANDS

PAGES = Path(__file__).resolve().parents[1] / "commands"
BEGIN = "<!-- arguments: written by docs/scripts/usage.py -->"
END = "<!-- end of arguments -->"
COMPILE = "irscope.cli.compile"
# Commands that compile share options; fewer are described again.
_FEWEST_SHARED = 3


def main() -> None:
    """Writes the list into every page, at its end if the page has none yet."""
    for name, module, *_ in COMMANDS:
        page = PAGES / f"{name}.md"
        text = page.read_text(encoding="utf-8") if page.exists() else f"# irscope {name}\n"
        new = with_usage(text, name, module)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page)


def with_usage(text: str, name: str, module: str) -> str:
    """The text of a page with the current list."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        before = text.rstrip("\n") + "\n\n## Usage\n\n"
    after = rest.partition(END)[2] or "\n"
    return f"{before}{BEGIN}\n{usage(name, module)}{END}{after}"


def usage(name: str, module: str) -> str:
    """The synopsis and a row per argument, as Markdown."""
    parser = argparse.ArgumentParser(add_help=False)
    import_module(module).add_arguments(parser)
    actions = parser._actions  # argparse has no public accessor
    needed = [shown(action) for action in actions if action.required and action.option_strings]
    positional = [shown(action) for action in actions if not action.option_strings]
    options = ["[options]"] if any(action.option_strings for action in actions) else []
    synopsis = " ".join(["irscope", name, *options, *needed, *positional])
    lines = ["", "```text", synopsis, "```", ""]
    if actions:
        lines += ["| argument | meaning |", "| --- | --- |", *rows(name, actions), "", ""]
    return "\n".join(lines)


def rows(name: str, actions: Sequence[argparse.Action]) -> list[str]:
    """Return a row per argument, and one for all that mean what they mean in `irscope compile`."""
    own = {action.dest: f"| {cell(spelled(action))} | {words(action)} |" for action in actions}
    compiling = argparse.ArgumentParser(add_help=False)
    import_module(COMPILE).add_arguments(compiling)
    of_compile = {f"| {cell(spelled(action))} | {words(action)} |" for action in compiling._actions}
    shared = [action for action in actions if action.option_strings and own[action.dest] in of_compile]
    if name == "compile" or len(shared) < _FEWEST_SHARED:
        return list(own.values())
    names = ", ".join(cell(action.option_strings[-1]) for action in shared)
    unshared = [own[action.dest] for action in actions if action not in shared]
    return [*unshared, f"| {names} | as in [irscope compile](compile.md#usage) |"]


def spelled(action: argparse.Action) -> str:
    """An argument with all its names: `-o FILE, --output FILE`."""
    if not action.option_strings:
        return shown(action)
    value = value_of(action)
    return ", ".join(f"{option} {value}".rstrip() for option in action.option_strings)


def shown(action: argparse.Action) -> str:
    """An argument as in the synopsis."""
    value = value_of(action)
    if action.option_strings:
        return f"{action.option_strings[0]} {value}".rstrip()
    return {"?": f"[{value}]", "+": f"{value} [{value} ...]", "*": f"[{value} ...]"}.get(
        str(action.nargs), value
    )


def value_of(action: argparse.Action) -> str:
    """The name of the value, `{a,b}` for a choice, "" for a flag."""
    if action.nargs == 0:
        return ""
    metavar = action.metavar or (
        f"{{{','.join(map(str, action.choices))}}}" if action.choices else action.dest.upper()
    )
    if isinstance(metavar, tuple):
        return " ".join(metavar)
    return (
        f"{metavar}" if action.nargs != argparse.REMAINDER or not action.option_strings else f"{metavar} ..."
    )


def words(action: argparse.Action) -> str:
    """An argument's help with its default."""
    text = (action.help or "") % vars(action)
    return cell(text, code=False)


def cell(text: str, code: bool = True) -> str:
    """`text` as a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`" if code else text.replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    main()
