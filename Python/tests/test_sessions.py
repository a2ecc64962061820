from __future__ import annotations

import asyncio
import select
import socket
import threading
import time
from typing import Any

import pytest

import easim
from easim._program import ServerProcess
from easim._wire import Wire
from easim.events import Time
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"
marked = pytest.mark.easim(profile="echo", plugged=True)


@marked
def test_a_megabyte_comes_back_through_a_byte_port(easim_world: TestWorld) -> None:
    with easim_world.app().open(PROTOCOL) as session:
        sent = bytes(range(256)) * 4096
        got = bytearray()
        for start in range(0, len(sent), 65_536):
            session.send(sent[start : start + 65_536])
            got += session.recv(65_536)
        assert got == sent
        state = session.state()
    assert (state.bytes_written, state.port) == (len(sent), True)


@marked
def test_what_was_sent_arrives_although_the_session_is_closed_at_once(easim_world: TestWorld) -> None:
    heard = bytearray()

    def listen(_: object, data: bytes) -> None:
        heard.extend(data)

    easim_world.accessory.take(listen)
    with easim_world.app().open(PROTOCOL) as session:
        session.send(b"last words")
    easim_world.run_until("session.close", side="accessory", after=0)
    # The bytes arrive over a separate connection, possibly later than the event.
    deadline = time.monotonic() + 60
    while not heard and time.monotonic() < deadline:
        time.sleep(0.01)
    assert heard == b"last words"


# With the latency, the behavior starts while the test waits.
@pytest.mark.easim(profile="echo", plugged=True, faults=["latency,delay=100ms"])
def test_a_connection_made_after_the_end_gets_what_arrived_before(easim_world: TestWorld) -> None:
    ticket = threading.Event()

    async def greet(session: easim.aio.Session) -> None:
        while not ticket.is_set():
            await session.sleep(0.01)
        await session.send(b"hello")

    easim_world.accessory.take(greet)
    server, app = easim_world.server, easim_world.app()
    opened = server.call("app.open", app=app.id, protocol=PROTOCOL, wait="10s")
    line = str(server.call("session.port", session=opened["session"])["firstLine"])
    ticket.set()
    easim_world.run_until("session.close", side="device", after=0)
    program = server.aio.link.process
    assert isinstance(program, ServerProcess)
    with socket.socket(socket.AF_UNIX) as made:
        made.settimeout(10)
        made.connect(program.control)
        made.sendall(line.encode() + b"\n")
        assert made.makefile("rb").read() == b"hello"


@marked
def test_lines(easim_world: TestWorld) -> None:
    with easim_world.app().open(PROTOCOL) as session:
        session.send(b"one\r\ntwo\r\nrest")
        assert session.recv_until(b"\r\n") == b"one\r\n"
        assert session.recv_until(b"\r\n") == b"two\r\n"
        assert session.recv(4) == b"rest"


@marked
def test_a_session_is_a_file(easim_world: TestWorld) -> None:
    with easim_world.app().open(PROTOCOL) as session, session.makefile("rwb") as file:
        file.write(b"one\ntwo\n")
        file.flush()
        assert [file.readline(), file.readline()] == [b"one\n", b"two\n"]


@marked
def test_a_session_can_be_selected_and_detached(easim_world: TestWorld) -> None:
    session = easim_world.app().open(PROTOCOL)
    session.send(b"hello")
    assert select.select([session], [], [], 10)[0] == [session]
    connection = session.detach()
    assert isinstance(connection, socket.socket)
    with connection:
        assert connection.recv(5, socket.MSG_WAITALL) == b"hello"
    with pytest.raises(easim.EasimError, match="was detached"):
        session.recv(1)


@marked
def test_a_session_that_ends_says_why(easim_world: TestWorld) -> None:
    session = easim_world.app().open(PROTOCOL)
    session.send(b"hello")
    assert session.recv(5) == b"hello"
    easim_world.accessory.unplug()
    with pytest.raises(easim.SessionEnded, match="the session ended: "):
        session.recv(1)
    assert not session.is_open
    with pytest.raises(easim.SessionEnded):
        session.send(b"more")


@marked
def test_without_a_count_the_end_is_empty(easim_world: TestWorld) -> None:
    session = easim_world.app().open(PROTOCOL)
    session.send(b"hello")
    assert session.recv() == b"hello"
    easim_world.accessory.close_sessions()
    assert session.recv() == b""


