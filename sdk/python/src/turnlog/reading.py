"""Reads a conversation, however many pages it takes."""

from __future__ import annotations

from dataclasses import dataclass

from . import requests
from .message import Message
from .result import History
from .steps import Steps, one

PAGE_MESSAGES = 1000
PAGE_BYTES = 16 << 20


@dataclass(frozen=True, slots=True)
class Conversation:
    """The messages of a session in commit order, and the revision to expect."""

    messages: list[Message]
    revision: int


def conversation(key: bytes, last: int | None = None) -> Steps[Conversation]:
    """Read the n newest messages of a session, or all.

    All of them are read from the newest page back, so that messages which are appended meanwhile
    do not matter. If messages were removed meanwhile, they are read again.
    """
    if last is not None:
        newest = yield from one(requests.read(key, last=last))
        return Conversation(newest.messages, newest.revision)
    while True:
        newest = yield from one(requests.read(key, last=PAGE_MESSAGES, max_bytes=PAGE_BYTES))
        pages = [newest]
        while pages[-1].more and pages[-1].messages:
            before = pages[-1].messages[0].seq
            page = yield from one(requests.read(key, before=before, limit=PAGE_MESSAGES, max_bytes=PAGE_BYTES))
            if not only_grew(newest, page):
                break
            pages.append(page)
        else:
            messages = [message for page in reversed(pages) for message in page.messages]
            return Conversation(messages, newest.revision)


def only_grew(first: History, later: History) -> bool:
    """Whether nothing but appends took place between two reads of a session."""
    return (first.incarnation, first.first_seq, first.last_seq - first.count) == (
        later.incarnation,
        later.first_seq,
        later.last_seq - later.count,
    )
