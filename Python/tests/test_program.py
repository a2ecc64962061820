from __future__ import annotations

import sys
from pathlib import Path

import pytest

import easim
from easim import _program


def script(folder: Path, text: str) -> Path:
    path = folder / "easim"
    path.write_text(f"#!/bin/sh\n{text}\n")
    path.chmod(0o755)
    return path


def test_a_missing_program_says_what_to_do(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv("EASIM", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(easim.ProgramError, match="the program easim is not on the PATH: install easim"):
        easim.Server()
    monkeypatch.setenv("EASIM", "/nonexistent/easim")
    with pytest.raises(easim.ProgramError, match="EASIM is /nonexistent/easim, which does not exist: install"):
        easim.Server()
    with pytest.raises(easim.ProgramError, match="which is not executable"):
        easim.Server(__file__)


def test_the_variable_goes_before_the_path(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    on_path = script(tmp_path, "")
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("EASIM", raising=False)
    assert _program.find() == on_path
    (tmp_path / "other").mkdir()
    other = script(tmp_path / "other", "")
    monkeypatch.setenv("EASIM", str(other))
    assert _program.find() == other
    assert _program.find(on_path) == on_path


def test_the_program_of_the_wheel_goes_before_the_command_that_starts_it(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # A wheel may bundle the program next to the package's modules. The command that starts the program is then next to
    # Python.
    monkeypatch.delenv("EASIM", raising=False)
    (tmp_path / "package").mkdir()
    (tmp_path / "bin").mkdir()
    inside, command = script(tmp_path / "package", ""), script(tmp_path / "bin", "")
    monkeypatch.setattr(_program, "__file__", str(tmp_path / "package" / "_program.py"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "bin" / "python"))
    assert _program.find() == inside
    inside.unlink()
    assert _program.find() == command


def test_a_program_without_serve_is_too_old(tmp_path: Path) -> None:
    old = script(
        tmp_path,
        'if [ "$1" = --version ]; then echo easim 0.0.9; else echo "easim: unknown command \'serve\'" >&2; exit 2; fi',
    )
    with pytest.raises(easim.ProgramError) as caught:
        easim.Server(old)
    assert f"{old} (easim 0.0.9) is too old: it has no command 'serve'" in str(caught.value)


@pytest.mark.parametrize(("protocol", "advice"), [(0, "install easim"), (2, "pip install --upgrade easim")])
def test_another_protocol_is_refused(tmp_path: Path, protocol: int, advice: str) -> None:
    answer = f'{{"jsonrpc":"2.0","id":1,"result":{{"version":"9.9","protocol":{protocol}}}}}'
    other = script(tmp_path, f"read -r line; echo '{answer}'; read -r line")
    with pytest.raises(easim.ProgramError) as caught:
        easim.Server(other)
    assert f"(easim 9.9) speaks control protocol {protocol}, and this package 1: {advice}" in str(caught.value)


def test_a_program_that_ends_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(easim.ProgramError, match="ended with exit code 3, and printed: no luck"):
        easim.Server(script(tmp_path, "echo no luck >&2; exit 3"))


def test_a_program_that_is_not_easim_is_told_from_easim() -> None:
    with pytest.raises(easim.ProgramError, match="true ended with exit code 0: is it easim[?] install easim"):
        easim.Server("true")


def test_a_program_that_talks_nonsense_is_quoted(tmp_path: Path) -> None:
    with pytest.raises(easim.EasimError, match="sent a line that is not JSON-RPC: hello"):
        easim.Server(script(tmp_path, "echo hello; read -r line; read -r line"))


def test_a_server_that_dies_fails_what_waits(easim_server: easim.Server) -> None:
    import os
    import signal

    with easim.Server() as server:
        server.call("server.info")
        os.kill(server.pid, signal.SIGKILL)
        with pytest.raises(easim.ProgramError, match="ended with exit code -9"):
            server.call("time.runUntil", event="never", limit="1h")
