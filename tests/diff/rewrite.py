"""Rewrites of a stage's text that do not change its meaning: names, numbers, locations, the alias table."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

Rewrite = Callable[[str], str]

_STRING = r'"[^"\n]*"'
_MLIR_LOCATION = re.compile(r'\s*\bloc\((?:[^()"]|"[^"]*"|\((?:[^()"]|"[^"]*")*\))*\)')


def renamed(text: str, language: str, seed: int = 0) -> str:
    """`text` with every value, register, label, alias number and metadata number renamed."""
    return _RENAME[language](text, random.Random(seed))


def stripped(text: str, language: str) -> str:
    """`text` without source locations."""
    if language == "mlir":
        lines = [line for line in text.split("\n") if not line.startswith("#loc")]
        return _MLIR_LOCATION.sub("", "\n".join(lines))
    if language == "llvm":
        lines = [line for line in text.split("\n") if not re.match(r"!\d+ = ", line)]
        return re.sub(r",? !dbg !\d+", "", "\n".join(lines))
    drop = re.compile(r"\s*(?:\.loc\b|\.file\b|//##|\$L__tmp\d+:|\.Ltmp\d+:)")
    return "\n".join(line for line in text.split("\n") if not drop.match(line))


def shifted(text: str, language: str, by: int = 7) -> str:
    """`text` as if `by` lines had been inserted at the top of every source file."""

    def move(match: re.Match[str]) -> str:
        return f"{match[1]}{int(match[2]) + by}{match[3]}"

    patterns = {
        "mlir": [r'("[^"\n]*\.py":)(\d+)(:)'],
        "llvm": [r"(line: )(\d+)(,|\))"],
        "sass": [r'(", line )(\d+)()'],
        "ptx": [r"(\.loc\s+\d+ )(\d+)( )", r"(inlined_at \d+ )(\d+)( )", r"(\.py:)(\d+)(:)"],
        "amdgcn": [r"(\.loc\s+\d+ )(\d+)( )", r"(\.py:)(\d+)(:)"],
    }
    for pattern in patterns[language]:
        text = re.sub(pattern, move, text)
    return text


def reordered(text: str, seed: int = 0) -> str:
    """An MLIR text with the layout aliases at its top in another order."""
    lines = text.split("\n")
    indices = [i for i, line in enumerate(lines) if re.match(r"#(?!loc)\w+ = ", line)]
    table = [lines[i] for i in indices]
    random.Random(seed).shuffle(table)
    for i, line in zip(indices, table, strict=True):
        lines[i] = line
    return "\n".join(lines)


def _shuffled(names: list[str], rng: random.Random, new: Callable[[int], str]) -> dict[str, str]:
    """A new name for each name, numbered in random order from 1000."""
    numbers = list(range(1000, 1000 + len(names)))
    rng.shuffle(numbers)
    return {name: new(number) for name, number in zip(names, numbers, strict=True)}


def _replaced(text: str, pattern: str, names: dict[str, str]) -> str:
    """`text` with the names that `pattern` finds outside of strings replaced."""
    return re.sub(rf"{_STRING}|{pattern}", lambda match: names.get(match[0], match[0]), text)


def _names(text: str, pattern: str) -> list[str]:
    found = (match[0] for match in re.finditer(rf"{_STRING}|{pattern}", text))
    return [name for name in dict.fromkeys(found) if not name.startswith('"')]


def _permuted(text: str, pattern: str, rng: random.Random, new: Callable[[str, int], str]) -> str:
    """`text` with every name of `pattern` replaced by one of the same stem and another number."""
    names: dict[str, str] = {}
    for stem in dict.fromkeys(name.rstrip("0123456789") for name in _names(text, pattern)):
        family = [name for name in _names(text, pattern) if name.rstrip("0123456789") == stem]
        names |= _shuffled(family, rng, lambda number, stem=stem: new(stem, number))
    return _replaced(text, pattern, names)


def _numbered(stem: str, number: int) -> str:
    return f"{stem}{number}"


def _rename_mlir(text: str, rng: random.Random) -> str:
    text = _replaced(text, r"%[\w$.-]+", _shuffled(_names(text, r"%[\w$.-]+"), rng, lambda n: f"%v{n}"))
    return _permuted(text, r"#[a-z_]+\d*(?![\w.<])", rng, _numbered)


def _rename_llvm(text: str, rng: random.Random) -> str:
    values = _shuffled(_names(text, r"%[\w$.-]+"), rng, lambda n: f"%v{n}")
    text = _replaced(text, r"%[\w$.-]+", values)
    text = re.sub(
        r"^([\w$.-]+):", lambda match: values.get(f"%{match[1]}", "%" + match[0])[1:] + ":", text, flags=re.M
    )
    return _permuted(_permuted(text, r"!\d+", rng, _numbered), r"#\d+", rng, _numbered)


def _rename_ptx(text: str, rng: random.Random) -> str:
    text = _permuted(text, r"%(?:p|rs|r|rd|rq|f|fd)\d+\b", rng, _numbered)
    return _permuted(text, r"\$L__(?:BB\d+_|tmp)\d+", rng, _numbered)


def _rename_sass(text: str, rng: random.Random) -> str:
    text = _permuted(text, r"\b(?:U?[RP]|B)\d+\b", rng, _numbered)
    return _permuted(text, r"\.L_x_\d+", rng, _numbered)


def _rename_amdgcn(text: str, rng: random.Random) -> str:
    moved = {"v": rng.randrange(1, 90), "s": rng.randrange(1, 90), "a": rng.randrange(1, 90)}

    def move(match: re.Match[str]) -> str:
        return re.sub(r"\d+", lambda number: str(int(number[0]) + moved[match[1]]), match[0])

    text = re.sub(r"(?<![\w.$])([vsa])(?:\d+|\[\d+:\d+\])(?!\w)", move, text)
    return _permuted(text, r"\.L(?:BB\d+_|tmp)\d+", rng, _numbered)


_RENAME: dict[str, Callable[[str, random.Random], str]] = {
    "mlir": _rename_mlir,
    "llvm": _rename_llvm,
    "ptx": _rename_ptx,
    "sass": _rename_sass,
    "amdgcn": _rename_amdgcn,
}
