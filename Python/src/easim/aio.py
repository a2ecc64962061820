"""The interface for asyncio, and the logic of both interfaces.

>>> import asyncio
>>> async def main():
...     async with Server() as server, await server.world(time="virtual") as world:
...         glasses = await world.add("lawk-view", quirks=["flicker"])
...         app = await world.app(protocols=["com.lawaken.iap2"])
...         await glasses.plug()
...         session = await app.open("com.lawaken.iap2")
...         await session.send(b"hello")
...         print(await session.recv(5), app.events)
>>> asyncio.run(main())
b'hello' ['connect', 'disconnect', 'connect']
"""

from __future__ import annotations

import asyncio
import base64
import collections
import os
import pathlib
import socket
from collections.abc import Iterable
from types import TracebackType
from typing import Any, Callable, Optional, TypeVar, Union

from . import _timeline
from ._behaviors import Behavior, Busy, play
from ._program import RemoteServer, ServerProcess
from ._wire import Answer, Notice, Wire, seconds
from .errors import EasimError, SessionEnded, Timeout

DEFAULT_TIMEOUT = 10.0
"""How long calls without a timeout wait, in seconds of the world's clock."""

CONNECTS = ("connect", "disconnect")
_MOST_NOTICES = 10_000

_T = TypeVar("_T")
_Self = TypeVar("_Self")
Profile = Union[str, dict[str, Any]]


