"""Behaviors in Python: functions and generators, plain and asynchronous."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, Awaitable, Generator
from typing import TYPE_CHECKING, Any, Callable, Optional, Union

if TYPE_CHECKING:
    from .aio import Session

Reply = Optional[bytes]
Behavior = Union[
    Callable[["Session", bytes], Reply],
    Callable[["Session"], Generator[Reply, bytes, Any]],
    Callable[["Session"], AsyncGenerator[Reply, bytes]],
    Callable[["Session"], Awaitable[Any]],
]


class Busy:
    """Counts the behaviors that have something to do.

    In virtual time the clock stands still while there are any.
    """

    def __init__(self) -> None:
        """Begin with none."""
        self._count = 0
        self._idle = asyncio.Event()
        self._idle.set()
        self._waiting: set[int] = set()

    def begin(self) -> None:
        """Count one more busy behavior."""
        self._count += 1
        self._idle.clear()

    def end(self) -> None:
        """Count one busy behavior less."""
        self._count -= 1
        if self._count == 0:
            self._idle.set()

    def wake(self, session: Session) -> None:
        """Mark this session's behavior as busy, if it was idle."""
        if id(session) in self._waiting:
            self._waiting.discard(id(session))
            self.begin()

    async def idle(self, session: Session, news: asyncio.Event) -> None:
        """Be idle until something happens."""
        if news.is_set():
            return
        self._waiting.add(id(session))
        self.end()
        await news.wait()

    async def wait(self) -> None:
        """Wait until all behaviors are idle."""
        await self._idle.wait()


async def play(behavior: Behavior, session: Session) -> None:
    """Run a behavior on one session until it returns or the session ends."""
    # An object with __call__ is judged by that.
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
