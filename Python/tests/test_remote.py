"""The port of ``easim serve --remote``: what it accepts, and that hostile clients do not delay others."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import easim
from easim._program import find

PATIENCE = 60.0
TOKEN = "a-token-for-tests"


class Server:
    """A server with a remote port, whose token the test knows."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [str(find()), "serve", "--remote", "127.0.0.1:0"],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env={**os.environ, "EASIM_TOKEN": TOKEN},
        )
        assert self.process.stdout is not None
        self.line = self.process.stdout.readline().decode().strip()
        place = self.line.removeprefix("EASIM_REMOTE=").partition("#")[0]
        self.port = int(place.rpartition(":")[2])

    def dial(self, first: bytes = b"") -> socket.socket:
        made = socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE)
        made.sendall(first)
        return made

    def control(self) -> socket.socket:
        return self.dial(f"control {TOKEN}\n".encode())

    def works(self) -> bool:
        with self.control() as made:
            made.sendall(b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n')
            return b'"result"' in made.makefile("rb").readline()

    def resources(self) -> tuple[int, int]:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize(), len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def close(self) -> str:
        self.process.terminate()
        return self.process.communicate(timeout=PATIENCE)[1].decode()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


def test_the_printed_line_is_what_a_client_needs(server: Server) -> None:
    assert server.line == f"EASIM_REMOTE=127.0.0.1:{server.port}#{TOKEN}"
    with easim.Server(remote=server.line) as client, client.world() as world:
        lamp, app = world.add("echo"), world.app()
        lamp.plug()
        app.wait_for("connect")
        with app.open("com.example.echo") as session:
            session.send(b"hello" * 10_000)
            assert session.recv(50_000) == b"hello" * 10_000
    # The server is still running, but without the app.
    with easim.Server(remote=server.line) as client:
        assert client.call("app.list") == {"apps": []}


def test_a_wrong_token_is_an_error_that_says_so(server: Server) -> None:
    with pytest.raises(easim.EasimError, match="token"):
        easim.Server(remote=f"127.0.0.1:{server.port}#wrong")
    with server.dial(b"control wrong\n") as made:
        answer = json.loads(made.makefile("rb").readline())
        assert answer["error"]["data"]["kind"] == "notAllowed"
        assert made.recv(1) == b""
    assert "the token is wrong" in server.close()


def test_a_control_socket_is_a_server_too(easim_server: easim.Server) -> None:
    """A program can share a server that another has started; its apps end with it."""
    path = easim_server.aio.link.process.control  # type: ignore[union-attr]
    with easim.Server(remote=f"unix:{path}") as client, client.world() as world:
        world.add("echo").plug()
        with world.app().open("com.example.echo") as session:
            session.send(b"hello")
            assert session.recv(5) == b"hello"
    assert easim_server.is_running
    with pytest.raises(easim.ProgramError, match="the server at unix:/nowhere does not answer"):
        easim.Server(remote="unix:/nowhere")


@pytest.mark.parametrize(
    "first",
    [
        b"\n",
        b"control\n",
        b"control \n",
        b"CONTROL " + TOKEN.encode() + b"\n",
        b"control " + TOKEN.encode() + b" \n",
        b"session\n",
        b"session wrong\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n\r\n",
        b'{"jsonrpc":"2.0","id":1,"method":"server.info"}\n',
        b"\x00" * 1_000,
        b"control " + b"x" * 100_000,
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + bytes(range(256)),
    ],
)
def test_a_wrong_first_line_ends_the_connection(server: Server, first: bytes) -> None:
    with contextlib.suppress(ConnectionError), server.dial(first) as made:
        made.shutdown(socket.SHUT_WR)
        got = made.makefile("rb").read()
        assert b'"result"' not in got
    assert server.works()


def test_ten_thousand_connections_lock_nobody_out(server: Server) -> None:
    with server.control() as honest:
        honest.sendall(b'{"jsonrpc":"2.0","id":1,"method":"accessory.add","params":{"profile":"echo"}}\n')
        file = honest.makefile("rb")
        assert b'"result"' in file.readline()
        before, descriptors = server.resources()
        held: list[socket.socket] = []
        for number in range(10_000):
            held.append(server.dial(b"contr"[: number % 6]))
            if len(held) > 400:
                held.pop(0).close()
            if number % 2_000 == 0:
                assert server.works()
        assert server.works()
        honest.sendall(b'{"jsonrpc":"2.0","id":2,"method":"world.list"}\n')
        assert b'"result"' in file.readline()
        grown, more = server.resources()
        assert grown - before < 20 << 20
        assert more - descriptors < 300
        for made in held:
            made.close()


def test_a_connection_that_dribbles_its_line_is_closed(server: Server) -> None:
    made = server.dial()
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            made.send(b"c")
        if select.select([made], [], [], 0.5)[0]:
            break
    assert time.monotonic() < end


def test_a_ticket_is_taken_once(server: Server) -> None:
    with easim.Server(remote=server.line) as client, client.world() as world:
        lamp, app = world.add("echo"), world.app()
        lamp.plug()
        app.wait_for("connect")
        session = client.call("app.open", app=app.id, protocol="com.example.echo")["session"]
        line = client.call("session.port", session=session)["firstLine"].encode() + b"\n"
        # The first line is sent in two parts, and the session's first bytes follow the line immediately.
        with server.dial(line[:20]) as made:
            made.sendall(line[20:] + b"hello")
            assert made.recv(5, socket.MSG_WAITALL) == b"hello"
            with server.dial(line + b"hello") as again, contextlib.suppress(ConnectionError):
                assert again.recv(1) == b""
            made.sendall(b"still here")
            assert made.recv(10, socket.MSG_WAITALL) == b"still here"


def test_wrong_tickets_are_one_warning() -> None:
    made = Server()
    for number in range(20):
        with made.dial(f"session {number}\n".encode()) as refused:
            assert refused.recv(1) == b""
    assert made.close().count("its ticket belongs to no session") == 1


def test_half_open_connections_cost_their_place_only(server: Server) -> None:
    # Covers control connections and sessions whose clients have shut down their sending side.
    with easim.Server(remote=server.line) as client, client.world() as world:
        lamp, app = world.add("echo"), world.app()
        lamp.plug()
        app.wait_for("connect")
        for _ in range(5):
            with server.control() as made:
                made.shutdown(socket.SHUT_WR)
                assert made.recv(1) == b""
            session = app.open("com.example.echo")
            silent = session.detach()
            silent.shutdown(socket.SHUT_WR)
            # A session cannot be half-closed, so it ends when nothing has arrived for a while.
            assert silent.recv(1) == b""
            silent.close()
        assert server.works()


def test_names_and_other_machines_need_an_option() -> None:
    for place, message in (("0.0.0.0:0", "--allow-remote"), ("nowhere.example:1", "IP address"), ("7000", "HOST:PORT")):
        command = [str(find()), "serve", "--remote", place]
        done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)
        assert done.returncode == 2
        assert message in done.stderr
    done = subprocess.run(
        [str(find()), "serve", "--remote", "127.0.0.1:0"],
        env={**os.environ, "EASIM_TOKEN": "short"},
        capture_output=True,
        text=True,
        timeout=PATIENCE,
    )
    assert done.returncode == 2
    assert "EASIM_TOKEN" in done.stderr


