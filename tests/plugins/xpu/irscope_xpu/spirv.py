"""Disassembles SPIR-V (Khronos, "SPIR-V Specification", unified1), with names of types and constants.

%18 = OpFAdd %float %17 %float_1
"""

import re
import struct

from irscope.model import UserError

MAGIC = 0x07230203
# The opcodes of kernels: name, and whether the first operands are a result type ("t") and a result ("r").
_OPCODES = {
    1: ("Undef", "tr"), 3: ("Source", ""), 5: ("Name", ""), 7: ("String", "r"), 8: ("Line", ""),
    10: ("Extension", ""), 11: ("ExtInstImport", "r"), 12: ("ExtInst", "tr"), 14: ("MemoryModel", ""),
    15: ("EntryPoint", ""), 16: ("ExecutionMode", ""), 17: ("Capability", ""), 19: ("TypeVoid", "r"),
    20: ("TypeBool", "r"), 21: ("TypeInt", "r"), 22: ("TypeFloat", "r"), 23: ("TypeVector", "r"),
    28: ("TypeArray", "r"), 30: ("TypeStruct", "r"), 32: ("TypePointer", "r"), 33: ("TypeFunction", "r"),
    41: ("ConstantTrue", "tr"), 42: ("ConstantFalse", "tr"), 43: ("Constant", "tr"),
    44: ("ConstantComposite", "tr"), 46: ("ConstantNull", "tr"), 54: ("Function", "tr"),
    55: ("FunctionParameter", "tr"), 56: ("FunctionEnd", ""), 57: ("FunctionCall", "tr"),
    59: ("Variable", "tr"), 61: ("Load", "tr"), 62: ("Store", ""), 65: ("AccessChain", "tr"),
    66: ("InBoundsAccessChain", "tr"), 67: ("PtrAccessChain", "tr"), 70: ("InBoundsPtrAccessChain", "tr"),
    71: ("Decorate", ""), 72: ("MemberDecorate", ""), 77: ("VectorExtractDynamic", "tr"),
    78: ("VectorInsertDynamic", "tr"), 79: ("VectorShuffle", "tr"), 80: ("CompositeConstruct", "tr"),
    81: ("CompositeExtract", "tr"), 82: ("CompositeInsert", "tr"), 109: ("ConvertFToU", "tr"),
    110: ("ConvertFToS", "tr"), 111: ("ConvertSToF", "tr"), 112: ("ConvertUToF", "tr"),
    113: ("UConvert", "tr"), 114: ("SConvert", "tr"), 115: ("FConvert", "tr"), 117: ("ConvertPtrToU", "tr"),
    120: ("ConvertUToPtr", "tr"), 121: ("PtrCastToGeneric", "tr"), 122: ("GenericCastToPtr", "tr"),
    124: ("Bitcast", "tr"), 126: ("SNegate", "tr"), 127: ("FNegate", "tr"), 128: ("IAdd", "tr"),
    129: ("FAdd", "tr"), 130: ("ISub", "tr"), 131: ("FSub", "tr"), 132: ("IMul", "tr"), 133: ("FMul", "tr"),
    134: ("UDiv", "tr"), 135: ("SDiv", "tr"), 136: ("FDiv", "tr"), 137: ("UMod", "tr"), 138: ("SRem", "tr"),
    139: ("SMod", "tr"), 140: ("FRem", "tr"), 166: ("LogicalOr", "tr"), 167: ("LogicalAnd", "tr"),
    168: ("LogicalNot", "tr"), 169: ("Select", "tr"), 170: ("IEqual", "tr"), 171: ("INotEqual", "tr"),
    172: ("UGreaterThan", "tr"), 173: ("SGreaterThan", "tr"), 174: ("UGreaterThanEqual", "tr"),
    175: ("SGreaterThanEqual", "tr"), 176: ("ULessThan", "tr"), 177: ("SLessThan", "tr"),
    178: ("ULessThanEqual", "tr"), 179: ("SLessThanEqual", "tr"), 180: ("FOrdEqual", "tr"),
    184: ("FOrdLessThan", "tr"), 186: ("FOrdGreaterThan", "tr"), 194: ("ShiftRightLogical", "tr"),
    195: ("ShiftRightArithmetic", "tr"), 196: ("ShiftLeftLogical", "tr"), 197: ("BitwiseOr", "tr"),
    198: ("BitwiseXor", "tr"), 199: ("BitwiseAnd", "tr"), 200: ("Not", "tr"), 224: ("ControlBarrier", ""),
    225: ("MemoryBarrier", ""), 245: ("Phi", "tr"), 246: ("LoopMerge", ""), 248: ("Label", "r"),
    249: ("Branch", ""), 250: ("BranchConditional", ""), 253: ("Return", ""), 254: ("ReturnValue", ""),
    255: ("Unreachable", ""), 317: ("NoLine", ""), 330: ("ModuleProcessed", ""),
}  # fmt: skip
# The operands of these that are not ids: literals (the index of the first one), or text to the end.
_LITERALS_FROM = {
    "Source": 0, "MemoryModel": 0, "Capability": 0, "TypeInt": 0, "TypeFloat": 0, "TypeVector": 1,
    "Constant": 0, "Variable": 0, "Load": 1, "Store": 2, "Decorate": 1, "MemberDecorate": 1, "Line": 1,
    "ExecutionMode": 1, "CompositeExtract": 1, "CompositeInsert": 2, "VectorShuffle": 2,
}  # fmt: skip
_TEXT_FROM = {"Name": 1, "String": 0, "Extension": 0, "ExtInstImport": 0, "ModuleProcessed": 0}
_RESERVED = re.compile(r"_[_A-Z]\w{1,200}")
_STORAGE = {
    0: "UniformConstant",
    1: "Input",
    4: "Workgroup",
    5: "CrossWorkgroup",
    7: "Function",
    8: "Generic",
}


