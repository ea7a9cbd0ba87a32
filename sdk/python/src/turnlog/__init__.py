"""Client of turnlog, a replicated memory for AI agents.

A session is an ordered log of messages. What ``append`` has returned for is on the disks of a
majority; what raised an error says by ``outcome`` whether it took place.

    from turnlog import Client, assistant, user

    client = Client("127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399")
    alice = client.session("alice")
    history = alice.last(20)
    alice.append(user("Where is my order?"), assistant("Which one?"), expect=history.revision)

``AsyncClient`` is the same for asyncio.
"""

from .aio.client import AsyncClient
from .aio.hash import AsyncHash
from .aio.session import AsyncSession
from .aio.transaction import AsyncTransaction
from .client import Client
from .errors import (
    ConflictError,
    CorruptError,
    ExistsError,
    ForbiddenError,
    IDReusedError,
    InternalError,
    InvalidError,
    NewerVersionError,
    NotFoundError,
    OverloadedError,
    ReadOnlyError,
    TooLargeError,
    TurnlogError,
    UnauthorizedError,
    UnavailableError,
    UnknownOutcomeError,
    WrongTypeError,
)
from .hash import Hash
from .message import Message, NewMessage, Payload, assistant, user
from .result import Appended, Committed, Edited, History, Popped, Removed, SessionInfo, SessionPage
from .session import Session
from .transaction import Transaction

__all__ = [
    "Appended",
    "AsyncClient",
    "AsyncHash",
    "AsyncSession",
    "AsyncTransaction",
    "Client",
    "Committed",
    "ConflictError",
    "CorruptError",
    "Edited",
    "ExistsError",
    "ForbiddenError",
    "Hash",
    "History",
    "IDReusedError",
    "InternalError",
    "InvalidError",
    "Message",
    "NewMessage",
    "NewerVersionError",
    "NotFoundError",
    "OverloadedError",
    "Payload",
    "Popped",
    "ReadOnlyError",
    "Removed",
    "Session",
    "SessionInfo",
    "SessionPage",
    "TooLargeError",
    "Transaction",
    "TurnlogError",
    "UnauthorizedError",
    "UnavailableError",
    "UnknownOutcomeError",
    "WrongTypeError",
    "assistant",
    "user",
]
