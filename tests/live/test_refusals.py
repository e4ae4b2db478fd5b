"""Who does not get in, tried on a server that listens: every route and message with every fault, over real sockets.

The faults of requests are those of test_access.py. Whatever is tried is refused, nothing of the table is told, and the
server goes on.
"""

import base64
import itertools
import json
import re
import socket

import numpy as np
import pytest

pytest.importorskip("uvicorn")
websockets = pytest.importorskip("websockets.sync.client")
from test_access import FAULTS, HOST, TOKEN  # noqa: E402

from mercer.live.controls import Controls  # noqa: E402
from mercer.live.live_table import LiveTable  # noqa: E402
from mercer.live.messages import decode, longest_text, read_text  # noqa: E402
from mercer.live.server import LiveServer  # noqa: E402
from mercer.live.session import Session  # noqa: E402

ROWS = 80
SECRET = "a title that nobody may read"
PORT = HOST.rpartition(":")[2]


def table():
    return LiveTable.of(np.random.default_rng(0).normal(size=(ROWS, 3)), title=SECRET)


@pytest.fixture(scope="module")
def server():
    with LiveServer(table(), token=TOKEN) as running:
        yield running


def request(server, *, kind, path, method="GET", query="", host=HOST, origin=None, cookie="", more=()):
    """The bytes of a request, as test_access.py describes it, to this server's port."""
    headers = [("Host", value) for value in ([host] if isinstance(host, str) else host or [])]
    headers += [("Origin", value) for value in ([origin] if isinstance(origin, str) else origin or [])]
    headers += [("Cookie", cookie)] if cookie else []
    headers += [(name.decode(), value.decode("latin-1")) for name, value in more]
    if kind == "websocket":
        key = base64.b64encode(b"sixteen bytes ok").decode()
        headers += [("Upgrade", "websocket"), ("Connection", "Upgrade"), ("Sec-WebSocket-Version", "13")]
        headers += [("Sec-WebSocket-Key", key)]
    lines = [
        f"{method} {path}{'?' + query if query else ''} HTTP/1.1",
        *(f"{name}: {value}" for name, value in headers),
    ]
    text = "\r\n".join([*lines, "", ""])
    return text.replace(f":{PORT}", f":{server.port}").encode("latin-1")


def answer(server, raw):
    """What the server answers to one request."""
    found = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=60) as other:
        try:
            other.sendall(raw)
            while not is_whole(found) and (part := other.recv(65536)):
                found += part
        except ConnectionError:
            pass  # refused before it was read to its end
    return found


def is_whole(found):
    head, end, body = found.partition(b"\r\n\r\n")
    length = re.search(rb"content-length: (\d+)", head, re.IGNORECASE)
    without_body = head.startswith(b"HTTP/1.1 405")  # HEAD is answered by what its body would be
    return bool(end) and (without_body or length is None or len(body) >= int(length[1]))


LONG_UPGRADES = [
    {"method": "POST"},
    {"method": "POST", "more": [(b"content-length", b"5")]},
    {"more": [(b"content-length", b"5")]},
    {"more": [(b"transfer-encoding", b"chunked")]},
    {"more": [(b"x", b"y" * 8_200)]},
    {"more": [(b"x", b"y" * 60_000)]},
    {"more": [(b"x-%d" % i, b"y") for i in range(120)]},
    {"more": [(b"x-%d" % i, b"y") for i in range(200)]},
    {"query": "token=" + "y" * 8_200},
    {"path": "/" + "y" * 60_000},
]


@pytest.mark.parametrize("fault", LONG_UPGRADES, ids=range(len(LONG_UPGRADES)))
def test_requests_for_a_socket_are_answered_whatever_their_size(server, fault):
    given = {"path": "/socket", "origin": f"http://{HOST}", "cookie": cookie(server)} | fault
    assert answer(server, request(server, kind="websocket", **given)).partition(b" ")[2][:1] == b"4"
    assert is_alive(server)


def cookie(server):
    return f"{server.access.cookie_name}={server.access.cookie_value}"


def is_alive(server):
    raw = request(server, kind="http", path="/", cookie=cookie(server))
    found = answer(server, raw)
    return found.startswith(b"HTTP/1.1 200") and SECRET.encode() in found


