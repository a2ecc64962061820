from __future__ import annotations

import pathlib

import pytest

import easim as easim_package


def record(world: easim_package.World, path: pathlib.Path) -> None:
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


def test_a_recording_answers_as_recorded(easim: easim_package.World, tmp_path: pathlib.Path) -> None:
    record(easim, tmp_path / "lamp.pcapng")
    recorded = easim.add_recording(tmp_path / "lamp.pcapng")
    app = easim.app()
    recorded.plug()
    with app.open("com.example.echo", timeout=60) as session:
        session.send(b"hello")
        assert session.recv(5) == b"hello"
    assert app.events[:3] == ["connect", "disconnect", "connect"]


def test_what_is_no_recording_is_refused(easim: easim_package.World, tmp_path: pathlib.Path) -> None:
    (tmp_path / "text").write_text("hello")
    with pytest.raises(easim_package.EasimError, match="recording: "):
        easim.add_recording(tmp_path / "text")
