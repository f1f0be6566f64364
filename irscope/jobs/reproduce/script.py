"""The texts of a reproducer: its script (what was recorded, then the scaffold) and its README.md."""

from __future__ import annotations

import ast
import builtins
import inspect
from collections.abc import Mapping, Sequence

from irscope.compiling.standalone import Call
from irscope.jobs.reproduce import scaffold
from irscope.jobs.reproduce.recorded import Recorded, recorded_facts, specification, unaligned
from irscope.model.text import code, markdown_escaped, one_line

_LINE = "# ---\n"
_WIDTH = 100
KERNEL_FILE = "kernel"


def script_text(recorded: Recorded) -> str:
    """Return the script for a variant."""
    variant, launch = recorded.variant, recorded.launch
    call, target = recorded.call, variant.target
    triton_target = (
        target.backend,
        int(target.arch) if target.arch.isdigit() else target.arch,
        target.warp_size,
    )
    arguments: dict[str, object] = {}
    if launch is not None:
        launched = dict(launch.arguments)
        arguments = {name: specification(launched.get(name, "None")) for name in call.parameters}
    # Options that have a variable are in the call.
    variables = {name: text for name, text in variant.environment.items() if name.isupper()}
    # device_assert prints its line: the machine code has the files and lines of functions.
    module = recorded.artifacts.get("ttir") or recorded.artifacts.get("ttgir") or b""
    lines = [
        f'"""Compiles {recorded.call.kernel} for {variant.target} as recorded, without a GPU.',
        "",
        "Written by irscope reproduce. Needs Triton; --launch, which runs it, needs torch and a GPU.",
        '"""',
        "",
        f"NAME, TARGET, GLUON = {call.kernel!r}, {triton_target!r}, {call.gluon}",
        f"ENVIRONMENT = {_values(variables)}",
        f"RECORDED = {_values(recorded_facts(recorded))}",
        f"GRID = {tuple((*launch.grid, 1, 1)[:3]) if launch else (1, 1, 1)}",
        f"ARGUMENTS = {None if launch is None else _values(arguments)}",
        f"UNALIGNED = {tuple(name for name in unaligned(call) if isinstance(arguments.get(name), dict))}",
        f"PLACES = {_values(call.places if b'tt.assert' in module else {})}",
        *_call_function(call),
    ]
    body = inspect.getsource(scaffold).partition(_LINE)[2]
    imports, _, code = body.partition("\n\n")
    header = "\n".join(lines[4:])
    return "\n".join(lines[:4]) + f"\n\n{imports}\n{header}\n\n\n{code}"


_LAUNCH_TEST = """\
import pytest
import sanitizers
from pathlib import Path


@pytest.mark.parametrize("tool", sanitizers.TOOLS)
def test_launch(tool):
    problem = sanitizers.missing_gpu() or sanitizers.missing(tool)
    if problem:
        pytest.skip(problem)
    findings, failure = sanitizers.run(tool, Path(__file__).parent)
    assert not findings and not failure, "\\n".join(findings) or failure
"""


def launch_test_text(recorded: Recorded, findings: Sequence[str]) -> str:
    """Return a test for pytest that launches a variant under sanitizers; `findings` are what it is for."""
    head = f"Launches {recorded.call.kernel} as captured, under each sanitizer of this machine."
    comments = [f"# {line}" for line in (head, *map(one_line, findings))]
    return "\n".join([*comments, "", _LAUNCH_TEST])


def _call_function(call: Call) -> list[str]:
    imported = ", ".join([call.kernel, *sorted(call.names - {call.kernel, *dir(builtins)})])
    return [
        "",
        "",
        "def call():",
        '    """The source and the options of triton.compile."""',
        f"    from {KERNEL_FILE} import {imported}",
        "",
        "    source = {",
        f'        "fn": {call.kernel},',
        f'        "signature": {_literal(_items(call.signature), "        ")},',
        f'        "constexprs": {_literal(call.constexprs, "        ")},',
        f'        "attrs": {_literal(call.attrs, "        ")},',
        "    }",
        f"    return source, {_literal({repr(key): text for key, text in call.options.items()}, '    ')}",
    ]


def _items(dictionary: str) -> dict[str, str]:
    """Return the items of the text of a dictionary, as text."""
    tree = ast.parse(dictionary, mode="eval").body
    if not isinstance(tree, ast.Dict):
        return {}
    pairs = zip(tree.keys, tree.values, strict=True)
    return {ast.unparse(key): ast.unparse(value) for key, value in pairs if key is not None}


def _values(values: Mapping[str, object]) -> str:
    return _literal({repr(key): repr(value) for key, value in values.items()})


def _literal(values: Mapping[str, str], indent: str = "") -> str:
    """Return a dictionary of expressions by expression, on as few lines as fit."""
    items = [f"{key}: {text}" for key, text in values.items()]
    if len(line := "{" + ", ".join(items) + "}") <= _WIDTH - len(indent):
        return line
    lines = [""]
    for item in items:
        if lines[-1] and len(lines[-1]) + len(item) + len(indent) + 6 > _WIDTH:
            lines.append("")
        lines[-1] += f"{', ' if lines[-1] else ''}{item}"
    return "\n".join(["{", *(f"{indent}    {line_text}," for line_text in lines), indent + "}"])


_VERSIONS = ("triton", "ptxas", "torch", "python", "irscope")
_SPILLS = ("n_spills", "vector_spills", "scalar_spills", "loop_spills")
_FACTS = ("registers", *_SPILLS, "shared")


def readme_text(recorded: Recorded, name: str, findings: Sequence[str], outcome: str) -> str:
    """Return the file: the finding, how to run it, versions. `outcome` says what the check found."""
    variant = recorded.variant
    versions = variant.toolchain.versions
    rows = [("Kernel", code(recorded.call.kernel)), ("Config", code(name)), ("Target", str(variant.target))]
    rows += [(tool, markdown_escaped(versions[tool])) for tool in _VERSIONS if versions.get(tool)]
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
    """Return whether it compiles and spills, with its facts."""
    failure = recorded.variant.failure
    if failure is not None:
        return f"It does not compile: {failure.summary}"
    facts = [recorded.facts[name] for name in _FACTS if name in recorded.facts]
    text = ", ".join(f"{fact.kind.heading}: {fact}" for fact in facts if fact.value not in (None, 0))
    spills = any(recorded.facts[name].value for name in _SPILLS if name in recorded.facts)
    return f"It spills registers ({text})." if spills else f"It does not spill registers ({text})."
