"""The sample kernels that are installed with irscope, and how each says that it is compiled."""

from __future__ import annotations

import ast
import shlex
from dataclasses import dataclass
from pathlib import Path

from irscope.learn.lesson import samples_folder
from irscope.model import UserError

_COMMAND = "irscope compile "


@dataclass(frozen=True, slots=True)
class Sample:
    """A sample: its file, what it shows, and the arguments of `irscope compile` in its docstring."""

    path: Path
    title: str
    arguments: tuple[str, ...]


def samples() -> list[Sample]:
    """The samples whose docstring has a command, in the order of their names. Executes none of them."""
    found = (_sample(path) for path in sorted(samples_folder().glob("*.py")))
    return [sample for sample in found if sample.arguments]


def find_sample(name: str) -> Sample:
    """The sample in the file called `name`. Raises UserError if there is none."""
    for sample in samples():
        if sample.path.name == name:
            return sample
    raise UserError(f"no sample '{name}'")


def _sample(path: Path) -> Sample:
    text = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    _, _, command = text.partition(_COMMAND)
    block = command.partition("\n\n")[0].replace("\\\n", " ")
    words = shlex.split(block.partition("\n")[0])
    named = words[0].partition("::") if words else ("", "", "")
    arguments = (f"{path}{named[1]}{named[2]}", *words[1:]) if words else ()
    return Sample(path, text.partition("\n")[0].rstrip("."), arguments)
