"""The connection to a server, on one event loop."""

from __future__ import annotations

import asyncio
import os
import selectors
from typing import Any, Callable, Optional, Union

from ._program import RemoteServer, ServerProcess
from ._wire import Answer, Notice, Wire
from .errors import EasimError, ProgramError

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

PATIENCE = 30.0
"""After this many seconds without a message, the server is pinged; after twice as many, it is considered dead."""

Listener = Callable[[dict[str, Any]], None]


class _Lines(asyncio.BufferedProtocol):
    """Passes received data to a link."""

    def __init__(self, link: Link) -> None:
        self._link = link

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._link.buffer

    def buffer_updated(self, count: int) -> None:
        self._link.take(count)

    def connection_lost(self, error: Optional[Exception]) -> None:
        self._link.lose()


class Link:
    """Sends requests, and receives answers and notices.

    A request that the server may answer late has no deadline of its own. Instead, a silent server is sent a request
    that it answers at once, so that every call ends if the server is stopped, stuck or unreachable.
    """

    MOST_EARLY = 10_000
    """The maximum number of unknown objects whose notices are kept."""

    def __init__(self, process: Union[ServerProcess, RemoteServer], patience: float = PATIENCE) -> None:
        """Connect with :meth:`start`."""
        self.process = process
        self.patience = patience
        self.failure: Optional[EasimError] = None
        self.dropped = 0
        """The number of lost notices: those that the server dropped, and those about unknown objects."""
        self.tasks: set[asyncio.Task[Any]] = set()
        """The behaviors, which end with the connection."""
        self._wire = Wire()
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._listeners: dict[tuple[str, str], Listener] = {}
        # Notifications about an object may arrive before the answer that names the object.
        self._early: dict[tuple[str, str], list[dict[str, Any]]] = {}
        self._pid = os.getpid()
        self._loop: asyncio.AbstractEventLoop
        self._heard = 0.0
        self._asked = 0.0
        self.buffer = memoryview(bytearray(1 << 16))
        self.selector: Optional[selectors.BaseSelector] = None
        """The loop's selector, while calls wait on this thread instead of on the loop."""
        self._descriptor = -1
        self._transport: Optional[asyncio.WriteTransport] = None
        self._own: list[asyncio.Task[None]] = []

    async def start(self) -> None:
        """Begin to read."""
        # The socket is duplicated, because asyncio closes any socket that it is given.
        self._loop = asyncio.get_running_loop()
        made = await self._loop.create_connection(lambda: _Lines(self), sock=self.process.socket.dup())
        self._transport = made[0]
        self._descriptor = made[0].get_extra_info("socket").fileno()
        self._own = [self._loop.create_task(self._watch())]

    @property
    def is_foreign(self) -> bool:
        """Whether this process is a fork of the one that the server belongs to."""
        return os.getpid() != self._pid

    def check_process(self) -> None:
        """Raise an error in a forked process, which has no loop and must not use the connection."""
        if self.is_foreign:
            raise EasimError(
                f"this server belongs to the process {self._pid}, from which this process was forked",
                kind="state",
                advice="make a Server in each process, or start processes with the method 'spawn'",
            )

    async def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Call a method; parameters that are None are omitted."""
        self.check_process()
        if self.failure is not None:
            raise self.failure
        assert self._transport is not None
        number, line = self._wire.request(method, {key: value for key, value in params.items() if value is not None})
        future: asyncio.Future[dict[str, Any]] = self._loop.create_future()
        if not self._waiting:
            self._heard = self._loop.time()
        self._waiting[number] = future
        self._transport.write(line)
        try:
            if self.selector is not None:
                self._wait_here(future, self.selector)
                if self.tasks:
                    # A behavior has started, so the rest of the call must run in a separate task.
                    await asyncio.sleep(0)
            return await future
        except BaseException:
            if number in self._waiting:
                self._cancel([number])
            raise

    # Without the loop

    @property
    def is_idle(self) -> bool:
        """Whether only the next call needs the loop."""
        return not self._waiting and not self.tasks and self.failure is None

    def _wait_here(self, answer: asyncio.Future[dict[str, Any]], selector: selectors.BaseSelector) -> None:
        """Wait for an answer until the loop has something else to do.

        A turn of the loop takes longer than the server needs for most answers.
        """
        transport = self._transport
        assert transport is not None
        while not (answer.done() or self.tasks or transport.is_closing() or transport.get_write_buffer_size()):
            ready = selector.select(self.patience / 4)
            if any(key.fd != self._descriptor for key, _ in ready) or (ready and not self.receive()):
                return
            if not ready:
                self._look()

    def receive(self) -> bool:
        """Process the messages that have arrived; return whether there were any."""
        try:
            count = self.process.socket.recv_into(self.buffer)
        except (BlockingIOError, ConnectionError):
            return False
        if count:
            self.take(count)
        return count > 0

    async def close(self) -> None:
        """End the connection, and also the server if this process started it."""
        if self.is_foreign:
            return
        # Without a cancellation, the server would keep waiting, although the result is no longer needed.
        self._cancel(list(self._waiting))
        self._fail(EasimError("the server was closed", kind="gone"))
        tasks = [*self._own, *self.tasks]
        current = asyncio.current_task()
        for task in tasks:
            if task is not current:
                task.cancel()
        await asyncio.gather(*(task for task in tasks if task is not current), return_exceptions=True)
        if self._transport is not None:
            self._transport.close()
        await self._loop.run_in_executor(None, self.process.close)

    def _cancel(self, numbers: list[int]) -> None:
        if self.failure is None and self._transport is not None and not self._transport.is_closing():
            for number in numbers:
                _, line = self._wire.request("client.cancel", {"request": number})
                self._transport.write(line)

    # Notices

    def listen(self, kind: str, name: str, listener: Listener) -> None:
        """Pass notices about an object to ``listener``, starting with those already received."""
        key = (kind, name)
        self._listeners[key] = listener
        for params in self._early.pop(key, ()):
            listener(params)

    def forget(self, kind: str, name: str) -> None:
        """Stop passing notices about an object."""
        self._listeners.pop((kind, name), None)

    def _take(self, message: Union[Answer, Notice]) -> None:
        if isinstance(message, Answer):
            self._answer(message)
            return
        params = message.params
        if message.method == "dropped":
            self.dropped += int(params.get("count", 0))
        kinds = {"app": ("app",), "session": ("session", "accessory")}.get(message.method, ())
        keys = [(kind, str(params[kind])) for kind in kinds if kind in params]
        for key in keys:
            listener = self._listeners.get(key)
            if listener is not None:
                listener(params)
                return
        if keys:
            self._early.setdefault(keys[0], []).append(params)
            if len(self._early) > self.MOST_EARLY:
                lost = self._early.pop(next(iter(self._early)))
                # Notifications that remain for a closed session are not needed.
                self.dropped += sum(news.get("event") not in ("ended", "readable") for news in lost)

    def _answer(self, answer: Answer) -> None:
        if answer.number is None:
            # The server could not parse a line, so the error does not identify a request.
            waiting, self._waiting = self._waiting, {}
            for future in waiting.values():
                if not future.done():
                    future.set_exception(answer.error or EasimError("the server answered nothing", kind="program"))
            return
        found = self._waiting.pop(answer.number, None)
        if found is None or found.done():
            return
        if answer.error is not None:
            found.set_exception(answer.error)
        else:
            found.set_result(answer.result or {})

    # Missing answers

    def take(self, count: int) -> None:
        """Process received bytes, which are in the buffer."""
        self._heard = self._loop.time()
        try:
            for message in self._wire.receive(self.buffer[:count]):
                self._take(message)
        except EasimError as error:
            self._fail(error)

    def lose(self) -> None:
        """Find out why the connection has ended."""
        if self.failure is None:
            self._own.append(self._loop.create_task(self._explain()))

    async def _explain(self) -> None:
        self._fail(await self._loop.run_in_executor(None, self.process.explanation))

    async def _watch(self) -> None:
        while self.failure is None:
            await asyncio.sleep(self.patience / 4)
            self._look()

    def _look(self) -> None:
        """Ask a silent server whether it still responds, or give up on it."""
        assert self._transport is not None
        silence = self._loop.time() - self._heard if self._waiting else 0.0
        if silence >= 2 * self.patience:
            self._fail(
                ProgramError(
                    f"{self.process.name} has not answered for {silence:.0f} s",
                    kind="program",
                    advice="it was stopped, or its machine cannot be reached",
                )
            )
        elif silence >= self.patience and self._asked <= self._heard:
            self._asked = self._loop.time()
            _, line = self._wire.request("server.info", {})
            self._transport.write(line)

    def _fail(self, failure: EasimError) -> None:
        self.failure = self.failure or failure
        waiting, self._waiting = self._waiting, {}
        for future in waiting.values():
            if not future.done():
                future.set_exception(failure)
