"""irscope versions as a user runs it: with the installed Triton, and a copy of it with another version."""

import json
import os
import shutil
import subprocess
import sys
from importlib import metadata
from pathlib import Path

import pytest

from irscope.jobs.versions.environments import own_triton
from irscope.jobs.versions.packages import VersionUnavailable

pytestmark = pytest.mark.slow

KERNEL = """
import triton
import triton.language as tl

{line}

@triton.jit
def add(x, y, BLOCK: tl.constexpr):
    o = tl.arange(0, BLOCK)
    tl.store(y + o, tl.load(x + o) + NUMBER)
"""
PLAIN = "NUMBER: tl.constexpr = tl.constexpr(1)"
# Only the copy has this version.
NEW = "9.9.9"
NOT_NEW = f"if triton.__version__ == '{NEW}': raise SystemExit('too new')\n{PLAIN}"
OPTIONS = ("--signature", "*fp32:16, *fp32:16", "--config", "BLOCK=64,128")


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """A folder with the installed Triton, whose files are links, under another version."""
    own = own_triton()
    if own is None:
        pytest.skip("needs triton")
    folder = tmp_path_factory.mktemp("built")
    shutil.copytree(own[1] / "triton", folder / "triton", copy_function=os.symlink)
    init = folder / "triton" / "__init__.py"
    text = init.read_text()
    init.unlink()
    init.write_text(text.replace(f"'{own[0]}'", f"'{NEW}'"))
    assert NEW in init.read_text()
    return folder


def listed(irscope, capture):
    document = json.loads(irscope("list", capture, "--format", "json").stdout)
    return [variant for kernel in document["kernels"] for variant in kernel["variants"]]


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "add.py"
    path.write_text(KERNEL.format(line=PLAIN))
    return path


def test_a_kernel_and_then_its_capture_under_two_versions(irscope, copy, file, tmp_path):
    own = metadata.version("triton")
    versions = f"{own},{copy}"
    environment = {"IRSCOPE_CACHE": str(tmp_path / "cache")}
    first = irscope("versions", str(file), *OPTIONS, "--triton", own, "-o", "v.irscope", **environment)
    assert first.returncode == 0 and "2 compiled" in first.stdout
    alone = irscope("versions", "v.irscope")
    assert alone.returncode == 2 and "no kernel in it has several versions" in alone.stderr
    both = irscope(
        "versions", str(file), *OPTIONS, "--triton", versions, "-o", "v.irscope", "--resume", **environment
    )
    assert both.returncode == 0, both.stderr
    assert "2 compiled, 2 already there, 0 failed" in both.stdout
    assert f"Triton {own} -> {NEW}  0 of 2 configs worse" in both.stdout
    found = [(v["id"], v["config"]["BLOCK"], v["versions"]["triton"]) for v in listed(irscope, "v.irscope")]
    assert found == [(1, 64, own), (2, 128, own), (3, 64, NEW), (4, 128, NEW)]
    again = irscope(
        "versions", "v.irscope", "--triton", versions, "-o", "w.irscope", "--format", "json", **environment
    )
    assert again.returncode == 0, again.stderr
    document = json.loads(again.stdout)
    assert [len(version["variants"]) for version in document["kernels"][0]["versions"]] == [2, 2]
    assert len(listed(irscope, "w.irscope")) == 4


def test_a_version_that_cannot_import_the_kernel_has_failed_variants(irscope, copy, file, tmp_path):
    file.write_text(KERNEL.format(line=NOT_NEW))
    own = metadata.version("triton")
    done = irscope(
        "versions", str(file), *OPTIONS, "--triton", f"{copy},{own}", IRSCOPE_CACHE=str(tmp_path / "cache")
    )
    assert done.returncode == 1, done.stderr
    variants = listed(irscope, "add-versions.irscope")
    assert [(v["versions"]["triton"], v["status"]) for v in variants] == [
        (NEW, "failed"), (own, "ok"), (NEW, "failed"), (own, "ok"),
    ]  # fmt: skip
    assert "too new" in variants[0]["failure"]["summary"]
    assert f"Triton {own} -> {NEW}  2 of 2 configs worse" in done.stdout


def test_a_version_that_cannot_be_had_leaves_the_others(irscope, copy, file, tmp_path):
    offline = {"UV_OFFLINE": "1", "PIP_NO_INDEX": "1", "PIP_FIND_LINKS": "", "PIP_CONFIG_FILE": os.devnull}
    environment = {**offline, "IRSCOPE_CACHE": str(tmp_path / "cache"), "UV_CACHE_DIR": str(tmp_path / "uv")}
    versions = f"9.9.8,{metadata.version('triton')},{copy}"
    done = irscope("versions", str(file), *OPTIONS, "--triton", versions, "-o", "v.irscope", **environment)
    assert done.returncode == 1
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("irscope: triton 9.9.8:")]
    assert "network access" in line or "no such version" in line or "cannot be installed" in line
    assert len(listed(irscope, "v.irscope")) == 4
    nothing = irscope("versions", str(file), *OPTIONS, "--triton", "9.9.8", **environment)
    assert nothing.returncode == 2 and "none of the versions can be had" in nothing.stderr


def test_environments_are_listed_and_removed(irscope, tmp_path):
    environment = {"IRSCOPE_CACHE": str(tmp_path / "cache")}
    assert "no environments are installed" in irscope("versions", "--list", **environment).stdout
    folder = tmp_path / "cache" / "versions" / "packages" / "triton-3.8.0-cpython-311"
    (folder / "triton").mkdir(parents=True)
    (folder / "triton" / "file").write_bytes(b"x" * 2_000_000)
    assert irscope("versions", "--list", **environment).stdout.split()[:4] == ["triton", "3.8.0", "2", "MB"]
    assert irscope("versions", "--remove", "3.7.1", **environment).returncode == 2
    assert irscope("versions", "--remove", "3.8.0", **environment).stdout.startswith("removed triton 3.8.0")
    assert not folder.exists()


def test_another_release_from_pypi(irscope, file, tmp_path):
    """Needs the network, or a release that was installed before in the user's cache folder."""
    script = "import sys; from irscope.jobs.versions.environments import prepare; prepare(sys.argv[1])"
    other = "3.8.0" if metadata.version("triton") != "3.8.0" else "3.9.0"
    made = subprocess.run([sys.executable, "-c", script, other], capture_output=True, text=True, check=False)
    if made.returncode:
        pytest.skip(f"{VersionUnavailable.__name__}: {made.stderr.strip().splitlines()[-1]}")
    done = irscope(
        "versions",
        str(file),
        *OPTIONS,
        "--triton",
        f"{other},{metadata.version('triton')}",
        "-o",
        "v.irscope",
    )
    assert done.returncode == 0, done.stderr
    assert {variant["versions"]["triton"] for variant in listed(irscope, "v.irscope")} == {
        other, metadata.version("triton"),
    }  # fmt: skip
    assert Path(tmp_path / "v.irscope").exists()
