"""What an accessory has received, for assertions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Union


@dataclass(frozen=True)
class Received:
    """The result of a search for bytes, which is true if they arrived as many times as expected.

    >>> bool(Received(is_met=False, count=0, text="never received 'VERSION?'; no session was opened"))
    False
    """

    is_met: bool
    count: int
    """How many times the bytes arrived."""
    text: str
    """The result in words. If the bytes never arrived, it shows the closest match and the first byte that differs."""

    def __bool__(self) -> bool:
        """Return whether the bytes arrived as many times as expected."""
        return self.is_met

    def __repr__(self) -> str:
        """Show the result in words, as a failed assertion does."""
        return f"<{self.text}>"


def as_bytes(wanted: Union[bytes, str]) -> bytes:
    """Return the wanted bytes; text is encoded as UTF-8."""
    data = wanted.encode() if isinstance(wanted, str) else bytes(wanted)
    if not data:
        raise ValueError("give at least one byte: an empty sequence is always received")
    return data
