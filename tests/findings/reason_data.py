"""The committed stages of tests/capture/narrow.py, with the coalescing pass's log."""

from irscope.facts.accesses.global_accesses import memory_use
from irscope.facts.instruction_mix import instructions_by_line
from irscope.languages.language import parse
from tests.findings.builders import DATA, variant

REASONS = DATA / "reasons"
NAMES = sorted(path.name.removesuffix(".reasons") for path in REASONS.glob("*.reasons"))


def text(name, stage):
    return (REASONS / f"{name}.{stage}").read_text()


def ttir(name):
    return parse(text(name, "ttir"), "mlir")


def use(name, reasons=None, **edits):
    """The memory use of a committed cuda variant with its TTIR edited: `edits` are old=new texts."""
    source = text(name, "ttir")
    for old, new in edits.items():
        assert old in source
        source = source.replace(old, new)
    made = variant(name=name.partition(".")[0], reasons=reasons)
    work = instructions_by_line(parse(text(name, "ptx"), "ptx"), "ptx")
    return memory_use(made, parse(source, "mlir"), work)


def by_kind(mapping):
    """{kind: value} of a mapping by kind and place that has one place a kind."""
    found = {kind: value for (kind, _), value in mapping.items()}
    assert len(found) == len(mapping)
    return found
