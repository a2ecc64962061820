"""Accessories as resources of labgrid, which shares the hardware of a lab between people and jobs.

It needs labgrid, ``pip install 'easim[labgrid]'``, and is not imported with the package: name it under ``imports`` in
labgrid's configuration. An exporter with these resources is ``python -m easim.labgrid exporter.yaml``::

    bench-1:
      EasimAccessory:            # simulated while a place has acquired it
        profile: lawk-view
        quirks: [flicker]
        address: tcp:bench-1.example:7001
    bench-2:
      EasimHostPort:             # real hardware
        address: serial:/dev/ttyUSB0
"""

from __future__ import annotations

from typing import Any, Callable, Optional

import attr
from labgrid.driver.common import Driver
from labgrid.factory import target_factory
from labgrid.remote import exporter
from labgrid.resource.common import Resource

from .. import hosts
from .._plain import Accessory, Server, Session, World
from ..errors import EasimError

__all__ = [
    "EasimAccessory",
    "EasimAccessoryDriver",
    "EasimHostDriver",
    "EasimHostPort",
    "NetworkEasimAccessory",
    "main",
]


@target_factory.reg_resource
@attr.s(eq=False)
class EasimAccessory(Resource):
    """An accessory that easim simulates at an address while it is in use.

    ``address`` is what ``easim run --on`` takes: tcp:HOST:PORT, unix:PATH, local:, gadget:UDC, bt:. With
    ``allow_remote`` hosts on other machines may connect to it.
    """

    profile: Any = attr.ib(validator=attr.validators.instance_of((str, dict)))
    address: Any = attr.ib(default="tcp:127.0.0.1:0", validator=attr.validators.instance_of(str))
    quirks: Any = attr.ib(factory=list, validator=attr.validators.instance_of(list))
    faults: Any = attr.ib(factory=list, validator=attr.validators.instance_of(list))
    behavior: Any = attr.ib(default=None)
    allow_remote: Any = attr.ib(default=False, validator=attr.validators.instance_of(bool))
    program: Any = attr.ib(default=None)


@target_factory.reg_resource
@attr.s(eq=False)
class EasimHostPort(Resource):
    """The address of an accessory: usb:, bt:…, serial:PATH, tcp:HOST:PORT, …."""

    address: Any = attr.ib(validator=attr.validators.instance_of(str))
    allow_remote: Any = attr.ib(default=False, validator=attr.validators.instance_of(bool))


@target_factory.reg_resource
@attr.s(eq=False)
class NetworkEasimAccessory(Resource):
    """An accessory simulated by an exporter. ``address`` is empty while no place has acquired it."""

    profile: Any = attr.ib(default="")
    address: Any = attr.ib(default="")
    allow_remote: Any = attr.ib(default=False, validator=attr.validators.instance_of(bool))


class _Plugged:
    """A plugged-in accessory: a separate program that ends with this process."""

    def __init__(self, resource: Any) -> None:
        self.server = Server(resource.program, allow_remote=resource.allow_remote)
        try:
            self.world: World = self.server.world()
            self.accessory: Accessory = self.world.add(
                resource.profile,
                quirks=resource.quirks,
                faults=resource.faults,
                behavior=resource.behavior,
                on=resource.address,
            )
            self.accessory.plug()
            self.address = str(self.accessory.state().on)
        except BaseException:
            self.server.close()
            raise

    def close(self) -> None:
        self.server.close()


