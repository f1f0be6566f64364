"""The facts in Inductor's output code about kernels: nodes, operators, program lines, template constants."""

from __future__ import annotations

import json
import sys
from dataclasses import replace
from types import SimpleNamespace

import pytest

from irscope.compiling.messages import BenchmarkRecorded, Note, Record, RunOptions
from irscope.model import Argument, Config, Dtype, Target
from irscope.model.origin import Origin, ProgramLine, origin_from_metadata, origin_to_json
from irscope.model.variant import ORIGIN
from irscope.recording.inductor.graphs import (
    GeneratedKernel,
    generated,
    graph_part,
    kernels_of,
    program_line,
    program_lines,
    size_hints,
    template_constants,
)
from irscope.recording.inductor.hooks import InductorBenchmarks, after
from irscope.recording.recorder import Recorder
from irscope.store.new_variant import NewVariant

# As torch 2.13 writes it, without the bodies of the kernels.
OUTPUT_CODE = """\
# AOT ID: ['0_forward']
import torch
async_compile = AsyncCompile()


# kernel path: /tmp/torchinductor/ab/cab.py
# Topologically Sorted Source Nodes: [y, z], Original ATen: [aten.relu, aten._softmax]
# Source node to ATen node mapping:
#   y => relu
# Graph fragment:
#   %relu : Tensor "f32[32, 64][64, 1]cuda:0"[num_users=1] = call_function[target=torch.ops.aten.relu.default]
#   return %relu
triton_per_fused__softmax_relu_0 = async_compile.triton('triton_per_fused__softmax_relu_0', \'\'\'
import triton
@triton.jit
def triton_per_fused__softmax_relu_0(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    pass
\'\'\', device_str='cuda')


# Topologically Sorted Source Nodes: [], Original ATen: [prims.online]
# Graph fragment:
#   %mm : Tensor "f16[512]" = PlaceHolder[target=mm]
#   %online : [num_users=2] = call_function[target=torch.ops.prims.online.default](args = (%mm, -1))
triton_red_fused_1 = async_compile.triton('triton_red_fused_1', \'\'\'
\'\'\', device_str='cuda')


# Original path: /home/me/model.py:3
add_0 = async_compile.triton('add', \'\'\'
\'\'\', device_str='cuda')


async_compile.wait(globals())

class Runner:
    def call(self, args):
        # Topologically Sorted Source Nodes: [matmul], Original ATen: [aten.mm]
        extern_kernels.mm(primals_1, primals_2, out=buf0)
        stream0 = get_raw_stream(0)
        triton_per_fused__softmax_relu_0.run(buf0, 2048, stream=stream0)
        triton_red_fused_1.run(buf0, 2048, stream=stream0)
        add_0.run(buf0, 2048, stream=stream0)
"""
LINE_3 = '  File "/home/me/model.py", line 3, in block\n    y = torch.relu(x @ w)\n        ^^^^^\n'
LINE_4 = (
    '  File "/home/me/model.py", line 4, in block\n    z = norm(y)\n'
    '  File "/site/torch/nn/functional.py", line 900, in norm\n    return softmax(y)\n'
)
MM = """\
@triton_heuristics.template(
    num_stages=3,
    num_warps=4,
    triton_meta={'signature': {}},
)
@triton.jit
def triton_mm(arg_A, arg_B, out_ptr0):
    EVEN_K : tl.constexpr = True
    ACC_TYPE : tl.constexpr = tl.float32
    BLOCK_M : tl.constexpr = 64
    RBLOCK: tl.constexpr = BLOCK_M
    xnumel = 4
"""
POINTWISE = """\
@triton_heuristics.pointwise(size_hints={'x': 4096, 'y': 16}, filename=__file__)
@triton.jit
def triton_poi(in_ptr0, xnumel, XBLOCK : tl.constexpr):
    BLOCK : tl.constexpr = 2
"""


def line_number(text: str) -> int:
    """The number of the line of OUTPUT_CODE that has `text`, from 1."""
    return next(n for n, line in enumerate(OUTPUT_CODE.splitlines(), 1) if text in line)


def test_kernels_have_the_nodes_of_their_definition_and_the_stacks_of_their_calls() -> None:
    line_map = [(line_number("extern_kernels"), LINE_3), (line_number("0.run"), LINE_4)]
    kernels = kernels_of(OUTPUT_CODE, line_map)
    first, second, _ = kernels.values()
    assert list(kernels) == ["triton_per_fused__softmax_relu_0", "triton_red_fused_1", "add_0"]
    assert (first.nodes, first.operators) == (("y", "z"), ("aten.relu", "aten._softmax"))
    assert first.stacks == second.stacks == (LINE_4,)
    assert graph_part(OUTPUT_CODE) == "forward"


