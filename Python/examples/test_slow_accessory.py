"""An accessory that needs two seconds of virtual time for each answer, so the test is not slowed down."""

from __future__ import annotations

import pytest

import easim
from easim import aio
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"


async def slow(session: aio.Session) -> None:
    """Answer each line two seconds later, on the world's clock."""
    while True:
        question = await session.recv_until(b"\n")
        await session.sleep(2)
        await session.send(b"answer to " + question)


@pytest.mark.easim(profile="echo", plugged=True)
def test_an_app_that_waits_gets_its_answer(easim_virtual: TestWorld) -> None:
    easim_virtual.accessory.take(slow)
    with easim_virtual.app().open(PROTOCOL) as session:
        before = easim_virtual.now()
        session.send(b"VERSION?\n")
        assert session.recv_until(b"\n") == b"answer to VERSION?\n"
        assert 2 <= easim_virtual.now() - before < 2.1


@pytest.mark.easim(profile="echo", plugged=True)
def test_an_app_that_waits_a_second_does_not(easim_virtual: TestWorld) -> None:
    easim_virtual.accessory.take(slow)
    with easim_virtual.app().open(PROTOCOL) as session:
        session.send(b"VERSION?\n")
        session.timeout = 1
        with pytest.raises(easim.Timeout, match="nothing arrived within 1 s"):
            session.recv_until(b"\n")
