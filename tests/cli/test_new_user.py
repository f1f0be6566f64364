"""Commands of a new user: names of samples in a folder without any, options in the wrong place, releases."""

from __future__ import annotations

from pathlib import Path

import pytest

from irscope.cli import options
from irscope.cli.main import main
from irscope.cli.run import _note_misplaced
from irscope.learn.sample_commands import samples_folder
from tests.conftest import Irscope

FILL = """import triton
import triton.language as tl


@triton.jit
def fill(x_ptr):
    tl.store(x_ptr + tl.arange(0, 128), 1.0)
"""


@pytest.mark.parametrize("name", ["samples/vector_add", "samples/vector_add.py"])
def test_samples_are_found_by_name_in_any_folder(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert Path(options.script_path(name)) == samples_folder() / "vector_add.py"
    assert Path(options.script_path("samples/")) == samples_folder()
    assert options.script_path("vector_add.py") == "vector_add.py"


def test_a_file_of_the_user_comes_before_a_sample(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("samples").mkdir()
    Path("samples/vector_add.py").write_text("")
    assert options.script_path("samples/vector_add.py") == "samples/vector_add.py"


def test_the_samples_of_a_page_are_copied_with_their_folder(tmp_path, capsys):
    assert main(["samples", "serving", "vector_add", "-o", str(tmp_path)]) == 0
    assert {path.name for path in (tmp_path / "serving").iterdir()} >= {
        "service.py",
        "warmup.py",
        "pins.toml",
    }
    assert main(["samples", "serving", "-o", str(tmp_path)]) == 2
    assert "serving exists" in capsys.readouterr().err
    assert main(["samples"]) == 0
    assert "serving  " in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "noted"),
    [
        (["-o", "a.irscope"], "train.py gets -o a.irscope"),
        (["--target", "cuda:90"], "train.py gets --target cuda:90"),
        (["-o", "weights.pt", "--target", "loss"], ""),
        (["-o"], ""),
    ],
)
def test_options_after_the_script_that_look_like_ours_are_noted(arguments, noted, capsys):
    _note_misplaced("train.py", arguments)
    err = capsys.readouterr().err
    assert noted in err and bool(noted) == bool(err)


@pytest.mark.parametrize(
    ("module", "advice"),
    [("no_such_package_at_all", "pip install no_such_package_at_all"), ("triton.no_such_part", "")],
)
def test_only_packages_that_are_missing_are_to_be_installed(module, advice, tmp_path, monkeypatch, capfd):
    monkeypatch.setenv("TRITON_CACHE_DIR", str(tmp_path / "cache"))
    package = tmp_path / "kernels"
    package.mkdir()
    (package / "__init__.py").write_text(f"import {module}\n")
    (package / "fill.py").write_text(FILL)
    capture = str(tmp_path / "fill.irscope")
    assert main(["compile", str(package / "fill.py"), "--signature", "*fp32", "-o", capture, "-j", "1"]) == 0
    err = capfd.readouterr().err
    assert (
        f"imported without what fails: kernels/__init__.py: ModuleNotFoundError: No module named '{module}'"
        in err
    )
    assert advice in err and bool(advice) == ("pip install" in err)


@pytest.mark.slow
def test_a_release_that_needs_another_kernel_fails(irscope: Irscope, tmp_path):
    signature = ["--signature", "*fp32:16, *fp32:16, *fp32:16, i32:16"]
    for name, block in (("old.irscope", "256"), ("new.irscope", "256,512")):
        config = f"BLOCK_SIZE={block}"
        done = irscope("compile", "samples/vector_add", *signature, "--config", config, "-o", name)
        assert done.returncode == 0, done.stderr
    assert irscope("warm", "old.irscope", "-o", "warm").returncode == 0
    assert irscope("warm", "old.irscope", "-o", "warm", "--expect-warm").returncode == 0
    found = irscope("warm", "new.irscope", "-o", "warm", "--expect-warm")
    assert found.returncode == 1
    assert found.stderr.count("not in the folder before: add_kernel cuda:90 (BLOCK_SIZE=512") == 1


@pytest.mark.slow
def test_a_plan_from_a_cache_says_which_arguments_it_lacks(irscope: Irscope, tmp_path):
    # An entry of an earlier test run would name a file that is gone.
    own = {"TRITON_CACHE_DIR": str(tmp_path / "triton"), "HOME": str(tmp_path)}
    signature = ["--signature", "*fp32:16, *fp32:16, *fp32:16, 1"]
    words = ["samples/vector_add", *signature, "--config", "BLOCK_SIZE=256", "-o", "one.irscope"]
    irscope("compile", *words, **own)
    irscope("warm", "one.irscope", "-o", "cache", **own)
    irscope("import", "cache", "-o", "cache.irscope", **own)
    irscope("warm", "cache.irscope", "--write-plan", "plan.toml", **own)
    done = irscope("warm", "--plan", "plan.toml", "-o", "again", **own)
    assert "a launch has no n: Triton's cache does not contain" in done.stdout + done.stderr
