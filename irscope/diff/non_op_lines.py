"""Lines that hold no operation: which carry a meaning, and what they are aligned by.

Braces, labels, comments, tables of aliases and locations, debug sections and register declarations carry
none: they follow from the operations, or from names that mean nothing.
"""

from __future__ import annotations

import re

# What the beginning of a line says that is about the whole stage, and stands in no operation.
_MEANINGFUL = {
    "llvm": re.compile(r'target |@|attributes #\d+ = \{.*"'),
    "ptx": re.compile(
        r"\.(?:version|target|address_size|visible|weak|extern|entry|func|param|shared|global|const|local"
        r"|reqntid|maxntid|minnctapersm|maxnctapersm|maxnreg|reqnctapercluster|explicitcluster"
        r"|maxclusterrank|pragma)\b"
    ),
    "sass": re.compile(r"\.(?:headerflags|sectionflags|sectioninfo)\b"),
    "amdgcn": re.compile(
        r"\.amdhsa_|\.amdgcn_target|\.(?:group_segment_fixed_size|private_segment_fixed_size"
        r"|kernarg_segment_size|max_flat_workgroup_size|[sv]gpr_(?:count|spill_count)|agpr_count"
        r"|wavefront_size):"
    ),
}
_COMMENT = {"llvm": ";", "ptx": "//", "amdgcn": ";"}
_NUMBER = re.compile(r"\d+")
_GROUP = re.compile(r"#\d+")
_WORD = re.compile(r"[^\s\w]*[\w.]*")


def meaning(line: str, language: str) -> str:
    """What a line without an operation says; "" where it carries no meaning."""
    text = line.strip()
    meaningful = _MEANINGFUL.get(language)
    if meaningful is None or not meaningful.match(text):
        return ""
    if comment := _COMMENT.get(language):
        text = text.partition(comment)[0]
    return _GROUP.sub("#", " ".join(text.split()))


def kind(line: str, language: str) -> str:
    """What two lines without an operation have in common where they may stand side by side.

    It is a meaningful line's text without numbers, and the first word of any other.
    """
    text = meaning(line, language)
    if text:
        return _NUMBER.sub("", text)
    word = _WORD.match(line.strip())
    return " " + _NUMBER.sub("", word[0] if word else "")
