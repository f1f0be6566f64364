"""What the rules about a capture tell of variants made for the purpose."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.facts.measure import from_json
from irscope.lint.capture.checks import CHECKS, lint_compiled
from irscope.lint.capture.compiled import Compiled
from irscope.lint.capture.keys import parsed
from irscope.model import Argument, Benchmark, Config, SourceFunction
from tests.analysis.builders import stored, variant

ALL = frozenset(rule.name for rule in CHECKS)
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
    return lint_compiled([Compiled(variants, names, facts, read)], rules)


def test_nothing_is_wrong():
    good = {"launchable": "yes", "spill_store_bytes": 0, "stack": 0}
    assert lint(made(1, {"BLOCK": 64}, code="a", **good), made(2, {"BLOCK": 128}, code="b", **good)) == []


def test_configs_that_cannot_launch():
    bad = made(2, {"BLOCK": 512}, launchable="no: 300,000 bytes of shared memory, limit 232,448")
    (problem,) = lint(made(1, {"BLOCK": 64}, launchable="yes"), bad)
    assert (problem.rule.name, problem.file, problem.line, problem.column) == (
        "cannot-launch",
        "matmul.py",
        13,
        1,
    )
    assert problem.message.startswith("1 of 2 variants cannot launch on cuda:90: #2 {'BLOCK': 512}")
    assert "300,000 bytes of shared memory" in problem.message


def test_configs_that_spill_worst_first():
    pairs = [made(1, {"BLOCK": 64}, stack=0, spill_store_bytes=0), made(2, {}, stack=64, spill_store_bytes=0)]
    assert lint(*pairs) == []  # a stack alone is an array
    pairs += [
        made(3, {"BLOCK": 1}, stack=16, spill_store_bytes=8),
        made(4, {"BLOCK": 2}, stack=800, spill_load_bytes=8),
    ]
    (problem,) = lint(*pairs)
    assert problem.rule.name == "config-spills"
    assert "2 of 4 variants" in problem.message and "800 bytes of stack a thread: #4" in problem.message


def test_configs_that_are_one_program():
    facts = {"code": "same", "registers": 32, "stack": 0, "shared": 0, "threads": 128}
    block = [Argument("BLOCK", "constexpr", None, 64)]
    first = made(1, {"BLOCK": 64, "num_stages": 2}, block, **facts)
    again = made(2, {"BLOCK": 64, "num_stages": 3}, block, **facts)
    other = made(3, {"BLOCK": 64, "num_stages": 2}, [*block, Argument("n", "i32", "D")], **facts)
    (problem,) = lint(first, again, other)
    assert problem.rule.name == "same-code"
    assert problem.message.startswith("1 of 3 variants") and "33% of the sweep" in problem.message
    assert "took 0.5 s" in problem.message and "#2 " in problem.message
    assert problem.fix.endswith("they differ in num_stages")
    assert lint(first, other) == []


def test_constants_that_recompile():
    def strides(*values):
        return [
            made(at, {"BLOCK": 64}, [Argument("stride", "constexpr", None, v)])
            for at, v in enumerate(values, 1)
        ]

    (problem,) = lint(*strides(64, 96, 128))
    assert (problem.rule.name, problem.line, problem.column) == ("constexpr-recompiled", 15, 5)
    assert "compiled for 3 values on cuda:90 (64, 96, 128), 3 compilations" in problem.message
    assert lint(*strides(64, 64)) == lint(*strides(True, False)) == lint(*strides(1, 64)) == []
    by_config = [made(at, {"stride": at}, [Argument("stride", "constexpr", None, at)]) for at in (2, 3)]
    needed = [made(at, {}, [Argument("BLOCK", "constexpr", None, at)]) for at in (64, 128)]
    assert lint(*by_config) == lint(*needed) == []


def measured(choices):
    """Variants of two configs, measured for these keys; a choice is the number of the one that won."""
    return [
        made(at, {"BLOCK": at}, benchmarks=[Benchmark(key, 1.0, 1.0, 1.0, won == at) for key, won in choices])
        for at in (1, 2)
    ]


def test_keys_that_changed_nothing():
    choices = [(f"M={m}, N={n}", n) for m in (16, 32, 64) for n in (1, 2)]
    (problem,) = lint(*measured(choices))
    assert problem.rule.name == "key-changed-nothing"
    assert problem.message.startswith(
        "M is in the key of matmul and changed nothing: for its 3 values (16, 32, 64)"
    )
    assert "4 of the tunings were for nothing" in problem.message
    # Two values prove little, and one other winner is a reason.
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
def test_a_key_is_taken_apart(key, parts):
    assert parsed(key) == parts


def test_accesses_that_an_unspecialized_bound_makes_narrow():
    stages = {
        name: stored("add_kernel.cuda-90.BLOCK_SIZE=1024,num_warps=4.triton-3.9.0", f".{name}")
        for name in ("ttir", "ptx")
    }
    # The committed stages were compiled for an n that is divisible by 16: forget it.
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
    assert [problem.rule.name for problem in found] == ["narrow-access"]
    assert (
        f"compares with {n}, which is not specialized" in found[0].message and "4 bytes" in found[0].message
    )
    # Specialized, if on nothing: then the launch's value was to blame.
    assert lint_with(narrow, [Argument(n, "i32", "")]) == []
    assert lint_with(stages, arguments) == []


def test_comments_in_the_kernel_silence():
    bad = made(1, {}, launchable="no: x")
    source = SourceFunction(
        "k", "k.py", 5, "@triton.jit\ndef k():  # irscope: ignore[cannot-launch]\n    pass\n"
    )
    object.__setattr__(bad[0].kernel, "source", source)
    assert lint(bad) == []


def test_no_source_is_no_failure():
    bad = made(1, {}, launchable="no: x")
    object.__setattr__(bad[0].kernel, "source", SourceFunction("k", "", 0, ""))
    assert [problem.rule.name for problem in lint(bad)] == ["cannot-launch"]


def test_docs_and_glossary_have_every_rule():
    from irscope.glossary.glossary import looked_up
    from irscope.lint.rules import RULES

    docs = (Path(__file__).parent.parent.parent / "docs" / "lint.md").read_text()
    assert len({rule.code for rule in RULES}) == len({rule.name for rule in RULES}) == len(RULES)
    for rule in RULES:
        assert f"\n### {rule.name}\n\n{rule.code}. " in docs
        assert [entry.word for entry in looked_up(rule.name)] == [rule.name]
        assert [entry.word for entry in looked_up(rule.code)] == [rule.name]
