"""A plugin for pytest: CrewAI's own tests of the persistence of flows, on turnlog's.

Where their tests make one of SQLite, they get one of turnlog's, whose prefix is the path.
"""

import os
import uuid

from crewai.flow import persistence
from crewai.flow.persistence import factory, sqlite

import turnlog
from turnlog.crewai import TurnlogFlowPersistence

CLIENT = turnlog.Client(os.environ["TURNLOG_ADDRESSES"])
DEFAULT = uuid.uuid4().hex


class InPlaceOfSQLite(TurnlogFlowPersistence):
    def __init__(self, db_path=None, /, **_):
        super().__init__(CLIENT, prefix=f"{db_path or DEFAULT}:")


for module in (persistence, sqlite, factory):
    module.SQLiteFlowPersistence = InPlaceOfSQLite
