"""Measure the figures in docs/python.md and docs/control.md: Scripts/python measure."""

from __future__ import annotations

import asyncio
import contextlib
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

import easim
from easim._program import find

PAYLOAD = bytes(i & 0xFF for i in range(10_000))


def fixture(server: easim.Server) -> float:
    """Measure the time from the start of a fixture to a connected accessory, in seconds."""
    began = time.perf_counter()
    with server.world() as world:
        glasses = world.add("lawk-view")
        app = world.app(protocols=["com.lawaken.iap2"])
        glasses.plug()
        app.wait_for("connect")
        return time.perf_counter() - began


def echo_of_session(server: easim.Server, count: int) -> float:
    """Measure how many echoes of 10,000 bytes pass through a session per second."""
    with server.world() as world:
        world.add("echo").plug()
        with world.app().open("com.example.echo") as session:
            session.send(b"x")
            session.recv(1)
            began = time.perf_counter()
            for _ in range(count):
                session.send(PAYLOAD)
                session.recv(len(PAYLOAD))
            return count / (time.perf_counter() - began)


ECHO = """
import socket
listener = socket.create_server(("127.0.0.1", 0))
print(listener.getsockname()[1], flush=True)
connection, _ = listener.accept()
connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
while data := connection.recv(1 << 16):
    connection.sendall(data)
"""


def echo_of_sockets(count: int) -> float:
    """Measure how many echoes of 10,000 bytes pass through a socket to another Python process per second."""
    server = subprocess.Popen([sys.executable, "-c", ECHO], stdout=subprocess.PIPE)
    assert server.stdout is not None
    with socket.create_connection(("127.0.0.1", int(server.stdout.readline()))) as client:
        client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        began = time.perf_counter()
        for _ in range(count):
            client.sendall(PAYLOAD)
            left = len(PAYLOAD)
            while left:
                left -= len(client.recv(left))
        took = time.perf_counter() - began
    server.wait()
    server.stdout.close()
    return count / took


def whole_test(server: easim.Server, kind: str = "real") -> float:
    """Run a whole test (a world, an accessory, an app, a request, its answer, and cleanup). Return its duration."""
    began = time.perf_counter()
    with server.world(time=kind) as world:
        lamp, app = world.add("echo"), world.app()
        lamp.plug()
        with app.open("com.example.echo") as session:
            session.send(b"VERSION?\n")
            assert session.recv_until(b"\n") == b"VERSION?\n"
    return time.perf_counter() - began


