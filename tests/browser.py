"""A headless Chromium that tests drive through its own protocol, over two pipes."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from itertools import count

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


def find_browser():
    """Its path, or None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page; `console` collects what it complains of."""

    def __init__(self, folder, limit=120):
        self.limit, self.console, self._numbers, self._rest = limit, [], count(1), b""
        here_in, self._out = os.pipe()
        self._in, here_out = os.pipe()
        pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 20) for pipe in (here_in, here_out)]
        # Chromium reads from 3 and writes to 4.
        place = 'exec "$0" "$@" 3<&{} 4>&{}'.format(*pipes)
        command = ["bash", "-c", place, find_browser(), f"--user-data-dir={folder}", *FLAGS]
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        self._process = subprocess.Popen(command, pass_fds=pipes, **quiet)
        for pipe in (here_in, here_out, *pipes):
            os.close(pipe)
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = None
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self._send(f"{domain}.enable")

    def close(self):
        self._process.terminate()
        self._process.wait(20)

    def open(self, address, until="document.documentElement?.dataset.ready === 'yes'"):
        """Seconds until a page is there and says it is ready."""
        start = time.monotonic()
        self._send("Page.navigate", url="about:blank")
        self._send("Page.navigate", url=address)
        self.wait(until)
        return time.monotonic() - start

    def wait(self, condition):
        end = time.monotonic() + self.limit
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < end, (condition, self.console)
            time.sleep(0.01)

    def value(self, expression):
        """What an expression comes to in the page, promises awaited."""
        answer = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def processor_seconds(self):
        """What the page's process has computed so far, whoever else uses the machine."""
        metrics = self._send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in metrics}["ProcessTime"]

    def press(self, key, text=None):
        code = {"key": key, "code": key} | ({"text": text} if text else {})
        virtual = {
            "Enter": 13,
            "Escape": 27,
            "ArrowDown": 40,
            "ArrowUp": 38,
            "ArrowRight": 39,
            "ArrowLeft": 37,
        }
        code["windowsVirtualKeyCode"] = virtual.get(key, ord(key.upper()[0]))
        self._send("Input.dispatchKeyEvent", type="keyDown", **code)
        self._send("Input.dispatchKeyEvent", type="keyUp", **code)

    def resize(self, width, height, dark=False):
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def photograph(self, path):
        path.write_bytes(base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"]))

    def _send(self, method, **params):
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params}
        if getattr(self, "_session", None):
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _receive(self):
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser went away"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event):
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(params["args"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"])
        elif method == "Page.javascriptDialogOpening":
            self.console.append(params)
