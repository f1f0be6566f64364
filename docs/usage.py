"""Writes what each command takes into its page docs/commands/NAME.md, out of the command's own parser.

    python docs/usage.py

The list stands between two comments; what is around it is written by hand. Its words are the parser's, its
form is ours: argparse's own help differs between versions of Python.
"""

from __future__ import annotations

import argparse
from importlib import import_module
from pathlib import Path

from irscope.cli.main import COMMANDS

PAGES = Path(__file__).resolve().parent / "commands"
BEGIN = "<!-- arguments: written by docs/usage.py -->"
END = "<!-- end of arguments -->"


def main() -> None:
    """Writes the list into every page; a page that has none gets it at its end."""
    for name, module, _ in COMMANDS:
        page = PAGES / f"{name}.md"
        text = page.read_text(encoding="utf-8") if page.exists() else f"# irscope {name}\n"
        new = with_usage(text, name, module)
        if new != text:
            page.write_text(new, encoding="utf-8")
            print(page)


def with_usage(text: str, name: str, module: str) -> str:
    """A page's text with the list as the parser has it now."""
    before, begin, rest = text.partition(BEGIN)
    if not begin:
        before = text.rstrip("\n") + "\n\n## Usage\n\n"
    after = rest.partition(END)[2] or "\n"
    return f"{before}{BEGIN}\n{usage(name, module)}{END}{after}"


def usage(name: str, module: str) -> str:
    """The synopsis and a row for each argument, as Markdown."""
    parser = argparse.ArgumentParser(add_help=False)
    import_module(module).add_arguments(parser)
    actions = parser._actions  # there is no public way to them
    needed = [shown(action) for action in actions if action.required and action.option_strings]
    positional = [shown(action) for action in actions if not action.option_strings]
    options = ["[options]"] if any(action.option_strings for action in actions) else []
    synopsis = " ".join(["irscope", name, *options, *needed, *positional])
    lines = ["", "```text", synopsis, "```", ""]
    if actions:
        lines += ["| argument | what it is |", "| --- | --- |"]
        lines += [f"| {cell(spelled(action))} | {words(action)} |" for action in actions]
        lines += ["", ""]
    return "\n".join(lines)


def spelled(action: argparse.Action) -> str:
    """An argument by all its names: `-o FILE, --output FILE`."""
    if not action.option_strings:
        return shown(action)
    value = value_of(action)
    return ", ".join(f"{option} {value}".rstrip() for option in action.option_strings)


def shown(action: argparse.Action) -> str:
    """An argument as it stands in the synopsis."""
    value = value_of(action)
    if action.option_strings:
        return f"{action.option_strings[0]} {value}".rstrip()
    return {"?": f"[{value}]", "+": f"{value} [{value} ...]", "*": f"[{value} ...]"}.get(
        str(action.nargs), value
    )


def value_of(action: argparse.Action) -> str:
    """The value's name, `{a,b}` where it is one of a few, "" for a flag."""
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
    """An argument's help, with its default put in."""
    text = (action.help or "") % vars(action)
    return cell(text, code=False)


def cell(text: str, code: bool = True) -> str:
    """`text` in a cell of a table."""
    text = " ".join(text.split()).replace("|", "\\|")
    return f"`{text}`" if code else text.replace("<", "&lt;").replace("*", "\\*")


if __name__ == "__main__":
    main()
