"""One end of a session, for asyncio."""

from __future__ import annotations

import asyncio
import base64
import socket
from collections.abc import Awaitable
from types import TracebackType
from typing import TYPE_CHECKING, Any, Optional, TypeVar, Union

from ._wire import limited, seconds, state_of
from .errors import EasimError, SessionEnded, Timeout
from .states import SessionState

if TYPE_CHECKING:
    from ._accessory import Accessory
    from ._app import App
    from .aio import World

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

DEFAULT_TIMEOUT = 10.0
"""The seconds of the world's clock that calls without a timeout wait."""

LONGEST_READ = 3600.0
_ROOM = 0.002
_T = TypeVar("_T")


def payload(data: Any) -> memoryview:
    """Return the data to send as bytes. Raise a TypeError for anything that is not bytes."""
    if not isinstance(data, (bytes, bytearray, memoryview)):
        hint = ": encode the text" if isinstance(data, str) else ""
        raise TypeError(f"a session sends bytes, not {type(data).__name__}{hint}")
    return memoryview(data).cast("B")


async def within(work: Awaitable[_T], limit: Optional[float]) -> _T:
    """Wait at most this long. With 0, take only what is already available."""
    if limit != 0:
        return await asyncio.wait_for(work, limit)
    task = asyncio.ensure_future(work)
    for _ in range(4):
        await asyncio.sleep(0)
    if not task.done():
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        raise asyncio.TimeoutError
    return task.result()


