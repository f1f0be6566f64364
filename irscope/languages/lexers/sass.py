"""A Pygments lexer for NVIDIA SASS. (Pygments' own `sass` is a CSS language.)"""

from __future__ import annotations

from typing import ClassVar

from pygments.lexer import RegexLexer, default, include
from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Text, Whitespace


class NvidiaSassLexer(RegexLexer):
    """SASS as nvdisasm and cuobjdump print it: address, predicate, opcode with its modifiers, operands."""

    name = "NVIDIA SASS"
    url = "https://docs.nvidia.com/cuda/cuda-binary-utilities/"
    aliases: ClassVar[list[str]] = ["nvsass", "nvidia-sass"]
    filenames: ClassVar[list[str]] = ["*.nvsass"]

    tokens: ClassVar = {
        "root": [
            (r"//[^\n]*", Comment.Single),
            (r"/\*[0-9a-f]+\*/", Comment.Special, "instruction"),
            (r"[\w.$]+:", Name.Label),
            (r"\.\w[\w.]*", Keyword.Pseudo),
            include("values"),
            (r"[\w$@\\]+", Name),
        ],
        "instruction": [
            (r"[ \t]+", Whitespace),
            (r"@!?\w+", Name.Decorator),
            (r"[A-Z]\w*(?:\.\w+)*", Keyword, ("#pop", "operands")),
            default("#pop"),
        ],
        "operands": [
            (r"\n", Whitespace, "#pop"),
            (r";", Punctuation, "#pop"),
            (r"\b(?:U?[RP]|S?B|gsb)\d+\b", Name.Variable),
            (r"\b(?:U?RZ|U?PT|SRZ|SR_[\w.]+)", Name.Builtin),
            (r"\.L_x_\d+", Name.Label),
            (r"\.\w+", Keyword.Type),
            include("values"),
            (r"[\w$]+", Name),
        ],
        "values": [
            (r"\s+", Whitespace),
            (r"/\*[^*\n]*\*/", Comment),
            (r'"[^"\n]*"', String),
            (r"0x[0-9a-f]+\b|\d+(?:\.\d+)?(?:[eE][-+]?\d+)?\b", Number),
            (r"[-+~|!,;:()\[\]{}<>=*/&?`@]", Punctuation),
            (r"\.", Text),
        ],
    }
