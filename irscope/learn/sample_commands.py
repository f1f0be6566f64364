"""The sample kernels that are installed with irscope, and the `irscope compile` command in a docstring."""

from __future__ import annotations

import ast
import shlex
from pathlib import Path

from irscope.model.records import frozen

# How a command in a docstring begins.
COMMAND = "irscope compile "
# The samples are next to this file if irscope is installed, at the root in a checkout.
_SAMPLES = (Path(__file__).parent / "samples", Path(__file__).parents[2] / "samples")


@frozen
class Sample:
    """A sample: its file, what it shows, and the arguments of `irscope compile` in its docstring."""

    path: Path
    title: str
    arguments: tuple[str, ...]


def samples_folder() -> Path:
    """Return the folder of the samples."""
    return next(filter(Path.is_dir, _SAMPLES))


def samples() -> list[Sample]:
    """Return the samples whose docstring has a command, in the order of their names.

    Executes none of them.
    """
    all_samples = (_sample(path) for path in sorted(samples_folder().glob("*.py")))
    return [sample for sample in all_samples if sample.arguments]


def sample_folders() -> list[Sample]:
    """Return the samples that are several files in a folder, in the order of their names.

    They have no arguments.
    """
    files = {path.parent: path for path in sorted(samples_folder().glob("[!_]*/*.py"), reverse=True)}
    return [Sample(folder, _title(docstring(first)), ()) for folder, first in sorted(files.items())]


def sample_path(name: str) -> Path | None:
    """Return the sample that `samples/NAME` or `samples/NAME.py` names, or the folder for `samples`.

    Return None if there is no such sample.
    """
    return samples_folder() if name.rstrip("/") == "samples" else sample_file(name)


def sample_file(name: str) -> Path | None:
    """Return the sample that `samples/NAME` or `samples/NAME.py` names, or None.

    It is found wherever irscope is installed. `samples/gallery/NAME` is a kernel of
    docs/gallery.md.
    """
    folder, _, file = name.rpartition("/")
    path = samples_folder() / folder.removeprefix("samples").lstrip("/") / f"{file.removesuffix('.py')}.py"
    return path if folder in ("samples", "samples/gallery") and path.is_file() else None


def written_command(path: Path) -> tuple[str, ...]:
    """Return the words after `irscope compile` in the docstring of a Python file, () if none.

    The first one is the file as the docstring has it, with ::KERNEL if that is written. Executes
    nothing.
    """
    try:
        return _command(docstring(path))
    except (OSError, SyntaxError, ValueError):  # the compiler says what is wrong with the file
        return ()


def _sample(path: Path) -> Sample:
    text = docstring(path)
    words = _command(text)
    named = words[0].partition("::") if words else ("", "", "")
    arguments = (f"{path}{named[1]}{named[2]}", *words[1:]) if words else ()
    return Sample(path, _title(text), arguments)


def _title(docstring: str) -> str:
    return docstring.partition("\n")[0].rstrip(".")


def docstring(path: Path) -> str:
    """Return the docstring of a Python file; execute nothing.

    Raises OSError, SyntaxError, ValueError.
    """
    return ast.get_docstring(ast.parse(path.read_bytes())) or ""


def _command(docstring: str) -> tuple[str, ...]:
    _, _, command = docstring.partition(COMMAND)
    block = command.partition("\n\n")[0].replace("\\\n", " ")
    return tuple(shlex.split(block.partition("\n")[0]))
