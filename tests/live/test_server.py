"""The server as browsers and others meet it: real sockets, the cookie, the policy, and the bounds."""

import contextlib
import http.client
import json
import socket
import threading
import time
from urllib.parse import urlsplit

import numpy as np
import pytest

pytest.importorskip("uvicorn")
websockets = pytest.importorskip("websockets.sync.client")
from websockets.exceptions import ConnectionClosed, InvalidStatus  # noqa: E402

from mercer.live.live_table import LiveTable  # noqa: E402
from mercer.live.messages import decode, longest_text  # noqa: E402
from mercer.live.server import MOST_PAGES, LiveServer, Rate  # noqa: E402


@pytest.fixture(scope="module")
def server():
    X = np.random.default_rng(0).normal(size=(80, 3))
    with LiveServer(LiveTable.of(X, title="points")) as running:
        yield running


def get(server, path="/", method="GET", body=None, **headers):
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=60)
    connection.request(method, path, body, headers)
    answer = connection.getresponse()
    content = answer.read()
    connection.close()
    return answer, content


def cookie(server):
    return f"{server.access.cookie_name}={server.access.cookie_value}"


def open_socket(server, **changes):
    settings = {"origin": f"http://127.0.0.1:{server.port}", "additional_headers": {"Cookie": cookie(server)}} | changes
    return websockets.connect(f"ws://127.0.0.1:{server.port}/socket", max_size=None, open_timeout=60, **settings)


def ask(page, **message):
    page.send(json.dumps(message))


def map_of(page, number):
    while True:
        header, arrays = decode(page.recv(timeout=120))
        if header["type"] == "map":
            ask(page, type="taken", map=header["map"])
            if header["number"] == number and header["stage"] == "settled":
                return header, arrays


def test_the_address_leads_to_the_page_and_the_page_to_maps(server):
    parts = urlsplit(server.address)
    answer, _ = get(server, f"{parts.path}?{parts.query}")
    assert answer.status == 303 and answer.headers["Location"] == "/"
    given = answer.headers["Set-Cookie"].partition(";")[0]
    answer, content = get(server, Cookie=given)
    assert answer.status == 200 and b"points" in content and b'"live"' in content
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy and "connect-src 'self'" in policy and "frame-ancestors 'none'" in policy
    assert answer.headers["Cache-Control"] == "no-store" and "Server" not in answer.headers
    with open_socket(server) as page:
        ask(page, type="settings", number=1, settings={"method": "pca"})
        header, arrays = map_of(page, 1)
        assert header["axes"] == ["component 1", "component 2"] and len(arrays["coordinates"]) == 160


def test_without_the_cookie_nothing_is_told(server):
    for headers in ({}, {"Cookie": "mercer=1"}, {"Host": "evil.example", "Cookie": cookie(server)}):
        answer, content = get(server, **headers)
        assert answer.status in (403, 421) and b"points" not in content and b"mercer/" not in content
    for changes in ({"origin": "http://evil.example"}, {"origin": None}, {"additional_headers": {}}):
        with pytest.raises(InvalidStatus) as refused, open_socket(server, **changes):
            pass
        assert refused.value.response.status_code == 403


@pytest.mark.parametrize(
    "raw",
    [
        b"GET / HTTP/1.1\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nContent-Length: 5\r\n\r\nabcde",
        b"GET http://evil.example/ HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"GET /../../etc/passwd HTTP/1.1\r\nHost: 127.0.0.1:%d\r\n\r\n",
        b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03",
        b"GET / HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nX: " + b"y" * 70_000 + b"\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
        b"GET /socket HTTP/1.1\r\nHost: 127.0.0.1:%d\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n\r\n",
        b"\r\n\r\n\r\n",
    ],
)
def test_raw_nonsense_is_refused_and_the_server_goes_on(server, raw):
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as other:
        other.sendall(raw.replace(b"%d", str(server.port).encode()))
        other.shutdown(socket.SHUT_WR)
        found = b""
        try:
            while part := other.recv(65536):
                found += part
        except ConnectionResetError:
            pass
    assert not found.startswith(b"HTTP/1.1 2") and b"points" not in found
    assert get(server, Cookie=cookie(server))[0].status == 200


