"""Plays the bridge against easim: each behavior of Conformance.m, and EADemo. Scripts/bridge builds both and runs this.

check.py EASIM FOLDER [NAME...]
"""

import concurrent.futures
import json
import os
import queue
import socket
import subprocess
import sys
import tempfile
import threading
import time

PATIENCE = 60
TOKEN = "a-token-for-checks"
easim, out, *names = sys.argv[1:]


class Server:
    """A server with a port."""

    def __init__(self, folder, port=0, within=()):
        self.path = f"{folder}/control.sock"
        self.process = subprocess.Popen(
            [*within, easim, "serve", "--control", self.path, "--remote", f"127.0.0.1:{port}"],
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env={**os.environ, "EASIM_TOKEN": TOKEN})
        self.remote = self.process.stdout.readline().strip().removeprefix("EASIM_REMOTE=")
        self.port = int(self.remote.partition("#")[0].rpartition(":")[2])

    def call(self, method, **params):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as made:
            made.connect(self.path)
            lines = made.makefile("rw")
            for number, (name, given) in enumerate([("client.detach", {}), (method, params)]):
                print(json.dumps({"jsonrpc": "2.0", "id": number, "method": name, "params": given}), file=lines, flush=True)
                answer = json.loads(lines.readline())
            assert "result" in answer, answer
            return answer["result"]

    def add(self, **params):
        return self.call("accessory.add", **params)["accessories"][0]

    def end(self, kill=False):
        self.process.kill() if kill else self.process.terminate()
        self.process.wait(PATIENCE)


def behavior(name):
    app = "Plain.app" if name.startswith("s5") else "EADemo.app"
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            done = subprocess.run([f"{out}/{app}/Conformance", name], capture_output=True, text=True, timeout=PATIENCE,
                                  env={**os.environ, "EASIM_REMOTE": server.remote}, check=False)
            return done.returncode == 0, done.stdout + done.stderr
        except subprocess.TimeoutExpired as late:
            return False, f"it hangs: {late.stdout} {late.stderr}"
        finally:
            server.end()


