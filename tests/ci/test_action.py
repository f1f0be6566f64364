"""The GitHub Action and the pre-commit hook of this repository: their structure, and their steps."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from irscope.cli.main import COMMANDS
from tests.docs.pages import ROOT

yaml = pytest.importorskip("yaml", reason="PyYAML is in the dev group")

ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{\s*([\w.-]+)\s*\}\}")
CAPTURE = (
    'irscope compile kernels/vector_add.py --signature "*fp32:16, *fp32:16, *fp32:16, i32:16" '
    '--config BLOCK_SIZE=256,1024 -o "$CAPTURE"'
)
# Reads columns backwards: each thread then loads 4 bytes at a time.
WORSE = ("x_ptr + offsets", "x_ptr + (n - 1 - offsets)")
# The comments that exist are in $COMMENTS: lines "LOGIN ID MARKER...". The token is of $LOGIN.
GH = """#!/usr/bin/env bash
printf '%s\\n' "$*" >> "$GH_LOG"
case "$*" in
*graphql*) echo "$LOGIN"; exit "${GRAPHQL_CODE:-0}";;
*--paginate*)
    filter="${!#}"
    marker=${filter#*startswith(\\"}; marker=${marker%%\\"*}
    while read -r login id body; do
        [ "$body" = any ] && body=$marker
        case "$filter" in *".user.login == \\"$login\\""*) [[ "$body" == "$marker"* ]] && echo "$id";; esac
    done <<< "$COMMENTS"
    exit 0;;
esac
exit "${GH_CODE:-0}"
"""


def test_the_action_is_well_formed() -> None:
    assert ACTION["runs"]["using"] == "composite"
    assert all(set(given) <= {"description", "required", "default"} for given in ACTION["inputs"].values())
    for step in STEPS:
        assert ("run" in step) != ("uses" in step) and step["name"]
        assert "run" not in step or step["shell"] == "bash"
    ids = [step["id"] for step in STEPS if "id" in step]
    used = set(re.findall(r"steps\.([\w-]+)\.", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert used <= set(ids) and len(set(ids)) == len(ids)
    known = set(re.findall(r"inputs\.([\w-]+)", (ROOT / "action.yml").read_text(encoding="utf-8")))
    assert known == set(ACTION["inputs"])


def test_no_input_reaches_a_script_by_interpolation() -> None:
    for step in STEPS:
        assert "${{" not in step.get("run", "")


@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_the_scripts_parse() -> None:
    for step in STEPS:
        if "run" in step:
            subprocess.run(["bash", "-n"], input=step["run"], text=True, check=True)


class Runner:
    """Runs the steps of the action in a repository, as GitHub's runner does."""

    def __init__(self, folder: Path, cache: Path) -> None:
        self.repository = folder / "repository"
        self.temporary = folder / "temporary"
        self.summary = folder / "summary.md"
        self.log = folder / "gh.log"
        bin_folder = folder / "bin"
        for path in (self.repository / "kernels", self.temporary, bin_folder):
            path.mkdir(parents=True)
        self._program(bin_folder / "gh", GH)
        python = f'#!/usr/bin/env bash\nexec "{sys.executable}" -m irscope "$@"\n'
        self._program(bin_folder / "irscope", python)
        shutil.copy(ROOT / "samples" / "vector_add.py", self.repository / "kernels")
        self.environment = {
            **os.environ,
            "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_STEP_SUMMARY": str(self.summary),
            "TRITON_CACHE_DIR": str(cache),
            "GH_LOG": str(self.log),
            "COMMENTS": "",
            "LOGIN": "github-actions[bot]",
        }
        self.git("init", "--quiet", "--initial-branch=main")
        self.commit("Base")

    @staticmethod
    def _program(path: Path, text: str) -> None:
        path.write_text(text)
        path.chmod(0o755)

    def git(self, *words: str) -> str:
        options = ("-c", "user.name=a", "-c", "user.email=a@localhost", "-c", "commit.gpgsign=false")
        return subprocess.run(
            ["git", *options, *words], cwd=self.repository, check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(self, message: str) -> None:
        self.git("add", "--all")
        self.git("commit", "--quiet", "-m", message)

    def edit(self, old: str, new: str) -> None:
        path = self.repository / "kernels" / "vector_add.py"
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))
        self.commit("Edit")

    def run(self, **inputs: str) -> tuple[int, dict[str, str], str]:
        """The exit code of the first step that fails (0: none), the outputs by name, and what was printed."""
        values = {name: str(given.get("default", "")) for name, given in ACTION["inputs"].items()}
        values |= {"install": "none", "capture": CAPTURE, "base": "main~1", "comment": "true"} | inputs
        known = {f"inputs.{name}": value for name, value in values.items()}
        known |= {"github.repository": "owner/name", "github.event.pull_request.number": "7"}
        known["steps.upload.outputs.artifact-url"] = (
            "https://github.com/owner/name/actions/runs/1/artifacts/2"
        )
        outputs: dict[str, str] = {}
        printed = ""
        for step in STEPS:
            if "run" not in step:
                continue
            env = {name: _value(text, known) for name, text in step.get("env", {}).items()}
            code, text, written = self._step(step["run"], env)
            printed += text
            for name, value in written.items():
                outputs[name] = known[f"steps.{step['id']}.outputs.{name}"] = value
            if code:
                return code, outputs, printed
        return 0, outputs, printed

    def _step(self, script: str, env: dict[str, str]) -> tuple[int, str, dict[str, str]]:
        output = self.temporary / "output"
        output.write_text("")
        done = subprocess.run(
            ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
            cwd=self.repository,
            env=self.environment | env | {"GITHUB_OUTPUT": str(output)},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=300,
            check=False,
        )
        written = dict(line.split("=", 1) for line in output.read_text().splitlines())
        return done.returncode, done.stdout, written


