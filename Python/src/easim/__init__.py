r"""Simulated MFi accessories, and the Apple device that talks to them, for tests.

>>> import easim
>>> with easim.Server() as server, server.world() as world:
...     glasses = world.add("lawk-view", quirks=["flicker"])
...     app = world.app(protocols=["com.lawaken.iap2"])
...     glasses.plug()
...     with app.open("com.lawaken.iap2") as session:
...         session.send(b"hello")
...         print(session.recv(5), app.events)
b'hello' ['connect', 'disconnect', 'connect']

With pytest, the fixture ``easim_world`` is a fresh world for each test, ``easim_virtual`` one in virtual time, and
``easim_host`` a real accessory.

You can write an accessory's behavior in Python in four forms, all of which :meth:`Accessory.take` accepts:

- a function ``behavior(session, data)`` is called with the bytes that arrive, and returns the answer, or None;
- a generator ``behavior(session)`` runs as long as a session: ``data = yield answer``;
- an asynchronous generator does the same, and may await;
- an asynchronous function ``behavior(session)`` uses ``await session.recv()`` and ``await session.send(data)``.

>>> def talk(session):
...     count = 0
...     answer = None
...     while True:
...         data = yield answer
...         count += len(data)
...         answer = b"%d bytes so far\n" % count
>>> with easim.Server() as server, server.world(time="virtual") as world:
...     lamp = world.add("echo")
...     lamp.take(talk)
...     app = world.app()
...     lamp.plug()
...     with app.open("com.example.echo") as session:
...         session.send(b"one")
...         session.recv_until(b"\n")
b'3 bytes so far\n'

:mod:`easim.aio` is the same for asyncio.
"""

from __future__ import annotations

from . import aio, events, faults, hosts, quirks, states
from ._behaviors import Behavior
from ._plain import Accessory, App, Capture, Fault, Host, Proxy, Server, Session, World
from ._received import Received
from .errors import EasimError, ProgramError, SessionEnded, Timeout

__version__ = "0.1.0"

__all__ = [
    "Accessory",
    "App",
    "Behavior",
    "Capture",
    "EasimError",
    "Fault",
    "Host",
    "ProgramError",
    "Proxy",
    "Received",
    "Server",
    "Session",
    "SessionEnded",
    "Timeout",
    "World",
    "aio",
    "events",
    "faults",
    "hosts",
    "quirks",
    "states",
]
