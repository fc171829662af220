"""`lupi serve`."""

import importlib.util
import os
import sys
from pathlib import Path
from typing import Annotated

from cyclopts import Parameter

from lupi._machinery.environment import kept_compiled
from lupi._machinery.stopping import leave
from lupi.commands.options import Names, Whole, split_names
from lupi.errors import UserError, check_whole

SHORTEST_TOKEN = 16


def serve(
    *models: Path,
    host: str = "127.0.0.1",
    port: Whole = 8765,
    name: Names = (),
    token: str | None = None,
    max_body: Whole = 2**20,
    browser: Annotated[bool, Parameter(negative="--no-browser")] = True,
) -> None:
    """Open a playground in the browser, which also answers programs over HTTP.

    Click an observation, and watch what the model believes. Ends with Ctrl-C, when what has been
    begun is finished.

    Parameters
    ----------
    models
        Files that `lupi train` wrote. Without any: small models of the built-in systems.
    host
        The address to listen at. Another than this machine's own needs a token.
    port
        The port to listen at; 0 takes any that is free.
    name
        Further names under which browsers and programs may call this server.
    token
        A secret that every request must carry (Authorization: Bearer ...).
    max_body
        The largest request, in bytes.
    browser
        Open the page in the browser.
    """
    missing = [one for one in ("fastapi", "uvicorn") if importlib.util.find_spec(one) is None]
    if missing:
        raise UserError(
            f"`lupi serve` needs {' and '.join(missing)}, which lupi does without otherwise: "
            "install them with `pip install 'lupi[serve]'`."
        )
    check_whole("--port", port, most=65535)
    check_whole("--max-body", max_body, least=1024, most=2**30)
    if token is not None and (len(token) < SHORTEST_TOKEN or not token.isascii()):
        raise UserError(
            f"--token must have at least {SHORTEST_TOKEN} letters and digits, got {len(token)}: "
            "`python -c 'import secrets; print(secrets.token_urlsafe())'` makes one."
        )
    os.environ |= kept_compiled()  # before JAX is imported
    from lupi.serving.app import Server, ServerSettings
    from lupi.serving.catalogue import Catalogue
    from lupi.serving.running import address_of, listen, run
    from lupi.serving.safety import LOOPBACK, is_loopback

    if not is_loopback(host) and token is None:
        raise UserError(
            f"--host {host} can be reached from other machines, so a --token is needed that every "
            "request carries."
        )
    if host in ("0.0.0.0", "::") and not name:
        raise UserError(
            f"--host {host} listens at every address of this machine: say with --name by which of "
            "its names or addresses it is called."
        )
    settings = ServerSettings(
        names=(*LOOPBACK, host, *split_names(name)), token=token, max_body=max_body
    )
    server = Server(Catalogue.of_files(models), settings)
    found = listen(host, port)
    address = address_of(found)
    where = address if token is None else f"{address}#token={token}"
    number = len(server.catalogue.models)
    print(f"lupi: {number} model{'s' * (number > 1)} at {address} (Ctrl-C ends it)", flush=True)
    run(server, found, open_at=where if browser else None)
    print("lupi: stopped.", file=sys.stderr)
    if server.warming.is_running:
        leave(
            0
        )  # the end of the interpreter would wait for what is being compiled, and not survive
