from __future__ import annotations

import time

import pytest

import easim
from easim.pytest_plugin import TestWorld


def test_the_flicker_takes_no_time(easim_virtual: TestWorld) -> None:
    glasses = easim_virtual.add("lawk-view", quirks=["flicker"])
    app = easim_virtual.app(protocols=["com.lawaken.iap2"])
    glasses.plug()
    app.wait_for("disconnect")
    assert app.sessions == []
    with app.open("com.lawaken.iap2", timeout=5) as session:
        assert app.sessions == [session]
        session.send(b"hello")
        assert session.recv(5) == b"hello"
    assert app.sessions == []
    assert app.events == ["connect", "disconnect", "connect"]


def test_advance_moves_the_clock_by_exactly_that(easim_virtual: TestWorld) -> None:
    before = easim_virtual.now()
    easim_virtual.advance(seconds=1000)
    assert easim_virtual.now() - before == 1000


def test_advice_names_what_this_package_calls_it(easim_world: TestWorld) -> None:
    with pytest.raises(easim.EasimError, match=r"create a world with time='virtual', or wait with wait_for\(\)"):
        easim_world.advance(seconds=1)


def test_the_same_seed_gives_the_same_run(easim_server) -> None:  # type: ignore[no-untyped-def]
    def run() -> list[object]:
        with easim_server.world(time="virtual", seed=7) as world:
            lamp = world.add("echo", quirks=["flicker"], faults=["loss,chance=5%"])
            app = world.app()
            lamp.plug()
            with app.open("com.example.echo") as session:
                session.send(bytes(50_000))
                session.recv(50_000)
            return [(event["t"], event["event"]) for event in world.events()]

    assert run() == run()


def test_a_timeout_is_of_virtual_time_and_says_what_was_told(easim_virtual: TestWorld) -> None:
    import easim

    app = easim_virtual.app()
    began = time.monotonic()
    try:
        app.wait_for("connect", timeout=3600)
        raise AssertionError("it came")
    except easim.Timeout as error:
        assert str(error) == "no 'connect' within 3600 s; the app's events so far: nothing"
    assert time.monotonic() - began < 60
    assert easim_virtual.now() == 3600


def test_a_misspelt_event_is_told_at_once(easim_virtual: TestWorld) -> None:
    with pytest.raises(easim.EasimError, match="^unknown event 'conect': did you mean 'connect'[?]$"):
        easim_virtual.app().wait_for("conect", timeout=3600)  # type: ignore[arg-type]
    with pytest.raises(easim.EasimError, match="^unknown event 'nonsense': expected attach, detach, link"):
        easim_virtual.run_until("nonsense", timeout=3600)  # type: ignore[arg-type]
    assert easim_virtual.now() == 0


def test_the_requests_that_changed_something_are_known(easim_virtual: TestWorld) -> None:
    lamp = easim_virtual.add("echo")
    lamp.plug()
    easim_virtual.advance(seconds=1)
    asked = [change["request"] for change in easim_virtual.changes()]
    # The plugin records packets for the trace that it writes if a test fails.
    assert asked == ["packet.record", "accessory.add", "accessory.plug", "time.advance"]
    assert "accessory.plug accessory=" in easim_virtual.timeline()
