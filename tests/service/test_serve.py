"""`suffice serve` as a process: started, refused, stopped, attacked, over real HTTP."""

import json
import multiprocessing
import os
import re
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from suffice.service.http import workers
from suffice.service.http.settings import Settings
from tests.support.command import say_in_process
from tests.support.postgres import Postgres

PATIENCE = 120.0  # seconds; a machine may be slow
PLAN = {"menu": {"kind": "top_k", "ks": [5, 10, 20], "classes": 100}, "target": 0.9}
BARE = {name: value for name, value in os.environ.items() if not name.startswith("SUFFICE_")}


class Process:
    """A server, its log and where it listens."""

    def __init__(self, folder: Path, *flags: str, **env: str) -> None:
        self.log = folder / f"{time.monotonic_ns()}.log"
        with self.log.open("wb") as log:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "suffice", "serve", "--log-format", "json", *flags],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log, cwd=folder,
                env={**BARE, "SUFFICE_PORT": "0", "SUFFICE_NO_COMPILE": "1", **env},
            )  # fmt: skip

    def events(self, name: str) -> list[dict[str, Any]]:
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        return [line for line in lines if line["event"] == name]

    def wait(self, name: str) -> dict[str, Any]:
        """The first event of this name."""
        until = time.monotonic() + PATIENCE
        while not (found := self.events(name)):
            assert self.process.poll() is None, self.log.read_text()
            assert time.monotonic() < until, self.log.read_text()
            time.sleep(0.02)
        return found[0]

    @property
    def address(self) -> str:
        return str(self.wait("started")["address"])

    @property
    def port(self) -> int:
        return int(self.address.rpartition(":")[2])

    def client(self, **more: Any) -> httpx.Client:
        return httpx.Client(base_url=self.address, timeout=PATIENCE, **more)

    def stop(self, how: signal.Signals = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(PATIENCE)

    def ended(self) -> tuple[int, str]:
        """The exit code of one that could not start, and all it said."""
        return self.process.wait(PATIENCE), self.log.read_text()


@contextmanager
def serving(folder: Path, *flags: str, **env: str) -> Iterator[Process]:
    server = Process(folder, *flags, **env)
    try:
        yield server
    finally:
        if server.process.poll() is None:
            server.process.kill()
            server.process.wait()


def make_key(capsys: pytest.CaptureFixture[str], store: str, *scopes: str) -> str:
    flags = [token for scope in scopes for token in ("--scope", scope)]
    code, out, err = say_in_process(capsys, "keys", "create", "test", *flags, "--store", store)
    assert code == 0, err
    return out.strip()


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


# --- from start to stop


def test_what_was_acknowledged_is_there_after_a_stop(tmp_path: Path) -> None:
    with serving(tmp_path) as server, server.client() as client:
        assert server.wait("started")["keys"].startswith("not required")
        assert client.get("/readyz").status_code == 200
        assert client.put("/v1/selectors/a", json=PLAN).status_code == 201
        asked = client.post("/v1/selectors/a/ask", json={"count": 20}).json()["decisions"]
        told = [{"decision": one["decision"], "success": True} for one in asked[:15]]
        results = client.post("/v1/selectors/a/tell", json=told).json()["results"]
        assert {one["result"] for one in results} == {"counted"}
        assert server.stop() == 0
        assert [server.events(name) != [] for name in ("stopping", "stopped", "failed")] == [True, True, False]
    with serving(tmp_path) as server, server.client() as client:
        found = client.get("/v1/selectors/a").json()
        assert (found["outcomes"], found["pending"], found["asks"]) == (15, 5, 20)
        assert client.post("/v1/selectors/a/tell", json=told[0]).json()["result"] == "unchanged"


def test_a_stop_under_load_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    given: list[int] = []
    told: list[int] = []
    strange: list[str] = []

    def work(server: Process) -> None:
        with server.client() as client, suppress(httpx.TransportError):
            while True:
                answer = client.post("/v1/selectors/a/ask")
                if answer.status_code != 200:
                    strange.append(f"{answer.status_code} {answer.text}")
                    return
                given.append(answer.json()["decision"])
                told_now = client.post("/v1/selectors/a/tell", json={"decision": given[-1], "success": True})
                if told_now.status_code != 200:
                    strange.append(f"{told_now.status_code} {told_now.text}")
                    return
                told.append(told_now.json()["decision"])

    with serving(tmp_path) as server:
        with server.client() as client:
            client.put("/v1/selectors/a", json=PLAN)
        threads = [threading.Thread(target=work, args=(server,)) for _ in range(8)]
        for thread in threads:
            thread.start()
        while len(told) < 200:
            time.sleep(0.01)
            assert not strange
        assert server.stop() == 0
        for thread in threads:
            thread.join(PATIENCE)
        assert server.events("failed") == []
    assert strange == []  # whatever was begun was finished, and then the line was closed
    with serving(tmp_path) as server, server.client() as client:
        found = client.get("/v1/selectors/a").json()
        assert found["outcomes"] >= len(told)
        assert found["asks"] >= len(given)
        for decision in told:
            answer = client.post("/v1/selectors/a/tell", json={"decision": decision, "success": True})
            assert answer.json()["result"] == "unchanged"


@pytest.mark.parametrize("how", [signal.SIGTERM, signal.SIGINT])
def test_streams_of_events_end_when_it_stops(tmp_path: Path, how: signal.Signals) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        client.put("/v1/selectors/a", json=PLAN)
        with client.stream("GET", "/v1/selectors/a/events") as stream:
            lines = stream.iter_lines()
            assert next(lines)
            server.process.send_signal(how)
            assert list(lines) is not None  # it has an end
        assert server.process.wait(PATIENCE) == 0


def test_who_asks_twice_does_not_wait_for_requests(tmp_path: Path) -> None:
    hour = ("--shutdown-timeout", "3600", "--body-timeout", "3600")
    with serving(tmp_path, *hour) as server:
        with server.client() as client:
            client.put("/v1/selectors/a", json=PLAN)
        head = b"POST /v1/selectors/a/ask HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
        with socket.create_connection(("127.0.0.1", server.port)) as line:
            line.sendall(head + b"content-length: 10\r\n\r\n{")
            server.process.send_signal(signal.SIGINT)
            server.wait("stopping")
            assert server.process.poll() is None
            assert server.stop(signal.SIGINT) == 0
        assert server.events("stopped")


def test_a_second_process_on_the_same_file_is_refused(tmp_path: Path) -> None:
    with serving(tmp_path) as server:
        assert server.address
        with serving(tmp_path) as second:
            code, said = second.ended()
            assert code == 2
            assert re.search(r"^suffice: suffice.db is in use by another server", said)
            assert said.count("\n") == 1
        with server.client() as client:
            assert client.get("/readyz").status_code == 200


def test_over_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    for _ in range(2):  # the second finds the socket of the first, which was killed
        with serving(tmp_path, "--uds", str(path)) as server:
            assert server.address == f"unix:{path}"
            assert path.stat().st_mode & 0o777 == 0o660
            with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://suffice") as client:
                assert client.put("/v1/selectors/a", json=PLAN).status_code in (200, 201)
                assert client.post("/v1/selectors/a/ask").status_code == 200
            with serving(tmp_path, "--uds", str(path), "--store", "memory:") as second:
                code, said = second.ended()
                assert (code, said.count("\n")) == (2, 1)
                assert "another server listens there" in said
    with serving(tmp_path, "--uds", str(path)) as server:
        assert server.address
        assert server.stop() == 0
        assert not path.exists()


# --- what cannot start says why, in one sentence


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        (
            ("--host", "0.0.0.0"),
            "keys are required on 0.0.0.0, and there are none yet: create one with `suffice keys create",
        ),
        (("--host", "::"), "keys are required on ::"),
        (("--keys", "required"), "keys are required by the setting keys"),
        (("--trusted-proxies", "127.0.0.1"), "keys are required behind a proxy"),
        (("--host", "0.0.0.0", "--store", "memory:"), "store must not be memory: where keys are required"),
        (("--host", "192.0.2.1", "--store", "keyed.db"), "cannot listen on port 0 of 192.0.2.1"),
        (("--host", "no.such.host.invalid", "--store", "keyed.db"), "host must be an address of this machine"),
        (("--workers", "2"), "workers must be 1 with the store"),
        (("--store", "mysql://a:secret@b"), "store must be memory:, sqlite:///FILE or postgresql://"),
        (("--store", "sqlite:///no/such/folder/x.db"), "no/such/folder/x.db cannot be made"),
        (("--store", "sqlite:///noise.db"), "noise.db could not be used"),
        (("--store", "postgresql://a:secret@127.0.0.1:1/x"), ""),
        (("--uds", "no/such/folder/s.sock"), "cannot listen on the unix socket"),
        (("--config", "none.toml"), "config must name a TOML file that can be read"),
        (("--config", "wrong.toml"), "prot is not a setting, did you mean port? (wrong.toml)"),
    ],
)
def test_what_cannot_start_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], flags: tuple[str, ...], said: str
) -> None:
    (tmp_path / "wrong.toml").write_text("prot = 1\n")
    (tmp_path / "noise.db").write_bytes(b"this is no database, whatever its name says" * 100)
    make_key(capsys, str(tmp_path / "keyed.db"), "use")
    with serving(tmp_path, *flags) as server:
        code, text = server.ended()
    assert code == 2, text
    assert text.startswith(f"suffice: {said}"), text
    assert text.count("\n") == 1
    assert "secret" not in text


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with serving(tmp_path, "--port", str(port), "--store", "memory:") as server:
            code, text = server.ended()
    assert code == 2
    assert text.startswith(f"suffice: port {port} of 127.0.0.1 is taken: stop what listens there")
    assert text.count("\n") == 1


