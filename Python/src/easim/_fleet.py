"""Submit jobs to an executor until each has a result: retries, lost workers, stragglers, progress."""

from __future__ import annotations

import collections
import concurrent.futures
import os
import statistics
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

from .errors import EasimError

Executor = concurrent.futures.Executor
Source = Union[Executor, Callable[[], Executor], None]
Notify = Union[bool, Callable[["Progress"], None], None]
Work = Callable[[dict[str, Any]], dict[str, Any]]

_LOOK_EVERY = 0.25
_SLOW = 3.0
_SHORTEST = 1.0


@dataclass(frozen=True)
class Progress:
    """The progress of a run."""

    done: int
    """Jobs with a result."""
    total: int
    """All jobs."""
    running: int
    """Jobs held by the executor, including second runs."""
    retried: int
    """Runs that failed or were lost with their worker, and were submitted again."""
    stragglers: int
    """Slow jobs for which a second run was started."""
    seconds: float
    """The time since the start."""

    def __str__(self) -> str:
        """Format the progress as one line."""
        left = self.seconds / self.done * (self.total - self.done) if self.done else 0.0
        text = f"{self.done} of {self.total} jobs, {self.running} running, {self.seconds:.0f} s"
        if 0 < self.done < self.total:
            text += f", {left:.0f} s left"
        for count, what in ((self.retried, "retried"), (self.stragglers, "run twice")):
            text += f", {count} {what}" if count else ""
        return text


@dataclass
class Pool:
    """An executor, and how to replace it if it breaks."""

    executor: Executor
    make: Optional[Callable[[], Executor]]
    owned: bool
    breaks: int = 0

    def replace(self) -> bool:
        """Replace a broken executor, or return False if that is impossible."""
        if self.make is None:
            return False
        if self.owned:
            self.executor.shutdown(wait=False)
        self.executor = self.make()
        self.breaks += 1
        return True


@contextmanager
def pool(source: Source) -> Iterator[Pool]:
    """Use an executor; if it was created here, shut it down at the end."""
    if isinstance(source, Executor):
        yield Pool(source, None, owned=False)
        return
    # Each job is a separate process, so threads are enough to wait for the jobs.
    make = source if source is not None else lambda: concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1)
    made = Pool(make(), make, owned=True)
    try:
        yield made
    finally:
        made.executor.shutdown(wait=False)


def workers_of(executor: Executor) -> int:
    """Guess how many jobs an executor runs at a time."""
    known = getattr(executor, "_max_workers", None)
    if isinstance(known, int) and known > 0:
        return known
    # Dask's executor has a client that knows the number of threads.
    threads = getattr(getattr(executor, "_client", None), "nthreads", None)
    if callable(threads):
        try:
            return max(1, int(sum(threads().values())))
        except (AttributeError, TypeError):
            pass
    return os.cpu_count() or 1


@dataclass
class Fleet:
    """One run over all jobs."""

    work: Work
    pool: Pool
    workers: Optional[int] = None
    attempts: int = 3
    speculates: bool = True
    notify: Notify = None
    results: dict[int, dict[str, Any]] = field(default_factory=dict)
    lost: dict[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Prepare the run."""
        if self.attempts < 1:
            raise EasimError(f"attempts is {self.attempts}, but must be at least 1", kind="params")
        self._jobs: Sequence[dict[str, Any]] = ()
        self._waiting: collections.deque[int] = collections.deque()
        self._running: dict[concurrent.futures.Future[dict[str, Any]], tuple[int, float]] = {}
        self._failed: collections.Counter[int] = collections.Counter()
        self._twice: set[int] = set()
        self._took: list[float] = []
        self._retried = self._stragglers = self._breaks_in_a_row = 0
        self._began = self._told = time.monotonic()
        workers = self.workers if self.workers is not None else workers_of(self.pool.executor)
        # Queues one extra job per worker, so that no worker is idle while a result is in transit.
        self.width = max(1, workers) * 2

    @property
    def progress(self) -> Progress:
        """The progress of the run."""
        seconds = time.monotonic() - self._began
        running = len(self._running)
        return Progress(len(self.results), len(self._jobs), running, self._retried, self._stragglers, seconds)

    def run(self, jobs: Sequence[dict[str, Any]]) -> None:
        """Run until every job has a result or is lost."""
        self._jobs = jobs
        self._waiting.extend(range(len(jobs)))
        try:
            while len(self.results) + len(self.lost) < len(self._jobs):
                self._submit()
                done, _ = concurrent.futures.wait(
                    self._running, timeout=_LOOK_EVERY, return_when=concurrent.futures.FIRST_COMPLETED
                )
                broken: list[str] = []
                for future in done:
                    self._take(future, broken)
                if broken:
                    self._replace(broken[0])
                self._tell()
        finally:
            for future in self._running:
                future.cancel()
        self._tell(last=True)

    def _submit(self) -> None:
        while self._waiting and len(self._running) < self.width:
            if not self._start(self._waiting.popleft()):
                return
        if self._waiting or not self.speculates or not self._took:
            return
        limit = max(_SHORTEST, _SLOW * statistics.median(self._took))
        now = time.monotonic()
        for index, started in list(self._running.values()):
            late = now - started > limit
            if late and index not in self._twice and index not in self.results and len(self._running) < self.width:
                self._twice.add(index)
                self._stragglers += 1
                self._start(index)

    def _start(self, index: int) -> bool:
        try:
            future = self.pool.executor.submit(self.work, self._jobs[index])
        except (concurrent.futures.BrokenExecutor, RuntimeError) as error:
            if index not in self._waiting:
                self._waiting.appendleft(index)
            self._replace(str(error))
            return False
        self._running[future] = (index, time.monotonic())
        return True

    def _take(self, future: concurrent.futures.Future[dict[str, Any]], broken: list[str]) -> None:
        index, _ = self._running.pop(future)
        if index in self.results or index in self.lost:
            return
        try:
            result = future.result()
        except concurrent.futures.BrokenExecutor as error:
            broken.append(str(error))
            self._again(index)
            return
        except (Exception, concurrent.futures.CancelledError) as error:
            self._failed[index] += 1
            if any(other == index for other, _ in self._running.values()):
                return
            if self._failed[index] >= self.attempts:
                self.lost[index] = str(error) or type(error).__name__
            else:
                self._again(index)
            return
        if "refused" in result:
            raise EasimError(str(result["refused"]), kind="params")
        self._breaks_in_a_row = 0
        self.results[index] = result
        self._took.append(float(result["seconds"]))

    def _again(self, index: int) -> None:
        self._retried += 1
        self._twice.discard(index)
        if index not in self._waiting:
            self._waiting.append(index)

    def _replace(self, reason: str) -> None:
        """Replace a broken pool, which has lost all its jobs; it is unknown which job broke the pool."""
        for index, _ in self._running.values():
            if index not in self.results and index not in self.lost:
                self._again(index)
        self._running.clear()
        self._breaks_in_a_row += 1
        if self._breaks_in_a_row > self.attempts or not self.pool.replace():
            for index in self._waiting:
                self.lost.setdefault(index, reason)
            self._waiting.clear()

    def _tell(self, last: bool = False) -> None:
        now = time.monotonic()
        if not self.notify or (now - self._told < 1 and not last):
            return
        self._told = now
        if callable(self.notify):
            self.notify(self.progress)
        else:
            print(f"easim fleet: {self.progress}", file=sys.stderr, flush=True)
