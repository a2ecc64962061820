from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import easim

pytest.importorskip("labgrid", reason="needs labgrid: pip install labgrid")

from labgrid import Environment  # noqa: E402

PATIENCE = 60.0
LOCAL = """
targets:
  main:
    resources:
      EasimAccessory: {{profile: echo, quirks: [flicker], address: "unix:{path}"}}
    drivers:
    - EasimAccessoryDriver: {{}}
    - EasimHostDriver: {{}}
imports: [easim.labgrid]
"""
EXPORTED = """
bench-1:
  EasimAccessory:
    profile: lawk-view
    address: "unix:{path}"
bench-2:
  EasimHostPort:
    address: "unix:{real}"
"""
REMOTE = """
options: {{coordinator_address: "{coordinator}"}}
targets:
  main:
    resources: {{RemotePlace: {{name: glasses}}}}
    drivers: {{EasimHostDriver: {{timeout: 30}}}}
  real:
    resources: {{RemotePlace: {{name: real}}}}
    drivers: {{EasimHostDriver: {{timeout: 30}}}}
imports: [easim.labgrid]
"""


def environment(folder: Path, text: str) -> Any:
    path = folder / "env.yaml"
    path.write_text(text)
    return Environment(str(path))


def test_both_ends_in_one_place(tmp_path: Path) -> None:
    target = environment(tmp_path, LOCAL.format(path=tmp_path / "a.sock")).get_target()
    accessory = target.get_driver("EasimAccessoryDriver")
    host = target.get_driver("EasimHostDriver")
    assert accessory.address == f"unix:{tmp_path}/a.sock"
    assert host.burst(b"hello", count=5).passed
    assert accessory.accessory.state().quirks == ["flicker"]
    accessory.accessory.unplug()
    host.connection.app.wait_for("disconnect", timeout=PATIENCE)
    target.deactivate(host)
    target.deactivate(accessory)
    assert not (tmp_path / "a.sock").exists()
    with pytest.raises(easim.EasimError, match="not active"):
        _ = accessory.address
    target.cleanup()


class Lab:
    """labgrid's coordinator and an exporter of easim's resources, both on loopback."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.coordinator = f"127.0.0.1:{free.getsockname()[1]}"
        self.tools = Path(sys.executable).parent
        self.env = {**os.environ, "LG_COORDINATOR": self.coordinator}
        self.running: list[subprocess.Popen[bytes]] = []

    def tool(self, name: str) -> list[str]:
        """Return the command for a labgrid program, even if its first line names an interpreter that is elsewhere."""
        return [sys.executable, str(self.tools / name)]

    def start(self, *command: str) -> None:
        with (self.folder / "lab.log").open("ab") as log:
            self.running.append(
                subprocess.Popen(command, cwd=self.folder, env=self.env, stdout=log, stderr=subprocess.STDOUT)
            )

    def client(self, *arguments: str) -> str:
        command = [*self.tool("labgrid-client"), *arguments]
        done = subprocess.run(command, env=self.env, capture_output=True, text=True, check=False, timeout=PATIENCE)
        assert done.returncode == 0, done.stdout + done.stderr + (self.folder / "lab.log").read_text()
        return done.stdout

    def wait_for(self, text: str, *arguments: str) -> None:
        end = time.monotonic() + PATIENCE
        while True:
            try:
                if text in self.client(*arguments):
                    return
            except AssertionError:
                if time.monotonic() > end:
                    raise
            assert time.monotonic() < end, (self.folder / "lab.log").read_text()

    def close(self) -> None:
        for process in reversed(self.running):
            process.terminate()
            process.wait(PATIENCE)


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Lab]:
    # These variables identify whoever acquires a place, both in this test and in labgrid-client.
    monkeypatch.setenv("LG_HOSTNAME", "desk")
    monkeypatch.setenv("LG_USERNAME", "tester")
    made = Lab(tmp_path)
    if not shutil.which(str(made.tools / "labgrid-coordinator")):
        pytest.skip("needs labgrid 24 or later")
    try:
        made.start(*made.tool("labgrid-coordinator"), "-l", made.coordinator)
        # The coordinator prints nothing when it becomes ready.
        made.wait_for("", "places")
        yield made
    finally:
        made.close()


def test_an_exporter_plugs_the_accessory_in_while_a_place_is_acquired(lab: Lab, tmp_path: Path) -> None:
    path, real = tmp_path / "exported.sock", tmp_path / "real.sock"
    (tmp_path / "exporter.yaml").write_text(EXPORTED.format(path=path, real=real))
    lab.start(sys.executable, "-m", "easim.labgrid", "--name", "desk", "--hostname", "127.0.0.1", "exporter.yaml")
    lab.wait_for("desk/bench-1/NetworkEasimAccessory", "resources")
    lab.wait_for("desk/bench-2/EasimHostPort", "resources")
    for place, group in (("glasses", "bench-1"), ("real", "bench-2")):
        lab.client("-p", place, "create")
        lab.client("-p", place, "add-match", f"desk/{group}/*")
    assert not path.exists()
    lab.client("-p", "glasses", "acquire")
    lab.client("-p", "real", "acquire")
    assert path.exists()
    lab_environment = environment(tmp_path, REMOTE.format(coordinator=lab.coordinator))
    target = lab_environment.get_target("main")
    host = target.get_driver("EasimHostDriver")
    with host.open("com.lawaken.iap2") as session:
        session.send(b"hello")
        assert session.recv(5) == b"hello"
    target.cleanup()
    # Hardware cannot be configured, so only its address is shared.
    with easim.Server() as server, server.world() as world:
        world.add("echo", on=f"unix:{real}").plug()
        target = lab_environment.get_target("real")
        assert target.get_driver("EasimHostDriver").burst(b"hello", count=5).passed
        target.cleanup()
    lab.client("-p", "glasses", "release")
    end = time.monotonic() + PATIENCE
    while path.exists():
        assert time.monotonic() < end, "the exporter has not unplugged it"
    lab.client("-p", "glasses", "acquire")
    assert path.exists()