class Demo:
    """EADemo as a process, and the lines that it prints."""

    def __init__(self, remote):
        environment = {key: value for key, value in os.environ.items() if key != "EASIM_REMOTE"}
        if remote:
            environment["EASIM_REMOTE"] = remote
        self.process = subprocess.Popen([f"{out}/EADemo.app/EADemo"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True, env=environment)
        self.lines, self.seen, self.log = queue.Queue(), [], []
        threading.Thread(target=self._read, daemon=True).start()
        threading.Thread(target=lambda: self.log.extend(self.process.stderr), daemon=True).start()

    def _read(self):
        for line in self.process.stdout:
            self.lines.put(line.strip())

    def wait(self, *wanted):
        """Wait for lines that begin with these texts, in this order."""
        for text in wanted:
            end = time.monotonic() + PATIENCE
            while True:
                try:
                    line = self.lines.get(timeout=max(0.0, end - time.monotonic()))
                except queue.Empty:
                    raise AssertionError(f"'{text}' did not come after {self.seen} {self.log}") from None
                self.seen.append(line)
                if line.startswith(text):
                    break

    def say(self, line):
        print(line, file=self.process.stdin, flush=True)

    def logged(self, text):
        end = time.monotonic() + PATIENCE
        while not any(text in line for line in self.log):
            assert time.monotonic() < end, f"'{text}' is not in {self.log}"
            time.sleep(0.01)

    def quit(self):
        self.say("quit")
        assert self.process.wait(PATIENCE) == 0


def echo_10k(demo, offset=0):
    demo.say("send10k")
    demo.wait(f"received {10240 + offset} bytes, sum")
    assert demo.seen[-1].endswith(f"sum {sum(range(256)) * 40}") or offset


def list_flicker_open_echo_pull_reopen(server):
    demo = Demo(server.remote)
    demo.wait("No Accessories Connected")
    glasses = server.add(profile="lawk-view", quirks=["flicker"], behavior="echo")
    server.call("accessory.plug", accessory=glasses)
    name = server.call("accessory.list")["accessories"][0]["name"]
    demo.wait(f"connect {name} []", f"disconnect {name}", f"delegate disconnect {name}", f"connect {name} [com.lawaken.iap2]")
    demo.say("open com.lawaken.iap2")
    # The two lines may come in either order.
    demo.wait("input open", "output open")
    echo_10k(demo)
    server.call("accessory.pull", accessory=glasses)
    demo.wait("input end", "output end", f"disconnect {name}")
    server.call("accessory.plug", accessory=glasses)
    demo.wait(f"connect {name} [com.lawaken.iap2]")
    for _ in range(3):
        demo.say("open com.lawaken.iap2")
        demo.wait("closed", "session with")
        echo_10k(demo)
    demo.quit()


def two_accessories(server):
    demo = Demo(server.remote)
    demo.wait("No Accessories Connected")
    for serial in ("one", "two"):
        server.call("accessory.plug", accessory=server.add(profile="echo", serial=serial))
        demo.wait("connect Echo")
    demo.say("list")
    demo.wait("accessory Echo one", "accessory Echo two")
    for serial in ("two", "one"):
        demo.say(f"open com.example.echo {serial}")
        demo.wait("session with")
        echo_10k(demo)
    demo.quit()


def server_killed_and_restarted(server):
    echo = server.add(profile="echo")
    server.call("accessory.plug", accessory=echo)
    server.call("time.runUntil", event="connect", side="device", after=0)
    demo = Demo(server.remote)
    demo.wait("accessory Echo")
    demo.say("open com.example.echo")
    demo.wait("session with")
    echo_10k(demo)
    server.end(kill=True)
    demo.wait("input end", "output end", "disconnect Echo")
    with tempfile.TemporaryDirectory() as folder:
        again = Server(folder, server.port)
        again.call("accessory.plug", accessory=again.add(profile="echo"))
        demo.wait("connect Echo [com.example.echo]")
        demo.say("open com.example.echo")
        demo.wait("session with")
        echo_10k(demo)
        demo.quit()
        again.end()


def wrong_token(server):
    demo = Demo(server.remote + "x")
    demo.wait("No Accessories Connected")
    demo.logged("the token is wrong")
    demo.quit()


def port_closed(server):
    server.end()
    demo = Demo(server.remote)
    demo.wait("No Accessories Connected")
    demo.logged("nothing answers at 127.0.0.1")
    with tempfile.TemporaryDirectory() as folder:
        late = Server(folder, server.port)
        late.call("accessory.plug", accessory=late.add(profile="echo"))
        demo.wait("connect Echo")
        demo.quit()
        late.end()


# A network namespace that has only its own loopback interface, as a container does.
CONTAINER = ["unshare", "--map-root-user", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]

# Imitates 'docker run -p': a listener outside the namespace forwards its connections into the namespace.
PUBLISHER = """
import socket, sys, threading
def copy(one, other):
    while data := one.recv(65536):
        other.sendall(data)
    other.shutdown(socket.SHUT_WR)
listener = socket.socket(fileno=int(sys.argv[1]))
while True:
    outside, _ = listener.accept()
    inside = socket.create_connection(("127.0.0.1", int(sys.argv[2])))
    for pair in ((outside, inside), (inside, outside)):
        threading.Thread(target=copy, args=pair, daemon=True).start()
"""


def one_published_port_of_a_container(_):
    if subprocess.run([*CONTAINER, "true"], capture_output=True, check=False).returncode != 0:
        return print("demo_one_published_port_of_a_container: skipped, no network namespace can be made here")
    with tempfile.TemporaryDirectory() as folder, socket.create_server(("127.0.0.1", 0)) as listener:
        server = Server(folder, within=CONTAINER)
        publisher = subprocess.Popen(
            ["nsenter", "--target", str(server.process.pid), "--user", "--net", "--preserve-credentials", sys.executable,
             "-c", PUBLISHER, str(listener.fileno()), str(server.port)], pass_fds=[listener.fileno()])
        try:
            demo = Demo(f"127.0.0.1:{listener.getsockname()[1]}#{TOKEN}")
            demo.wait("No Accessories Connected")
            echo = server.add(profile="echo", quirks=["flicker"])
            server.call("accessory.plug", accessory=echo)
            demo.wait("connect Echo []", "disconnect Echo", "connect Echo [com.example.echo]")
            demo.say("open com.example.echo")
            demo.wait("input open", "output open")
            echo_10k(demo)
            server.call("accessory.pull", accessory=echo)
            demo.wait("input end", "output end", "disconnect Echo")
            demo.quit()
        finally:
            publisher.kill()
            publisher.wait(PATIENCE)
            server.end()


def without_the_variable(server):
    server.call("accessory.plug", accessory=server.add(profile="echo"))
    demo = Demo(None)
    demo.wait("No Accessories Connected")
    demo.say("list")
    demo.wait("No Accessories Connected")
    demo.quit()
    assert not any("EasimBridge" in line for line in demo.log)


def demo(play):
    with tempfile.TemporaryDirectory() as folder:
        server = Server(folder)
        try:
            play(server)
            return True, ""
        except Exception as problem:  # noqa: BLE001
            return False, f"{type(problem).__name__}: {problem}"
        finally:
            server.end()


every = subprocess.run([f"{out}/EADemo.app/Conformance"], capture_output=True, text=True, check=True).stdout.split()
demos = [list_flicker_open_echo_pull_reopen, two_accessories, server_killed_and_restarted, wrong_token, port_closed,
         one_published_port_of_a_container, without_the_variable]
works = {name: (behavior, name) for name in every} | {f"demo_{play.__name__}": (demo, play) for play in demos}
if unknown := [name for name in names if name not in works]:
    raise SystemExit(f"there is no {unknown[0]}; there are: {' '.join(works)}")
failed = 0
with concurrent.futures.ThreadPoolExecutor(max_workers=4) as pool:
    begun = time.monotonic()
    running = {name: pool.submit(*works[name]) for name in names or works}
    for name, one in running.items():
        passed, text = one.result()
        if not passed:
            failed += 1
            print(f"FAILED {name}\n{text}")
print(f"{len(running) - failed} of {len(running)} passed in {time.monotonic() - begun:.0f} s")
raise SystemExit(1 if failed else 0)
