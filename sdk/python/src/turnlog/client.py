"""The client for threads, gevent and forking servers."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import Any

from redis.exceptions import RedisError

from . import failure, requests, tracing
from .aio.client import AsyncClient
from .attempts import Attempts
from .clientbase import ClientBase, deadline_of, decoded, passed
from .connection import Connection
from .errors import TurnlogError
from .forking import reset_in_child
from .hash import Hash
from .node import Node, closed_error
from .operation import Again, Operation, T
from .requests import Key
from .result import SessionInfo, SessionPage
from .router import Router
from .session import Session
from .slots import Slot
from .transaction import Transaction


class Client(ClientBase):
    """Talks to a cluster, within one namespace.

    Any number of threads may share it, and processes that are forked from this one may go on
    using it. Calls raise TurnlogError, whose ``outcome`` says whether a write took place.
    """

    def _start(self) -> None:
        self._aio = AsyncClient.from_config(self.config)  # it connects when it is used
        self._router = Router([Node(a, self.config) for a in self.config.addresses])
        for node in self._router.nodes:
            reset_in_child(node)

    def __enter__(self) -> Client:
        return self

    def __exit__(self, _: type[BaseException] | None, __: BaseException | None, ___: TracebackType | None) -> None:
        self.close()

    @property
    def aio(self) -> AsyncClient:
        """The client for asyncio with the same configuration. It has connections of its own."""
        return self._aio

    def close(self) -> None:
        """Close the connections. Later calls fail, and tails end within five seconds."""
        for node in self._router.nodes:
            node.close()

    def session(self, key: Key) -> Session:
        """Return a handle on the session of that key, 1 to 512 bytes; this sends nothing."""
        return Session(self, key, self.config.timeout)

    def hash(self, key: Key) -> Hash:
        """Return a handle on the hash of that key, which no session has; this sends nothing."""
        return Hash(self, key, self.config.timeout)

    def transaction(self, id: str = "") -> Transaction:  # noqa: A002
        """Return an empty transaction, of a random id if none is given; this sends nothing."""
        return Transaction(self, id, self.config.timeout)

    def sessions(self, prefix: Key = "", *, labels: Mapping[str, str] | None = None) -> Iterator[SessionInfo]:
        """Yield the sessions whose keys begin with prefix, in the order of their keys.

        With labels, yield those that carry all of them, the one that changed last first: their metadata
        has a key ``label.NAME`` for each. Sessions that come, go or change meanwhile may be missed or seen.
        """
        cursor = ""
        while True:
            page = self.sessions_page(prefix, cursor, labels=labels)
            yield from page.sessions
            cursor = page.cursor
            if not cursor:
                return

    def sessions_page(
        self, prefix: Key = "", cursor: str = "", limit: int = 1000, *, labels: Mapping[str, str] | None = None
    ) -> SessionPage:
        """Return up to limit sessions after cursor, and the cursor of the next page.

        By labels, a page is of one moment, and can be short, or empty, before the last one.
        """
        return self.run(requests.list_sessions(prefix, cursor, limit, labels), self.config.timeout)

    def erase(self, prefix: Key) -> int:
        """Delete every session whose key begins with prefix; return how many there were.

        It is not atomic: a session created meanwhile may stay.
        """
        return self.run(requests.erase(prefix), self.config.timeout)

    def erase_all(self) -> int:
        """Delete every session of the namespace; return how many there were."""
        return self.run(requests.erase_all(), self.config.timeout)

    def cluster(self) -> dict[str, Any]:
        """Return the cluster as the node that answers sees it, with the fields of ``GET /v1/cluster``."""
        return self.run(requests.cluster(), self.config.timeout)

    def run(self, operation: Operation[T], timeout: float | None) -> T:
        """Carry out an operation: send it until it is answered for good."""
        if self.config.tracer is None:
            return decoded(operation, self._run(operation, timeout, None, tracing.parent(self.config)))
        with tracing.span(self.config, operation) as span:
            trace = span.traceparent or tracing.parent(self.config)
            return decoded(operation, self._run(operation, timeout, span, trace))

    def _run(
        self, operation: Operation[Any], timeout: float | None, span: tracing.Span | None, traceparent: str | None
    ) -> Any:
        start = time.monotonic()
        deadline = deadline_of(start, timeout)
        attempts: Attempts | None = None
        while True:
            node = self._router.pick()
            try:
                reply = self._attempt(node, operation, deadline, traceparent)
            except TurnlogError as e:
                if failure.of_node(e):
                    self._router.failed(node)
                attempts = attempts or Attempts(operation, self.config, start, deadline, time.monotonic)
                wait = attempts.failed(e)
            else:
                self._router.worked(node)
                if span is not None:
                    span.answered(node.address, attempts.made if attempts else 1)
                return reply
            time.sleep(wait)

    def _attempt(self, node: Node, operation: Operation[Any], deadline: float | None, traceparent: str | None) -> Any:
        slot = Slot()
        try:
            connection = node.take(slot, deadline, repeatable=operation.again is not Again.NEVER)
            reply = self._exchange(node, connection, operation, deadline, traceparent)
            node.keep(connection)
            return reply
        finally:
            node.slots.give_back(slot)

    def _exchange(
        self,
        node: Node,
        connection: Connection,
        operation: Operation[Any],
        deadline: float | None,
        traceparent: str | None,
    ) -> Any:
        """Return the reply to an operation. On an error the connection is kept or closed."""
        try:
            if passed(deadline):
                raise failure.too_late()
            connection.waits.deadline = deadline
            connection.waits.stall = operation.stall(self.config.stall_timeout)
            return connection.exchange(operation.request, traceparent)
        except (RedisError, OSError, UnicodeEncodeError) as e:
            error = failure.unsendable(operation, e) or failure.reply_error(e)
            if error is not None and connection.is_open():
                node.keep(connection)
            else:
                connection.disconnect()
            raise error or failure.lost(operation, node.address, e, timed_out=passed(deadline)) from e
        except BaseException:  # KeyboardInterrupt, GreenletExit: the reply may still be on its way
            connection.disconnect()
            raise

    def dial(self, deadline: float | None) -> tuple[Node, Connection]:
        """Open a connection that no other call shares, for what takes its time."""
        node = self._router.pick()
        if node.closed:
            raise closed_error()
        try:
            return node, node.dial(deadline)
        except TurnlogError as e:
            if failure.of_node(e):
                self._router.failed(node)
            raise

    def worked(self, node: Node) -> None:
        """Note that a node answered."""
        self._router.worked(node)

    def failed(self, node: Node) -> None:
        """Note that a node gave no useful answer."""
        self._router.failed(node)