def disassemble(binary):
    """The text of a SPIR-V module. Raises UserError if it is none."""
    words = struct.unpack(f"<{len(binary) // 4}I", binary[: len(binary) // 4 * 4])
    if len(words) < 5 or words[0] != MAGIC:
        raise UserError("this spv is not SPIR-V, but code that Intel's compiler has compiled ahead of time")
    writer = _Writer()
    at = 5
    while at < len(words):
        size = max(words[at] >> 16, 1)
        writer.write(words[at] & 0xFFFF, words[at + 1 : at + size])
        at += size
    version = f"; SPIR-V {words[1] >> 16 & 0xFF}.{words[1] >> 8 & 0xFF}"
    return "\n".join([version, *writer.lines, ""])


class _Writer:
    """Writes one instruction per line; names types and scalar constants as spirv-dis does."""

    def __init__(self):
        self.lines = []
        self._names = {}
        self._pointers = {}  # a pointer type -> its storage class
        self._types = {}  # a value -> its type

    def write(self, opcode, operands):
        """Appends the line of an instruction."""
        name, results = _OPCODES.get(opcode, (str(opcode), ""))
        type_, result, rest = self._split(results, operands)
        if name == "Name" and len(operands) > 1 and _RESERVED.fullmatch(_text(operands[1:])):
            self._names[operands[0]] = _text(operands[1:])  # a built-in variable or function
        if result is not None:
            self._types[result] = type_
            self._name(name, type_, result, rest)
        texts = [self._id(type_)] if type_ is not None else []
        texts += self._texts(name, rest)
        comment = self._storage(name, rest)
        left = f"{self._id(result)} = " if result is not None else ""
        self.lines.append(f"{left}Op{name} {' '.join(texts)}".rstrip() + comment)

    @staticmethod
    def _split(results, operands):
        type_ = operands[0] if "t" in results and operands else None
        at = len(results)
        result = operands[at - 1] if "r" in results and len(operands) >= at else None
        return type_, result, operands[at:]

    def _texts(self, name, operands):
        if name in _TEXT_FROM:
            first = _TEXT_FROM[name]
            return [*map(self._id, operands[:first]), f'"{_text(operands[first:])}"']
        if name == "EntryPoint" and len(operands) > 2:
            size = _words_of_text(operands[2:])
            ids = map(self._id, operands[2 + size :])
            return [str(operands[0]), self._id(operands[1]), f'"{_text(operands[2:])}"', *ids]
        if name == "TypePointer" and len(operands) == 2:
            return [_STORAGE.get(operands[0], str(operands[0])), self._id(operands[1])]
        if name == "Function" and len(operands) == 2:
            return [str(operands[0]), self._id(operands[1])]
        if name == "ExtInst" and len(operands) > 1:
            return [self._id(operands[0]), str(operands[1]), *map(self._id, operands[2:])]
        first = _LITERALS_FROM.get(name, len(operands) if not name.isdigit() else 0)
        return [*map(self._id, operands[:first]), *map(str, operands[first:])]

    def _id(self, number):
        return f"%{self._names.get(number, number)}"

    def _name(self, name, type_, result, operands):
        """Names a type or a scalar constant."""
        match name, operands:
            case "TypeVoid" | "TypeBool", _:
                self._names[result] = name.removeprefix("Type").lower()
            case "TypeInt", [width, *_]:
                self._names[result] = f"i{width}"
            case "TypeFloat", [width, *_]:
                self._names[result] = f"f{width}"
            case "TypeVector", [element, count]:
                self._names[result] = f"v{count}{self._names.get(element, element)}"
            case "TypePointer", [storage, pointee]:
                self._pointers[result] = storage
                self._names[result] = (
                    f"ptr_{_STORAGE.get(storage, storage)}_{self._names.get(pointee, pointee)}"
                )
            case "Constant", [value]:
                kind = self._names.get(type_, type_)
                number = struct.unpack("<f", struct.pack("<I", value))[0] if kind == "f32" else value
                self._names[result] = f"{kind}_{number:g}" if kind == "f32" else f"{kind}_{number}"

    def _storage(self, name, operands):
        """The address space that a load or store accesses, as a comment."""
        if name not in ("Load", "Store") or not operands:
            return ""
        storage = self._pointers.get(self._types.get(operands[0]))
        stored = (
            f" {self._id(self._types[operands[1]])}" if operands[1:2] and operands[1] in self._types else ""
        )
        return f" ; {_STORAGE.get(storage, storage)}{stored if name == 'Store' else ''}"


def _text(words):
    encoded = struct.pack(f"<{len(words)}I", *words).partition(b"\0")[0].decode("utf-8", "replace")
    return encoded.replace('"', "'").replace("\n", " ")


def _words_of_text(words):
    """The words of a text that ends with a zero byte."""
    return next((at + 1 for at, word in enumerate(words) if word >> 24 == 0), len(words))
