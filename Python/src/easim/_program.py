"""The program easim: finding it, checking whether it is usable, and running a server."""

from __future__ import annotations

import asyncio
import os
import secrets
import shutil
import socket
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import IO, Optional, Union

from .errors import EasimError, ProgramError

PROTOCOL = 1
"""The version of the control protocol that this package speaks."""

INSTALL = "install easim (Scripts/install in its repository), or set EASIM to the path of the program"


def find(program: Union[str, os.PathLike[str], None] = None) -> Path:
    """Find the program: as given, in the variable EASIM, next to this package or Python, or on the PATH."""
    given = os.fspath(program) if program is not None else os.environ.get("EASIM") or None
    if given is not None:
        name = "the program" if program is not None else "EASIM"
        found = shutil.which(given)
        if found is None:
            what = "is not executable" if Path(given).is_file() else "does not exist"
            raise ProgramError(f"{name} is {given}, which {what}", kind="program", advice=INSTALL)
        return Path(found)
    # If a wheel bundles the program, the program is next to this file. The `easim` command next to Python starts the
    # bundled program.
    for folder in (Path(__file__).resolve().parent, Path(sys.executable).parent):
        candidate = folder / "easim"
        if candidate.is_file() and os.access(candidate, os.X_OK):
            return candidate
    found = shutil.which("easim")
    if found is None:
        raise ProgramError("the program easim is not on the PATH", kind="program", advice=INSTALL)
    return Path(found)


def main() -> None:
    """Run the program next to this file; this is the command `easim` in wheels that bundle it."""
    program = Path(__file__).resolve().parent / "easim"
    os.execv(program, ["easim", *sys.argv[1:]])


class ServerProcess:
    """A separate server, which always ends with this process: its standard input is one of this process's sockets."""

    def __init__(self, program: Union[str, os.PathLike[str], None] = None, arguments: tuple[str, ...] = ()) -> None:
        """Start the server."""
        self.path = find(program)
        # This socket carries the bytes of sessions. When the server exits, it removes the socket, no matter how this
        # process ends.
        folder = tempfile.gettempdir()
        name = f"easim-{secrets.token_hex(8)}.sock"
        self.control = str(Path(folder if len(folder) < 60 else "/tmp") / name)
        self._is_easim = False
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115
        ours, theirs = socket.socketpair()
        try:
            self._process = subprocess.Popen(
                [str(self.path), "serve", "--stdio", "--control", self.control, *arguments],
                stdin=theirs.fileno(),
                stdout=theirs.fileno(),
                stderr=self._errors,
                # Ctrl-C should reach only the tests. The server exits when its input ends.
                start_new_session=True,
            )
        except OSError as error:
            ours.close()
            self._errors.close()
            reason = error.strerror or str(error)
            raise ProgramError(f"{self.path} cannot be started: {reason}", kind="program", advice=INSTALL) from error
        finally:
            theirs.close()
        self.socket = ours

    @property
    def pid(self) -> int:
        """The process ID."""
        return self._process.pid

    @property
    def name(self) -> str:
        """The server's name in errors."""
        return f"{self.path} (process {self.pid})"

    def connect(self) -> socket.socket:
        """Open a connection to the server."""
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.connect(self.control)
        return made

    async def connect_soon(self) -> socket.socket:
        """Connect without waiting, because the server is on the same machine."""
        return self.connect()

    def explanation(self) -> ProgramError:
        """Explain why the server has ended."""
        try:
            code: Optional[int] = self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            code = None
        self._errors.seek(0)
        said = self._errors.read()[-2000:].decode("utf-8", "replace").strip()
        if "unknown command 'serve'" in said:
            return ProgramError(
                f"{self.path} ({version(self.path)}) is too old: it has no command 'serve'",
                kind="program",
                advice=f"this package needs a program with control protocol {PROTOCOL}; {INSTALL}",
            )
        how = "closed its output" if code is None else f"ended with exit code {code}"
        is_other = not self._is_easim and not version(self.path).startswith("easim ")
        return ProgramError(
            f"{self.path} {how}" + (f", and printed: {said}" if said else ""),
            kind="program",
            advice=f"is it easim? {INSTALL}" if is_other else None,
        )

    def check(self, info: dict[str, object]) -> None:
        """Refuse a server with a different protocol version."""
        spoken = info.get("protocol")
        self._is_easim = True
        if spoken == PROTOCOL:
            return
        newer = isinstance(spoken, int) and spoken > PROTOCOL
        raise ProgramError(
            f"{self.path} (easim {info.get('version')}) speaks control protocol {spoken}, and this package {PROTOCOL}",
            kind="program",
            advice="pip install --upgrade easim" if newer else INSTALL,
        )

    def close(self) -> None:
        """End the server and wait until it has unplugged everything."""
        try:
            self.socket.shutdown(socket.SHUT_WR)
        except OSError:
            pass
        try:
            self._process.wait(timeout=5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self.socket.close()
        self._errors.close()


class RemoteServer:
    """A running server: the line that ``easim serve --remote`` prints, or ``unix:PATH`` for ``--control``."""

    def __init__(self, remote: str) -> None:
        """Connect to ``host:port#token`` or ``unix:PATH``."""
        place, _, token = remote.removeprefix("EASIM_REMOTE=").partition("#")
        host, _, port = place.rpartition(":")
        self._place: Union[str, tuple[str, int]]
        if remote.startswith("unix:"):
            place, self._place, token = remote, remote.removeprefix("unix:"), ""
        elif host and port.isdecimal() and token:
            self._place = (host.strip("[]"), int(port))
        else:
            raise ProgramError(f"{remote!r} is neither host:port#token nor unix:PATH", kind="program")
        self.name = f"the server at {place}"
        self._hint = "; is the token right?" if token else ""
        self.socket = self.connect()
        if token:
            self.socket.sendall(f"control {token}\n".encode())

    def connect(self) -> socket.socket:
        """Open a connection to the server."""
        try:
            if isinstance(self._place, str):
                made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                made.connect(self._place)
                return made
            made = socket.create_connection(self._place, timeout=10)
        except OSError as error:
            raise ProgramError(f"{self.name} does not answer: {error}", kind="program") from error
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.settimeout(None)
        return made

    async def connect_soon(self) -> socket.socket:
        """Connect on another thread, because connecting to another machine takes time."""
        return await asyncio.get_running_loop().run_in_executor(None, self.connect)

    @property
    def pid(self) -> int:
        """Not available: the server is not a child of this process."""
        raise EasimError(f"{self.name} is not a process of this one", kind="state")

    def explanation(self) -> ProgramError:
        """Explain why the server has ended."""
        return ProgramError(f"{self.name} closed the connection{self._hint}", kind="program")

    def check(self, info: dict[str, object]) -> None:
        """Refuse a server with a different protocol version."""
        if info.get("protocol") != PROTOCOL:
            spoken = f"{self.name} speaks control protocol {info.get('protocol')}"
            raise ProgramError(f"{spoken}, and this package {PROTOCOL}", kind="program")

    def close(self) -> None:
        """Disconnect from the server. Apps launched over this connection end; worlds and accessories remain."""
        self.socket.close()


def version(path: Path) -> str:
    """Ask a program for its version."""
    try:
        done = subprocess.run([str(path), "--version"], capture_output=True, text=True, timeout=10, check=False)
    except (OSError, subprocess.SubprocessError):
        return "version unknown"
    return done.stdout.strip() or "version unknown"
