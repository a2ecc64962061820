"""The plain interface: the asyncio interface, driven by the loop in :mod:`easim._driver`.

Session bytes in real time do not pass through that loop: the caller's thread reads and writes their socket.
"""

from __future__ import annotations

import io
import os
import socket
import threading
from collections.abc import Coroutine, Iterable, Sequence
from types import TracebackType
from typing import Any, Literal, Optional, TypeVar, Union

from . import aio
from ._accessory import unmarked
from ._driven import Context, Driven, InWorld, driven
from ._driver import Driver
from ._link import PATIENCE
from ._session import payload
from .errors import EasimError, SessionEnded, Timeout
from .events import ConnectEvent, Event, Time

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

_T = TypeVar("_T")
_MOST = 1 << 18
"""The maximum size of one read; kept small, because Python allocates this much memory for each read."""


class Server(Context):
    """An easim server, which ends with ``close`` or with this process.

    >>> with Server() as server, server.world() as world:
    ...     lamp = world.add("echo")
    ...     app = world.app()
    ...     lamp.plug()
    ...     with app.open("com.example.echo") as session:
    ...         session.send(b"hello")
    ...         session.recv(5)
    b'hello'
    """

    def __init__(
        self,
        program: Union[str, os.PathLike[str], None] = None,
        *,
        allow_exec: bool = False,
        allow_remote: bool = False,
        remote: Optional[str] = None,
        patience: float = PATIENCE,
    ) -> None:
        """Start the program: the given one, the one that the variable EASIM names, or the one on the PATH.

        ``allow_exec`` lets it run programs from profiles that other users can modify, and ``allow_remote`` lets it
        connect to other machines. ``remote`` is a running server: ``host:port#token`` (``easim serve --remote``) or
        ``unix:PATH`` (``--control PATH``). With ``remote``, no program is started. If the server owes an answer but has
        been silent for ``patience`` seconds, it is asked whether it still responds. After twice that time, it counts as
        dead.
        """
        self.aio = aio.Server(
            program, allow_exec=allow_exec, allow_remote=allow_remote, remote=remote, patience=patience
        )
        self._driver: Optional[Driver] = Driver()
        try:
            self._driver.run(self.aio.open())
        except BaseException:
            self._stop()
            raise

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run a coroutine of :mod:`easim.aio` on the loop of this server."""
        if self._driver is None:
            work.close()
            raise EasimError("the server was closed", kind="gone")
        return self._driver.run(work, self.aio.link)

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return repr(self.aio)

    def catch_up(self) -> None:
        """Process the notices that have already arrived."""
        if self._driver is not None:
            self._driver.catch_up(self.aio.link)

    def rest(self) -> None:
        """Let behaviors run, because the caller is about to wait for one."""
        if self._driver is not None:
            self._driver.rest()

    @property
    def is_running(self) -> bool:
        """Whether the server can be called."""
        return self._driver is not None and not self._driver.is_foreign and self.aio.is_running

    @property
    def pid(self) -> int:
        """The server's process ID."""
        return self.aio.pid

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a control method for which this package has no function (docs/control.md)."""
        return self.run(self.aio.call(method, **params))

    def world(
        self,
        *,
        time: Time = "real",
        seed: Optional[int] = None,
        messages: bool = False,
        **choices: Any,
    ) -> World:
        """Create a world: an Apple device with nothing plugged in. ``choices`` are those of ``world.create``."""
        return World(self, self.run(self.aio.world(time=time, seed=seed, messages=messages, **choices)))

    def close(self) -> None:
        """End the server with all its worlds."""
        if self._driver is not None and not self._driver.is_foreign:
            self._driver.run(self.aio.close())
        self._stop()

    def _stop(self) -> None:
        driver, self._driver = self._driver, None
        if driver is not None:
            driver.close()


class World(Driven[aio.World]):
    """An Apple device, its apps, and the accessories that can be plugged into it.

    >>> with Server() as server, server.world(time="virtual") as world:
    ...     lamp = world.add("echo", quirks=["flicker"])
    ...     app = world.app()
    ...     lamp.plug()
    ...     world.advance(seconds=1000)
    ...     app.events
    ['connect', 'disconnect', 'connect']
    """

    def __init__(self, server: Server, world: aio.World) -> None:
        """Use :meth:`Server.world`."""
        self.server = server
        self.aio = world
        self._marked: Optional[Accessory] = None

    @property
    def accessory(self) -> Accessory:
        """The accessory created by a test's ``easim`` mark."""
        if self._marked is None:
            raise unmarked()
        return self._marked

    @accessory.setter
    def accessory(self, accessory: Accessory) -> None:
        self._marked = accessory

    def _owner(self) -> Server:
        return self.server

    @property
    def is_virtual(self) -> bool:
        """Whether the world's time is virtual."""
        return self.aio.is_virtual

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a control method for this world."""
        return self._run(self.aio.call(method, **params))

    def add(
        self,
        profile: aio.Profile,
        *,
        quirks: Iterable[str] = (),
        faults: Iterable[str] = (),
        behavior: Union[str, dict[str, Any], None] = None,
        on: Optional[str] = None,
        serial: Optional[str] = None,
    ) -> Accessory:
        """Create an accessory from a profile: its name or path, or a dictionary with the keys of a file."""
        made = self.aio.add(profile, quirks=quirks, faults=faults, behavior=behavior, on=on, serial=serial)
        return Accessory(self, self._run(made))

    def add_several(
        self,
        count: int,
        profile: aio.Profile,
        *,
        quirks: Iterable[str] = (),
        faults: Iterable[str] = (),
        behavior: Union[str, dict[str, Any], None] = None,
        on: Optional[str] = None,
    ) -> list[Accessory]:
        """Create several accessories, numbered from 1."""
        made = self.aio.add_several(count, profile, quirks=quirks, faults=faults, behavior=behavior, on=on)
        return [Accessory(self, accessory) for accessory in self._run(made)]

    def add_recording(
        self, path: Union[str, os.PathLike[str]], *, quirks: Iterable[str] = (), on: Optional[str] = None
    ) -> Accessory:
        """Create the accessory of a capture, such as one made with ``--capture``. Its sessions answer as recorded."""
        return Accessory(self, self._run(self.aio.add_recording(path, quirks=quirks, on=on)))

    def app(
        self,
        *,
        protocols: Optional[Iterable[str]] = None,
        name: Optional[str] = None,
        background_modes: Iterable[str] = (),
        registered: bool = True,
        rules: Optional[dict[str, Any]] = None,
    ) -> App:
        """Launch an app that declares these protocols (default: all)."""
        made = self.aio.app(
            protocols=protocols,
            name=name,
            background_modes=background_modes,
            registered=registered,
            rules=rules,
        )
        return App(self, self._run(made))

    def capture(self, *, form: Literal["pcapng", "transcript"] = "pcapng", limit: Optional[int] = None) -> Capture:
        """Record every cable of this world, even later ones, as ``pcapng`` or ``transcript`` (one line per packet)."""
        return Capture(self, self._run(self.aio.capture(form=form, limit=limit)))

    def host(self, address: str) -> Host:
        """Make the device connect to the accessories at an address: ``usb:``, ``bt:``, ``unix:PATH``, …."""
        return Host(self, self._run(self.aio.host(address)))

    def proxy(self, device: str, accessory: str, *, faults: Iterable[str] = ()) -> Proxy:
        """Relay bytes between a device that connects to one address and an accessory at another (``easim proxy``)."""
        return Proxy(self, self._run(self.aio.proxy(device, accessory, faults=faults)))

    advance = driven(aio.World.advance)

    def run_until(
        self, event: Event, *, timeout: Optional[float] = aio.DEFAULT_TIMEOUT, **which: Any
    ) -> dict[str, Any]:
        """Wait for an event (docs/commands.md) and return it. ``which`` are parameters of ``time.runUntil``."""
        return self._run(self.aio.run_until(event, timeout=timeout, **which))

    now = driven(aio.World.now)
    events = driven(aio.World.events)
    changes = driven(aio.World.changes)
    timeline = driven(aio.World.timeline)
    remove = driven(aio.World.remove)
    timeline_of = driven(aio.World.timeline_of)

    def note_failure(self, error: BaseException) -> None:
        """Save the timeline before a failing test cleans up."""
        self._run(self.aio.note_failure(error))

    def raise_behavior_error(self, instead: Optional[BaseException] = None) -> None:
        """Raise the first exception of a behavior that has not been raised yet."""
        self.aio.raise_behavior_error(instead)

    def __enter__(self) -> World:
        """Return itself."""
        return self

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Remove the world."""
        self._run(self.aio.__aexit__(kind, error, trace))


