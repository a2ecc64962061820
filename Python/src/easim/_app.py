"""Apps of a world's device, for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._session import DEFAULT_TIMEOUT, Session
from ._wire import limited
from .errors import EasimError, Timeout

if TYPE_CHECKING:
    from ._accessory import Accessory
    from .aio import World

# pytest shows errors at the call in the test, not in this package.
__tracebackhide__ = True

CONNECTS = ("connect", "disconnect")


class App:
    """An app on the device of a world."""

    def __init__(self, world: World) -> None:
        """Use :meth:`World.app`."""
        self.world = world
        self.id = ""
        self.notices: list[dict[str, Any]] = []
        """Its notifications so far, in order."""
        self._sessions: list[Session] = []
        self._waited = 0

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<App {self.id} {self.events}>"

    def _begin(self, name: str) -> None:
        self.id = name
        self.world.listen("app", name, self._handle)

    def _handle(self, news: dict[str, Any]) -> None:
        self.notices.append(news)
        if news["event"] == "ended":
            self.world.forget("app", self.id)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.world.server.call(f"app.{method}", app=self.id, **params)
        self.world.raise_behavior_error()
        return answer

    @property
    def events(self) -> list[str]:
        """Its connects and disconnects so far, by name."""
        return [notice["event"] for notice in self.notices if notice["event"] in CONNECTS]

    @property
    def sessions(self) -> list[Session]:
        """Its open sessions."""
        self._sessions = [session for session in self._sessions if session.is_open]
        return list(self._sessions)

    async def accessories(self) -> list[dict[str, Any]]:
        """List the accessories that it sees: its ``connectedAccessories``."""
        return list((await self._call("accessories"))["accessories"])

    async def wait_for(self, event: str, *, timeout: Optional[float] = DEFAULT_TIMEOUT) -> dict[str, Any]:
        """Wait for the next ``connect``, ``disconnect`` or other notice since the last one that was awaited."""
        limited(timeout)
        found = self._next(event)
        if found is None:
            # All notices kept here have been searched, and the server keeps fewer.
            seen = max(self._waited, self.notices[-1]["number"] if self.notices else 0)
            notice = await self.world.find_notice(event, timeout, app=self.id, after=seen)
            found = self._next(event) or notice
        if found is None:
            raise Timeout(
                f"no '{event}' within {self.world.shown(timeout)}; {await self._so_far(event)}", kind="timeout"
            )
        self._waited = found["number"]
        self.world.raise_behavior_error()
        return found

    def _next(self, event: str) -> Optional[dict[str, Any]]:
        later = (notice for notice in self.notices if notice["number"] > self._waited and notice["event"] == event)
        return next(later, None)

    async def _so_far(self, event: str) -> str:
        said = f"the app's events so far: {', '.join(self.events) or 'nothing'}"
        if event == "connect" and event not in self.events:
            try:
                there = [str(accessory["name"]) for accessory in await self.accessories()]
            except EasimError:
                there = []
            if there:
                said += f"; the app was launched after {', '.join(there)} had connected: app.accessories() has it"
        if self.world.server.link.dropped:
            said += f"; {self.world.server.link.dropped} notices were lost, because they were not read in time"
        return said

    async def open(
        self,
        protocol: str,
        *,
        accessory: Optional[Accessory] = None,
        timeout: Optional[float] = DEFAULT_TIMEOUT,
    ) -> Session:
        """Open a session as soon as an accessory offers the protocol."""
        limited(timeout)
        end = None if timeout is None else await self.world.clock_time() + timeout
        while True:
            # Notices that arrive between the refusal and the wait must not be missed.
            seen = self.notices[-1]["number"] if self.notices else 0
            try:
                state = await self._call(
                    "open", protocol=protocol, accessory=accessory.id if accessory is not None else None
                )
                break
            except EasimError as error:
                if error.kind != "refused":
                    raise
                left = None if end is None else max(0.0, end - await self.world.clock_time())
                if left == 0 or await self.world.find_notice("connect", left, app=self.id, after=seen) is None:
                    what = f"no session on {protocol} within {self.world.shown(timeout)}: {error.message}"
                    raise Timeout(what, kind="timeout", advice=error.advice) from error
        session = Session(self.world, state["session"], protocol, app=self)
        self._sessions.append(session)
        if self.world.is_virtual:
            await self.world.settle(1.0)
        else:
            try:
                await session.connect()
            except EasimError:
                # The session has already ended, or the server has no socket; reading or sending will report the error.
                pass
        return session

    async def register(self) -> None:
        """Register for notifications once more."""
        await self._call("register")

    async def unregister(self) -> None:
        """Undo one registration."""
        await self._call("unregister")

    async def background(self) -> None:
        """Put it into the background, where it keeps running."""
        await self._call("background")

    async def suspend(self) -> None:
        """Suspend it."""
        await self._call("suspend")

    async def foreground(self) -> None:
        """Bring it to the foreground."""
        await self._call("foreground")

    async def kill(self, *, leave_sessions: bool = False) -> None:
        """Kill it, as the system or the user would.

        The device closes its sessions or leaves them open, as Apple devices have been seen to do.
        """
        await self._call("kill", sessions="left" if leave_sessions else None)

    async def crash(self, *, leave_sessions: bool = False) -> None:
        """End it as if it had crashed."""
        await self._call("crash", sessions="left" if leave_sessions else None)

    async def state(self) -> dict[str, Any]:
        """Return its state, as ``app.list`` shows it."""
        for state in (await self.world.call("app.list"))["apps"]:
            if state["app"] == self.id:
                return dict(state)
        raise EasimError(f"the app '{self.id}' is gone", kind="gone")
