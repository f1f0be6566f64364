"""Runs the commands of a docs page in a separate folder that has only the samples, as a reader does."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from tests.docs.pages import ROOT, Command, commands, files, setups

SIZES = "--config BLOCK_SIZE=256,1024 --config num_stages=2,3"
ADD = f"irscope compile samples/vector_add.py {SIZES} -o add.irscope"
POINTERS = "*fp32:16, *fp32:16, *fp32:16"
# The set-ups that a page may name: the file each makes, and the command that makes it. docs/samples.md shows
# the commands to readers.
SETUPS = {
    "softmax": (
        "softmax.irscope",
        "irscope compile samples/fused_softmax --config BLOCK_SIZE=32768 --config num_warps=4,8,16,32 "
        "-o softmax.irscope",
    ),
    "matmul": (
        "matmul.irscope",
        "irscope compile samples/matmul.py -o matmul.irscope",
    ),
    "layout": (
        "matmul.irscope",
        "irscope compile samples/matmul.py -o matmul.irscope "
        "--target cuda:80 --target cuda:90 --target cuda:100 --target hip:gfx942 --config BLOCK_M=64 "
        "--config BLOCK_N=64,128 --config BLOCK_K=32 --config num_warps=4 --config num_stages=3",
    ),
    "add": (
        "add.irscope",
        f'{ADD} --signature "{POINTERS}, i32:16" && {ADD} --signature "{POINTERS}, i32" --resume',
    ),
    "swept": (
        "matmul.irscope",
        "irscope compile samples/matmul.py -o matmul.irscope --config BLOCK_M=64 "
        "--config BLOCK_N=256 --config BLOCK_K=64 --config num_warps=2,4 --config num_stages=2,8",
    ),
    # A repository with two kernels, what launches them, and three commits; the second is a regression.
    "library": ("library", f"bash {Path(__file__).with_name('library.sh')}"),
    # The samples with two mistakes.
    "kernels": (
        "kernels",
        "mkdir kernels && sed 's/^@triton.jit$/@triton.jit(do_not_specialize=[\"n\"])/' "
        "samples/vector_add.py > kernels/vector_add.py && "
        "sed '/def grid(META/,/^$/c\\    grid = (triton.cdiv(M, 128) * triton.cdiv(N, 128),)\\n' "
        "samples/matmul.py > kernels/matmul.py",
    ),
}
# The needs that a block may name, and whether this machine meets them; other tests cover those never met.
NEEDS: dict[str, Callable[[], bool]] = {
    "torch": lambda: find_spec("torch") is not None,
    "pandas": lambda: find_spec("pandas") is not None and find_spec("matplotlib") is not None,
    "helion": lambda: find_spec("helion") is not None,
    "the app": lambda: False,  # tests/tui
    "another triton": lambda: False,  # tests/cli/test_diff_captures.py; make test-triton
    "your files": lambda: False,  # placeholders; no such files exist
    "the network": lambda: False,
    "this machine": lambda: False,  # prints what is installed; tests/cli
    "fla-core==0.6.0": lambda: False,  # tests/docs/test_gallery.py installs these
    "liger-kernel==0.5.10": lambda: False,
    "liger-kernel==0.8.5": lambda: False,
    "torchao==0.18.0": lambda: False,
    "Triton 3.6 to 3.9": lambda: False,
}


def runs_here(command: Command) -> bool:
    """Whether this machine meets the command's needs."""
    return not command.needs or NEEDS[command.needs]()


def shows_commands(page: Path) -> bool:
    """Whether any command of the page runs here."""
    return any(map(runs_here, commands(page)))


@dataclass(frozen=True)
class Shell:
    """Runs lines without a terminal and without settings; makes each set-up once, in `scratch`.

    `packages` is a folder with more packages, made by `pip install --target`.
    """

    scratch: Path
    packages: Path | None = None

    def run(self, line: str, folder: Path) -> subprocess.CompletedProcess[str]:
        """Runs one line of bash in `folder`; stdout has stderr in it."""
        home = self.scratch / "home"
        home.mkdir(exist_ok=True)
        environment = {name: os.environ[name] for name in ("LANG", "TMPDIR") if name in os.environ}
        if self.packages is not None:
            environment["PYTHONPATH"] = str(self.packages)
        environment |= {
            "HOME": str(home),
            "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
            "PYTHONIOENCODING": "utf-8",
            "PYTHONWARNINGS": "ignore",  # Triton's and torch's differ by version
        }
        return subprocess.run(
            ["bash", "-c", line],
            cwd=folder,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=600,
            check=False,
        )

    def prepare(self, page: Path) -> Path:
        """A folder with the samples, and the set-ups and files of `page`."""
        folder = self.scratch / "-".join(page.relative_to(ROOT).parts)
        copy_samples(folder)
        for name in setups(page):
            self._copy_setup(name, folder)
        for name, text in files(page):
            (folder / name).parent.mkdir(exist_ok=True)
            (folder / name).write_text(text, encoding="utf-8")
        return folder

    def _copy_setup(self, name: str, folder: Path) -> None:
        file, line = SETUPS[name]
        made = self.scratch / f"setup-{name}"
        if not made.exists():
            new = Path(tempfile.mkdtemp(dir=self.scratch))
            copy_samples(new)
            done = self.run(line, new)
            assert done.returncode == 0, done.stdout
            with contextlib.suppress(OSError):  # another worker was faster
                new.rename(made)
        copy = shutil.copytree if (made / file).is_dir() else shutil.copyfile
        copy(made / file, folder / file)

    def printed(self, done: subprocess.CompletedProcess[str]) -> str:
        """The output as if the reader were in the page's folder, and had made the set-ups there."""
        return re.sub(rf"{re.escape(str(self.scratch))}/[^/\s]+/", "", done.stdout)


def copy_samples(folder: Path) -> None:
    """Puts the samples into `folder`."""
    ignored = shutil.ignore_patterns(".*", "__*")
    shutil.copytree(ROOT / "samples", folder / "samples", ignore=ignored)