def _value(text: str, known: dict[str, str]) -> str:
    return EXPRESSION.sub(lambda match: known[match[1]], text)


@pytest.fixture
def runner(tmp_path: Path, triton_cache: Path) -> Runner:
    pytest.importorskip("triton")
    if shutil.which("git") is None:
        pytest.skip("needs git")
    return Runner(tmp_path, triton_cache)


@pytest.mark.slow
def test_a_regression_fails_with_an_annotation_a_comment_and_files(runner: Runner) -> None:
    runner.edit(*WORSE)
    code, outputs, printed = runner.run()
    assert code == 1 and outputs["failed"] == "true", printed
    assert "::error file=kernels/vector_add.py,line=21,col=1,title=add_kernel%3A worse::" in printed
    folder = Path(outputs["folder"])
    assert json.loads((folder / "irscope.sarif").read_text())["runs"][0]["results"]
    assert (folder / "report.html").stat().st_size and (folder / "junit.xml").stat().st_size
    comment = (folder / "body.md").read_text()
    assert re.match(r"<!-- irscope [0-9a-f]{40} -->\n### irscope diff: failed\n", comment)
    assert "[Full report](https://github.com/owner/name/actions/runs/1/artifacts/2)" in comment
    assert comment.endswith(runner.summary.read_text())
    assert "api repos/owner/name/issues/7/comments --method POST" in runner.log.read_text()


@pytest.mark.slow
def test_a_harmless_commit_passes_and_updates_the_comment(runner: Runner) -> None:
    runner.edit("    mask = offsets < n\n", "    # The end of the vector.\n    mask = offsets < n\n")
    runner.environment["COMMENTS"] = "stranger 41 any\ngithub-actions[bot] 42 any"
    head = runner.git("rev-parse", "HEAD")
    code, outputs, printed = runner.run(head=head, **{"fail-on": "changed, removed, added"})
    assert code == 0 and outputs["failed"] == "false", printed
    assert "api repos/owner/name/issues/comments/42 --method PATCH" in runner.log.read_text()


COMMENT = next(step["run"] for step in STEPS if step["name"] == "Comment")


@pytest.mark.parametrize(
    ("comments", "login", "code", "written"),
    [
        ("stranger 41 any", "github-actions[bot]", "0", "issues/7/comments --method POST"),
        ("stranger 41 any\nme 42 any", "me", "0", "issues/comments/42 --method PATCH"),
        ("me 42 <!-- another -->", "me", "0", "issues/7/comments --method POST"),
        # A token that may not ask who it is: that of GitHub's runners.
        ("stranger 41 any\ngithub-actions[bot] 42 any", '{"m": 1}', "1", "comments/42 --method PATCH"),
        ("stranger 41 any", 'x" or true or "', "0", "issues/7/comments --method POST"),
    ],
)
@pytest.mark.skipif(shutil.which("bash") is None, reason="needs bash")
def test_only_a_comment_of_its_own_is_updated(
    tmp_path: Path, comments: str, login: str, code: str, written: str
) -> None:
    gh = tmp_path / "gh"
    gh.write_text(GH)
    gh.chmod(0o755)
    (tmp_path / "comment.md").write_text("text")
    environment = {
        "COMMENTS": comments,
        "LOGIN": login,
        "GRAPHQL_CODE": code,
        "GH_LOG": str(tmp_path / "log"),
    }
    environment |= {
        "FOLDER": str(tmp_path),
        "CAPTURE_COMMAND": "x",
        "REPOSITORY": "owner/name",
        "NUMBER": "7",
    }
    environment["PATH"] = f"{tmp_path}{os.pathsep}{os.environ['PATH']}"
    words = ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", COMMENT]
    subprocess.run(words, env=environment, cwd=tmp_path, check=True)
    assert written in (tmp_path / "log").read_text().splitlines()[-1]


@pytest.mark.slow
def test_what_is_not_compared_fails(runner: Runner) -> None:
    runner.edit("    mask = offsets < n\n", "    mask = n > offsets\n")
    absolute = CAPTURE.replace("kernels/", f"{runner.repository}/kernels/")
    code, _, printed = runner.run(capture=absolute)
    assert code == 1 and "The capture of base has kernels of head" in printed
    code, _, printed = runner.run(capture="true")
    assert code == 1 and "did not write $CAPTURE" in printed
    code, _, printed = runner.run(base="--upload-pack=touch x")
    assert code == 1 and "is not a commit" in printed
    runner.environment["GH_CODE"] = "1"
    code, _, printed = runner.run()
    assert code == 0 and "::warning title=irscope::The comment could not be written" in printed


def test_the_pre_commit_hook_lints_python_files(tmp_path: Path) -> None:
    (hook,) = yaml.safe_load((ROOT / ".pre-commit-hooks.yaml").read_text(encoding="utf-8"))
    assert {"id", "name", "entry", "language"} <= set(hook) and hook["language"] == "python"
    program, command = hook["entry"].split()
    assert program == "irscope" and command in {name for name, *_ in COMMANDS}
    head = "import triton\nimport triton.language as tl\n"
    tuned = "@triton.autotune([triton.Config({'B': 1})], key=['n'])\n@triton.jit\n"
    (tmp_path / "bad.py").write_text(f"{head}{tuned}def kernel(x, n, B: tl.constexpr):\n    pass\n")
    (tmp_path / "good.py").write_text("x = 1\n")
    # pre-commit appends the names of the files.
    for files, code in ((["bad.py", "good.py"], 1), (["good.py"], 0)):
        done = subprocess.run(
            [sys.executable, "-m", program, command, *files],
            cwd=tmp_path,
            env=os.environ | {"PYTHONPATH": str(ROOT)},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == code, done.stderr
