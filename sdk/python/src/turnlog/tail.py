"""Follows a session, for threads."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from redis.exceptions import RedisError

from . import failure
from .clientbase import decoded
from .connection import Connection
from .errors import TurnlogError
from .message import Message
from .node import Node, closed_error
from .operation import Operation
from .tailposition import BLOCK, TailPosition

if TYPE_CHECKING:
    from .client import Client


def tail(client: Client, key: bytes, after: int) -> Iterator[Message]:
    """Yield messages over as many connections as it takes."""
    position = TailPosition(key, after, client.config)
    while True:
        try:
            node, connection = client.dial(None)
        except TurnlogError as e:
            time.sleep(position.failed(e))
            continue
        try:
            yield from _follow(client, node, connection, position)
        except TurnlogError as e:
            client.failed(node)
            wait = position.failed(e)
        finally:
            connection.disconnect()
        time.sleep(wait)


def _follow(client: Client, node: Node, connection: Connection, position: TailPosition) -> Iterator[Message]:
    connection.waits.stall = BLOCK + client.config.stall_timeout
    position.begin()
    while not node.closed:
        found = _round(node, connection, position.requests())
        client.worked(node)
        for message in position.take(found):
            position.passed(message)
            yield message
    raise closed_error()


def _round(node: Node, connection: Connection, operations: list[Operation[Any]]) -> Any:
    """Send requests together and return what the last one, a read, found."""
    reply: Any = None
    try:
        for operation in operations:
            connection.send_command(*operation.request)
        for _ in operations:
            reply = connection.read_response(disable_decoding=True)
    except (RedisError, OSError) as e:
        raise failure.reply_error(e) or failure.lost(operations[-1], node.address, e, timed_out=False) from e
    return decoded(operations[-1], reply)
