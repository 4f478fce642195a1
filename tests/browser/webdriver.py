"""A headless Chromium, driven over the WebDriver protocol (W3C), without a library."""

from __future__ import annotations

import http.client
import json
import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

__all__ = ["Browser", "chromium"]

FLAGS = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--window-size=1100,800",
)

# Calls `done` with what `ask` gives, as soon as that is truthy.
_UNTIL = """
const done = arguments[arguments.length - 1];
const ask = new Function(arguments[0]);
const look = () => {
  const found = ask();
  if (found) done(found);
  else setTimeout(look, 5);
};
look();
"""


class WebDriverError(Exception):
    """What chromedriver refuses, script errors and time limits included."""


class Browser:
    """One session; every call blocks until the browser has answered. Scripts have `seconds`."""

    def __init__(self, port: int, profile: Path, seconds: int) -> None:
        self._port = port
        self._seconds = seconds
        options = {"args": [*FLAGS, f"--user-data-dir={profile}"]}
        timeouts = {"script": seconds * 1000}
        capabilities = {"alwaysMatch": {"goog:chromeOptions": options, "timeouts": timeouts}}
        self._path = "/session"
        session = self._call("POST", "", capabilities=capabilities)
        self._path = f"/session/{session['sessionId']}"
        self.version = str(session["capabilities"]["browserVersion"])

    def _call(self, method: str, path: str, **body: Any) -> Any:
        # It also ends the wait for a page that is too busy to be told of its time limit.
        timeout = self._seconds + 30
        connection = http.client.HTTPConnection("127.0.0.1", self._port, timeout=timeout)
        try:
            content = json.dumps(body) if method == "POST" else None
            connection.request(method, self._path + path, content)
            value = json.loads(connection.getresponse().read())["value"]
        finally:
            connection.close()
        if isinstance(value, dict) and "error" in value:
            raise WebDriverError(f"{value['error']}: {value['message']}")
        return value

    def open(self, url: str) -> None:
        """Loads a page, to its load event."""
        self._call("POST", "/url", url=url)

    def script(self, source: str, *arguments: Any) -> Any:
        """What a function body returns; a promise is awaited."""
        return self._call("POST", "/execute/sync", script=source, args=arguments)

    def until(self, source: str) -> Any:
        """Waits until a function body returns something truthy; gives that."""
        return self._call("POST", "/execute/async", script=_UNTIL, args=[source])

    def click(self, selector: str) -> None:
        """Clicks as a user does: on what is visible and enabled."""
        found = self._call("POST", "/element", using="css selector", value=selector)
        self._call("POST", f"/element/{next(iter(found.values()))}/click")

    def cpu_seconds(self) -> float:
        """Processor time of the page's main thread since the first call."""
        self._devtools("Performance.enable", timeDomain="threadTicks")
        metrics = self._devtools("Performance.getMetrics")["metrics"]
        return float(next(m["value"] for m in metrics if m["name"] == "ThreadTime"))

    def _devtools(self, command: str, **parameters: Any) -> Any:
        return self._call("POST", "/goog/cdp/execute", cmd=command, params=parameters)

    def new_tab(self) -> str:
        """Goes to a new tab; gives the one it leaves."""
        before = self._call("GET", "/window")
        self._call("POST", "/window", handle=self._call("POST", "/window/new")["handle"])
        return str(before)

    def close_tab(self, before: str) -> None:
        """Closes the tab and goes to another."""
        self._call("DELETE", "/window")
        self._call("POST", "/window", handle=before)

    def quit(self) -> None:
        self._call("DELETE", "")


@contextmanager
def chromium(driver: str, folder: Path, seconds: int = 30) -> Iterator[Browser]:
    """A browser while the block runs, with an empty profile in `folder`."""
    with subprocess.Popen(
        [driver, "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as process:
        try:
            assert process.stdout is not None
            started = (re.search(r"started successfully on port (\d+)", s) for s in process.stdout)
            port = next(int(match[1]) for match in started if match)
            browser = Browser(port, folder / "profile", seconds)
            try:
                yield browser
            finally:
                browser.quit()
        finally:
            process.terminate()