@target_factory.reg_driver
@attr.s(eq=False)
class EasimAccessoryDriver(Driver):
    """Plugs in the accessory of an :class:`EasimAccessory` while the driver is active.

    ``accessory`` is an :class:`easim.Accessory`: plug, unplug, pull, flicker, quirks, faults, behaviors in Python.
    """

    bindings = {"resource": "EasimAccessory"}

    def __attrs_post_init__(self) -> None:
        """Start unplugged."""
        super().__attrs_post_init__()
        self._plugged: Optional[_Plugged] = None

    def on_activate(self) -> None:
        """Plug the accessory in."""
        self._plugged = _Plugged(self.resource)

    def on_deactivate(self) -> None:
        """Unplug the accessory and end its program."""
        plugged, self._plugged = self._plugged, None
        if plugged is not None:
            plugged.close()

    @property
    def _active(self) -> _Plugged:
        if self._plugged is None:
            raise EasimError("the driver is not active", kind="state", advice="target.activate(driver)")
        return self._plugged

    @property
    def accessory(self) -> Accessory:
        """The accessory."""
        return self._active.accessory

    @property
    def address(self) -> str:
        """The address at which hosts find the accessory."""
        return self._active.address

    @property
    def allow_remote(self) -> bool:
        """Whether hosts on other machines may connect."""
        return bool(self.resource.allow_remote)


@target_factory.reg_driver
@attr.s(eq=False)
class EasimHostDriver(Driver):
    """The Apple device's end: connects to the accessory of a resource, or of another driver, while it is active.

    ``connection`` is an :class:`easim.hosts.HostConnection` with one app.
    """

    bindings = {"port": {"EasimHostPort", "NetworkEasimAccessory", "EasimAccessoryDriver"}}
    protocols: Any = attr.ib(default=None)
    timeout: Any = attr.ib(default=10.0, converter=float)

    def __attrs_post_init__(self) -> None:
        """Start without a connection."""
        super().__attrs_post_init__()
        self._server: Optional[Server] = None
        self._connection: Optional[hosts.HostConnection] = None

    def on_activate(self) -> None:
        """Connect, and wait until the app sees the accessory."""
        if not self.port.address:
            raise EasimError("the exporter has not plugged the accessory in", kind="state", advice="acquire its place")
        self._server = Server(allow_remote=self.port.allow_remote)
        try:
            self._connection = hosts.open(self.port.address, protocols=self.protocols, server=self._server)
            self._connection.wait(timeout=self.timeout)
        except BaseException:
            self.on_deactivate()
            raise

    def on_deactivate(self) -> None:
        """Disconnect."""
        self._connection = None
        server, self._server = self._server, None
        if server is not None:
            server.close()

    @property
    def connection(self) -> hosts.HostConnection:
        """The connection, for all other purposes."""
        if self._connection is None:
            raise EasimError("the driver is not active", kind="state", advice="target.activate(driver)")
        return self._connection

    @Driver.check_active
    def open(self, protocol: Optional[str] = None) -> Session:
        """Open a session."""
        return self.connection.open(protocol)

    @Driver.check_active
    def burst(self, payload: bytes, count: int = 100, **choices: Any) -> hosts.BurstReport:
        """Send bursts and verify the replies."""
        return self.connection.burst(payload, count=count, **choices)


@attr.s(eq=False)
class EasimAccessoryExport(exporter.ResourceExport):  # type: ignore[misc]
    """Simulates the accessory while its place is acquired."""

    def __attrs_post_init__(self) -> None:
        """Store the description, and offer an address."""
        super().__attrs_post_init__()
        self.data["cls"] = "NetworkEasimAccessory"
        make: Any = EasimAccessory
        self.local = make(target=None, name=None, **self.local_params)
        self._plugged: Optional[_Plugged] = None

    def _start(self, start_params: dict[str, Any]) -> None:
        self._plugged = _Plugged(self.local)
        self.logger.info("plugged in at %s", self._plugged.address)

    def _stop(self, start_params: dict[str, Any]) -> None:
        plugged, self._plugged = self._plugged, None
        if plugged is not None:
            plugged.close()

    def _get_params(self) -> dict[str, Any]:
        profile = self.local.profile
        return {
            "profile": profile if isinstance(profile, str) else "",
            "address": self._plugged.address if self._plugged is not None else "",
            "allow_remote": self.local.allow_remote,
        }


exporter.exports["EasimAccessory"] = EasimAccessoryExport
main: Callable[[], None] = exporter.main