@pytest.mark.parametrize(
    "message",
    [
        "",
        "null",
        "{",
        "[" * 5000,
        '{"type": "settings"}',
        '{"type": "eval", "code": "1"}',
        '{"type": "settings", "number": 1, "settings": {"method": "pca", "n_components": NaN}}',
        '{"type": "ask", "what": "../../etc/passwd", "id": 1}',
        '{"type": "go", "number": 1, "held": "%%%"}',
    ],
)
def test_malformed_messages_do_not_end_a_page_at_once(server, message):
    with open_socket(server) as page:
        page.send(message)
        ask(page, type="settings", number=1, settings={"method": "pca"})
        map_of(page, 1)


def closed(page):
    """The code with which the server closed a page, after whatever it still sent."""
    try:
        while True:
            page.recv(timeout=120)
    except ConnectionClosed as error:
        return error.rcvd.code if error.rcvd else None


def test_mistakes_floods_and_sizes_are_bounded(server):
    with open_socket(server) as page:
        with contextlib.suppress(ConnectionClosed):  # the server may close before all of it was sent
            for _ in range(50):
                page.send("nonsense")
        assert closed(page) == 1008
    with open_socket(server) as page:
        page.send(b"\x00\x01")
        assert closed(page) == 1008
    with open_socket(server) as page:
        page.send("x" * (longest_text(80) + 1))
        assert closed(page) == 1009
    with open_socket(server) as page, pytest.raises(ConnectionClosed):
        for _ in range(100_000):
            ask(page, type="taken", map=0)
    assert get(server, Cookie=cookie(server))[0].status == 200


def open_when_there_is_room(server):
    """A page. The server may still count those that earlier tests have just closed."""
    end = time.monotonic() + 60
    while True:
        try:
            return open_socket(server)
        except InvalidStatus:
            assert time.monotonic() < end
            time.sleep(0.05)


def test_only_so_many_pages_at_once(server):
    with contextlib.ExitStack() as stack:
        pages = [stack.enter_context(open_when_there_is_room(server)) for _ in range(MOST_PAGES)]
        ask(pages[0], type="settings", number=1, settings={"method": "pca"})
        map_of(pages[0], 1)
        with pytest.raises((InvalidStatus, ConnectionClosed)), open_socket(server) as page:
            page.recv(timeout=60)


def test_a_page_that_has_gone_leaves_no_thread(server):
    for _ in range(5):
        with open_socket(server) as page:
            ask(page, type="settings", number=1, settings={"method": "tsne", "perplexity": 10})
            decode(page.recv(timeout=120))
    end = time.monotonic() + 120
    while any(thread.name == "mercer-live" for thread in threading.enumerate()):
        assert time.monotonic() < end
        time.sleep(0.05)


def test_a_server_without_pages_ends_by_itself():
    running = LiveServer(LiveTable.of(np.eye(5)), idle=0.3).start()
    running.wait()
    assert not running.running


def test_a_server_for_others_needs_a_token_and_names():
    with pytest.raises(ValueError, match="--token"):
        LiveServer(LiveTable.of(np.eye(5)), host="0.0.0.0")
    running = LiveServer(LiveTable.of(np.eye(5)), host="0.0.0.0", token="long enough a token", names=["maps.example"])
    try:
        assert running.is_open and running.address.startswith(f"http://maps.example:{running.port}/")
        assert running.access.hosts == {f"maps.example:{running.port}"}
    finally:
        running.stop()


def test_a_port_that_is_taken_is_named(server):
    with pytest.raises(OSError, match=str(server.port)):
        LiveServer(LiveTable.of(np.eye(5)), port=server.port)


def test_a_rate_allows_a_burst_and_then_so_many_per_second():
    now = [0.0]
    rate = Rate(3, 2.0, clock=lambda: now[0])
    assert [rate.allows() for _ in range(4)] == [True, True, True, False]
    now[0] = 1.0
    assert [rate.allows() for _ in range(3)] == [True, True, False]
