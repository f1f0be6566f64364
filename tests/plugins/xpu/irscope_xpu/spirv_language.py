"""SPIR-V as text: a language, and the kinds of its instructions."""

import re
from functools import cache
from typing import ClassVar

from irscope.languages.branches import Jump, Labels
from irscope.languages.branches import branches as resolve
from irscope.languages.document import OPAQUE, Document, Location, Operation
from irscope.languages.language import Language
from irscope.targets.instructions import InstructionKind, InstructionSet

_LINE = re.compile(r"(?:(%\w+) = )?Op(\w+)(.*)")
_ID = re.compile(r"%\d+\b")
_ENTRY = re.compile(r'OpEntryPoint \d+ %(\d+) "([^"]*)"')
_STRING = re.compile(r'(%\d+) = OpString "([^"]*)"')
_DEBUG = frozenset(["Line", "NoLine", "String", "Name", "Source", "ModuleProcessed"])
_DEBUG_LINE = re.compile(r"(?:%\w+ = )?Op(?:Line|NoLine|String|Name|Source|ModuleProcessed)\b")


def parse(text):
    """The document of a module: an operation per instruction of a function, located by OpLine."""
    entries, files = dict(_ENTRY.findall(text)), dict(_STRING.findall(text))
    operations, functions = [], []
    function, location = -1, None
    for index, line in enumerate(text.split("\n")):
        match = _LINE.match(line)
        if match is None:
            if line and not line.startswith(";"):
                operations.append(Operation(index, index + 1, OPAQUE, line, function=function))
            continue
        result, name, rest = match.groups()
        if name == "Function":
            function = len(functions)
            functions.append(entries.get((result or "")[1:], result or ""))
        if name == "Line":
            location = _location(rest.split(), files)
        elif name == "NoLine":
            location = None
        elif function >= 0 and name not in _DEBUG:
            code = rest.partition(" ;")[0]
            operations.append(
                Operation(
                    index, index + 1, f"Op{name}", _ID.sub("%", f"Op{name}{code}"),
                    (result,) if result else (), tuple(_ID.findall(code)), location, function=function,
                )
            )  # fmt: skip
        if name == "FunctionEnd":
            function, location = -1, None
    return Document("spirv", text, operations, functions)


def _location(operands, files):
    if len(operands) < 3 or not operands[1].isdecimal() or not operands[2].isdecimal():
        return None
    return Location(files.get(operands[0], ""), int(operands[1][:9]), int(operands[2][:9]))


_LABEL = re.compile(r"^%(\w+) = OpLabel$", re.MULTILINE)
_ENDS = frozenset(["OpReturn", "OpReturnValue", "OpUnreachable"])


def branches(document):
    """Where control goes after the operations that end a block."""
    labels = Labels(document, _LABEL)

    def jump(operation):
        if operation.opcode in _ENDS:
            return Jump()
        if operation.opcode not in ("OpBranch", "OpBranchConditional"):
            return None
        ids = re.findall(r"%(\w+)", document.lines[operation.line])
        return Jump(tuple(ids[1:3] if operation.opcode == "OpBranchConditional" else ids[:1]))

    return resolve(document.operations, jump, labels.place)


def strip_debug(lines):
    """The lines without those that only hold debug information."""
    return (line for line in lines if not _DEBUG_LINE.match(line))


@cache
def lexer():
    """A Pygments lexer."""
    from pygments.lexer import RegexLexer
    from pygments.token import Comment, Keyword, Name, Number, Punctuation, String, Whitespace

    class SpirvLexer(RegexLexer):
        """SPIR-V as text."""

        name = "SPIR-V"
        tokens: ClassVar = {
            "root": [
                (r"\s+", Whitespace), (r";[^\n]*", Comment), (r'"[^"\n]*"?', String), (r"Op\w+", Keyword),
                (r"%\w+", Name.Variable), (r"-?[\d.]+", Number), (r"\w+", Name), (r".", Punctuation),
            ],
        }  # fmt: skip

    return SpirvLexer


LANGUAGE = Language(
    "spirv",
    parse,
    lexer,
    strip_debug,
    branches=branches,
    comment=";",
    heavy=re.compile(r"OpLoad|OpStore|OpControlBarrier"),
)

_INSTRUCTION = re.compile(r"(?:%\w+ = )?(Op(?!Line|NoLine|String|Name|Source)\w+)")
_ACCESS = re.compile(r"Op(Load %(?P<loaded>\w+)|Store)\b[^;]*; (?P<space>\w+)(?: %(?P<stored>\w+))?")
_TYPE = re.compile(r"(?:v(\d+))?[if](\d+)")
_MATRIX = re.compile(r"OpFunctionCall %\w+ %_Z\d+intel_sub_group_(\w+_matrix_mad_k\d+)")
_SPACES = {"CrossWorkgroup": "global", "Workgroup": "shared", "Function": "local"}


def _kinds(opcode, line):
    """Loads and stores by address space and width, and matrix instructions."""
    if opcode == "OpFunctionCall":
        matrix = _MATRIX.search(line)
        return (InstructionKind("matrix", matrix[1]),) if matrix else ()
    match = _ACCESS.search(line) if opcode in ("OpLoad", "OpStore") else None
    if match is None or match["space"] not in _SPACES:
        return ()
    type_ = _TYPE.fullmatch(match["loaded"] or match["stored"] or "")
    width = int(type_[1] or 1) * int(type_[2]) // 8 if type_ else 0
    return (InstructionKind(f"{_SPACES[match['space']]} {opcode[2:].lower()}", width=width),)


INSTRUCTIONS = InstructionSet(_INSTRUCTION, _kinds)
