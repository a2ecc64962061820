from __future__ import annotations

import easim


def test_a_capture_is_pcapng_and_ends(easim_world: easim.World) -> None:
    lamp = easim_world.add("echo")
    capture = lamp.capture(limit=1 << 20)
    lamp.plug()
    easim_world.run_until("connect", side="device", after=0)
    capture.stop()
    data = capture.read()
    assert data.startswith(b"\x0a\x0d\x0d\x0a")
    assert capture.state().bytes == len(data)
    capture.remove()


def test_sessions_of_a_killed_app_may_be_left(easim_virtual: easim.World) -> None:
    lamp = easim_virtual.add("echo")
    app = easim_virtual.app()
    lamp.plug()
    session = app.open("com.example.echo")
    app.kill(leave_sessions=True)
    easim_virtual.advance(1)
    assert session.state().open
    lamp.flicker()
    easim_virtual.advance(5)
    assert not session.state().open


def test_plain_methods_keep_names_and_documents() -> None:
    for name in ("plug", "pull", "add_quirk"):
        method = getattr(easim.Accessory, name)
        assert method.__name__ == name and method.__doc__
