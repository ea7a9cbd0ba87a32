"""A session with branches."""

from __future__ import annotations

import json
import re
import uuid
from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session_settings import resolve_session_limit
from agents.result import RunResult

from ..aio.session import AsyncSession
from ..aio.settled import settled
from ..errors import ConflictError, CorruptError, ExistsError, InvalidError
from ..message import dump
from ..result import SessionInfo
from . import turns
from .session import Entry, TurnlogSession

MAIN = "main"
SEPARATOR = "#"
PREVIEW = 100
USAGE = SEPARATOR + "\0usage"  # what ends the key of the hash with the tokens used in a branch


class AdvancedTurnlogSession(TurnlogSession):
    """A conversation with branches: what has been said up to some turn, and another continuation.

    A turn begins with a message of the user. Its tools are those in its items; the tokens that it used are
    kept where ``store_run_usage`` is called after its run. The branch ``b`` of the session ``alice`` is the
    session ``alice#b``, and can be opened as one; it is a fork, which the cluster makes at once. Which branch
    is the current one is known by this object alone.
    """

    def __init__(self, session_id: str, *arguments: Any, **options: Any) -> None:
        if SEPARATOR in session_id:
            raise InvalidError(f"the id {session_id!r} of a session with branches has a {SEPARATOR}")
        self._branch = MAIN
        super().__init__(session_id, *arguments, **options)

    @property
    def branch_id(self) -> str:
        """The current branch."""
        return self._branch

    @property
    def _log(self) -> AsyncSession:
        return self._log_of(self._branch)

    def _log_of(self, branch: str) -> AsyncSession:
        return self._client.session(self._main if branch == MAIN else f"{self._main}{SEPARATOR}{branch}")

    async def get_items(self, limit: int | None = None, branch_id: str | None = None) -> list[TResponseInputItem]:
        """Return the newest items of a branch, all of them without a limit, in their order."""
        limit = resolve_session_limit(limit, self.session_settings)
        entries, _ = await self._read(self._log_of(branch_id or self._branch), limit)
        return [entry.item for entry in entries]

    def _is_plain(self) -> bool:
        kind = type(self)
        return kind.get_items is AdvancedTurnlogSession.get_items and kind.add_items is AdvancedTurnlogSession.add_items

    async def create_branch_from_turn(self, turn_number: int, branch_name: str | None = None) -> str:
        """Make a branch of what was said before a turn of the current branch, and switch to it.

        Raises:
            ValueError: There is no such turn, or the name cannot be one or is taken.
        """
        if branch_name is not None:
            _check_name(branch_name, "name")
        source = self._log
        entries, _ = await self._read(source, None)
        starts = [entry.seq for entry in entries if turns.is_users(entry.item)]
        if not 1 <= turn_number <= len(starts):
            where = f"branch {self._branch!r}, which has {len(starts)} turns"
            raise ValueError(f"Turn {turn_number} does not contain a user message in {where}")
        name = branch_name or f"branch_from_turn_{turn_number}_{uuid.uuid4().hex}"
        await settled(
            self._fork(source, name, starts[turn_number - 1] - 1, empty=starts[turn_number - 1] == entries[0].seq)
        )
        self._switch(name)
        return name

    async def _fork(self, source: AsyncSession, name: str, at: int, *, empty: bool) -> None:
        to = self._log_of(name).key
        try:
            if empty:  # there is nothing to copy
                tx = self._client.transaction().if_absent(to).set_metadata(to, {"branch": name})
                await tx.commit()
            else:
                await source.fork(to, at=at)
        except (ExistsError, ConflictError) as e:
            raise ValueError(f"branch {name!r} exists") from e

    async def create_branch_from_content(self, search_term: str, branch_name: str | None = None) -> str:
        """Make a branch of what was said before the first turn whose message contains a text."""
        found = await self.find_turns_by_content(search_term)
        if not found:
            raise ValueError(f"no turn contains {search_term!r}")
        return await self.create_branch_from_turn(found[0]["turn"], branch_name)

    async def switch_to_branch(self, branch_id: str) -> None:
        """Make another branch the current one; ValueError if there is none of that name."""
        if branch_id not in (MAIN, self._branch) and not await self._exists(branch_id):
            raise ValueError(f"Branch {branch_id!r} does not exist")
        self._switch(branch_id)

    async def _exists(self, branch: str) -> bool:
        return (await self._log_of(branch).last(1)).revision > 0

    def _switch(self, branch: str) -> None:
        self._branch = branch
        self._known.forget()

    async def delete_branch(self, branch_id: str, force: bool = False) -> None:
        """Delete a branch, the current one with ``force`` alone; ``main`` cannot be deleted."""
        _check_name(branch_id, "ID")
        if branch_id == self._branch and not force:
            raise ValueError(f"Cannot delete current branch {branch_id!r}: use force=True, or switch first")
        if not await self._exists(branch_id):
            raise ValueError(f"Branch {branch_id!r} does not exist")
        log = self._log_of(branch_id)
        await settled(self._client.transaction().delete(log.key).delete(log.key + USAGE).commit())
        if branch_id == self._branch:
            self._switch(MAIN)

    async def list_branches(self) -> list[dict[str, Any]]:
        """Describe the branches, the oldest first."""
        names = {self._log_of(MAIN).key: MAIN}
        begin = self._main + SEPARATOR
        sessions: list[SessionInfo] = []
        async for session in self._client.sessions(begin):
            names[session.key] = session.key[len(begin) :]
            sessions.append(session)
        page = await self._client.sessions_page(self._main, limit=1)
        sessions += [session for session in page.sessions if session.key == self._main]
        sessions.sort(key=lambda session: (session.created, session.key))
        found = [await self.get_conversation_turns(names[session.key]) for session in sessions]
        return [
            {
                "branch_id": names[session.key],
                "message_count": session.count,
                "user_turns": len(started),
                "is_current": names[session.key] == self._branch,
                "created_at": session.created,
            }
            for session, started in zip(sessions, found, strict=True)
        ]

    async def clear_session(self) -> None:
        """Remove all branches, and all items of ``main``, which is the current branch then."""
        for branch in await self.list_branches():
            if branch["branch_id"] != MAIN:
                await self.delete_branch(branch["branch_id"], force=True)
        self._switch(MAIN)
        key = self._log.key
        await settled(self._client.transaction().clear(key).delete(key + USAGE).commit())
        self._known.forget()

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """Describe the turns of a branch."""
        log = self._log_of(branch_id or self._branch)
        entries, _ = await self._read(log, None)
        started = [entry for entry in entries if turns.is_users(entry.item)]
        return [_turn(number, entry) for number, entry in enumerate(started, 1)]

    async def find_turns_by_content(self, search_term: str, branch_id: str | None = None) -> list[dict[str, Any]]:
        """Describe the turns of a branch whose message contains a text; case matters beyond ASCII alone."""
        pattern = re.compile(re.escape(search_term), re.IGNORECASE | re.ASCII)
        found = await self.get_conversation_turns(branch_id)
        return [turn for turn in found if any(pattern.search(text) for text in _texts(turn["full_content"]))]

    async def get_conversation_by_turns(self, branch_id: str | None = None) -> dict[int, list[dict[str, str | None]]]:
        """Return what the items of each turn of a branch are, and the tools that they are about."""
        return turns.by_turns(await self._all_items(branch_id))

    async def get_tool_usage(self, branch_id: str | None = None) -> list[tuple[str, int, int]]:
        """Return the tools that were called in a branch: each with how often, and in which turn."""
        return turns.tools(await self._all_items(branch_id))

    async def _all_items(self, branch_id: str | None) -> list[TResponseInputItem]:
        entries, _ = await self._read(self._log_of(branch_id or self._branch), None)
        return [entry.item for entry in entries]

    async def store_run_usage(self, result: RunResult) -> None:
        """Keep the tokens that a run has used as those of the newest turn of the current branch; call it after the run.

        They go with their turn, when it is popped, cleared or deleted. Unlike that of the SDK's session, it
        raises what went wrong; calling it again stores them once.
        """
        usage, log = result.context_wrapper.usage, self._log
        if usage is None:
            return
        entries, _ = await self._read(log, None)
        if not entries:
            return
        name = _name(list(_beginnings(entries).values())[-1])
        tx = self._client.transaction().if_exists(log.key)
        tx.set_fields(log.key + USAGE, {name: dump(turns.row_of(usage))})
        if self._ttl is not None:
            tx.expire(log.key + USAGE, self._ttl)
        try:
            await settled(tx.commit())
        except ConflictError:
            return  # the conversation was deleted meanwhile, and its turn with it

    async def get_turn_usage(
        self, user_turn_number: int | None = None, branch_id: str | None = None
    ) -> list[dict[str, Any]] | dict[str, Any]:
        """Return the tokens used in a turn of a branch, empty if they were not kept; or those of each turn."""
        rows = await self._usage(branch_id or self._branch)
        if user_turn_number is None:
            return [{"user_turn_number": turn, **row} for turn, row in rows.items()]
        return rows.get(user_turn_number, {})

    async def get_session_usage(self, branch_id: str | None = None) -> dict[str, int] | None:
        """Return the tokens used in a branch, or in all of them; None if none were kept."""
        branches = [branch_id] if branch_id else [branch["branch_id"] for branch in await self.list_branches()]
        return turns.total([row for branch in branches for row in (await self._usage(branch)).values()])

    async def _usage(self, branch: str) -> dict[int, turns.Row]:
        """Read the tokens used in each turn. Those of turns that are no more are left out."""
        log = self._log_of(branch)
        entries, _ = await self._read(log, None)
        stored = await self._client.hash(log.key + USAGE).all()
        names = {turn: _name(entry) for turn, entry in _beginnings(entries).items()}
        try:
            return {turn: json.loads(stored[name]) for turn, name in names.items() if name in stored}
        except ValueError as e:
            raise CorruptError(f"what is stored as the usage of session {log.key!r} is no JSON: {e}") from e


