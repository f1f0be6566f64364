"""The formats for continuous integration that `diff --fail-on`, `check` and `lint` share."""

from __future__ import annotations

import json
import os
import re
import urllib.request
from pathlib import Path
from xml.etree import ElementTree

import pytest

from tests.cli.conftest import capture, irscope  # noqa: F401 - fixtures
from tests.cli.gated import write
from tests.lint.linted import HEAD

LINTED = HEAD + (
    "@triton.autotune([triton.Config({'BLOCK': 64})], key=['n'])\n"
    "@triton.jit\n"
    "def kernel(x, n, BLOCK: tl.constexpr):\n"
    "    pass\n"
)
FORMATS = ("github", "junit", "sarif", "markdown")
DIFF = ("diff", "old.irscope", "new.irscope", "--fail-on", "spills>0, registers>+10%, worse")
CHECK = ("check", "new.irscope", "--expect", "spills == 0")
LINT = ("lint", "bad.py", "broken.py")
COMMANDS = {"diff": DIFF, "check": CHECK, "lint": LINT}
SCHEMA = Path(os.environ.get("IRSCOPE_SARIF_SCHEMA", ""))
SCHEMA_URL = "https://json.schemastore.org/sarif-2.1.0.json"

# The SARIF 2.1.0 schema of each object that irscope writes; nothing else may be in them.
TEXT = {"type": "object", "properties": {"text": {"type": "string", "minLength": 1}}, "required": ["text"]}
LEVEL = {"enum": ["none", "note", "warning", "error"]}


def closed(required, **properties):
    return {"type": "object", "properties": properties, "required": required, "additionalProperties": False}


RULE = closed(["id"], id={"type": "string"}, name={"type": "string"}, shortDescription=TEXT, help=TEXT)
REGION = closed(
    [], startLine={"type": "integer", "minimum": 1}, startColumn={"type": "integer", "minimum": 1}
)
LOCATION = closed(
    [],
    physicalLocation=closed(
        ["artifactLocation"],
        artifactLocation=closed([], uri={"type": "string", "format": "uri-reference"}),
        region=REGION,
    ),
)
RESULT = closed(
    ["message"],
    ruleId={"type": "string"},
    ruleIndex={"type": "integer", "minimum": 0},
    level=LEVEL,
    message=TEXT,
    partialFingerprints={"type": "object", "additionalProperties": {"type": "string"}},
    locations={"type": "array", "items": LOCATION},
)
INVOCATION = closed(
    ["executionSuccessful"],
    executionSuccessful={"type": "boolean"},
    toolExecutionNotifications={"type": "array", "items": closed(["message"], level=LEVEL, message=TEXT)},
)
DRIVER = closed(
    ["name"],
    name={"type": "string"},
    version={"type": "string"},
    rules={"type": "array", "items": RULE, "uniqueItems": True},
)
RUN = closed(
    ["tool"],
    tool=closed(["driver"], driver=DRIVER),
    columnKind={"enum": ["utf16CodeUnits", "unicodeCodePoints"]},
    invocations={"type": "array", "items": INVOCATION},
    results={"type": "array", "items": RESULT},
)
LOG = closed(
    ["version", "runs"],
    **{"$schema": {"type": "string"}, "version": {"const": "2.1.0"}, "runs": {"type": "array", "items": RUN}},
)


@pytest.fixture
def folder(tmp_path):
    """Two captures, of which the second is worse, and files to lint."""
    write(tmp_path / "old.irscope", blocks=(32, 64, 128))
    write(tmp_path / "new.irscope", registers=100, stack=8, blocks=(64, 128, 256))
    (tmp_path / "bad.py").write_text(LINTED)
    (tmp_path / "broken.py").write_text("def f(:\n")
    return tmp_path


@pytest.mark.parametrize("command", COMMANDS)
def test_sarif_is_valid(irscope, folder, command):  # noqa: F811
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in the dev group")
    log = json.loads(irscope(*COMMANDS[command], "--format", "sarif").stdout)
    jsonschema.validate(log, LOG)
    (run,) = log["runs"]
    rules = run["tool"]["driver"]["rules"]
    assert run["results"] and len({rule["id"] for rule in rules}) == len(rules)
    for result in run["results"]:
        assert rules[result["ruleIndex"]]["id"] == result["ruleId"]
        assert re.fullmatch("[0-9a-f]{32}", result["partialFingerprints"]["irscope/v1"])


@pytest.fixture(scope="module")
def official_schema():
    """The schema of OASIS: the file that IRSCOPE_SARIF_SCHEMA names, or from the network."""
    if SCHEMA.is_file():
        return json.loads(SCHEMA.read_text(encoding="utf-8"))
    try:
        with urllib.request.urlopen(SCHEMA_URL, timeout=20) as answer:
            return json.load(answer)
    except (OSError, ValueError) as error:
        pytest.skip(f"the SARIF schema cannot be had ({error}); name a copy in IRSCOPE_SARIF_SCHEMA")


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
def test_sarif_is_valid_by_the_official_schema(irscope, folder, official_schema, command):  # noqa: F811
    jsonschema = pytest.importorskip("jsonschema", reason="jsonschema is in the dev group")
    log = json.loads(irscope(*COMMANDS[command], "--format", "sarif").stdout)
    jsonschema.validators.validator_for(official_schema)(official_schema).validate(log)


