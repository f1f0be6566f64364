"""The `irscope lint` command."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

from tests.lint.linted import HEAD

BAD = HEAD + (
    "@triton.autotune([triton.Config({'BLOCK': 64})], key=['n'])\n"
    "@triton.jit\n"
    "def kernel(x, n, BLOCK: tl.constexpr):\n"
    "    pass\n"
)


@pytest.fixture
def bad(tmp_path):
    path = tmp_path / "bad.py"
    path.write_text(BAD)
    return path


def test_text_and_exit_codes(irscope, bad, tmp_path):
    done = irscope("lint", "bad.py")
    assert (done.returncode, done.stderr) == (1, "")
    assert done.stdout.splitlines() == [
        "bad.py:5:2: IRS102 one-config: kernel is autotuned over a single config: nothing is tuned",
        "    add configs, or drop @triton.autotune and pass these values at the launch",
        "1 problem in 1 file",
    ]
    (tmp_path / "good.py").write_text("x = 1\n")
    done = irscope("lint", "good.py")
    assert (done.returncode, done.stdout) == (0, "1 file: no problems found\n")


@pytest.mark.parametrize(
    "words", [("--ignore", "one-config"), ("--ignore", "IRS101,IRS102"), ("--select", "IRS101")]
)
def test_rules_are_selected(irscope, bad, words):
    assert irscope("lint", "bad.py", *words).returncode == 0


def test_pyproject_selects_rules(irscope, bad, tmp_path):
    (tmp_path / "pyproject.toml").write_text('[tool.irscope.lint]\nignore = ["one-config"]\n')
    assert irscope("lint", "bad.py").returncode == 0
    (tmp_path / "pyproject.toml").write_text('[tool.irscope.lint]\nignore = ["one-confg"]\n')
    done = irscope("lint", "bad.py")
    assert done.returncode == 2 and "pyproject.toml: no rule 'one-confg'" in done.stderr
    for text in ("[tool.irscope.lint]\nignored = []\n", "[tool.irscope.lint]\nignore = 1\n", "[tool\n"):
        (tmp_path / "pyproject.toml").write_text(text)
        done = irscope("lint", "bad.py")
        assert done.returncode == 2 and done.stderr.count("\n") == 1


def test_a_folder_with_files_that_are_not_python(irscope, bad, tmp_path):
    (tmp_path / "broken.py").write_text("def f(:\n")
    (tmp_path / "nul.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "latin.py").write_bytes(b"x = '\xe9'\n")
    (tmp_path / ".venv").mkdir()
    (tmp_path / ".venv" / "other.py").write_text(BAD)
    done = irscope("lint", ".")
    assert done.returncode == 2
    assert "1 problem in 4 files" in done.stdout
    assert sorted(line.partition(": ")[2].partition(":")[0] for line in done.stderr.splitlines()) == [
        "broken.py", "latin.py", "nul.py",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing.py",), "missing.py: no such file"),
        (("bad.py", "--select", "nope"), "no rule 'nope'; known rules: grid-before-config, "),
        (("bad.txt",), "bad.txt"),
    ],
)
def test_wrong_use_is_one_line(irscope, bad, tmp_path, words, message):
    (tmp_path / "bad.txt").write_text("no capture")
    done = irscope("lint", *words)
    assert done.returncode == 2 and message in done.stderr and done.stderr.count("\n") == 1


def test_as_json(irscope, bad):
    done = irscope("lint", "bad.py", "--format", "json")
    document = json.loads(done.stdout)
    assert done.returncode == 1
    assert (document["schema"], document["files"], document["unread"]) == ("irscope.lint/1", 1, [])
    (problem,) = document["problems"]
    assert (problem["code"], problem["rule"], problem["file"]) == ("IRS102", "one-config", "bad.py")
    assert (problem["line"], problem["column"]) == (5, 2)
    assert problem["message"] and problem["fix"]


def test_as_sarif(irscope, bad, tmp_path):
    """The properties that the SARIF 2.1.0 schema requires, with their types and ranges."""
    (tmp_path / "broken \x1b[31m.py").write_text("def f(:\n")
    done = irscope("lint", ".", "--format", "sarif")
    assert done.returncode == 2 and "\x1b" not in done.stdout
    log = json.loads(done.stdout)
    assert log["version"] == "2.1.0" and log["$schema"].startswith("https://")
    (run,) = log["runs"]
    driver = run["tool"]["driver"]
    assert driver["name"] == "irscope" and run["columnKind"] in ("utf16CodeUnits", "unicodeCodePoints")
    assert len({rule["id"] for rule in driver["rules"]}) == len(driver["rules"])
    for rule in driver["rules"]:
        assert rule["shortDescription"]["text"] and rule["help"]["text"]
    (invocation,) = run["invocations"]
    assert invocation["executionSuccessful"] is False
    (notification,) = invocation["toolExecutionNotifications"]
    assert notification["level"] in ("none", "note", "warning", "error") and notification["message"]["text"]
    (result,) = run["results"]
    assert driver["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "IRS102"
    assert result["message"]["text"] and result["level"] in ("none", "note", "warning", "error")
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "bad.py"
    assert place["region"] == {"startLine": 5, "startColumn": 2}


def test_a_capture(irscope, capture):
    done = irscope("lint", capture, "--format", "json")
    assert done.returncode in (0, 1) and done.stderr == ""
    assert json.loads(done.stdout)["files"] == 1


def test_nothing_heavy_is_imported(bad):
    code = (
        "import sys; from irscope.cli.main import main; main(['lint', 'bad.py'])\n"
        "print([name for name in ('triton', 'torch', 'textual') if name in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=bad.parent, capture_output=True, text=True, check=True, timeout=60
    )
    assert done.stdout.endswith("[]\n")
