"""Send random requests to ``easim serve``: right, nearly right and wrong ones, made from its OpenRPC document.

    python storm.py [--seconds 60] [--seed 1]        EASIM names the program

Meanwhile, accessories and apps are added, plugged in and published, and sessions are opened, written, read, given a
connection and closed, while the random requests unplug, kill and remove them at any moment.

Every request must get a JSON-RPC answer, no answer may be an error of the kind ``server``, the process must survive,
and its memory must stay below a limit. Several clients take turns; some disconnect and others connect.
"""

from __future__ import annotations

import argparse
import base64
import collections
import json
import random
import resource
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent / "src"))
from easim._program import find  # noqa: E402

MOST_MEMORY = 1 << 30
PATIENCE = 120.0
WORDS = [
    "",
    "main",
    "w1",
    "echo",
    "lawk-view",
    "flicker",
    "com.example.echo",
    "connect",
    "loss,chance=1%",
    "日本",
    "\x00",
    "x" * 5_000,
]
POOLS: dict[str, list[Any]] = {
    "profile": ["echo", "lawk-view", "echo", "ekho"],
    "protocol": ["com.example.echo", "com.lawaken.iap2", "com.example.none"],
    "protocols": [["com.example.echo"], ["com.lawaken.iap2"], []],
    "quirks": [["flicker"], [], ["no-status"], ["flikcer"]],
    "add": [["flicker"], ["no-status"], []],
    "remove": [["flicker"], []],
    "fault": ["latency,delay=1ms", "loss,chance=1%", "bluetooth", "loss"],
    "faults": [["latency,delay=1ms"], []],
    "to": ["latency,delay=2ms", "loss,chance=2%", "x"],
    "behavior": ["echo", "sink", "source,rate=100,text=tick", "ecko"],
    "event": ["connect", "disconnect", "never", "readable"],
    "scenario": ["flicker", "none"],
    "text": ["hello", "x" * 3_000, ""],
    "data": ["aGVsbG8=", "not base64"],
    "count": [1, 1, 2, 0, "many"],
    "seeds": [1, 2, 0],
    "bursts": [1, 5, 0],
    "sessions": ["closed", "left", 1, 2],
    "size": [1, 1_000, 10_000],
}
# Without a limit, these methods would wait for a minute.
WAITING = {"time.runUntil": "limit", "job.wait": "limit", "session.write": "wait", "session.read": "wait"}


class Interrupted(Exception):
    """The life of an accessory or an app ended early."""


