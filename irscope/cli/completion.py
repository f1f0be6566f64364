"""Print the script that completes irscope's commands, options and values in a shell.

Variants, kernels, targets, stages, samples and words to explain are completed too; a capture is only read.

example: irscope completion bash >> ~/.bashrc
"""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path

NAME = "completion"
GROUP = "learn and set up"
SUMMARY = "print the script that completes irscope in bash, zsh or fish"

# Completes an argument: from the text before the cursor and what is parsed so far, words and what they say.
Completer = Callable[..., dict[str, str]]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare SHELL."""
    parser.add_argument("shell", metavar="SHELL", choices=("bash", "zsh", "fish"), help="bash, zsh or fish")


def run(args: argparse.Namespace) -> int:
    """Print the script."""
    from argcomplete.shell_integration import shellcode

    print(shellcode(["irscope"], shell=args.shell))
    return 0


def complete_line(parser_for: Callable[[list[str]], argparse.ArgumentParser]) -> None:
    """Write the completions of the line that the shell is at, and end the process.

    `parser_for` makes the parser for the words of a command line. Argcomplete's protocol: the line is in
    COMP_LINE, the answer goes to file descriptor 8.
    """
    import argcomplete

    _, _, _, words, _ = argcomplete.lexers.split_line(
        os.environ.get("COMP_LINE", ""), int(os.environ.get("COMP_POINT", "0"))
    )
    parser = parser_for(words[1:])
    _attach(parser)
    argcomplete.autocomplete(parser, always_complete_options=False)


def _attach(parser: argparse.ArgumentParser) -> None:
    """Give each argument of a known kind its completer."""
    for action in parser._actions:  # argparse has no public accessor
        if isinstance(action, argparse._SubParsersAction):
            for chosen in action.choices.values():
                _attach(chosen)
        elif completer := _COMPLETERS.get(str(action.metavar)):
            action.completer = completer  # type: ignore[attr-defined]  # argcomplete looks it up


def _targets(**_: object) -> dict[str, str]:
    from irscope.compiling.compile_targets import target_names

    return dict.fromkeys(target_names(), "")


def _stages(**_: object) -> dict[str, str]:
    from irscope.workspace.variant_texts import stage_names

    return dict.fromkeys(stage_names(), "")


def _words(prefix: str, **_: object) -> dict[str, str]:
    from irscope.glossary.glossary import glossary_entries

    return {name: "" for entry in glossary_entries() for name in entry.names if name.startswith(prefix)}


def _variants(prefix: str, parsed_args: argparse.Namespace, **_: object) -> dict[str, str]:
    """Return the config of each variant, or its number; nothing if the capture cannot be read.

    A number is completed after a quote and #, which begins a comment elsewhere.
    """
    from irscope.workspace import CaptureReader

    with suppress(Exception), CaptureReader(_capture(parsed_args)) as capture:
        configs = {f"#{variant.id}": str(variant.config) for variant in capture.variants()}
        return configs if prefix.startswith("#") else {text: number for number, text in configs.items()}
    return {}


def _kernels(parsed_args: argparse.Namespace, **_: object) -> dict[str, str]:
    """Return the kernels of the capture."""
    from irscope.workspace import CaptureReader

    names: Iterable[str] = ()
    with suppress(Exception), CaptureReader(_capture(parsed_args)) as capture:
        names = {variant.kernel.name for variant in capture.variants()}
    return dict.fromkeys(names, "")


def _capture(args: argparse.Namespace) -> Path:
    """Return the capture on the command line. Raises LookupError if there is none yet."""
    named = [value for value in (getattr(args, "capture", None), getattr(args, "old", None)) if value]
    if not named:
        raise LookupError("no capture")
    return Path(named[0])


# By the metavar of an argument.
_COMPLETERS: dict[str, Completer] = {
    "TARGET": _targets,
    "STAGE": _stages,
    "WORD": _words,
    "VARIANT": _variants,
    "A": _variants,
    "B": _variants,
    "GLOB": _kernels,
}
