"""Who may talk to the server of a live page. Everything that is decided about that is decided here.

    address     a path that exists, and for pages no query but a token
    method      GET, without a body
    Host        exactly one, of a list: a name that someone else's DNS points here (rebinding) is not on it
    Origin      for the socket exactly one, of a list; for pages absent or of the list. Other sites are not on it.
    who asks    the token in the first address, then a cookie that scripts cannot read and other sites cannot send

Whatever is not allowed is refused, before any of it reaches the application.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any
from urllib.parse import parse_qsl

PAGE, SOCKET = "/", "/socket"
SHORTEST_TOKEN = 16
_MOST_HEADERS = 64  # of a browser's request there are about twenty
_MOST_HEADER_BYTES = 16_384
_LONGEST_LINE = 8_000  # of a request for a socket: beyond 8,192 the library that reads it gives up and answers nothing

Scope = dict[str, Any]
Receive = Callable[[], Awaitable[dict[str, Any]]]
Send = Callable[[dict[str, Any]], Awaitable[None]]

HEADERS = (
    (b"cache-control", b"no-store"),
    (b"x-content-type-options", b"nosniff"),
    (b"x-frame-options", b"DENY"),
    (b"referrer-policy", b"no-referrer"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"cross-origin-resource-policy", b"same-origin"),
)


def new_token() -> str:
    """A token that cannot be guessed: 256 random bits."""
    return secrets.token_urlsafe(32)


def refused_upgrade(method: bytes, target: bytes, headers: Iterable[tuple[bytes, bytes]]) -> str | None:
    """Why a request for a socket is refused before it is read as one; None if it may be read.

    What reads such requests has bounds of its own. Where they are passed it neither answers nor closes the connection.

    >>> refused_upgrade(b"POST", b"/socket", [])
    'Sockets are opened with GET.'
    """
    headers = list(headers)
    if method != b"GET":
        return "Sockets are opened with GET."
    if any(name.lower() in (b"content-length", b"transfer-encoding") for name, _ in headers):
        return "Requests for a socket have no body."
    longest = max(len(target), *(len(name) + len(value) for name, value in headers), 0)
    if longest > _LONGEST_LINE or len(headers) > _MOST_HEADERS:
        return "The request is too long."
    return None


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server that listens there."""
    return host in ("127.0.0.1", "::1", "localhost")