class Session:
    """One end of a session: that of an app, or of an accessory whose sessions were taken.

    In virtual time, its bytes are part of requests. In real time, they pass through a separate socket.
    """

    def __init__(
        self,
        world: World,
        name: str,
        protocol: str,
        *,
        app: Optional[App] = None,
        accessory: Optional[Accessory] = None,
    ) -> None:
        """Use :meth:`App.open`, or :meth:`Accessory.take`."""
        self.world = world
        self.id = name
        self.protocol = protocol
        self.app = app
        """The app, if this is an app's end."""
        self.accessory = accessory
        """The accessory, in a behavior's session; the behavior can unplug it, for instance."""
        self.is_open = True
        self.reason: Optional[str] = None
        self.task: Optional[asyncio.Task[Any]] = None
        self.own_tasks: set[asyncio.Task[Any]] = set()
        self.waiting_tasks: list[asyncio.Task[Any]] = []
        self._timeout: Optional[float] = DEFAULT_TIMEOUT
        self._news = asyncio.Event()
        self._rest = bytearray()
        self._socket: Optional[socket.socket] = None
        self._streams: Optional[tuple[asyncio.StreamReader, asyncio.StreamWriter]] = None
        self._opening = asyncio.Lock()
        self._sent = 0
        world.listen("session", name, self._handle)

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        state = "open" if self.is_open else f"ended: {self.reason or 'closed'}"
        return f"<Session {self.id} {self.protocol} {state}>"

    @property
    def timeout(self) -> Optional[float]:
        """How many seconds on the world's clock ``send`` and ``recv`` wait. 0 means not at all, and None forever."""
        return self._timeout

    @timeout.setter
    def timeout(self, seconds: Optional[float]) -> None:
        self._timeout = limited(seconds)

    @property
    def _is_behavior(self) -> bool:
        return self.accessory is not None

    def _handle(self, news: dict[str, Any]) -> None:
        if "t" in news and self.world.is_virtual:
            self.world.clock.now = max(self.world.clock.now, float(news["t"]))
        if news["event"] == "ended":
            self.is_open = False
            self.reason = news.get("reason")
            self.forget()
        # The behavior that is waiting counts as busy from now on, even before it runs.
        for task in self.waiting_tasks:
            self.world.clock.begin(task)
        self.waiting_tasks.clear()
        self._news.set()

    def forget(self) -> None:
        """Ignore the session's notifications from now on."""
        self.world.forget("session", self.id)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        return await self.world.server.call(f"session.{method}", session=self.id, **params)

    def ended(self, got: int = 0) -> SessionEnded:
        """Return the error for an ended session."""
        why = self.reason or "it was closed"
        after = f" after {got} bytes" if got else ""
        return SessionEnded(f"the session ended{after}: {why}", kind="gone")

    def timed_out(self, what: str, got: Union[bytes, bytearray] = b"", goal: str = "") -> Timeout:
        """Return the error for a wait that timed out. ``goal`` says which bytes were awaited, if some arrived."""
        if got:
            what = f"{len(got)} {goal} arrived"
        shown = f": {bytes(got[:100])!r}" if got else ""
        return Timeout(f"{what} within {self.timeout or 0:g} s{shown}", kind="timeout")

    async def sleep(self, seconds: float) -> None:
        """Wait on the world's clock. In a behavior, virtual time passes only as far as the test advances it."""
        limited(seconds)
        if not self.world.is_virtual:
            await asyncio.sleep(seconds)
        elif self._is_behavior:
            await self.world.clock.sleep(self, seconds)
        else:
            await self.world.advance(seconds)

    # The socket, used in real time

    async def connect(self, first_line: Optional[str] = None) -> None:
        """Open the session's socket, unless the session has ended; ask the server for the first line if necessary."""
        async with self._opening:
            if self._socket is None and self._streams is None:
                self._socket = await self._connect(first_line)

    async def _connect(self, line: Optional[str]) -> socket.socket:
        try:
            line = line or str((await self._call("port"))["firstLine"])
        except EasimError as error:
            if error.kind != "gone":
                raise
            await self.learn_end()
            raise self.ended() from None
        made = await self.world.server.link.process.connect_soon()
        made.sendall(line.encode() + b"\n")
        return made

    def take_socket(self) -> Optional[socket.socket]:
        """Hand over the socket, if it is open and nothing has been read from it."""
        made, self._socket = self._socket, None
        return made

    async def detach(self) -> socket.socket:
        """Hand the session over to a socket until it is closed."""
        if self.world.is_virtual:
            raise EasimError("a world in virtual time has no sockets", kind="time", advice="use send and recv")
        if self._streams is not None:
            raise EasimError("the session was already read or written", kind="state", advice="detach it first")
        await self.connect()
        made = self.take_socket()
        if made is None:
            raise EasimError("the session was already detached", kind="state", advice="use the socket it returned")
        return made

    async def _stream(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            await self.connect()
            async with self._opening:
                if self._streams is None:
                    self._streams = await asyncio.open_connection(sock=self._socket)
                    self._socket = None
        return self._streams

    # Bytes

    async def send(self, data: bytes) -> None:
        """Send all bytes, waiting for the other end up to the timeout."""
        view = payload(data)
        if not self._is_behavior:
            self.world.note_bytes(self.id, "→", view)
        if not self.is_open:
            self.world.raise_behavior_error(self.ended())
            raise self.ended()
        if self.world.is_virtual:
            return await self._send_in_requests(view)
        try:
            _, writer = await self._stream()
            writer.write(view)
            self._sent += len(view)
            await within(writer.drain(), self.timeout)
        except asyncio.TimeoutError:
            raise self.timed_out("the other end accepted nothing") from None
        except ConnectionError:
            await self.learn_end()
            self.world.raise_behavior_error(self.ended())
            raise self.ended() from None
        return None

    async def _send_in_requests(self, view: memoryview) -> None:
        begun, left = self.world.clock.now, view
        try:
            while left:
                reply = await self._write(left, 0)
                left = left[reply["written"] :]
                if not left:
                    break
                passed = self.world.clock.now - begun
                limit = None if self.timeout is None else max(0.0, self.timeout - passed)
                if limit == 0:
                    raise self.timed_out("the other end accepted nothing")
                # Space in the send buffer becomes free only as virtual time passes.
                if self._is_behavior:
                    await self.world.clock.sleep(self, _ROOM if limit is None else min(limit, _ROOM))
                else:
                    before = left

                    async def write(left: float, before: memoryview = before) -> dict[str, Any]:
                        return await self._write(before, left)

                    reply = await self.world.wait_once(limit, write)
                    left = left[reply["written"] :]
                if not self.is_open:
                    raise self.ended()
        except EasimError as error:
            if error.kind != "gone":
                raise
            await self.learn_end()
            self.world.raise_behavior_error(self.ended())
            raise self.ended() from None
        if not self._is_behavior:
            # When this call returns, the behaviors have done everything that is currently due.
            await self.world.settle(1.0)

    async def _write(self, view: memoryview, wait: float) -> dict[str, Any]:
        text = base64.b64encode(view[: 1 << 19]).decode()
        return await self.world.timed(self._call("write", data=text, wait=seconds(min(wait, LONGEST_READ))))

    async def recv(self, count: Optional[int] = None) -> bytes:
        """Wait for exactly ``count`` bytes or, without a count, for the first bytes that arrive.

        If the session ends first, having fewer than ``count`` bytes is an error. Without a count, the result is empty.
        """
        if count is None:
            data = bytes(self._rest) or await self._more()
            self._rest.clear()
            return data
        while len(self._rest) < count:
            more = await self._more(f"of {count} bytes")
            if not more:
                raise self.ended(len(self._rest))
            if len(more) == count and not self._rest:
                return more
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
            more = await self._more(f"bytes without {end!r}")
            if not more:
                raise self.ended(looked)
            self._rest += more
        return await self.recv(place + len(end))

    async def _more(self, goal: str = "") -> bytes:
        """Return the next bytes that arrive, or no bytes at the end."""
        if not self.world.is_virtual:
            return await self._more_of_stream(goal)
        if self._is_behavior:
            return await self._more_of_behavior()

        async def read(left: float) -> dict[str, Any]:
            return await self._call("read", limit=1 << 18, wait=seconds(left))

        reply = await self.world.wait(self.timeout, read, LONGEST_READ)
        if not reply["bytes"] and not reply["ended"]:
            raise self.timed_out("nothing arrived", self._rest, goal)
        data = self._took(reply)
        self.world.note_bytes(self.id, "←", data)
        return data

    async def _more_of_stream(self, goal: str) -> bytes:
        if self._streams is None and self._socket is None and not self.is_open:
            return await self.read_rest()
        try:
            reader, _ = await self._stream()
            # A behavior waits for as long as its session is open.
            data = await within(reader.read(1 << 18), None if self._is_behavior else self.timeout)
        except asyncio.TimeoutError:
            error = self.timed_out("nothing arrived", self._rest, goal)
            self.world.raise_behavior_error(error)
            raise error from None
        except SessionEnded:
            # The session ended before its socket could be opened.
            return await self.read_rest()
        except ConnectionError:
            data = b""
        if not data:
            await self.learn_end()
            if not self._is_behavior:
                self.world.raise_behavior_error(self.ended())
        return data

    async def _more_of_behavior(self) -> bytes:
        while True:
            self._news.clear()
            reply = await self._call("read", limit=1 << 18)
            if reply["bytes"] or reply["ended"]:
                return self._took(reply)
            await self.world.clock.pause(self, self._news)

    def _took(self, reply: dict[str, Any]) -> bytes:
        if reply["ended"]:
            self.is_open = False
            self.reason = reply.get("reason")
        return base64.b64decode(reply["data"])

    async def read_rest(self) -> bytes:
        """Read what arrived before the end of a session without a socket."""
        data = self._took(await self._call("read", limit=1 << 18))
        if not data and not self._is_behavior:
            self.world.raise_behavior_error(self.ended())
        return data

    async def learn_end(self) -> None:
        """Ask the server why the session ended."""
        try:
            state = await self._call("state")
        except EasimError as error:
            self.is_open, self.reason = False, self.reason or error.message
            return
        if not state["open"]:
            self.is_open = False
            self.reason = state.get("reason")

    # Ending the session

    async def close(self, reason: Optional[str] = None, *, sent: int = 0) -> None:
        """Close the session from this end. Bytes already sent still arrive; ``sent`` counts those on its socket."""
        if self.is_open:
            self.is_open = False
            try:
                await self._call("close", reason=reason, written=self._sent or sent or None)
            except EasimError as error:
                if error.kind not in ("gone", "unknown"):
                    raise
            if self.world.is_virtual and not self._is_behavior:
                await self.world.settle(1.0)
        if self._streams is not None:
            self._streams[1].close()
            self._streams = None
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self.forget()

    async def state(self) -> SessionState:
        """Return the session's state and counters."""
        return state_of(SessionState, await self._call("state"))

    async def __aenter__(self) -> Session:
        """Do nothing."""
        return self

    async def __aexit__(
        self,
        kind: Optional[type[BaseException]],
        error: Optional[BaseException],
        trace: Optional[TracebackType],
    ) -> None:
        """Close the session."""
        if error is not None and not self._is_behavior:
            await self.world.note_failure(error)
        await self.close()
