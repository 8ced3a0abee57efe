"""`suffice serve` as a process over real HTTP: start, refusals, stop, keys, worker processes."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest

from suffice.service.http import logs, workers
from suffice.service.http.settings import Settings
from tests.support.command import say_in_process
from tests.support.postgres import Postgres
from tests.support.process import PATIENCE, PLAN, Process, serving


def make_key(capsys: pytest.CaptureFixture[str], store: str, *scopes: str) -> str:
    flags = [token for scope in scopes for token in ("--scope", scope)]
    code, out, err = say_in_process(capsys, "keys", "create", "test", *flags, "--store", store)
    assert code == 0, err
    return out.strip()


def bearer(key: str) -> dict[str, str]:
    return {"authorization": f"Bearer {key}"}


# --- start and stop


def test_streams_of_events_end_when_it_stops(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "memory:") as server, server.client() as client:
        client.put("/v1/selectors/a", json=PLAN)
        with client.stream("GET", "/v1/selectors/a/events") as stream:
            lines = stream.iter_lines()
            assert next(lines)
            server.process.send_signal(signal.SIGTERM)
            list(lines)  # the stream ends
        assert server.process.wait(PATIENCE) == 0


def test_a_second_interrupt_does_not_wait_for_requests(tmp_path: Path) -> None:
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
            check_refusal(second, f"suffice.db is in use by another server (process {server.process.pid})")
        with server.client() as client:
            assert client.get("/readyz").status_code == 200


def test_over_a_unix_socket(tmp_path: Path) -> None:
    path = tmp_path / "s.sock"
    with serving(tmp_path, "--uds", str(path)) as server:
        assert server.address == f"unix:{path}"
        assert path.stat().st_mode & 0o777 == 0o660
    assert path.exists()  # of the server that was killed
    with serving(tmp_path, "--uds", str(path)) as server:
        assert server.address
        with httpx.Client(transport=httpx.HTTPTransport(uds=str(path)), base_url="http://suffice") as client:
            assert client.put("/v1/selectors/a", json=PLAN).status_code == 201
            assert client.post("/v1/selectors/a/ask").status_code == 200
        with serving(tmp_path, "--uds", str(path), "--store", "memory:") as second:
            check_refusal(second, "")
            assert "another server listens there" in second.log.read_text()
        assert server.stop() == 0
        assert not path.exists()


# --- a server that cannot start says why, in one sentence


@pytest.mark.parametrize(
    ("flags", "message"),
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
        (("--uds", "no/such/folder/s.sock"), "cannot listen on the unix socket"),
    ],
)
def test_bad_settings_are_refused(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    flags: tuple[str, ...],
    message: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("SUFFICE_PORT", "0")
    monkeypatch.setattr(logs, "setup", lambda *_: None)  # it would stay for later tests
    make_key(capsys, "keyed.db", "use")
    code, _, text = say_in_process(capsys, "serve", *flags)
    assert code == 2
    assert text.startswith(f"suffice: {message}"), text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    ("store", "message"),
    [
        ("sqlite:///noise.db", "noise.db could not be used"),
        ("postgresql://a:secret@127.0.0.1:1/x", ""),
    ],
)
def test_a_store_that_cannot_be_opened_is_refused(tmp_path: Path, store: str, message: str) -> None:
    (tmp_path / "noise.db").write_bytes(b"this is not a database, in spite of its name" * 100)
    with serving(tmp_path, "--store", store) as server:
        check_refusal(server, message)


def check_refusal(server: Process, message: str) -> None:
    code, text = server.ended()
    assert code == 2, text
    assert text.startswith(f"suffice: {message}"), text
    assert text.count("\n") == 1
    assert "secret" not in text


def test_a_port_that_is_taken(tmp_path: Path) -> None:
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        with serving(tmp_path, "--port", str(port), "--store", "memory:") as server:
            check_refusal(server, f"port {port} of 127.0.0.1 is taken: stop what listens there")


# --- keys


def test_keys_are_added_and_revoked_while_it_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    store = f"sqlite:///{tmp_path / 'suffice.db'}"
    use, manage = (make_key(capsys, store, scope) for scope in ("use", "manage"))
    with serving(tmp_path, "--host", "0.0.0.0", "--store", store) as server:
        assert server.wait("started")["keys"] == "required"
        with httpx.Client(base_url=f"http://127.0.0.1:{server.port}", timeout=PATIENCE) as client:
            assert client.put("/v1/selectors/a", json=PLAN).status_code == 401
            assert client.put("/v1/selectors/a", json=PLAN, headers=bearer(use)).status_code == 403
            assert client.put("/v1/selectors/a", json=PLAN, headers=bearer(manage)).status_code == 201
            assert client.post("/v1/selectors/a/ask", headers=bearer(use)).status_code == 200
            for path in ("/healthz", "/readyz", "/docs", "/openapi.json"):
                assert client.get(path).status_code == 200
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
        for key in (use, manage, fresh):
            assert key[-43:] not in text
            assert key[8:16] in text  # its id


# --- workers


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
        # A process that dies is replaced, and what it acknowledged is in the store.
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
    """A decision, asked for over a new connection."""
    for _ in range(100):
        with suppress(httpx.TransportError):  # the process that was killed may have had the connection
            return [httpx.post(f"{address}/v1/selectors/a/ask", timeout=PATIENCE).json()["decision"]]
    raise AssertionError("no process answers")


def children(parent: int) -> list[int]:
    """The child processes of a server, oldest first."""
    found = []
    for entry in Path("/proc").iterdir():
        with suppress(OSError, ValueError, IndexError):
            fields = (entry / "stat").read_text().rpartition(")")[2].split()
            if int(fields[1]) == parent and b"resource_tracker" not in (entry / "cmdline").read_bytes():
                found.append(int(entry.name))
    return sorted(found)


def test_workers_that_cannot_start_say_so_once(tmp_path: Path) -> None:
    with serving(tmp_path, "--store", "postgresql://a:secret@127.0.0.1:1/x", "--workers", "2") as server:
        check_refusal(server, "")


@pytest.mark.usefixtures("ctrl_c")
def test_ctrl_c_does_not_reach_processes_while_they_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """A terminal sends it to all processes; the parent handles it and stops its children."""

    def start(_: Any) -> None:
        # To this thread: one that is sent to the process would be taken by any thread that does not block it.
        signal.pthread_kill(threading.get_ident(), signal.SIGINT)
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
