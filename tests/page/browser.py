# SPDX-License-Identifier: Apache-2.0
"""Chromium without a window, driven over the DevTools protocol through a pipe: JSON messages that end in NUL, on the
browser's file descriptors 3 and 4. Standard library alone."""

import base64
import json
import os
import select
import shutil
import signal
import subprocess
import tempfile
import time

NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
WAIT = float(os.environ.get("KYMO_BROWSER_WAIT", "120"))


def find():
    """The browser, or None. Ubuntu's chromium package is a script that wants snap: it does not count."""
    for name in NAMES:
        path = shutil.which(name)
        if not path:
            continue
        try:
            done = subprocess.run([path, "--version"], capture_output=True, text=True, timeout=60, check=False)
        except (OSError, subprocess.TimeoutExpired):
            continue
        if done.returncode == 0 and "hrom" in done.stdout:
            return path
    return None


class Browser:
    """One page in one browser. What it prints, what it refuses and what goes wrong in it is kept."""

    def __init__(self, size=(1600, 900), scale=1):
        self.folder = tempfile.mkdtemp(prefix="kymo-browser-")
        to_read, self.to = os.pipe()
        self.got, to_write = os.pipe()
        # What Chromium reads must be descriptor 3, what it writes 4.
        a, b = os.dup2(to_read, 63), os.dup2(to_write, 64)
        script = 'exec 3<&63 4>&64 63<&- 64>&-; exec "$@"'
        self.process = subprocess.Popen(
            ["/bin/bash", "-c", script, "bash", find(), "--headless=new", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
             f"--user-data-dir={self.folder}", "--no-first-run", "--disable-dev-shm-usage", "--hide-scrollbars", "--force-color-profile=srgb",
             f"--force-device-scale-factor={scale}", f"--window-size={size[0]},{size[1]}", "about:blank"],
            pass_fds=(a, b), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        for fd in (to_read, to_write, a, b):
            os.close(fd)
        self.number, self.rest, self.session = 0, b"", None
        self.events, self.problems = [], []
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(t for t in targets if t["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page["targetId"], flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.resize(*size, scale=scale)

    # ---- the protocol ------------------------------------------------------------------------------

    def send(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        return self.number

    def receive(self, deadline):
        while b"\0" not in self.rest:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self.got], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self.got, 1 << 20)
            if not part:
                raise EOFError("the browser has ended")
            self.rest += part
        one, self.rest = self.rest.split(b"\0", 1)
        return json.loads(one)

    def noted(self, message):
        method, p = message.get("method"), message.get("params", {})
        if method == "Runtime.exceptionThrown":
            d = p["exceptionDetails"]
            self.problems.append("exception: " + d.get("exception", {}).get("description", d["text"]))
        elif method == "Runtime.consoleAPICalled" and p["type"] in ("error", "warning", "assert"):
            self.problems.append("console: " + " ".join(str(a.get("value", a.get("description"))) for a in p["args"]))
        elif method == "Log.entryAdded" and p["entry"]["level"] in ("error", "warning"):
            self.problems.append(f"log: {p['entry']['text']} {p['entry'].get('url', '')[:100]}")
        self.events.append(message)

    def call(self, method, **params):
        number, deadline = self.send(method, **params), time.monotonic() + WAIT
        while True:
            message = self.receive(deadline)
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return message["result"]
            if "method" in message:
                self.noted(message)

    def event(self, method):
        deadline = time.monotonic() + WAIT
        while True:
            for n, message in enumerate(self.events):
                if message["method"] == method:
                    return self.events.pop(n)
            message = self.receive(deadline)
            if "method" in message:
                self.noted(message)

    # ---- what a test does -----------------------------------------------------------------------------

    def resize(self, width, height, scale=1):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=scale, mobile=False)

    def open(self, path, query=""):
        self.events.clear()
        self.call("Page.navigate", url=(path if "://" in path else f"file://{os.path.abspath(path)}") + query)
        self.event("Page.loadEventFired")

    def run(self, code):
        """What an expression of JavaScript gives; promises are waited for."""
        done = self.call("Runtime.evaluate", expression=code, awaitPromise=True, returnByValue=True)
        if "exceptionDetails" in done:
            d = done["exceptionDetails"]
            raise RuntimeError(d.get("exception", {}).get("description", d["text"]))
        return done["result"].get("value")

    def until(self, code, seconds=WAIT):
        deadline = time.monotonic() + seconds
        while True:
            got = self.run(f"(async () => Boolean(await ({code})))()")
            if got:
                return got
            if time.monotonic() > deadline:
                raise TimeoutError(f"never so: {code}")
            time.sleep(0.02)

    def key(self, key, modifiers=0):
        """One key with its text, as a keyboard sends it."""
        about = {"key": key, "code": f"Key{key.upper()}" if key.isalpha() and len(key) == 1 else key, "modifiers": modifiers}
        codes = {"Enter": 13, "Escape": 27, "Tab": 9, "ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40, "Home": 36, "End": 35}
        if key in codes:
            about["windowsVirtualKeyCode"] = codes[key]
        text = key if len(key) == 1 else "\r" if key == "Enter" else None
        self.call("Input.dispatchKeyEvent", type="keyDown", **about, **({"text": text} if text else {}))
        self.call("Input.dispatchKeyEvent", type="keyUp", **about)

    def type(self, text):
        self.call("Input.insertText", text=text)

    def mouse(self, kind, x, y, **more):
        self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, **more)

    def click(self, x, y, **more):
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y, button="left", clickCount=1, **more)
        self.mouse("mouseReleased", x, y, button="left", clickCount=1, **more)

    def drag(self, x0, y0, x1, y1, **more):
        self.mouse("mousePressed", x0, y0, button="left", clickCount=1, **more)
        for k in range(1, 6):
            self.mouse("mouseMoved", x0 + (x1 - x0) * k / 5, y0 + (y1 - y0) * k / 5, button="left", buttons=1, **more)
        self.mouse("mouseReleased", x1, y1, button="left", clickCount=1, **more)

    def wheel(self, x, y, by, **more):
        self.mouse("mouseWheel", x, y, deltaX=0, deltaY=by, **more)

    def press(self, selector):
        """Clicks the middle of an element."""
        self.run(f"document.querySelector({json.dumps(selector)}).scrollIntoView({{block: 'nearest'}})")
        r = self.run(f"(() => {{ const r = document.querySelector({json.dumps(selector)}).getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; }})()")
        self.click(*r)

    def picture(self, path):
        with open(path, "wb") as f:
            f.write(base64.b64decode(self.call("Page.captureScreenshot", format="png")["data"]))

    def pdf(self):
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True, landscape=True)["data"])

    def media(self, **features):
        self.call("Emulation.setEmulatedMedia", features=[{"name": k.replace("_", "-"), "value": v} for k, v in features.items()])

    def close(self):
        try:
            self.session = None
            self.send("Browser.close")
            self.process.wait(20)
        except (OSError, subprocess.TimeoutExpired):
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()
        os.close(self.to)
        os.close(self.got)
        shutil.rmtree(self.folder, ignore_errors=True)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()
