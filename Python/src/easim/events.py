"""The names of events, and of the kinds of time."""

from __future__ import annotations

from typing import Literal, Union

Time = Literal["real", "virtual"]
"""The kinds of time that a world can use."""

ConnectEvent = Literal["connect", "disconnect"]
"""The two notifications that apps get about accessories."""

AppEvent = Literal["connect", "disconnect", "delegateDisconnect", "suspended", "resumed", "ended"]
"""The notices about an app (docs/control.md)."""

SessionEvent = Literal["opened", "readable", "ended"]
"""The notices about a session (docs/control.md)."""

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
"""The events on a world's timeline (docs/commands.md)."""

Event = Union[TimelineEvent, AppEvent, SessionEvent]
"""The events that ``World.run_until`` can wait for."""
