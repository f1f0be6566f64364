import pytest

from irscope.targets.cuda_instructions import PTX
from irscope.targets.hip_instructions import AMDGCN
from irscope.targets.instructions import InstructionKind as Kind
from irscope.targets.instructions import scan
from tests.findings.builders import stored

SETS = {"ptx": PTX, "amdgcn": AMDGCN}


def counted(text, language):
    return {doing: len(lines) for doing, lines in scan(text, SETS[language]).lines.items()}


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\t@%p1 ld.global.v4.b32 { %r1, %r2, %r3, %r4 }, [ %rd1 + 0 ];", Kind("global load", width=16)),
        ("\tld.global.b32 \t%r1, [%rd1];", Kind("global load", width=4)),
        ("\t@!%p1 st.global.cs.L1::evict_first.L2::cache_hint.b32 [ %rd1 + 0 ], { %r1 }, %rd9;",
         Kind("global store", width=4)),
        ("\tld.global.nc.L1::no_allocate.v2.b64 {%rd1, %rd2}, [%rd3];", Kind("global load", width=16)),
        ("\tld.global.v8.b32 {%r1}, [%rd3];", Kind("global load", width=32)),
        ("\tld.global.b8 %r1, [%rd3];", Kind("global load", width=1)),
        ("\tst.shared::cta.b32 [ %r1 + 0 ], %r2;", Kind("shared store", width=4)),
        ("\tld.shared.v2.f32 {%f1, %f2}, [%r1];", Kind("shared load", width=8)),
        ("\tst.local.v2.b32 [%rd1], {%r1, %r2};", Kind("local store", width=8)),
        ("\tmma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%r1}, {%r2}, {%r3}, {%r4};",
         Kind("matrix", "mma.sync.m16n8k16")),
        ("\twgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {%r1}, %rd1, %rd2, p, 1, 1, 0, 1;",
         Kind("matrix", "wgmma.m64n128k16")),
        ("\t@%p20 tcgen05.mma.cta_group::1.kind::f16 [ %r1 + 0 ], %rd28, %rd29, %r93, %p19;",
         Kind("matrix", "tcgen05.mma.kind::f16")),
        ("\tldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%r1}, [%r9];",
         Kind("shared load", "ldmatrix", 16)),
        ("\tldmatrix.sync.aligned.m8n8.x2.shared::cta.b16 {%r1}, [%r9];", Kind("shared load", "ldmatrix", 8)),
        ("\tldmatrix.sync.aligned.m16n16.x1.trans.shared.b8 {%r1}, [%r9];",
         Kind("shared load", "ldmatrix", 8)),
        ("\tstmatrix.sync.aligned.m8n8.x4.shared.b16 [%r9], {%r1};", Kind("shared store", "stmatrix", 16)),
        ("\tstmatrix.sync.aligned.m16n8.x2.trans.shared.b8 [%r9], {%r1};",
         Kind("shared store", "stmatrix", 8)),
        ("\tld.shared::cluster.v4.b32 {%r1}, [%r9];", Kind("shared load", "ld.shared::cluster", 16)),
        ("\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [%r1], {%r2}, [%r3];",
         Kind("shared store", "st.async", 16)),
        ("\ttcgen05.ld.sync.aligned.16x32bx2.x64.b32 {%r1}, [%r2], 64;",
         Kind("tensor memory load", width=256)),
        ("\ttcgen05.st.sync.aligned.16x256b.x2.unpack::16b.b32 [%r2], {%r1};",
         Kind("tensor memory store", width=32)),
        ("\ttcgen05.cp.cta_group::1.128x256b [%r1], %rd2;", Kind("async copy", "tcgen05.cp")),
        ("\ttcgen05.mma.sp.cta_group::2.kind::i8 [ %r1 + 0 ], [%r2], %rd28, %rd29, [%r3], %r93, %p19;",
         Kind("matrix", "tcgen05.mma.sp.kind::i8")),
        ("\tmultimem.ld_reduce.relaxed.sys.global.add.v4.f32 {%r1}, [%rd1];",
         Kind("global load", "multimem.ld_reduce", 16)),
        ("\tmultimem.st.relaxed.sys.global.v2.f32 [%rd1], {%r1};", Kind("global store", "multimem.st", 8)),
        ("\tcp.async.bulk.prefetch.tensor.2d.L2.global.tile [%rd1, {%r1, %r2}];",
         Kind("async copy", "cp.async.bulk.tensor prefetch")),
        ("\t@%p1 cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%r1], [%rd1];",
         Kind("async copy", "cp.async.bulk.tensor load")),
        ("\t@%p1 cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%rd1, {%r1, %r2}], [%r3];",
         Kind("async copy", "cp.async.bulk.tensor store")),
    ],
)  # fmt: skip
def test_ptx_instructions_are_classified(line, expected):
    assert list(counted(line, "ptx")) == [expected]