class _Link:
    """The connection to a server, on one event loop."""

    def __init__(self, process: Union[ServerProcess, RemoteServer]) -> None:
        self.process = process
        self.wire = Wire()
        self.waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self.listeners: dict[tuple[str, str], Callable[[dict[str, Any]], None]] = {}
        # Notices may come before the answer that names what they are about.
        self.early: collections.deque[tuple[tuple[str, str], dict[str, Any]]] = collections.deque(maxlen=1_000)
        self.failure: Optional[EasimError] = None
        self.reader: Optional[asyncio.StreamReader] = None
        self.writer: Optional[asyncio.StreamWriter] = None
        self.task: Optional[asyncio.Task[None]] = None

    async def start(self) -> None:
        # A socket of its own, because asyncio closes it.
        self.reader, self.writer = await asyncio.open_connection(sock=self.process.socket.dup())
        self.task = asyncio.get_running_loop().create_task(self._read())

    async def _read(self) -> None:
        assert self.reader is not None
        failure: Optional[EasimError] = None
        try:
            while data := await self.reader.read(1 << 18):
                for message in self.wire.receive(data):
                    self._take(message)
        except EasimError as error:
            failure = error
        except OSError:
            pass
        if failure is None:
            failure = await asyncio.get_running_loop().run_in_executor(None, self.process.explanation)
        self._fail(failure)

    def _fail(self, failure: EasimError) -> None:
        self.failure = self.failure or failure
        for future in self.waiting.values():
            if not future.done():
                future.set_exception(failure)
        self.waiting.clear()

    def _take(self, message: Union[Answer, Notice]) -> None:
        if isinstance(message, Answer):
            future = self.waiting.pop(message.number, None)
            if future is None or future.done():
                return
            if message.error is not None:
                future.set_exception(message.error)
            else:
                future.set_result(message.result or {})
            return
        params = message.params
        kinds = {"app": ("app",), "session": ("session", "accessory")}.get(message.method, ())
        keys = [(kind, str(params[kind])) for kind in kinds if kind in params]
        for key in keys:
            listener = self.listeners.get(key)
            if listener is not None:
                listener(params)
                return
        if keys:
            self.early.append((keys[0], params))

    def listen(self, kind: str, name: str, listener: Callable[[dict[str, Any]], None]) -> None:
        """Pass the notices about an object to ``listener``, starting with those already received."""
        key = (kind, name)
        self.listeners[key] = listener
        early = [params for other, params in self.early if other == key]
        if early:
            rest = [entry for entry in self.early if entry[0] != key]
            self.early.clear()
            self.early.extend(rest)
            for params in early:
                listener(params)

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method; parameters that are None are omitted."""
        if self.failure is not None:
            raise self.failure
        assert self.writer is not None
        number, line = self.wire.request(method, {key: value for key, value in params.items() if value is not None})
        future: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self.waiting[number] = future
        self.writer.write(line)
        return await future

    async def close(self) -> None:
        self._fail(EasimError("the server was closed", kind="gone"))
        if self.task is not None:
            self.task.cancel()
            await asyncio.gather(self.task, return_exceptions=True)
        if self.writer is not None:
            self.writer.close()
        await asyncio.get_running_loop().run_in_executor(None, self.process.close)


class Server:
    """An easim server, which ends with ``close`` or with this process."""

    def __init__(
        self,
        program: Union[str, os.PathLike[str], None] = None,
        *,
        allow_exec: bool = False,
        allow_remote: bool = False,
        remote: Optional[str] = None,
    ) -> None:
        """Choose the program; it is started by ``open``, or by ``async with``.

        ``allow_exec`` lets it run programs of profiles that other users can modify, and ``allow_remote`` connect
        with other machines. ``remote`` is ``host:port#token`` of a server that runs already (``easim serve --remote``);
        then no program is started.
        """
        self._remote = remote
        self._program = program
        options = (("--allow-exec", allow_exec), ("--allow-remote", allow_remote))
        self._arguments = tuple(name for name, wanted in options if wanted)
        self._link: Optional[_Link] = None

    @property
    def link(self) -> _Link:
        """The connection."""
        if self._link is None:
            raise EasimError("the server is not open", kind="state", advice="use it in a with statement, or call open")
        return self._link

    @property
    def is_running(self) -> bool:
        """Whether the server can be called."""
        return self._link is not None and self._link.failure is None

    @property
    def pid(self) -> int:
        """The number of the server's process."""
        return self.link.process.pid

    async def open(self) -> Server:
        """Start the program."""
        if self._link is None:
            link = _Link(RemoteServer(self._remote) if self._remote else ServerProcess(self._program, self._arguments))
            await link.start()
            try:
                link.process.check(await link.call("server.info"))
            except BaseException:
                await link.close()
                raise
            self._link = link
        return self

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a control method for which this package has no function (docs/control.md)."""
        return await self.link.call(method, **params)

    async def world(
        self,
        *,
        time: str = "real",
        seed: Optional[int] = None,
        messages: bool = False,
        **choices: Any,
    ) -> World:
        """Create a world: an Apple device with nothing plugged in. ``choices`` are those of ``world.create``."""
        made = await self.call("world.create", time=time, seed=seed, messages=messages, **choices)
        return World(self, made["world"], is_virtual=time == "virtual")

    async def close(self) -> None:
        """End the server, and everything in it."""
        link, self._link = self._link, None
        if link is not None:
            await link.close()

    async def __aenter__(self) -> Server:
        """Start the program."""
        return await self.open()

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """End the server."""
        await self.close()


class World:
    """An Apple device, its apps, and the accessories that can be plugged into it."""

    def __init__(self, server: Server, name: str, *, is_virtual: bool) -> None:
        """Use :meth:`Server.world`."""
        self.server = server
        self.id = name
        self.is_virtual = is_virtual
        self.busy = Busy()
        self.behavior_errors: list[BaseException] = []

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method for this world."""
        return await self.server.call(method, world=self.id, **params)

    async def add(
        self,
        profile: Profile,
        *,
        quirks: Iterable[str] = (),
        faults: Iterable[str] = (),
        behavior: Union[str, dict[str, Any], None] = None,
        on: Optional[str] = None,
        serial: Optional[str] = None,
    ) -> Accessory:
        """Create an accessory from a profile: its name or path, or a dictionary with the keys of a file."""
        names = await self._add(profile, quirks, faults, behavior, on, serial, None)
        return names[0]

    async def add_several(
        self,
        count: int,
        profile: Profile,
        *,
        quirks: Iterable[str] = (),
        faults: Iterable[str] = (),
        behavior: Union[str, dict[str, Any], None] = None,
        on: Optional[str] = None,
    ) -> list[Accessory]:
        """Create several accessories, numbered from 1."""
        return await self._add(profile, quirks, faults, behavior, on, None, count)

    async def add_recording(
        self, path: Union[str, os.PathLike[str]], *, quirks: Iterable[str] = (), on: Optional[str] = None
    ) -> Accessory:
        """Create the accessory of a capture, such as one from ``--capture``; its sessions answer as recorded."""
        made = await self.call("accessory.add", recording=str(pathlib.Path(path).resolve()), quirks=list(quirks), on=on)
        return Accessory(self, made["accessories"][0])

    async def _add(
        self,
        profile: Profile,
        quirks: Iterable[str],
        faults: Iterable[str],
        behavior: Union[str, dict[str, Any], None],
        on: Optional[str],
        serial: Optional[str],
        count: Optional[int],
    ) -> list[Accessory]:
        made = await self.call(
            "accessory.add",
            profile=profile,
            quirks=list(quirks),
            faults=list(faults),
            behavior=behavior,
            on=on,
            serial=serial,
            count=count,
        )
        return [Accessory(self, name) for name in made["accessories"]]

    async def app(
        self,
        *,
        protocols: Optional[Iterable[str]] = None,
        name: Optional[str] = None,
        background_modes: Iterable[str] = (),
        registered: bool = True,
        rules: Optional[dict[str, Any]] = None,
    ) -> App:
        """Launch an app that declares these protocols (default: all)."""
        declared = None if protocols is None else list(protocols)
        app = App(self)
        # Its notices may come together with the answer.
        made = await self.call(
            "app.launch",
            protocols=declared,
            name=name,
            backgroundModes=list(background_modes),
            registered=registered,
            rules=rules,
        )
        app._begin(made["app"])
        return app

    async def capture(self, *, form: str = "pcapng", limit: Optional[int] = None) -> Capture:
        """Record every cable of this world, also later ones: ``pcapng``, or ``transcript``, one line per packet."""
        made = await self.call("capture.start", form=form, limit=limit)
        return Capture(self, made["capture"])

    async def host(self, address: str) -> Host:
        """Make the device connect to the accessories at an address: ``usb:``, ``bt:``, ``unix:PATH``, …."""
        made = await self.call("host.add", address=address)
        return Host(self, made["host"], address)

    # Time

    async def advance(self, seconds: float) -> None:
        """Let virtual time pass. Behaviors act at the moment their bytes arrive."""
        await self._wait(seconds, lambda left: self.call("time.advance", by=left))

    async def run_until(self, event: str, *, timeout: float = DEFAULT_TIMEOUT, **which: Any) -> dict[str, Any]:
        """Wait for an event (docs/commands.md), and return it; ``which`` are parameters of ``time.runUntil``."""
        notice = await self._run_until(event, timeout, **which)
        if notice is None:
            raise Timeout(f"no event '{event}' within {timeout:g} s", kind="timeout")
        return notice

    async def _run_until(self, event: str, timeout: float, **which: Any) -> Optional[dict[str, Any]]:
        def wait(left: str) -> Any:
            return self.call("time.runUntil", event=event, limit=left, **which)

        reply = await self._wait(timeout, wait)
        return reply["notice"]["params"] if reply["reached"] else None

    async def _wait(self, time: float, call: Callable[[str], Any]) -> dict[str, Any]:
        """Wait on the world's clock. If a behavior has to act first, the wait is interrupted and then continues."""
        end: Optional[float] = None
        left = time
        while True:
            began = await self.now() if self.is_virtual and end is None else None
            if began is not None:
                end = began + time
            reply: dict[str, Any] = await call(seconds(max(0.0, left)))
            if self.is_virtual:
                await self.settle()
            self.raise_behavior_error()
            if reply["stopped"] != "attention":
                return reply
            if end is None:
                end = reply["t"] + left
            left = end - reply["t"]

    async def settle(self) -> None:
        """Wait until every behavior waits for bytes."""
        await self.busy.wait()

    def raise_behavior_error(self) -> None:
        """Raise the first error of a behavior that has not been raised yet."""
        if self.behavior_errors:
            raise self.behavior_errors.pop(0)

    async def now(self) -> float:
        """Seconds on the world's clock."""
        worlds = (await self.server.call("world.list"))["worlds"]
        for world in worlds:
            if world["world"] == self.id:
                return float(world["t"])
        raise EasimError(f"the world '{self.id}' is gone", kind="gone")

    # Events

    async def events(self) -> list[dict[str, Any]]:
        """Return what has happened so far, as ``--json`` prints it: at most the last 4,096 notices."""
        return [n["params"]["event"] for n in await self._notices() if n["method"] == "event"]

    async def changes(self) -> list[dict[str, Any]]:
        """Return the requests that changed something, each with ``request``, ``params`` and ``result``."""
        return [n["params"] for n in await self._notices() if n["method"] == "change"]

    async def _notices(self) -> list[dict[str, Any]]:
        return list((await self.call("events.list", limit=_MOST_NOTICES))["notices"])

    async def timeline(self, last: int = 200) -> str:
        """Return the last events as readable text."""
        return _timeline.text(await self._notices(), last)

    async def remove(self) -> None:
        """Remove the world: its apps end, and its accessories are unplugged."""
        try:
            await self.server.call("world.remove", world=self.id)
        except EasimError as error:
            if error.kind not in ("gone", "unknown"):
                raise

    async def __aenter__(self) -> World:
        """Do nothing."""
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Remove the world."""
        await self.remove()
        if error is None:
            self.raise_behavior_error()


class Accessory:
    """A simulated accessory, not plugged in at first."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`World.add`."""
        self.world = world
        self.id = name
        self._tasks: set[asyncio.Task[None]] = set()

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.world.server.call(f"accessory.{method}", accessory=self.id, **params)
        self.world.raise_behavior_error()
        return answer

    async def plug(self) -> None:
        """Plug it in."""
        await self._call("plug")

    async def unplug(self) -> None:
        """Unplug it; bytes in flight are still delivered."""
        await self._call("unplug")

    async def pull(self, *, unnoticed: bool = False) -> None:
        """Pull the cable; bytes in flight are lost."""
        await self._call("pull", unnoticed=unnoticed)

    async def flicker(self) -> None:
        """Unplug it, and plug it in again with a flicker."""
        await self._call("flicker")

    async def reset_link(self) -> None:
        """Make the device reset the link: it connects again without being unplugged."""
        await self._call("resetLink")

    async def close_sessions(self) -> None:
        """Make it close its sessions and stay connected."""
        await self._call("closeSessions")

    async def forget_sessions(self) -> None:
        """Make it forget its sessions: they stay open in the app, and get no answers."""
        await self._call("forgetSessions")

    async def remove(self) -> None:
        """Unplug and remove it."""
        await self._call("remove")

    async def state(self) -> dict[str, Any]:
        """Return its state, as ``accessory.list`` shows it."""
        for state in (await self.world.call("accessory.list"))["accessories"]:
            if state["accessory"] == self.id:
                return dict(state)
        raise EasimError(f"the accessory '{self.id}' is gone", kind="gone")

    async def add_quirk(self, quirk: str) -> bool:
        """Give it a quirk. Returns whether the change applies now, or the next time it is plugged in."""
        return bool((await self._call("quirk", add=[quirk]))["now"])

    async def remove_quirk(self, name: str) -> bool:
        """Remove a quirk. Returns whether the change applies now, or the next time it is plugged in."""
        return bool((await self._call("quirk", remove=[name]))["now"])

    async def set_behavior(self, behavior: Union[str, dict[str, Any], None], *, protocol: Optional[str] = None) -> None:
        """Use easim's behavior for later sessions: ``"echo"``, ``"source,rate=500"``, …; None: the profile's."""
        await self._call("behavior", behavior=behavior, protocol=protocol)

    async def add_fault(self, fault: str) -> list[Fault]:
        """Add a fault to its cable, even while it is plugged in. A link preset adds several."""
        made = await self.world.server.call("fault.add", accessory=self.id, fault=fault)
        return [Fault(self.world, name) for name in made["faults"]]

    async def faults(self) -> list[dict[str, Any]]:
        """List the faults on its cable and their effects so far."""
        return list((await self.world.server.call("fault.list", accessory=self.id))["faults"])

    async def capture(self, *, form: str = "pcapng", limit: Optional[int] = None) -> Capture:
        """Record its cables from now on: ``pcapng``, or ``transcript``, one line per packet."""
        made = await self.world.server.call("capture.start", accessory=self.id, form=form, limit=limit)
        return Capture(self.world, made["capture"])

    async def take(self, behavior: Behavior, *, protocols: Optional[Iterable[str]] = None) -> None:
        """Answer sessions opened from now on in Python; see :mod:`easim` for the forms of a behavior."""
        link = self.world.server.link

        def on_event(news: dict[str, Any]) -> None:
            if news.get("event") == "opened":
                self._start(behavior, news)

        link.listen("accessory", self.id, on_event)
        await self._call("take", protocols=None if protocols is None else list(protocols))

    async def release(self) -> None:
        """Undo ``take``; taken sessions are closed."""
        await self._call("release")
        self.world.server.link.listeners.pop(("accessory", self.id), None)

    def _start(self, behavior: Behavior, news: dict[str, Any]) -> None:
        session = Session(self.world, news["session"], news["protocol"], busy=self.world.busy)
        # Counted from now on, so that no wait goes on before it has begun.
        self.world.busy.begin()
        task = asyncio.get_running_loop().create_task(self._play(behavior, session))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _play(self, behavior: Behavior, session: Session) -> None:
        try:
            await play(behavior, session)
            await session.close()
        except SessionEnded:
            pass
        except Exception as error:
            self.world.behavior_errors.append(error)
            try:
                await session.close(f"its behavior failed: {error!r}")
            except EasimError:
                pass
        finally:
            session.forget()
            self.world.busy.end()


