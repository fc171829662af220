"""A real server at the loopback address, in a thread."""

import threading
import time

from lupi.serving.app import Server
from lupi.serving.running import address_of, listen, runner_of


def serving(catalogue, settings):
    """A server in a thread, as long as it is asked for; its address."""
    found = listen("127.0.0.1", 0)
    runner = runner_of(Server(catalogue, settings))
    thread = threading.Thread(target=runner.run, kwargs={"sockets": [found]}, daemon=True)
    thread.start()
    while not runner.started:
        time.sleep(0.01)
    yield address_of(found)
    runner.should_exit = True
    thread.join(timeout=30)
    found.close()
