"""The client for asyncio."""

from __future__ import annotations

import asyncio
import os
import weakref
from collections.abc import AsyncIterator, Mapping
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError

from .. import failure, requests, tracing
from ..attempts import Attempts
from ..clientbase import ClientBase, decoded
from ..errors import TurnlogError
from ..forking import reset_in_child
from ..node import closed_error
from ..operation import Operation, T
from ..requests import Key
from ..result import SessionInfo, SessionPage
from ..router import Router
from .connection import AsyncConnection
from .hash import AsyncHash
from .node import AsyncNode
from .session import AsyncSession
from .transaction import AsyncTransaction

AsyncRouter = Router[AsyncNode]


class AsyncClient(ClientBase):
    """Talks to a cluster, within one namespace, in asyncio.

    Any number of tasks may share it, and event loops in several threads or one after another:
    each has connections of its own. Calls raise TurnlogError, whose ``outcome`` says whether a
    write took place. A cancelled write may have taken place.
    """

    def _start(self) -> None:
        self._closed = False
        self.reset_after_fork()
        reset_in_child(self)

    def reset_after_fork(self) -> None:
        """Begin without connections; no loop of the parent runs here."""
        self._routers: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, AsyncRouter] = weakref.WeakKeyDictionary()
        self._pid = os.getpid()

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(
        self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None
    ) -> None:
        await self.aclose()

    async def aclose(self) -> None:
        """Close the connections of this event loop.

        In every loop, later calls fail, and tails end within five seconds.
        """
        self._closed = True
        router = self._routers.pop(asyncio.get_running_loop(), None)
        for node in router.nodes if router else ():
            await node.close()

    def session(self, key: Key) -> AsyncSession:
        """Return a handle on the session of that key, 1 to 512 bytes; this sends nothing."""
        return AsyncSession(self, key, self.config.timeout)

    def hash(self, key: Key) -> AsyncHash:
        """Return a handle on the hash of that key, which no session has; this sends nothing."""
        return AsyncHash(self, key, self.config.timeout)

    def transaction(self, id: str = "") -> AsyncTransaction:  # noqa: A002
        """Return an empty transaction, of a random id if none is given; this sends nothing."""
        return AsyncTransaction(self, id, self.config.timeout)

    async def sessions(
        self, prefix: Key = "", *, labels: Mapping[str, str] | None = None
    ) -> AsyncIterator[SessionInfo]:
        """Yield the sessions whose keys begin with prefix, in the order of their keys.

        With labels, yield those that carry all of them, the one that changed last first: their metadata
        has a key ``label.NAME`` for each. Sessions that come, go or change meanwhile may be missed or seen.
        """
        cursor = ""
        while True:
            page = await self.sessions_page(prefix, cursor, labels=labels)
            for found in page.sessions:
                yield found
            cursor = page.cursor
            if not cursor:
                return

    async def sessions_page(
        self, prefix: Key = "", cursor: str = "", limit: int = 1000, *, labels: Mapping[str, str] | None = None
    ) -> SessionPage:
        """Return up to limit sessions after cursor, and the cursor of the next page.

        By labels, a page is of one moment, and can be short, or empty, before the last one.
        """
        return await self.run(requests.list_sessions(prefix, cursor, limit, labels), self.config.timeout)

    async def erase(self, prefix: Key) -> int:
        """Delete every session whose key begins with prefix; return how many there were.

        It is not atomic: a session created meanwhile may stay.
        """
        return await self.run(requests.erase(prefix), self.config.timeout)

    async def erase_all(self) -> int:
        """Delete every session of the namespace; return how many there were."""
        return await self.run(requests.erase_all(), self.config.timeout)

    async def cluster(self) -> dict[str, Any]:
        """Return the cluster as the node that answers sees it, with the fields of ``GET /v1/cluster``."""
        return await self.run(requests.cluster(), self.config.timeout)

    async def run(self, operation: Operation[T], timeout: float | None) -> T:
        """Carry out an operation: send it until it is answered for good."""
        if self.config.tracer is None:
            return decoded(operation, await self._run(operation, timeout, None, tracing.parent(self.config)))
        with tracing.span(self.config, operation) as span:
            trace = span.traceparent or tracing.parent(self.config)
            return decoded(operation, await self._run(operation, timeout, span, trace))

    async def _run(
        self, operation: Operation[Any], timeout: float | None, span: tracing.Span | None, traceparent: str | None
    ) -> Any:
        loop = asyncio.get_running_loop()
        router = self.router(loop)
        start = loop.time()
        deadline = None if timeout is None else start + timeout
        attempts: Attempts | None = None
        while True:
            node = router.pick()
            try:
                reply = await self._attempt(loop, node, operation, deadline, traceparent)
            except TurnlogError as e:
                if failure.of_node(e):
                    router.failed(node)
                attempts = attempts or Attempts(operation, self.config, start, deadline, loop.time)
                wait = attempts.failed(e)
            else:
                router.worked(node)
                if span is not None:
                    span.answered(node.address, attempts.made if attempts else 1)
                return reply
            await asyncio.sleep(wait)

    async def _attempt(
        self,
        loop: asyncio.AbstractEventLoop,
        node: AsyncNode,
        operation: Operation[Any],
        deadline: float | None,
        traceparent: str | None,
    ) -> Any:
        connection = await node.take(deadline)
        if deadline is not None and loop.time() >= deadline:
            node.give_back(connection)
            raise failure.too_late()
        stall = operation.stall(self.config.stall_timeout)
        try:
            reply = await connection.exchange(operation.request, traceparent, deadline, stall)
        except (RedisError, OSError, AssertionError, UnicodeEncodeError) as e:
            error = failure.unsendable(operation, e) or failure.reply_error(e)
            if error is not None and connection.is_open():
                node.give_back(connection)
            else:
                node.drop(connection)
            late = deadline is not None and loop.time() >= deadline
            raise error or failure.lost(operation, node.address, e, timed_out=late) from e
        except BaseException:  # cancelled: the reply is still on its way
            node.drop(connection)
            raise
        node.give_back(connection)
        return reply

    def router(self, loop: asyncio.AbstractEventLoop) -> AsyncRouter:
        """Return the nodes as the loop is connected to them."""
        if self._closed:
            raise closed_error()
        router = self._routers.get(loop)
        if router is None:
            router = Router([AsyncNode(a, self.config, loop) for a in self.config.addresses], loop.time)
            self._routers[loop] = router
        return router

    async def dial(self) -> tuple[AsyncRouter, AsyncNode, AsyncConnection]:
        """Open a connection that no other call shares, for what takes its time."""
        router = self.router(asyncio.get_running_loop())
        node = router.pick()
        try:
            return router, node, await node.dial(None)
        except TurnlogError as e:
            if failure.of_node(e):
                router.failed(node)
            raise
