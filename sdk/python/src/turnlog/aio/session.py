"""A session, for asyncio."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING

from .. import requests
from ..errors import NotFoundError
from ..handle import Handle
from ..message import Message, Payload
from ..requests import Key, Moment, Seconds, Side
from ..result import Appended, Edited, History, Popped, Removed, SessionInfo, same_session
from .tail import tail

if TYPE_CHECKING:
    from .client import AsyncClient  # noqa: F401

PAGE_MESSAGES = 512
PAGE_BYTES = 4 << 20


class AsyncSession(Handle["AsyncClient"]):
    """The session of one key. Any number of tasks may use it.

    ``expect`` makes a write conditional: it takes place only if the session's revision is
    that number (0: if there is no session), and raises ConflictError otherwise.
    """

    __slots__ = ()

    async def append(
        self,
        *messages: Payload,
        expect: int | None = None,
        ttl: Seconds | None = None,
        must_exist: bool = False,
        metadata: Mapping[str, str] | None = None,
        unset: Iterable[str] = (),
    ) -> Appended:
        """Add messages at the end, all or none.

        When it returns, they are on the disks of a majority. A message without an id gets one
        before the first send, so that the append is repeated safely until it is answered.

        Args:
            messages: bytes as they are, text as UTF-8, a mapping as JSON, or a NewMessage.
            expect: Only if the session is at this revision.
            ttl: The session expires so many seconds later.
            must_exist: Only if there is such a session.
            metadata: Merged into the session's metadata, with the messages or not at all.
            unset: Keys that are removed from the metadata, likewise.

        Raises:
            ConflictError: The session changed, or only some of the ids are known.
            NotFoundError: ``must_exist``, and there is no such session.
            IDReusedError: An id came back with another payload.
            UnknownOutcomeError: No reply came within ``timeout`` or ``retry_for``. Repeat it
                with the same ids.
        """
        operation = requests.append(
            self._key,
            messages,
            self._client.config.new_id,
            expect=expect,
            ttl=ttl,
            must_exist=must_exist,
            metadata=metadata,
            unset=unset,
        )
        return await self._client.run(operation, self._timeout)

    async def replace(self, from_seq: int, *messages: Payload, expect: int | None = None) -> Appended:
        """Remove every message with seq >= from_seq and append messages, at once.

        The session must exist. Messages may have ids that were in use, except of messages that
        are kept. Without messages nothing identifies the call, and it may end in
        UnknownOutcomeError.
        """
        new_id = self._client.config.new_id
        return await self._client.run(requests.replace(self._key, from_seq, messages, new_id, expect), self._timeout)

    async def last(self, n: int, *, whole: bool = False, max_staleness: Seconds | None = None) -> History:
        """Return the n newest messages; with whole, none is a tool result whose call is left out."""
        return await self.read(last=n, whole=whole, max_staleness=max_staleness)

    async def read(
        self,
        *,
        last: int | None = None,
        after: int | None = None,
        before: int | None = None,
        limit: int | None = None,
        max_bytes: int | None = None,
        max_tokens: int | None = None,
        whole: bool = False,
        since: Moment | None = None,
        until: Moment | None = None,
        max_staleness: Seconds | None = None,
        metadata: bool = False,
    ) -> History:
        """Return messages in commit order, and the state of the session.

        Args:
            last: The so many newest.
            after: Those with a higher seq, the oldest first.
            before: Those with a lower seq, the newest first.
            limit: So many at most.
            max_bytes: So many bytes of payload at most, but one message at least.
            max_tokens: The same in tokens of four bytes.
            whole: Where ``last`` or ``limit`` cuts, too, tool calls and results stay together,
                as they do where ``max_bytes`` or ``max_tokens`` cuts: fewer messages are returned
                then, or, if nothing whole fits, the shortest whole end or beginning.
            since: Those of this time of the cluster's clock and later: a datetime, or Unix
                milliseconds as in ``Message.time_ms``.
            until: Those before this time.
            max_staleness: None: every write that was acknowledged before is seen. Seconds:
                those of before so long. ``math.inf``: what the node has.
            metadata: Return the session's metadata as well, that of the same revision.
        """
        operation = requests.read(
            self._key,
            last=last,
            after=after,
            before=before,
            limit=limit,
            max_bytes=max_bytes,
            max_tokens=max_tokens,
            whole=whole,
            since=since,
            until=until,
            max_staleness=max_staleness,
            metadata=metadata,
        )
        return await self._client.run(operation, self._timeout)

    async def all(self, after: int = 0) -> AsyncIterator[Message]:
        """Yield every message with a seq above after, page by page, up to the end at that moment.

        Raises:
            ConflictError: The session was deleted or renamed between two pages: the messages
                are never those of two sessions.
        """
        begun: History | None = None
        more = True
        while more:
            page = await self.read(after=after, limit=PAGE_MESSAGES, max_bytes=PAGE_BYTES)
            begun = same_session(begun, page, after)
            for message in page.messages:
                yield message
            after = page.messages[-1].seq if page.messages else after
            more = page.more

    def tail(self, after: int = 0) -> AsyncIterator[Message]:
        """Yield every message with a seq above after, once and in order, and each new one as it
        is committed.

        It goes on over lost connections and failing nodes; after an outage longer than
        ``retry_for`` it raises UnavailableError. When the session is deleted and made again,
        it goes on with the first message of the new one, whose seqs begin at 1 again. It holds
        a connection of its own until it is closed or garbage-collected.
        """
        return tail(self._client, self._key, after)

    async def pop(self, n: int = 1, side: Side = "newest", *, expect: int | None = None) -> Popped:
        """Remove and return up to n messages: of the highest seqs, or of an end of the Redis list.

        It cannot be repeated safely: UnknownOutcomeError if its reply is lost.
        """
        return await self._client.run(requests.pop(self._key, n, side, expect), self._timeout)

    async def trim(self, *, keep: int | None = None, before: int | None = None, expect: int | None = None) -> Removed:
        """Remove all but the ``keep`` newest messages, or those with a seq below ``before``."""
        return await self._client.run(requests.trim(self._key, keep, before, expect), self._timeout)

    async def edit(
        self,
        data: Payload,
        *,
        seq: int | None = None,
        id: str | None = None,  # noqa: A002
        expect: int | None = None,
    ) -> Edited:
        """Give one message, named by its seq or its id, another payload.

        The message keeps its seq, time and id. A retry of its append is still recognised, and
        does not undo the edit. A tail does not deliver the message again.

        Raises:
            NotFoundError: The session holds no such message.
            UnknownOutcomeError: The reply was lost. An edit is not repeated by itself: that
                could override one made since.
        """
        return await self._client.run(requests.edit(self._key, data, seq, id, expect), self._timeout)

    async def remove(
        self,
        *,
        seq: int | None = None,
        id: str | None = None,  # noqa: A002
        expect: int | None = None,
    ) -> Removed:
        """Remove one message, named by its seq or its id; ``removed`` is 0 if there is none.

        Others keep their seqs, and a retry of its append does not bring it back.
        """
        return await self._client.run(requests.remove(self._key, seq, id, expect), self._timeout)

    async def clear(self, *, expect: int | None = None) -> Removed:
        """Remove all messages; keep the session, its metadata and numbering."""
        return await self._client.run(requests.clear(self._key, expect), self._timeout)

    async def delete(self, *, expect: int | None = None) -> bool:
        """Delete the session; return whether there was one."""
        return await self._client.run(requests.delete(self._key, expect), self._timeout)

    async def fork(self, to: Key, *, at: int | None = None, expect: int | None = None) -> Appended:
        """Copy the messages with seq <= at (default: all) and the metadata into a new session.

        Raises:
            ExistsError: There is a session of that key.
            NotFoundError: There is nothing to copy.
        """
        return await self._client.run(requests.fork(self._key, to, at, expect), self._timeout)

    async def rename(self, to: Key, *, replace: bool = False, expect: int | None = None) -> int:
        """Move all of the session to another key, and return the revision there.

        Messages keep their seqs and ids; a retried append to the former key is still recognised.

        Args:
            to: The new key. It must not exist, unless replace is set.
            replace: Delete what the new key holds.
            expect: The revision that the session must have.

        Raises:
            ExistsError: The new key exists, and replace is not set.
            NotFoundError: There is no such session.
        """
        return await self._client.run(requests.rename(self._key, to, replace, expect), self._timeout)

    async def info(self) -> SessionInfo:
        """Describe the session; raises NotFoundError if there is none."""
        found = await self._client.run(requests.info(self._key), self._timeout)
        if found is None:
            raise NotFoundError(f"there is no session {self.key!r}")
        return found

    async def metadata(self) -> dict[str, str]:
        """Return the session's metadata; empty if there is none."""
        return await self._client.run(requests.metadata(self._key), self._timeout)

    async def set_metadata(
        self, values: Mapping[str, str], *, unset: Iterable[str] = (), expect: int | None = None
    ) -> int:
        """Merge values into the metadata, remove the keys in unset, and return the revision.

        It creates the session if needed.
        """
        return await self._client.run(requests.set_metadata(self._key, values, unset, expect), self._timeout)

    async def retain(
        self,
        *,
        messages: int | None = None,
        turns: int | None = None,
        everything: bool = False,
        expect: int | None = None,
    ) -> Removed:
        """Set how much the session keeps by itself from here on, and drop what is beyond it.

        Its last messages, or its last turns, that is appends; or everything. A tool call is not
        parted from its result. The session is created if there is none.
        """
        return await self._client.run(
            requests.retain(self._key, messages, turns, everything=everything, expect=expect), self._timeout
        )

    async def expire(self, ttl: Seconds, *, slide: bool = False, expect: int | None = None) -> bool:
        """Delete the session when ttl has passed, in seconds of cluster time.

        With slide, every later append begins that time again. Return whether there is such a
        session.
        """
        return await self._client.run(requests.expire(self._key, ttl, slide=slide, expect=expect), self._timeout)

    async def expire_at(self, time: datetime, *, expect: int | None = None) -> bool:
        """Delete the session at a time of the cluster's clock; return whether there is such a session."""
        return await self._client.run(requests.expire_at(self._key, time, expect), self._timeout)

    async def persist(self, *, expect: int | None = None) -> bool:
        """Remove the session's deadline; return whether it had one."""
        return await self._client.run(requests.persist(self._key, expect), self._timeout)
