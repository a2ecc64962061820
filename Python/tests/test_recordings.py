from __future__ import annotations

import pathlib

import pytest

import easim


def record(world: easim.World, path: pathlib.Path) -> None:
    lamp = world.add("echo", quirks=["flicker"])
    app = world.app()
    capture = world.capture()
    lamp.plug()
    with app.open("com.example.echo", timeout=60) as session:
        session.send(b"hello")
        assert session.recv(5) == b"hello"
    lamp.unplug()
    capture.stop()
    path.write_bytes(capture.read())


def test_a_recording_answers_as_recorded(easim_world: easim.World, tmp_path: pathlib.Path) -> None:
    record(easim_world, tmp_path / "lamp.pcapng")
    recorded = easim_world.add_recording(tmp_path / "lamp.pcapng")
    app = easim_world.app()
    recorded.plug()
    with app.open("com.example.echo", timeout=60) as session:
        session.send(b"hello")
        assert session.recv(5) == b"hello"
    assert app.events[:3] == ["connect", "disconnect", "connect"]


def test_what_is_no_recording_is_refused(easim_world: easim.World, tmp_path: pathlib.Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(easim.EasimError, match="recording: "):
        easim_world.add_recording(tmp_path / "text")