def test_a_kernel_without_nodes_of_the_program_has_those_that_inductor_compiled() -> None:
    assert kernels_of(OUTPUT_CODE, [])["triton_red_fused_1"].nodes == ("online",)


def test_nodes_that_only_inductor_has_name_no_line_of_the_program() -> None:
    """`online` may be the name of an unrelated node of the program's graph."""
    kernel = kernels_of(OUTPUT_CODE, [])["triton_red_fused_1"]
    assert program_lines(kernel, {"online": LINE_3}, "") == ()


def test_a_kernel_of_the_program_names_its_definition_and_its_launch() -> None:
    kernel = kernels_of(OUTPUT_CODE, [(line_number("add_0.run"), LINE_4)])["add_0"]
    assert (kernel.name, kernel.nodes) == ("add", ("triton_kernel_wrapper_mutation",))
    lines = program_lines(kernel, {"triton_kernel_wrapper_mutation": LINE_4}, "/site/torch/")
    assert [line.line for line in lines] == [3, 4]


def test_program_lines_are_the_innermost_ones_outside_of_torch() -> None:
    kernel = kernels_of(OUTPUT_CODE, [(1, LINE_4)])["triton_per_fused__softmax_relu_0"]
    assert program_lines(kernel, {"y": LINE_3, "x": LINE_3}, "/site/torch/") == (
        ProgramLine("/home/me/model.py", 3, "block", "y = torch.relu(x @ w)"),
        ProgramLine("/home/me/model.py", 4, "block", "z = norm(y)"),
    )
    assert program_line("", "/site/torch/") is None


def test_program_lines_without_text_are_lines_too() -> None:
    stack = '  File "<string>", line 9, in outer\n  File "<string>", line 4, in inner\n'
    assert program_line(stack, "/site/torch/") == ProgramLine("<string>", 4, "inner", "")


def test_constants_of_a_template_are_config_values() -> None:
    assert template_constants(MM) == {"EVEN_K": True, "ACC_TYPE": Dtype("fp32"), "BLOCK_M": 64}
    assert template_constants(POINTWISE) == {}
    assert size_hints(POINTWISE) == "x=4096:y=16"
    assert size_hints(MM) == ""


@pytest.mark.parametrize("source", ["", "def f(:", "@triton_heuristics.template(\n", "x" * 10, "\0"])
def test_any_source_can_be_read(source: str) -> None:
    assert (template_constants(source), size_hints(source)) == ({}, "")


def test_a_variant_gets_the_constants_the_size_hints_and_the_origin_of_its_kernel() -> None:
    config = Config((("num_warps", 4),))
    variant = NewVariant(Target("cuda", "90", 32), (), config, metadata={"name": "triton_mm"})
    origin = Origin("0/0 forward", ("y",), ("aten.mm",), (ProgramLine("/m.py", 3),))
    found = generated(GeneratedKernel("", "/wrapper.py", origin), MM)
    completed = found.complete(variant)
    assert str(completed.config) == "EVEN_K=True,ACC_TYPE=tl.fp32,BLOCK_M=64,num_warps=4"
    assert completed.cache_key["constant BLOCK_M"] == "64"
    assert origin_from_metadata(completed.metadata) == origin
    assert found.files == {"output_code": "/wrapper.py"}
    narrowed = GeneratedKernel("", None, origin, {"BLOCK": 2, "num_warps": 4}, 5)
    chosen, other = (
        generated(narrowed, "").complete(
            replace(variant, config=Config((("BLOCK", block), ("num_warps", 4))))
        )
        for block in (2, 4)
    )
    assert origin_from_metadata(chosen.metadata) == replace(origin, configs=5)
    assert origin_from_metadata(other.metadata) == origin
    sized = generated(GeneratedKernel("", None, origin), POINTWISE)
    (hints,) = sized.complete(variant).specialization
    assert hints == Argument("size_hints", "constexpr", None, "x=4096:y=16")
    assert sized.files == {}


def test_an_origin_survives_json_and_whatever_is_malformed_is_skipped() -> None:
    origin = Origin("g", ("a", "b"), ("aten.x",), (ProgramLine("/m.py", 3, "f", "y = 1"),), 5)
    assert origin_from_metadata({ORIGIN: json.loads(json.dumps(origin_to_json(origin)))}) == origin
    assert origin_from_metadata({}) is None
    assert origin_from_metadata({ORIGIN: {"nodes": 3, "lines": [1, {"file": 2}], "graph": []}}) == Origin()
    assert origin.summary == "a, b (aten.x) of m.py:3 in graph g"
    assert origin.choice == "Inductor's autotune cache chose this one of 5 configs"


