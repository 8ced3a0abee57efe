"""Clients that are slow, send garbage or do not read: the server cuts them off and serves the others."""

import select
import socket
import time
from contextlib import suppress
from pathlib import Path

import httpx

from tests.support.process import PATIENCE, PLAN, serving

LOST = (ConnectionResetError, BrokenPipeError)


def said_by(port: int, sent: bytes) -> bytes:
    """All that the server answers until it closes the connection."""
    answer = b""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as line, suppress(*LOST):
        line.sendall(sent)
        while part := line.recv(65536):
            answer += part
    return answer


def test_slow_clients_are_cut_off_while_others_are_served(tmp_path: Path) -> None:
    flags = ("--header-timeout", "0.6", "--body-timeout", "0.6", "--store", "memory:")
    with serving(tmp_path, *flags) as server, server.client() as client:
        port = server.port
        client.put("/v1/selectors/a", json=PLAN)
        whole = b"POST /v1/selectors/a/ask HTTP/1.1\r\nhost: localhost\r\n"
        slow = {
            "says nothing": b"", "half a line": b"GET /hea", "no end of its header": whole, "only ends of lines": b"\r\n",
            "no body": whole + b"content-type: application/json\r\ncontent-length: 10\r\n\r\n",
            "half a body": whole + b"content-type: application/json\r\ncontent-length: 10\r\n\r\n{",
            "half a chunk": whole + b"content-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n5\r\n{",
            "a second header that never ends": b"GET /healthz HTTP/1.1\r\nhost: localhost\r\n\r\nGET /he",
        }  # fmt: skip
        lines = {name: socket.create_connection(("127.0.0.1", port)) for name in slow}
        for name, line in lines.items():
            line.sendall(slow[name])
        until = time.monotonic() + PATIENCE
        waiting, answers = dict(lines), dict.fromkeys(lines, b"")
        while waiting:
            assert time.monotonic() < until, f"still open: {list(waiting)}"
            assert client.post("/v1/selectors/a/ask").status_code == 200
            ready, _, _ = select.select(list(waiting.values()), [], [], 0.05)
            for name, line in list(waiting.items()):
                if line in ready:
                    try:
                        part = line.recv(65536)
                    except ConnectionResetError:  # it had already closed the connection
                        del waiting[name], answers[name]
                        continue
                    answers[name] += part
                    if not part:
                        del waiting[name]
                elif name != "says nothing" and name != "only ends of lines":
                    with suppress(OSError):
                        line.sendall(b"x" if "header" in name or "line" in name else b"")  # one byte at a time
        for line in lines.values():
            line.close()
        assert {"says nothing", "only ends of lines"} <= set(answers)
        for name, answer in answers.items():
            assert b"HTTP/1.1 408 Request Timeout\r\n" in answer, (name, answer)
            assert b'"status":' in answer
            assert b"must arrive within 0.6 seconds" in answer
        assert client.get("/healthz").status_code == 200


def test_endless_headers(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        for start in (b"GET /", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: ", b"GET /h HTTP/1.1\r\n"):
            many = b"x: y\r\n" * 20_000 if start.endswith(b"\r\n") else b"a" * 120_000
            answer = said_by(server.port, start + many)
            assert answer == b"" or b" 431 " in answer or b" 400 " in answer
        assert client.get("/healthz").status_code == 200


def test_too_many_connections_are_refused_for_a_while(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:", "--max-connections", "10") as server:
        assert server.address
        lines = [socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) for _ in range(10)]
        with server.client() as client:
            answer = client.get("/readyz")
            assert answer.status_code == 503
            assert "max_connections" in answer.json()["detail"]
            assert client.get("/healthz").status_code == 200
            for line in lines:
                line.close()
            until = time.monotonic() + PATIENCE
            while client.get("/readyz").status_code != 200:
                assert time.monotonic() < until


def test_a_client_that_does_not_read_is_cut_off(tmp_path: Path) -> None:
    flags = ("--store", "memory:", "--max-connections", "1", "--send-timeout", "0.5")
    with serving(tmp_path, *flags) as server, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        line.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 500)  # and reads no answer
        until = time.monotonic() + PATIENCE
        seen = set()
        while (status := httpx.get(f"{server.address}/readyz").status_code) != 200:
            assert status == 503
            seen.add(status)
            assert time.monotonic() < until
        assert seen == {503}


def test_bytes_that_are_not_http(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        for nonsense in (
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"HELO there\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x00" * 1000,
        ):
            answer = said_by(server.port, nonsense)
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
        upgrade = b"GET /v1/selectors HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
            line.sendall(upgrade)
            assert line.recv(65536).startswith(b"HTTP/1.1 ")
        assert client.get("/healthz").status_code == 200
        assert server.events("failed") == []
