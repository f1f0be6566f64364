"""Six kinds of new user, each from a clean machine: the commands that the docs print, in an empty folder.

Builds the wheel as README.md says, installs it with its dependencies into a new environment per user, gives
each user a new HOME and an empty folder, and runs what the docs show. A failure is an exit code or an output
that differs from the page. Prints per user the seconds of the installation, the number of commands, how many
outputs were compared, the seconds that they took, and the failures.

    python benchmarks/new_users.py [USER ...] [--torch torch==2.13.0] [--kernel FILE.py]
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
import venv
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT))

from tests.docs.pages import ROOT as PAGES_ROOT  # noqa: E402
from tests.docs.pages import commands, files, fits, setups  # noqa: E402
from tests.docs.shell import SETUPS  # noqa: E402
from tests.learn.solutions import SOLUTIONS  # noqa: E402

FILES = Path(__file__).parent / "new_user_files"
# Needs of a page's commands that this benchmark does not meet.
NOT_HERE = {"the network", "the app", "another triton", "your files", "this machine", "helion"}
INHERITED = ("LANG", "TMPDIR", "SSL_CERT_FILE", "SSL_CERT_DIR", "OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE")


@dataclass
class User:
    """A user: a clean environment, HOME and folder, and what happened there."""

    name: str
    folder: Path
    install_seconds: float = 0.0
    seconds: float = 0.0
    commands: int = 0
    compared: int = 0
    failures: list[str] = field(default_factory=list)

    @property
    def bin(self) -> Path:
        """Where its programs are."""
        return self.folder / "venv" / "bin"

    @property
    def work(self) -> Path:
        """The folder that is empty at first."""
        return self.folder / "work"

    def install(self, *requirements: str) -> None:
        """Makes the environment, and installs the requirements with their dependencies."""
        start = time.monotonic()
        venv.create(self.folder / "venv", with_pip=True)
        self.work.mkdir()
        (self.folder / "home").mkdir()
        self.pip(*requirements)
        self.install_seconds = time.monotonic() - start

    def pip(self, *arguments: str) -> None:
        """Installs with the pip of this environment and the settings of this machine."""
        subprocess.run([self.bin / "python", "-m", "pip", "install", "-q", *arguments], check=True)

    def run(
        self, command: str, code: int = 0, shown: list[str] | None = None, folder: Path | None = None
    ) -> str:
        """Runs a line of bash as the user; compares the exit code, and the output if the docs show one."""
        start = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=folder or self.work,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            check=False,
        )
        self.seconds += time.monotonic() - start
        self.commands += 1
        self.compared += shown is not None
        if done.returncode != code:
            self.failures.append(f"{command}: exit code {done.returncode}, not {code}: {done.stdout[-300:]}")
        elif shown is not None and not fits(shown, self._as_shown(done.stdout, folder).splitlines()):
            self.failures.append(f"{command}: prints something else: {done.stdout[:300]}")
        return done.stdout

    def _as_shown(self, text: str, folder: Path | None) -> str:
        """The output with paths below the folder of the user as pages show them: relative."""
        return text.replace(f"{(folder or self.work).resolve()}/", "")

    def _environment(self) -> dict[str, str]:
        kept = {name: os.environ[name] for name in INHERITED if name in os.environ}
        kept |= {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
        path = f"{self.bin}{os.pathsep}/usr/local/bin{os.pathsep}/usr/bin{os.pathsep}/bin"
        # As tests/docs: the warnings of Triton and torch differ by version.
        return kept | {"HOME": str(self.folder / "home"), "PATH": path, "PYTHONWARNINGS": "ignore"}

    def read_page(self, name: str) -> None:
        """Does what a page of the docs says, in a folder of its own."""
        page = PAGES_ROOT / name
        folder = self.work / name.replace("/", "-")
        folder.mkdir()
        self.run("irscope samples -o samples", folder=folder)
        for setup in setups(page):
            for part in SETUPS[setup][1].split(" && "):
                self.run(part, folder=folder)
        for file, text in files(page):
            (folder / file).write_text(text, encoding="utf-8")
        for command in commands(page):
            if command.needs not in NOT_HERE:
                self.run(command.text, command.exit_code, command.output, folder)


def student(user: User, _: argparse.Namespace) -> None:
    """README, the tutorial, and lessons 1 to 4 with their exercises, solved by editing the files."""
    user.read_page("docs/tutorial.md")
    for lesson in range(1, 5):
        user.run(f"irscope learn {lesson} --text")
        user.run(f"irscope learn {lesson} --exercise")
        user.run(f"irscope learn {lesson} --exercise", code=1)
        for name, edits in SOLUTIONS.items():
            if name.startswith(f"{lesson:02}"):
                file = user.work / f"exercise_{name[:3]}.py"
                text = file.read_text(encoding="utf-8")
                for before, after in edits:
                    text = text.replace(before, after)
                file.write_text(text, encoding="utf-8")
        user.run(f"irscope learn {lesson} --exercise")


def engineer(user: User, args: argparse.Namespace) -> None:
    """An autotuned kernel that no page knows: which config spills, why two differ, and what to try."""
    for kernel in (FILES / "norm_rope.py", *args.kernel):
        (user.work / kernel.name).write_bytes(kernel.read_bytes())
        capture = f"{kernel.stem}.irscope"
        user.run(f"irscope compile {kernel.name} --guess -o {capture}")
        user.run(f"irscope table {capture} --columns registers,stack,n_spills,occupancy")
        user.run(f"irscope verdict {capture}")
        user.run(f"irscope lint {kernel.name} {capture} || true")
    found = user.run("irscope verdict norm_rope.irscope '#7'")
    if "spills" not in found or "try num_warps=" not in found:
        user.failures.append("the verdict of a config that spills names no remedy")
    user.run("irscope diff norm_rope.irscope '#5' '#8' --stage none")
    user.run("irscope run --target cuda:90 -o launched.irscope norm_rope.py")
    user.run("irscope pick launched.irscope")
    user.read_page("docs/recipes.md")
    for page in (
        "diff",
        "table",
        "verdict",
        "layout",
        "lint",
        "run",
        "why",
        "registers",
        "reproduce",
        "pick",
        "show",
    ):
        user.read_page(f"docs/commands/{page}.md")


def serving(user: User, _: argparse.Namespace) -> None:
    """From a cache folder and from a warm-up list to a warm folder, and a release with another kernel."""
    user.read_page("docs/commands/warm.md")
    user.run("irscope samples serving -o .")
    folder = user.work / "serving"
    build = "irscope warm warmup.py --pins pins.toml --target cuda:90 -o"
    user.run(f"{build} warm", folder=folder)
    user.run("irscope warm --verify warm", folder=folder)
    user.run(f"cp -r warm next && {build} next --expect-warm", folder=folder)
    user.run("sed -i s/1e-6/1e-5/ service.py", folder=folder)
    found = user.run(f"{build} next --expect-warm", code=1, folder=folder)
    if "not in the folder before: rms_norm_kernel" not in found:
        user.failures.append("a release with a changed kernel is not reported")
    user.run("irscope import warm -o cache.irscope", folder=folder)
    user.run("irscope why cache.irscope", folder=folder)
    user.run("irscope warm cache.irscope -o again", folder=folder)


def teacher(user: User, _: argparse.Namespace) -> None:
    """The commands of a class: the check of the lessons, the assignment, handouts."""
    user.read_page("docs/teaching.md")
    user.read_page("docs/commands/learn.md")
    user.read_page("docs/commands/report.md")


def scientist(user: User, _: argparse.Namespace) -> None:
    """From a capture to a data frame and a plot."""
    user.pip("pandas", "matplotlib")
    user.read_page("docs/python.md")
    if not (user.work / "docs-python.md" / "registers.png").is_file():
        user.failures.append("docs/python.md: no plot was written")


def packager(user: User, _: argparse.Namespace) -> None:
    """docs/packaging.md in a copy of the repository: two equal builds, checks, manual page, completion."""
    user.pip("build", "hatchling", "twine", "argparse-manpage")
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard"], cwd=ROOT, capture_output=True, text=True, check=True
    )
    for name in listed.stdout.splitlines():
        if (ROOT / name).is_file():
            (user.work / "source" / name).parent.mkdir(parents=True, exist_ok=True)
            (user.work / "source" / name).write_bytes((ROOT / name).read_bytes())
    source = user.work / "source"
    build = "PIP_NO_INDEX=1 SOURCE_DATE_EPOCH=1700000000 python -m build -q --no-isolation"
    user.run(f"{build} -o ../one", folder=source)
    user.run("tar xzf *.tar.gz && rm -rf ../unpacked && mv */ ../unpacked", folder=user.work / "one")
    user.run(f"{build} --wheel -o ../two", folder=user.work / "unpacked")
    user.run("cmp one/*.whl two/*.whl")
    user.run("twine check --strict one/*.whl one/*.tar.gz")
    user.run("pip check && pip install -q --no-deps --force-reinstall one/*.whl")
    user.run(
        "SOURCE_DATE_EPOCH=1700000000 python docs/scripts/man_page.py && test -s site/man/irscope.1",
        folder=user.work / "unpacked",
    )
    for shell in ("bash", "zsh", "fish"):
        user.run(f'test -n "$(irscope completion {shell})"')
    user.run("irscope doctor")
    user.run("irscope compile samples/matmul", code=2)


# Per user: what is installed, and what is done.
USERS: dict[str, tuple[str, Callable[[User, argparse.Namespace], None]]] = {
    "student": ("irscope[compile]", student),
    "engineer": ("irscope[run]", engineer),
    "serving": ("irscope[run]", serving),
    "teacher": ("irscope[compile]", teacher),
    "scientist": ("irscope[compile]", scientist),
    "packager": ("irscope", packager),
}


def wheel(folder: Path) -> Path:
    """The wheel of this checkout, built as README.md says."""
    subprocess.run([sys.executable, "-m", "pip", "wheel", "-q", "--no-deps", "-w", folder, ROOT], check=True)
    (found,) = folder.glob("*.whl")
    return found


def trials(args: argparse.Namespace, folder: Path) -> Iterator[User]:
    built = wheel(folder)
    for name in args.users or USERS:
        extra, act = USERS[name]
        user = User(name, folder / name)
        user.folder.mkdir()
        user.install(f"{extra} @ {built.as_uri()}", *([args.torch] if "run" in extra else []))
        act(user, args)
        yield user


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("users", nargs="*", metavar="USER", choices=[*USERS, []])
    parser.add_argument("--torch", default="torch", help="requirement of torch, such as torch==2.13.0")
    parser.add_argument(
        "--kernel", type=Path, action="append", default=[], help="another kernel for the engineer"
    )
    args = parser.parse_args()
    print(f"{'user':10} {'install s':>9} {'commands':>8} {'compared':>8} {'seconds':>8} {'failures':>8}")
    failures: list[str] = []
    with tempfile.TemporaryDirectory(prefix="irscope-users-") as folder:
        for user in trials(args, Path(folder)):
            numbers = f"{user.commands:8} {user.compared:8} {user.seconds:8.1f} {len(user.failures):8}"
            print(f"{user.name:10} {user.install_seconds:9.1f} {numbers}", flush=True)
            failures += [f"{user.name}: {line}" for line in user.failures]
    print("\n".join(failures) or "every command did what the docs show")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
