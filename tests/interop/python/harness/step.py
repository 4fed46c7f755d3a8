"""One line a step, and an exit code that tells."""

import asyncio
import logging
import sys
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager

from harness.server import Server

# A step that takes longer hangs: nothing here waits on purpose.
DEADLINE_S = 120
# What is asked for until it is so comes within milliseconds.
SETTLE_S = 10


class CheckFailed(Exception):
    """The server did something else than what the SDK's user would expect."""


def check(what: str, found: object, expected: object) -> None:
    """Compares, and says what differs."""
    if found != expected:
        raise CheckFailed(f"{what}: expected {expected!r}, found {found!r}")


async def eventually(what: str, found: Callable[[], Awaitable[object]], expected: object) -> None:
    """Asks again until the answer is what is expected; what follows an answer of ours comes a moment after it."""
    end = time.monotonic() + SETTLE_S
    answer = await found()
    while answer != expected and time.monotonic() < end:
        await asyncio.sleep(0.01)
        answer = await found()
    check(what, answer, expected)


@contextmanager
def step(name: str) -> Iterator[None]:
    """Prints the name with the outcome and the time."""
    start = time.monotonic()
    try:
        yield
    except BaseException as error:
        print(f"FAILED  {name}: {type(error).__name__}: {error}", flush=True)
        raise
    print(f"ok      {name} ({(time.monotonic() - start) * 1000:.0f} ms)", flush=True)


def run(walk: Callable[[Server], Awaitable[None]]) -> None:
    """Runs a walk against the server of the environment; any failure is the exit code 1."""

    async def within_deadline() -> None:
        await asyncio.wait_for(walk(Server.from_environment()), DEADLINE_S)

    # The SDK swallows what goes wrong while it handles an event; its debug log says what that was.
    logging.basicConfig()
    logging.getLogger("vaultsandbox").setLevel(logging.DEBUG)
    try:
        asyncio.run(within_deadline())
    except CheckFailed:
        sys.exit(1)
