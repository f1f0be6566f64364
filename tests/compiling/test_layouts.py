"""The linear layouts that irscope computes have the same bases as the installed Triton's."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from irscope.compiling.kernels import FoundKernel, find_kernel
from irscope.compiling.plan import with_layout
from irscope.compiling.toolchain.triton_layouts import installed_triton, triton_layouts
from irscope.languages.language import parse
from irscope.layouts.attribute import UnknownLayoutError, parse_attribute
from irscope.layouts.banks import bank_conflicts
from irscope.layouts.convert import linear_layout, triton_version
from irscope.layouts.tensors import tensors_of
from irscope.model import Expression
from irscope.targets import parse_target
from irscope.workspace.growth import InProgress
from irscope.workspace.stage_contents import StageContents
from tests.conftest import Irscope
from tests.exhaustive import EXHAUSTIVE
from tests.samples.cases import CASES, Case

# Each test compiles, or converts layouts in a process of its own.
pytestmark = pytest.mark.slow

SAMPLES = Path(__file__).parents[2] / "samples"
TRITON = triton_version(installed_triton() or "")
TARGETS = ["cuda:80", "cuda:90", "cuda:100", "hip:gfx942", "hip:gfx1201"]
if EXHAUSTIVE:
    TARGETS += ["cuda:75", "cuda:120", "hip:gfx950", "hip:gfx1100"]
# Layouts that Triton cannot convert through Gluon, or only by aborting its process.
UNCONVERTED = {"ttg.padded_shared", "ttg.amd_rotating_shared"}


def differences(expected: dict[str, dict[str, list[list[int]]]]) -> list[str]:
    """The layouts that irscope and Triton convert differently."""
    wrong = []
    for key, bases in expected.items():
        shape, _, text = key.partition(" ")
        rank = next(len(rows[0]) for rows in bases.values() if rows) if any(bases.values()) else None
        sizes = [int(size) for size in shape.split("x")]
        try:
            own = linear_layout(parse_attribute(text), sizes[-rank:] if rank else sizes, TRITON).bases
        except UnknownLayoutError as error:
            wrong.append(f"{key}: {error}")
            continue
        mine = {name: [list(vector) for vector in vectors] for name, vectors in own.items() if vectors}
        if mine != {name: vectors for name, vectors in bases.items() if vectors}:
            wrong.append(f"{key}: {mine} instead of {bases}")
    return wrong


class EnoughError(Exception):
    """Raised after TTGIR to skip the other stages."""


def ttgir(case: Case, target: str) -> Iterator[str]:
    """The TTGIR of a sample under each of its configs."""
    import triton
    from triton.backends.compiler import GPUTarget

    from irscope.compiling.toolchain.compiler import source_class

    kernel = find_kernel(SAMPLES / case.file, case.kernel)
    function, configs = kernel.function, [dict(config.values) for config in kernel.configs] or [{}]
    if case.config:
        configs = [
            dict(zip(case.config, values, strict=True)) for values in itertools.product(*case.config.values())
        ]
    backend, arch = target.split(":")
    made = GPUTarget(backend, int(arch) if backend == "cuda" else arch, parse_target(target).warp_size)
    found: list[str] = []

    def stop(*arguments: Any) -> tuple[str, str] | None:
        if not arguments:
            return "", ""
        stages = arguments[1]
        real = stages["ttgir"]

        def keep(module: Any, metadata: Any) -> Any:
            found.append(str(real(module, metadata)))
            raise EnoughError

        stages["ttgir"] = keep
        return None

    options = {"num_warps", "num_stages", "num_ctas", "maxnreg"}
    for config in configs:
        values = case.const | {name: value for name, value in config.items() if name not in options}
        signature, constants, attributes = _specialized(kernel, case.signature, values)
        source = source_class(function)(function, signature, constants, attributes)
        triton.knobs.runtime.add_stages_inspection_hook = stop
        try:
            own = {name: value for name, value in config.items() if name in options}
            triton.compile(source, target=made, options=own | ({"debug": True} if function.debug else {}))
        except EnoughError:
            yield found[-1]
        finally:
            triton.knobs.runtime.add_stages_inspection_hook = None


def _specialized(kernel: FoundKernel, notation: str, values: dict[str, Any]) -> tuple[Any, Any, Any]:
    types = iter(_split(notation))
    signature, constants, attributes = {}, {}, {}
    real = kernel.constants.real
    values = {name: real(Expression(v) if isinstance(v, str) else v) for name, v in values.items()}
    for index, parameter in enumerate(kernel.function.params):
        text = "constexpr" if parameter.is_constexpr else next(types)
        type_, _, divisible = text.partition(":")
        if text in ("constexpr", "1"):
            signature[parameter.name] = "constexpr"
            constants[parameter.name] = values[parameter.name] if text == "constexpr" else 1
            continue
        signature[parameter.name] = with_layout(kernel.constants, parameter.name, type_)
        if divisible:
            attributes[(index,)] = [["tt.divisibility", 16]]
    return signature, constants, attributes


def _split(notation: str) -> list[str]:
    parts, depth = [""], 0
    for char in notation:
        depth += (char in "<[") - (char in ">]")
        if char == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += char
    return [part.strip() for part in parts]


@pytest.mark.parametrize("case", CASES, ids=lambda case: f"{case.file}-{case.kernel}-{case.signature[-9:]}")
def test_every_layout_of_every_sample_equals_tritons(
    case: Case, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("TRITON_DEFAULT_FP_FUSION", "1")
    # A layout of Gluon is for warps of 32 or of 64.
    targets = case.targets if "gluon" in case.file or len(case.targets) < 3 else TARGETS
    known: set[str] = set()
    compared = 0
    for target in targets:
        for text in itertools.islice(ttgir(case, target), 2 if EXHAUSTIVE else 1):
            keys = {t.key: t.attribute.kind for t in tensors_of(parse(text, "mlir"))}
            if keys.keys() <= known:
                continue
            converted = triton_layouts(text, parse_target(target))
            assert not differences(converted)
            missing = [key for key, kind in keys.items() if key not in converted]
            assert not [key for key in missing if not _unconverted(key, keys[key])]
            known |= keys.keys()
            compared += len(converted)
    assert compared


def _unconverted(key: str, kind: str) -> bool:
    """Whether Triton cannot convert a layout: of memory before 3.7, of one element, or in UNCONVERTED."""
    memory = "shared" in kind or "tensor_memory" in kind
    return kind in UNCONVERTED or (memory and (TRITON < (3, 7) or key.partition(" ")[0].endswith("1")))


powers = st.integers(0, 7).map(lambda bit: 1 << bit)


@st.composite
def shares(draw: st.DrawFn, total: int, rank: int) -> list[int]:
    """`total`, a power of two, spread over the dimensions."""
    sizes = [1] * rank
    while total > 1:
        sizes[draw(st.integers(0, rank - 1))] *= 2
        total //= 2
    return sizes


def blocked(draw: st.DrawFn, rank: int, lanes: int, warps: int) -> str:
    return (
        f"#ttg.blocked<{{sizePerThread = {draw(shares(1 << draw(st.integers(0, 4)), rank))}, "
        f"threadsPerWarp = {draw(shares(lanes, rank))}, warpsPerCTA = {draw(shares(warps, rank))}, "
        f"order = {draw(st.permutations(range(rank)))}}}>"
    )


def matrix(draw: st.DrawFn, vendor: str, warps: int) -> str:
    turned = draw(st.sampled_from(["true", "false"]))
    across = draw(shares(warps, 2))
    if vendor == "nvidia":
        if draw(st.booleans()):
            return (
                f"#ttg.nvidia_mma<{{versionMajor = 2, versionMinor = 0, warpsPerCTA = {across}, "
                "instrShape = [16, 8]}>"
            )
        tall = [4, warps // 4] if warps >= 4 else [warps, 1]
        wide = 1 << draw(st.integers(3, 8))
        return (
            f"#ttg.nvidia_mma<{{versionMajor = 3, versionMinor = 0, warpsPerCTA = {tall}, "
            f"instrShape = [16, {wide}, 16]}}>"
        )
    if vendor == "cdna":
        side, k = draw(st.sampled_from([(32, 8), (16, 16)]))
        return (
            f"#ttg.amd_mfma<{{version = 3, warpsPerCTA = {across}, instrShape = [{side}, {side}, {k}], "
            f"isTransposed = {turned}}}>"
        )
    version = draw(st.sampled_from([1, 2]))
    if TRITON < (3, 7):
        return f"#ttg.amd_wmma<{{version = {version}, isTranspose = {turned}, warpsPerCTA = {across}}}>"
    units = [
        [1 << b if d == own else 0 for own in range(2)]
        for d in range(2)
        for b in range(across[d].bit_length() - 1)
    ]
    return (
        f"#ttg.amd_wmma<{{version = {version}, isTranspose = {turned}, "
        f"ctaLayout = {{warp = {draw(st.permutations(units))}}}}}>"
    )


def operand(draw: st.DrawFn, vendor: str, warps: int) -> str:
    parent = matrix(draw, vendor, warps)
    which = 0 if "versionMajor = 3" in parent else draw(st.integers(0, 1))
    width = 1 << draw(st.integers(1, 3))
    if vendor == "rdna":
        width = 16 if "version = 1" in parent else 8
    if vendor == "cdna":
        width = draw(st.sampled_from([4, 8]))
    return f"#ttg.dot_op<{{opIdx = {which}, parent = {parent}, kWidth = {width}}}>"


def linear(draw: st.DrawFn, shape: list[int], lanes: int, warps: int) -> str:
    bits = [
        [1 << bit if d == own else 0 for own in range(len(shape))]
        for d, size in enumerate(shape)
        for bit in range(size.bit_length() - 1)
    ]
    need = lanes.bit_length() + warps.bit_length() - 2
    bits += [[0] * len(shape)] * max(0, need - len(bits))
    bits = draw(st.permutations(bits))
    cut = lanes.bit_length() - 1
    return (
        f"#ttg.linear<{{register = {bits[need:]}, lane = {bits[:cut]}, warp = {bits[cut:need]}, block = []}}>"
    )


def buffer(draw: st.DrawFn, rank: int, vendor: str) -> str:
    if vendor == "nvidia" and rank == 2 and draw(st.booleans()):
        return (
            f"#ttg.nvmma_shared<{{swizzlingByteWidth = {draw(st.sampled_from([0, 32, 64, 128]))}, "
            f"transposed = {draw(st.sampled_from(['true', 'false']))}, elementBitWidth = 16}}>"
        )
    vec, per_phase, phases = (1 << draw(st.integers(0, most)) for most in (3, 2, 4))
    return (
        f"#ttg.swizzled_shared<{{vec = {vec}, perPhase = {per_phase}, maxPhase = {phases}, "
        f"order = {draw(st.permutations(range(rank)))}}}>"
    )


@st.composite
def modules(draw: st.DrawFn, vendor: str) -> str:
    """A module with values of random layouts of each kind."""
    warps, lanes = 1 << draw(st.integers(0, 3)), 64 if vendor == "cdna" else 32
    lines = []
    for number in range(24):
        rank = draw(st.sampled_from([1, 2, 2, 3]))
        shape = [min(draw(powers), 32 if rank == 3 else 128) for _ in range(rank)]
        kind = number % 6
        if kind == 0:
            layout = blocked(draw, rank, lanes, warps)
        elif kind == 1:
            dim = draw(st.integers(0, rank))
            layout = f"#ttg.slice<{{dim = {dim}, parent = {blocked(draw, rank + 1, lanes, warps)}}}>"
        elif kind == 2:
            shape = [max(16, draw(powers)) for _ in range(2)]
            layout = matrix(draw, vendor, warps)
        elif kind == 3:
            shape = [max(16, draw(powers)) for _ in range(2)]
            layout = operand(draw, vendor, warps)
        elif kind == 4:
            layout = linear(draw, shape, lanes, warps)
        else:
            layout = buffer(draw, rank, vendor)
            shape = [max(64, size) for size in shape] if "nvmma" in layout else shape
        name = f"    %v{number} = "
        if kind == 5:
            memory = f"!ttg.memdesc<{'x'.join(map(str, shape))}xf16, {layout}, #ttg.shared_memory, mutable>"
            lines.append(f"{name}ttg.local_alloc : () -> {memory}")
        else:
            tensor = f"tensor<{'x'.join(map(str, shape))}xf16, {layout}>"
            lines.append(f"{name}arith.constant dense<0.0> : {tensor}")
    head = (
        f'"ttg.num-ctas" = 1 : i32, "ttg.num-warps" = {warps} : i32, "ttg.threads-per-warp" = {lanes} : i32'
    )
    return "\n".join(
        [
            f"module attributes {{{head}}} {{",
            "  tt.func public @f() {",
            *lines,
            "    tt.return",
            "  }",
            "}",
            "",
        ]
    )


@pytest.mark.parametrize(
    ("vendor", "target"), [("nvidia", "cuda:90"), ("cdna", "hip:gfx942"), ("rdna", "hip:gfx1201")]
)
@settings(
    max_examples=10 if EXHAUSTIVE else 3,
    deadline=None,
    suppress_health_check=list(HealthCheck),
    phases=[Phase.generate],
)
@given(data=st.data())
def test_random_layouts_equal_tritons(vendor: str, target: str, data: st.DataObject):
    text = data.draw(modules(vendor))
    converted = triton_layouts(text, parse_target(target))
    assert converted
    assert not differences(converted)


def test_the_command_converts_with_triton_once_and_stores_the_result(irscope: Irscope, tmp_path: Path):
    signature = "*fp32:16, *fp32:16, *fp32:16, i32:16"
    sample = f"{SAMPLES / 'vector_add.py'}::add_kernel"
    words = ("compile", sample, "--signature", signature, "--config", "BLOCK_SIZE=1024", "-o", "a.irscope")
    assert irscope(*words).returncode == 0
    done = irscope("layout", "a.irscope", "#1", "#blocked")
    assert done.returncode == 0, done.stderr
    assert f"Linear layout: from Triton {installed_triton()}." in done.stdout
    contents = StageContents(tmp_path / "a.irscope", InProgress(), None)
    (variant,) = contents.variants().values()
    converted = contents.layouts(variant)
    contents.close()
    assert converted
    assert not differences(converted)


CLUSTERED = """#blocked = #ttg.blocked<{sizePerThread = [1, 4], threadsPerWarp = [8, 4], \
warpsPerCTA = [4, 1], order = [1, 0], CGALayout = [[1, 0]]}>
#shared = #ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0], CGALayout = [[1, 0]]}>
module attributes {"ttg.num-ctas" = 2 : i32, "ttg.num-warps" = 4 : i32} {
  tt.func public @f() {
    %a = arith.constant dense<0.0> : tensor<128x64xf16, #blocked>
    %b = arith.constant dense<0.0> : tensor<64xf16, #ttg.slice<{dim = 0, parent = #blocked}>>
    %c = ttg.local_alloc : () -> !ttg.memdesc<128x64xf16, #shared, #ttg.shared_memory, mutable>
    tt.return
  }
}
"""


def test_layouts_of_clusters_equal_tritons():
    converted = triton_layouts(CLUSTERED, parse_target("cuda:90"))
    assert len(converted) >= 2
    assert not differences(converted)


def test_a_layout_that_aborts_tritons_process_is_skipped(monkeypatch: pytest.MonkeyPatch):
    """The process aborts whenever it converts "fatal"."""
    bases = {"lane": [[1]]}
    calls = []

    def convert(ttgir: str, target: Any, skip: list[str]) -> tuple[set[str], Any]:
        calls.append(skip)
        keys = [key for key in ("first", "fatal", "last") if key not in skip]
        before = keys[: keys.index("fatal")] if "fatal" in keys else keys
        return set(keys[: len(before) + 1]), dict.fromkeys(before, bases)

    monkeypatch.setattr("irscope.compiling.toolchain.triton_layouts._convert_in_process", convert)
    assert triton_layouts("", parse_target("cuda:90")) == {"first": bases, "last": bases}
    assert calls == [[], ["first", "fatal"]]


def test_a_text_that_triton_cannot_read_has_no_layouts():
    assert triton_layouts("module {", parse_target("cuda:90")) == {}


@pytest.mark.skipif(TRITON >= (3, 8), reason="Triton 3.8 and later abort the process")
@settings(max_examples=200 if EXHAUSTIVE else 50, deadline=None, suppress_health_check=list(HealthCheck))
@given(data=st.data())
def test_bank_conflicts_equal_tritons_count_for_words_and_wider(data: st.DataObject):
    """For less than 4 bytes per thread, Triton counts half banks as banks; an H200 does not."""
    from triton.experimental.gluon.language import BlockedLayout, SwizzledSharedLayout

    bits = data.draw(st.sampled_from([8, 16, 32]))
    shape = [data.draw(st.sampled_from([16, 32, 64, 128])) for _ in range(2)]
    order = data.draw(st.permutations([0, 1]))
    sizes = [data.draw(shares(total, 2)) for total in (1 << data.draw(st.integers(0, 4)), 32, 2)]
    own = data.draw(st.permutations([0, 1]))
    swizzle = [1 << data.draw(st.integers(0, most)) for most in (4, 2, 4)]
    builder = _builder()
    registers, memory = BlockedLayout(*sizes, order), SwizzledSharedLayout(*swizzle, own)
    expected = builder.get_shared_bank_conflicts(
        registers._to_ir(builder), memory._to_ir(builder), shape, bits
    )
    text = "#ttg.blocked<{{sizePerThread = {}, threadsPerWarp = {}, warpsPerCTA = {}, order = {}}}>"
    shared = "#ttg.swizzled_shared<{{vec = {}, perPhase = {}, maxPhase = {}, order = {}}}>"
    found = bank_conflicts(
        linear_layout(parse_attribute(text.format(*sizes, order)), shape, TRITON),
        linear_layout(parse_attribute(shared.format(*swizzle, own)), shape, TRITON),
        bits,
    )
    if found.width >= 4:
        assert found.ways - 1 == expected
    else:
        assert found.ways - 1 >= expected


def _builder() -> Any:
    from triton._C.libtriton import gluon_ir, ir
    from triton.backends.compiler import GPUTarget
    from triton.compiler import make_backend

    if not _BUILDERS:
        context = ir.context()
        ir.load_dialects(context)
        make_backend(GPUTarget("cuda", 90, 32)).load_dialects(context)
        _BUILDERS.append((context, gluon_ir.GluonOpBuilder(context)))
    return _BUILDERS[0][1]


_BUILDERS: list[tuple[Any, Any]] = []