@pytest.fixture
def recorder(monkeypatch: pytest.MonkeyPatch) -> tuple[Recorder, list[Record]]:
    """A recorder with three finished variants, named in Triton's cache by their hashes."""
    runtime = SimpleNamespace(triton_hash_to_path_key=lambda hash_: hash_)
    monkeypatch.setitem(sys.modules, "torch._inductor.runtime.runtime_utils", runtime)
    sent: list[Record] = []
    recorder = Recorder(RunOptions(None), sent.append)
    for number, hash_ in enumerate("abc"):
        recorder.finished(hash_, number)
    return recorder, sent


def autotuner(**meta: bool) -> SimpleNamespace:
    launchers = [SimpleNamespace(cache_hash=hash_, config=SimpleNamespace()) for hash_ in "abc"]
    function = SimpleNamespace(__name__="triton_red")
    return SimpleNamespace(launchers=launchers, inductor_meta=meta, size_hints={"x": 64}, fn=function)


TIMES = {"a": 2.0, "b": 1.0, "c": float("inf")}


def tune(benchmarks: InductorBenchmarks, tuner: SimpleNamespace) -> None:
    """Autotunes as Inductor does: measures each launcher and keeps the fastest."""
    bench = after(benchmarks.add_time)(lambda _, launcher: TIMES[launcher.cache_hash])

    def autotune(tuner: SimpleNamespace) -> None:
        timings = {launcher.cache_hash: bench(tuner, launcher) for launcher in tuner.launchers}
        tuner.launchers = [min(tuner.launchers, key=lambda one: timings[one.cache_hash])]

    benchmarks.autotuned(autotune)(tuner)


def test_times_and_the_choice_of_the_autotuner_are_recorded(recorder: tuple[Recorder, list[Record]]) -> None:
    tune(InductorBenchmarks(recorder[0]), autotuner())
    *benchmarks, note = recorder[1]
    assert [(r.number, r.benchmark.ms, r.benchmark.chosen, r.benchmark.key) for r in benchmarks] == [
        (0, 2.0, False, "x=64"), (1, 1.0, True, "x=64"),
    ]  # fmt: skip
    assert isinstance(note, Note)
    assert note.text.startswith("triton_red: 1 of 3 configs not measured")


def test_coordinate_descent_makes_the_choice(recorder: tuple[Recorder, list[Record]]) -> None:
    benchmarks, tuner = InductorBenchmarks(recorder[0]), autotuner(coordinate_descent_tuning=True)
    first = tuner.launchers[0]
    tune(benchmarks, tuner)
    assert not recorder[1]
    chosen = benchmarks.descended(lambda _, launcher: first)(tuner, tuner.launchers[0])
    assert chosen is first
    sent = [record for record in recorder[1] if isinstance(record, BenchmarkRecorded)]
    assert [(record.number, record.benchmark.chosen) for record in sent] == [(0, True), (1, False)]


def test_configs_that_coordinate_descent_found_earlier_are_final(
    recorder: tuple[Recorder, list[Record]],
) -> None:
    tuner = autotuner(coordinate_descent_tuning=True)
    tuner.launchers[1].config.found_by_coordesc = True
    tune(InductorBenchmarks(recorder[0]), tuner)
    sent = [record for record in recorder[1] if isinstance(record, BenchmarkRecorded)]
    assert [(record.number, record.benchmark.chosen) for record in sent] == [(0, False), (1, True)]


def test_choices_of_max_autotune_are_recorded(
    recorder: tuple[Recorder, list[Record]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Recorder, "numbers_by_file", lambda _: {"/a.py": 0, "/b.py": 1})
    slow, fast = (SimpleNamespace(bmreq=SimpleNamespace(module_path=path)) for path in ("/a.py", "/b.py"))
    node = SimpleNamespace(get_size=lambda: [512, 64])
    benchmarks = InductorBenchmarks(recorder[0])
    benchmarks.add_choices({_Choice(slow): 2.0, _Choice(fast): 1.0}, "mm", [node, node])
    assert [(r.number, r.benchmark.key, r.benchmark.chosen) for r in recorder[1]] == [
        (0, "mm(512x64, 512x64)", False), (1, "mm(512x64, 512x64)", True),
    ]  # fmt: skip
    recorder[1].clear()
    benchmarks.add_choices({_Choice(fast): 1.0, _Choice(SimpleNamespace(name="mm")): 0.5}, "mm", [node])
    benchmark, note = recorder[1]
    assert not benchmark.benchmark.chosen
    assert "chose the library's mm (0.5 ms); the fastest of 1 Triton kernel took 1 ms" in note.text


class _Choice:
    """A choice, which is hashable as those of Inductor are."""

    def __init__(self, choice: SimpleNamespace) -> None:
        self.__dict__.update(vars(choice))
