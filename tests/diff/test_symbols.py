"""Names of functions carry no meaning: a renamed kernel or helper is the same function."""

import pytest

from irscope.diff.matching import renamed_symbols
from irscope.diff.stage_diff import diff_stage
from irscope.languages.language import parse

MLIR = """\
module {
  tt.func public @kernel(%x: i32) {
    %0 = tt.call @mine.helper__i32(%x) : (i32) -> i32
    tt.return
  }
  tt.func private @mine.helper__i32(%x: i32) -> i32 {
    %0 = arith.muli %x, %x : i32
    tt.return %0 : i32
  }
}
"""
PTX = """\
.visible .entry kernel(
	.param .u64 .ptr .global .align 1 kernel_param_0,
	.param .u32 kernel_param_1
)
.reqntid 128
{
	ld.param.b64 	%rd1, [kernel_param_0];
	add.s32 	%r1, %r2, %r3;
	ret;
}
"""
SASS = """\
	.section	.text.kernel,"ax",@progbits
kernel:
.text.kernel:
        /*0000*/                   MOV R1, c[0x0][0x28] ;
        /*0010*/                   CALL.REL.NOINC `($kernel$__internal_0_$__cuda_sm20_div_u64) ;
        /*0020*/                   CALL.REL.NOINC `($kernel$mine_$_helper__fp32_fp32) ;
        /*0030*/                   EXIT ;
"""
LLVM = """\
define ptx_kernel void @kernel(i32 %0) {
  %2 = call i32 @mine.helper__i32(i32 %0)
  ret void
}

define internal i32 @mine.helper__i32(i32 %0) {
  %2 = mul i32 %0, %0
  ret i32 %2
}
"""
AMDGCN = """\
	.type	kernel,@function
kernel:
	s_add_u32 s0, s0, kernel@rel32@lo+4
	s_endpgm
.Lfunc_end0:
	.amdhsa_kernel kernel
		.amdhsa_group_segment_fixed_size 0
	.end_amdhsa_kernel
	.set .Lkernel.num_vgpr, 6
"""


@pytest.mark.parametrize(
    ("language", "text"),
    [("mlir", MLIR), ("ptx", PTX), ("sass", SASS), ("llvm", LLVM), ("amdgcn", AMDGCN)],
)
@pytest.mark.parametrize("name", ["k", "a_much_longer_name_of_it", "add", "my__kernel"])
def test_a_renamed_function_changes_nothing(language, text, name):
    renamed = text.replace("kernel", name).replace(f"amdhsa_{name}", "amdhsa_kernel")
    renamed = renamed.replace(f"ptx_{name}", "ptx_kernel").replace("mine.helper", "yours.other")
    renamed = renamed.replace("mine_$_helper", "yours_$_other")
    for left, right in ((text, renamed), (renamed, text)):
        diff = diff_stage(language, parse(left, language), parse(right, language))
        assert diff.equal, [(row, diff.left.lines[row.left or 0]) for row in diff.rows if row.change]


def test_another_callee_is_a_change():
    two = MLIR.rpartition("}")[0] + MLIR[MLIR.index("  tt.func private") :].replace("helper", "second")
    two = two.replace("muli", "addi", 1)
    other = two.replace("tt.call @mine.helper", "tt.call @mine.second")
    assert not diff_stage("source", parse(two, "mlir"), parse(other, "mlir")).equal


def test_functions_match_by_content_if_their_number_differs():
    extra = "  tt.func private @new__i32(%x: i32) -> i32 {\n    tt.return %x : i32\n  }\n"
    text = MLIR.replace("kernel", "renamed").replace("helper", "other").removesuffix("}\n") + extra + "}\n"
    assert renamed_symbols(parse(MLIR, "mlir"), parse(text, "mlir")) == {
        "kernel": "renamed",
        "mine.helper__i32": "mine.other__i32",
    }


def test_a_specialization_keeps_its_types():
    text = MLIR.replace("mine.helper__i32", "yours.helper__i64")
    assert renamed_symbols(parse(MLIR, "mlir"), parse(text, "mlir")) == {
        "mine.helper__i32": "yours.helper__i32"
    }
