"""A stage's text without its source locations, which are half of the bytes of some stages."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

_MLIR_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[()]')
_LLVM_USE = re.compile(r",? !(?:dbg|srcloc) !\d+")
_LLVM_DEBUG = re.compile(
    r"!\d+ = (?:distinct )?!(?:DI\w+\()|!llvm\.(?:dbg\.cu|module\.flags|ident) = |\s+#dbg_"
)
_SASS_LINE = re.compile(r"\s*//## File ")
# PTX and AMDGCN: line entries, the labels that only debug sections refer to, and those sections.
_ASSEMBLY_LINE = re.compile(r"\s*\.(?:loc|file|cfi_\w+)\b|(?:\$L__|\.L)(?:tmp|func_begin)\d+:")
_SECTION = re.compile(r"\s*\.(?:section|text)\b\s*(\.debug_)?")


def strip_debug(text: str, language: str) -> str:
    """`text`, in a language of the stage table, without debug locations; the rest stands as it was.

    A text of another language comes back unchanged.
    """
    strip = _STRIP.get(language)
    if strip is None:
        return text
    kept = "\n".join(strip(text.split("\n")))
    # The line feed at the end of the text may have gone with a debug section.
    return kept if kept.endswith("\n") or not text.endswith("\n") else kept + "\n"


def line_without_location(line: str, language: str) -> str:
    """A line that is shown by itself, without the location or debug id at its end.

    A line that is nothing but a location, an alias of one, stays as it is.
    """
    if language == "mlir" and not line.startswith("#loc"):
        return _without_mlir_locations(line)
    return _LLVM_USE.sub("", line) if language == "llvm" else line


def _mlir(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not line.startswith("#loc"):
            yield _without_mlir_locations(line)


def _without_mlir_locations(line: str) -> str:
    """`line` without ` loc(...)`, whatever is nested in it; one that never closes stays."""
    kept: list[str] = []
    position = 0
    while (start := line.find(" loc(", position)) >= 0:
        end = _closing(line, start + len(" loc("))
        if end is None:
            break
        kept.append(line[position:start])
        position = end
    return "".join(kept) + line[position:]


def _closing(line: str, position: int) -> int | None:
    """The place behind the parenthesis that closes the one before `position`; None where none does."""
    depth = 1
    for token in _MLIR_TOKEN.finditer(line, position):
        depth += {"(": 1, ")": -1}.get(token[0], 0)
        if depth == 0:
            return token.end()
    return None


def _llvm(lines: list[str]) -> Iterator[str]:
    for line in lines:
        if not _LLVM_DEBUG.match(line):
            yield _LLVM_USE.sub("", line)


def _assembly(lines: list[str]) -> Iterator[str]:
    debug = False
    for line in lines:
        if section := _SECTION.match(line):
            debug = section[1] is not None
        if not debug and not _ASSEMBLY_LINE.match(line):
            yield line


def _sass(lines: list[str]) -> Iterator[str]:
    return (line for line in lines if not _SASS_LINE.match(line))


_STRIP: dict[str, Callable[[list[str]], Iterator[str]]] = {
    "mlir": _mlir,
    "llvm": _llvm,
    "ptx": _assembly,
    "sass": _sass,
    "amdgcn": _assembly,
}
