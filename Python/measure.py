"""Measure the figures of docs/python.md: Scripts/python measure."""

from __future__ import annotations

import socket
import statistics
import subprocess
import sys
import time

import easim

PAYLOAD = bytes(i & 0xFF for i in range(10_000))


def fixture(server: easim.Server) -> float:
    """From the start of a fixture to a connected accessory, in seconds."""
    began = time.perf_counter()
    with server.world() as world:
        glasses = world.add("lawk-view")
        app = world.app(protocols=["com.lawaken.iap2"])
        glasses.plug()
        app.wait_for("connect")
        return time.perf_counter() - began


def echo_of_session(server: easim.Server, count: int) -> float:
    """10K echoes through a session, per second."""
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
    """The same through a socket to another process of Python, per second."""
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


def virtual(server: easim.Server) -> float:
    """1,000 virtual seconds with a flickering accessory, in seconds."""
    with server.world(time="virtual") as world:
        world.add("lawk-view", quirks=["flicker"]).plug()
        began = time.perf_counter()
        world.advance(seconds=1000)
        return time.perf_counter() - began


def main() -> None:
    """Print the figures."""
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
        took = sorted(virtual(server) for _ in range(20))
        print(f"1,000 virtual seconds: median {took[10] * 1e3:.1f} ms, the slowest of 20 {took[-1] * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