def test_cp_async_reads_global_memory_and_copies():
    cg = "\tcp.async.cg.shared.global [ %r17 + 0 ], [ %rd10 + 0 ], 0x10, %r19;"
    ca = "\tcp.async.ca.shared.global [ %r17 + 0 ], [ %rd10 + 0 ], 0x4, %r19;"
    assert list(counted(cg, "ptx")) == [
        Kind("async copy", "cp.async"),
        Kind("global load", width=16),
    ]
    assert list(counted(ca, "ptx")) == [
        Kind("async copy", "cp.async"),
        Kind("global load", width=4),
    ]


def atomic(space, *words):
    return Kind(f"{space} atomic", *words)


@pytest.mark.parametrize(
    ("opcode", "expected"),
    [
        ("atom.global.gpu.acq_rel.add.f32", atomic("global", "atom.add.f32", 4, "gpu", "acq_rel")),
        ("red.global.gpu.relaxed.add.v4.f32", atomic("global", "red.add.f32", 16, "gpu", "relaxed")),
        ("red.global.sys.release.add.noftz.v8.f16", atomic("global", "red.add.f16", 16, "sys", "release")),
        ("red.global.gpu.relaxed.add.noftz.f16x2", atomic("global", "red.add.f16x2", 4, "gpu", "relaxed")),
        ("red.global.gpu.relaxed.add.noftz.v4.bf16x2",
         atomic("global", "red.add.bf16x2", 16, "gpu", "relaxed")),
        ("atom.relaxed.sys.shared.add.u32", atomic("shared", "atom.add.u32", 4, "sys", "relaxed")),
        ("atom.acquire.cta.shared::cluster.exch.b64", atomic("shared", "atom.exch.b64", 8, "cta", "acquire")),
        ("atom.global.cas.b128", atomic("global", "atom.cas.b128", 16, "gpu", "relaxed")),
        ("atom.release.cluster.global.cas.b16", atomic("global", "atom.cas.b16", 2, "cluster", "release")),
        ("multimem.red.release.sys.global.add.v4.f32",
         atomic("global", "multimem.red.add.f32", 16, "sys", "release")),
        ("red.async.relaxed.cluster.shared::cluster.mbarrier::complete_tx::bytes.inc.u32",
         atomic("shared", "red.async.inc.u32", 4, "cluster", "relaxed")),
    ],
)  # fmt: skip
def test_ptx_atomics_have_a_width_a_scope_and_an_order(opcode, expected):
    assert list(counted(f"\t@%p1 {opcode} %r0, [ %rd3 + 0 ], %r13;", "ptx")) == [expected]


def test_a_bulk_reduction_copies_and_is_atomic():
    line = "\t@%p1 cp.reduce.async.bulk.tensor.2d.global.shared::cta.add.bulk_group [%rd1, {%r1}], [%r3];"
    assert list(counted(line, "ptx")) == [
        Kind("async copy", "cp.reduce.async.bulk.tensor store"),
        Kind("global atomic", "cp.reduce.async.bulk.tensor.add", 0, "gpu", "relaxed"),
    ]


@pytest.mark.parametrize("line", [
    "\tcp.async.commit_group ;", "\tcp.async.wait_group 0x4 ;", "\tcp.async.bulk.commit_group;",
    "\twgmma.wait_group.sync.aligned 1;", "\tld.param.b64 \t%rd1, [f_param_0];",
    "\ttcgen05.commit.cta_group::1.mbarrier::arrive::one.shared::cluster.b64 [%r1];",
])  # fmt: skip
def test_instructions_without_data_movement_are_counted_but_not_named(line):
    assert scan(line, PTX).instructions == 1
    assert counted(line, "ptx") == {}


