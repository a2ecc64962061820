"""The names of events, and of the kinds of time."""

from __future__ import annotations

import difflib
from typing import Literal, Union, get_args

from .errors import EasimError

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


def check_name(event: str, *kinds: object) -> None:
    """Refuse a name that is no event of these kinds, because waiting for it would end only by the timeout."""
    names = [name for kind in kinds for name in get_args(kind)]
    if event not in names:
        near = difflib.get_close_matches(event, names, 1)
        advice = f"did you mean '{near[0]}'?" if near else f"expected {', '.join(names)}"
        raise EasimError(f"unknown event '{event}'", kind="params", advice=advice)
