"""JSON-RPC without I/O: requests become lines, and received bytes become answers and notices.

Both interfaces, the plain one and the one for asyncio, are built on this.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Optional, Union

from .errors import EasimError


@dataclass(frozen=True)
class Answer:
    """The answer to the request with this number: a result, or an error."""

    number: int
    result: Optional[dict[str, Any]]
    error: Optional[EasimError]


@dataclass(frozen=True)
class Notice:
    """Something that happened: ``event``, ``app``, ``session``, ``change`` or ``dropped``, and its parameters."""

    method: str
    params: dict[str, Any]


class Wire:
    r"""One connection to a server.

    >>> wire = Wire()
    >>> wire.request("server.info", {})
    (1, b'{"jsonrpc":"2.0","id":1,"method":"server.info","params":{}}\n')
    >>> wire.receive(b'{"jsonrpc":"2.0","id":1,"result":{"worlds":')
    []
    >>> wire.receive(b'1}}\n{"jsonrpc":"2.0","method":"app","params":{"app":"p1"}}\n')
    [Answer(number=1, result={'worlds': 1}, error=None), Notice(method='app', params={'app': 'p1'})]
    """

    def __init__(self) -> None:
        """Begin with request 1."""
        self._last = 0
        self._rest = bytearray()

    def request(self, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        """Return the number of a new request, and its line."""
        self._last += 1
        line = {"jsonrpc": "2.0", "id": self._last, "method": method, "params": params}
        return self._last, json.dumps(line, separators=(",", ":")).encode() + b"\n"

    def receive(self, data: bytes) -> list[Union[Answer, Notice]]:
        """Take bytes, and return the complete messages."""
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [self._read(line) for line in lines if line.strip()]

    @staticmethod
    def _read(line: bytes) -> Union[Answer, Notice]:
        try:
            message = json.loads(line)
            if "method" in message:
                return Notice(message["method"], message["params"])
            if "error" in message:
                error = message["error"]
                data = error.get("data") or {}
                kind = data.get("kind", "error")
                return Answer(
                    message["id"] or 0,
                    None,
                    EasimError(error["message"], kind=kind, advice=data.get("advice"), data=data),
                )
            return Answer(message["id"], message["result"], None)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            shown = line[:200].decode("utf-8", "replace")
            raise EasimError(f"easim sent a line that is not JSON-RPC: {shown}", kind="program") from problem


def seconds(time: float) -> str:
    """Write a time as easim reads it.

    >>> seconds(10), seconds(0.25), seconds(2.5e-6)
    ('10000000us', '250000us', '3us')
    """
    if time < 0:
        raise ValueError(f"a time cannot be negative: {time}")
    return f"{-int(-time * 1_000_000 // 1)}us"