class Fault:
    """A fault on the cable of an accessory."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`Accessory.add_fault`."""
        self.world = world
        self.id = name

    async def change(self, to: str) -> None:
        """Replace it with another fault."""
        await self.world.server.call("fault.change", fault=self.id, to=to)

    async def remove(self) -> None:
        """Remove it."""
        await self.world.server.call("fault.remove", fault=self.id)


class Capture:
    """A recording of cables, up to its limit (default 16 MiB)."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`World.capture` or :meth:`Accessory.capture`."""
        self.world = world
        self.id = name

    async def read(self) -> bytes:
        """Return everything recorded so far."""
        data = bytearray()
        while True:
            piece = await self.world.server.call("capture.read", **{"capture": self.id, "from": len(data)})
            bytes_ = base64.b64decode(piece["data"])
            if not bytes_:
                return bytes(data)
            data += bytes_

    async def state(self) -> dict[str, Any]:
        """Return its state, as ``capture.list`` shows it."""
        for state in (await self.world.server.call("capture.list"))["captures"]:
            if state["capture"] == self.id:
                return dict(state)
        raise EasimError(f"the capture '{self.id}' is gone", kind="gone")

    async def stop(self) -> None:
        """End the recording. It can still be read."""
        await self.world.server.call("capture.stop", capture=self.id)

    async def remove(self) -> None:
        """End the recording and delete it."""
        await self.world.server.call("capture.remove", capture=self.id)