class Accessory(InWorld[aio.Accessory]):
    """A simulated accessory, which is initially unplugged."""

    perform = driven(aio.Accessory.perform)
    plug = driven(aio.Accessory.plug)
    unplug = driven(aio.Accessory.unplug)
    pull = driven(aio.Accessory.pull)
    flicker = driven(aio.Accessory.flicker)
    reset_link = driven(aio.Accessory.reset_link)
    close_sessions = driven(aio.Accessory.close_sessions)
    forget_sessions = driven(aio.Accessory.forget_sessions)
    remove = driven(aio.Accessory.remove)
    counters = driven(aio.Accessory.counters)
    state = driven(aio.Accessory.state)
    add_quirk = driven(aio.Accessory.add_quirk)
    remove_quirk = driven(aio.Accessory.remove_quirk)
    set_behavior = driven(aio.Accessory.set_behavior)

    def fault(self, fault: str) -> list[Fault]:
        """Add a fault to the accessory's cable. A short name for ``add_fault``."""
        return self.add_fault(fault)

    def add_fault(self, fault: str) -> list[Fault]:
        """Add a fault to the accessory's cable, even while it is plugged in. A link preset adds several faults."""
        return [Fault(self.world, made) for made in self._run(self.aio.add_fault(fault))]

    def capture(self, *, form: Literal["pcapng", "transcript"] = "pcapng", limit: Optional[int] = None) -> Capture:
        """Record the accessory's cables from now on, as ``pcapng`` or ``transcript`` (one line per packet)."""
        return Capture(self.world, self._run(self.aio.capture(form=form, limit=limit)))

    faults = driven(aio.Accessory.faults)
    received = driven(aio.Accessory.received)
    take = driven(aio.Accessory.take)
    release = driven(aio.Accessory.release)


