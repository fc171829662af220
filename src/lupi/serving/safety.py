"""Who may ask: checked before anything else is done."""

import hmac
import ipaddress
import json
from collections.abc import Iterable
from typing import Any
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")

OPEN = ("/", "/page.css", "/page.js", "/docs", "/docs.js", "/icon.svg", "/healthz")
"""What needs no token: the page itself, which is the same for all, and whether it is there."""

HEADERS = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; "
    "img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cache-control": "no-cache",
}
"""Of every answer."""


def is_loopback(host: str) -> bool:
    """Whether an address can only be reached from this machine."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


class Safety:
    """An ASGI application behind checks of who asks.

    A page of another site can make a browser send requests here, under a name of its own that it
    lets point to this machine. So the name must be one of ours (`Host`), the page one of ours
    (`Origin`), and where there is a token it must come in a header that no other page can set.
    """

    def __init__(self, app: Any, *, names: Iterable[str], token: str | None = None):
        self.app, self.token = app, token
        self.names = {name.lower() for name in names}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        """Pass the request on, or say why not."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
            return

        async def send_safely(message: Any) -> None:
            if message["type"] == "http.response.start":
                there = {name.lower() for name, _ in message["headers"]}
                extra = [(n.encode(), v.encode()) for n, v in HEADERS.items()]
                message["headers"] = [
                    *message["headers"],
                    *((name, value) for name, value in extra if name not in there),
                ]
            await send(message)

        refused = self._refusal(scope)
        if refused is None:
            await self.app(scope, receive, send_safely)
        elif scope["type"] == "http":
            await _say(send_safely, *refused)
        else:
            await send({"type": "websocket.close", "code": 1008})

    def _refusal(self, scope: Any) -> tuple[int, str] | None:
        """A status and a message, or nothing where all is well."""
        if scope["type"] != "http":
            return 400, "there is nothing here but HTTP."
        found: dict[str, list[str]] = {}
        for name, value in scope["headers"]:
            found.setdefault(name.decode("latin-1").lower(), []).append(value.decode("latin-1"))
        hosts, origins = found.get("host", []), found.get("origin", [])
        if len(hosts) != 1 or _name_in(hosts[0]) not in self.names:
            return 400, (
                f"expected a request to {', '.join(sorted(self.names))}, got one to "
                f"{', '.join(hosts) or 'no host'!s:.100}: name it with `lupi serve --name`."
            )
        # Of an image or a script browsers tell no origin, but whose page it is on.
        sites = [
            one for one in found.get("sec-fetch-site", []) if one not in ("same-origin", "none")
        ]
        is_foreign = bool(sites) and scope["path"] not in OPEN
        if is_foreign or (origins and [_origin_of(one) for one in origins] != [hosts[0].lower()]):
            return 403, (
                "expected a request of a page of this server, got one of "
                f"{', '.join(origins) or 'another site'!s:.100}: pages of other sites may not ask."
            )
        if self.token is not None and scope["path"] not in OPEN:
            given = found.get("authorization", [""])[0].removeprefix("Bearer ")
            if not hmac.compare_digest(given.encode(), self.token.encode()):
                return 401, (
                    "expected the token of `lupi serve --token`, got none or another: send it as "
                    "the header `Authorization: Bearer ...`."
                )
        return None


def _origin_of(origin: str) -> str | None:
    """The host and port of an Origin header."""
    try:
        return urlsplit(origin).netloc.lower()
    except ValueError:
        return None


def _name_in(host: str) -> str | None:
    """The name or address of a Host header, without its port."""
    try:
        parts = urlsplit(f"//{host}")
        _ = parts.port
    except ValueError:
        return None
    return parts.hostname if parts.netloc == host and "@" not in host else None


async def _say(send: Any, status: int, message: str) -> None:
    body = json.dumps({"error": message}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", b"%d" % len(body))]
    if status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    headers.append((b"connection", b"close"))  # whatever else was sent is not read
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
