"""The server of a live page: one page, one socket per browser, on this machine only unless asked otherwise.

Starlette and uvicorn are imported when a server is made: `pip install mercer[explore]`.
"""

from __future__ import annotations

import asyncio
import socket
import threading
import time
from collections.abc import Callable, Sequence
from typing import Any

from mercer.live.access import HEADERS, PAGE, SOCKET, Access, Guard, is_loopback, new_token, refused_upgrade
from mercer.live.controls import Controls, Settings
from mercer.live.live_page import live_page
from mercer.live.live_table import LiveTable
from mercer.live.messages import longest_text, read_text
from mercer.live.session import Session
from mercer.web.page import page_bytes, page_policy

MOST_PAGES = 8  # browsers or tabs at once
IDLE = 30 * 60.0  # seconds without a page after which the server ends
# 30 settings per second of a slider that moves, two maps taken for each of them, and 60 places of a pointer make 150.
_MESSAGES_PER_SECOND, _BURST = 200, 400
_MOST_MISTAKES = 20  # messages that mean nothing, after which a page is closed
_POLICY_VIOLATION, _TRY_LATER = 1008, 1013  # codes of the websocket protocol


class Rate:
    """How often something may happen: `burst` times at once, and `per_second` times a second in the long run.

    >>> rate = Rate(2, 1.0, clock=lambda: 0.0)
    >>> rate.allows(), rate.allows(), rate.allows()
    (True, True, False)
    """

    def __init__(self, burst: int, per_second: float, clock: Callable[[], float] = time.monotonic) -> None:
        self._burst, self._per_second, self._clock = burst, per_second, clock
        self._left, self._at = float(burst), clock()

    def allows(self) -> bool:
        now = self._clock()
        self._left = min(self._burst, self._left + (now - self._at) * self._per_second)
        self._at = now
        if self._left < 1:
            return False
        self._left -= 1
        return True


