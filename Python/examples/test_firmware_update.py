"""An accessory that reboots in the middle of a firmware update, and an app that resumes it."""

from __future__ import annotations

import pytest

import easim
from easim import aio
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"
BLOCK = 1024
IMAGE = bytes(i % 251 for i in range(20 * BLOCK))


class Firmware:
    """Reboots halfway, which takes five seconds, and keeps the blocks that were written before."""

    def __init__(self) -> None:
        """Create an accessory that has not received any blocks."""
        self.flash = b""
        self.has_rebooted = False

    async def __call__(self, session: aio.Session) -> None:
        """Send the position from which to resume, then receive blocks."""
        await session.send(b"AT %d\n" % len(self.flash))
        while True:
            self.flash += await session.recv(BLOCK)
            if len(self.flash) >= len(IMAGE) // 2 and not self.has_rebooted:
                self.has_rebooted = True
                assert session.accessory is not None
                await session.accessory.pull()
                await session.sleep(5)
                await session.accessory.plug()
                return
            await session.send(b"OK\n")


def update(app: easim.App) -> None:
    """Write the image in as many attempts as necessary."""
    for _ in range(3):
        try:
            with app.open(PROTOCOL, timeout=30) as session:
                start = int(session.recv_until(b"\n").split()[1])
                for at in range(start, len(IMAGE), BLOCK):
                    session.send(IMAGE[at : at + BLOCK])
                    assert session.recv_until(b"\n") == b"OK\n"
                return
        except easim.SessionEnded:
            continue
    raise AssertionError("the update did not come to its end")


@pytest.mark.easim(profile="echo", plugged=True)
def test_the_update_survives_the_reboot(easim_virtual: TestWorld) -> None:
    firmware = Firmware()
    easim_virtual.accessory.take(firmware)
    app = easim_virtual.app()
    update(app)
    assert firmware.has_rebooted
    assert firmware.flash == IMAGE
    assert app.events == ["disconnect", "connect"]
    assert 5 <= easim_virtual.now() < 10
