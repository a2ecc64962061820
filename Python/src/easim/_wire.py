"""JSON-RPC without I/O: requests become lines, and received bytes become answers and notices.

Both interfaces, the plain one and the one for asyncio, are built on this.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, fields
from typing import Any, Optional, TypeVar, Union

from .errors import EasimError

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True

_Time = TypeVar("_Time", float, Optional[float])
_State = TypeVar("_State")

_ENCODER = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False)
_DECODER = json.JSONDecoder()
LONGEST = 4 << 20
"""The longest line that a server reads."""


@dataclass(frozen=True)
class Answer:
    """The answer to a request: a result or an error. Without a number, it answers an unreadable line."""

    number: Optional[int]
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
        r"""Return the number and the line of a new request. A request that the server could not read is refused here.

        >>> Wire().request("app.launch", {"name": "\ud800"})
        Traceback (most recent call last):
        ...
        easim.errors.EasimError: the parameters of app.launch contain half of a surrogate pair: '\ud800'
        """
        message = {"jsonrpc": "2.0", "id": self._last + 1, "method": method, "params": params}
        try:
            line = _ENCODER.encode(message).encode() + b"\n"
        except UnicodeEncodeError as error:
            half = error.object[error.start]
            what = f"the parameters of {method} contain half of a surrogate pair: {half!r}"
            raise EasimError(what, kind="params") from None
        except ValueError as error:
            raise EasimError(f"the parameters of {method} are not JSON: {error}", kind="params") from None
        if len(line) > LONGEST:
            what = f"the request {method} has {len(line)} bytes, but the server accepts at most {LONGEST}"
            raise EasimError(what, kind="limit", advice="send less at once")
        self._last += 1
        return self._last, line

    def receive(self, data: Union[bytes, memoryview]) -> list[Union[Answer, Notice]]:
        """Process received bytes, and return the complete messages."""
        self._rest += data
        *lines, self._rest = self._rest.split(b"\n")
        return [self._read(line) for line in lines if line.strip()]

    @staticmethod
    def _read(line: bytes) -> Union[Answer, Notice]:
        try:
            message = _DECODER.decode(line.decode())
            if "method" in message:
                return Notice(message["method"], message["params"])
            if "error" in message:
                error = message["error"]
                data = error.get("data") or {}
                kind = data.get("kind", "error")
                return Answer(
                    message["id"],
                    None,
                    EasimError(error["message"], kind=kind, advice=_in_python(data.get("advice")), data=data),
                )
            return Answer(message["id"], message["result"], None)
        except (ValueError, KeyError, TypeError, AttributeError) as problem:
            shown = line[:200].decode("utf-8", "replace")
            raise EasimError(f"easim sent a line that is not JSON-RPC: {shown}", kind="program") from problem


_NAMES = {"runUntil": "wait_for", "read": "recv", "write": "send", "port": "detach"}
_METHOD = re.compile(r"\b(?:accessory|app|session|time)\.([a-z]\w+)")


def _in_python(advice: Optional[str]) -> Optional[str]:
    """Replace the control protocol's names in advice by those of this package.

    >>> _in_python("create a world with time: virtual, or wait with time.runUntil")
    "create a world with time='virtual', or wait with wait_for()"
    """
    named = _METHOD.sub(lambda found: f"{_NAMES.get(found[1], found[1])}()", advice or "")
    return re.sub(r"\btime: (virtual|real)\b", r"time='\1'", named) or None


def seconds(time: float) -> str:
    """Format a time for easim.

    >>> seconds(10), seconds(0.25), seconds(2.5e-6)
    ('10000000us', '250000us', '3us')
    """
    return f"{math.ceil(round(limited(time) * 1_000_000, 3))}us"


Duration = Union[float, str]
"""A number of seconds, or a string such as ``"250ms"``."""
Chance = Union[float, str]
"""A number from 0 to 1, or a string such as ``"2.5%"``."""


def described(name: str, **keys: Union[float, str, None]) -> str:
    """Format a quirk or fault as on the command line, without the keys whose value is None.

    >>> described("latency", delay=duration(0.05), capacity=None, for_="2s")
    'latency,delay=50000us,for=2s'
    """
    parts = [name]
    for key, value in keys.items():
        if isinstance(value, str) and "," in value:
            raise ValueError(f"{name}: {key} cannot contain a comma: {value!r}")
        if value is not None:
            parts.append(f"{key.rstrip('_')}={value}")
    return ",".join(parts)


def duration(time: Optional[Duration]) -> Optional[str]:
    """Format a number of seconds for easim; a string is returned unchanged."""
    return time if time is None or isinstance(time, str) else seconds(time)


def limited(time: _Time) -> _Time:
    """Refuse a time that is negative or not a number. None means no limit.

    >>> limited(-1)
    Traceback (most recent call last):
    ...
    ValueError: a time cannot be negative: -1
    """
    if time is None:
        return time
    if isinstance(time, bool) or not isinstance(time, (int, float)):
        raise TypeError(f"a time is a number of seconds, not {type(time).__name__}")
    if math.isnan(time) or math.isinf(time):
        raise ValueError(f"a time is a number of seconds, not {time}: use None for no limit")
    if time < 0:
        raise ValueError(f"a time cannot be negative: {time}")
    return time


def _lowered(capitals: re.Match[str]) -> str:
    return f"_{capitals.group(1).lower()}"


def state_of(kind: type[_State], tree: dict[str, Any]) -> _State:
    """Create a state from a JSON object of the control protocol; keys added by later versions are ignored.

    >>> from easim.states import FaultState
    >>> state_of(FaultState, {"fault": "f1", "text": "loss", "hits": 0, "bytes": 0, "new": True})
    FaultState(fault='f1', text='loss', hits=0, bytes=0)
    """
    known = {field.name for field in fields(kind)}  # type: ignore[arg-type]
    named = {re.sub(r"(?<=[a-z])([A-Z]+)", _lowered, key): key for key in tree}
    return kind(**{name: tree[key] for name, key in named.items() if name in known})
