"""Waiting for mail with the SDK, whatever its strategy."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from vaultsandbox import Email, Inbox

# Far above what the server needs, far below what a reader of a hung build endures.
WAIT_S = 20


class Arrivals:
    """Emails of an inbox as the SDK announces them."""

    def __init__(self) -> None:
        self._queue: asyncio.Queue[Email] = asyncio.Queue()

    def heard(self, email: Email) -> None:
        self._queue.put_nowait(email)

    async def next(self) -> Email:
        return await asyncio.wait_for(self._queue.get(), WAIT_S)


@asynccontextmanager
async def watching(inbox: Inbox) -> AsyncIterator[Arrivals]:
    """Subscribes before the block and unsubscribes after it."""
    arrivals = Arrivals()
    subscription = await inbox.on_new_email(arrivals.heard)
    try:
        yield arrivals
    finally:
        await inbox.unsubscribe(subscription)
