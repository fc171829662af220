"""The server as one ASGI application: the page, and the endpoint that it shares with programs."""

import asyncio
import time
import traceback
from collections.abc import AsyncIterator, Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.exceptions import RequestValidationError
from fastapi.responses import FileResponse, JSONResponse, StreamingResponse
from starlette.exceptions import HTTPException as AnyHTTPException
from starlette.requests import ClientDisconnect

from lupi import __version__
from lupi.errors import UserError
from lupi.serving.answering import Answering, checked, read_csv, read_json
from lupi.serving.catalogue import Catalogue
from lupi.serving.contract import (
    ForecastAnswer,
    ForecastRequest,
    Health,
    ModelList,
    Problem,
    Truth,
)
from lupi.serving.metrics import Metrics
from lupi.serving.safety import LOOPBACK, Safety
from lupi.serving.truth import true_course
from lupi.serving.warming import Warming

PAGE = Path(__file__).parent / "page"

FILES = {
    "/": "index.html",
    "/page.css": "page.css",
    "/page.js": "page.js",
    "/docs": "docs.html",
    "/docs.js": "docs.js",
    "/icon.svg": "icon.svg",
}

THREADS = 2
"""That forecast: one at a time is in XLA, another reads or writes meanwhile."""

QUIET = 2.0
"""Seconds without a request after which what is not shown yet is compiled."""

MOST_WAITING = 512
"""Requests that wait for these; more are told to come back."""

PATIENCE = 20.0
"""Seconds in which the body of a request must have come."""

WORDS = ("model", "inference", "times", "coverage", "quantiles", "num_samples", "seed")
"""Fields of a request that may come as query parameters, beside a table."""

MEGABYTE = 2**20

PROBLEMS: dict[int | str, dict[str, Any]] = {
    422: {"model": Problem, "description": "What was expected, what arrived, what to do."},
}


@dataclass(frozen=True)
class ServerSettings:
    """Who may ask, and how much."""

    names: tuple[str, ...] = LOOPBACK
    """By which the server is called, in the header Host."""
    token: str | None = None
    max_body: int = MEGABYTE
    """Bytes."""
    warm: bool = True
    """Whether to compile before the first question."""


class Server:
    """The application, and what it works with."""

    def __init__(self, catalogue: Catalogue, settings: ServerSettings):
        self.catalogue, self.settings = catalogue, settings
        self._asked = float("-inf")
        self.warming = Warming(
            catalogue if settings.warm else Catalogue([]),
            is_quiet=lambda: time.monotonic() - self._asked > QUIET,
        )
        self._pool = ThreadPoolExecutor(THREADS, thread_name_prefix="lupi-forecast")
        self._waiting = 0
        self.api = FastAPI(
            title="lupi",
            version=__version__,
            description="Forecasts of dynamical systems from a handful of observations.",
            docs_url=None,
            redoc_url=None,
            lifespan=self._lifespan,
        )
        self._add_routes()
        safe = Safety(self.api, names=settings.names, token=settings.token)
        self.metrics = Metrics(safe)
        self.app = self.metrics

    @asynccontextmanager
    async def _lifespan(self, _: FastAPI) -> AsyncIterator[None]:
        self.warming.start()
        yield
        self.warming.stop()
        self._pool.shutdown(wait=True)

    async def _run(self, work: Callable, *arguments: Any) -> Any:
        """What the work gives, done by one of few threads; a request that waits holds none."""
        if self._waiting >= MOST_WAITING:
            raise HTTPException(503, "too many requests are waiting: try again in a moment.")
        self._waiting += 1
        try:
            return await asyncio.get_running_loop().run_in_executor(self._pool, work, *arguments)
        finally:
            self._waiting -= 1

    def _add_routes(self) -> None:
        api = self.api
        for path, name in FILES.items():
            api.add_api_route(path, _file(PAGE / name), include_in_schema=False)
        api.add_exception_handler(UserError, _mistake)
        api.add_exception_handler(RequestValidationError, _invalid)
        api.add_exception_handler(AnyHTTPException, _other)
        api.add_exception_handler(Exception, _fault)
        describe: dict[str, Any] = {"response_model_exclude_none": False}

        @api.get("/healthz", **describe)
        async def health() -> Health:
            """Whether the server is there, and how far it is with compiling."""
            return Health(status="ok", readiness=self.warming.readiness)

        @api.get("/metrics", response_class=Response)
        async def metrics() -> Response:
            """Requests, errors and latencies, as Prometheus reads them."""
            return Response(self.metrics.text(), media_type="text/plain; version=0.0.4")

        @api.get("/v1/models", **describe)
        async def models() -> ModelList:
            """The models that are served, the first of which is the default."""
            infos = [served.info() for served in self.catalogue.models.values()]
            return ModelList(models=infos, readiness=self.warming.readiness)

        @api.get("/v1/systems/{name}", responses=PROBLEMS, **describe)
        async def system(name: str, request: Request, seed: int = 0) -> Truth:
            """A member of a built-in system and its exact course: drawn by the seed, with
            parameters as they are given, such as `?seed=3&k=0.4`."""
            values = {n: v for n, v in request.query_params.items() if n != "seed"}
            return await self._run(true_course, name, seed, values)

        @api.post(
            "/v1/forecast",
            response_model=ForecastAnswer,
            responses=PROBLEMS | {413: {"model": Problem}, 415: {"model": Problem}},
            openapi_extra={"requestBody": _accepted()},
        )
        async def forecast(request: Request) -> Response:
            """Forecast one or several series.

            JSON in, JSON out; or a table as CSV in and out (`Content-Type: text/csv`, the other
            fields as query parameters; `Accept` chooses what comes out). Many series are answered
            as they are forecast.
            """
            return await self._forecast(request)

    async def _forecast(self, request: Request) -> Response:
        kind = request.headers.get("content-type", "").split(";")[0].strip().lower()
        if kind not in ("application/json", "text/csv"):
            raise HTTPException(
                415,
                f"expected application/json or text/csv, got {kind or 'no content type'!s:.80}.",
            )
        self._asked = time.monotonic()
        body = await self._read(request)
        from_csv = kind == "text/csv"
        asked = await self._run(self._from_csv, body, request) if from_csv else None
        asked = asked or await self._run(read_json, body)
        answering = await self._run(Answering, self.catalogue.get(asked.model), asked)
        wanted = request.headers.get("accept", "*/*")
        as_csv = "text/csv" in wanted or (from_csv and "application/json" not in wanted)
        parts = answering.as_csv() if as_csv else answering.as_json()
        media_type = "text/csv" if as_csv else "application/json"
        if answering.in_one:
            content = await self._run(b"".join, parts)
            self.metrics.count_series(answering.number)
            return Response(content, media_type=media_type)
        first = await self._run(next, parts)  # a mistake is told here, with its status

        async def stream() -> AsyncIterator[bytes]:
            yield first
            while (part := await self._run(next, parts, None)) is not None:
                yield part
            self.metrics.count_series(answering.number)

        return StreamingResponse(stream(), media_type=media_type)

    def _from_csv(self, body: bytes, request: Request) -> ForecastRequest:
        """A table, and the other fields as the address has them; lists with commas."""
        unknown = [name for name in request.query_params if name not in WORDS]
        if unknown:
            raise UserError(
                f"expected the parameters {', '.join(WORDS)} beside CSV, got {unknown[0]!r:.40}."
            )
        fields: dict[str, Any] = dict(request.query_params)
        for name in ("times", "quantiles"):
            if name in fields:
                fields[name] = [part.strip() for part in fields[name].split(",")]
        series = self.catalogue.get(fields.get("model")).forecaster.columns.series
        return checked(fields | {"observations": read_csv(body, series)})

    async def _read(self, request: Request) -> bytes:
        """The body, if it is not too long and comes in time."""
        most = self.settings.max_body
        too_long = HTTPException(
            413,
            f"expected at most {most:,} bytes, got more: send fewer series or points, or let "
            "`lupi serve --max-body` allow it.",
            headers={"connection": "close"},
        )
        length = request.headers.get("content-length", "0")
        if not length.isdecimal() or len(length) > 18 or int(length) > most:
            raise too_long
        parts, size = [], 0
        try:
            async with asyncio.timeout(PATIENCE):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise too_long
                    parts.append(part)
        except TimeoutError:
            raise HTTPException(
                408, "the request did not come in time: send it again.", {"connection": "close"}
            ) from None
        except ClientDisconnect:  # nobody hears it, but it is no fault of ours
            raise HTTPException(400, "the request ended before its end.") from None
        return b"".join(parts)


