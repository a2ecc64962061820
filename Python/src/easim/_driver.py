"""The plain interface's event loop, which runs on the caller's thread during calls and on its own thread otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import os
import selectors
import threading
from collections.abc import Awaitable, Coroutine, Generator
from time import monotonic
from typing import TYPE_CHECKING, Any, Generic, Optional, TypeVar, Union

from .errors import EasimError

if TYPE_CHECKING:
    from ._link import Link

# Makes pytest show an error at the call in the test instead of inside this package.
__tracebackhide__ = True

_T = TypeVar("_T")


class _Exit:
    """Carries an exception, which would otherwise end the loop, through the loop to the caller."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _guarded(work: Awaitable[_T]) -> Union[_T, _Exit]:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        return _Exit(error)


class _Begun(Generic[_T]):
    """A coroutine that is already waiting for something."""

    def __init__(self, work: Coroutine[Any, Any, _T], awaited: Any) -> None:
        self._work = work
        self._awaited = awaited

    def __await__(self) -> Generator[Any, Any, _T]:
        awaited = self._awaited
        try:
            while True:
                try:
                    sent = yield awaited
                except BaseException as error:
                    awaited = self._work.throw(error)
                else:
                    awaited = self._work.send(sent)
        except StopIteration as end:
            result: _T = end.value
            return result


class Driver:
    """An event loop that is run by one thread at a time.

    During a call, the caller's thread runs the loop, because switching to another thread and back takes longer than the
    server needs to answer. If nothing else needs the loop, the thread waits for the answer without it. Between calls
    the loop must also run, so that behaviors can answer and notices can arrive. Therefore a background thread runs the
    loop once there has been no call for ``MOMENT`` seconds, until the next call.
    """

    MOMENT = 0.002

    def __init__(self) -> None:
        """Start the background thread."""
        self._selector = selectors.DefaultSelector()
        self._loop = asyncio.SelectorEventLoop(self._selector)
        self._pid = os.getpid()
        self._turn = threading.Lock()
        """Held by the thread that runs the loop."""
        self._runner = 0
        """The identifier of the thread that holds ``_turn``; 0 for none."""
        self._last_call = 0.0
        self._guests = 0
        """The number of calls that wait while another thread runs the loop for them."""
        self._guest_lock = threading.Lock()
        self._is_closed = False
        self._resting = threading.Event()
        """Set when the background thread should run the loop immediately."""
        self._thread = threading.Thread(target=self._run_between_calls, name="easim", daemon=True)
        self._thread.start()

    @property
    def is_foreign(self) -> bool:
        """Whether this process was forked from the one that created the driver."""
        return os.getpid() != self._pid

    def run(self, work: Coroutine[Any, Any, _T], link: Optional[Link] = None) -> _T:
        """Run a coroutine to its end, and return its result.

        With a link, the coroutine must begin with calls, and becomes a task only if it also waits for something else.
        """
        thread = threading.get_ident()
        if self.is_foreign:
            work.close()
            raise EasimError(
                f"this server belongs to the process {self._pid}, from which this process was forked",
                kind="state",
                advice="make a Server in each process, or start processes with the method 'spawn'",
            )
        if self._runner == thread:
            work.close()
            raise EasimError(
                "a behavior cannot call functions that wait",
                kind="state",
                advice="return or yield the reply, or use an async behavior with the functions of its session",
            )
        try:
            result = self._run_here(work, link) if self._take_turn(thread) else self._run_there(work)
        except EasimError as error:
            # The part of the traceback that is inside the loop would not help the caller.
            raise error.with_traceback(None) from error.__cause__
        if isinstance(result, _Exit):
            raise result.error
        return result

    def _take_turn(self, thread: int) -> bool:
        """Become the thread that runs the loop, unless this thread runs another loop or another call runs this loop."""
        if asyncio._get_running_loop() is not None:
            return False
        self._last_call = monotonic()
        while not self._turn.acquire(blocking=False):
            if self._runner not in (0, self._thread.ident):
                return False
            self._loop.call_soon_threadsafe(self._step_aside)
            if self._turn.acquire(timeout=0.05):
                break
        self._runner = thread
        return True

    def _end_turn(self) -> None:
        self._last_call = monotonic()
        self._runner = 0
        self._turn.release()
        if self._guests:
            self._resting.set()

    def _run_here(self, work: Coroutine[Any, Any, _T], link: Optional[Link]) -> Union[_T, _Exit]:
        try:
            if link is not None and link.is_idle and not self._guests:
                asyncio._set_running_loop(self._loop)
                link.selector = self._selector
                try:
                    left: Awaitable[_T] = _Begun(work, work.send(None))
                except StopIteration as end:
                    result: _T = end.value
                    return result
                finally:
                    link.selector = None
                    asyncio._set_running_loop(None)
            else:
                left = work
            task = self._loop.create_task(_guarded(left))
            try:
                return self._loop.run_until_complete(task)
            except BaseException:
                # After Ctrl-C, the loop must run so that the coroutine can handle its cancellation.
                if not task.done():
                    task.cancel()
                    with contextlib.suppress(BaseException):
                        self._loop.run_until_complete(task)
                raise
        finally:
            self._end_turn()

    def _run_there(self, work: Coroutine[Any, Any, _T]) -> Union[_T, _Exit]:
        with self._guest_lock:
            self._guests += 1
        self._resting.set()
        future = asyncio.run_coroutine_threadsafe(_guarded(work), self._loop)
        try:
            return future.result()
        except BaseException:
            future.cancel()
            raise
        finally:
            with self._guest_lock:
                self._guests -= 1

    def catch_up(self, link: Link) -> None:
        """Process everything that has already arrived, if no thread is running the loop."""
        if self.is_foreign or self._is_closed or asyncio._get_running_loop() is not None:
            return
        if self._turn.acquire(blocking=False):
            self._runner = threading.get_ident()
            try:
                if link.is_idle:
                    while link.receive():
                        pass
                else:
                    self._loop.run_until_complete(asyncio.sleep(0))
            finally:
                self._end_turn()

    def rest(self) -> None:
        """Let the background thread run the loop, because the caller is about to wait for something else."""
        if self._runner == 0:
            self._last_call = 0.0
            self._resting.set()

    # The background thread

    def _run_between_calls(self) -> None:
        thread = threading.get_ident()
        while not self._is_closed:
            self._resting.wait(self.MOMENT)
            self._resting.clear()
            if monotonic() - self._last_call < self.MOMENT and not self._guests:
                continue
            # This thread does not wait for a call to end, because waking up at that moment would delay the next call.
            if self._turn.acquire(blocking=False):
                self._runner = thread
                try:
                    self._loop.run_forever()
                finally:
                    self._runner = 0
                    self._turn.release()

    def _step_aside(self) -> None:
        if self._runner == self._thread.ident:
            self._loop.stop()

    def close(self) -> None:
        """Stop the background thread, and close the loop."""
        if self.is_foreign:
            return
        self._is_closed = True
        while self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._step_aside)
            self._thread.join(0.05)
        # If another thread is still in a call, that call ends soon, because the connection is closed.
        if self._turn.acquire(timeout=5):
            self._loop.close()
