"""What a client is refused."""

from collections.abc import Awaitable

from harness.step import CheckFailed


async def refused(error: type[Exception] | tuple[type[Exception], ...], call: Awaitable[object]) -> Exception:
    """The error of the wanted kind that the call raises."""
    try:
        await call
    except error as raised:
        return raised
    raise CheckFailed(f"nothing was refused with {error}")
