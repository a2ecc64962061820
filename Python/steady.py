"""Keep a steady load of mixed requests on one ``easim serve``, and print its memory each minute.

    python steady.py [--minutes 60] [--every 0.5]        EASIM names the program

Each round plugs an accessory in, sends bytes both ways in an app's session and over a separate connection, sends wrong
requests, and runs a virtual world and a load test. Meanwhile, a reader follows every event over HTTP. From the second
to the last quarter, the memory may grow by at most 8 MiB, and the number of open descriptors must not grow.
"""

from __future__ import annotations

import argparse
import base64
import json
import os
import resource
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))
from easim._program import find  # noqa: E402

MOST_GROWTH = 8 << 20
PATIENCE = 120.0


class Client:
    """A connection to the control socket."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(str(path))
        self.file = self.socket.makefile("rwb")
        self.number = 0

    def ask(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request and return its answer, which may be an error."""
        self.number += 1
        line = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.file.write(json.dumps(line).encode() + b"\n")
        self.file.flush()
        while True:
            answer: dict[str, Any] = json.loads(self.file.readline())
            if answer.get("id") == self.number:
                return answer

    def call(self, method: str, **params: Any) -> dict[str, Any]:
        """Send a request that must succeed."""
        answer = self.ask(method, **params)
        if "error" in answer:
            raise SystemExit(f"{method} {params}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result


def round_trip(client: Client, number: int) -> int:
    """Send each kind of request once, and return the number of requests."""
    before = client.number
    client.call("world.create", time="virtual", seed=number)
    world = client.call("world.list")["worlds"][-1]["world"]
    for place in ("main", world):
        quirks = ["flicker"] if number % 3 == 0 else []
        accessory = client.call("accessory.add", profile="echo", world=place, quirks=quirks)["accessories"][0]
        app = client.call("app.launch", world=place, protocols=["com.example.echo"])["app"]
        fault = client.call("fault.add", accessory=accessory, fault="latency,delay=1ms")["faults"][0]
        client.call("accessory.plug", accessory=accessory)
        after = 0
        while (
            not client.call("app.accessories", app=app)["accessories"]
            or not client.call("app.accessories", app=app)["accessories"][0]["protocols"]
        ):
            came = client.call("time.runUntil", world=place, app=app, event="connect", after=after, limit="30s")
            after = came["notice"]["params"]["number"]
        session = client.call("app.open", app=app, protocol="com.example.echo")["session"]
        client.call("session.write", session=session, data=base64.b64encode(bytes(5_000)).decode())
        got = 0
        while got < 5_000:
            got += client.call("session.read", session=session, wait="30s")["bytes"]
        if place == "main" and number % 4 == 0:
            port = client.call("session.port", session=session)
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as bytes_of:
                bytes_of.settimeout(PATIENCE)
                bytes_of.connect(client.socket.getpeername())
                bytes_of.sendall(port["firstLine"].encode() + b"\nhello")
                bytes_of.recv(5)
        else:
            client.call("session.close", session=session)
        if number % 10 == 0:
            job = client.call("burst.run", world=place, accessory=accessory, bursts=20)["job"]
            client.call("job.wait", job=job)
            client.call("job.report", job=job, form="html")
        client.call("fault.remove", fault=fault)
        client.call("accessory.unplug", accessory=accessory)
        client.call("app.kill", app=app)
        client.call("accessory.remove", accessory=accessory)
        for wrong in ({"accessory": accessory}, {"acessory": "a1"}, {}):
            assert "error" in client.ask("accessory.plug", **wrong)
    if number % 20 == 0:
        job = client.call("scenario.run", scenario="flicker")["job"]
        client.call("job.wait", job=job)
        capture = client.call("capture.start", form="transcript")["capture"]
        client.call("capture.remove", capture=capture)
    client.call("world.remove", world=world)
    return client.number - before


class Reader(threading.Thread):
    """Reads every event over HTTP."""

    def __init__(self, address: str) -> None:
        super().__init__(daemon=True)
        self.bytes = 0
        self.ended = False
        place, _, token = address[len("http://") :].partition("/#")
        host, _, port = place.rpartition(":")
        self.socket = socket.create_connection((host, int(port)), PATIENCE)
        self.socket.settimeout(None)
        head = f"GET /events HTTP/1.1\r\nHost: {place}\r\nAuthorization: Bearer {token}\r\n\r\n"
        self.socket.sendall(head.encode())

    def run(self) -> None:
        """Count the events that arrive."""
        while data := self.socket.recv(65_536):
            self.bytes += len(data)
        self.ended = True


def main() -> None:
    """Keep up the load for the given time."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60)
    parser.add_argument("--every", type=float, default=0.5, metavar="SECONDS", help="when rounds begin (default 0.5)")
    chosen = parser.parse_args()
    samples: list[tuple[int, int]] = []
    requests = rounds = 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "control.sock"
        server = subprocess.Popen([str(find()), "serve", "--control", str(path)], stdout=subprocess.PIPE, text=True)
        try:
            assert server.stdout is not None
            reader = Reader(server.stdout.readline().strip())
            reader.start()
            client = Client(path)
            began = time.monotonic()
            while (passed := time.monotonic() - began) < chosen.minutes * 60:
                rounds += 1
                requests += round_trip(client, rounds)
                if passed >= 60 * len(samples):
                    pages = int(Path(f"/proc/{server.pid}/statm").read_text().split()[1])
                    memory, files = pages * resource.getpagesize(), len(os.listdir(f"/proc/{server.pid}/fd"))
                    samples.append((memory, files))
                    line = f"{passed / 60:5.1f} min: {memory / (1 << 20):6.1f} MiB, {files} descriptors, "
                    print(line + f"{rounds} rounds, {requests} requests, {reader.bytes} bytes of events", flush=True)
                time.sleep(max(0.0, rounds * chosen.every - (time.monotonic() - began)))
            if reader.ended:
                raise SystemExit("the server closed the stream of events")
        finally:
            server.terminate()
            server.wait(PATIENCE)
    quarter = len(samples) // 4
    if quarter:
        early, late = samples[quarter : 2 * quarter], samples[-quarter:]
        grown = statistics.median(m for m, _ in late) - statistics.median(m for m, _ in early)
        print(f"from the second to the last quarter: {grown / (1 << 20):+.1f} MiB")
        if grown > MOST_GROWTH or min(f for _, f in late) > max(f for _, f in early):
            raise SystemExit("the server grows")


if __name__ == "__main__":
    main()
