"""The README.md of a reproducer."""

from __future__ import annotations

from collections.abc import Sequence

from irscope.model.text import code, markdown_escaped, one_line
from irscope.reproducing.recorded import Recorded

_VERSIONS = ("triton", "ptxas", "torch", "python", "irscope")
_SPILLS = ("n_spills", "vector_spills", "scalar_spills", "loop_spills")
_FACTS = ("registers", *_SPILLS, "shared")


def readme_text(recorded: Recorded, name: str, findings: Sequence[str], outcome: str) -> str:
    """The file: the finding, how to run it, versions. `outcome` says what the check found."""
    variant = recorded.variant
    versions = variant.toolchain.versions
    rows = [("Kernel", code(recorded.call.kernel)), ("Config", code(name)), ("Target", str(variant.target))]
    rows += [(each, markdown_escaped(versions[each])) for each in _VERSIONS if versions.get(each)]
    rows += [(text, markdown_escaped(value)) for text, value in sorted(variant.environment.items())]
    lines = [
        f"# {markdown_escaped(recorded.call.kernel)} on {variant.target}",
        "",
        *(f"- {markdown_escaped(one_line(finding))}" for finding in findings or [_own_finding(recorded)]),
        "",
        "```",
        "python reproduce.py            # compiles exactly this variant; needs Triton, no GPU",
        *(
            ["python reproduce.py --launch   # also launches it; needs torch and a GPU"]
            if recorded.launch
            else []
        ),
        "python reproduce.py --dump out # writes every stage",
        "```",
        "",
        "| | |",
        "|---|---|",
        *(f"| {heading} | {text} |" for heading, text in rows),
        "",
        markdown_escaped(one_line(outcome)),
        "",
    ]
    if recorded.launch and recorded.values is None:
        lines += [
            "The launch has the recorded shapes, types, strides and alignment; floats are random with a "
            "fixed seed, integers in tensors are 0.",
            "",
        ]
    if recorded.values is not None:
        lines += ["`values.pt` has the recorded values of the arguments before and after the launch.", ""]
    return "\n".join([*lines, "Written by `irscope reproduce`.", ""])


def _own_finding(recorded: Recorded) -> str:
    """Whether it compiles and spills, with its facts."""
    failure = recorded.variant.failure
    if failure is not None:
        return f"It does not compile: {failure.summary}"
    known = [recorded.facts[name] for name in _FACTS if name in recorded.facts]
    text = ", ".join(f"{fact.kind.heading}: {fact}" for fact in known if fact.value not in (None, 0))
    spills = any(recorded.facts[name].value for name in _SPILLS if name in recorded.facts)
    return f"It spills registers ({text})." if spills else f"It does not spill registers ({text})."
