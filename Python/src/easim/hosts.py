"""Real accessories, or accessories of other processes: the Apple device at the other end of a cable.

>>> import easim
>>> address = getfixture("accessory_address")       # usb:, bt:, unix:PATH, tcp:HOST:PORT, local:
>>> with easim.hosts.open(address) as host:
...     report = host.burst(b"VERSION?" * 1000, count=20)
>>> report.bursts, report.errors, report.passed
(20, [], True)
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, Callable, Optional, Union

from ._driven import Context
from ._plain import App, Server, Session, World
from .errors import EasimError, SessionEnded, Timeout
from .states import ConnectedAccessory


@dataclass(frozen=True)
class BurstReport:
    """The result of sending bursts."""

    bursts: int
    """The number of bursts answered as expected."""
    bytes: int
    """The number of bytes sent in these bursts."""
    seconds: float
    """The total duration."""
    latencies: tuple[float, ...]
    """The times from the first byte sent to the last byte of the answer, in seconds, in order."""
    errors: list[str] = field(default_factory=list)
    """The errors; the run ends at the first one."""

    @property
    def passed(self) -> bool:
        """Whether there were any bursts and all of them were answered as expected."""
        return self.bursts > 0 and not self.errors

    @property
    def rate(self) -> float:
        """Bytes per second in each direction."""
        return self.bytes / self.seconds if self.seconds > 0 else 0.0

    def percentile(self, percent: float) -> float:
        """Return the latency that this percentage of the bursts did not exceed.

        >>> BurstReport(4, 40, 1.0, (0.1, 0.4, 0.2, 0.3)).percentile(50)
        0.2
        """
        if not self.latencies:
            raise EasimError("there were no bursts", kind="state")
        ordered = sorted(self.latencies)
        return ordered[max(0, -int(-len(ordered) * percent // 100) - 1)]

    def __str__(self) -> str:
        """Format the result as one line."""
        if not self.latencies:
            return "; ".join(self.errors) or "no bursts"
        count = f"{self.bursts} burst{'' if self.bursts == 1 else 's'}"
        shown = f"{count}, {self.rate / 1e6:.2f} MB/s, median {self.percentile(50) * 1e3:.2f} ms"
        return "; ".join([shown, *self.errors])


class HostConnection(Context):
    """The device at the other end of a cable, with one app."""

    def __init__(self, address: str, world: World, owned: Optional[Server] = None, **app: Any) -> None:
        """Use :func:`open`."""
        self.address = address
        self.world = world
        self._owned = owned
        self.app: App = world.app(**app)
        self.host = world.host(address)

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<HostConnection {self.address}>"

    def wait(self, *, timeout: float = 10.0) -> ConnectedAccessory:
        """Wait for an accessory that offers a protocol, and return it."""
        end = time.monotonic() + timeout
        while True:
            for accessory in self.app.accessories():
                if accessory.protocols:
                    return accessory
            left = end - time.monotonic()
            try:
                if left <= 0:
                    raise Timeout("", kind="timeout")
                self.app.wait_for("connect", timeout=left)
            except Timeout:
                what = f"no accessory at {self.address} within {timeout:g} s: {self._seen()}"
                raise Timeout(what, kind="timeout") from None

    def _seen(self) -> str:
        """How far the accessory's handshake got, as seen by the device."""
        state = self.host.state()
        reason = state.trouble
        events = [event for event in self.world.events() if event.get("side") == "device"]
        refused = [str(event.get("text")) for event in events if event["event"] in ("refused", "warning")]
        steps = [event["event"] for event in events if event.get("up", True)]
        if "connect" in steps:
            seen = "it connected but offered no protocol"
        elif "identification" in steps:
            seen = "it identified itself but was not shown to apps"
        elif "authentication" in steps:
            seen = "it did not authenticate" if refused else "it authenticated but did not identify itself"
        elif "link" in steps:
            seen = "it set up a link but did not authenticate"
        elif "attach" in steps:
            seen = "something is there, but it did not answer the device's first bytes"
        else:
            seen = "nothing is there"
        return "; ".join(dict.fromkeys([seen, *([reason] if reason else []), *refused[-1:]]))

    def open(self, protocol: Optional[str] = None, *, timeout: float = 10.0) -> Session:
        """Open a session. If no name is given, use the only protocol that the accessory offers."""
        if protocol is None:
            offered = self.wait(timeout=timeout).protocols
            if len(offered) > 1:
                raise EasimError(
                    f"several protocols are offered: {', '.join(offered)}", kind="params", advice="name one"
                )
            protocol = offered[0]
        return self.app.open(protocol, timeout=timeout)

    def burst(
        self,
        payload: Union[bytes, Iterable[bytes], None] = None,
        *,
        count: int = 100,
        protocol: Optional[str] = None,
        expect: Union[bytes, Callable[[bytes], bytes], None] = None,
        timeout: float = 10.0,
    ) -> BurstReport:
        """Send a payload ``count`` times over one session, and compare each answer.

        The payload is 10,000 bytes, or the one given; several payloads are sent in turn. ``expect`` is the answer, or a
        function that returns the answer to a payload; by default, the answer is the payload itself. A byte that differs
        ends the run at once. ``timeout`` applies to each answer.
        """
        payloads = [bytes(i & 0xFF for i in range(10_000))] if payload is None else _list(payload)
        if not payloads or not all(payloads):
            raise EasimError("a payload is empty", kind="params")
        latencies: list[float] = []
        errors: list[str] = []
        total = 0
        with self.open(protocol, timeout=timeout) as session:
            session.timeout = timeout
            began = time.monotonic()
            for number in range(count):
                sent = payloads[number % len(payloads)]
                wanted = sent if expect is None else expect if isinstance(expect, bytes) else expect(sent)
                start = time.monotonic()
                wrong = _exchange(session, sent, wanted)
                if wrong:
                    errors.append(f"burst {number + 1}: {wrong}")
                    break
                latencies.append(time.monotonic() - start)
                total += len(sent)
            took = time.monotonic() - began
        return BurstReport(len(latencies), total, took, tuple(latencies), errors)

    def close(self) -> None:
        """Disconnect."""
        try:
            self.world.remove()
        finally:
            if self._owned is not None:
                self._owned.close()


