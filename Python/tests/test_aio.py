from __future__ import annotations

import asyncio
from typing import Any

import pytest

import easim
from easim import aio
from easim.events import ConnectEvent, Time

PROTOCOL = "com.lawaken.iap2"


@pytest.mark.parametrize("time", ["real", "virtual"])
def test_the_flicker(time: Time) -> None:
    async def main() -> list[ConnectEvent]:
        async with aio.Server() as server, await server.world(time=time) as world:
            glasses = await world.add("lawk-view", quirks=["flicker"])
            app = await world.app(protocols=[PROTOCOL])
            await glasses.plug()
            await app.wait_for("disconnect")
            assert app.sessions == []
            async with await app.open(PROTOCOL, timeout=5) as session:
                await session.send(b"hello")
                assert await session.recv(5) == b"hello"
            return app.events

    assert asyncio.run(main()) == ["connect", "disconnect", "connect"]


def test_many_worlds_at_once() -> None:
    async def one(server: aio.Server, number: int) -> bytes:
        async with await server.world() as world:
            lamp = await world.add("echo")
            await lamp.plug()
            async with await (await world.app()).open("com.example.echo") as session:
                await session.send(b"%d\n" % number * 1000)
                for _ in range(999):
                    await session.recv_until(b"\n")
                return await session.recv_until(b"\n")

    async def main() -> list[bytes]:
        async with aio.Server() as server:
            return await asyncio.gather(*(one(server, number) for number in range(20)))

    assert asyncio.run(main()) == [b"%d\n" % number for number in range(20)]


def test_a_behavior_may_await(easim_server: Any) -> None:
    async def main() -> bytes:
        async with aio.Server() as server, await server.world() as world:
            asked: asyncio.Queue[bytes] = asyncio.Queue()

            async def ask(session: aio.Session) -> None:
                await asked.put(await session.recv_until(b"?"))
                await session.send(await asked.get() + b"!")

            lamp = await world.add("echo")
            await lamp.take(ask)
            await lamp.plug()
            session = await (await world.app()).open("com.example.echo")
            await session.send(b"who?")
            return await session.recv(5)

    assert asyncio.run(main()) == b"who?!"


def test_a_closed_simulator_says_so() -> None:
    async def main() -> None:
        server = await aio.Server().open()
        await server.close()
        await server.world()

    with pytest.raises(easim.EasimError, match="the server is not open"):
        asyncio.run(main())
