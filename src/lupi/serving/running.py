"""A server from its first word to its last."""

import asyncio
import socket
import threading
import webbrowser
from collections.abc import Callable

import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol

from lupi._machinery.stopping import hears_signals_itself
from lupi.errors import UserError
from lupi.serving.app import PATIENCE, Server

FINISHING = 30
"""Seconds that what has been begun may take when the server is stopped."""

MOST_CONNECTIONS = 1024


class BoundedProtocol(H11Protocol):
    """HTTP with clients that may be slow, but not for ever, and that cannot hold a connection.

    It is closed where the rest of a request does not come in time, and where nobody takes what is
    answered. (Of the body of a request that is being answered, the application sees to it.)
    """

    _coming: asyncio.TimerHandle | None = None
    _leaving: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._coming = self.loop.call_later(PATIENCE, transport.abort)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing more."""
        self._coming, self._leaving = _ended(self._coming), _ended(self._leaving)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        """Wait on, unless there is something to answer."""
        super().data_received(data)
        if self.cycle is not None and not self.cycle.response_complete:
            self._coming = _ended(self._coming)
        elif self._coming is None:  # not once more: a byte now and then is no request
            self._coming = self.loop.call_later(PATIENCE, self.transport.abort)

    def pause_writing(self) -> None:
        """Begin to wait for a client that does not take what there is."""
        super().pause_writing()
        self._leaving = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """It does."""
        super().resume_writing()
        self._leaving = _ended(self._leaving)


def _ended(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()


def listen(host: str, port: int) -> socket.socket:
    """A socket at this address; port 0 takes any that is free."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    found = socket.socket(family, socket.SOCK_STREAM)
    found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        found.bind((host, port))
    except OSError as error:
        found.close()
        raise UserError(
            f"cannot listen at {host}, port {port} ({error.strerror}): end what runs there, or "
            "choose another with `--port`, 0 for any that is free."
        ) from None
    found.listen(128)
    return found


def address_of(found: socket.socket) -> str:
    """What to type into a browser."""
    host, port = found.getsockname()[:2]
    return f"http://[{host}]:{port}/" if ":" in host else f"http://{host}:{port}/"


def runner_of(server: Server) -> uvicorn.Server:
    """What takes requests from a socket, with bounds on all that a client may hold."""
    config = uvicorn.Config(
        server.app,
        http=BoundedProtocol,  # also where httptools is there, which takes heads of any length
        ws="none",
        log_config=None,  # what it has to say goes where warnings of this program go
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=MOST_CONNECTIONS,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=FINISHING,
    )
    return uvicorn.Server(config)


def run(server: Server, found: socket.socket, *, open_at: str | None = None) -> None:
    """Answer until a signal, and finish what runs; a second signal ends it at once."""
    runner = runner_of(server)
    if open_at is not None:
        _when(lambda: runner.started, lambda: webbrowser.open(open_at))
    with hears_signals_itself():
        runner.run(sockets=[found])


def _when(ready: Callable[[], bool], act: Callable[[], object]) -> None:
    """Act once it is ready, in a thread of its own."""

    def wait() -> None:
        pause = threading.Event()
        while not ready():
            pause.wait(0.05)
        act()

    threading.Thread(target=wait, daemon=True).start()
