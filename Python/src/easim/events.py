"""What can happen, and in which time, by name."""

from __future__ import annotations

from typing import Literal, Union

Time = Literal["real", "virtual"]
"""The kinds of time of a world."""

ConnectEvent = Literal["connect", "disconnect"]
"""The two notifications about accessories."""

AppEvent = Literal["connect", "disconnect", "delegateDisconnect", "suspended", "resumed", "ended"]
"""What an app is notified of (docs/control.md)."""

SessionEvent = Literal["opened", "readable", "ended"]
"""What happens to a session (docs/control.md)."""

TimelineEvent = Literal[
    "attach",
    "detach",
    "link",
    "message",
    "identification",
    "authentication",
    "connect",
    "disconnect",
    "session.open",
    "session.close",
    "alert",
    "fault",
    "warning",
    "refused",
    "note",
    "result",
]
"""What happens in a world (docs/commands.md)."""

Event = Union[TimelineEvent, AppEvent, SessionEvent]
"""Anything that ``World.run_until`` can wait for."""
