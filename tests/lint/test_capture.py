"""The rules for captures, on variants built by hand."""

from __future__ import annotations

import pytest

from irscope.facts.measure import from_json
from irscope.languages.language import parse
from irscope.lint.compiled import CompiledKernel
from irscope.lint.linter import lint_compiled
from irscope.lint.rules import CAPTURE_RULES
from irscope.lint.rules.autotune_keys import parse_key
from irscope.model import Argument, Benchmark, Config, SourceFunction
from irscope.targets import stage_named
from tests.findings.builders import stored, variant

ALL = frozenset(rule.name for rule in CAPTURE_RULES)
SOURCE = SourceFunction(
    "matmul",
    "matmul.py",
    11,
    "@triton.autotune(CONFIGS)\n@triton.jit\ndef matmul(\n    x_ptr,\n    stride: tl.constexpr,\n"
    "    BLOCK: tl.constexpr,\n):\n"
    "    at = tl.program_id(0) * stride + tl.arange(0, BLOCK)\n    tl.store(x_ptr + at, 0.0)\n",
)


def made(id_, config=(), arguments=(), benchmarks=(), **facts):
    """A variant and its facts."""
    fields = {"config": Config(tuple(dict(config).items())), "specialization": tuple(arguments)}
    one = variant(id_=id_, name="matmul", source=SOURCE, benchmarks=tuple(benchmarks), seconds={"ptx": 0.5})
    for name, value in fields.items():
        object.__setattr__(one, name, value)
    return one, from_json(facts)


def lint(*pairs, rules=ALL, read=lambda variant, stage: None):
    variants = [one for one, _ in pairs]
    facts = {one.id: own for one, own in pairs}
    names = {one.id: str(dict(one.config.values)) for one in variants}

    def document(variant, stage):
        return parse(read(variant, stage).decode(), stage_named(stage).language)

    return lint_compiled([CompiledKernel(variants, names, facts, read, document)], rules)


def test_good_configs_report_nothing():
    good = {"launchable": "yes", "spill_store_bytes": 0, "stack": 0}
    assert lint(made(1, {"BLOCK": 64}, code="a", **good), made(2, {"BLOCK": 128}, code="b", **good)) == []


def test_configs_that_cannot_launch():
    bad = made(2, {"BLOCK": 512}, launchable="no: 300,000 bytes of shared memory, limit 232,448")
    (diagnostic,) = lint(made(1, {"BLOCK": 64}, launchable="yes"), bad)
    assert (diagnostic.rule.name, diagnostic.file, diagnostic.line, diagnostic.column) == (
        "cannot-launch",
        "matmul.py",
        13,
        1,
    )
    assert diagnostic.message.startswith("1 of 2 variants cannot launch on cuda:90: #2 {'BLOCK': 512}")
    assert "300,000 bytes of shared memory" in diagnostic.message


def test_configs_that_spill_worst_first():
    pairs = [made(1, {"BLOCK": 64}, stack=0, spill_store_bytes=0), made(2, {}, stack=64, spill_store_bytes=0)]
    assert lint(*pairs) == []  # a stack without spills is an array
    pairs += [
        made(3, {"BLOCK": 1}, stack=16, spill_store_bytes=8),
        made(4, {"BLOCK": 2}, stack=800, spill_load_bytes=8),
    ]
    (diagnostic,) = lint(*pairs)
    assert diagnostic.rule.name == "config-spills"
    assert (
        "2 of 4 variants" in diagnostic.message and "800 bytes of stack per thread: #4" in diagnostic.message
    )


def test_amds_spills_are_ranked_by_what_is_spilled():
    scalar = made(1, {"BLOCK": 64}, stack=0, vector_spills=0, scalar_spills=24)
    worse = made(2, {"BLOCK": 128}, stack=0, vector_spills=0, scalar_spills=27)
    vector = made(3, {"BLOCK": 256}, stack=2140, vector_spills=534, scalar_spills=1)
    (only,) = lint(scalar, worse)
    assert "2 of 2 variants spill scalar registers" in only.message
    assert "the worst with 27, to lanes of vector registers: #2" in only.message
    memory, lanes = sorted(lint(scalar, worse, vector), key=lambda diagnostic: "lanes" in diagnostic.message)
    assert "1 of 3 variants spills on" in memory.message
    assert "2,140 bytes of stack per thread (534 vector and 1 scalar register): #3" in memory.message
    assert "2 of 3 variants spill scalar registers" in lanes.message