class Storm:
    """A server, and the requests sent to it."""

    def __init__(self, seed: int, folder: Path) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.path = folder / "control.sock"
        self.process = subprocess.Popen(
            [str(find()), "serve", "--control", str(self.path), "--keep", str(folder / "kept")], stdout=subprocess.PIPE
        )
        assert self.process.stdout is not None
        self.process.stdout.readline()
        self.ids: dict[str, list[str]] = collections.defaultdict(list)
        self.outcomes: collections.Counter[str] = collections.Counter()
        self.by_method: dict[str, collections.Counter[str]] = collections.defaultdict(collections.Counter)
        self.slowest = (0.0, "")
        self.memory = 0
        self.worlds = ["main"]
        self.virtual: set[str] = set()
        self.lives: list[Iterator[None]] = []
        self.lived: collections.Counter[str] = collections.Counter()
        self.clients = [self.client() for _ in range(4)]
        self.methods: list[dict[str, Any]] = []
        self.methods = self.call(self.clients[0], "rpc.discover", {})["result"]["methods"]

    def client(self) -> Any:
        made = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        made.settimeout(PATIENCE)
        made.connect(str(self.path))
        return made.makefile("rwb")

    def call(self, client: Any, method: Any, params: Any) -> dict[str, Any]:
        number = self.random.randrange(1 << 30)
        began = time.monotonic()
        client.write(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}).encode() + b"\n")
        client.flush()
        while True:
            line = client.readline()
            if not line:
                raise SystemExit(
                    f"the server closed the connection after {method} {params}; exit {self.process.poll()}"
                )
            answer: dict[str, Any] = json.loads(line)
            # A response to a line that is not a request has no ID.
            if isinstance(answer, dict) and "method" not in answer and answer.get("id") in (number, None):
                break
        took = time.monotonic() - began
        if took > self.slowest[0]:
            self.slowest = (took, f"{method} {str(params)[:100]}")
        kind = answer["error"]["data"]["kind"] if "error" in answer else "result"
        self.outcomes[kind] += 1
        self.by_method[str(method)[:40]][kind] += 1
        if kind == "server":
            raise SystemExit(f"{method} {params}: {answer}")
        result = answer.get("result")
        if method == "world.create" and isinstance(result, dict):
            self.worlds = [*self.worlds[-8:], result["world"]]
            if params.get("time") == "virtual":
                self.virtual.add(result["world"])
        if method == "world.remove" and isinstance(result, dict):
            self.worlds = [each for each in self.worlds if each != params["world"]] or ["main"]
        for key, value in result.items() if isinstance(result, dict) else ():
            singular = "accessory" if key == "accessories" else key.rstrip("s")
            for each in value if isinstance(value, list) else [value]:
                if isinstance(each, str) and len(each) < 12:
                    self.ids[singular] = [*self.ids[singular][-20:], each]
        return answer

    def value(self, schema: dict[str, Any], name: str, depth: int = 0) -> Any:
        draw = self.random.random()
        if draw < 0.04 or depth > 6:
            return self.random.choice([None, -1, 1e308, 0.5, True, [], {}, [[]], {"a": {}}, *WORDS])
        if name == "world" and draw < 0.9:
            return self.random.choice(self.worlds)
        if name == "on" or name == "address" or name == "path":
            return self.random.choice(
                [
                    f"unix:{self.folder}/{self.random.randrange(5)}.sock",
                    f"local:{self.folder}/local",
                    "unix:",
                    "tcp:127.0.0.1:0",
                    "nonsense",
                ]
            )
        if name in ("wait", "limit", "by") and schema.get("type") in (None, "string"):
            return self.random.choice(["0ms", "1ms", "20ms", "1s" if name == "by" else "5ms", "-1s", "soon"])
        is_id = name == "fault" and draw < 0.5 and self.ids[name]
        if name in POOLS and draw < 0.95 and not is_id:
            return self.random.choice(POOLS[name])
        if self.ids.get(name) and draw < 0.85:
            return self.random.choice(self.ids[name])
        if "enum" in schema:
            return self.random.choice(schema["enum"])
        for key in ("oneOf", "anyOf"):
            if key in schema:
                return self.value({**schema.get("$defs", {}), **self.random.choice(schema[key])}, name, depth + 1)
        kind = schema.get("type")
        if isinstance(kind, list):
            kind = self.random.choice(kind)
        if kind == "integer":
            return self.random.choice([schema.get("minimum", 0), 1, 7, self.random.randrange(-5, 100_000)])
        if kind == "number":
            return self.random.choice([0, 0.25, 1, 1e9])
        if kind == "boolean":
            return self.random.random() < 0.5
        if kind == "array":
            return [self.value(schema.get("items", {}), name, depth + 1) for _ in range(self.random.randrange(3))]
        if kind == "object":
            members = schema.get("properties", {})
            return {k: self.value(v, k, depth + 1) for k, v in members.items() if self.random.random() < 0.3}
        return self.random.choice(WORDS)

    def params(self, method: dict[str, Any]) -> Any:
        made = {}
        for param in method["params"]:
            if self.random.random() < (0.97 if param["required"] else 0.3):
                name = param["name"]
                made[name] = self.value(param["schema"], name)
        if method["name"] in WAITING:
            made[WAITING[method["name"]]] = self.random.choice(["0ms", "5ms", "30ms"])
        if self.random.random() < 0.03:
            made[self.random.choice(["acessory", "worlds", ""])] = 1
        if self.random.random() < 0.02:
            return self.random.choice([[], 7, "x", None, [made]])
        return made

    def step(self) -> None:
        index = self.random.randrange(len(self.clients))
        draw = self.random.random()
        if draw < 0.01:
            self.clients[index].close()
            self.clients[index] = self.client()
        elif draw < 0.03:
            # Sends lines that are not requests.
            self.clients[index].write(
                self.random.choice(
                    [b"{}\n", b"[]\n", b"\xff\xfe\n", b"[1,2]\n", b'{"jsonrpc":"2.0"}\n', b"{" * 50 + b"\n"]
                )
            )
            self.clients[index].flush()
            if self.random.random() < 0.2:
                return
        method = self.random.choice(self.methods)
        name = method["name"] if self.random.random() > 0.01 else method["name"] + "x"
        self.call(self.clients[index], name, self.params(method))

    def life(self) -> Iterator[None]:
        """Take an accessory and an app through their whole lives, one request at a time.

        Other requests interfere at any moment, so each request may fail, which ends this life.
        """
        stage = "accessory.add"

        def ask(method: str, **params: Any) -> Any:
            nonlocal stage
            stage = method
            answer = self.call(self.random.choice(self.clients), method, params)
            if "error" in answer:
                raise Interrupted(method)
            return answer["result"]

        try:
            world = self.random.choice(["main", *self.worlds])
            quirks = self.random.choice([[], [], ["flicker"], ["no-status"]])
            profile, protocol = self.random.choice([("echo", "com.example.echo"), ("lawk-view", "com.lawaken.iap2")])
            accessory = ask("accessory.add", profile=profile, world=world, quirks=quirks)["accessories"][0]
            yield
            # An app belongs to the connection that launched it, and ends when the connection does.
            app = ask("app.launch", world=world, protocols=[protocol])["app"]
            yield
            if self.random.random() < 0.3:
                ask("fault.add", accessory=accessory, fault=self.random.choice(["latency,delay=1ms", "split"]))
            if self.random.random() < 0.2:
                ask("capture.start", accessory=accessory, limit=10_000)
            if self.random.random() < 0.2:
                ask("accessory.take", accessory=accessory)
            ask("accessory.plug", accessory=accessory)
            for _ in range(5):
                yield
                offered = [each for each in ask("app.accessories", app=app)["accessories"] if each["protocols"]]
                if any(protocol in each["protocols"] for each in offered):
                    break
                ask("time.runUntil", world=world, app=app, event="connect", limit="300ms")
            if world in self.virtual:
                ask("time.advance", world=world, by="5ms")
            for _ in range(self.random.randrange(1, 4)):
                session = ask("app.open", app=app, protocol=protocol)["session"]
                yield
                sent = self.random.randrange(1, 20_000)
                ask("session.write", session=session, data=base64.b64encode(bytes(sent)).decode(), wait="50ms")
                yield
                for _ in range(5):
                    if ask("session.read", session=session, wait="50ms")["ended"]:
                        break
                    yield
                if self.random.random() < 0.3 and world == "main":
                    self.use_port(ask("session.port", session=session))
                else:
                    ask("session.close", session=session)
                ask("session.state", session=session)
                yield
            if self.random.random() < 0.1:
                job = ask("burst.run", world=world, accessory=accessory, bursts=3, timeout="500ms")["job"]
                yield
                ask("job.wait", job=job, limit="1s")
                ask("job.report", job=job, form=self.random.choice(["json", "text", "html", "xml"]))
                yield
                runs = ask("job.kept")["runs"]
                if runs:
                    ask("job.keptReport", run=self.random.choice(runs)["run"])
            ask(self.random.choice(["accessory.unplug", "accessory.pull"]), accessory=accessory)
            yield
            ask(self.random.choice(["app.kill", "app.crash"]), app=app)
            ask("accessory.remove", accessory=accessory)
            self.lived["whole"] += 1
        except Interrupted:
            self.lived[f"interrupted at {stage}"] += 1

    def use_port(self, port: dict[str, str]) -> None:
        """Send some bytes through a separate connection, with the right ticket or a wrong one, and disconnect."""
        try:
            with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
                made.settimeout(PATIENCE)
                made.connect(str(self.path))
                line = port["firstLine"] if self.random.random() < 0.8 else "session wrong"
                made.sendall(line.encode() + b"\n" + bytes(self.random.randrange(10_000)))
        except OSError:
            # The session has since ended.
            self.lived["port closed"] += 1

    def live(self) -> None:
        """Continue one of the lives, or begin a new one."""
        if len(self.lives) < 6 and self.random.random() < 0.3:
            self.lives.append(self.life())
        if self.lives:
            one = self.random.choice(self.lives)
            if next(one, self) is self:
                self.lives.remove(one)

    def look(self) -> None:
        pages = int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1])
        self.memory = max(self.memory, pages * resource.getpagesize())
        if self.memory > MOST_MEMORY:
            raise SystemExit(f"the server uses {self.memory >> 20} MiB")


def main() -> None:
    """Send requests for the given time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        storm = Storm(chosen.seed, Path(folder))
        try:
            end = time.monotonic() + chosen.seconds
            while time.monotonic() < end:
                for _ in range(20):
                    storm.step()
                    storm.live()
                    storm.live()
                storm.look()
        finally:
            storm.process.terminate()
            try:
                status = storm.process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                storm.process.kill()
                raise
    total = sum(storm.outcomes.values())
    print(f"{total} requests in {chosen.seconds:g} s, seed {chosen.seed}: {dict(storm.outcomes)}")
    took, where = storm.slowest
    print(f"slowest {took * 1e3:.0f} ms ({where}); most memory {storm.memory >> 20} MiB; exit {status}")
    never = [m["name"] for m in storm.methods if not storm.by_method[m["name"]]["result"]]
    print(f"lives: {dict(storm.lived.most_common())}")
    print(f"methods that never succeeded: {', '.join(never) or 'none'}")
    if status != 0:
        raise SystemExit(f"the server ended with {status}")


if __name__ == "__main__":
    main()
