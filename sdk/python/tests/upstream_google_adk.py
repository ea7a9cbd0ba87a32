"""A plugin for pytest: the ADK's own tests of session services, on turnlog's.

Where their tests make a service, they get turnlog's. Tests are skipped that are about the database
below: the words that they use tell, and each has its reason here.
"""

import inspect
import os
import re
import uuid

import google.adk.sessions
import pytest
from google.adk.sessions import database_session_service, in_memory_session_service, sqlite_session_service

import turnlog
from turnlog.google_adk import TurnlogSessionService

CLIENT = turnlog.AsyncClient(os.environ["TURNLOG_ADDRESSES"])

ABOUT = {
    "SQL, tables and connections": (
        r"_engine|_db_|schema|sql_session|session_factory|sqlite3|SqliteSessionService\(|prepare_tables|dialect|"
        r"_tables_created|_url\b|get_or_create"
    ),
    "the dictionaries of the service in memory": r"service\.(sessions|app_state|user_state)\b",
    "another service": r"VertexAi|Firestore",
}
RULES = {reason: re.compile(words) for reason, words in ABOUT.items()}


class InPlaceOfTheirs(TurnlogSessionService):
    """A service with keys of its own, which is closed as the SQL one is."""

    def __init__(self, *_, **__):
        super().__init__(CLIENT, prefix=f"adk-{uuid.uuid4().hex}:")

    async def close(self):
        """The connections are the client's."""

    async def __aenter__(self):
        return self

    async def __aexit__(self, *_):
        await self.close()


for module, name in (
    (database_session_service, "DatabaseSessionService"),
    (in_memory_session_service, "InMemorySessionService"),
    (sqlite_session_service, "SqliteSessionService"),
):
    setattr(module, name, InPlaceOfTheirs)
    setattr(google.adk.sessions, name, InPlaceOfTheirs)


def pytest_collection_modifyitems(items):
    for item in items:
        source = inspect.getsource(item.function)
        for reason, words in RULES.items():
            if words.search(source):
                item.add_marker(pytest.mark.skip(reason=f"about {reason}"))
                break