def test_fingerprints_survive_unrelated_edits(irscope, folder):  # noqa: F811
    def fingerprints(*words):
        (run,) = json.loads(irscope(*words, "--format", "sarif").stdout)["runs"]
        return {(one["ruleId"], one["partialFingerprints"]["irscope/v1"]) for one in run["results"]}

    linted = fingerprints("lint", "bad.py")
    (folder / "bad.py").write_text(f"# A new line.\n\n{LINTED}")
    assert fingerprints("lint", "bad.py") == linted
    compared = fingerprints(*DIFF)
    write(folder / "worse.irscope", registers=120, stack=80, blocks=(64, 128))
    assert fingerprints("diff", "old.irscope", "worse.irscope", *DIFF[3:]) == compared
    assert len({mark for _, mark in linted | compared}) == len(linted | compared)


def test_github_annotates_the_line_of_the_kernel(irscope, folder):  # noqa: F811
    done = irscope(*DIFF, "--format", "github")
    assert done.returncode == 1
    # The def is below the decorator.
    assert "::error file=add.py,line=4,col=1,title=add_kernel%3A registers>+10%25::" in done.stdout
    assert "%0A#2 BLOCK=128: Regs 64 -> 100 (+56.2%25)" in done.stdout
    assert "::notice title=irscope diff::Only in NEW  add_kernel: 1 variant" in done.stdout
    lines = irscope(*LINT, "--format", "github").stdout.splitlines()
    assert lines[0].startswith("::error file=broken.py,title=irscope lint%3A incomplete::not valid Python")
    assert lines[1].startswith("::warning file=bad.py,line=5,col=2,title=IRS102 one-config::kernel is autot")


@pytest.mark.parametrize("command", COMMANDS)
def test_junit_has_a_test_case_per_kernel_or_file(irscope, folder, command):  # noqa: F811
    done = irscope(*COMMANDS[command], "--format", "junit")
    root = ElementTree.fromstring(done.stdout)
    (suite,) = root
    cases = suite.findall("testcase")
    assert int(suite.get("tests")) == len(cases)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == 1
    assert int(suite.get("errors")) == len(suite.findall("testcase/error")) == (command == "lint")
    (failed,) = [case for case in cases if case.find("failure") is not None]
    expected = ("bad.py", "5") if command == "lint" else ("add.py", "4")
    assert (failed.get("file"), failed.get("line")) == expected


def test_junit_lists_what_passed(irscope, folder):  # noqa: F811
    (suite,) = ElementTree.fromstring(
        irscope("diff", "old.irscope", "old.irscope", "--fail-on", "worse", "--format", "junit").stdout
    )
    assert [(case.get("name"), len(case)) for case in suite.findall("testcase")] == [
        ("add_kernel cuda:90", 0)
    ]


def test_markdown_shows_the_worst_five_and_hides_the_rest(irscope, tmp_path):  # noqa: F811
    blocks = tuple(16 << power for power in range(8))
    write(tmp_path / "old.irscope", blocks=blocks)
    write(tmp_path / "new.irscope", registers=100, blocks=blocks)
    words = ("diff", "old.irscope", "new.irscope", "--fail-on", "worse", "--format", "markdown")
    done = irscope(*words, "--report-url", "https://example.org/runs/1 (2)")
    shown, _, hidden = done.stdout.partition("<details><summary>3 more</summary>")
    assert shown.startswith("### irscope diff: failed\n") and shown.count("`add_kernel cuda:90`") == 5
    assert hidden.count("`add_kernel cuda:90`") == 3 and hidden.count("<details>") + 1 == hidden.count(
        "</details>"
    )
    assert "[Full report](https://example.org/runs/1%20%282%29)" in hidden
    done = irscope(*words, "--report-url", "javascript:alert(1)")
    assert done.returncode == 2 and "is not an http or https address" in done.stderr


def test_markdown_stays_below_the_limit_of_a_comment(irscope, tmp_path):  # noqa: F811
    blocks = tuple(range(1, 450))
    write(tmp_path / "old.irscope", blocks=blocks)
    write(tmp_path / "new.irscope", registers=100, blocks=blocks)
    words = ("--fail-on", "worse, registers>+10%, registers>70", "--format", "markdown")
    done = irscope("diff", "old.irscope", "new.irscope", *words)
    assert len(done.stdout) < 65_536 and "more are omitted" in done.stdout


@pytest.mark.parametrize("form", FORMATS)
def test_hostile_text_is_escaped(irscope, hostile_capture, tmp_path, form):  # noqa: F811
    path = hostile_capture
    for words in (
        ("check", path, "--expect", "registers < 0"),
        ("diff", path, path, "--fail-on", "registers>0"),
    ):
        done = irscope(*words, "--format", form)
        assert done.returncode == 1, done.stderr
        assert not re.search("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202e]", done.stdout)
        if form == "junit":
            ElementTree.fromstring(done.stdout)
        if form == "github":
            lines = done.stdout.splitlines()
            assert all(line.startswith(("::error ", "::notice ")) for line in lines[:-1])
            assert not lines[-1].startswith("::")
        if form == "markdown":
            outside = re.sub(r"(`+) ?.*? ?\1(?!`)", "", done.stdout)
            assert "<script" not in outside and "@" not in outside


def test_paths_are_relative_to_the_working_directory(irscope, folder):  # noqa: F811
    log = json.loads(irscope("lint", folder / "bad.py", "--format", "sarif").stdout)
    (result,) = log["runs"][0]["results"]
    assert result["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] == "bad.py"
