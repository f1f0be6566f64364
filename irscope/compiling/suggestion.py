"""The command to type for a kernel whose argument types or constexprs are missing, with guesses filled in."""

from __future__ import annotations

import ast
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import replace

from irscope.compiling.guess import Guess, guess, last_name
from irscope.compiling.kernels import FoundKernel, called_functions
from irscope.compiling.messages import SweepRequest
from irscope.compiling.signature import SignatureItem
from irscope.model import Value, parse_value
from irscope.model.config import literal
from irscope.model.errors import ArgumentError
from irscope.model.text import split_entries

# Kernels with more arguments than this get their types by name, so that one is easy to find and change.
_MOST_BY_POSITION = 4
_DEFAULT_TARGETS = ["cuda:90"]


def guess_arguments(found: FoundKernel) -> Guess:
    """Guess a kernel's arguments from its text and that of the functions that it calls."""
    helpers = {helper.fn.__name__: helper for helper in called_functions(found.function)}

    def resolve(node: ast.expr) -> ast.FunctionDef | None:
        name = last_name(node)
        return _definition(helpers[name]) if name in helpers else None

    # An annotation may be an alias of tl.constexpr, which only Triton knows.
    constexprs = {parameter.name for parameter in found.function.params if parameter.is_constexpr}
    return guess(_definition(found.function), resolve, constexprs)


def missing_signature(
    request: SweepRequest, found: FoundKernel, known: Sequence[SignatureItem], given: frozenset[str]
) -> ArgumentError:
    """Create the error that says which arguments need a type, with a guess for each."""
    guessed, kernel = guess_arguments(found), f"{request.file}::{found.function.fn.__name__}"
    runtime = [parameter.name for parameter in known if not parameter.constexpr]
    named = len(runtime) > _MOST_BY_POSITION
    entries = (f"{name}={guessed.types[name]}" if named else guessed.types[name] for name in runtime)
    signature = ", ".join(entries)
    words = ["irscope", "compile", kernel, "--signature", signature]
    words += [
        word for name, value in request.constants.items() for word in ("--const", f"{name}={literal(value)}")
    ]
    words += [
        word
        for name, values in request.axes.items()
        for word in ("--config", f"{name}={','.join(map(literal, values))}")
    ]
    words += _config_words(missing_constexprs(known, given | frozenset(request.constants)), guessed)
    targets = [str(target) for target in request.targets]
    if targets != _DEFAULT_TARGETS:
        words += [word for target in targets for word in ("--target", target)]
    problem = f"{kernel} needs a type for each of {', '.join(runtime)}"
    return ArgumentError("signature", problem, f'"{signature}"', _command(words))


def with_guesses(
    request: SweepRequest, found: FoundKernel, known: Sequence[SignatureItem], given: frozenset[str]
) -> tuple[SweepRequest, str]:
    """Guess the request's missing types and constexprs, and write a line with the guesses."""
    guessed, signature, words = guess_arguments(found), request.signature, []
    if signature is None and guessed.types:
        signature = ", ".join(f"{name}={type_}" for name, type_ in guessed.types.items())
        words = ["--signature", signature]
    missing = missing_constexprs(known, given | frozenset(request.constants))
    if signature is not None:  # a constexpr may have its value in the signature
        bound = {entry.partition("=")[0].strip() for entry in split_entries(signature)}
        missing = [name for name in missing if name not in bound]
    if unknown := [name for name in missing if name not in guessed.constants]:
        raise missing_values(found, unknown)
    values = {name: parse_value(guessed.constants[name]) for name in missing}
    words += _config_words(missing, guessed)
    request = replace(request, signature=signature, constants={**values, **request.constants})
    return request, f"{found.function.fn.__name__}: guessed {_command(words)}" if words else ""


def guessed_values(found: FoundKernel, names: Iterable[str]) -> dict[str, Value]:
    """Return the guesses for these constexprs."""
    guessed = guess_arguments(found).constants if names else {}
    return {name: parse_value(guessed[name]) for name in names if name in guessed}


def missing_values(found: FoundKernel, names: Sequence[str]) -> ArgumentError:
    """Create the error that says which constexprs need a value, with a guess for each."""
    guessed = guess_arguments(found)
    what = "constexpr" if len(names) == 1 else "constexprs"
    quoted = ", ".join(f"'{name}'" for name in names)
    problem = f"no value for the {what} {quoted} of {found.function.fn.__name__}"
    return ArgumentError(
        "config", problem, ", ".join(_guesses(names, guessed)), _command(_config_words(names, guessed))
    )


def missing_constexprs(known: Sequence[SignatureItem], given: frozenset[str]) -> list[str]:
    """Return the constexprs that have neither a value nor a default."""
    return [
        parameter.name
        for parameter in known
        if parameter.constexpr and not parameter.has_default and parameter.name not in given
    ]


def _config_words(names: Sequence[str], guessed: Guess) -> list[str]:
    """Options that set constexprs; to VALUE if there is no guess."""
    return [word for text in _guesses(names, guessed) for word in ("--config", text)]


def _guesses(names: Sequence[str], guessed: Guess) -> list[str]:
    return [f"{name}={guessed.constants.get(name, 'VALUE')}" for name in names]


def _definition(function: object) -> ast.FunctionDef:
    """Return the syntax tree of a JITFunction's text."""
    node: ast.FunctionDef = function.parse().body[0]  # type: ignore[attr-defined]
    return node


def _command(words: Sequence[str]) -> str:
    return " ".join(map(_quoted, words))


def _quoted(word: str) -> str:
    """`word` for a shell, in double quotes if these are enough."""
    quoted = shlex.quote(word)
    return quoted if quoted == word or set(word) & set('"$`\\!') else f'"{word}"'