class Fault(InWorld[aio.Fault]):
    """A fault on the cable of an accessory."""

    change = driven(aio.Fault.change)
    remove = driven(aio.Fault.remove)


class Capture(InWorld[aio.Capture]):
    """A recording of cables, up to a size limit (16 MiB by default).

    >>> with Server() as server, server.world(time="virtual") as world:
    ...     lamp = world.add("echo")
    ...     packets = lamp.capture(form="transcript")
    ...     lamp.plug()
    ...     world.advance(seconds=1)
    ...     b"StartIdentification" in packets.read()
    True
    """

    read = driven(aio.Capture.read)
    state = driven(aio.Capture.state)
    stop = driven(aio.Capture.stop)
    remove = driven(aio.Capture.remove)


class App(InWorld[aio.App]):
    """An app on the device of a world."""

    def __init__(self, world: World, app: aio.App) -> None:
        """Use :meth:`World.app`."""
        super().__init__(world, app)
        self._sessions: list[Session] = []

    @property
    def notices(self) -> list[dict[str, Any]]:
        """The app's notifications so far, in order."""
        self._owner().catch_up()
        return list(self.aio.notices)

    @property
    def events(self) -> list[ConnectEvent]:
        """The app's connects and disconnects so far, by name."""
        self._owner().catch_up()
        return self.aio.events

    @property
    def sessions(self) -> list[Session]:
        """The app's open sessions."""
        self._sessions = [session for session in self._sessions if session.is_open]
        return list(self._sessions)

    accessories = driven(aio.App.accessories)
    wait_for = driven(aio.App.wait_for)

    def open(
        self, protocol: str, *, accessory: Optional[Accessory] = None, timeout: Optional[float] = aio.DEFAULT_TIMEOUT
    ) -> Session:
        """Open a session as soon as an accessory offers the protocol."""
        wanted = None if accessory is None else accessory.aio
        session = Session(self.world, self._run(self.aio.open(protocol, accessory=wanted, timeout=timeout)))
        self._sessions.append(session)
        return session

    register = driven(aio.App.register)
    unregister = driven(aio.App.unregister)
    background = driven(aio.App.background)
    suspend = driven(aio.App.suspend)
    foreground = driven(aio.App.foreground)
    kill = driven(aio.App.kill)
    crash = driven(aio.App.crash)
    state = driven(aio.App.state)


