"""LangChain on turnlog: ``pip install turnlog[langchain]``.

``TurnlogChatMessageHistory`` is a conversation. ``RunnableWithTurns`` is LangChain's
``RunnableWithMessageHistory``, of which each turn is saved whole or raises an error.
"""

from .history import TurnlogChatMessageHistory
from .runnable import RunnableWithTurns

__all__ = ["RunnableWithTurns", "TurnlogChatMessageHistory"]
