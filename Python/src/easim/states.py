"""The states of objects.

Written by declare.py from rpc.discover.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal, Optional, Union


@dataclass(frozen=True)
class AccessoryCounters:
    """What the server has counted about an accessory."""

    attachments: int
    """Number of times the accessory was plugged in."""
    sessions: int
    """Number of the accessory's sessions that have ended."""
    errors: int
    """Number of warnings and refusals that concern the accessory."""
    bytes_read: int
    """Bytes that the accessory has read in sessions that have ended."""
    bytes_written: int
    """Bytes that the accessory has written in sessions that have ended."""


@dataclass(frozen=True)
class AccessoryState:
    """An accessory and its state."""

    accessory: str
    """The accessory's id."""
    world: str
    """The id of the accessory's world."""
    profile: str
    """The name of the accessory's profile."""
    name: str
    """The accessory's name."""
    serial: str
    """The accessory's serial number."""
    protocols: list[str]
    """The accessory's protocols."""
    plugged: bool
    """Whether the accessory is plugged in."""
    whole: bool
    """Whether the accessory is plugged in and has its protocols; false until a flicker is over."""
    quirks: list[Union[str, dict[str, Any]]]
    """The accessory's quirks."""
    behavior: Union[str, dict[str, Any]]
    """How the accessory behaves in sessions."""
    taken: bool
    """Whether a client has taken over the accessory's sessions."""
    faults: list[str]
    """The ids of the faults on the accessory's cable."""
    sessions: list[str]
    """The ids of the open sessions that a client has taken over."""
    on: Optional[str] = None
    """The address where the accessory is plugged in; absent if it is plugged in to the world's own device."""
    connection_id: Optional[int] = None
    """The accessory's connection ID; present while apps on the world's device can see the accessory."""


@dataclass(frozen=True)
class AppState:
    """An app and its state."""

    app: str
    """The app's id."""
    world: str
    """The id of the app's world."""
    name: str
    """The app's name."""
    state: Literal["foreground", "background", "suspended"]
    """Whether the app is in the foreground, in the background or suspended."""
    registrations: int
    """Number of registrations still in effect."""
    sessions: list[str]
    """The ids of the app's open sessions."""
    misuses: list[str]
    """The app's misuses of the API, each as a sentence."""


@dataclass(frozen=True)
class CaptureState:
    """A capture and its state."""

    capture: str
    """The capture's id."""
    world: str
    """The id of the capture's world."""
    form: Literal["pcapng", "transcript"]
    """The capture's format."""
    recording: bool
    """Whether the capture is still recording."""
    bytes: int
    """Number of bytes recorded."""
    limit: int
    """Maximum number of bytes."""
    lost: int
    """Number of packets or lines dropped beyond the limit."""
    path: str
    """The path from which an HTTP `GET` downloads the capture."""
    accessory: Optional[str] = None
    """The accessory, if the capture records a single accessory."""
    host: Optional[str] = None
    """The address, if the capture records a single address."""
    failure: Optional[str] = None
    """Why the capture's file in the --keep folder is incomplete."""


@dataclass(frozen=True)
class ConnectedAccessory:
    """An accessory as an app sees it."""

    connection_id: int
    """The connection ID; a new one for each connection."""
    name: str
    """The accessory's name."""
    manufacturer: str
    """The accessory's manufacturer."""
    model_number: str
    """The accessory's model number."""
    serial_number: str
    """The accessory's serial number."""
    firmware_revision: str
    """The accessory's firmware version."""
    hardware_revision: str
    """The accessory's hardware version."""
    protocols: list[str]
    """The protocols that the accessory currently offers; empty in the first half of a flicker."""


@dataclass(frozen=True)
class FaultState:
    """A fault and its effects so far."""

    fault: str
    """The fault's id."""
    text: str
    """The fault, in the notation of --fault."""
    hits: int
    """Number of times the fault took effect on the current cable."""
    bytes: int
    """Number of bytes that the fault affected."""


@dataclass(frozen=True)
class HostState:
    """An address to which a device connects."""

    host: str
    """The host's id."""
    world: str
    """The id of the host's world."""
    address: str
    """The address to which the device connects."""
    lines: int
    """Number of accessories at this address that are connected or connecting."""
    trouble: Optional[str] = None
    """Why the last attempt found no accessory."""


@dataclass(frozen=True)
class ProxyState:
    """A proxy between a device and an accessory."""

    proxy: str
    """Its id."""
    world: str
    """The id of the proxy's world."""
    device: str
    """Where the device connects."""
    accessory: str
    """Where the accessory is."""
    has_accessory: bool
    """Whether the proxy is connected to the accessory."""
    has_device: bool
    """Whether a device is connected to the accessory."""
    attachments: int
    """How many times a device has connected to the accessory."""
    from_accessory: int
    """Number of bytes that the accessory sent."""
    from_device: int
    """Number of bytes that the device sent."""
    faults: list[str]
    """The faults, in the notation of --fault."""
    trouble: Optional[str] = None
    """Why an accessory or a device cannot connect."""


@dataclass(frozen=True)
class SessionState:
    """A session and its state."""

    session: str
    """The session's id."""
    world: str
    """The id of the session's world."""
    protocol: str
    """The session's protocol."""
    open: bool
    """Whether the session is open."""
    bytes_read: int
    """Number of bytes read by this end."""
    bytes_written: int
    """Number of bytes written by this end."""
    unacknowledged: int
    """Number of bytes written by this end that the other end has not yet acknowledged."""
    port: bool
    """Whether a separate connection carries the session's bytes."""
    app: Optional[str] = None
    """The app, if this is the app's end of the session."""
    accessory: Optional[str] = None
    """The accessory, if this is the accessory's end of the session."""
    connection_id: Optional[int] = None
    """The accessory's connection ID when the session was opened, if this is the app's end."""
    reason: Optional[str] = None
    """Why the session ended."""
    first_line: Optional[str] = None
    """In the response to `app.open` with `port`: the first line to send, as `session.port` describes."""