@marked
def test_an_accessory_that_restarts_is_counted(easim_world: TestWorld) -> None:
    session = easim_world.app().open(PROTOCOL)
    session.send(b"hello")
    assert session.recv(5) == b"hello"
    glasses = easim_world.accessory
    assert glasses.counters().attachments == 1
    glasses.perform("restart")
    with pytest.raises(easim.EasimError, match="not plugged in"):
        glasses.perform("restart")
    counters = glasses.counters()
    assert (counters.sessions, counters.bytes_read, counters.bytes_written) == (1, 5, 5)
    with pytest.raises(easim.EasimError, match="unknown method"):
        glasses.perform("rest")


@pytest.mark.easim(profile="echo", plugged=True, behavior="sink")
def test_silence_is_a_timeout(easim_world: TestWorld) -> None:
    session = easim_world.app().open(PROTOCOL)
    session.timeout = 0.05
    session.send(b"hello")
    with pytest.raises(easim.Timeout, match="nothing arrived within 0.05 s"):
        session.recv(1)


@pytest.mark.parametrize("kind", ["real", "virtual"])
def test_a_timeout_tells_what_has_arrived(easim_server: easim.Server, kind: Time) -> None:
    with easim_server.world(time=kind) as world:
        world.add("echo").plug()
        session = world.app().open(PROTOCOL)
        session.timeout = 0.5
        session.send(b"abc")
        with pytest.raises(easim.Timeout, match=r"^3 of 5 bytes arrived within 0.5 s: b'abc'$"):
            session.recv(5)
        with pytest.raises(easim.Timeout, match=r"^3 bytes without b'd' arrived within 0.5 s: b'abc'$"):
            session.recv_until(b"d")
        assert session.recv(3) == b"abc"


@pytest.mark.easim(profile="echo")
def test_a_protocol_that_is_not_offered_is_refused_with_advice(easim_world: TestWorld) -> None:
    app = easim_world.app()
    easim_world.accessory.plug()
    app.wait_for("connect")
    with pytest.raises(easim.Timeout) as caught:
        app.open("com.example.ecko", timeout=0)
    assert isinstance(caught.value.__cause__, easim.EasimError)
    assert caught.value.__cause__.kind == "refused"
    assert "did you mean 'com.example.echo'?" in str(caught.value)


@marked
def test_virtual_sessions_carry_more_than_fits(easim_virtual: TestWorld) -> None:
    with easim_virtual.app().open(PROTOCOL) as session:
        sent = bytes(range(256)) * 4_000
        session.send(sent[:200_000])
        assert session.recv(200_000) == sent[:200_000]
        with pytest.raises(easim.EasimError, match="virtual time has no sockets"):
            session.detach()


@marked
def test_quirks_faults_and_behaviors_change(easim_virtual: TestWorld) -> None:
    lamp = easim_virtual.accessory
    app = easim_virtual.app()
    faults = lamp.add_fault("latency,delay=1s")
    with app.open(PROTOCOL, timeout=60) as session:
        before = easim_virtual.now()
        session.send(b"x")
        assert session.recv(1) == b"x"
        assert easim_virtual.now() - before >= 1
        faults[0].change("latency,delay=2s")
        assert [fault.text for fault in lamp.faults()] == ["latency,delay=2s"]
        faults[0].remove()
        assert lamp.faults() == []
    lamp.set_behavior("source,text=tick,total=4")
    with app.open(PROTOCOL) as session:
        assert session.recv(4) == b"tick"
    assert lamp.add_quirk("flicker") is False
    lamp.unplug()
    app.wait_for("disconnect")
    lamp.plug()
    app.wait_for("disconnect")
    assert lamp.state().quirks == ["flicker"]


@pytest.mark.parametrize(("kind", "requests"), [("real", 7), ("virtual", 9)])
def test_a_test_takes_few_requests(
    easim_server: easim.Server, monkeypatch: pytest.MonkeyPatch, kind: Time, requests: int
) -> None:
    """Each request is one round trip, which the caller's thread awaits without a turn of the event loop."""
    sent: list[str] = []
    original = Wire.request

    def request(self: Wire, method: str, params: dict[str, Any]) -> tuple[int, bytes]:
        sent.append(method)
        return original(self, method, params)

    def turn(*_: Any) -> None:
        raise AssertionError("a call took a turn of the event loop")

    monkeypatch.setattr(Wire, "request", request)
    monkeypatch.setattr(asyncio.BaseEventLoop, "run_until_complete", turn)
    with easim_server.world(time=kind) as world:
        lamp, app = world.add("echo"), world.app()
        lamp.plug()
        with app.open("com.example.echo") as session:
            session.send(b"VERSION?\n")
            assert session.recv_until(b"\n") == b"VERSION?\n"
    assert len(sent) == requests, sent