NAMESPACE = r"""
set -e
unshare -n sleep 600 & there=$!
trap 'kill $there' EXIT
while [ "$(readlink /proc/$there/ns/net)" = "$(readlink /proc/self/ns/net)" ]; do :; done
ip link add outside type veth peer name inside netns $there
nsenter -t $there -n ip addr add 192.0.2.2/24 dev inside
nsenter -t $there -n ip link set lo up
nsenter -t $there -n ip link set inside up
ip addr add 192.0.2.1/24 dev outside
ip link set outside up
nsenter -t $there -n "$EASIM" serve --remote 192.0.2.2:7000 --allow-remote & server=$!
trap 'kill $server $there' EXIT
"$PYTHON" - <<'END'
import easim, os, time
end = time.monotonic() + 30
while True:
    try:
        client = easim.Server(remote="192.0.2.2:7000#" + os.environ["EASIM_TOKEN"])
        break
    except easim.EasimError:
        if time.monotonic() > end:
            raise
with client, client.world() as world:
    lamp, app = world.add("lawk-view", behavior="echo", quirks=["flicker"]), world.app()
    lamp.plug()
    with app.open("com.lawaken.iap2") as session:
        session.send(b"through one port")
        print(session.recv(16).decode())
END
"""


def test_one_open_port_of_a_network_namespace_suffices() -> None:
    unshare = ["unshare", "--user", "--map-root-user", "--net"]
    can = shutil.which("ip") and shutil.which("nsenter") and shutil.which("unshare")
    if not can or subprocess.run([*unshare, "true"], capture_output=True, check=False).returncode != 0:
        pytest.skip("needs ip, and the right to make network namespaces")
    environment = {**os.environ, "EASIM": str(find()), "EASIM_TOKEN": TOKEN, "PYTHON": sys.executable}
    done = subprocess.run(
        [*unshare, "bash", "-c", NAMESPACE], env=environment, capture_output=True, text=True, timeout=PATIENCE
    )
    assert "through one port" in done.stdout, done.stderr