class App:
    """An app on the device of a world."""

    def __init__(self, world: World) -> None:
        """Use :meth:`World.app`."""
        self.world = world
        self.id = ""
        self.notices: list[dict[str, Any]] = []
        """Its notifications so far, in order."""
        self._sessions: list[Session] = []
        self._waited = 0

    def _begin(self, name: str) -> None:
        self.id = name
        self.world.server.link.listen("app", name, self.notices.append)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.world.server.call(f"app.{method}", app=self.id, **params)
        self.world.raise_behavior_error()
        return answer

    @property
    def events(self) -> list[str]:
        """Its connects and disconnects so far, by name."""
        return [notice["event"] for notice in self.notices if notice["event"] in CONNECTS]

    @property
    def sessions(self) -> list[Session]:
        """Its open sessions."""
        self._sessions = [session for session in self._sessions if session.is_open]
        return list(self._sessions)

    async def accessories(self) -> list[dict[str, Any]]:
        """List the accessories that it sees: its ``connectedAccessories``."""
        return list((await self._call("accessories"))["accessories"])

    async def wait_for(self, event: str, *, timeout: float = DEFAULT_TIMEOUT) -> dict[str, Any]:
        """Wait for the next ``connect``, ``disconnect`` or other notice after the previously awaited one."""
        notice = await self.world._run_until(event, timeout, app=self.id, after=self._waited)
        if notice is None:
            so_far = ", ".join(self.events) or "nothing"
            raise Timeout(f"no '{event}' within {timeout:g} s; the app's events so far: {so_far}", kind="timeout")
        self._waited = notice["number"]
        return notice

    async def open(
        self,
        protocol: str,
        *,
        accessory: Optional[Accessory] = None,
        timeout: float = DEFAULT_TIMEOUT,
    ) -> Session:
        """Open a session as soon as an accessory offers the protocol."""
        end = await self.world.now() + timeout
        while True:
            # What comes between a refusal and the wait counts.
            seen = self.notices[-1]["number"] if self.notices else 0
            try:
                state = await self._call(
                    "open", protocol=protocol, accessory=accessory.id if accessory is not None else None
                )
                break
            except EasimError as error:
                left = end - await self.world.now()
                if error.kind != "refused" or left <= 0:
                    raise
                if await self.world._run_until("connect", left, app=self.id, after=seen) is None:
                    raise
        session = Session(self.world, state["session"], protocol)
        self._sessions.append(session)
        if self.world.is_virtual:
            await self.world.settle()
        return session

    async def register(self) -> None:
        """Register for notifications once more."""
        await self._call("register")

    async def unregister(self) -> None:
        """Undo one registration."""
        await self._call("unregister")

    async def background(self) -> None:
        """Put it into the background, where it still runs."""
        await self._call("background")

    async def suspend(self) -> None:
        """Suspend it."""
        await self._call("suspend")

    async def foreground(self) -> None:
        """Bring it to the foreground."""
        await self._call("foreground")

    async def kill(self, *, leave_sessions: bool = False) -> None:
        """Kill it, as the system or the user does.

        The device closes its sessions, or leaves them open, as Apple devices were seen to do.
        """
        await self._call("kill", sessions="left" if leave_sessions else None)

    async def crash(self, *, leave_sessions: bool = False) -> None:
        """End it as if it had crashed."""
        await self._call("crash", sessions="left" if leave_sessions else None)

    async def state(self) -> dict[str, Any]:
        """Return its state, as ``app.list`` shows it."""
        for state in (await self.world.call("app.list"))["apps"]:
            if state["app"] == self.id:
                return dict(state)
        raise EasimError(f"the app '{self.id}' is gone", kind="gone")


