"""Who gets in: nobody but the browser that has the token. Every way of asking is combined with every fault."""

import itertools

import pytest

from mercer.live.access import Access, Guard, is_loopback, new_token

TOKEN = "a token that nobody knows"
QUERY = TOKEN.replace(" ", "%20")
HOST = "127.0.0.1:8123"
ACCESS = Access.to("127.0.0.1", 8123, TOKEN)
COOKIE = f"{ACCESS.cookie_name}={ACCESS.cookie_value}"
ORIGIN = f"http://{HOST}"


def ask(kind="http", *, path="/", method="GET", query="", host=HOST, origin=None, cookie=COOKIE, more=()):
    """What the guard answers: "passed", or a status and the headers."""
    headers = [(b"host", value.encode("latin-1")) for value in ([host] if isinstance(host, str) else host or [])]
    headers += [(b"origin", value.encode()) for value in ([origin] if isinstance(origin, str) else origin or [])]
    headers += [(b"cookie", cookie.encode())] if cookie else []
    headers += list(more)
    scope = {
        "type": kind,
        "path": path,
        "raw_path": path.encode(),
        "query_string": query.encode(),
        "headers": headers,
        **({"method": method} if kind == "http" else {}),
    }
    sent = []

    async def application(scope, receive, send):
        sent.append("passed")

    async def send(message):
        sent.append(message)

    # The guard waits for nothing, so that its first step is its last.
    with pytest.raises(StopIteration):
        Guard(application, ACCESS)(scope, None, send).send(None)
    return sent


def is_refused(sent):
    first = sent[0]
    if first == "passed":
        return False
    if first["type"] == "websocket.close":
        return first["code"] == 1008
    return first["status"] in (403, 404, 405, 413, 421, 431) and TOKEN not in str(sent) and len(sent[1]["body"]) < 200


def test_the_browser_with_the_cookie_gets_in():
    assert ask() == ["passed"]
    assert ask(origin=ORIGIN) == ["passed"]
    assert ask(host="localhost:8123") == ["passed"]
    assert ask("websocket", path="/socket", origin=ORIGIN) == ["passed"]
    assert ask(more=[(b"sec-fetch-site", b"none")]) == ["passed"]
    assert ask(cookie=f"other=1; {COOKIE}; mercer=2") == ["passed"]


def test_the_token_is_exchanged_for_a_cookie_and_leaves_the_address():
    start, body = ask(cookie=None, query=f"token={QUERY}")
    headers = dict(start["headers"])
    assert start["status"] == 303 and headers[b"location"] == b"/" and body["body"] == b""
    cookie = headers[b"set-cookie"].decode()
    assert cookie.startswith(COOKIE) and "HttpOnly" in cookie and "SameSite=Strict" in cookie
    assert TOKEN not in cookie and headers[b"cache-control"] == b"no-store"


ROUTES = [("http", "/"), ("websocket", "/socket")]
WRONG_COOKIES = [
    None,
    f"{ACCESS.cookie_name}=",
    f"{ACCESS.cookie_name}=wrong",
    f"{ACCESS.cookie_name}={TOKEN}",
    f"{ACCESS.cookie_name}={ACCESS.cookie_value[:-1]}",
    f"{ACCESS.cookie_name}={ACCESS.cookie_value}x",
    f"mercer={ACCESS.cookie_value}",
    f"{COOKIE}; {COOKIE}",
]
WRONG_HOSTS = [
    None,
    "",
    "evil.example",
    "evil.example:8123",
    "127.0.0.1",
    "127.0.0.1:80",
    "127.0.0.1:8123.evil.example",
    "127.0.0.1:8123@evil.example",
    "LOCALHOST.evil:8123",
    "0.0.0.0:8123",
    "127.0.0.1:8123\xe9",
    [HOST, "evil.example"],
    [HOST, HOST],
]
WRONG_ORIGINS = [
    "null",
    "",
    "http://evil.example",
    "https://127.0.0.1:8123",
    "http://127.0.0.1:8124",
    "http://127.0.0.1",
    "http://127.0.0.1:8123.evil.example",
    "http://127.0.0.1:8123/",
    "HTTP://127.0.0.1:8123",
    "file://",
    [ORIGIN, ORIGIN],
    [ORIGIN, "http://evil.example"],
]
WRONG_METHODS = ["POST", "PUT", "DELETE", "HEAD", "OPTIONS", "PATCH", "TRACE", "CONNECT", "get", ""]
WRONG_PATHS = ["", "//", "/.", "/../etc/passwd", "/static", "/index.html", "/docs", "/%2e", "/Socket", "/socket/", "/x"]
WRONG_QUERIES = [
    "token=",
    "token=wrong",
    f"token={QUERY}x",
    f"token={QUERY}&x=1",
    f"token={QUERY}&token={QUERY}",
    f"x={QUERY}",
    f"TOKEN={QUERY}",
    QUERY,
    "x",
    "token[]=" + QUERY,
    "token=%ff%fe",
    "a=1&" * 500,
]
WRONG_SIZES = [
    [(b"content-length", b"1")],
    [(b"content-length", b"999999999999")],
    [(b"content-length", b"-1")],
    [(b"content-length", b"0"), (b"content-length", b"5")],
    [(b"transfer-encoding", b"chunked")],
    [(b"x", b"y" * 20_000)],
    [(b"x-%d" % i, b"y") for i in range(100)],
]
OTHER_SITES = [b"cross-site", b"same-site", b"", b"Same-Origin"]


