"""The SASS parser: nvdisasm's and cuobjdump's text."""

from pathlib import Path

import pytest

from irscope.languages.document import OPAQUE, Location, Operation
from irscope.languages.sass import parse

STAGES = Path(__file__).parents[1] / "data" / "stages"


def parse_one(instruction: str) -> Operation:
    [operation] = parse(f".text.k:\n        /*0010*/ {instruction}\n").operations
    assert operation.function == 0
    return operation


@pytest.mark.parametrize(
    ("line", "opcode", "normal", "results", "operands"),
    [
        (
            "              @!P1 LDG.E.128 R8, desc[UR6][R14.64+0x800] ;",
            "LDG.E.128",
            "@!P LDG.E.128 R, desc[UR][R.64+0x800] ;",
            ("R8",),
            ("P1", "UR6", "R14"),
        ),
        (
            "STG.E.128 desc[UR6][R2.64], R4 ;",
            "STG.E.128",
            "STG.E.128 desc[UR][R.64], R ;",
            (),
            ("UR6", "R2", "R4"),
        ),
        (
            "HMMA.16816.F32 R4, R8.reuse, R12, RZ ;",
            "HMMA.16816.F32",
            "HMMA.16816.F32 R, R.reuse, R, RZ ;",
            ("R4",),
            ("R8", "R12"),
        ),
        ("S2R R12, SR_TID.X ;", "S2R", "S2R R, SR_TID.X ;", ("R12",), ()),
        ("P2R R3, PR, RZ, 0x1 ;", "P2R", "P2R R, PR, RZ, 0x1 ;", ("R3",), ()),
        (
            "ISETP.GE.AND P1, PT, R0, -R9, PT ;",
            "ISETP.GE.AND",
            "ISETP.GE.AND P, PT, R, -R, PT ;",
            ("P1",),
            ("R0", "R9"),
        ),
        (
            "SHFL.BFLY PT, R16, R13, 0x10, 0x1f ;",
            "SHFL.BFLY",
            "SHFL.BFLY PT, R, R, 0x10, 0x1f ;",
            ("R16",),
            ("R13",),
        ),
        ("IADD3 R2, P0, R4, R5, RZ ;", "IADD3", "IADD3 R, P, R, R, RZ ;", ("R2", "P0"), ("R4", "R5")),
        ("VOTEU.ALL UP0, P0 ;", "VOTEU.ALL", "VOTEU.ALL UP, P ;", ("UP0",), ("P0",)),
        (
            "SYNCS.PHASECHK.TRANS64.TRYWAIT P0, [UR4], R2 ;",
            "SYNCS.PHASECHK.TRANS64.TRYWAIT",
            "SYNCS.PHASECHK.TRANS64.TRYWAIT P, [UR], R ;",
            ("P0",),
            ("UR4", "R2"),
        ),
        ("DEPBAR.LE SB0, 0x1 ;", "DEPBAR.LE", "DEPBAR.LE SB, 0x1 ;", (), ("SB0",)),
        ("@P0 BRA `(.L_x_12) ;", "BRA", "@P BRA `(.L_x) ;", (), ("P0",)),
        ("BRA 0xa30;          /* 0xfffffff000007947 */", "BRA", "BRA 0x;", (), ()),
        ("NOP;", "NOP", "NOP;", (), ()),
        ("LDG.E.128 R8, desc[UR6", OPAQUE, "LDG.E.128 R, desc[UR", (), ()),
    ],
)
def test_instruction(
    line: str, opcode: str, normal: str, results: tuple[str, ...], operands: tuple[str, ...]
) -> None:
    operation = parse_one(line)
    assert (operation.opcode, operation.normalized) == (opcode, normal)
    assert (operation.results, operation.operands) == (results, operands)


def test_text_of_cuobjdump() -> None:
    text = """\
	code for sm_90a
		Function : first
	.headerflags	@"EF_CUDA_SM90"
        /*0000*/                   LDC R1, c[0x0][0x28] ;       /* 0x00000a00ff017b82 */
                                                                /* 0x000e700000000800 */
		Function : second
        /*0000*/                   EXIT ;                       /* 0x000000000000794d */
"""
    document = parse(text)
    assert document.functions == ["first", "second"]
    assert [(o.line, o.opcode, o.function) for o in document.operations] == [(3, "LDC", 0), (6, "EXIT", 1)]


def test_locations_apply_until_the_next_ones() -> None:
    text = """\
.text.k:
        /*0000*/ NOP;
	//## File "/lib.py", line 43 inlined at "/k.py", line 28
	//## File "/k.py", line 28
        /*0010*/ NOP;
.L_x_1:
        /*0020*/ NOP;
	//## File "/k.py", line 30
        /*0030*/ NOP;
"""
    inlined = Location("/lib.py", 43, 0, Location("/k.py", 28))
    assert [o.location for o in parse(text).operations] == [None, inlined, inlined, Location("/k.py", 30)]


def test_reduction_is_inlined_from_the_library() -> None:
    path = STAGES / "softmax_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0.sass"
    library = "/triton/language/standard.py"
    maximum = next(o for o in parse(path.read_text()).operations if o.opcode == "FMNMX")
    reduce = Location(library, 216, 0, Location("/src/kernels.py", 19))
    assert maximum.location == Location(library, 196, 0, reduce)
