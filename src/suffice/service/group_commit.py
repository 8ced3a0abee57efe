"""Group commit: all requests that arrive during one transaction form the next one."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import Final

from suffice.service.batch import Batch, QueuedAsk, QueuedTell
from suffice.service.errors import Overloaded, ServiceError, StoreDown
from suffice.service.records import Limits
from suffice.service.stores.base import Store

log = logging.getLogger("suffice.service")

LARGEST: Final = 4096  # decisions of one transaction, unless a single request has more
MOST_SELECTORS: Final = 256  # selectors of one transaction


class GroupCommitter:
    """Queues requests and executes them in the store, batch by batch."""

    def __init__(
        self, store: Store, limits: Limits, clock: Callable[[], float], after: Callable[[Batch], None]
    ) -> None:
        self._store, self._limits, self._clock, self._after = store, limits, clock, after
        self._queue: deque[QueuedAsk | QueuedTell] = deque()
        self._task: asyncio.Task[None] | None = None

    def put(self, request: QueuedAsk | QueuedTell) -> None:
        """Queue a request; its future has the result once the transaction is durable."""
        if len(self._queue) >= self._limits.queue:
            raise Overloaded(f"{len(self._queue):,} requests are waiting, and the queue is full; try again shortly")
        self._queue.append(request)
        if self._task is None or self._task.done():
            self._task = asyncio.get_running_loop().create_task(self._run())

    async def drain(self) -> None:
        """Wait until the queue is empty and its last batch is finished."""
        while self._task is not None and not self._task.done():
            await asyncio.wait([self._task])

    async def _run(self) -> None:
        while self._queue:
            batch = Batch(self._take(), self._clock(), self._limits.outstanding)
            try:
                await self._store.transact(batch)
            except ServiceError as error:
                batch.fail(error)
            except asyncio.CancelledError:
                batch.fail(StoreDown("the server stops; try again shortly"))
                raise
            except Exception:
                log.exception("a transaction failed; nothing of it was acknowledged")
                batch.fail(StoreDown("the store failed, so nothing was changed; try again shortly"))
            else:
                await self._finish(batch)

    async def _finish(self, batch: Batch) -> None:
        try:
            await batch.finish()
            self._after(batch)
        except Exception:  # the transaction is durable; only answering or learning failed
            log.exception("a transaction was written, but what follows failed")
            batch.fail(StoreDown("it was written, but answering failed; ask for it again with the same key"))

    def _take(self) -> list[QueuedAsk | QueuedTell]:
        taken: list[QueuedAsk | QueuedTell] = []
        size = 0
        selectors: set[int] = set()
        while self._queue and (not taken or size + self._queue[0].size <= LARGEST) and len(selectors) < MOST_SELECTORS:
            request = self._queue.popleft()
            size += request.size
            selectors.add(request.replica.number)
            taken.append(request)
        return taken
