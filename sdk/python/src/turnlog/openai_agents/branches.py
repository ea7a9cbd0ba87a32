"""A session with branches."""

from __future__ import annotations

import re
import uuid
from typing import Any

from agents.items import TResponseInputItem
from agents.memory.session_settings import resolve_session_limit

from ..aio.session import AsyncSession
from ..aio.settled import settled
from ..errors import ConflictError, ExistsError, InvalidError
from ..result import SessionInfo
from .session import Entry, TurnlogSession

MAIN = "main"
SEPARATOR = "#"
PREVIEW = 100


class AdvancedTurnlogSession(TurnlogSession):
    """A conversation with branches: what has been said up to some turn, and another continuation.

    A turn begins with a message of the user. The branch ``b`` of the session ``alice`` is the session
    ``alice#b``, and can be opened as one; it is a fork, which the cluster makes at once. Which branch is
    the current one is known by this object alone.
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
        starts = [entry.seq for entry in entries if _is_users(entry)]
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
        await settled(self._client.transaction().delete(self._log_of(branch_id).key).commit())
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
        turns = [await self.get_conversation_turns(names[session.key]) for session in sessions]
        return [
            {
                "branch_id": names[session.key],
                "message_count": session.count,
                "user_turns": len(found),
                "is_current": names[session.key] == self._branch,
                "created_at": session.created,
            }
            for session, found in zip(sessions, turns, strict=True)
        ]

    async def clear_session(self) -> None:
        """Remove all branches, and all items of ``main``, which is the current branch then."""
        for branch in await self.list_branches():
            if branch["branch_id"] != MAIN:
                await self.delete_branch(branch["branch_id"], force=True)
        self._switch(MAIN)
        await super().clear_session()

    async def get_conversation_turns(self, branch_id: str | None = None) -> list[dict[str, Any]]:
        """Describe the turns of a branch."""
        log = self._log_of(branch_id or self._branch)
        entries, _ = await self._read(log, None)
        return [_turn(number, entry) for number, entry in enumerate(filter(_is_users, entries), 1)]

    async def find_turns_by_content(self, search_term: str, branch_id: str | None = None) -> list[dict[str, Any]]:
        """Describe the turns of a branch whose message contains a text; case matters beyond ASCII alone."""
        pattern = re.compile(re.escape(search_term), re.IGNORECASE | re.ASCII)
        turns = await self.get_conversation_turns(branch_id)
        return [turn for turn in turns if any(pattern.search(text) for text in _texts(turn["full_content"]))]


def _check_name(name: str, what: str) -> None:
    if not name.strip():
        raise ValueError(f"Branch {what} cannot be empty")
    if name == MAIN:
        raise ValueError("Cannot delete the 'main' branch, nor make another one of that name")


def _item(item: TResponseInputItem) -> dict[str, Any]:
    return dict(item)


def _is_users(entry: Entry) -> bool:
    return _item(entry.item).get("role") == "user"


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
