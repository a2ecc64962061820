"""Behaviors in Python (functions and generators, plain and asynchronous), and the clock that waits for them."""

from __future__ import annotations

import asyncio
import heapq
import inspect
import itertools
from collections.abc import AsyncGenerator, Awaitable, Generator
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

from .errors import EasimError

if TYPE_CHECKING:
    from ._session import Session

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

Reply = Optional[bytes]
Behavior = Union[
    Callable[["Session", bytes], Reply],
    Callable[["Session"], Generator[Reply, bytes, Any]],
    Callable[["Session"], AsyncGenerator[Reply, bytes]],
    Callable[["Session"], Awaitable[Any]],
]


class Clock:
    """The virtual time known to this process, and the behaviors that have work to do.

    Time stands still while a behavior runs, whatever it awaits: it passes only while every behavior waits in
    ``session.recv`` or ``session.sleep``. A behavior may consist of several tasks; each one that uses its session
    counts.
    """

    def __init__(self, patience: float) -> None:
        """Start at time zero, without behaviors."""
        self.now = 0.0
        self._patience = patience
        self._busy: set[asyncio.Task[Any]] = set()
        self._idle = asyncio.Event()
        self._idle.set()
        self._sleepers: list[tuple[float, int, asyncio.Task[Any], asyncio.Event]] = []
        self._order = itertools.count()

    # Running behaviors

    def begin(self, task: asyncio.Task[Any]) -> None:
        """Count a task as running, so that it keeps time from passing."""
        self._busy.add(task)
        self._idle.clear()

    def end(self, task: asyncio.Task[Any]) -> None:
        """Count a task as idle, so that it no longer keeps time from passing."""
        self._busy.discard(task)
        if not self._busy:
            self._idle.set()

    async def pause(self, session: Session, news: asyncio.Event) -> None:
        """Wait, idle, until something happens to a session."""
        if news.is_set():
            return
        task = self._current(session)
        session.waiting_tasks.append(task)
        self.end(task)
        await self._until(news, task)
        if task in session.waiting_tasks:
            session.waiting_tasks.remove(task)

    async def sleep(self, session: Session, seconds: float) -> None:
        """Wait, idle, for the given time."""
        task = self._current(session)
        alarm = asyncio.Event()
        heapq.heappush(self._sleepers, (self.now + seconds, next(self._order), task, alarm))
        self.end(task)
        try:
            await self._until(alarm, task)
        except asyncio.CancelledError:
            self._sleepers = [sleeper for sleeper in self._sleepers if sleeper[3] is not alarm]
            heapq.heapify(self._sleepers)
            raise

    async def _until(self, event: asyncio.Event, task: asyncio.Task[Any]) -> None:
        try:
            await event.wait()
        finally:
            self.begin(task)

    def _current(self, session: Session) -> asyncio.Task[Any]:
        task = asyncio.current_task()
        assert task is not None
        if task is not session.task and task not in session.own_tasks:
            # A behavior created this task, and the behavior itself waits for the task or for its session.
            session.own_tasks.add(task)
            task.add_done_callback(self.end)
            if session.task is not None:
                self.end(session.task)
        return task

    async def settle(self, limit: Optional[float] = None) -> None:
        """Wait until every behavior is idle, or until the limit (in real seconds) has passed."""
        if self._idle.is_set():
            return
        try:
            await asyncio.wait_for(self._idle.wait(), self._patience if limit is None else limit)
        except asyncio.TimeoutError:
            if limit is None:
                raise EasimError(
                    f"virtual time waits for a behavior, which has been running for {self._patience:g} s",
                    kind="state",
                    advice="let it await session.recv or session.sleep, or only what does not depend on virtual time",
                ) from None

    # Waking behaviors

    def due(self) -> Optional[float]:
        """Return the time at which the next behavior must be woken."""
        return self._sleepers[0][0] if self._sleepers else None

    def wake(self) -> None:
        """Wake the behaviors that are due."""
        while self._sleepers and self._sleepers[0][0] <= self.now + 1e-9:
            _, _, task, alarm = heapq.heappop(self._sleepers)
            # The task counts as busy from now on, even before it has started to run.
            self.begin(task)
            alarm.set()


async def play(behavior: Behavior, session: Session) -> None:
    """Run a behavior on one session until it returns or the session ends."""
    # If an object has a __call__ method, that method determines the kind of behavior.
    call: Any = behavior
    judged: Any = call if inspect.isroutine(call) else type(call).__call__
    if inspect.isasyncgenfunction(judged):
        talk: AsyncGenerator[Reply, bytes] = call(session)
        try:
            reply = await talk.__anext__()
            while True:
                data = await _answer(session, reply)
                if not data:
                    break
                reply = await talk.asend(data)
        except StopAsyncIteration:
            pass
        finally:
            await talk.aclose()
    elif inspect.isgeneratorfunction(judged):
        steps: Generator[Reply, bytes, Any] = call(session)
        try:
            reply = next(steps)
            while True:
                data = await _answer(session, reply)
                if not data:
                    break
                reply = steps.send(data)
        except StopIteration:
            pass
        finally:
            steps.close()
    elif inspect.iscoroutinefunction(judged):
        await call(session)
    else:
        while data := await session.recv():
            reply = call(session, data)
            if reply:
                await session.send(reply)


async def _answer(session: Session, reply: Reply) -> bytes:
    if reply:
        await session.send(reply)
    return await session.recv()