class Session(InWorld[aio.Session], Context):
    """One end of a session, like a socket.

    In real time, its bytes pass through a separate socket (``fileno``, ``makefile``, ``detach``); in virtual time, they
    are part of requests.
    """

    def __init__(self, world: World, session: aio.Session) -> None:
        """Use :meth:`App.open`."""
        super().__init__(world, session)
        # One thread may send while another is receiving.
        self._lock = threading.Lock()
        self._is_detached = False
        self._socket = session.take_socket()
        if self._socket is not None:
            self._socket.settimeout(session.timeout)
        self._sent = 0
        self._rest = bytearray()

    @property
    def protocol(self) -> str:
        """The session's protocol."""
        return self.aio.protocol

    @property
    def is_open(self) -> bool:
        """Whether the session is open."""
        self._owner().catch_up()
        return self.aio.is_open

    @property
    def reason(self) -> Optional[str]:
        """The reason why the session ended."""
        self._owner().catch_up()
        return self.aio.reason

    @property
    def timeout(self) -> Optional[float]:
        """How many seconds ``send`` and ``recv`` wait. 0 means not at all, and None means forever."""
        return self.aio.timeout

    @timeout.setter
    def timeout(self, seconds: Optional[float]) -> None:
        self.aio.timeout = seconds
        if self._socket is not None:
            self._socket.settimeout(seconds)

    def _connection(self) -> socket.socket:
        if self._is_detached:
            raise EasimError("the session was detached", kind="state", advice="use the socket that detach returned")
        with self._lock:
            if self._socket is None:
                self._socket = self._run(self.aio.detach())
                self._socket.settimeout(self.timeout)
            return self._socket

    def send(self, data: bytes) -> None:
        """Send all bytes, waiting for the other end up to the timeout."""
        view = payload(data)
        if self.world.is_virtual:
            return self._run(self.aio.send(data))
        if not self.aio.is_open:
            raise self._ended()
        connection = self._connection()
        try:
            connection.sendall(view)
            self._sent += len(view)
            self.world.aio.note_bytes(self.id, "→", view)
        except (socket.timeout, BlockingIOError):
            raise self._timed_out("the other end accepted nothing") from None
        except ConnectionError:
            raise self._ended() from None
        return None

    def recv(self, count: Optional[int] = None) -> bytes:
        """Wait for exactly ``count`` bytes or, without a count, for the first bytes that arrive.

        If the session ends first, having fewer than ``count`` bytes is an error. Without a count, the result is empty.
        """
        if self.world.is_virtual:
            return self._run(self.aio.recv(count))
        rest = self._rest
        if count is None:
            data = bytes(rest) or self._more(_MOST)
            rest.clear()
            if not data:
                self._ended()
            return data
        pieces = [bytes(rest[:count])] if rest else []
        del rest[:count]
        got = len(pieces[0]) if pieces else 0
        try:
            while got < count:
                pieces.append(self._more(min(count - got, _MOST), pieces, f"of {count} bytes"))
                got += len(pieces[-1])
                if not pieces[-1]:
                    raise self._ended(got)
        except BaseException:
            # Bytes that have already arrived can still be read later.
            rest += b"".join(pieces)
            raise
        return b"".join(pieces)

    def recv_until(self, end: bytes, *, limit: int = 1 << 20) -> bytes:
        """Wait for bytes up to and including ``end``."""
        if self.world.is_virtual:
            return self._run(self.aio.recv_until(end, limit=limit))
        looked = 0
        while (place := self._rest.find(end, max(0, looked - len(end) + 1))) < 0:
            looked = len(self._rest)
            if looked > limit:
                raise EasimError(f"{looked} bytes came without {end!r}", kind="limit", advice="choose a greater limit")
            data = self._more(1 << 16, [self._rest], f"bytes without {end!r}")
            if not data:
                raise self._ended(looked)
            self._rest += data
        return self.recv(place + len(end))

    def _more(self, count: int, got: Sequence[Union[bytes, bytearray]] = (), goal: str = "") -> bytes:
        if self._socket is None and not self.aio.is_open and not self._is_detached:
            return self._run(self.aio.read_rest())
        try:
            connection = self._connection()
        except SessionEnded:
            # The session ended before its socket could be opened.
            return self._run(self.aio.read_rest())
        if self.world.aio.has_behaviors:
            self._owner().rest()
        try:
            data = connection.recv(count)
            self.world.aio.note_bytes(self.id, "←", data)
            return data
        except (socket.timeout, BlockingIOError):
            raise self._timed_out("nothing arrived", b"".join(got), goal) from None
        except ConnectionError:
            return b""

    def _timed_out(self, what: str, got: bytes = b"", goal: str = "") -> Timeout:
        error = self.aio.timed_out(what, got, goal)
        self.world.raise_behavior_error(error)
        return error

    def _ended(self, got: int = 0) -> SessionEnded:
        """Return the error for an ended session, or raise the error of the behavior that ended it."""
        if self.aio.is_open:
            try:
                self._run(self.aio.learn_end())
            except EasimError as error:
                self.aio.is_open, self.aio.reason = False, error.message
        ended = self.aio.ended(got)
        self.world.raise_behavior_error(ended)
        return ended

    def fileno(self) -> int:
        """Return the descriptor of the session's socket, for ``select`` and similar functions."""
        return self._connection().fileno()

    def makefile(self, mode: str = "rwb", buffering: int = -1) -> Any:
        """Make a file object, like a socket's ``makefile``. Do not combine it with ``recv``."""
        if self._rest:
            raise EasimError("bytes were already read from the session", kind="state", advice="call makefile first")
        files: Any = self._connection().makefile
        made: io.IOBase = files(mode, buffering)
        return made

    def detach(self) -> socket.socket:
        """Hand the session over to a socket: closing the socket closes the session."""
        if self._rest:
            raise EasimError("bytes were already read from the session", kind="state", advice="call detach first")
        connection = self._connection()
        self._socket = None
        self._is_detached = True
        connection.settimeout(None)
        return connection

    def close(self, reason: Optional[str] = None) -> None:
        """Close the session from this end. Bytes that were already sent still arrive."""
        self._run(self.aio.close(reason, sent=self._sent))
        if self._socket is not None:
            self._socket.close()
            self._socket = None

    state = driven(aio.Session.state)

    def __exit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Close the session."""
        if error is not None:
            self.world.note_failure(error)
        self.close()


class Host(InWorld[aio.Host]):
    """An address to which a world's device connects."""

    @property
    def address(self) -> str:
        """The address."""
        return self.aio.address

    state = driven(aio.Host.state)
    remove = driven(aio.Host.remove)


class Proxy(InWorld[aio.Proxy]):
    """A proxy between a device and an accessory that the server does not simulate."""

    @property
    def device(self) -> str:
        """The address to which the device connects."""
        return self.aio.device

    @property
    def accessory(self) -> str:
        """The address of the accessory."""
        return self.aio.accessory

    state = driven(aio.Proxy.state)
    set_faults = driven(aio.Proxy.set_faults)
    remove = driven(aio.Proxy.remove)
