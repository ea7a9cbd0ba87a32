"""Writes whose outcome is awaited."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


async def settled(write: Coroutine[Any, Any, T]) -> T:
    """Await a write to its end. A caller that is cancelled is told so when the outcome is certain, so
    that what it reads next is not changed by a write on its way.
    """
    task = asyncio.create_task(write)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait((task,))
        except asyncio.CancelledError as e:
            cancelled = cancelled or e
    if cancelled is None:
        return task.result()
    if not task.cancelled():
        task.exception()  # it is not asked for any more
    raise cancelled
