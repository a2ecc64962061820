"""An accessory that sends a line once a second, for an hour of virtual time, and also answers requests."""

from __future__ import annotations

import asyncio

import pytest

from easim import aio
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"
HOUR = 3600


async def heartbeat(session: aio.Session) -> None:
    """Send the number of elapsed seconds once a second, and answer requests at the same time."""

    async def beat() -> None:
        for second in range(1, HOUR + 1):
            await session.sleep(1)
            await session.send(b"%d\n" % second)

    beating = asyncio.ensure_future(beat())
    while data := await session.recv():
        await session.send(b"echo " + data)
    beating.cancel()


@pytest.mark.easim(profile="echo", plugged=True)
def test_an_hour_has_a_heartbeat_each_second(easim_virtual: TestWorld) -> None:
    easim_virtual.accessory.take(heartbeat)
    with easim_virtual.app().open(PROTOCOL) as session:
        session.send(b"hello\n")
        assert session.recv_until(b"\n") == b"echo hello\n"
        got = bytearray()
        for _ in range(60):
            easim_virtual.advance(60)
            session.timeout = 1
            while got.count(b"\n") < round(easim_virtual.now() - 0.5):
                got += session.recv()
        assert got.split() == [b"%d" % second for second in range(1, len(got.split()) + 1)]
        assert len(got.split()) >= HOUR - 2