@dataclass(frozen=True)
class Access:
    """What may pass.

    token : in the first address
    hosts : values of Host, with the port
    """

    token: str
    hosts: frozenset[str]

    @classmethod
    def to(cls, host: str, port: int, token: str, names: Iterable[str] = ()) -> Access:
        """Access to a server at this host and port, which browsers may call by these names as well."""
        if len(token) < SHORTEST_TOKEN:
            raise ValueError(f"The token has {len(token)} characters. Take at least {SHORTEST_TOKEN}.")
        local = ("127.0.0.1", "localhost", "::1") if is_loopback(host) else ()
        own = () if host in ("0.0.0.0", "::", "") else (host,)
        known = [*local, *own, *names]
        ends = (f":{port}", "") if port == 80 else (f":{port}",)  # browsers leave out the usual port
        return cls(token, frozenset(f"{_bracketed(name)}{end}" for name in known for end in ends))

    @property
    def origins(self) -> frozenset[str]:
        return frozenset(f"http://{host}" for host in self.hosts)

    @property
    def cookie_name(self) -> str:
        """Cookies of one host are shared by all its ports, so the name tells servers with other tokens apart."""
        return "mercer-" + hashlib.sha256(b"name" + self.token.encode()).hexdigest()[:12]

    @property
    def cookie_value(self) -> str:
        """Not the token, so that a cookie that leaks gives no address that works."""
        return hmac.new(self.token.encode(), b"cookie", hashlib.sha256).hexdigest()

    def refusal(self, scope: Scope) -> tuple[int, str] | None:
        """The status and the reason of a refusal; None if the request may pass."""
        kind, path = scope["type"], scope.get("path", "")
        headers: list[tuple[bytes, bytes]] = list(scope.get("headers", ()))
        size = sum(len(name) + len(value) for name, value in headers)
        if len(headers) > _MOST_HEADERS or size > _MOST_HEADER_BYTES:
            return 431, "The request has too many headers."
        hosts = [value for name, value in headers if name == b"host"]
        if len(hosts) != 1 or _text(hosts[0]) not in self.hosts:
            return 421, "This server does not answer to that name."
        origins = [value for name, value in headers if name == b"origin"]
        if len(origins) > 1 or any(_text(value) not in self.origins for value in origins):
            return 403, "Requests from other sites are refused."
        if kind == "websocket" and not origins:
            return 403, "A socket needs an origin."
        sites = [_text(value) for name, value in headers if name == b"sec-fetch-site"]
        if any(site not in ("same-origin", "none") for site in sites):
            return 403, "Other sites cannot open this page. Copy the address into the address bar."
        if (
            path != {"http": PAGE, "websocket": SOCKET}.get(kind)
            or _text(scope.get("raw_path") or path.encode()) != path
        ):
            return 404, "There is nothing here."
        if kind == "http" and (refused := self._refused_page(scope, headers)) is not None:
            return refused
        if kind == "websocket" and scope.get("query_string"):
            return 404, "There is nothing here."
        if not (self.has_cookie(headers) or (kind == "http" and self.has_token(scope))):
            return 403, "Open the address that mercer printed, with its token."
        return None

    def _refused_page(self, scope: Scope, headers: list[tuple[bytes, bytes]]) -> tuple[int, str] | None:
        if scope.get("method") != "GET":
            return 405, "Only GET is answered."
        lengths = [value for name, value in headers if name == b"content-length"]
        if any(name == b"transfer-encoding" for name, _ in headers) or any(value != b"0" for value in lengths):
            return 413, "Requests with a body are refused."
        if scope.get("query_string") and not self.has_token(scope):
            return 403, "Open the address that mercer printed, with its token."
        return None

    def has_token(self, scope: Scope) -> bool:
        """Whether the query is the token and nothing else."""
        try:
            pairs = parse_qsl(scope.get("query_string", b"").decode("ascii"), keep_blank_values=True, max_num_fields=2)
        except ValueError:
            return False
        return len(pairs) == 1 and pairs[0][0] == "token" and _same(pairs[0][1], self.token)

    def has_cookie(self, headers: list[tuple[bytes, bytes]]) -> bool:
        values = []
        for name, value in headers:
            if name == b"cookie":
                parts = (part.strip().partition("=") for part in _text(value).split(";"))
                values += [found for key, _, found in parts if key == self.cookie_name]
        return len(values) == 1 and _same(values[0], self.cookie_value)

    def set_cookie(self) -> bytes:
        """The header that gives the cookie in exchange for the token."""
        return f"{self.cookie_name}={self.cookie_value}; HttpOnly; SameSite=Strict; Path=/".encode()


class Guard:
    """The outermost layer of the application: passes on what `Access` allows, and refuses everything else."""

    def __init__(self, app: Callable[[Scope, Receive, Send], Awaitable[None]], access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        if scope["type"] not in ("http", "websocket"):
            return
        refused = self._access.refusal(scope)
        if refused is not None:
            await self._refuse(scope, send, *refused)
        elif scope["type"] == "http" and self._access.has_token(scope):
            await self._exchange(send)
        else:
            await self._app(scope, receive, send)

    async def _refuse(self, scope: Scope, send: Send, status: int, reason: str) -> None:
        if scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": 1008, "reason": reason})
            return
        await _respond(send, status, [(b"content-type", b"text/plain; charset=utf-8")], reason.encode())

    async def _exchange(self, send: Send) -> None:
        """Take the token out of the address bar, and leave a cookie."""
        given = [(b"location", PAGE.encode()), (b"set-cookie", self._access.set_cookie())]
        await _respond(send, 303, given, b"")


async def _respond(send: Send, status: int, headers: list[tuple[bytes, bytes]], body: bytes) -> None:
    length = (b"content-length", str(len(body)).encode())
    await send({"type": "http.response.start", "status": status, "headers": [*HEADERS, *headers, length]})
    await send({"type": "http.response.body", "body": body})


def _text(value: bytes) -> str:
    return value.decode("latin-1")


def _same(given: str, known: str) -> bool:
    return hmac.compare_digest(given.encode(), known.encode())


def _bracketed(host: str) -> str:
    return f"[{host}]" if ":" in host else host
