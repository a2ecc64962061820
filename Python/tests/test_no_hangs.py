"""No call waits forever, and nothing is lost without an error."""

from __future__ import annotations

import asyncio
import contextlib
import multiprocessing
import os
import signal
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Callable

import pytest

import easim
from easim import aio
from easim.events import Time
from easim.pytest_plugin import TestWorld

PROTOCOL = "com.example.echo"
marked = pytest.mark.easim(profile="echo", plugged=True)


@pytest.fixture
def hasty() -> Iterator[easim.Server]:
    """A server that is soon considered dead."""
    with easim.Server(patience=0.5) as server:
        yield server


@pytest.mark.parametrize("text", ["\ud800", "lamp\udfff"])
def test_half_a_character_is_refused_before_it_is_sent(easim_world: TestWorld, text: str) -> None:
    with pytest.raises(easim.EasimError, match="half of a surrogate pair") as caught:
        easim_world.add(text)
    assert caught.value.kind == "params"
    assert easim_world.events() == []


def test_what_is_too_long_is_refused_before_it_is_sent(easim_world: TestWorld) -> None:
    with pytest.raises(easim.EasimError, match="bytes, but the server accepts") as caught:
        easim_world.add("x" * (5 << 20))
    assert caught.value.kind == "limit"
    with pytest.raises(easim.EasimError, match="not JSON"):
        easim_world.call("accessory.add", count=float("nan"))


def test_an_answer_to_a_line_that_nobody_could_read_ends_the_calls() -> None:
    async def main() -> None:
        async with aio.Server() as server:
            call = asyncio.ensure_future(server.call("time.runUntil", event="never", limit="1h"))
            await asyncio.sleep(0)
            link: Any = server.link
            link._transport.write(b"{{\n")
            with pytest.raises(easim.EasimError, match="is not JSON"):
                await call
            assert await server.call("world.list")

    asyncio.run(main())


def test_a_server_that_is_stopped_is_given_up(hasty: easim.Server) -> None:
    os.kill(hasty.pid, signal.SIGSTOP)
    try:
        began = time.monotonic()
        with pytest.raises(easim.ProgramError, match="has not answered for"):
            hasty.call("world.list")
        assert time.monotonic() - began < 60
        assert not hasty.is_running
        with pytest.raises(easim.ProgramError):
            hasty.world()
    finally:
        os.kill(hasty.pid, signal.SIGCONT)


def test_a_server_that_died_between_calls_is_noticed_at_once() -> None:
    with easim.Server() as server:
        os.kill(server.pid, signal.SIGKILL)
        # The socket has disappeared with the process, so a write fails immediately.
        with contextlib.suppress(ChildProcessError):
            os.waitid(os.P_PID, server.pid, os.WEXITED | os.WNOWAIT)
        for _ in range(2):
            with pytest.raises(easim.ProgramError, match="ended with exit code -9"):
                server.world()


def test_a_server_that_waits_is_not_given_up(hasty: easim.Server) -> None:
    with hasty.world() as world, pytest.raises(easim.Timeout):
        world.run_until("alert", timeout=3)


def test_a_program_that_says_nothing_is_given_up(tmp_path: Path) -> None:
    silent = tmp_path / "easim"
    silent.write_text("#!/bin/sh\nexec sleep 600\n")
    silent.chmod(0o755)
    with pytest.raises(easim.ProgramError, match="has said nothing for 0.5 s"):
        easim.Server(silent, patience=0.5)


def _in_child(work: Callable[[], object], results: Any) -> None:
    try:
        work()
        results.put("done")
    except easim.EasimError as error:
        results.put(str(error))


def test_a_forked_process_is_told_so(easim_world: TestWorld) -> None:
    fork = multiprocessing.get_context("fork")
    results: Any = fork.Queue()
    server = easim_world.server
    for work in (easim_world.now, lambda: server.world(), server.close, server.close):
        child = fork.Process(target=_in_child, args=(work, results))
        child.start()
        said = results.get(timeout=60)
        child.join(60)
        assert child.exitcode == 0
        if work == server.close:
            assert said == "done"
        else:
            assert "this process was forked: make a Server in each process" in said
    assert easim_world.now() >= 0


