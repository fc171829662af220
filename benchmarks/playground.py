"""The playground: from a click to the new bands, many clients at once, and many series in one."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import numpy as np

from benchmarks.common import USERS_ENVIRONMENT, summary

CLIENTS, FORECASTS, BATCH, CLICKS = 50, 2_000, 1_000, 60

MEASURE = """
() => {
  window.clicks = [];
  let down = null;
  addEventListener("pointerdown", () => { down = performance.now(); }, true);
  new MutationObserver(() => {
    if (down === null) return;
    const begun = down;
    down = null;
    // The frame in which the new bands are painted has begun; the next one follows it.
    requestAnimationFrame(() => setTimeout(() => window.clicks.push(performance.now() - begun)));
  }).observe(document.querySelector(".wide"), { attributes: true, attributeFilter: ["d"] });
}
"""


def measure_playground() -> dict:
    """All against the loopback address; what is asked is what the project has set itself."""
    started = time.perf_counter()
    with tempfile.TemporaryDirectory() as folder, _server(folder) as (port, pid):
        result: dict = {"ready_s": _wait(port, started)}
        print(f"  ready_s: {result['ready_s']}", flush=True)
        for name, measure in {
            "click_ms": _clicks,
            "load": _load,
            "batch": _batch,
        }.items():
            result[name] = measure(port, pid)
            print(f"  {name}: {result[name]}", flush=True)
        return result


@contextmanager
def _server(folder: str) -> Iterator[tuple[int, int]]:
    command = [sys.executable, "-m", "lupi", "serve", "--no-browser", "--port", "0"]
    environment = USERS_ENVIRONMENT | {"XDG_CACHE_HOME": folder}
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    assert process.stdout is not None
    found = re.search(r"127\.0\.0\.1:(\d+)", process.stdout.readline())
    assert found
    try:
        yield int(found[1]), process.pid
    finally:
        process.terminate()
        process.wait(timeout=60)


def _wait(port: int, started: float) -> dict[str, float]:
    """Seconds from the command until the page is there, until the first model answers at once, and
    until all do, with nothing kept from an earlier time."""
    found: dict[str, float] = {}
    while "all" not in found:
        readiness = json.loads(_get(port, "/healthz"))["readiness"]
        done, now = readiness["done"], time.perf_counter() - started
        found.setdefault("page", now)
        if done >= 2:  # its system, and what it says of up to 16 points
            found.setdefault("first_model", now)
        if done >= readiness["total"]:
            found["all"] = now
        time.sleep(0.1)
    return found


def _get(port: int, path: str) -> bytes:
    connection = HTTPConnection("127.0.0.1", port)
    connection.request("GET", path)
    content = connection.getresponse().read()
    connection.close()
    return content


def _clicks(port: int, pid: int) -> dict:
    """Milliseconds from the mouse's going down to the frame with the new bands, in headless
    Chromium: the median, asked: at most 100. From 1 to 20 points, whose number stalls nothing."""
    from playwright.sync_api import sync_playwright

    chromium = shutil.which("chromium")
    if chromium is None:
        return {"skipped": "no Chromium here"}
    found = {}
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        for model in ("stiffness-lupi", "lotka-volterra-lupi"):
            page = browser.new_page(viewport={"width": 1280, "height": 860})
            page.goto(f"http://127.0.0.1:{port}/#m={model}&s=1")
            page.wait_for_selector(".wide[d]", state="attached")
            page.wait_for_timeout(500)
            page.evaluate(MEASURE)
            box = page.locator(".back").first.bounding_box()
            assert box is not None
            for i in range(CLICKS):
                if i % 20 == 0:
                    page.click("#clear", force=True) if i else None
                    page.wait_for_timeout(300)
                number = page.evaluate("window.clicks.length")
                place = (0.03 + 0.94 * ((i * 7) % 20 + i / CLICKS) / 21) * box["width"]
                page.mouse.click(box["x"] + place, box["y"] + 4)
                page.wait_for_function("(n) => window.clicks.length > n", arg=number)
            measured = page.evaluate("window.clicks")
            found[model] = summary(measured) | {"largest": max(measured)}
            page.close()
        browser.close()
    return found


def _load(port: int, pid: int) -> dict:
    """Many clients at once, each with a connection that it keeps: errors, latencies and memory."""
    latencies, wrong = [], []

    def client(number: int) -> None:
        connection = HTTPConnection("127.0.0.1", port, timeout=120)
        for i in range(FORECASTS // CLIENTS):
            t = 0.1 + 0.04 * ((number + i) % 50)
            asked = {"model": "stiffness-lupi", "observations": {"t": [t], "x1": [1], "x2": [-1]}}
            started = time.perf_counter()
            kind = {"Content-Type": "application/json"}
            connection.request("POST", "/v1/forecast", json.dumps(asked), kind)
            response = connection.getresponse()
            content = response.read()
            latencies.append(time.perf_counter() - started)
            if response.status != 200:
                wrong.append(content)
        connection.close()

    before, started = _megabytes(pid), time.perf_counter()
    threads = [threading.Thread(target=client, args=(i,)) for i in range(CLIENTS)]
    for thread in threads:
        thread.start()
    middle = None
    for i, thread in enumerate(threads):
        thread.join()
        middle = _megabytes(pid) if i == 0 else middle
    seconds = time.perf_counter() - started
    levels = dict(
        zip(("median", "p95", "p99"), np.quantile(latencies, [0.5, 0.95, 0.99]), strict=True)
    )
    return {
        "forecasts": len(latencies),
        "errors": len(wrong),
        "per_second": len(latencies) / seconds,
        "latency_ms": {name: 1e3 * float(value) for name, value in levels.items()},
        "megabytes": {"before": before, "after_the_first": middle, "after": _megabytes(pid)},
    }


def _batch(port: int, pid: int) -> dict:
    """Series of 8 observations in one request, at 100 times each."""
    rng = np.random.default_rng(0)
    rows = {
        "series": np.repeat(np.arange(BATCH), 8).tolist(),
        "t": np.tile(np.linspace(0, 8, 8), BATCH).tolist(),
        "x1": rng.uniform(0, 0.3, 8 * BATCH).round(4).tolist(),
    }
    asked = {"model": "stiffness-lupi", "observations": rows | {"x2": rows["x1"]}}
    found = {}
    for call in ("first", "second"):
        before, started, peak, size = _megabytes(pid), time.perf_counter(), 0.0, 0
        connection = HTTPConnection("127.0.0.1", port, timeout=600)
        kind = {"Content-Type": "application/json"}
        connection.request("POST", "/v1/forecast", json.dumps(asked), kind)
        response = connection.getresponse()
        while part := response.read(2**16):
            size, peak = size + len(part), max(peak, _megabytes(pid))
        connection.close()
        found[call] = {
            "status": response.status,
            "seconds": time.perf_counter() - started,
            "megabytes": {"before": before, "peak": peak, "answer": size / 2**20},
        }
    return found


def _megabytes(pid: int) -> float:
    """The memory that a process has, where the system tells it."""
    status = Path(f"/proc/{pid}/status")
    if not status.exists():
        return float("nan")
    found = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
    return int(found[1]) / 1024 if found else float("nan")
