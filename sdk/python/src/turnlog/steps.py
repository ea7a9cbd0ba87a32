"""What reads and writes need of the cluster, written once for threads and for asyncio.

Such code is a generator: it yields the operations that it needs, gets their results, and returns
what it made of them. One that finds many things yields each as ``Found``.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Generator, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar, Union, cast

from .aio.client import AsyncClient
from .client import Client
from .operation import Operation

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Found(Generic[T]):
    """One of the things that are looked for."""

    value: T


Asked = Sequence[Operation[Any]]  # independent of one another
Steps = Generator[Asked, list[Any], T]
Search = Generator[Union[Asked, Found[T]], Any, None]


def one(operation: Operation[T]) -> Steps[T]:
    """Carry out one operation."""
    (result,) = yield (operation,)
    return cast("T", result)


def run(client: Client, steps: Steps[T]) -> T:
    """Carry out steps in this thread."""
    timeout = client.config.timeout
    try:
        asked = next(steps)
        while True:
            try:
                results = [client.run(operation, timeout) for operation in asked]
            except Exception as e:
                asked = steps.throw(e)
            else:
                asked = steps.send(results)
    except StopIteration as end:
        return cast("T", end.value)


async def arun(client: AsyncClient, steps: Steps[T]) -> T:
    """Carry out steps in this event loop."""
    try:
        asked = next(steps)
        while True:
            try:
                results = await _together(client, asked)
            except Exception as e:
                asked = steps.throw(e)
            else:
                asked = steps.send(results)
    except StopIteration as end:
        return cast("T", end.value)


def search(client: Client, steps: Search[T]) -> Iterator[T]:
    """Yield what a search finds."""
    timeout, results = client.config.timeout, None
    while True:
        try:
            item = steps.send(results)
        except StopIteration:
            return
        if isinstance(item, Found):
            results = None
            yield item.value
        else:
            results = [client.run(operation, timeout) for operation in item]


async def asearch(client: AsyncClient, steps: Search[T]) -> AsyncIterator[T]:
    """Yield what a search finds, in this event loop."""
    results = None
    while True:
        try:
            item = steps.send(results)
        except StopIteration:
            return
        if isinstance(item, Found):
            results = None
            yield item.value
        else:
            results = await _together(client, item)


async def _together(client: AsyncClient, asked: Asked) -> list[Any]:
    timeout = client.config.timeout
    if len(asked) == 1:
        return [await client.run(asked[0], timeout)]
    return await asyncio.gather(*(client.run(operation, timeout) for operation in asked))
