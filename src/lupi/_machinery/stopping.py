"""Ctrl-C and SIGTERM: a command ends within seconds, and what it has done is saved, whatever it is
doing.

Python tells a signal to its main thread, and only between two steps of Python: not while XLA
compiles, which takes up to half a minute. The exception that it raises there may be swallowed by
whatever was running; and XLA does not survive the end of the interpreter while it compiles. So the
main thread is told nothing. Another one hears of a signal at once, saves what is to be saved and
ends the process without any more ado.
"""

import os
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress

from lupi._machinery.files import remove_unfinished

EXIT_STOPPED = 130

SIGNALS = (signal.SIGINT, signal.SIGTERM)

PATIENCE = 1.5
"""Seconds in which what stops by itself must do so."""

_DONE = b"\0"
"""No signal has this number."""

_asked = threading.Event()
_savers: list[Callable[[], None]] = []
_tellers: list[Callable[[], str]] = []
_stops_itself = threading.Event()


def stop_on_signals() -> None:
    """End this process by our own means when it is asked to, from now on. For programs alone."""
    hears, heard = socket.socketpair()
    heard.setblocking(False)
    for number in SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # as in the background of a script
            signal.signal(number, lambda *_: None)
    signal.set_wakeup_fd(heard.fileno(), warn_on_full_buffer=False)
    threading.Thread(target=_wait, args=(hears, heard), daemon=True).start()


def ignore_signals() -> None:
    """Let this process end by itself, from now on."""
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def is_stopping() -> bool:
    """Whether the process has been asked to stop."""
    return _asked.is_set()


@contextmanager
def saved_if_stopped(save: Callable[[], None]) -> Iterator[None]:
    """While inside, `save` is called, from another thread, before the process is stopped."""
    _savers.append(save)
    try:
        yield
    finally:
        _savers.remove(save)


@contextmanager
def told_if_stopped(tell: Callable[[], str]) -> Iterator[None]:
    """While inside, this is said of the work when it is stopped, by a signal or an exception."""
    _tellers.append(tell)
    try:
        yield
    except KeyboardInterrupt as stop:
        raise KeyboardInterrupt(str(stop) or tell()) from None
    finally:
        _tellers.remove(tell)


@contextmanager
def stops_itself() -> Iterator[None]:
    """While inside, the work has a moment to see that it is stopping and to raise
    `KeyboardInterrupt`, so as to end what it has started."""
    _stops_itself.set()
    try:
        yield
    finally:
        if not is_stopping():  # else the moment lasts until the end
            _stops_itself.clear()


@contextmanager
def hears_signals_itself() -> Iterator[None]:
    """While inside, signals are the work's own affair: a server finishes what it has begun."""
    if threading.current_thread() is not threading.main_thread():  # where none are heard
        yield
        return
    heard = signal.set_wakeup_fd(-1)
    try:
        yield
    finally:
        signal.set_wakeup_fd(heard, warn_on_full_buffer=False)


def stopped_message(told: str) -> str:
    """What is said at the end of a command that was stopped."""
    return f"\nlupi: stopped. {told}".rstrip() + "\n"


def leave(code: int) -> None:
    """End the process at once, without the end of the interpreter."""
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError, AttributeError):
            stream.flush()
    os._exit(code)


def _wait(hears: socket.socket, heard: socket.socket) -> None:
    hears.recv(1)
    _asked.set()
    if _stops_itself.is_set():
        select.select([hears], [], [], PATIENCE)  # or until the second signal
        _end()

    def save() -> None:
        for save_one in list(_savers):
            # Whatever happens to it, the process ends; what was saved before is still there.
            with suppress(Exception):
                save_one()
        heard.send(_DONE)

    threading.Thread(target=save, daemon=True).start()
    hears.recv(1)  # that it is saved, or a second signal
    _end()


def _end() -> None:
    """Past all buffers: the main thread may be holding any of them."""
    told = ""
    with suppress(Exception):
        told = _tellers[-1]() if _tellers else ""
    cursor = b"\x1b[?25h" if os.isatty(2) else b""  # which a bar hides
    with suppress(OSError):
        os.write(2, cursor + stopped_message(told).encode())
    remove_unfinished()
    os._exit(EXIT_STOPPED)
