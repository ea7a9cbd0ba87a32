"""A plugin for the tests of langchain-core: they run on a cluster, with our classes in place of LangChain's."""

import asyncio
import inspect
import os
import uuid

import langchain_core.chat_history
import langchain_core.runnables.history
import pytest

import turnlog
from turnlog.langchain import RunnableWithTurns, TurnlogChatMessageHistory

client = turnlog.Client(os.environ["TURNLOG_ADDRESSES"])


class History(TurnlogChatMessageHistory):
    """Made and compared as LangChain's in memory is."""

    def __init__(self, messages=()):
        super().__init__(uuid.uuid4().hex, client)
        self.add_messages(list(messages))

    def __eq__(self, other):
        return self.messages == other.messages

    __hash__ = None


History.__doc__ = langchain_core.chat_history.InMemoryChatMessageHistory.__doc__  # which a test reads
langchain_core.chat_history.InMemoryChatMessageHistory = History
langchain_core.runnables.history.RunnableWithMessageHistory = RunnableWithTurns


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem):
    if not inspect.iscoroutinefunction(pyfuncitem.obj):
        return None
    names = inspect.signature(pyfuncitem.obj).parameters
    asyncio.run(pyfuncitem.obj(**{name: pyfuncitem.funcargs[name] for name in names}))
    return True
