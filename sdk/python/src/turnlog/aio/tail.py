"""Follows a session, in asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from .. import failure
from ..clientbase import decoded
from ..errors import TurnlogError
from ..message import Message
from ..operation import Operation
from ..tailposition import BLOCK, TailPosition
from .connection import AsyncConnection
from .node import AsyncNode

if TYPE_CHECKING:
    from .client import AsyncClient


async def tail(client: AsyncClient, key: bytes, after: int) -> AsyncIterator[Message]:
    """Yield messages over as many connections as it takes."""
    position = TailPosition(key, after, client.config)
    stall = BLOCK + client.config.stall_timeout
    while True:
        try:
            router, node, connection = await client.dial()
        except TurnlogError as e:
            await asyncio.sleep(position.failed(e))
            continue
        position.begin()
        try:
            while True:
                client.router(asyncio.get_running_loop())  # raises what says that the client is closed, if it is
                found = await _round(node, connection, position.requests(), stall)
                router.worked(node)
                for message in position.take(found):
                    position.passed(message)
                    yield message
        except TurnlogError as e:
            router.failed(node)
            wait = position.failed(e)
        finally:
            connection.abort()
        await asyncio.sleep(wait)


async def _round(node: AsyncNode, connection: AsyncConnection, operations: list[Operation[Any]], stall: float) -> Any:
    """Send requests together and return what the last one, a read, found."""
    reply: Any = None
    connection.watch.start(connection.cut, connection.unsent, None, stall)
    try:
        for operation in operations:
            await connection.send_command(*operation.request)
        for _ in operations:
            reply = await connection.read_response(disable_decoding=True)
    except (RedisError, OSError) as e:
        raise failure.reply_error(e) or failure.lost(operations[-1], node.address, e, timed_out=False) from e
    finally:
        connection.watch.stop()
    return decoded(operations[-1], reply)