def faults():
    """(name, arguments of `ask`) of everything that is wrong in one way, or in two."""
    for kind, path in ROUTES:
        origins = {"origin": ORIGIN} if kind == "websocket" else {}
        base = {"kind": kind, "path": path, **origins}
        single = [("cookie", {"cookie": value}) for value in WRONG_COOKIES]
        single += [("host", {"host": value}) for value in WRONG_HOSTS]
        single += [("origin", {"origin": value}) for value in WRONG_ORIGINS]
        single += [("site", {"more": [(b"sec-fetch-site", value)]}) for value in OTHER_SITES]
        single += [("path", {"path": value}) for value in [*WRONG_PATHS, "/socket" if kind == "http" else "/"]]
        single += [("query", {"query": value}) for value in WRONG_QUERIES]
        if kind == "http":
            single += [("method", {"method": value}) for value in WRONG_METHODS]
            single += [("size", {"more": value}) for value in WRONG_SIZES]
            token = {"query": f"token={QUERY}", "cookie": None}
            single += [
                (f"token and {name}", token | fault) for name, fault in list(single) if name not in ("cookie", "query")
            ]
        else:
            single += [("size", {"more": value}) for value in WRONG_SIZES[-2:]]
            single += [("no origin", {"origin": None}), ("token", {"query": f"token={QUERY}"})]
        yield from ((name, base | fault) for name, fault in single)
        for (first, one), (second, other) in itertools.combinations(single[::3], 2):
            if first != second and not set(one) & set(other):
                yield f"{first}, {second}", base | one | other


FAULTS = list(faults())


def test_there_are_enough_faults():
    assert len(FAULTS) >= 300


@pytest.mark.parametrize("name", sorted({name for name, _ in FAULTS}))
def test_every_fault_is_refused(name):
    for fault, given in FAULTS:
        if fault == name:
            assert is_refused(ask(**given)), given


def test_other_kinds_of_connections_are_ignored():
    assert ask("http3", path="/") == []


def test_tokens_are_long_and_never_the_same():
    assert len({new_token() for _ in range(100)}) == 100 and min(len(new_token()) for _ in range(100)) >= 40
    with pytest.raises(ValueError, match="16"):
        Access.to("127.0.0.1", 1, "short")


def test_loopback_is_what_this_machine_alone_reaches():
    assert all(map(is_loopback, ("127.0.0.1", "::1", "localhost")))
    assert not any(map(is_loopback, ("0.0.0.0", "", "::", "10.0.0.1")))
    assert Access.to("0.0.0.0", 5, TOKEN, ["maps.example"]).hosts == {"maps.example:5"}
    assert Access.to("::1", 5, TOKEN).hosts == {"127.0.0.1:5", "localhost:5", "[::1]:5"}
    assert "127.0.0.1" in Access.to("127.0.0.1", 80, TOKEN).hosts
