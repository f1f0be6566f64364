"""A Pygments lexer for AMDGCN assembly as LLVM prints it."""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Whitespace


class AmdgcnLexer(RegexLexer):
    """AMDGCN: LLVM's assembly for AMD GPUs, and the metadata at its end."""

    name = "AMDGCN"
    url = "https://llvm.org/docs/AMDGPUUsage.html"
    aliases: ClassVar[list[str]] = ["amdgcn"]
    filenames: ClassVar[list[str]] = ["*.amdgcn"]

    tokens: ClassVar = {
        "root": [
            (r"\s+", Whitespace),
            (r";[^\n]*", Comment.Single),
            (r"^[\w.$]+:", Name.Label),
            (r"\.L\w+", Name.Label),
            (r"\.[A-Za-z_]\w*", Keyword.Pseudo),
            (r'"[^"\n]*"', String),
            (r"(?:[vsa]|ttmp)(?:\d+\b|\[\d+(?::\d+)?\])", Name.Variable),
            (r"(?:vcc|exec|m0|scc|flat_scratch|src_\w+)(?:_lo|_hi)?\b", Name.Builtin),
            (r"(?:v|s|ds|global|buffer|flat|scratch|tensor|image|exp|tbuffer)_\w+", Keyword),
            (r"[A-Za-z_]\w*(?=[:(])", Name.Attribute),
            (r"0x[0-9a-fA-F]+\b|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b", Number),
            (r"[A-Za-z_$]\w*|\d\w*", Name),
            (r"[-+~|!,:()\[\]{}<>=*/&@%.]", Punctuation),
        ],
    }
