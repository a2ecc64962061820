"""Apps of a world's device, for asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Optional

from ._session import DEFAULT_TIMEOUT, LONGEST_READ, Session
from ._wire import limited, seconds, state_of
from .errors import EasimError, Timeout
from .events import AppEvent, ConnectEvent, check_name
from .states import AppState, ConnectedAccessory

if TYPE_CHECKING:
    from ._accessory import Accessory
    from .aio import World

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True


class App:
    """An app on the device of a world."""

    def __init__(self, world: World) -> None:
        """Use :meth:`World.app`."""
        self.world = world
        self.id = ""
        self.notices: list[dict[str, Any]] = []
        """The app's notifications so far, in order."""
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
        if self.world.is_virtual:
            self.world.clock.now = max(self.world.clock.now, float(news["t"]))
        if news["event"] == "ended":
            self.world.forget("app", self.id)

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.world.server.call(f"app.{method}", app=self.id, **params)
        self.world.raise_behavior_error()
        return answer

    @property
    def events(self) -> list[ConnectEvent]:
        """The app's connects and disconnects so far, by name."""
        return [notice["event"] for notice in self.notices if notice["event"] in ("connect", "disconnect")]

    @property
    def sessions(self) -> list[Session]:
        """The app's open sessions."""
        self._sessions = [session for session in self._sessions if session.is_open]
        return list(self._sessions)

    async def accessories(self) -> list[ConnectedAccessory]:
        """List the accessories that the app sees (``connectedAccessories``)."""
        return [state_of(ConnectedAccessory, seen) for seen in (await self._call("accessories"))["accessories"]]

    async def wait_for(self, event: AppEvent, *, timeout: Optional[float] = DEFAULT_TIMEOUT) -> dict[str, Any]:
        """Wait for the next ``connect``, ``disconnect`` or other notice after the last one that was awaited."""
        limited(timeout)
        check_name(event, AppEvent)
        found = self._next(event)
        if found is None:
            # The notifications in this list have already been searched, so the server's search skips them.
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
                there = [accessory.name for accessory in await self.accessories()]
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
        asked = {
            "app": self.id,
            "protocol": protocol,
            "accessory": None if accessory is None else accessory.id,
            "port": not self.world.is_virtual,
        }
        refusal: Optional[EasimError] = None

        async def wait(left: float) -> dict[str, Any]:
            nonlocal refusal
            try:
                return await self.world.server.call("app.open", wait=seconds(left), **asked)
            except EasimError as error:
                if error.kind != "refused":
                    raise
                refusal = error
            # When the server refuses a session, its error does not contain the time.
            stopped = {} if not self.world.is_virtual else await self.world.call("time.now")
            return {"stopped": "limit", **stopped}

        state = await self.world.wait(timeout, wait, LONGEST_READ)
        if "session" not in state:
            assert refusal is not None
            what = f"no session on {protocol} within {self.world.shown(timeout)}: {refusal.message}"
            raise Timeout(what, kind="timeout", advice=refusal.advice) from refusal
        session = Session(self.world, state["session"], protocol, app=self)
        self._sessions.append(session)
        if self.world.is_virtual:
            await self.world.settle(1.0)
        else:
            try:
                await session.connect(state.get("firstLine"))
            except EasimError:
                # The session has already ended, or the server has no socket. Reading or sending will report the error.
                pass
        return session

    async def register(self) -> None:
        """Register for notifications again."""
        await self._call("register")

    async def unregister(self) -> None:
        """Undo one registration."""
        await self._call("unregister")

    async def background(self) -> None:
        """Put the app into the background, where it keeps running."""
        await self._call("background")

    async def suspend(self) -> None:
        """Suspend the app."""
        await self._call("suspend")

    async def foreground(self) -> None:
        """Bring the app to the foreground."""
        await self._call("foreground")

    async def kill(self, *, leave_sessions: bool = False) -> None:
        """Kill the app, as the system or the user would.

        The device closes its sessions or leaves them open, as some Apple devices do.
        """
        await self._call("kill", sessions="left" if leave_sessions else None)

    async def crash(self, *, leave_sessions: bool = False) -> None:
        """End the app as if it had crashed."""
        await self._call("crash", sessions="left" if leave_sessions else None)

    async def state(self) -> AppState:
        """Return the app's state."""
        for state in (await self.world.call("app.list"))["apps"]:
            if state["app"] == self.id:
                return state_of(AppState, state)
        raise EasimError(f"the app '{self.id}' is gone", kind="gone")