@pytest.mark.parametrize("line", [
    "", "$L__BB0_1:",
    "\t.loc\t1 43 17", "// %bb.0:", "\t// begin inline asm", ".visible .entry f(", "{", "}", ")",
    "\t.b8 1                                   // Abbreviation Code", "\twaitLoop:", "\twaitLoop: ",
])  # fmt: skip
def test_other_ptx_lines_are_not_instructions(line):
    assert scan(line, PTX).instructions == 0


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("\tglobal_load_dwordx4 v[12:15], v[2:3], off", Kind("global load", width=16)),
        ("\tbuffer_load_dwordx4 v[1:4], v5, s[4:7], 0 offen", Kind("global load", width=16)),
        ("\tglobal_load_b128 v[1:4], v[5:6], off", Kind("global load", width=16)),
        ("\tglobal_load_ubyte v1, v[2:3], off", Kind("global load", width=1)),
        ("\tglobal_store_d16_hi_b16 v[1:2], v3, off", Kind("global store", width=2)),
        ("\tglobal_store_short v[1:2], v3, off", Kind("global store", width=2)),
        ("\tscratch_load_b96 v[1:3], off, off", Kind("local load", width=12)),
        ("\tbuffer_store_dword v1, off, s[0:3], 0 offset:4 ; 4-byte Folded Spill",
         Kind("local store", width=4)),
        ("\tds_read_b64 v[46:47], v35", Kind("shared load", width=8)),
        ("\tds_read2st64_b64 v[1:4], v5 offset1:1", Kind("shared load", width=16)),
        ("\tds_read_u16 v18, v34 offset:4096", Kind("shared load", width=2)),
        ("\tds_read_b64_tr_b8 v[1:2], v3", Kind("shared load", "ds_read_b64_tr_b8", 8)),
        ("\tds_load_tr16_b128 v[1:4], v5", Kind("shared load", "ds_load_tr16_b128", 16)),
        ("\tbuffer_atomic_pk_add_f16 v6, v1, s[0:3], 0 offen sc0",
         Kind("global atomic", "buffer_atomic_pk_add_f16", 4)),
        ("\tbuffer_atomic_add_x2 v[1:2], v3, s[0:3], 0 offen",
         Kind("global atomic", "buffer_atomic_add_x2", 8)),
        ("\tglobal_atomic_smax v1, v2, off", Kind("global atomic", "global_atomic_smax", 4)),
        ("\tglobal_atomic_add_f64 v1, v[2:3], off", Kind("global atomic", "global_atomic_add_f64", 8)),
        ("\tglobal_atomic_add_f32 v1, v2, s[0:1] scope:SCOPE_DEV",
         Kind("global atomic", "global_atomic_add_f32", 4, "agent")),
        ("\tflat_atomic_cmpswap_b32 v1, v[2:3], v[4:5] th:TH_ATOMIC_RETURN scope:SCOPE_SYS",
         Kind("global atomic", "flat_atomic_cmpswap_b32", 4, "system")),
        ("\tds_add_u32 v1, v2 offset:16", Kind("shared atomic", "ds_add_u32", 4)),
        ("\tds_add_rtn_f64 v[1:2], v2, v[3:4]", Kind("shared atomic", "ds_add_rtn_f64", 8)),
        ("\tds_pk_add_bf16 v1, v2", Kind("shared atomic", "ds_pk_add_bf16", 4)),
        ("\tds_cmpst_rtn_b32 v1, v2, v3, v4", Kind("shared atomic", "ds_cmpst_rtn_b32", 4)),
        ("\tds_load_b128 v[1:4], v5", Kind("shared load", width=16)),
        ("\tds_store_2addr_b64 v1, v[2:3], v[4:5] offset1:4", Kind("shared store", width=16)),
        ("\tv_mfma_f32_32x32x8_f16 v[2:17], v[56:57], v[54:55], 0",
         Kind("matrix", "v_mfma_f32_32x32x8_f16")),
        ("\tv_wmma_f32_16x16x16_f16 v[0:7], v[8:15], v[16:23], v[0:7]",
         Kind("matrix", "v_wmma_f32_16x16x16_f16")),
    ],
)  # fmt: skip
def test_amdgcn_instructions_are_classified(line, expected):
    assert list(counted(line, "amdgcn")) == [expected]


@pytest.mark.parametrize("opcode", ["ds_bpermute_b32", "ds_permute_b32", "ds_swizzle_b32", "ds_nop"])
def test_lane_exchanges_access_no_memory(opcode):
    assert counted(f"\t{opcode} v1, v2, v3", "amdgcn") == {}


def test_a_load_to_lds_is_an_async_copy():
    line = "\tbuffer_load_dwordx4 v1, s[4:7], 0 offen lds"
    expected = (Kind("async copy", "load to LDS"), Kind("global load", width=16))
    assert AMDGCN.kinds("buffer_load_dwordx4", line) == expected


def test_a_real_ptx():
    found = counted(stored("matmul_kernel.cuda-90.BLOCK_M=64", "3.9.0.ptx"), "ptx")
    assert found == {
        Kind("async copy", "cp.async"): 12,
        Kind("global load", width=16): 12,
        Kind("matrix", "wgmma.m64n64k16"): 2,
        Kind("shared store", width=16): 4,
        Kind("shared load", "ldmatrix", 16): 4,
        Kind("global store", width=16): 4,
    }


def test_a_real_amdgcn():
    found = counted(stored("matmul_kernel.hip-gfx942.BLOCK_M=64", "amdgcn"), "amdgcn")
    assert found[Kind("matrix", "v_mfma_f32_32x32x8_f16")] == 20
    assert found[Kind("global load", width=16)] == 10
    assert found[Kind("shared load", width=2)] == 80


def test_instruction_lines_are_lines_of_the_text():
    text = stored("add_kernel.cuda-90.BLOCK_SIZE=1024", "3.9.0.ptx")
    lines = text.split("\n")
    for doing, indices in scan(text, PTX).lines.items():
        word = {"global load": "ld.global", "global store": "st.global"}[doing.kind]
        assert all(word in lines[index] for index in indices)
