"""What the server has done, as Prometheus reads it."""

import threading
import time
from bisect import bisect_left
from collections import Counter, defaultdict
from typing import Any

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Seconds that requests took."""


class Metrics:
    """An ASGI application, counted: requests, errors, and how long answers take."""

    def __init__(self, app: Any):
        self.app = app
        self._lock = threading.Lock()
        self._requests: Counter[tuple[str, str, int]] = Counter()
        self._buckets: dict[str, list[int]] = defaultdict(lambda: [0] * (len(BUCKETS) + 1))
        self._seconds: Counter[str] = Counter()
        self._series = 0
        self._running = 0

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass it on, and take down how it went."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        started, status = time.perf_counter(), 500

        async def send_counted(message: Any) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        with self._lock:
            self._running += 1
        try:
            await self.app(scope, receive, send_counted)
        finally:
            # The pattern of the path: names in it are as many as clients like.
            path = getattr(scope.get("route"), "path", "other")
            seconds = time.perf_counter() - started
            method = scope["method"] if scope["method"] in ("GET", "POST", "HEAD") else "other"
            with self._lock:
                self._running -= 1
                self._requests[method, path, status] += 1
                self._buckets[path][bisect_left(BUCKETS, seconds)] += 1
                self._seconds[path] += seconds  # pyright: ignore[reportArgumentType]

    def count_series(self, number: int) -> None:
        """So many series have been forecast."""
        with self._lock:
            self._series += number

    def text(self) -> str:
        """All of it in Prometheus' text format."""
        with self._lock:
            lines = ["# TYPE lupi_requests_total counter"]
            lines += [
                f'lupi_requests_total{{method="{method}",path="{path}",status="{status}"}} {number}'
                for (method, path, status), number in sorted(self._requests.items())
            ]
            errors = sum(n for (*_, status), n in self._requests.items() if status >= 500)
            lines += ["# TYPE lupi_errors_total counter", f"lupi_errors_total {errors}"]
            lines.append("# TYPE lupi_request_seconds histogram")
            for path, counts in sorted(self._buckets.items()):
                total = 0
                for bound, number in zip((*BUCKETS, "+Inf"), counts, strict=True):
                    total += number
                    lines.append(
                        f'lupi_request_seconds_bucket{{path="{path}",le="{bound}"}} {total}'
                    )
                lines.append(f'lupi_request_seconds_sum{{path="{path}"}} {self._seconds[path]:.6f}')
                lines.append(f'lupi_request_seconds_count{{path="{path}"}} {total}')
            lines += [
                "# TYPE lupi_requests_running gauge",
                f"lupi_requests_running {self._running}",
            ]
            lines += ["# TYPE lupi_forecast_series_total counter"]
            lines += [f"lupi_forecast_series_total {self._series}"]
        return "\n".join(lines) + "\n"
