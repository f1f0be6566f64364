"""The state of a server: the capture that `compile` fills, captures that are open, what may be read.

The folders that a client may name files in.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from threading import Lock

from irscope.compiling.messages import SweepRequest
from irscope.compiling.pool import Stop
from irscope.mcp.warm_compiler import CompileOutcome, Compiler
from irscope.model import UserError, Variant
from irscope.model.text import one_line
from irscope.workspace import Workspace
from irscope.workspace.launch_expression import add_launches


@dataclass(frozen=True)
class Roots:
    """The folders that the user opened to clients; relative paths start at the first."""

    folders: tuple[Path, ...]

    @classmethod
    def of(cls, folders: Sequence[Path]) -> Roots:
        """Resolve the links of the folders. Raises UserError if one is not a folder."""
        for folder in folders:
            if not folder.is_dir():
                raise UserError(f"--root {folder}: no such folder")
        return cls(tuple(folder.resolve() for folder in folders))

    def file(self, name: str) -> Path:
        """Return the regular file called `name`, with links resolved.

        Raises UserError if it is not in one of the folders (a link may lead out of them) or not a
        file.
        """
        printed_name = one_line(name)
        try:
            path = (self.folders[0] / name).resolve()
            is_file = path.is_file()
        except (OSError, ValueError, RuntimeError):
            raise UserError(f"{printed_name}: no such file") from None
        if not any(path.is_relative_to(folder) for folder in self.folders):
            allowed = ", ".join(map(str, self.folders))
            raise UserError(
                f"{printed_name}: outside of the folders that this server may read ({allowed}); see --root"
            )
        if not is_file:
            raise UserError(f"{printed_name}: no such file")
        return path


SESSION = "session"
_MOST_OPEN = 4
# Texts longer than this are no kernels; clients name files by path.
_MOST_SOURCE = 1 << 20
_NAME = re.compile(r"@(?:triton\.|gluon\.)?jit\b[^\n]*\n(?:@[^\n]*\n)*\s*def\s+([A-Za-z_]\w{0,80})")


@dataclass
class _Open:
    """An open capture and the state of its file when it was opened."""

    workspace: Workspace
    state: tuple[int, int]


class Session:
    """One server's session; several threads may use it. `folder` is where its capture and sources go."""

    def __init__(self, folder: Path, roots: Roots, compiler: Compiler) -> None:
        self.folder, self.roots, self.compiler = folder, roots, compiler
        self.path = folder / f"{SESSION}.irscope"
        self._own: Workspace | None = None
        self._others: OrderedDict[Path, _Open] = OrderedDict()
        self._lock = Lock()
        self.changes = 0  # of the capture
        self._noted: set[str] = set()

    def close(self) -> None:
        """End the workers and close the captures."""
        self.compiler.close()
        with self._lock:
            for workspace in (self._own, *(opened.workspace for opened in self._others.values())):
                if workspace is not None:
                    workspace.close()
            self._own = None
            self._others.clear()

    def compile(self, request: SweepRequest, stop: Stop) -> CompileOutcome:
        """Compiles into the session's capture. Raises UserError, Stopped."""
        try:
            return self.compiler.compile(request, self.path, stop)
        finally:
            self._has_changed()

    def add_launch(self, ids: Sequence[int], launch: str) -> None:
        """Store a launch for variants that have none. Raises UserError if the text does not fit them."""
        add_launches(self.path, launch, ids)
        self._has_changed()

    def new_notes(self, notes: Sequence[str]) -> list[str]:
        """Return those of `notes` that no answer has had yet, such as the guessed types of a kernel."""
        unseen = [note for note in dict.fromkeys(notes) if note not in self._noted]
        self._noted.update(unseen)
        return unseen

    def workspace(self, capture: str | None = None) -> Workspace:
        """Return the capture called so.

        A name is a path within the roots; None or "session" is what was compiled here.
        Raises UserError if it is not a capture or nothing was compiled yet.
        """
        if capture in (None, "", SESSION):
            with self._lock:
                session_workspace = self._own
            if session_workspace is None and self.path.exists():  # --workspace, from an earlier session
                self.reread()
                session_workspace = self._own
            if session_workspace is None:
                raise UserError("nothing was compiled yet: call compile first, or name a capture file")
            return session_workspace
        return self._open(self.roots.file(str(capture)))

    def variant(self, capture: str | None, name: str | int) -> tuple[Workspace, Variant]:
        """Return a variant by number or name, with its capture. Raises UserError if there is none."""
        workspace = self.workspace(capture)
        return workspace, workspace.variant(name)

    def source_file(self, text: str) -> Path:
        """Return a file with this text, which has a folder of its own: equal texts, equal files."""
        if len(text) > _MOST_SOURCE:
            raise UserError(f"source is longer than {_MOST_SOURCE:,} characters; name a file instead")
        match = _NAME.search(text)
        name = f"{match[1] if match else 'kernel'}.py"
        try:
            content = text.encode()
        except UnicodeEncodeError as error:
            raise UserError(f"source is not valid text: {error.reason}") from None
        folder = self.folder / "sources" / sha256(content).hexdigest()[:12]
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / name
        path.write_bytes(content)
        return path

    def captures(self) -> Sequence[tuple[str, Workspace]]:
        """Return the name and the open capture of the session, if anything was compiled."""
        with suppress(UserError):
            return [(SESSION, self.workspace())]
        return []

    def _has_changed(self) -> None:
        self.changes += 1
        self.reread()

    def reread(self) -> None:
        """Load what was added to the session's capture since."""
        with self._lock:
            if self._own is not None:
                self._own.live.reread()
            elif self.path.exists():
                self._own = Workspace(self.path)

    def _open(self, path: Path) -> Workspace:
        status = path.stat()
        state = (status.st_mtime_ns, status.st_size)
        with self._lock:
            opened = self._others.get(path)
            if opened is None or opened.state != state:
                self._others[path] = opened = _Open(Workspace(path), state)
            self._others.move_to_end(path)
            while len(self._others) > _MOST_OPEN:
                self._others.popitem(last=False)
            return opened.workspace
