"""Accessories with their faults and captures, and the hosts of a world, for asyncio."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, Optional, Union

from ._behaviors import Behavior, play
from ._received import Received, as_bytes
from ._session import Session
from ._wire import state_of
from .errors import EasimError, SessionEnded
from .states import AccessoryCounters, AccessoryState, CaptureState, FaultState, HostState, ProxyState

if TYPE_CHECKING:
    from .aio import World

# Makes pytest show errors at the call in the test, not in this package.
__tracebackhide__ = True


def unmarked() -> EasimError:
    """Create the error for a test that has no accessory."""
    return EasimError(
        "this test has no accessory", kind="state", advice='mark it: @pytest.mark.easim(profile="lawk-view")'
    )


class Accessory:
    """A simulated accessory, which is initially unplugged."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`World.add`."""
        self.world = world
        self.id = name
        self._behaviors: dict[Optional[str], Behavior] = {}

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Accessory {self.id}>"

    async def _call(self, method: str, **params: Any) -> dict[str, Any]:
        answer = await self.world.server.call(f"accessory.{method}", accessory=self.id, **params)
        self.world.raise_behavior_error()
        return answer

    async def perform(self, action: str) -> None:
        """Perform any action of an accessory by the name of its method in the control protocol, such as ``restart``."""
        await self._call(action)

    async def plug(self) -> None:
        """Plug the accessory in."""
        await self._call("plug")

    async def unplug(self) -> None:
        """Unplug the accessory. Bytes in transit are still delivered."""
        await self._call("unplug")

    async def pull(self, *, unnoticed: bool = False) -> None:
        """Pull the accessory's cable. Bytes in transit are lost."""
        await self._call("pull", unnoticed=unnoticed)

    async def flicker(self) -> None:
        """Unplug the accessory and plug it in again, with a flicker."""
        await self._call("flicker")

    async def reset_link(self) -> None:
        """Make the device reset the link, so that the accessory connects again without being unplugged."""
        await self._call("resetLink")

    async def close_sessions(self) -> None:
        """Make the accessory close its sessions and stay connected."""
        await self._call("closeSessions")

    async def forget_sessions(self) -> None:
        """Make the accessory forget its sessions, which stay open in the app but receive no more answers."""
        await self._call("forgetSessions")

    async def remove(self) -> None:
        """Unplug and remove the accessory."""
        await self._call("remove")

    async def counters(self) -> AccessoryCounters:
        """Return what the server has counted about the accessory since the accessory was added."""
        return state_of(AccessoryCounters, await self._call("counters"))

    async def state(self) -> AccessoryState:
        """Return the accessory's state."""
        for state in (await self.world.call("accessory.list"))["accessories"]:
            if state["accessory"] == self.id:
                return state_of(AccessoryState, state)
        raise EasimError(f"the accessory '{self.id}' is gone", kind="gone")

    async def add_quirk(self, quirk: str) -> bool:
        """Give the accessory a quirk. Return whether this takes effect now or the next time it is plugged in."""
        return bool((await self._call("quirk", add=[quirk]))["now"])

    async def remove_quirk(self, name: str) -> bool:
        """Remove a quirk. Return whether this takes effect now or the next time the accessory is plugged in."""
        return bool((await self._call("quirk", remove=[name]))["now"])

    async def set_behavior(self, behavior: Union[str, dict[str, Any], None], *, protocol: Optional[str] = None) -> None:
        """Use one of easim's behaviors for later sessions, such as ``"echo"``; None means the profile's behavior."""
        await self._call("behavior", behavior=behavior, protocol=protocol)

    async def add_fault(self, fault: str) -> list[Fault]:
        """Add a fault to the accessory's cable, even while it is plugged in. A link preset adds several faults."""
        made = await self.world.server.call("fault.add", accessory=self.id, fault=fault)
        return [Fault(self.world, name) for name in made["faults"]]

    fault = add_fault

    async def faults(self) -> list[FaultState]:
        """List the faults on the accessory's cable, and their effects so far."""
        listed = await self.world.server.call("fault.list", accessory=self.id)
        return [state_of(FaultState, state) for state in listed["faults"]]

    async def received(
        self, wanted: Union[bytes, str], *, times: Optional[int] = None, protocol: Optional[str] = None
    ) -> Received:
        """Search for bytes in everything that the accessory has received, regardless of its behavior.

        The result is true if the bytes arrived or, if ``times`` is given, arrived exactly that many times. Otherwise,
        the result shows the most similar bytes that arrived.
        """
        looked = base64.b64encode(as_bytes(wanted)).decode()
        asked = {"accessory": self.id, "data": looked, "times": times, "protocol": protocol}
        found = await self.world.server.call("accessory.received", **asked)
        return Received(found["met"], found["count"], found["text"])

    async def capture(
        self, *, form: Literal["pcapng", "transcript"] = "pcapng", limit: Optional[int] = None
    ) -> Capture:
        """Record the accessory's cables from now on, as ``pcapng`` or ``transcript`` (one line per packet)."""
        made = await self.world.server.call("capture.start", accessory=self.id, form=form, limit=limit)
        return Capture(self.world, made["capture"])

    async def take(self, behavior: Behavior, *, protocols: Optional[Iterable[str]] = None) -> None:
        """Answer sessions opened from now on in Python; see :mod:`easim` for the forms of a behavior.

        Each protocol has one behavior. A behavior for all protocols does not apply to those that have their own.
        """
        if isinstance(protocols, str):
            raise TypeError("protocols is a list of names, not one name")
        names = None if protocols is None else list(protocols)
        wanted: list[Optional[str]] = [None] if names is None else list(names)
        for name in wanted:
            if name in self._behaviors:
                what = f"the sessions of {name}" if name else "the sessions of all protocols"
                raise EasimError(f"{what} have a behavior already", kind="state", advice="call release first")
        before = dict(self._behaviors)
        self._behaviors.update(dict.fromkeys(wanted, behavior))
        self.world.listen("accessory", self.id, self._handle)
        self.world.has_behaviors = True
        try:
            await self._call("take", protocols=names)
        except BaseException:
            self._behaviors = before
            raise

    async def release(self) -> None:
        """Undo ``take``. Sessions that were taken are closed."""
        await self._call("release")
        self.world.forget("accessory", self.id)
        self._behaviors.clear()

    def _handle(self, news: dict[str, Any]) -> None:
        if news.get("event") != "opened":
            return
        behavior = self._behaviors.get(news["protocol"], self._behaviors.get(None))
        if behavior is None:
            return
        world = self.world
        if world.is_virtual:
            world.clock.now = max(world.clock.now, float(news["t"]))
        session = Session(world, news["session"], news["protocol"], accessory=self)
        session.task = asyncio.get_running_loop().create_task(self._play(behavior, session))
        # The task counts as running even before it starts, so that no wait ends too early.
        world.clock.begin(session.task)
        for tasks in (world.tasks, world.server.link.tasks):
            tasks.add(session.task)
            session.task.add_done_callback(tasks.discard)
        session.task.add_done_callback(world.clock.end)

    async def _play(self, behavior: Behavior, session: Session) -> None:
        try:
            await play(behavior, session)
            await session.close()
        except SessionEnded:
            pass
        except asyncio.CancelledError:
            raise
        except BaseException as error:
            # pytest fails or skips a test by raising a BaseException that is not an Exception.
            if self.world.server.is_running:
                self.world.keep_behavior_error(error)
            try:
                await session.close(f"its behavior failed: {error!r}")
            except EasimError:
                pass
        finally:
            session.forget()
            for task in session.own_tasks:
                task.cancel()


