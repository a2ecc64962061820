"""Drives headless Chromium by its driver, both from Debian: WebDriver over HTTP with nothing but Python.

    with Browser(width=1280, height=900) as browser:
        browser.open("http://127.0.0.1:8080/")
        browser.wait("return document.readyState === 'complete'")
        browser.click("#start")
        browser.screenshot("start.png")

The browser has no network but this machine. A message of the page's console that is an error can be had from `errors()`.
"""
import base64
import json
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import urllib.error
import urllib.request

# Hours under load are no failure; a hang is.
PATIENCE = 60
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class BrowserError(Exception):
    """The driver refused a command."""


def install():
    """Installs Chromium and its driver, where they are missing and apt can be used."""
    if shutil.which("chromium") and shutil.which("chromedriver"):
        return
    packages = ["chromium", "chromium-driver", "fonts-dejavu-core", "fonts-noto-cjk"]
    sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
    command = [*sudo, "apt-get", "install", "-y", "--no-install-recommends", *packages]
    if subprocess.run(command, stdout=subprocess.DEVNULL).returncode != 0:
        raise SystemExit("Chromium is missing: run 'apt-get install %s'" % " ".join(packages))


class Browser:
    """A browser with one window."""

    # What the browser traces: when frames begin and are drawn.
    TRACED = "-*,disabled-by-default-devtools.timeline.frame"

    def __init__(self, width=1280, height=900, dark=False, reduced_motion=False, downloads=None, traces=False):
        install()
        self.folder = tempfile.mkdtemp(prefix="easim-browser-")
        self.log = open(os.path.join(self.folder, "driver.log"), "w+")
        environment = {**os.environ, "HOME": self.folder}
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=self.log, stderr=subprocess.STDOUT, env=environment, start_new_session=True)
        self.session = None
        # Whatever proxy the machine has, the driver is on this machine.
        self.opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            self.port = self._port()
            options = {
                "args": ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                         "--disable-background-networking", "--disable-component-update", "--disable-sync",
                         "--proxy-server=127.0.0.1:9", "--proxy-bypass-list=127.0.0.1;localhost", "--lang=en",
                         "--hide-scrollbars", f"--window-size={width},{height}", f"--user-data-dir={self.folder}/profile"],
                "prefs": {"download.default_directory": str(downloads or self.folder), "download.prompt_for_download": False},
            }
            logs = {"browser": "ALL"}
            if traces:
                options["perfLoggingPrefs"] = {"enableNetwork": False, "enablePage": False, "traceCategories": self.TRACED}
                logs["performance"] = "ALL"
            capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options, "goog:loggingPrefs": logs}}
            self.session = self._send("POST", "/session", {"capabilities": capabilities})["sessionId"]
            self.resize(width, height)
            self.media(dark, reduced_motion)
        except BaseException:
            self.close()
            raise

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        if self.session:
            try:
                self._send("DELETE", f"/session/{self.session}")
            except (BrowserError, OSError):
                pass
        self.session = None
        self.driver.terminate()
        try:
            self.driver.wait(10)
        except subprocess.TimeoutExpired:
            self.driver.kill()
            self.driver.wait()
        self.log.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    # Commands

    def open(self, address):
        self._do("POST", "/url", {"url": address})

    def run(self, script, *arguments):
        """Runs a script in the page; its 'return' is the result."""
        return self._do("POST", "/execute/sync", {"script": script, "args": list(arguments)})

    def run_later(self, script, *arguments):
        """Runs the body of an async function in the page, and waits for its result."""
        body = ("const done = arguments[arguments.length - 1];"
                f"(async () => {{ {script} }})().then((r) => done([true, r]), (e) => done([false, String(e)]));")
        ok, result = self._do("POST", "/execute/async", {"script": body, "args": list(arguments)})
        if not ok:
            raise BrowserError(result)
        return result

    def wait(self, script, *arguments, what=None, patience=PATIENCE):
        """Waits until a script returns something true, and returns it."""
        deadline = time.monotonic() + patience
        while True:
            result = self.run(script, *arguments)
            if result:
                return result
            if time.monotonic() > deadline:
                raise AssertionError(f"not within {patience} s: {what or script}")
            time.sleep(0.05)

    def find(self, selector):
        """The element, once it is there."""
        deadline = time.monotonic() + PATIENCE
        while True:
            found = self._do("POST", "/elements", {"using": "css selector", "value": selector})
            if found:
                return found[0][ELEMENT]
            if time.monotonic() > deadline:
                raise AssertionError(f"there is no {selector}")
            time.sleep(0.05)

    def click(self, selector):
        """Clicks as a user does; lists that are drawn again meanwhile are found again."""
        deadline = time.monotonic() + PATIENCE
        while True:
            element = self.find(selector)
            try:
                self.run("arguments[0].scrollIntoView({block: 'center'})", {ELEMENT: element})
                return self._do("POST", f"/element/{element}/click", {})
            except BrowserError as error:
                if time.monotonic() > deadline or not re.search("stale|intercepted|not interactable|not found", str(error)):
                    raise
                time.sleep(0.1)

    def type(self, selector, text, clear=True):
        element = self.find(selector)
        if clear:
            self._do("POST", f"/element/{element}/clear", {})
        self._do("POST", f"/element/{element}/value", {"text": text})

    def press(self, *keys):
        """Presses keys one after the other in the element that has the focus."""
        actions = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._do("POST", "/actions", {"actions": [{"type": "key", "id": "keys", "actions": actions}]})

    def move(self, x, y, click=False):
        """Moves the pointer to a place in the window."""
        actions = [{"type": "pointerMove", "duration": 0, "x": int(x), "y": int(y)}]
        if click:
            actions += [{"type": "pointerDown", "button": 0}, {"type": "pointerUp", "button": 0}]
        self._do("POST", "/actions", {"actions": [{"type": "pointer", "id": "pointer", "parameters": {"pointerType": "mouse"}, "actions": actions}]})

    def text(self, selector):
        return self.run("return document.querySelector(arguments[0])?.textContent ?? null", selector)

    def errors(self):
        """Errors of the page's console since the last call."""
        entries = self._do("POST", "/se/log", {"type": "browser"})
        return [entry["message"] for entry in entries if entry["level"] == "SEVERE"]

    def traced(self):
        """What the browser has traced; it ends tracing."""
        entries = self._do("POST", "/se/log", {"type": "performance"})
        messages = (json.loads(entry["message"])["message"] for entry in entries)
        return [message["params"] for message in messages if message["method"] == "Tracing.dataCollected"]

    def devtools(self, command, **parameters):
        return self._do("POST", "/goog/cdp/execute", {"cmd": command, "params": parameters})

    def worked(self):
        """The processor time that the page's thread has used, in seconds. Other work on the machine does not change it."""
        self.devtools("Performance.enable", timeDomain="threadTicks")
        return next(one["value"] for one in self.devtools("Performance.getMetrics")["metrics"] if one["name"] == "ThreadTime")

    def resize(self, width, height):
        """The size of the page; narrower than a window can be."""
        self.devtools("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)

    def media(self, dark=False, reduced_motion=False, paper=False):
        features = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"},
                    {"name": "prefers-reduced-motion", "value": "reduce" if reduced_motion else "no-preference"}]
        self.devtools("Emulation.setEmulatedMedia", media="print" if paper else "", features=features)

    def screenshot(self, path, whole=False):
        """A picture of the window, or of the whole page."""
        path = pathlib.Path(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        if whole:
            size = self.run("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
            clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 12000), "scale": 1}
            data = self.devtools("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)["data"]
        else:
            data = self._do("GET", "/screenshot")
        path.write_bytes(base64.b64decode(data))

    def pdf(self, path):
        """The page as it is printed."""
        data = self.devtools("Page.printToPDF", printBackground=False, preferCSSPageSize=True)["data"]
        pathlib.Path(path).write_bytes(base64.b64decode(data))

    # The driver

    def _port(self):
        deadline = time.monotonic() + PATIENCE
        while time.monotonic() < deadline:
            with open(self.log.name) as log:
                found = re.search(r"started successfully on port (\d+)", log.read())
            if found:
                return int(found.group(1))
            if self.driver.poll() is not None:
                break
            time.sleep(0.05)
        with open(self.log.name) as log:
            raise BrowserError(f"chromedriver did not start: {log.read()[-500:]}")

    def _do(self, method, path, body=None):
        return self._send(method, f"/session/{self.session}{path}", body)

    def _send(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}", data, {"Content-Type": "application/json"}, method=method)
        try:
            with self.opener.open(request, timeout=300) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            value = json.loads(error.read())["value"]
            raise BrowserError(f"{value['error']}: {value['message'].splitlines()[0]}") from None