# --- keys


def test_keys(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path / 'suffice.db'}"
    use, manage, read = (make_key(capsys, store, scope) for scope in ("use", "manage", "read"))
    with serving(tmp_path, "--host", "0.0.0.0", "--store", store) as server:
        assert server.wait("started")["keys"] == "required"
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE) as client:
            assert client.put("/v1/selectors/a", json=PLAN).status_code == 401
            assert client.put("/v1/selectors/a", json=PLAN, headers=bearer(read)).status_code == 403
            assert client.put("/v1/selectors/a", json=PLAN, headers=bearer(manage)).status_code == 201
            assert client.post("/v1/selectors/a/ask", headers=bearer(read)).status_code == 403
            assert client.post("/v1/selectors/a/ask", headers=bearer(use[:-3] + "abc")).status_code == 401
            decision = client.post("/v1/selectors/a/ask", headers=bearer(use)).json()["decision"]
            outcome = {"decision": decision, "success": True}
            assert client.post("/v1/selectors/a/tell", json=outcome, headers=bearer(use)).status_code == 200
            assert client.get("/v1/selectors/a", headers=bearer(use)).status_code == 403
            assert client.get("/v1/selectors/a", headers=bearer(read)).json()["outcomes"] == 1
            assert client.get("/metrics").status_code == 401
            assert client.get("/metrics", headers=bearer(read)).status_code == 200
            for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
                assert client.get(path).status_code == 200
            # Keys come and go while it runs.
            fresh = make_key(capsys, store, "use")
            assert client.post("/v1/selectors/a/ask", headers=bearer(fresh)).status_code == 200
            assert say_in_process(capsys, "keys", "revoke", use, "--store", store)[0] == 0
            time.sleep(2.1)
            answer = client.post("/v1/selectors/a/ask", headers=bearer(use))
            assert answer.status_code == 401
            assert "was revoked" in answer.json()["detail"]
            assert client.post("/v1/selectors/a/ask", headers=bearer(fresh)).status_code == 200
        assert server.stop() == 0
        text = server.log.read_text()
        for key in (use, manage, read, fresh):
            assert key[-43:] not in text
            assert key[8:16] in text  # its id