def create_app(catalogue: Catalogue, settings: ServerSettings | None = None) -> Any:
    """The server as an ASGI application, for a process manager of your own."""
    return Server(catalogue, settings or ServerSettings()).app


def _file(path: Path) -> Callable:
    async def give() -> FileResponse:
        return FileResponse(path)

    return give


def _accepted() -> dict[str, Any]:
    """What `/v1/forecast` takes, for OpenAPI."""
    example = {
        "observations": {"t": [0.0, 0.6, 1.1], "x1": [1.0, 0.8, 0.5], "x2": [-1.0, -0.8, -0.5]},
        "times": [0.5, 3.0, 8.0],
    }
    schema = ForecastRequest.model_json_schema()
    table = "t,x1,x2\n0,1,-1\n0.6,0.8,-0.8\n1.1,0.5,-0.5\n"
    return {
        "required": True,
        "content": {
            "application/json": {"schema": schema, "example": example},
            "text/csv": {"schema": {"type": "string"}, "example": table},
        },
    }


def _problem(status: int, message: str, headers: Any = None) -> JSONResponse:
    # Escaped: what was sent, and is quoted, may hold what is no text.
    return JSONResponse({"error": ascii_only(message)}, status, headers)


def ascii_only(text: str) -> str:
    """The text without what cannot be written as UTF-8."""
    return text.encode("utf-8", "backslashreplace").decode()


async def _mistake(_: Request, error: Exception) -> JSONResponse:
    return _problem(422, str(error))


async def _invalid(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, RequestValidationError)
    found = [f"{problem['loc'][-1]}: {problem['msg']}" for problem in error.errors()]
    return _problem(422, f"{'; '.join(found)!s:.500}.")


async def _other(_: Request, error: Exception) -> JSONResponse:
    assert isinstance(error, AnyHTTPException)
    known = {404: "there is nothing here: see /docs.", 405: "this cannot be asked here: see /docs."}
    return _problem(error.status_code, known.get(error.status_code, error.detail), error.headers)


async def _fault(_: Request, error: Exception) -> JSONResponse:
    traceback.print_exception(error)
    return _problem(500, "a fault of the server's: its traceback is where `lupi serve` runs.")
