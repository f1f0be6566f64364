"""Recorded launches compiled at commits of a git repository."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from irscope.jobs.repository import Repository, checkouts
from irscope.jobs.trends.launches import (
    at_commit,
    digest,
    for_targets,
    import_roots,
    package_folders,
    read_launches,
    relative_files,
)
from irscope.jobs.trends.trends import read_history, read_trends
from irscope.model import UserError
from irscope.targets import parse_target
from tests.docs.pages import ROOT
from tests.trends.histories import commit, git

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="needs git")

PLAN = """\
version = 1
[[kernel]]
name = "add_kernel"
file = "src/library/ops/add.py"
target = "cuda:90"
[[kernel.launch]]
arguments = { x_ptr = "float32[4096]", y_ptr = "float32[4096]", out_ptr = "float32[4096]", n = 4096 }
constants = { BLOCK_SIZE = 1024, num_warps = 4, num_stages = 3 }
[[kernel]]
name = "softmax_kernel"
file = "src/library/ops/softmax.py"
target = "cuda:90"
[[kernel.launch]]
[kernel.launch.arguments]
out_ptr = "float32[64, 1024]"
x_ptr = "float32[64, 1024]"
out_stride = 1024
x_stride = 1024
n_cols = 1024
added_later = 1
[kernel.launch.constants]
BLOCK_SIZE = 1024
num_warps = 4
num_stages = 3
"""
WORSE = ("tl.load(x_ptr + offsets", "tl.load(x_ptr + (n - 1 - offsets)")


@pytest.fixture
def library(tmp_path):
    """A repository with a package of two kernels, in three commits after which the second is worse."""
    root = tmp_path / "library"
    ops = root / "src" / "library" / "ops"
    ops.mkdir(parents=True)
    for folder in (ops.parent, ops):
        (folder / "__init__.py").touch()
    for name, sample in (("add", "vector_add"), ("softmax", "fused_softmax")):
        shutil.copy(ROOT / "samples" / f"{sample}.py", ops / f"{name}.py")
    (root / "kernels.toml").write_text(PLAN)
    git(root, "init", "--quiet", "--initial-branch=main")
    (ops / "softmax.py").rename(ops / "later.py")
    commit(root, "Base")
    (ops / "later.py").rename(ops / "softmax.py")
    text = (ops / "add.py").read_text()
    assert WORSE[0] in text
    (ops / "add.py").write_text(text.replace(*WORSE))
    commit(root, "Read backwards")
    (root / "README.md").write_text("Kernels\n")
    commit(root, "Describe the library")
    return root


def test_commits_of_a_range_are_those_that_touch_the_packages(library):
    repository = Repository(library / "src")
    assert repository.root == library and repository.url == ""
    folders = ["src/library"]
    assert [one.subject for one in repository.commits("-10", folders)] == ["Base", "Read backwards"]
    assert [one.subject for one in repository.commits("HEAD~1..HEAD", folders)] == []
    assert [one.subject for one in repository.commits("HEAD", folders)] == ["Describe the library"]
    for wrong in ("none", "--output=x", "HEAD..none"):
        with pytest.raises(UserError, match="git log: "):
            repository.commits(wrong)
    assert not (library / "x").exists()
    git(library, "remote", "add", "origin", "git@github.com:owner/library.git")
    assert repository.url == "https://github.com/owner/library"


def test_files_are_found_in_any_checkout(library, tmp_path):
    kernels = read_launches([library / "kernels.toml"])
    inside = [Path("src/library/ops/add.py"), Path("src/library/ops/softmax.py")]
    assert list(relative_files(kernels, library).values()) == inside
    installed = tmp_path / "site-packages" / "library" / "ops"
    installed.mkdir(parents=True)
    (installed.parents[1] / "kernels.toml").write_text(PLAN.replace("src/", ""))
    other = read_launches([installed.parents[1] / "kernels.toml"])
    assert list(relative_files(other, library).values()) == inside
    assert package_folders(inside, library) == ["src/library"]
    assert import_roots(inside, library) == [library / "src"]
    (installed.parents[1] / "kernels.toml").write_text(PLAN.replace("ops/add.py", "ops/other.py"))
    with pytest.raises(UserError, match=r"other\.py: not in the repository"):
        relative_files(read_launches([installed.parents[1] / "kernels.toml"]), library)


def test_the_digest_depends_on_launches_and_targets_only(library, tmp_path):
    kernels = read_launches([library / "kernels.toml"])
    copy = Path(shutil.copytree(library, tmp_path / "copy"))
    assert digest(kernels) == digest(read_launches([copy / "kernels.toml"]))
    assert digest(kernels) != digest(for_targets(kernels, [parse_target("cuda:80")]))
    (copy / "kernels.toml").write_text(PLAN.replace("4096", "8192"))
    assert digest(kernels) != digest(read_launches([copy / "kernels.toml"]))


def test_a_file_that_a_commit_lacks_is_named(library):
    kernels = read_launches([library / "kernels.toml"])
    repository = Repository(library)
    files = relative_files(kernels, library)
    with checkouts(repository) as check_out:
        found, missing = at_commit(kernels, files, check_out(repository.commits("-10")[0].sha))
        assert [each.kernel for each in found] == ["add_kernel"]
        assert missing == ["src/library/ops/softmax.py: not at this commit"]
        (_, softmax), missing = at_commit(kernels, files, check_out(repository.commits("HEAD")[0].sha))
    # A parameter that the kernel does not have yet.
    assert "added_later" not in dict(softmax.cases[0].arguments) and not missing
    assert dict(softmax.cases[0].constants)["num_warps"] == 4


def test_wrong_launches_are_one_line(tmp_path):
    with pytest.raises(UserError, match="no such file; give a capture"):
        read_launches([tmp_path / "none.irscope"])
    (tmp_path / "empty.toml").write_text("version = 1\n")
    with pytest.raises(UserError, match="no launches; record some with irscope run"):
        read_launches([tmp_path / "empty.toml"])


@pytest.mark.slow
def test_the_recipe_of_the_docs(library, monkeypatch):
    """The steps of the nightly workflow in docs/commands/trends.md, without those that install something."""
    yaml = pytest.importorskip("yaml", reason="PyYAML is in the dev group")
    triton = pytest.importorskip("triton")
    page = (ROOT / "docs" / "commands" / "trends.md").read_text(encoding="utf-8")
    (text,) = re.findall(r"^```yaml\n(.*?)^```", page, re.M | re.S)
    steps = [step["run"] for step in yaml.safe_load(text)["jobs"]["trends"]["steps"] if "run" in step]
    scripts = [script for script in steps if "pip install" not in script]
    assert scripts and all("${{" not in script for script in scripts)
    program = library.parent / "bin" / "irscope"
    program.parent.mkdir()
    program.write_text(f'#!/usr/bin/env bash\nexec "{sys.executable}" -m irscope "$@"\n')
    program.chmod(0o755)
    environment = os.environ | {"PATH": f"{program.parent}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}

    def night() -> str:
        printed = ""
        for script in scripts:
            own = re.sub(r"--triton [\d.,]+", f"--triton {triton.__version__}", script)
            done = subprocess.run(
                ["bash", "-eo", "pipefail", "-c", own],
                cwd=library, env=environment, capture_output=True, text=True, check=False,
            )  # fmt: skip
            assert done.returncode == 0, done.stderr
            printed += done.stderr
        return printed

    for revision in ("HEAD~2", "HEAD~1"):
        git(library, "checkout", "--quiet", "--detach", revision if revision == "HEAD~2" else "main~1")
        assert ".irscope" in night()
    git(library, "checkout", "--quiet", "main")
    # The last commit touches no kernel: it shares the capture.
    assert ": as " in night() and len(list((library / "trends" / "captures").iterdir())) == 2
    history = read_history(library / "trends")
    assert len(history.entries) == 3 and history.entries[0].problems
    trends = read_trends(library / "trends")
    assert [step.index for step in trends.steps] == [1]
    lines = "\n".join(trends.steps[0].worse)
    assert "add_kernel on cuda:90" in lines and "add_kernel on hip:gfx942" in lines
    assert any("`offsets` -> `n - 1 - offsets`" in edit for edit in trends.steps[0].edits)
    assert "softmax_kernel" in (library / "site" / "index.html").read_text()