def _exchange(session: Session, sent: bytes, wanted: bytes) -> Optional[str]:
    """Send a payload, and return what is wrong with the answer as soon as a byte differs."""
    got = 0
    try:
        session.send(sent)
        while got < len(wanted):
            more = session.recv()
            expected = wanted[got : got + len(more)]
            if not more:
                raise session._ended(got)
            if more != expected:
                for place, (is_, should) in enumerate(zip(more, expected), got):
                    if is_ != should:
                        return f"byte {place} is {is_:02x} instead of {should:02x}"
                extra = more[len(expected) :]
                return f"more follows the expected {len(wanted)} bytes: {extra[:100]!r}"
            got += len(more)
    except Timeout as error:
        return str(session.aio.timed_out("", wanted[:got], f"of {len(wanted)} bytes") if got else error)
    except SessionEnded as error:
        return str(error)
    return None


def _list(payload: Union[bytes, Iterable[bytes]]) -> list[bytes]:
    if isinstance(payload, (bytes, bytearray, memoryview)):
        return [bytes(payload)]
    return [bytes(each) for each in payload]


def open(  # noqa: A001
    address: str,
    *,
    protocols: Optional[Iterable[str]] = None,
    program: Union[str, os.PathLike[str], None] = None,
    server: Optional[Server] = None,
) -> HostConnection:
    """Connect to the accessories at an address, as an Apple device does, with an app that declares ``protocols``."""
    owned = None if server is not None else Server(program)
    used = server if server is not None else owned
    assert used is not None
    try:
        return HostConnection(address, used.world(), owned, protocols=protocols)
    except BaseException:
        if owned is not None:
            owned.close()
        raise