class Fault:
    """A fault on the cable of an accessory."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`Accessory.add_fault`."""
        self.world = world
        self.id = name

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Fault {self.id}>"

    async def change(self, to: str) -> None:
        """Replace this fault with another one."""
        await self.world.server.call("fault.change", fault=self.id, to=to)

    async def remove(self) -> None:
        """Remove the fault."""
        await self.world.server.call("fault.remove", fault=self.id)


class Capture:
    """A recording of cables, up to a size limit (16 MiB by default)."""

    def __init__(self, world: World, name: str) -> None:
        """Use :meth:`World.capture` or :meth:`Accessory.capture`."""
        self.world = world
        self.id = name

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Capture {self.id}>"

    async def read(self) -> bytes:
        """Return everything recorded so far."""
        data = bytearray()
        while True:
            piece = await self.world.server.call("capture.read", capture=self.id, offset=len(data))
            bytes_ = base64.b64decode(piece["data"])
            if not bytes_:
                return bytes(data)
            data += bytes_

    async def state(self) -> CaptureState:
        """Return the capture's state."""
        for state in (await self.world.server.call("capture.list"))["captures"]:
            if state["capture"] == self.id:
                return state_of(CaptureState, state)
        raise EasimError(f"the capture '{self.id}' is gone", kind="gone")

    async def stop(self) -> None:
        """End the recording, which can still be read."""
        await self.world.server.call("capture.stop", capture=self.id)

    async def remove(self) -> None:
        """End the recording and delete it."""
        await self.world.server.call("capture.remove", capture=self.id)


class Host:
    """An address to which a world's device connects."""

    def __init__(self, world: World, name: str, address: str) -> None:
        """Use :meth:`World.host`."""
        self.world = world
        self.id = name
        self.address = address

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Host {self.id} {self.address}>"

    async def state(self) -> HostState:
        """Return the host's state."""
        for state in (await self.world.call("host.list"))["hosts"]:
            if state["host"] == self.id:
                return state_of(HostState, state)
        raise EasimError(f"the host '{self.id}' is gone", kind="gone")

    async def remove(self) -> None:
        """Stop connecting, and unplug the accessories at this address."""
        await self.world.server.call("host.remove", host=self.id)


class Proxy:
    """A proxy between a device and an accessory that the server does not simulate."""

    def __init__(self, world: World, name: str, device: str, accessory: str) -> None:
        """Use :meth:`World.proxy`."""
        self.world = world
        self.id = name
        self.device = device
        self.accessory = accessory

    def __repr__(self) -> str:
        """Describe the object for debugging."""
        return f"<Proxy {self.id} {self.device} {self.accessory}>"

    async def state(self) -> ProxyState:
        """Return the proxy's state."""
        for state in (await self.world.call("proxy.list"))["proxies"]:
            if state["proxy"] == self.id:
                return state_of(ProxyState, state)
        raise EasimError(f"the proxy '{self.id}' is gone", kind="gone")

    async def set_faults(self, *faults: str) -> None:
        """Replace all faults; ``direction=in`` is what the accessory sends."""
        await self.world.server.call("proxy.fault", proxy=self.id, faults=list(faults))

    async def remove(self) -> None:
        """Disconnect both ends."""
        await self.world.server.call("proxy.remove", proxy=self.id)
