"""Records the film of the README, docs/images/film.svg: the commands and the app in a real terminal.

python docs/scripts/film.py [FILE]

tmux is the terminal. The result is one SVG that CSS animates, as GitHub shows it within an <img>: no script
and no fonts of its own. Equal lines of the screen are stored once: half a minute takes a few hundred kB.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from film_svg import Frame, film_svg  # noqa: E402

from tests.tui.terminal import Terminal  # noqa: E402

FILM = ROOT / "docs" / "images" / "film.svg"
SIZE = (104, 30)
_PATIENCE_SECONDS = 60.0
# A screen that has not changed for this long is still.
_STILL_SECONDS = 0.25
# The app shows this until everything is compared.
_BUSY = "comparing..."
_TYPED = 3  # characters per frame while typing
_TYPING_SECONDS = 0.09
_MOST_PROGRESS = 12  # frames of a command that is running


@dataclass(frozen=True)
class Type:
    """Types a command and Enter, and holds the screen for `seconds` when it is done.

    It is done when the screen shows `until` and, unless it `opens_app`, the prompt.
    """

    command: str
    until: str
    seconds: float
    caption: str
    opens_app: bool = False

    def is_done(self, screen: str) -> bool:
        """Whether the screen shows the end of the command."""
        return self.until in screen and (self.opens_app or screen.rstrip().endswith("\n$"))


@dataclass(frozen=True)
class Press:
    """Presses keys by tmux's names, holding each screen for `seconds`; the last one for `last` if given.

    `until` is on the screen after the last key.
    """

    keys: str
    seconds: float
    caption: str
    until: str = ""
    last: float = 0.0


Step = Type | Press

SCRIPT: Sequence[Step] = (
    Type(
        "irscope compile matmul.py -o matmul.irscope",
        "compare: irscope",
        1.6,
        "Compile a kernel under every config, without a GPU",
    ),
    Type(
        "irscope table matmul.irscope --columns registers,stack,shared,occupancy",
        "best among",
        3.2,
        "What each config costs",
    ),
    Type(
        "irscope matmul.irscope",
        "Findings",
        2.6,
        "Every stage of every config, next to the Python",
        opens_app=True,
    ),
    Press("BTab j j", 0.45, "Choose two configs: num_stages 3 and 4", last=0.7),
    Press("a j b", 0.7, "Choose two configs: num_stages 3 and 4", last=1.8),
    Press("Tab 4", 0.8, "Stage by stage, change by change", last=1.2),
    Press("] ] ]", 0.9, "Stage by stage, change by change", last=1.6),
    Press("W", 1.0, "Why was it compiled again, and what changed?", until="Why it was", last=4.5),
    Press("q", 1.6, "irscope: what Triton made of your kernel, and why", last=2.0),
)


def record(steps: Sequence[Step], folder: Path, size: tuple[int, int] = SIZE) -> list[Frame]:
    """Plays the steps in a shell in `folder`; the frames are what was on the screen, and for how long.

    Raises TimeoutError if a text that a step waits for does not come.
    """
    environment = {
        "PATH": f"{Path(sys.executable).parent}:{_search_path()}",
        "PS1": "$ ",
        "COLORTERM": "truecolor",
        "IRSCOPE_STATE": str(folder / ".state"),
        "IRSCOPE_CACHE": str(folder / ".cache"),
        "TRITON_CACHE_DIR": str(folder / ".triton"),
    }
    shell = ["-c", str(folder), "env", "-i", *_assignments(environment), "bash", "--norc", "--noprofile"]
    with tempfile.TemporaryDirectory() as sockets:
        terminal = Terminal(Path(sockets, "tmux"), shell, size)
        try:
            terminal.run("set", "-g", "status", "off")
            terminal.wait(lambda screen: screen.startswith("$"))
            return [frame for step in steps for frame in _play(step, terminal)]
        finally:
            terminal.close()


def _search_path() -> str:
    return "/usr/local/bin:/usr/bin:/bin"


def _assignments(environment: dict[str, str]) -> list[str]:
    terminal = {"TERM": "tmux-256color", "HOME": environment["IRSCOPE_STATE"], "LANG": "C.UTF-8"}
    return [f"{name}={value}" for name, value in {**terminal, **environment}.items()]


def _play(step: Step, terminal: Terminal) -> Iterator[Frame]:
    if isinstance(step, Type):
        for start in range(0, len(step.command), _TYPED):
            terminal.run("send-keys", "-l", "--", step.command[start : start + _TYPED])
            yield Frame(_still(terminal, 0.02), _TYPING_SECONDS, step.caption)
        terminal.press("Enter")
        yield from _running(step, terminal)
        return
    keys = step.keys.split()
    for place, key in enumerate(keys, 1):
        terminal.press(key)
        if place == len(keys) and step.until:
            terminal.wait(lambda screen: step.until in screen, _PATIENCE_SECONDS)
        seconds = step.last or step.seconds if place == len(keys) else step.seconds
        yield Frame(_still(terminal), seconds, step.caption, key.replace("BTab", "Shift+Tab"))


def _running(step: Type, terminal: Terminal) -> Iterator[Frame]:
    """The screens of a command while it runs, at most a few, then the last one."""
    end = time.monotonic() + _PATIENCE_SECONDS
    before, shown = "", 0
    while not step.is_done(terminal.screen()):
        if time.monotonic() > end:
            raise TimeoutError(f"'{step.until}' is not on the screen:\n{terminal.screen()}")
        now = _styled(terminal)
        if now != before and shown < _MOST_PROGRESS:
            yield Frame(now, 0.2, step.caption)
            before, shown = now, shown + 1
        time.sleep(0.2)
    yield Frame(_still(terminal), step.seconds, step.caption)


def _still(terminal: Terminal, seconds: float = _STILL_SECONDS) -> str:
    """The screen with its colors, as soon as it stopped to change."""
    end = time.monotonic() + _PATIENCE_SECONDS
    before, since = "", time.monotonic()
    while time.monotonic() < end:
        now = _styled(terminal)
        if now != before:
            before, since = now, time.monotonic()
        elif time.monotonic() - since >= seconds and _BUSY not in now:
            return now
        time.sleep(min(0.05, seconds))
    raise TimeoutError("the screen does not stop to change")


def _styled(terminal: Terminal) -> str:
    return terminal.run("capture-pane", "-e", "-N", "-p")


def main() -> None:
    """Writes the film. Needs tmux, and Triton for the command that compiles."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILM
    if shutil.which("tmux") is None:
        sys.exit("film.py: needs tmux: apt-get install tmux")
    # The film shows paths of this folder, so it has no name of this machine or run.
    folder = Path(tempfile.gettempdir(), "demo")
    folder.mkdir()
    try:
        shutil.copyfile(ROOT / "samples" / "matmul.py", folder / "matmul.py")
        frames = record(SCRIPT, folder)
    finally:
        shutil.rmtree(folder)
    path.write_text(film_svg(frames, SIZE), encoding="utf-8")
    seconds = sum(frame.seconds for frame in frames)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(frames)} frames, {seconds:.0f} s")


if __name__ == "__main__":
    main()