class LiveServer:
    """A live page of one table, served until `stop`, Ctrl-C, or `idle` seconds without a page.

    host, port : where it listens; port 0 takes a free one
    token : in the first address; None is a random one. A host that other machines reach needs one.
    names : other names that browsers may call the server by
    first : the settings to begin with, as far as the table allows them
    """

    def __init__(
        self,
        table: LiveTable,
        *,
        host: str = "127.0.0.1",
        port: int = 0,
        token: str | None = None,
        names: Sequence[str] = (),
        idle: float = IDLE,
        first: Settings | None = None,
    ) -> None:
        uvicorn = _needed("uvicorn")
        if not is_loopback(host) and token is None:
            raise ValueError(
                f"Listening on {host} opens the page to other machines, so it needs a token of your own (--token): "
                "whoever has it can read the table."
            )
        self.table, self.controls, self.idle = table, Controls(table, first), idle
        self._socket = _listening_socket(host, port)
        self.port = int(self._socket.getsockname()[1])
        self.token = token or new_token()
        self.access = Access.to(host, self.port, self.token, names)
        self._listening_on = host
        self._host = host if is_loopback(host) or not names else names[0]
        self.page: bytes | None = None
        self._making = threading.Lock()
        self._turn = threading.Lock()
        self._pages = 0
        self._quiet_since = time.monotonic()
        config = uvicorn.Config(
            self.application(),
            http=_bounded_http(),
            log_level="warning",
            access_log=False,
            server_header=False,
            date_header=False,
            ws_max_size=longest_text(table.rows),
            ws_max_queue=4,
            ws_per_message_deflate=False,
            limit_concurrency=64,
            timeout_graceful_shutdown=2,
            lifespan="off",
        )
        self._server = uvicorn.Server(config)
        self._thread: threading.Thread | None = None

    @property
    def address(self) -> str:
        """The first address, with the token."""
        return f"{self.bare_address}?token={self.token}"

    @property
    def bare_address(self) -> str:
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self.port}{PAGE}"

    @property
    def is_open(self) -> bool:
        """Whether other machines can reach it."""
        return not is_loopback(self._listening_on)

    # --- running ---------------------------------------------------------------------------------------------

    def run(self) -> None:
        """Serve until told to end."""
        self._server.run(sockets=[self._socket])

    def start(self) -> LiveServer:
        """Serve in a thread of its own."""
        self._thread = threading.Thread(target=self.run, name="mercer-server", daemon=True)
        self._thread.start()
        self._watch_idle()
        threading.Thread(target=self._page, daemon=True).start()  # made while the browser starts
        while not self._server.started and self._thread.is_alive():
            time.sleep(0.005)
        return self

    def stop(self) -> None:
        """End the server and all computations."""
        self._server.should_exit = True
        if self._thread is not None:
            self._thread.join(10)
        self._socket.close()

    @property
    def running(self) -> bool:
        return self._thread is not None and self._thread.is_alive()

    def wait(self) -> None:
        """Return when the server has ended."""
        if self._thread is not None:
            while self._thread.is_alive():
                self._thread.join(0.5)

    def __enter__(self) -> LiveServer:
        return self.start()

    def __exit__(self, *_: Any) -> None:
        self.stop()

    # --- the application -------------------------------------------------------------------------------------

    def application(self) -> Guard:
        """The ASGI application, guarded."""
        _needed("starlette")
        from starlette.applications import Starlette
        from starlette.requests import Request
        from starlette.responses import Response
        from starlette.routing import Route, WebSocketRoute

        fixed = {name.decode(): value.decode() for name, value in HEADERS}

        async def page(request: Request) -> Response:
            self._touch()
            content = await asyncio.to_thread(self._page)
            headers = fixed | {"content-security-policy": page_policy(live=True) + "; frame-ancestors 'none'"}
            return Response(content, media_type="text/html; charset=utf-8", headers=headers)

        routes = [Route(PAGE, page, methods=["GET"]), WebSocketRoute(SOCKET, self._talk)]
        return Guard(Starlette(routes=routes), self.access)

    def _page(self) -> bytes:
        with self._making:
            if self.page is None:
                self.page = page_bytes(self.table.first_page(), live=live_page(self.table, self.controls))
        return self.page

    def _touch(self) -> None:
        self._quiet_since = time.monotonic()

    async def _talk(self, browser: Any) -> None:
        """Everything that is said between the server and one page, until either leaves."""
        from starlette.websockets import WebSocketDisconnect

        if self._pages >= MOST_PAGES:
            await browser.close(_TRY_LATER)
            return
        await browser.accept()
        self._pages += 1
        loop, something = asyncio.get_running_loop(), asyncio.Event()

        def notify() -> None:
            if not loop.is_closed():
                loop.call_soon_threadsafe(something.set)

        session = Session(self.table, self.controls, notify, self._turn)
        sender = asyncio.create_task(self._send_all(browser, session, something))
        rate, mistakes = Rate(_BURST, _MESSAGES_PER_SECOND), 0
        try:
            while mistakes < _MOST_MISTAKES:
                received = await browser.receive()
                if received["type"] == "websocket.disconnect":
                    return
                text = received.get("text")
                if text is None or not rate.allows():
                    break
                try:
                    session.receive(read_text(text, self.table.rows))
                except ValueError:
                    mistakes += 1
            await browser.close(_POLICY_VIOLATION)
        except (WebSocketDisconnect, RuntimeError, OSError):
            pass  # the page has gone
        finally:
            session.close()
            sender.cancel()
            self._pages -= 1
            self._touch()

    async def _send_all(self, browser: Any, session: Session, something: asyncio.Event) -> None:
        while True:
            await something.wait()
            something.clear()
            while (message := session.outgoing()) is not None:
                await browser.send_bytes(message)

    def _watch_idle(self) -> None:
        """End the server when there has been no page for `idle` seconds."""

        def watch() -> None:
            while not self._server.should_exit:
                time.sleep(min(1.0, self.idle / 4))
                if not self._pages and time.monotonic() - self._quiet_since > self.idle:
                    self._server.should_exit = True

        threading.Thread(target=watch, name="mercer-idle", daemon=True).start()


def _bounded_http() -> Any:
    """uvicorn's reader of requests, which passes on requests for sockets only if they are answered."""
    from uvicorn.protocols.http.h11_impl import H11Protocol

    class BoundedHTTP(H11Protocol):
        def handle_websocket_upgrade(self, event: Any) -> None:
            refused = refused_upgrade(event.method, event.target, self.headers)
            if refused is not None:
                self.send_400_response(refused)
            else:
                super().handle_websocket_upgrade(event)

    return BoundedHTTP


def _listening_socket(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # With its protocol named, asyncio sends small messages at once; otherwise one would wait 40 ms for another.
    listening = socket.socket(family, socket.SOCK_STREAM, socket.IPPROTO_TCP)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((host, port))
        listening.listen(128)  # whoever reads the address may connect at once, and waits until the server is there
    except OSError as error:
        listening.close()
        raise OSError(f"Cannot listen on {host}, port {port}: {error.strerror}. Choose another --port.") from error
    return listening


def _needed(name: str) -> Any:
    """A package of the extra, or an ImportError that says what to install."""
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise ImportError(f"A live page needs {name}. Install it with: pip install 'mercer[explore]'") from error
