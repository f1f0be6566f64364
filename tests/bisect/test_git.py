import subprocess

import pytest

from irscope.jobs.bisect.commits import split_git_range
from irscope.jobs.repository import Repository, checkouts
from irscope.model import UserError


def git(folder, *words):
    identity = ["-c", "user.email=a@example.com", "-c", "user.name=A"]
    done = subprocess.run(["git", *identity, *words], cwd=folder, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path):
    folder = tmp_path / "project"
    folder.mkdir()
    git(folder, "init", "-q", "-b", "main")
    for number in range(4):
        (folder / "kernel.py").write_text(f"x = {number}\n")
        git(folder, "add", "-A")
        git(folder, "commit", "-qm", f"Set {number}")
    return Repository(folder / "kernel.py")


def state(repository):
    root = repository.root
    return (
        git(root, "status", "--porcelain"),
        git(root, "rev-parse", "HEAD"),
        git(root, "worktree", "list"),
        (root / ".git" / "index").read_bytes(),
        (root / "kernel.py").read_text(),
    )


def test_commits_are_checked_out_without_touching_the_user_s_tree(repository):
    (repository.root / "kernel.py").write_text("edited but not committed\n")
    (repository.root / "new.py").write_text("")
    before = state(repository)
    with checkouts(repository) as check_out:
        folder = check_out(repository.resolve("HEAD~1"))
        assert (folder / "kernel.py").read_text() == "x = 2\n"
        (folder / "left.pyc").write_text("")
        assert check_out(repository.resolve("HEAD~3")) == folder
        assert (folder / "kernel.py").read_text() == "x = 0\n"
        assert not (folder / "left.pyc").exists()
        assert not (folder / "new.py").exists()
    assert not folder.parent.exists()
    assert state(repository) == before


@pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
def test_the_worktree_is_removed_when_the_block_is_left_early(repository, error):
    before = state(repository)
    folders = []
    with pytest.raises(error), checkouts(repository) as check_out:
        folders.append(check_out(repository.resolve("HEAD")))
        raise error
    assert not folders[0].exists()
    assert state(repository) == before


def test_hooks_of_the_repository_do_not_run(repository):
    hook = repository.root / ".git" / "hooks" / "post-checkout"
    hook.write_text(f"#!/bin/sh\ntouch {repository.root}/ran\n")
    hook.chmod(0o755)
    with checkouts(repository) as check_out:
        check_out(repository.resolve("HEAD"))
        check_out(repository.resolve("HEAD~1"))
    assert not (repository.root / "ran").exists()


def test_nothing_is_made_if_no_commit_is_checked_out(repository):
    before = state(repository)
    with checkouts(repository):
        pass
    assert state(repository) == before


def test_candidates_are_what_git_would_test(repository):
    good, bad = repository.resolve("HEAD~3"), repository.resolve("HEAD")
    found = repository.candidates([good], bad)
    assert set(found) == {repository.resolve(f"HEAD~{number}") for number in range(3)}
    assert repository.candidates([repository.resolve("HEAD~1")], bad) == [bad]


def test_equal_trees_are_equal_files(repository):
    trees = [repository.tree(commit.sha, ".") for commit in repository.commits("-4")]
    assert all(trees) and len(set(trees)) == 4
    assert repository.tree(repository.resolve("HEAD"), "none") == ""
    (repository.root / "src").mkdir()
    (repository.root / "src" / "kernel.py").write_text("x = 3\n")
    git(repository.root, "add", "-A")
    git(repository.root, "commit", "-qm", "Copy")
    assert repository.tree(repository.resolve("HEAD"), "src") == trees[-1]


def test_wrong_ranges_are_one_line(repository):
    with pytest.raises(UserError, match="no commit 'nowhere'"):
        repository.resolve("nowhere")
    with pytest.raises(UserError, match="is not an ancestor of"):
        repository.check_ancestor(repository.resolve("HEAD"), repository.resolve("HEAD~1"))
    with pytest.raises(UserError, match=r"write GOOD\.\.BAD"):
        split_git_range("HEAD")
    assert split_git_range("v1..") == ("v1", "HEAD")


def test_a_file_outside_of_the_repository_is_refused(repository, tmp_path):
    with pytest.raises(UserError, match="not in the repository"):
        repository.relative_path(tmp_path / "other.py")


def test_a_folder_without_a_repository_is_refused(tmp_path):
    with pytest.raises(UserError, match="not a git repository"):
        Repository(tmp_path / "kernel.py")
