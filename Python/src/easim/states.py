"""The states of objects.

Written by declare.py from rpc.discover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional, Union


@dataclass(frozen=True)
class AccessoryState:
    """An accessory and its state."""

    accessory: str
    """Its id."""
    world: str
    """The id of its world."""
    profile: str
    """The name of its profile."""
    name: str
    """Its name."""
    serial: str
    """Its serial number."""
    protocols: list[str]
    """Its protocols."""
    plugged: bool
    """Whether it is plugged in."""
    whole: bool
    """Whether it is plugged in with its protocols, after any flicker."""
    quirks: list[Union[str, dict[str, Any]]]
    """Its quirks."""
    behavior: Union[str, dict[str, Any]]
    """What it does in sessions."""
    taken: bool
    """Whether a client has taken its sessions."""
    faults: list[str]
    """The ids of the faults on its cable."""
    sessions: list[str]
    """The ids of its open sessions that were taken."""
    on: Optional[str] = None
    """The address where it is plugged in; omitted for the world's own device."""
    connection_id: Optional[int] = None
    """Its connection ID, while the world's device shows it to apps."""


@dataclass(frozen=True)
class AppState:
    """An app and its state."""

    app: str
    """Its id."""
    world: str
    """The id of its world."""
    name: str
    """Its name."""
    state: Literal["foreground", "background", "suspended"]
    """Whether it is in the foreground."""
    registrations: int
    """Number of registrations that were not undone."""
    sessions: list[str]
    """The ids of its open sessions."""
    misuses: list[str]
    """The app's misuses, one sentence each."""


@dataclass(frozen=True)
class CaptureState:
    """A capture and its state."""

    capture: str
    """Its id."""
    world: str
    """The id of its world."""
    form: Literal["pcapng", "transcript"]
    """Its form."""
    recording: bool
    """Whether it is still recording."""
    bytes: int
    """Number of bytes recorded."""
    limit: int
    """Maximum number of bytes."""
    lost: int
    """Number of packets or lines dropped beyond the limit."""
    path: str
    """Its path for an HTTP `GET`."""
    accessory: Optional[str] = None
    """The accessory, if the capture records only one."""
    host: Optional[str] = None
    """The address, if the capture records only one."""
    failure: Optional[str] = None
    """Why its file in the --keep folder is incomplete."""


@dataclass(frozen=True)
class ConnectedAccessory:
    """An accessory as an app sees it."""

    connection_id: int
    """The number of this connection; each connection gets a new number."""
    name: str
    """Its name."""
    manufacturer: str
    """Its manufacturer."""
    model_number: str
    """Its model."""
    serial_number: str
    """Its serial number."""
    firmware_revision: str
    """Its firmware."""
    hardware_revision: str
    """Its hardware."""
    protocols: list[str]
    """Its current protocols; empty in the first half of a flicker."""


@dataclass(frozen=True)
class FaultState:
    """A fault and its effects so far."""

    fault: str
    """Its id."""
    text: str
    """The fault, as for --fault."""
    hits: int
    """Number of times it took effect on the present cable."""
    bytes: int
    """Number of bytes that it affected."""


@dataclass(frozen=True)
class HostState:
    """An address to which a device connects."""

    host: str
    """Its id."""
    world: str
    """The id of its world."""
    address: str
    """The address."""
    lines: int
    """The accessories at this address that are connected or connecting."""
    trouble: Optional[str] = None
    """Why the last attempt found no accessory."""


@dataclass(frozen=True)
class ProxyState:
    """A proxy between a device and an accessory."""

    proxy: str
    """Its id."""
    world: str
    """The id of its world."""
    device: str
    """Where the device connects."""
    accessory: str
    """Where the accessory is."""
    has_accessory: bool
    """Whether there is a cable to the accessory."""
    has_device: bool
    """Whether a device is connected to it."""
    attachments: int
    """How many times a device has connected to the accessory."""
    from_accessory: int
    """Number of bytes that the accessory sent."""
    from_device: int
    """Number of bytes that the device sent."""
    faults: list[str]
    """The faults, as for --fault."""
    trouble: Optional[str] = None
    """Why no accessory or no device can be connected."""


@dataclass(frozen=True)
class SessionState:
    """A session and its state."""

    session: str
    """Its id."""
    world: str
    """The id of its world."""
    protocol: str
    """Its protocol."""
    open: bool
    """Whether it is open."""
    bytes_read: int
    """Number of bytes that this end has read."""
    bytes_written: int
    """Number of bytes that this end has written."""
    unacknowledged: int
    """Number of written bytes that the other end has not acknowledged."""
    port: bool
    """Whether a separate connection carries its bytes."""
    app: Optional[str] = None
    """At an app's end: the app."""
    accessory: Optional[str] = None
    """At an accessory's end: the accessory."""
    connection_id: Optional[int] = None
    """At an app's end: the connection ID of the accessory it was opened with."""
    reason: Optional[str] = None
    """Why it ended."""
    first_line: Optional[str] = None
    """In the response to `app.open` with `port`: the first line to send, as `session.port` describes."""
