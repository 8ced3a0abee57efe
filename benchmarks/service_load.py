"""Clients in a process of their own, so that they take no time from the server's: `python -m benchmarks.service_load`.

Each line of its input is a job, each line of its output what came of it, both JSON. A client sends its next request as soon as
the last one is answered, on a connection that stays open, with no more HTTP than it takes.
"""

import asyncio
import itertools
import json
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from typing import Any, Final

PUT: Final = "PUT"
POST: Final = "POST"


@dataclass(frozen=True, slots=True)
class Job:
    """What clients do: `what` is ask, tell, pair (ask, then tell) or put, for `seconds` or until there is nothing left.

    `size` is the length of lists, 0 for single calls; `names` are the selectors, taken in turn; `most` limits decisions.
    `stock`: keep the ids that were asked, for a later job that tells them. `plan` is the body of put.
    """

    port: int
    what: str
    names: tuple[str, ...] = ("router",)
    size: int = 0
    clients: int = 32
    seconds: float = 1.0
    most: int = 1 << 60
    stock: bool = False
    plan: Any = None


@dataclass(slots=True)
class Done:
    """What came of it; times in seconds."""

    requests: int = 0
    decisions: int = 0
    wrong: int = 0  # answers other than 200 and 201
    example: str = ""  # of those
    elapsed: float = 0.0
    half: float = 0.0  # half of all requests were answered within this time
    most: float = 0.0  # and 99% within this
    times: list[float] = field(default_factory=list)


def request(method: str, path: str, body: Any) -> bytes:
    """A request as it is sent."""
    text = json.dumps(body, separators=(",", ":")).encode()
    head = (
        f"{method} {path} HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {len(text)}"
    )
    return head.encode() + b"\r\n\r\n" + text


Step = Callable[[bytes], bytes | None]  # from the answer before to the next request; None at the end


class Work:
    """A job under way."""

    def __init__(self, job: Job, stock: list[str]) -> None:
        self.job, self.stock, self.done = job, stock, Done()
        self.taken = 0
        self._names = itertools.cycle(job.names)
        self._asks = {
            name: request(POST, f"/v1/selectors/{name}/ask", {"count": job.size} if job.size else {})
            for name in (job.names if job.what != "put" else ())
        }
        self._luck = itertools.cycle([True, True, True, False, True, True, True, True, True, True])

    def client(self) -> Step:
        """What one client does."""
        return {"ask": self._ask, "tell": self._tell, "pair": self._pair(), "put": self._put}[self.job.what]

    def _next(self) -> str | None:
        if self.taken >= self.job.most:
            return None
        self.taken += self.job.size or 1
        return next(self._names)

    def _ask(self, _: bytes) -> bytes | None:
        name = self._next()
        return None if name is None else self._asks[name]

    def _tell(self, _: bytes) -> bytes | None:
        size = self.job.size
        if len(self.stock) < max(1, size):
            return None
        ids = [self.stock.pop() for _ in range(size or 1)]
        return self._outcomes(self.job.names[0], ids)

    def _pair(self) -> Step:
        asked: str | None = None

        def step(answer: bytes) -> bytes | None:
            nonlocal asked
            if asked is not None:
                name, asked = asked, None
                return self._outcomes(name, identities(answer))
            asked = self._next()
            return None if asked is None else self._asks[asked]

        return step

    def _put(self, _: bytes) -> bytes | None:
        if self.taken >= len(self.job.names):
            return None
        self.taken += 1
        return request(PUT, f"/v1/selectors/{next(self._names)}", self.job.plan)

    def _outcomes(self, name: str, ids: list[str]) -> bytes:
        some = [{"decision": one, "success": next(self._luck)} for one in ids]
        return request(POST, f"/v1/selectors/{name}/tell", some if self.job.size else some[0])

    def note(self, answer: bytes, status: bytes, seconds: float) -> None:
        """Take in an answer."""
        done = self.done
        done.requests += 1
        done.times.append(seconds)
        if status not in (b"200", b"201"):
            done.wrong += 1
            done.example = answer.decode(errors="replace")[:300]
        elif self.job.stock:
            self.stock += identities(answer)


def identities(answer: bytes) -> list[str]:
    """The decisions in an answer."""
    found = json.loads(answer)
    return [one["decision"] for one in found.get("decisions", (found,))]


class Client(asyncio.Protocol):
    """One connection, one request at a time."""

    def __init__(self, work: Work, step: Step) -> None:
        self._work, self._step = work, step
        self._transport: Any = None
        self._buffer = b""
        self._sent = self.until = 0.0
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = transport

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.over.done():
            self.over.set_exception(exc or ConnectionError("the server hung up"))

    def begin(self, until: float) -> None:
        """Send the first request; go on until then."""
        self.until = until
        self._send(b"", time.perf_counter())

    def _send(self, answer: bytes, now: float) -> None:
        following = self._step(answer) if now < self.until else None
        if following is None:
            self.over.set_result(None)
            self._transport.close()
            return
        self._sent = now
        self._transport.write(following)

    def data_received(self, data: bytes) -> None:
        buffer = self._buffer = self._buffer + data
        head = buffer.find(b"\r\n\r\n")
        if head < 0:
            return
        place = buffer.find(b"content-length: ", 0, head) + 16
        length = int(buffer[place : buffer.find(b"\r", place)])
        if len(buffer) < head + 4 + length:
            return
        now = time.perf_counter()
        answer, self._buffer = buffer[head + 4 : head + 4 + length], b""
        self._work.note(answer, buffer[9:12], now - self._sent)
        self._send(answer, now)


async def carry_out(job: Job, stock: list[str]) -> Done:
    """Do a job: connect first, then all begin at once."""
    loop, work = asyncio.get_running_loop(), Work(job, stock)
    clients = []
    for _ in range(job.clients):
        step = work.client()
        clients.append((await loop.create_connection(lambda step=step: Client(work, step), "127.0.0.1", job.port))[1])  # type: ignore[misc]
    start = time.perf_counter()
    for client in clients:
        client.begin(start + job.seconds)
    await asyncio.gather(*(client.over for client in clients))
    done = work.done
    done.elapsed = time.perf_counter() - start
    done.decisions = (done.requests // 2 if job.what == "pair" else done.requests) * (job.size or 1)
    times = sorted(done.times)
    if times:
        done.half, done.most = times[len(times) // 2], times[len(times) * 99 // 100]
    done.times = []
    return done


async def main() -> None:
    """Do jobs until there are no more."""
    stock: list[str] = []
    loop = asyncio.get_running_loop()
    while line := await loop.run_in_executor(None, sys.stdin.readline):
        done = await carry_out(Job(**json.loads(line)), stock)
        print(json.dumps(asdict(done)), flush=True)


if __name__ == "__main__":
    import uvloop

    uvloop.run(main())