def _beginnings(entries: list[Entry]) -> dict[int, Entry]:
    """Return the first item of each turn, by the turn's number."""
    found: dict[int, Entry] = {}
    for (turn, _), entry in zip(turns.numbered(entry.item for entry in entries), entries, strict=True):
        found.setdefault(turn, entry)
    return found


def _name(entry: Entry) -> str:
    """Return the field of a turn: its first message's id, which no other message has."""
    return entry.id or f"seq {entry.seq}"


def _check_name(name: str, what: str) -> None:
    if not name.strip():
        raise ValueError(f"Branch {what} cannot be empty")
    if name == MAIN:
        raise ValueError("Cannot delete the 'main' branch, nor make another one of that name")


def _item(item: TResponseInputItem) -> dict[str, Any]:
    return dict(item)


def _turn(number: int, entry: Entry) -> dict[str, Any]:
    content = _item(entry.item).get("content", "")
    text = " ".join(_texts(content))
    preview = text if len(text) <= PREVIEW else text[:PREVIEW] + "..."
    return {
        "turn": number,
        "content": preview,
        "full_content": content,
        "timestamp": entry.time,
        "can_branch": True,
    }


def _texts(content: Any) -> list[str]:
    if isinstance(content, str):
        return [content]
    return [str(part.get("text", "")) for part in content if isinstance(part, dict)]
