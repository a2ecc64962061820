"""What an accessory has received, for assertions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Optional, Union


@dataclass(frozen=True)
class Stream:
    """What an accessory has received in one session."""

    protocol: str
    began: float
    """When the session was opened, in seconds on the world's clock."""
    data: bytes
    dropped: int = 0
    """How many bytes before these are no longer kept."""


class Received:
    """What was looked for, and whether it arrived: true if it did, as often as was asked for.

    >>> streams = [Stream("com.example.echo", 0.5, b"VERSION?" + bytes([10]) + b"VERSON?" + bytes([10]))]
    >>> bool(Received(streams, b"VERSION?")), bool(Received(streams, b"VERSION?", times=2))
    (True, False)
    >>> Received(streams, b"VERSION?", times=2)
    <received b'VERSION?' 1 times, not 2>
    >>> Received(streams, b"VERSOIN?")
    <never received b'VERSOIN?'; nearest on com.example.echo: b'VERSON?\\n', where byte 5 is 4e ('N') and not 49 ('I')>
    """

    def __init__(self, streams: list[Stream], wanted: bytes, times: Optional[int] = None) -> None:
        """Count how often the wanted bytes arrived."""
        self.streams = streams
        self.wanted = wanted
        self.times = times
        self.count = sum(stream.data.count(wanted) for stream in streams)

    def __bool__(self) -> bool:
        """Whether it arrived as often as was asked for."""
        return self.count > 0 if self.times is None else self.count == self.times

    def __repr__(self) -> str:
        """Describe what arrived instead."""
        if self:
            return f"<received {self.wanted!r} {self.count} times>"
        if self.count:
            return f"<received {self.wanted!r} {self.count} times, not {self.times}>"
        return f"<never received {self.wanted!r}; {self._nearest()}>"

    def _nearest(self) -> str:
        """Describe the nearest match: the longest beginning that arrived, and the byte after it."""
        best: Optional[tuple[int, int, Stream]] = None
        for stream in self.streams:
            count, at = _longest(stream.data, self.wanted)
            if best is None or count > best[0]:
                best = (count, at, stream)
        if best is None:
            return "no session was opened"
        count, at, stream = best
        if not stream.data:
            return f"nothing came on {stream.protocol}"
        found = stream.data[at : at + max(len(self.wanted), 1)]
        where = f"nearest on {stream.protocol}: {found!r}"
        if at + count >= len(stream.data):
            return f"{where}, where the bytes end after {count}"
        return f"{where}, where byte {count} is {_byte(stream.data[at + count])} and not {_byte(self.wanted[count])}"


def _longest(data: bytes, wanted: bytes) -> tuple[int, int]:
    """Find the longest beginning of the wanted bytes that arrived, and where."""
    for count in range(len(wanted) - 1, 0, -1):
        at = data.find(wanted[:count])
        if at >= 0:
            return count, at
    return 0, 0


def _byte(value: int) -> str:
    return f"{value:02x} ({chr(value)!r})" if 0x20 <= value < 0x7F else f"{value:02x}"


def as_bytes(wanted: Union[bytes, str]) -> bytes:
    """Return the wanted bytes; text is encoded as UTF-8."""
    data = wanted.encode() if isinstance(wanted, str) else bytes(wanted)
    if not data:
        raise ValueError("nothing is always received: give some bytes")
    return data
