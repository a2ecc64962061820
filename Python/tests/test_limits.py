"""How misbehaving clients affect the server and other clients."""

from __future__ import annotations

import json
import resource
import select
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Optional

import pytest

from easim._program import find

MIB = 1 << 20
PATIENCE = 120.0


class Client:
    """A connection to the control socket that shares no code with the package."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rb")
        self.number = 0

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        self.number += 1
        self.socket.sendall(request(self.number, method, params))
        while True:
            answer: dict[str, Any] = json.loads(self.file.readline())
            if answer.get("id") == self.number:
                return answer


def request(number: int, method: str, params: Optional[dict[str, Any]] = None) -> bytes:
    line = {"jsonrpc": "2.0", "id": number, "method": method, "params": params or {}}
    return json.dumps(line).encode() + b"\n"


class Server:
    """``easim serve`` with a control socket and HTTP."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "control.sock"
        self.process = subprocess.Popen(
            [str(find()), "serve", "--control", str(self.path)], stdout=subprocess.PIPE, stdin=subprocess.DEVNULL
        )
        assert self.process.stdout is not None
        line = self.process.stdout.readline().decode().strip()
        self.host, _, self.token = line[len("http://") :].partition("/#")

    def memory(self) -> int:
        """The memory in use, in bytes."""
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        return pages * resource.getpagesize()

    def descriptors(self) -> int:
        return len(list(Path(f"/proc/{self.process.pid}/fd").iterdir()))

    def visit(self, path: str) -> socket.socket:
        host, _, port = self.host.rpartition(":")
        made = socket.create_connection((host, int(port)), timeout=PATIENCE)
        made.sendall(f"GET {path} HTTP/1.1\r\nHost: {self.host}\r\nAuthorization: Bearer {self.token}\r\n\r\n".encode())
        return made

    def close(self) -> None:
        self.process.terminate()
        self.process.wait(PATIENCE)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Server]:
    made = Server(tmp_path)
    yield made
    made.close()


def test_a_client_that_reads_no_answers_holds_up_only_itself(server: Server) -> None:
    other = Client(server.path)
    flood = Client(server.path)
    flood.socket.setblocking(False)
    block = b"".join(request(number, "server.info") for number in range(1_000))
    sent, most = 0, 1_000 * len(block)
    while sent < most:
        # The flooding client is blocked: while another client got ten answers, the server accepted none of the flooding
        # client's bytes.
        _, writable, _ = select.select([], [flood.socket], [], 0)
        if writable:
            sent += flood.socket.send(block[sent % len(block) :])
        else:
            before = sent
            for _ in range(10):
                assert "result" in other.call("server.info")
            if select.select([], [flood.socket], [], 0)[1] == [] and sent == before:
                break
    assert sent < most, "a million requests were taken without reading an answer"
    assert server.memory() < 300 * MIB
    assert "result" in other.call("world.list")
    # All answers arrive once the client reads them.
    flood.socket.settimeout(PATIENCE)
    expected = block[: sent % len(block)].count(b"\n") + sent // len(block) * 1_000
    for _ in range(expected):
        assert b'"result"' in flood.file.readline()


def test_memory_stays_over_many_requests_and_events(server: Server) -> None:
    client = Client(server.path)
    client.call("events.subscribe")

    def rounds(count: int) -> None:
        for _ in range(count):
            made = client.call("accessory.add", profile="echo")["result"]["accessories"][0]
            for method in ("plug", "unplug", "remove"):
                assert "result" in client.call(f"accessory.{method}", accessory=made)
            for _ in range(10):
                client.call("nothing.there", with_a="parameter")

    rounds(150)
    # Removed accessories are kept for five seconds.
    client.call("time.runUntil", event="never", limit="6s")
    before = server.memory()
    for _ in range(2):
        rounds(150)
        client.call("time.runUntil", event="never", limit="6s")
    grown = server.memory() - before
    assert grown < 40 * MIB, f"{grown} bytes"