def fake_test(folder: str) -> float:
    """Run the same test with the simplest stand-in for an accessory: an asyncio echo server on a socket."""

    async def echo(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while data := await reader.read(1 << 16):
            writer.write(data)
        writer.close()

    async def main() -> None:
        path = str(Path(folder) / "fake.sock")
        server = await asyncio.start_unix_server(echo, path)
        reader, writer = await asyncio.open_unix_connection(path)
        writer.write(b"VERSION?\n")
        assert await reader.readuntil(b"\n") == b"VERSION?\n"
        writer.close()
        await writer.wait_closed()
        server.close()
        await server.wait_closed()

    began = time.perf_counter()
    asyncio.run(main())
    return time.perf_counter() - began


def rate(server: easim.Server, kind: str, count: int) -> float:
    """Measure small echoes per second, in virtual or real time."""
    with server.world(time=kind) as world:
        world.add("echo").plug()
        with world.app().open("com.example.echo") as session:
            began = time.perf_counter()
            for _ in range(count):
                session.send(b"hello")
                session.recv(5)
            return count / (time.perf_counter() - began)


def recv_ratio(server: easim.Server, size: int) -> float:
    """Compare the time of ``recv(n)`` with that of ``recv()`` calls for as many bytes: the best of several runs."""
    data, count = bytes(size), max(10, min(500, 4_000_000 // size))
    with server.world() as world:
        world.add("echo").plug()
        with world.app().open("com.example.echo") as session:

            def exactly() -> None:
                session.recv(size)

            def piecewise() -> None:
                pieces = [session.recv()]
                while sum(map(len, pieces)) < size:
                    pieces.append(session.recv())
                b"".join(pieces)

            def took(receive: Callable[[], None]) -> float:
                began = time.perf_counter()
                for _ in range(count):
                    # The buffers cannot hold a megabyte, so it is sent and received at the same time.
                    sender = threading.Thread(target=session.send, args=(data,))
                    sender.start()
                    receive()
                    sender.join()
                return time.perf_counter() - began

            return min(took(exactly) for _ in range(5)) / min(took(piecewise) for _ in range(5))


def virtual(server: easim.Server) -> float:
    """Measure how long 1,000 virtual seconds with a flickering accessory take, in seconds."""
    with server.world(time="virtual") as world:
        world.add("lawk-view", quirks=["flicker"]).plug()
        began = time.perf_counter()
        world.advance(seconds=1000)
        return time.perf_counter() - began


def round_trip(connection: socket.socket) -> float:
    """Measure how long one byte takes to the accessory and back, in seconds."""
    began = time.perf_counter()
    connection.sendall(b"x")
    connection.recv(1)
    return time.perf_counter() - began


def round_trips(idle: int, pause: float, count: int = 100) -> tuple[float, float]:
    """Measure the medians of first and later round trips of sessions over the port of ``easim serve --remote``.

    The first round trip begins when the connection has sent its ticket. Up to 900 of the idle connections are for
    requests, and the others for sessions. The same pause precedes each round trip.
    """
    limit = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (limit, limit))
    token = "a-token-for-measuring"
    process = subprocess.Popen(
        [str(find()), "serve", "--remote", "127.0.0.1:0"],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "EASIM_TOKEN": token},
    )
    assert process.stdout is not None
    line = process.stdout.readline().strip()
    place = ("127.0.0.1", int(line.rpartition("#")[0].rpartition(":")[2]))

    def connect(first: str) -> socket.socket:
        made = socket.create_connection(place)
        made.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        made.sendall(first.encode() + b"\n")
        return made

    def wait() -> None:
        if pause:
            time.sleep(pause)

    with contextlib.ExitStack() as stack:
        stack.callback(process.wait)
        stack.callback(process.terminate)
        server = stack.enter_context(easim.Server(remote=line))
        for _ in range(min(idle, 900)):
            stack.enter_context(connect(f"control {token}"))
        world = stack.enter_context(server.world())
        app = world.app()
        while (missing := idle - 900 - len(app.accessories())) > 0:
            for lamp in world.add_several(min(missing, 1_000), "echo"):
                lamp.plug()
                app.wait_for("connect")
                stack.enter_context(app.open("com.example.echo", accessory=lamp).detach())
        lamp = world.add("echo")
        lamp.plug()
        app.wait_for("connect")
        first, later = [], []
        for _ in range(count):
            session = server.call("app.open", app=app.id, protocol="com.example.echo", accessory=lamp.id)["session"]
            with connect(server.call("session.port", session=session)["firstLine"]) as made:
                wait()
                first.append(round_trip(made))
                for _ in range(5):
                    wait()
                    later.append(round_trip(made))
            server.call("session.close", session=session)
        return statistics.median(first), statistics.median(later)


def main() -> None:
    """Print the figures."""
    for idle in (0, 2_000):
        for pause in (0.0, 0.01):
            one, others = round_trips(idle, pause)
            print(
                f"remote port beside {idle} idle connections, {pause * 1e3:.0f} ms before each round trip: "
                f"first {one * 1e6:.0f} µs, later {others * 1e6:.0f} µs, ratio {one / others:.2f}"
            )
    with easim.Server() as server:
        first = fixture(server)
        later = sorted(fixture(server) for _ in range(50))
        print(f"fixture to connected accessory: first {first * 1e3:.1f} ms, then median {later[25] * 1e3:.1f} ms,")
        print(f"  the slowest of 50 {later[-1] * 1e3:.1f} ms")
        ratios = []
        for _ in range(5):
            ours, theirs = echo_of_session(server, 3_000), echo_of_sockets(3_000)
            ratios.append(theirs / ours)
            print(f"10K echo: session {ours:,.0f}/s, sockets {theirs:,.0f}/s, ratio {theirs / ours:.2f}")
        print(f"  median ratio {statistics.median(ratios):.2f}")
        tests: dict[str, list[float]] = {"fake": [], "real": [], "virtual": []}
        with tempfile.TemporaryDirectory() as folder:
            # The runs alternate, so that any other load on the machine affects all of them equally.
            for _ in range(20):
                for kind, took in tests.items():
                    took += (fake_test(folder) if kind == "fake" else whole_test(server, kind) for _ in range(20))
        fake = statistics.median(tests.pop("fake"))
        for kind, took in tests.items():
            whole = statistics.median(took)
            print(
                f"whole test in {kind} time: {whole * 1e3:.2f} ms, fake {fake * 1e3:.2f} ms, ratio {whole / fake:.1f}"
            )
        for size in (100, 10_000, 1_000_000):
            print(f"recv({size:,}) takes {recv_ratio(server, size):.2f} of the time of recv()")
        ratios = []
        for _ in range(5):
            real, slow = rate(server, "real", 5_000), rate(server, "virtual", 2_000)
            ratios.append(real / slow)
            print(f"small echoes: real {real:,.0f}/s, virtual {slow:,.0f}/s, ratio {real / slow:.1f}")
        print(f"  median ratio {statistics.median(ratios):.1f}")
        took = sorted(virtual(server) for _ in range(20))
        print(f"1,000 virtual seconds: median {took[10] * 1e3:.1f} ms, the slowest of 20 {took[-1] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