# --- clients that mean no good


def said_by(port: int, sent: bytes) -> tuple[bytes, socket.socket]:
    """What is answered until the line is closed, and by then it is."""
    line = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
    line.sendall(sent)
    answer = b""
    with suppress(ConnectionResetError):
        while part := line.recv(65536):
            answer += part
    return answer, line


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
                    except ConnectionResetError:  # our byte came after the end, and took the answer with it
                        del waiting[name], answers[name]
                        continue
                    answers[name] += part
                    if not part:
                        del waiting[name]
                elif name != "says nothing" and name != "only ends of lines":
                    with suppress(OSError):
                        line.sendall(b"x" if "header" in name or "line" in name else b"")  # byte by byte
        for line in lines.values():
            line.close()
        assert {"says nothing", "only ends of lines"} <= set(answers)
        for name, answer in answers.items():
            assert b"HTTP/1.1 408 Request Timeout\r\n" in answer, (name, answer)
            assert b'"status":' in answer
            assert b"must be here within 0.6 seconds" in answer
        assert client.get("/healthz").status_code == 200


def test_headers_that_have_no_end(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        for start in (b"GET /", b"GET /healthz HTTP/1.1\r\nhost: localhost\r\nx-long: ", b"GET /h HTTP/1.1\r\n"):
            many = b"x: y\r\n" * 20_000 if start.endswith(b"\r\n") else b"a" * 120_000
            with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
                answer = b""
                with suppress(ConnectionResetError, BrokenPipeError):
                    line.sendall(start + many)
                    while part := line.recv(65536):
                        answer += part
                assert answer == b"" or b" 431 " in answer or b" 400 " in answer
        assert client.get("/healthz").status_code == 200


def test_oversized_and_nested_bodies(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:", "--max-body", "200000") as server, server.client() as client:
        client.put("/v1/selectors/a", json=PLAN)
        kind = {"content-type": "application/json"}
        large = b'{"decision": 1, "success": ' + b" " * 3_000_000 + b"true}"
        for path, method in (
            ("/v1/selectors/a/tell", "POST"),
            ("/v1/selectors/b", "PUT"),
            ("/v1/selectors/a/ask", "POST"),
        ):
            for content in (large, iter([large[place : place + 50_000] for place in range(0, len(large), 50_000)])):
                answer = client.request(method, path, content=content, headers=kind)
                assert answer.status_code == 413
                assert answer.json()["detail"] == "the body must have at most 200,000 bytes"
            for deep in (b"[" * 100_000, b'{"a":' * 20_000, b'{"menu":' + b"[" * 50_000 + b"]" * 50_000 + b"}"):
                answer = client.request(method, path, content=deep, headers=kind)
                assert answer.status_code == 422, answer.text
                assert len(answer.content) < 5_000
        assert client.post("/v1/selectors/a/ask").status_code == 200
        assert server.events("failed") == []


def test_a_crowd_is_told_so_and_goes_by(tmp_path: Path) -> None:
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


def test_who_does_not_read_is_cut_off(tmp_path: Path) -> None:
    flags = ("--store", "memory:", "--max-connections", "1", "--send-timeout", "0.5")
    with serving(tmp_path, *flags) as server, socket.socket() as line:
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", server.port))
        line.sendall(b"GET /openapi.json HTTP/1.1\r\nhost: localhost\r\n\r\n" * 500)  # and none of it is read
        until = time.monotonic() + PATIENCE
        seen = set()
        while (status := httpx.get(f"{server.address}/readyz").status_code) != 200:
            assert status == 503
            seen.add(status)
            assert time.monotonic() < until
        assert seen == {503}


def test_what_is_not_http(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        for nonsense in (
            b"\x16\x03\x01\x02\x00\x01\x00",
            b"HELO there\r\n\r\n",
            b"GET / HTTP/9.9\r\n\r\n",
            b"\x00" * 1000,
        ):
            answer, line = said_by(server.port, nonsense)
            line.close()
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
        upgrade = b"GET /v1/selectors HTTP/1.1\r\nhost: localhost\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as line:
            line.sendall(upgrade)
            assert line.recv(65536).startswith(b"HTTP/1.1 ")
        assert client.get("/healthz").status_code == 200
        assert server.events("failed") == []


# --- settings and workers


def test_flags_before_environment_before_file(tmp_path: Path) -> None:
    (tmp_path / "suffice.toml").write_text('max_list = 3\nmax_body = 5000\nstore = "memory:"\naccess_log = false\n')
    with serving(tmp_path, "--max-body", "9000", SUFFICE_MAX_BODY="7000", SUFFICE_MAX_SELECTORS="1") as server:
        with server.client() as client:
            assert server.wait("started")["store"] == "memory:"
            assert client.put("/v1/selectors/a", json=PLAN).status_code == 201
            assert client.put("/v1/selectors/b", json=PLAN).status_code == 429
            assert client.post("/v1/selectors/a/ask", json={"count": 3}).status_code == 200
            assert client.post("/v1/selectors/a/ask", json={"count": 4}).status_code == 422
            detail = client.put("/v1/selectors/c", json={"x": "y" * 9000}).json()["detail"]
            assert detail == "the body must have at most 9,000 bytes"
        assert server.events("request") == []


def test_several_processes_on_one_postgres(tmp_path: Path, postgres: Postgres) -> None:
    flags = ("--store", postgres.database(), "--workers", "2")
    with serving(tmp_path, *flags) as server:
        assert server.address
        family = children(server.process.pid)
        assert len(family) >= 2
        with server.client() as client:
            assert client.put("/v1/selectors/a", json=PLAN).status_code == 201
        ids = [one for _ in range(20) for one in ask_anew(server.address)]
        assert len(set(ids)) == 20
        # One that dies is replaced, and nothing that it had acknowledged is gone.
        started = len(server.events("started"))
        os.kill(family[-1], signal.SIGKILL)
        server.wait("a process died")
        until = time.monotonic() + PATIENCE
        while len(set(children(server.process.pid)) - set(family)) < 1:
            assert time.monotonic() < until
            time.sleep(0.05)
        ids += [one for _ in range(20) for one in ask_anew(server.address)]
        assert len(set(ids)) == 40
        assert len(server.events("started")) == started == 1
        with server.client() as client:
            assert client.get("/v1/selectors/a").json()["asks"] == 40
        family = children(server.process.pid)
        assert server.stop() == 0
        until = time.monotonic() + PATIENCE
        while any(Path(f"/proc/{child}").exists() for child in family):
            assert time.monotonic() < until
            time.sleep(0.05)


def ask_anew(address: str) -> list[int]:
    """A decision, asked over a connection of its own."""
    for _ in range(100):
        with suppress(httpx.TransportError):  # the one that was killed may have had it
            return [httpx.post(f"{address}/v1/selectors/a/ask", timeout=PATIENCE).json()["decision"]]
    raise AssertionError("nobody answers")


def children(parent: int) -> list[int]:
    """The server processes below one, by age."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and b"resource_tracker" not in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def test_workers_that_cannot_start_say_why_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "postgresql://a:secret@127.0.0.1:1/x", "--workers", "2") as server:
        code, text = server.ended()
    assert code == 2, text
    assert text.startswith("suffice: ")
    assert text.count("\n") == 1
    assert "secret" not in text


def test_the_factory_for_other_servers(tmp_path: Path) -> None:
    env, path = {**BARE, "SUFFICE_NO_COMPILE": "1", "SUFFICE_STORE": "memory:"}, tmp_path / "u.sock"
    flags = ["--factory", "suffice.service.http.server:app", "--uds", str(path)]
    with subprocess.Popen([sys.executable, "-m", "uvicorn", *flags], env=env, cwd=tmp_path) as process:
        try:
            until = time.monotonic() + PATIENCE
            with socket.socket(socket.AF_UNIX) as probe:
                while probe.connect_ex(str(path)):
                    assert time.monotonic() < until
                    time.sleep(0.05)
            with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://suffice") as client:
                assert client.get("/readyz").status_code == 200
                assert client.put("/v1/selectors/a", json=PLAN).status_code == 201
        finally:
            process.terminate()


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_reach_processes_while_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """It reaches all processes of a terminal; the one that started them hears it, and tells them."""

    def start(_: Any) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        assert signal.SIGINT in signal.sigpending()

    code = (
        "import multiprocessing, time, pathlib\n"
        "from suffice.service.http.workers import uninterrupted\n"
        "child = multiprocessing.get_context('spawn').Process(target=time.sleep, args=(60,), daemon=True)\n"
        "with uninterrupted(): child.start()\n"
        "said = pathlib.Path(f'/proc/{child.pid}/status').read_text().split('SigBlk:')[1].split()[0]\n"
        "print(int(said, 16) >> 1 & 1); child.kill()"
    )
    if sys.platform == "linux":  # the first that a process starts, too
        assert subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout == b"1\n"
    monkeypatch.setattr("multiprocessing.process.BaseProcess.start", start)
    with socket.socket() as sock, pytest.raises(KeyboardInterrupt):
        workers._start(multiprocessing.get_context("spawn"), Settings(), sock)
