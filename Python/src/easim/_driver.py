"""The loop of the plain interface: it runs on the caller's thread during a call, and on its own thread otherwise."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from collections.abc import Coroutine
from time import monotonic
from typing import Any, TypeVar, Union

from .errors import EasimError

# pytest shows errors at the call in the test, not in this package.
__tracebackhide__ = True

_T = TypeVar("_T")


class _Exit:
    """Carries an exception that would end the loop to the caller."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


async def _guarded(work: Coroutine[Any, Any, _T]) -> Union[_T, _Exit]:
    try:
        return await work
    except (SystemExit, KeyboardInterrupt) as error:
        return _Exit(error)


class Driver:
    """An event loop that one thread at a time runs.

    A call runs the loop on its own thread, because waking another thread and being woken by it takes longer than the
    server needs for an answer. Between calls the loop must run, too: behaviors answer, and notices arrive. So a thread
    runs it when there has been no call for a moment, until the next call.
    """

    MOMENT = 0.002

    def __init__(self) -> None:
        """Start the thread."""
        self._loop = asyncio.new_event_loop()
        self._pid = os.getpid()
        self._turn = threading.Lock()
        """Held by the thread that runs the loop."""
        self._runner = 0
        """The number of that thread."""
        self._last_call = 0.0
        self._guests = 0
        """The number of calls that wait while another thread runs the loop for them."""
        self._guest_lock = threading.Lock()
        self._is_closed = False
        self._resting = threading.Event()
        """Set when the loop should run on its own thread at once."""
        self._thread = threading.Thread(target=self._run_between_calls, name="easim", daemon=True)
        self._thread.start()

    @property
    def is_foreign(self) -> bool:
        """Whether this process is a fork of the one with the thread."""
        return os.getpid() != self._pid

    def run(self, work: Coroutine[Any, Any, _T]) -> _T:
        """Run to the end, and return the result."""
        thread = threading.get_ident()
        if self.is_foreign:
            work.close()
            raise EasimError(
                f"this server belongs to the process {self._pid}, and this one was forked from it",
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
            result = self._run_here(work) if self._take_turn(thread) else self._run_there(work)
        except EasimError as error:
            # The traceback of the loop is of no use to the caller.
            raise error.with_traceback(None) from error.__cause__
        if isinstance(result, _Exit):
            raise result.error
        return result

    def _take_turn(self, thread: int) -> bool:
        """Become the thread that runs the loop, unless this thread runs another one, or another call runs this one."""
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

    def _run_here(self, work: Coroutine[Any, Any, _T]) -> Union[_T, _Exit]:
        try:
            task = self._loop.create_task(_guarded(work))
            try:
                return self._loop.run_until_complete(task)
            except BaseException:
                # After Ctrl-C, the call notices that it is cancelled.
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

    def catch_up(self) -> None:
        """Take in what has already arrived, if no thread is running the loop."""
        if self.is_foreign or self._is_closed or asyncio._get_running_loop() is not None:
            return
        if self._turn.acquire(blocking=False):
            self._runner = threading.get_ident()
            try:
                self._loop.run_until_complete(asyncio.sleep(0))
            finally:
                self._end_turn()

    def rest(self) -> None:
        """Let the loop run on its own thread, because the caller is about to wait for something else."""
        if self._runner == 0:
            self._last_call = 0.0
            self._resting.set()

    # The thread of its own

    def _run_between_calls(self) -> None:
        thread = threading.get_ident()
        while not self._is_closed:
            self._resting.wait(self.MOMENT)
            self._resting.clear()
            if monotonic() - self._last_call < self.MOMENT and not self._guests:
                continue
            # During a call this thread does not wait for its end, because waking it then would delay the next call.
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
        """End the thread."""
        if self.is_foreign:
            return
        self._is_closed = True
        while self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._step_aside)
            self._thread.join(0.05)
        # A call of another thread ends soon, because the connection is closed.
        if self._turn.acquire(timeout=5):
            self._loop.close()