def test_configs_with_identical_machine_code():
    facts = {"code": "same", "registers": 32, "stack": 0, "shared": 0, "threads": 128}
    block = [Argument("BLOCK", "constexpr", None, 64)]
    first = made(1, {"BLOCK": 64, "num_stages": 2}, block, **facts)
    again = made(2, {"BLOCK": 64, "num_stages": 3}, block, **facts)
    other = made(3, {"BLOCK": 64, "num_stages": 2}, [*block, Argument("n", "i32", "D")], **facts)
    (diagnostic,) = lint(first, again, other)
    assert diagnostic.rule.name == "same-code"
    assert diagnostic.message.startswith("1 of 3 variants") and "33% of the sweep" in diagnostic.message
    assert "took 0.5 s" in diagnostic.message and "#2 " in diagnostic.message
    assert diagnostic.fix.endswith("they differ in num_stages")
    assert lint(first, other) == []


def test_constants_that_recompile():
    def strides(*values):
        return [
            made(at, {"BLOCK": 64}, [Argument("stride", "constexpr", None, v)])
            for at, v in enumerate(values, 1)
        ]

    (diagnostic,) = lint(*strides(64, 96, 128))
    assert (diagnostic.rule.name, diagnostic.line, diagnostic.column) == ("constexpr-recompiled", 15, 5)
    assert "compiled for 3 values on cuda:90 (64, 96, 128), in 3 compilations" in diagnostic.message
    assert lint(*strides(64, 64)) == lint(*strides(True, False)) == lint(*strides(1, 64)) == []
    by_config = [made(at, {"stride": at}, [Argument("stride", "constexpr", None, at)]) for at in (2, 3)]
    needed = [made(at, {}, [Argument("BLOCK", "constexpr", None, at)]) for at in (64, 128)]
    assert lint(*by_config) == lint(*needed) == []


def measured(choices):
    """Variants of two configs, measured for these keys; each choice is a key and the config that won."""
    return [
        made(at, {"BLOCK": at}, benchmarks=[Benchmark(key, 1.0, 1.0, 1.0, won == at) for key, won in choices])
        for at in (1, 2)
    ]


def test_keys_that_changed_nothing():
    choices = [(f"M={m}, N={n}", n) for m in (16, 32, 64) for n in (1, 2)]
    (diagnostic,) = lint(*measured(choices))
    assert diagnostic.rule.name == "key-changed-nothing"
    assert diagnostic.message.startswith(
        "M is in the key of matmul and changed nothing: for its 3 values (16, 32, 64)"
    )
    assert "4 of the tunings were redundant" in diagnostic.message
    # Two values prove little, and a single other winner justifies the key.
    assert lint(*measured(choices[:4])) == []
    assert lint(*measured([*choices[:-1], ("M=64, N=2", 1)])) == []


@pytest.mark.parametrize(
    ("key", "parts"),
    [
        ("M=512, N=64", {"M": "512", "N": "64"}),
        ("shape=(1, 2), x=a", {"shape": "(1, 2)", "x": "a"}),
        ("", {}),
        ("all", {}),
    ],
)
def test_keys_are_parsed(key, parts):
    assert parse_key(key) == parts


def test_narrow_accesses_due_to_an_unspecialized_bound():
    stages = {
        name: stored("add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0", f".{name}")
        for name in ("ttir", "ptx")
    }
    # The committed stages were compiled for an n that is divisible by 16; drop that attribute.
    ttir = stages["ttir"]
    at = (
        ttir.index("%n_elements: i32")
        if "%n_elements: i32" in ttir
        else ttir.index("i32 {tt.divisibility = 16 : i32}")
    )
    read = {
        "ttir": ttir[:at] + ttir[at:].replace(" {tt.divisibility = 16 : i32}", "", 1),
        "ptx": stages["ptx"],
    }
    n = ttir[:at].rpartition("%")[2].partition(":")[0] if "%n_elements" not in ttir else "n_elements"
    arguments = [Argument(n, "i32", None)]

    def lint_with(texts, arguments):
        return lint(made(1, {}, arguments), read=lambda variant, stage: texts[stage].encode(), rules=ALL)

    narrow = {**read, "ptx": read["ptx"].replace(".v4.b32", ".b32")}
    found = lint_with(narrow, arguments)
    assert [diagnostic.rule.name for diagnostic in found] == ["narrow-access"]
    assert (
        f"compares with {n}, which is not specialized" in found[0].message
        and "move only 4 bytes" in found[0].message
    )
    # n is specialized, but the launch's value was not divisible.
    assert lint_with(narrow, [Argument(n, "i32", "")]) == []
    assert lint_with(stages, arguments) == []


def test_comments_in_the_kernel_suppress():
    bad = made(1, {}, launchable="no: x")
    source = SourceFunction(
        "k", "k.py", 5, "@triton.jit\ndef k():  # irscope: ignore[cannot-launch]\n    pass\n"
    )
    object.__setattr__(bad[0].kernel, "source", source)
    assert lint(bad) == []


def test_a_kernel_without_source_is_linted():
    bad = made(1, {}, launchable="no: x")
    object.__setattr__(bad[0].kernel, "source", SourceFunction("k", "", 0, ""))
    assert [diagnostic.rule.name for diagnostic in lint(bad)] == ["cannot-launch"]
