"""Your own cases for ``easim check --cases FILE.py``.

A case is a function that talks to the accessory through a session, which easim opens. The case fails if the function
raises an exception. The report then shows the text of the exception, and the session's packets as evidence.

.. code-block:: python

    from easim import check

    @check.case("902", "answers VERSION")
    def version(session):
        session.send(b"VERSION?\\r\\n")
        assert session.recv_until(b"\\r\\n") == b"METER 1.0\\r\\n"
"""

from __future__ import annotations

import json
import os
import runpy
import sys
import time
import traceback
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any, Optional

from .errors import EasimError, SessionEnded, Timeout

__all__ = ["Session", "Skip", "case", "skip"]

SEVERITIES = ("error", "warning", "note")


class Skip(Exception):
    """Raised by :func:`skip` to say that a case cannot be judged."""


def skip(reason: str) -> None:
    """Skip the current case. The report shows the reason."""
    raise Skip(reason)


class _Case:
    def __init__(self, run: Callable[[Session], object], entry: dict[str, Any]) -> None:
        self.run = run
        self.entry = entry


_cases: dict[int, _Case] = {}


def case(
    number: str, title: str, *, protocol: Optional[str] = None, severity: str = "error", fix: Optional[str] = None
) -> Callable[[Callable[[Session], object]], Callable[[Session], object]]:
    """Register a function as a case, which reports call ``own-NUMBER``.

    ``title`` states the rule. ``protocol`` is the protocol of the session; the default is the protocol that
    ``easim check`` uses. ``severity`` is ``error``, ``warning`` or ``note``. ``fix`` explains what to change in the
    firmware.
    """
    if not str(number).isdecimal() or int(number) > 99_999:
        raise EasimError(f"the number of a case is {number!r}", kind="params", advice="use a number up to 99999")
    if severity not in SEVERITIES:
        raise EasimError(f"severity is {severity!r}", kind="params", advice=f"use {', '.join(SEVERITIES)}")
    if int(number) in _cases:
        raise EasimError(f"two cases have the number {number}", kind="params", advice="give each case its own number")

    def mark(run: Callable[[Session], object]) -> Callable[[Session], object]:
        code = run.__code__
        place = f"{Path(code.co_filename).name}, line {code.co_firstlineno}"
        _cases[int(number)] = _Case(
            run,
            {
                "id": int(number),
                "title": title,
                "protocol": protocol,
                "severity": severity,
                "fix": fix or f"Do what the case expects: {place}.",
            },
        )
        return run

    return mark


class Session:
    """The session of a case, with the same methods as the other sessions in this package."""

    def __init__(self, line: _Line, protocol: str) -> None:
        """Create the session; only easim calls this."""
        self.protocol = protocol
        self.timeout = 10.0
        """The seconds that ``recv`` and ``recv_until`` wait."""
        self.is_open = True
        self.reason: Optional[str] = None
        self._line = line
        self._rest = bytearray()

    def _ask(self, **request: Any) -> bytes:
        answer = self._line.ask(request)
        if answer.get("end") is not None:
            self.is_open, self.reason = False, answer["end"]
        return bytes.fromhex(answer.get("data") or "")

    def send(self, data: bytes) -> None:
        """Send all bytes."""
        if not isinstance(data, (bytes, bytearray, memoryview)):
            raise TypeError(f"a session sends bytes, not {type(data).__name__}")
        if self.is_open:
            self._ask(send=bytes(data).hex())
        if not self.is_open:
            raise SessionEnded(f"the session ended: {self.reason}", kind="gone")

    def recv(self, count: Optional[int] = None) -> bytes:
        """Wait for exactly ``count`` bytes or, without a count, for the first bytes that arrive."""
        self._collect(lambda: len(self._rest) >= (1 if count is None else count), count)
        size = len(self._rest) if count is None else count
        data = bytes(self._rest[:size])
        del self._rest[:size]
        return data

    def recv_until(self, end: bytes) -> bytes:
        """Wait for bytes up to and including ``end``."""
        self._collect(lambda: end in self._rest, end)
        return self.recv(self._rest.find(end) + len(end))

    def silent(self, seconds: float) -> bool:
        """Wait for a number of seconds, and return whether no bytes arrived."""
        limit = time.monotonic() + seconds
        while not self._rest and self.is_open and (left := limit - time.monotonic()) > 0:
            self._rest += self._ask(receive=min(left, 1.0))
        return not self._rest

    def _collect(self, done: Callable[[], bool], wanted: object) -> None:
        limit = time.monotonic() + self.timeout
        while not done():
            left = limit - time.monotonic()
            if self.is_open and left > 0:
                # Polls at least once a second, because easim stops a case that has been silent for a long time.
                self._rest += self._ask(receive=min(left, 1.0))
                continue
            got = f"{bytes(self._rest)!r} arrived" if self._rest else "nothing arrived"
            if wanted is not None:
                got += f" instead of {wanted!r}" if isinstance(wanted, bytes) else f" instead of {wanted} bytes"
            if not self.is_open:
                raise SessionEnded(f"{got}, and the session ended: {self.reason}", kind="gone")
            raise Timeout(f"{got} within {self.timeout:g} s", kind="timeout")


class _Line:
    """The connection to easim, with one JSON object per line."""

    def __init__(self, source: IO[str], sink: IO[str]) -> None:
        self._source = source
        self._sink = sink

    def tell(self, value: dict[str, Any]) -> None:
        self._sink.write(json.dumps(value) + "\n")
        self._sink.flush()

    def hear(self) -> Optional[dict[str, Any]]:
        text = self._source.readline()
        value: Optional[dict[str, Any]] = json.loads(text) if text else None
        return value

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        self.tell(request)
        answer = self.hear()
        if answer is None:
            sys.exit(0)
        return answer


def _place(error: BaseException, file: str) -> str:
    frames = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == file]
    return f" ({Path(file).name}, line {frames[-1].lineno}: {frames[-1].line})" if frames else ""


def _judge(one: _Case, session: Session, file: str) -> dict[str, Any]:
    try:
        one.run(session)
    except Skip as reason:
        return {"outcome": "skipped", "text": str(reason)}
    except Exception as error:
        kind = "" if isinstance(error, (AssertionError, EasimError)) else f"{type(error).__name__}: "
        text = str(error) or "its assertion failed"
        return {"outcome": "failed", "text": f"{kind}{text}{_place(error, file)}"}
    return {"outcome": "passed"}


def main() -> None:
    """Run the cases in the file named by the arguments; ``easim check --cases`` starts this function."""
    line = _Line(sys.stdin, os.fdopen(os.dup(1), "w"))
    # All output from the code in the file goes to easim's stderr.
    sys.stdout = sys.stderr
    file = str(Path(sys.argv[1]).absolute())
    sys.path.insert(0, str(Path(file).parent))
    try:
        runpy.run_path(file, run_name="easim_cases")
    except Exception as error:
        line.tell({"problem": f"{type(error).__name__}: {error}{_place(error, file)}"})
        return
    line.tell({"cases": [one.entry for one in _cases.values()]})
    while (order := line.hear()) is not None:
        session = Session(line, order["protocol"])
        line.tell(_judge(_cases[order["run"]], session, file))