class Session:
    """One end of a session: an app's, or that of an accessory whose sessions were taken.

    In virtual time its bytes travel in requests. In real time they travel over a socket of their own, which is opened
    with the first byte.
    """

    def __init__(self, world: World, name: str, protocol: str, busy: Optional[Busy] = None) -> None:
        """Use :meth:`App.open`, or :meth:`Accessory.take`."""
        self.world = world
        self.id = name
        self.protocol = protocol
        self.is_open = True
        self.reason: Optional[str] = None
        self.timeout: Optional[float] = DEFAULT_TIMEOUT
        self._busy = busy
        self._news = asyncio.Event()
        self._rest = bytearray()
        self._port: Optional[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None
        self._sent = 0
        world.server.link.listen("session", name, self._handle)

    def _handle(self, news: dict[str, Any]) -> None:
        if news["event"] == "ended":
            self.is_open = False
            self.reason = news.get("reason")
            self.forget()
        if self._busy is not None and not self._news.is_set():
            # The behavior that waits is busy from now on, and not only when its turn comes.
            self._busy.wake(self)
        self._news.set()

    def forget(self) -> None:
        """Drop its notifications from now on."""
        self.world.server.link.listeners.pop(("session", self.id), None)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.world.server.call(f"session.{method}", session=self.id, **params)

    def ended(self, got: int = 0) -> SessionEnded:
        """Make the error for an ended session."""
        why = self.reason or "it was closed"
        after = f" after {got} bytes" if got else ""
        return SessionEnded(f"the session ended{after}: {why}", kind="gone")

    async def detach(self) -> socket.socket:
        """Hand the session over to a socket until it is closed."""
        if self.world.is_virtual:
            raise EasimError("a world in virtual time has no sockets", kind="time", advice="use send and recv")
        if self._port is not None:
            raise EasimError("the session was read or written already", kind="state", advice="detach it first")
        return await self._connect()

    async def _connect(self) -> socket.socket:
        line = str((await self._call("port"))["firstLine"])
        made = await asyncio.get_running_loop().run_in_executor(None, self.world.server.link.process.connect)
        made.sendall(line.encode() + b"\n")
        return made

    async def _streams(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._port is None:
            self._port = await asyncio.open_connection(sock=await self._connect())
        return self._port

    async def send(self, data: bytes) -> None:
        """Send all bytes, waiting for the other end up to the timeout."""
        if not self.is_open:
            raise self.ended()
        if not self.world.is_virtual:
            try:
                _, writer = await self._streams()
                writer.write(data)
                self._sent += len(data)
                await asyncio.wait_for(writer.drain(), self.timeout)
            except asyncio.TimeoutError:
                raise self._timeout("the other end accepted nothing") from None
            except ConnectionError:
                raise self.ended() from None
            return
        view = memoryview(bytes(data))
        limit = DEFAULT_TIMEOUT if self.timeout is None else self.timeout
        while view:
            chunk = view[: 1 << 19]
            text = base64.b64encode(chunk).decode()
            reply = await self._call("write", data=text, wait=seconds(0))
            written = reply["written"]
            if written < len(chunk):
                # Time must pass for room; behaviors act in it.
                text = base64.b64encode(chunk[written:]).decode()
                before = written
                reply = await self._call("write", data=text, wait=seconds(limit))
                written += reply["written"]
                await self._settle_others()
                if written == before:
                    if not self.is_open:
                        raise self.ended()
                    raise self._timeout("the other end accepted nothing")
            view = view[written:]

    async def _settle_others(self) -> None:
        if self._busy is None:
            await self.world.settle()

    def _timeout(self, what: str) -> Timeout:
        return Timeout(f"{what} within {self.timeout or DEFAULT_TIMEOUT:g} s", kind="timeout")

    async def recv(self, count: Optional[int] = None) -> bytes:
        """Wait for exactly ``count`` bytes; without a count, for the first bytes that arrive.

        At the end of the session fewer are an error, and without a count the result is empty.
        """
        if count is None:
            data = bytes(self._rest) or await self._more()
            self._rest.clear()
            return data
        while len(self._rest) < count:
            more = await self._more()
            if not more:
                raise self.ended(len(self._rest))
            self._rest += more
        data = bytes(self._rest[:count])
        del self._rest[:count]
        return data

    async def recv_until(self, end: bytes, *, limit: int = 1 << 20) -> bytes:
        """Wait for bytes up to and including ``end``."""
        looked = 0
        while (place := self._rest.find(end, max(0, looked - len(end) + 1))) < 0:
            looked = len(self._rest)
            if looked > limit:
                raise EasimError(f"{looked} bytes came without {end!r}", kind="limit", advice="choose a greater limit")
            more = await self._more()
            if not more:
                raise self.ended(looked)
            self._rest += more
        return await self.recv(place + len(end))

    async def _more(self) -> bytes:
        """Return what arrives next; nothing at the end."""
        if not self.world.is_virtual:
            if self._port is None and not self.is_open:
                return await self.read_rest()
            try:
                reader, _ = await self._streams()
                # A behavior waits as long as its session lasts.
                data = await asyncio.wait_for(reader.read(1 << 18), None if self._busy else self.timeout)
            except asyncio.TimeoutError:
                raise self._timeout("nothing arrived") from None
            except ConnectionError:
                data = b""
            except EasimError as error:
                # It ended before its socket could be opened.
                if error.kind != "gone":
                    raise
                return await self.read_rest()
            if not data:
                await self.learn_end()
            return data
        if self._busy is not None:
            return await self._more_of_behavior()
        limit = DEFAULT_TIMEOUT if self.timeout is None else self.timeout
        end: Optional[float] = None
        while True:
            left = limit if end is None else max(0.0, end - await self.world.now())
            if end is None:
                end = await self.world.now() + limit
            reply = await self._call("read", limit=1 << 18, wait=seconds(left))
            await self.world.settle()
            self.world.raise_behavior_error()
            if reply["bytes"] or reply["ended"]:
                return self._take(reply)
            if reply.get("stopped") != "attention":
                raise self._timeout("nothing arrived")

    async def _more_of_behavior(self) -> bytes:
        assert self._busy is not None
        while True:
            self._news.clear()
            reply = await self._call("read", limit=1 << 18)
            if reply["bytes"] or reply["ended"]:
                return self._take(reply)
            await self._busy.idle(self, self._news)

    def _take(self, reply: dict[str, Any]) -> bytes:
        if reply["ended"]:
            self.is_open = False
            self.reason = reply.get("reason")
        return base64.b64decode(reply["data"])

    async def read_rest(self) -> bytes:
        """Read what arrived before the end of a session without a socket."""
        return self._take(await self._call("read", limit=1 << 18))

    async def learn_end(self) -> None:
        """Ask why it is over."""
        state = await self._call("state")
        if not state["open"]:
            self.is_open = False
            self.reason = state.get("reason")

    async def close(self, reason: Optional[str] = None) -> None:
        """Close it from this end. Bytes already sent still arrive."""
        if self._port is not None and self.is_open:
            await self.flush(self._sent)
        if self._port is not None:
            self._port[1].close()
            self._port = None
        if self.is_open:
            self.is_open = False
            try:
                await self._call("close", reason=reason)
            except EasimError as error:
                if error.kind not in ("gone", "unknown"):
                    raise
            if self.world.is_virtual and self._busy is None:
                await self.world.settle()

    async def flush(self, sent: int) -> None:
        """Wait until the session has accepted this many bytes from its socket, or has ended."""
        loop = asyncio.get_running_loop()
        end = loop.time() + (DEFAULT_TIMEOUT if self.timeout is None else self.timeout)
        while loop.time() < end:
            state = await self._call("state")
            if not state["open"] or state["bytesWritten"] >= sent:
                return
            await asyncio.sleep(0.001)

    async def state(self) -> dict[str, Any]:
        """Return its state and counters, as ``session.state`` shows them."""
        return await self._call("state")

    async def __aenter__(self) -> Session:
        """Do nothing."""
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Close it."""
        await self.close()


class Host:
    """An address to which a world's device connects."""

    def __init__(self, world: World, name: str, address: str) -> None:
        """Use :meth:`World.host`."""
        self.world = world
        self.id = name
        self.address = address

    async def state(self) -> dict[str, Any]:
        """Return its state, as ``host.list`` shows it."""
        for state in (await self.world.call("host.list"))["hosts"]:
            if state["host"] == self.id:
                return dict(state)
        raise EasimError(f"the host '{self.id}' is gone", kind="gone")

    async def remove(self) -> None:
        """Stop connecting, and unplug the accessories connected there."""
        await self.world.server.call("host.remove", host=self.id)
