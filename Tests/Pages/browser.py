"""A headless browser, driven by the WebDriver protocol over loopback: no package beyond Python is needed."""

from __future__ import annotations

import base64
import json
import subprocess
import time
import urllib.error
import urllib.request


class Browser:
    """One window of chromium."""

    def __init__(self) -> None:
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.base = f"http://127.0.0.1:{self._port()}"
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--hide-scrollbars"]
        options = {"args": arguments}
        capabilities = {"alwaysMatch": {"browserName": "chrome", "goog:chromeOptions": options}}
        self.session = ""
        self.session = "/session/" + self._call("POST", "/session", {"capabilities": capabilities})["sessionId"]

    def _port(self) -> int:
        assert self.driver.stdout
        for line in self.driver.stdout:
            if "started successfully on port" in line:
                return int(line.rstrip(". \n").rsplit(" ", 1)[1])
        raise SystemExit("chromedriver did not start")

    def _call(self, method: str, path: str, body: dict | None = None):
        request = urllib.request.Request(
            self.base + self.session + path,
            method=method,
            data=None if body is None else json.dumps(body).encode(),
            headers={"Content-Type": "application/json"},
        )
        # Whatever proxy the machine has, this is loopback.
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        try:
            with opener.open(request, timeout=120) as answer:
                return json.load(answer)["value"]
        except urllib.error.HTTPError as error:
            raise SystemExit(f"{path}: {error.read().decode(errors='replace')[:2000]}") from error

    def command(self, name: str, **parameters):
        """A command of the developer tools."""
        return self._call("POST", "/goog/cdp/execute", {"cmd": name, "params": parameters})

    def open(self, path: str, *, width: int, dark: bool = False, paper: bool = False) -> None:
        self.command(
            "Emulation.setDeviceMetricsOverride", width=width, height=900, deviceScaleFactor=1, mobile=False
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.command("Emulation.setEmulatedMedia", media="print" if paper else "screen", features=[scheme])
        self._call("POST", "/url", {"url": f"file://{path}"})

    def run(self, script: str):
        return self._call("POST", "/execute/sync", {"script": script, "args": []})

    def picture(self, path: str) -> None:
        """The whole page, as high as it is."""
        size = self.run("return [document.documentElement.clientWidth, document.documentElement.scrollHeight]")
        clip = {"x": 0, "y": 0, "width": size[0], "height": min(size[1], 12000), "scale": 1}
        data = self.command("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def paper(self, path: str) -> None:
        data = self.command("Page.printToPDF", printBackground=False, preferCSSPageSize=True)
        with open(path, "wb") as file:
            file.write(base64.b64decode(data["data"]))

    def close(self) -> None:
        try:
            self._call("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait(timeout=20)