def test_every_fault_of_a_request_is_refused_by_a_server_that_listens(server):
    assert len(FAULTS) >= 300 and is_alive(server)
    for name, fault in FAULTS:
        given = {"cookie": cookie(server)} | fault
        found = answer(server, request(server, **given))
        status = found.partition(b" ")[2][:3]
        assert found == b"" or status[:1] == b"4", (name, fault, found[:200])
        for secret in (SECRET, TOKEN, server.access.cookie_value, __file__.rpartition("/")[0]):
            assert secret.encode() not in found, (name, fault)
    assert is_alive(server)


# --- messages ------------------------------------------------------------------------------------------------

NOBODY = base64.b64encode(bytes(ROWS // 8)).decode()
RIGHT = {  # every message that a page sends, with all its parts
    "settings": {"type": "settings", "number": 1, "settings": {"method": "pca"}},
    "taken": {"type": "taken", "map": 1},
    "go": {"type": "go", "number": 1, "held": NOBODY, "moved": NOBODY, "by": [0, 0], "exaggeration": 2},
    "text": {"type": "ask", "what": "text", "id": 1},
    "model": {"type": "ask", "what": "model", "id": 1},
    "page": {"type": "ask", "what": "page", "id": 1},
    "cursor": {"type": "ask", "what": "cursor", "id": 1, "place": [0.0, 0.0]},
    "groups": {"type": "ask", "what": "groups", "id": 1, "first": NOBODY, "second": NOBODY},
}
WRONG = [-1, 1.5, True, 2**60, "", "1", "../../etc/passwd", [], [[]], {}, {"a": {}}, [None], ["x"], NOBODY[:-4], "%%%"]
SINGLE = {"held", "moved", "by", "exaggeration", "second"}  # parts that may be left out


def spoiled():
    """Each message with each of its parts missing or wrong; and with two of them."""
    for name, message in RIGHT.items():
        parts = [part for part in message if part != "type"]
        for part in parts:
            if part not in SINGLE:
                yield f"{name} without {part}", {key: value for key, value in message.items() if key != part}
            for value in WRONG:
                if not (part == "exaggeration" and value == 1.5) and not (part == "settings" and value == {}):
                    yield f"{name} with {part} = {value!r}", message | {part: value}
        for first, second in itertools.combinations(parts, 2):
            yield f"{name} with {first}, {second}", message | {first: {}, second: "%%%"}
    for kind in [None, 5, "", "eval", "Settings", ["ask"], {"ask": 1}, "__class__"]:
        yield f"type {kind!r}", RIGHT["text"] | {"type": kind}


SPOILED = list(spoiled())
TEXTS = ["", "null", "5", "[]", "{", "[" * 5000, '{"type": NaN}', '{"a": 1}', "\x00", "import os", "x" * 16_000]


def test_there_are_enough_messages():
    assert len(SPOILED) + len(TEXTS) >= 200 and len(SPOILED) == len({name for name, _ in SPOILED})


def refused(session, text):
    """Whether a session refuses a message: by a ValueError, or by the trouble that it tells."""
    try:
        session.receive(read_text(text, ROWS))
    except ValueError:
        return True
    message = session.outgoing()
    return message is not None and decode(message)[0]["type"] == "trouble"


def test_every_fault_of_a_message_is_refused():
    rows = table()
    session = Session(rows, Controls(rows), lambda: None)
    try:
        for name, message in SPOILED:
            assert refused(session, json.dumps(message)), name
        for text in [*TEXTS, json.dumps(RIGHT["text"] | {"x": "y" * longest_text(ROWS)})]:
            assert refused(session, text), text[:50]
    finally:
        session.close()
        assert session.join(60)


def test_a_server_that_heard_every_wrong_message_goes_on(server):
    messages = [*(json.dumps(message) for _, message in SPOILED), *TEXTS]
    origin, headers = f"http://127.0.0.1:{server.port}", {"Cookie": cookie(server)}
    address = f"ws://127.0.0.1:{server.port}/socket"
    for start in range(0, len(messages), 15):  # after twenty mistakes a page is closed
        with websockets.connect(address, origin=origin, additional_headers=headers, max_size=None) as page:
            for message in messages[start : start + 15]:
                page.send(message)
            page.send(json.dumps({"type": "settings", "number": 99, "settings": {"method": "pca"}}))
            while True:
                header, _ = decode(page.recv(timeout=120))
                assert header["type"] in ("working", "trouble", "map"), header
                if header.get("number") == 99 and header.get("stage") == "settled":
                    break
    assert is_alive(server)