def test_ctrl_c_ends_a_wait_and_nothing_else(easim_world: TestWorld, request: pytest.FixtureRequest) -> None:
    # Python raises no KeyboardInterrupt where SIGINT is ignored, as it is in jobs that a shell runs in the background.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    timer = threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        easim_world.run_until("alert", timeout=None)
    timer.join()
    assert easim_world.now() > 0
    lamp, app = easim_world.add("echo"), easim_world.app()
    lamp.plug()
    assert app.wait_for("connect")["event"] == "connect"


def test_a_thread_that_waits_does_not_stop_the_others(easim_world: TestWorld) -> None:
    found: list[str] = []
    threads = [
        threading.Thread(target=lambda: found.append(easim_world.run_until("connect", timeout=60)["event"]["event"]))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    while len([call for call in easim_world.server.aio.link._waiting]) < 4:
        time.sleep(0.01)
    easim_world.add("echo").plug()
    for thread in threads:
        thread.join(60)
    assert found == ["connect"] * 4


def test_the_plain_interface_works_beside_a_running_loop(easim_server: easim.Server) -> None:
    async def main() -> float:
        with easim_server.world(time="virtual") as world:
            world.advance(2)
            return world.now()

    assert asyncio.run(main()) == 2


def test_notices_arrive_without_a_call(easim_world: TestWorld) -> None:
    lamp, app = easim_world.add("echo"), easim_world.app()
    lamp.plug()
    deadline = time.monotonic() + 60
    while app.events != ["connect"] and time.monotonic() < deadline:
        time.sleep(0.001)
    assert app.events == ["connect"]
    # Events also arrive between calls, while the loop runs on a background thread.
    lamp.unplug()
    while len(app.aio.notices) < 3 and time.monotonic() < deadline:
        time.sleep(0.001)
    assert [notice["event"] for notice in app.aio.notices][1:] == ["disconnect", "delegateDisconnect"]


def test_two_threads_may_begin_a_session(easim_server: easim.Server) -> None:
    for _ in range(20):
        with easim_server.world() as world:
            world.add("echo").plug()
            with world.app().open(PROTOCOL) as session:
                got: list[bytes] = []
                reader = threading.Thread(target=lambda session=session, got=got: got.append(session.recv(5)))
                reader.start()
                session.send(b"hello")
                reader.join(60)
                assert got == [b"hello"]


def test_two_tasks_may_begin_a_session() -> None:
    async def main() -> None:
        async with aio.Server() as server:
            for _ in range(20):
                async with await server.world() as world:
                    await (await world.add("echo")).plug()
                    async with await (await world.app()).open(PROTOCOL) as session:
                        got, _ = await asyncio.gather(session.recv(5), session.send(b"hello"))
                        assert got == b"hello"

    asyncio.run(main())


def test_four_hundred_connects_are_all_found(easim_virtual: TestWorld) -> None:
    app = easim_virtual.app()
    lamps = easim_virtual.add_several(400, "echo")
    for lamp in lamps:
        lamp.plug()
    easim_virtual.advance(10)
    found = {app.wait_for("connect")["accessory"]["serialNumber"] for _ in lamps}
    assert len(found) == 400
    with pytest.warns(UserWarning, match="notices of the world are no longer kept"):
        easim_virtual.events()
    assert "are no longer kept" in easim_virtual.timeline().splitlines()[0]


@pytest.mark.parametrize("kind", ["real", "virtual"])
def test_an_app_that_came_late_says_so(easim_server: easim.Server, kind: Time) -> None:
    with easim_server.world(time=kind) as world:
        world.add("echo").plug()
        world.run_until("connect", side="device", after=0)
        app = world.app()
        expected = r"the app was launched after Echo had connected: app.accessories\(\) has it"
        with pytest.raises(easim.Timeout, match=expected):
            app.wait_for("connect", timeout=0.2)
        assert app.accessories()[0].name == "Echo"


@pytest.mark.parametrize("kind", ["real", "virtual"])
def test_open_says_what_it_has_seen(easim_server: easim.Server, kind: Time) -> None:
    with easim_server.world(time=kind) as world:
        app = world.app()
        with pytest.raises(easim.Timeout, match="sees no accessory that offers com.example.echo: plug an accessory in"):
            app.open(PROTOCOL, timeout=0.1)


@pytest.mark.parametrize("kind", ["real", "virtual"])
def test_an_ended_session_says_so_when_sending(easim_server: easim.Server, kind: Time) -> None:
    with easim_server.world(time=kind) as world:
        lamp = world.add("echo")
        lamp.plug()
        app = world.app()
        fresh, used = app.open(PROTOCOL), None
        lamp.unplug()
        world.run_until("disconnect", side="device", after=0)
        with pytest.raises(easim.SessionEnded, match="the session ended: "):
            fresh.send(b"more")
        lamp.plug()
        used = app.open(PROTOCOL)
        used.send(b"x")
        assert used.recv(1) == b"x"
        lamp.close_sessions()
        with pytest.raises(easim.SessionEnded):
            for _ in range(100):
                used.send(b"x" * 1000)
                time.sleep(0.01)


@pytest.mark.parametrize("kind", ["real", "virtual"])
@pytest.mark.parametrize("wrong", [5, [1, 2], "text", None, 1.5])
def test_only_bytes_are_sent(easim_server: easim.Server, kind: Time, wrong: Any) -> None:
    with easim_server.world(time=kind) as world:
        world.add("echo").plug()
        with world.app().open(PROTOCOL) as session:
            with pytest.raises(TypeError, match="a session sends bytes, not "):
                session.send(wrong)
            session.send(bytearray(b"he"))
            session.send(memoryview(b"llo"))
            assert session.recv(5) == b"hello"


@pytest.mark.parametrize("kind", ["real", "virtual"])
def test_times_are_what_a_user_expects(easim_server: easim.Server, kind: Time) -> None:
    with easim_server.world(time=kind) as world:
        lamp, app = world.add("echo"), world.app()
        with pytest.raises(easim.Timeout):
            app.wait_for("connect", timeout=0)
        for wrong in (-1, float("nan"), float("inf")):
            with pytest.raises(ValueError):
                app.wait_for("connect", timeout=wrong)
            with pytest.raises(ValueError):
                app.open(PROTOCOL, timeout=wrong)
        lamp.plug()
        app.wait_for("connect", timeout=None)
        with app.open(PROTOCOL, timeout=None) as session:
            with pytest.raises(ValueError):
                session.timeout = -1
            session.timeout = 0
            with pytest.raises(easim.Timeout):
                session.recv(1)
            for timeout in (None, 7200, 100_000):
                session.timeout = timeout
                session.send(b"x")
                assert session.recv(1) == b"x"


def test_virtual_time_goes_far_and_never_back(easim_virtual: TestWorld) -> None:
    for wrong in (-1, float("nan")):
        with pytest.raises(ValueError):
            easim_virtual.advance(wrong)
    easim_virtual.advance(0)
    assert easim_virtual.now() == 0
    easim_virtual.advance(25 * 3600)
    assert easim_virtual.now() == 25 * 3600
    app = easim_virtual.app()
    with pytest.raises(easim.Timeout):
        app.wait_for("connect", timeout=30 * 3600)
    assert easim_virtual.now() == 55 * 3600
    with pytest.raises(easim.Timeout, match="within a day of virtual time"):
        app.wait_for("connect", timeout=None)


@marked
def test_a_long_silence_is_a_timeout_of_virtual_time(easim_virtual: TestWorld) -> None:
    easim_virtual.accessory.set_behavior("sink")
    with easim_virtual.app().open(PROTOCOL) as session:
        session.timeout = 2 * 3600
        before = easim_virtual.now()
        with pytest.raises(easim.Timeout, match="nothing arrived within 7200 s"):
            session.recv(1)
        assert 7200 <= easim_virtual.now() - before < 7201


def test_apps_leave_no_listeners(easim_server: easim.Server) -> None:
    link: Any = easim_server.aio.link
    before = len(link._listeners)
    for _ in range(5):
        with easim_server.world() as world:
            lamp = world.add("echo")
            lamp.take(lambda session, data: data)
            lamp.plug()
            with world.app().open(PROTOCOL) as session:
                session.send(b"x")
                assert session.recv(1) == b"x"
            world.app().kill()
    assert len(link._listeners) <= before
