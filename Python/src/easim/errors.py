"""easim's errors. Each states what is wrong and, if easim knows it, what to do."""

from __future__ import annotations

import builtins
from typing import Any, Optional


class EasimError(Exception):
    """Something that easim could not do.

    ``kind`` is for programs: ``"refused"``, ``"gone"``, ``"params"``, … as docs/control.md lists them, and
    ``"program"`` for a program that cannot be used. ``advice`` is a sentence, or None.

    >>> error = EasimError("the app sees no accessory", kind="refused", advice="plug one in")
    >>> str(error)
    'the app sees no accessory: plug one in'
    """

    def __init__(self, message: str, *, kind: str = "error", advice: Optional[str] = None, data: Any = None) -> None:
        """Create an error of this kind."""
        super().__init__(f"{message}: {advice}" if advice else message)
        self.message = message
        self.kind = kind
        self.advice = advice
        self.data = data


class ProgramError(EasimError):
    """The program easim is missing, too old, or has ended."""


class Timeout(EasimError, builtins.TimeoutError):
    """The expected event did not happen in time."""


class SessionEnded(EasimError, ConnectionError):
    """The session has ended. The message gives the reason."""
