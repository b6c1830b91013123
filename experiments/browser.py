"""A headless Chromium, driven through its own protocol over two pipes: for tests and pictures of pages."""

import base64
import fcntl
import json
import os
import shutil
import subprocess
import time
from itertools import count
from pathlib import Path
from typing import Any, Self

from corpus.errors import InputError

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
    "--disable-extensions", "--hide-scrollbars", "--disable-background-networking",
    "--remote-debugging-pipe", "about:blank",
)  # fmt: skip


def find_browser() -> str | None:
    """Its path, or None where there is none."""
    return next((path for path in map(shutil.which, NAMES) if path), None)


class Browser:
    """One page; `console` collects what it complains of. It ends with the `with` that it stands in.

    Args:
        folder: where it keeps its profile.
        limit: how many seconds anything may take.
    """

    def __init__(self, folder: Path, limit: float = 120) -> None:
        path = find_browser()
        if path is None:
            raise InputError(f"there is no browser here; install one of {', '.join(NAMES)}")
        self.limit, self.console, self._numbers = limit, list[Any](), count(1)
        self._session, self._rest = None, b""
        here_in, self._out = os.pipe()
        self._in, here_out = os.pipe()
        pipes = [fcntl.fcntl(pipe, fcntl.F_DUPFD, 20) for pipe in (here_in, here_out)]
        # Chromium reads from 3 and writes to 4.
        place = 'exec "$0" "$@" 3<&{} 4>&{}'.format(*pipes)
        command = ["bash", "-c", place, path, f"--user-data-dir={folder}", *FLAGS]
        quiet = subprocess.DEVNULL
        self._process = subprocess.Popen(command, pass_fds=pipes, stdout=quiet, stderr=quiet)
        for pipe in (here_in, here_out, *pipes):
            os.close(pipe)
        target = self._send("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._send("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self._send(f"{domain}.enable")

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        """End it."""
        self._process.terminate()
        self._process.wait(20)

    def open(self, address: str, until: str = "document.documentElement?.dataset.ready === 'yes'") -> float:
        """Seconds until a page is there and says it is ready."""
        start = time.monotonic()
        self._send("Page.navigate", url="about:blank")
        self._send("Page.navigate", url=address)
        self.wait(until)
        return time.monotonic() - start

    def wait(self, condition: str) -> None:
        """Until an expression is true in the page."""
        end = time.monotonic() + self.limit
        while not self.value(f"Boolean({condition})"):
            assert time.monotonic() < end, (condition, self.console)
            time.sleep(0.01)

    def value(self, expression: str) -> Any:
        """What an expression comes to in the page, promises awaited."""
        answer = self._send(
            "Runtime.evaluate", expression=expression, awaitPromise=True, returnByValue=True, userGesture=True
        )
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def processor_seconds(self) -> float:
        """What the page's process has computed so far, whoever else uses the machine."""
        metrics = self._send("Performance.getMetrics")["metrics"]
        return {one["name"]: one["value"] for one in metrics}["ProcessTime"]

    def press(self, key: str, text: str | None = None) -> None:
        """A key down and up; `text` is what it writes."""
        code: dict[str, Any] = {"key": key, "code": key} | ({"text": text} if text else {})
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

    def resize(self, width: int, height: int, dark: bool = False) -> None:
        """Another window, of so many pixels, that wants dark pages or light ones."""
        self._send("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
                   mobile=False)  # fmt: skip
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._send("Emulation.setEmulatedMedia", features=[scheme])

    def photograph(self) -> bytes:
        """What is to be seen, as PNG."""
        return base64.b64decode(self._send("Page.captureScreenshot", format="png")["data"])

    def print_page(self) -> bytes:
        """The page as a PDF on A4."""
        paper = {"paperWidth": 8.27, "paperHeight": 11.69, "preferCSSPageSize": True}
        return base64.b64decode(self._send("Page.printToPDF", **paper)["data"])

    def _send(self, method: str, **params: Any) -> Any:
        number = next(self._numbers)
        message: dict[str, Any] = {"id": number, "method": method, "params": params}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            answer = self._receive()
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]
            self._note(answer)

    def _receive(self) -> Any:
        while b"\0" not in self._rest:
            piece = os.read(self._in, 1 << 20)
            assert piece, "the browser went away"
            self._rest += piece
        message, _, self._rest = self._rest.partition(b"\0")
        return json.loads(message)

    def _note(self, event: dict[str, Any]) -> None:
        method, params = event.get("method"), event.get("params", {})
        if method == "Runtime.exceptionThrown":
            self.console.append(params["exceptionDetails"])
        elif method == "Runtime.consoleAPICalled" and params["type"] in ("error", "warning", "assert"):
            self.console.append(params["args"])
        elif method == "Log.entryAdded" and params["entry"]["level"] in ("error", "warning"):
            self.console.append(params["entry"])
        elif method == "Page.javascriptDialogOpening":
            self.console.append(params)
