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
import collections
import os
import pathlib
import warnings
from collections.abc import Awaitable, Iterable
from time import monotonic
from types import TracebackType
from typing import Any, Callable, Literal, Optional, Union, get_args

from . import _timeline
from ._accessory import Accessory, Capture, Fault, Host, Proxy, unmarked
from ._app import App
from ._behaviors import Behavior, Clock
from ._link import PATIENCE, Link, Listener
from ._program import RemoteServer, ServerProcess
from ._session import DEFAULT_TIMEOUT, Session
from ._wire import limited, seconds
from .errors import EasimError, ProgramError, SessionEnded, Timeout
from .events import Event, Time, check_name

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

__all__ = [
    "DEFAULT_TIMEOUT",
    "Accessory",
    "App",
    "Behavior",
    "Capture",
    "Fault",
    "Host",
    "Profile",
    "Proxy",
    "Server",
    "Session",
    "World",
]

_MOST_NOTICES = 10_000
_FOREVER = 86_400.0
"""The limit that None means in virtual time, where nothing can arrive from outside."""
_LONGEST_WAIT = 86_400.0
Profile = Union[str, dict[str, Any]]


class Server:
    """An easim server, which ends with ``close`` or with this process."""

    def __init__(
        self,
        program: Union[str, os.PathLike[str], None] = None,
        *,
        allow_exec: bool = False,
        allow_remote: bool = False,
        remote: Optional[str] = None,
        patience: float = PATIENCE,
    ) -> None:
        """Choose the program; it is started by ``open``, or by ``async with``.

        ``allow_exec`` lets it run programs from profiles that other users can modify, and ``allow_remote`` lets it
        connect to other machines. ``remote`` is a running server: ``host:port#token`` (``easim serve --remote``) or
        ``unix:PATH`` (``--control PATH``). With ``remote``, no program is started. If the server owes an answer but has
        been silent for ``patience`` seconds, it is asked whether it still responds. After twice that time, it counts as
        dead.
        """
        self._patience = patience
        self._remote = remote
        self._program = program
        options = (("--allow-exec", allow_exec), ("--allow-remote", allow_remote))
        self._arguments = tuple(name for name, wanted in options if wanted)
        self._link: Optional[Link] = None

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Server {self._link.process.name if self._link is not None else 'closed'}>"

    @property
    def link(self) -> Link:
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
        """The server's process ID."""
        return self.link.process.pid

    async def open(self) -> Server:
        """Start the program."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            raise EasimError(
                "easim.aio runs only on asyncio, but this is another event loop",
                kind="state",
                advice="with anyio, let the fixture anyio_backend return 'asyncio'",
            ) from None
        if self._link is None:
            process: Union[RemoteServer, ServerProcess]
            process = RemoteServer(self._remote) if self._remote else ServerProcess(self._program, self._arguments)
            link = Link(process, self._patience)
            await link.start()
            try:
                link.process.check(await asyncio.wait_for(link.call("server.info"), self._patience))
            except asyncio.TimeoutError:
                await link.close()
                raise ProgramError(
                    f"{process.name} has said nothing for {self._patience:g} s; is it easim?", kind="program"
                ) from None
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
        time: Time = "real",
        seed: Optional[int] = None,
        messages: bool = False,
        **choices: Any,
    ) -> World:
        """Create a world: an Apple device with nothing plugged in. ``choices`` are those of ``world.create``."""
        made = await self.call("world.create", time=time, seed=seed, messages=messages, **choices)
        return World(self, made["world"], is_virtual=time == "virtual")

    async def close(self) -> None:
        """End the server with all its worlds."""
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
        self.clock = Clock(server.link.patience)
        self._heard: set[tuple[str, str]] = set()
        self._began = monotonic()
        self._bytes: collections.deque[tuple[float, str, str, int, bytes]] = collections.deque(maxlen=1_000)
        self._marked: Optional[Accessory] = None
        self.tasks: set[asyncio.Task[Any]] = set()
        """The world's behaviors, which end with it."""
        self.has_behaviors = False
        """Whether any of its accessories have behaviors in Python."""
        self.behavior_errors: list[BaseException] = []
        self._known_errors: list[BaseException] = []
        self.failure: Optional[tuple[BaseException, str]] = None
        """The last exception that left a session's ``with``, and the timeline before the session was closed."""

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<World {self.id} in {'virtual' if self.is_virtual else 'real'} time>"

    @property
    def accessory(self) -> Accessory:
        """The accessory created by a test's ``easim`` mark."""
        if self._marked is None:
            raise unmarked()
        return self._marked

    @accessory.setter
    def accessory(self, accessory: Accessory) -> None:
        self._marked = accessory

    def listen(self, kind: str, name: str, listener: Listener) -> None:
        """Pass notices about an object of this world to ``listener`` for as long as both exist."""
        self._heard.add((kind, name))
        self.server.link.listen(kind, name, listener)

    def forget(self, kind: str, name: str) -> None:
        """Stop passing notices about an object."""
        self._heard.discard((kind, name))
        self.server.link.forget(kind, name)

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
        """Create the accessory of a capture, such as one made with ``--capture``. Its sessions answer as recorded."""
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
        # The world's notifications may arrive along with the answer.
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

    async def capture(
        self, *, form: Literal["pcapng", "transcript"] = "pcapng", limit: Optional[int] = None
    ) -> Capture:
        """Record every cable of this world, even later ones, as ``pcapng`` or ``transcript`` (one line per packet)."""
        made = await self.call("capture.start", form=form, limit=limit)
        return Capture(self, made["capture"])

    async def host(self, address: str) -> Host:
        """Make the device connect to the accessories at an address: ``usb:``, ``bt:``, ``unix:PATH``, …."""
        made = await self.call("host.add", address=address)
        return Host(self, made["host"], address)

    async def proxy(self, device: str, accessory: str, *, faults: Iterable[str] = ()) -> Proxy:
        """Relay bytes between a device that connects to one address and an accessory at another (``easim proxy``)."""
        made = await self.call("proxy.add", device=device, accessory=accessory, faults=list(faults))
        return Proxy(self, made["proxy"], device, accessory)

    # Time

    async def advance(self, seconds: float) -> None:
        """Let virtual time pass. Behaviors act at the exact moment when their bytes arrive."""
        if limited(seconds) is None:
            raise TypeError("advance needs a number of seconds")
        await self.wait(seconds, self._advance)

    async def _advance(self, left: float) -> dict[str, Any]:
        return await self.call("time.advance", by=seconds(left))

    async def run_until(
        self, event: Event, *, timeout: Optional[float] = DEFAULT_TIMEOUT, **which: Any
    ) -> dict[str, Any]:
        """Wait for an event (docs/commands.md) and return it. ``which`` are parameters of ``time.runUntil``."""
        check_name(event, *get_args(Event))
        notice = await self.find_notice(event, timeout, **which)
        if notice is None:
            raise Timeout(f"no event '{event}' within {self.shown(timeout)}", kind="timeout")
        return notice

    async def find_notice(self, event: str, timeout: Optional[float], **which: Any) -> Optional[dict[str, Any]]:
        """Wait for a notice. Return None if it does not arrive."""

        async def wait(left: float) -> dict[str, Any]:
            reply = await self.call("time.runUntil", event=event, limit=seconds(left), **which)
            # The next request must not miss notifications that arrive before it.
            which["after"] = reply["number"]
            return reply

        reply = await self.wait(timeout, wait)
        return reply["notice"]["params"] if reply["reached"] else None

    def shown(self, timeout: Optional[float]) -> str:
        """Format a limit for messages."""
        if timeout is None:
            return "a day of virtual time" if self.is_virtual else "the available time"
        return f"{timeout:g} s"

    async def wait(
        self,
        time: Optional[float],
        call: Callable[[float], Awaitable[dict[str, Any]]],
        longest: float = _LONGEST_WAIT,
    ) -> dict[str, Any]:
        """Wait on the world's clock, in calls of at most ``longest``. Between calls, behaviors that are due can act."""
        limited(time)
        if not self.is_virtual:
            loop = asyncio.get_running_loop()
            end = None if time is None else loop.time() + time
            while True:
                left = longest if end is None else min(longest, max(0.0, end - loop.time()))
                reply = await call(left)
                self.raise_behavior_error()
                if reply.get("stopped") != "limit" or left < longest:
                    return reply
        end = self.clock.now + (_FOREVER if time is None else time)
        await self._settled()
        while True:
            reply = await self._step(end, call, longest)
            stopped = reply.get("stopped")
            if stopped not in ("limit", "attention") or (stopped == "limit" and self.clock.now >= end - 5e-7):
                return reply

    async def wait_once(
        self, time: Optional[float], call: Callable[[float], Awaitable[dict[str, Any]]]
    ) -> dict[str, Any]:
        """Wait until the time has passed or a behavior has to act."""
        await self._settled()
        return await self._step(self.clock.now + (_FOREVER if time is None else time), call, 3600.0)

    async def _settled(self) -> None:
        self.clock.wake()
        await self.settle()
        self.raise_behavior_error()

    async def _step(
        self, end: float, call: Callable[[float], Awaitable[dict[str, Any]]], longest: float
    ) -> dict[str, Any]:
        due = self.clock.due()
        until = end if due is None else min(end, due)
        reply = await self.timed(call(min(longest, max(0.0, until - self.clock.now))))
        await self._settled()
        return reply

    async def timed(self, call: Awaitable[dict[str, Any]]) -> dict[str, Any]:
        """Set the clock from an answer."""
        reply = await call
        if self.is_virtual and "t" in reply:
            self.clock.now = float(reply["t"])
        return reply

    async def settle(self, limit: Optional[float] = None) -> None:
        """Wait at most ``limit`` real seconds until every behavior is waiting for bytes or for a time."""
        await self.clock.settle(limit)

    def keep_behavior_error(self, error: BaseException) -> None:
        """Keep the exception of a behavior for the test."""
        if not any(known is error for known in self._known_errors):
            self._known_errors.append(error)
            self.behavior_errors.append(error)

    def raise_behavior_error(self, instead: Optional[BaseException] = None) -> None:
        """Raise the first exception of a behavior that has not been raised yet; ``instead`` is the error it caused."""
        if self.behavior_errors:
            error = self.behavior_errors.pop(0)
            if error.__cause__ is None:
                error.__cause__ = instead or SessionEnded("its session ended because the behavior failed", kind="gone")
            raise error

    async def now(self) -> float:
        """Seconds on the world's clock."""
        return float((await self.timed(self.call("time.now")))["t"])

    async def clock_time(self) -> float:
        """Return the clock that measures waits."""
        return self.clock.now if self.is_virtual else asyncio.get_running_loop().time()

    # Events

    async def events(self) -> list[dict[str, Any]]:
        """Return what has happened so far, as ``--json`` prints it. The server keeps the last 4,096 notices.

        If there were more, a warning says how many.
        """
        return [n["params"]["event"] for n in await self._notices() if n["method"] == "event"]

    async def changes(self) -> list[dict[str, Any]]:
        """Return the requests that changed something, each with ``request``, ``params`` and ``result``."""
        return [n["params"] for n in await self._notices() if n["method"] == "change"]

    async def _notices(self) -> list[dict[str, Any]]:
        listed = await self.call("events.list", limit=_MOST_NOTICES)
        if listed["dropped"]:
            warnings.warn(f"the first {listed['dropped']} notices of the world are no longer kept", stacklevel=3)
        return list(listed["notices"])

    def note_bytes(self, session: str, arrow: str, data: Union[bytes, memoryview]) -> None:
        """Keep the beginning of what an app sent or received, for the timeline."""
        now = self.clock.now if self.is_virtual else monotonic() - self._began
        if data:
            self._bytes.append((now, session, arrow, len(data), bytes(data[:24])))

    async def timeline(self, last: int = 200) -> str:
        """Return the last events as readable text, including the bytes of apps. Time 0 is the world's start."""
        listed = await self.call("events.list", limit=_MOST_NOTICES)
        began = 0.0 if self.is_virtual else float((await self.call("time.now"))["t"]) - (monotonic() - self._began)
        return _timeline.text(listed["notices"], last, dropped=listed["dropped"], began=began, passed=self._bytes)

    async def note_failure(self, error: BaseException) -> None:
        """Save the timeline before a failing test cleans up."""
        if self.failure is None or self.failure[0] is not error:
            try:
                self.failure = (error, await self.timeline())
            except EasimError:
                pass

    async def timeline_of(self, error: Optional[BaseException]) -> str:
        """Return the timeline up to an exception."""
        kept = self.failure if self.failure is not None and self.failure[0] is error else None
        return (await self.timeline() if kept is None else kept[1]) or "nothing happened"

    async def remove(self) -> None:
        """Remove the world: its apps end, and its accessories are unplugged."""
        for task in self.tasks:
            task.cancel()
        for key in self._heard:
            self.server.link.forget(*key)
        self._heard.clear()
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
