"""A server of easim for tests of the page: started, asked, killed, started again."""
import json
import os
import pathlib
import signal
import socket
import subprocess
import time
import urllib.request

PATIENCE = 60


class Refused(Exception):
    """The server answered with an error."""


class Site:
    """`easim serve`, or another command that prints the address of the page."""

    def __init__(self, easim, arguments=None, files=None, port=None):
        self.easim, self.files = str(easim), files
        self.port = port or free_port()
        self.arguments = arguments or ["serve", "--http", f"127.0.0.1:{self.port}"]
        self.process = None
        self.start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.stop()

    def start(self):
        environment = dict(os.environ)
        if self.files:
            environment["EASIM_PAGE"] = str(self.files)
        self.process = subprocess.Popen([self.easim, *self.arguments], stdout=subprocess.PIPE, text=True, env=environment)
        self.address = self.process.stdout.readline().strip()
        if "#" not in self.address:
            raise AssertionError(f"easim printed '{self.address}' instead of an address")
        self.base, self.token = self.address.split("/#")

    def stop(self, kill=False):
        if self.process is None:
            return
        self.process.send_signal(signal.SIGKILL if kill else signal.SIGTERM)
        try:
            self.process.wait(20)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self.process.stdout.close()
        self.process = None

    def worked(self):
        """The processor time that the server has used, in seconds."""
        fields = pathlib.Path(f"/proc/{self.process.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

    def rpc(self, method, **params):
        body = json.dumps({"jsonrpc": "2.0", "id": 1, "method": method, "params": params}).encode()
        request = urllib.request.Request(f"{self.base}/rpc", body, {"Authorization": f"Bearer {self.token}"})
        with urllib.request.urlopen(request, timeout=120) as answer:
            result = json.load(answer)
        if "error" in result:
            raise Refused(result["error"]["message"])
        return result["result"]

    def until(self, condition, what):
        """Waits until a condition about the server holds; returns its value."""
        deadline = time.monotonic() + PATIENCE
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {PATIENCE} s: {what}")
            time.sleep(0.05)

    def accessory(self, id):
        return next((one for one in self.rpc("accessory.list")["accessories"] if one["accessory"] == id), None)

    def app(self, id):
        return next((one for one in self.rpc("app.list")["apps"] if one["app"] == id), None)

    def events(self, world="main", after=0):
        """All notices of a world that are kept."""
        found = []
        while True:
            page = self.rpc("events.list", world=world, after=after, limit=2000)["notices"]
            if not page:
                return found
            found += page
            after = page[-1]["params"]["number"]


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


def program():
    """The program that EASIM names, or the debug build."""
    path = pathlib.Path(os.environ.get("EASIM", ".build/debug/easim")).absolute()
    if not path.exists():
        subprocess.run(["swift", "build", "--product", "easim"], check=True, stdout=subprocess.DEVNULL)
    return path
