"""Record docs/images/film.svg, and the README's picture: commands and the app in a real terminal.

python docs/scripts/film.py [FILE]

tmux is the terminal, as wide as a phone can show. The result is one SVG that CSS animates, as GitHub shows it
within an <img>: no script and no fonts of its own. Equal lines of the screen are stored once. The picture is
the frame that the film shows longest.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.append(str(ROOT))

from film_svg import Frame, film_svg  # noqa: E402

from tests.tui.terminal import Terminal  # noqa: E402

FILM = ROOT / "docs" / "images" / "film.svg"
STILL = ROOT / "docs" / "images" / "still.svg"
SIZE = (54, 32)  # 390 pixels are wide enough to read it
# The stage to open with has no line that names the folder of the recording.
_CONFIG = 'stage = "ptx"\n'
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
        return self.until in screen if self.opens_app else _is_at_prompt(screen, self.until)


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


@dataclass(frozen=True)
class Show:
    """Runs commands before the film goes on, and holds the screen that they leave for `seconds`."""

    commands: str
    until: str
    seconds: float
    caption: str


Step = Show | Type | Press

SCRIPT: Sequence[Step] = (
    Show(
        "irscope compile fused_softmax.py --config BLOCK_SIZE=32768 --config num_warps=4,8,16,32 "
        "-o softmax.irscope; clear; irscope table softmax.irscope --columns registers,stack,occupancy",
        "best among",
        3.5,
        "One softmax, four configs: which is slowest?",
    ),
    Type("irscope softmax.irscope", "Findings", 2.0, "The app compares two configs", opens_app=True),
    Press("BTab j j b", 0.6, "4 warps spill, 16 do not", last=4.5),
    Press("Tab ] ]", 0.9, "Change by change, in every stage", last=1.8),
    Press("i S", 0.9, "What each Python line became", last=3.5),
    Press("W", 1.0, "Why it was compiled again", until="Why it was", last=4.0),
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
        "IRSCOPE_CONFIG": str(folder / ".config.toml"),
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


def _is_at_prompt(screen: str, until: str) -> bool:
    return until in screen and screen.rstrip().endswith("\n$")


def _search_path() -> str:
    return "/usr/local/bin:/usr/bin:/bin"


def _assignments(environment: dict[str, str]) -> list[str]:
    terminal = {"TERM": "tmux-256color", "HOME": environment["IRSCOPE_STATE"], "LANG": "C.UTF-8"}
    return [f"{name}={value}" for name, value in {**terminal, **environment}.items()]


def _play(step: Step, terminal: Terminal) -> Iterator[Frame]:
    if isinstance(step, Show):
        terminal.run("send-keys", "-l", "--", step.commands)
        terminal.press("Enter")
        terminal.wait(lambda screen: _is_at_prompt(screen, step.until), _PATIENCE_SECONDS)
        yield Frame(_still(terminal), step.seconds, step.caption)
        return
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
    """Write the film and the picture. Needs tmux, and Triton for the command that compiles."""
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else FILM
    if shutil.which("tmux") is None:
        sys.exit("film.py: needs tmux: apt-get install tmux")
    with tempfile.TemporaryDirectory() as temporary:
        folder = Path(temporary, "demo")
        folder.mkdir()
        shutil.copyfile(ROOT / "samples" / "fused_softmax.py", folder / "fused_softmax.py")
        (folder / ".config.toml").write_text(_CONFIG, encoding="utf-8")
        frames = record(SCRIPT, folder)
    path.write_text(film_svg(frames, SIZE), encoding="utf-8")
    longest = max(frames, key=lambda frame: frame.seconds)
    path.with_name(STILL.name).write_text(film_svg([replace(longest, key="")], SIZE), encoding="utf-8")
    seconds = sum(frame.seconds for frame in frames)
    print(f"{path}: {path.stat().st_size:,} bytes, {len(frames)} frames, {seconds:.0f} s")


if __name__ == "__main__":
    main()
