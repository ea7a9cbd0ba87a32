"""A plugin for pytest: Strands's own tests of session managers, on turnlog's.

Their repository in memory, and their manager that writes files, become turnlog's.
"""

import inspect
import os
import re
import uuid

import pytest
from strands.session import file_session_manager
from tests.fixtures import mock_session_repository

import turnlog
from turnlog.strands import TurnlogSessionManager, TurnlogSessionRepository

CLIENT = turnlog.Client(os.environ["TURNLOG_ADDRESSES"])

ABOUT = {"files": r"os\.path|os\.listdir|_path\(|open\(|json\.|_read_file|_write_file|storage_dir ="}
RULES = {reason: re.compile(words) for reason, words in ABOUT.items()}


class InPlaceOfMemory(TurnlogSessionRepository):
    def __init__(self):
        super().__init__(CLIENT, prefix=f"{uuid.uuid4().hex}:")


class InPlaceOfFiles(TurnlogSessionManager):
    """Theirs is the repository, too."""

    def __init__(self, session_id, storage_dir=None, **options):
        super().__init__(session_id, CLIENT, prefix=f"{storage_dir or uuid.uuid4().hex}:", **options)

    def __getattr__(self, name):
        return getattr(self.__dict__["session_repository"], name)


mock_session_repository.MockedSessionRepository = InPlaceOfMemory
file_session_manager.FileSessionManager = InPlaceOfFiles


def pytest_collection_modifyitems(items):
    for item in items:
        source = inspect.getsource(item.function)
        for reason, words in RULES.items():
            if words.search(source):
                item.add_marker(pytest.mark.skip(reason=f"about {reason}"))
                break