def test_a_thousand_idle_event_streams_cost_little(server: Server) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard < 2_048:
        pytest.skip("needs 2,048 descriptors")
    resource.setrlimit(resource.RLIMIT_NOFILE, (2_048, hard))
    streams: list[socket.socket] = []
    try:
        before, descriptors = server.memory(), server.descriptors()
        for _ in range(1_000):
            streams.append(server.visit("/events"))
        for stream in streams:
            assert b"200 OK" in stream.recv(4_096)
        grown = server.memory() - before
        assert grown < 150 * MIB, f"{grown} bytes"
        client = Client(server.path)
        made = client.call("accessory.add", profile="echo")["result"]["accessories"][0]
        client.call("accessory.plug", accessory=made)
        for stream in streams:
            text = b""
            while b'"event":"attach"' not in text:
                text += stream.recv(65_536)
    finally:
        for stream in streams:
            stream.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    end = time.monotonic() + PATIENCE
    while server.descriptors() > descriptors + 10 and time.monotonic() < end:
        client.call("time.runUntil", event="never", limit="50ms")
    assert server.descriptors() <= descriptors + 10


def session(client: Client, behavior: str = "echo") -> str:
    made = client.call("accessory.add", profile="echo", behavior=behavior)["result"]["accessories"][0]
    app = client.call("app.launch")["result"]["app"]
    client.call("accessory.plug", accessory=made)
    client.call("time.runUntil", event="connect", app=app, after=0)
    opened = client.call("app.open", app=app, accessory=made, protocol="com.example.echo")
    return str(opened["result"]["session"])


def port(client: Client, server: Server, name: str) -> tuple[socket.socket, str]:
    place = client.call("session.port", session=name)["result"]
    # The answer contains no address: sessions use the same socket or port as the client's connection.
    assert list(place) == ["firstLine"]
    return dial(server), str(place["firstLine"])


def dial(server: Server) -> socket.socket:
    made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    made.settimeout(PATIENCE)
    made.connect(str(server.path))
    return made


def exactly(connection: socket.socket, count: int) -> bytes:
    data = bytearray()
    while len(data) < count and (piece := connection.recv(count - len(data))):
        data += piece
    return bytes(data)


def test_a_ticket_is_taken_once_and_no_other_is(server: Server) -> None:
    client = Client(server.path)
    made, line = port(client, server, session(client))
    for guess in ("session " + "x" * 32, "session ", line[:-1], line.upper(), line + "0", "s" * 4_096):
        wrong = dial(server)
        wrong.sendall(guess.encode() + b"\n")
        assert b"firstLine" not in wrong.recv(4_096)
    made.sendall(line.encode() + b"\nhello")
    assert exactly(made, 5) == b"hello"
    again = dial(server)
    again.sendall(line.encode() + b"\nhello")
    assert again.recv(1) == b""
    made.sendall(b"still here")
    assert exactly(made, 10) == b"still here"


def test_a_half_closed_connection_still_gets_the_answers(server: Server) -> None:
    client = Client(server.path)
    name = session(client)
    made, token = port(client, server, name)
    made.sendall(token.encode() + b"\n" + b"z" * 100_000)
    made.shutdown(socket.SHUT_WR)
    assert exactly(made, 100_000) == b"z" * 100_000
    assert "result" in client.call("world.list")


def test_a_connection_that_is_never_read_costs_nothing(server: Server) -> None:
    client = Client(server.path)
    name = session(client, "source")
    made, token = port(client, server, name)
    made.sendall(token.encode() + b"\n")
    assert made.recv(1)
    before = server.memory()
    client.call("time.runUntil", event="never", limit="3s")
    assert server.memory() - before < 20 * MIB
    state = client.call("session.state", session=name)["result"]
    assert state["bytesRead"] < 40 * MIB
    assert "result" in client.call("world.list")


def test_two_clients_that_do_opposite_things_get_their_turns(server: Server) -> None:
    one, other = Client(server.path), Client(server.path)
    made = one.call("accessory.add", profile="echo")["result"]["accessories"][0]
    kinds = set()
    for number in range(500):
        for client, method in ((one, "plug"), (other, "unplug" if number % 2 else "pull")):
            answer = client.call(f"accessory.{method}", accessory=made)
            kinds.add(answer["error"]["data"]["kind"] if "error" in answer else "done")
    assert kinds <= {"done", "state"}
    assert "result" in one.call("accessory.remove", accessory=made)
    assert other.call("accessory.plug", accessory=made)["error"]["data"]["kind"] == "gone"
