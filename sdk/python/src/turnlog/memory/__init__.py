"""Memory of agents: a turn of a conversation is saved whole and once, or raises an error.

``Memory`` serves all conversations of an application, ``ConversationMemory`` is that of one, with
the methods of LangChain's ``ConversationBufferMemory``. Neither needs LangChain.
"""

from .conversation import ConversationMemory
from .memory import Memory, Remembered

__all__ = ["ConversationMemory", "Memory", "Remembered"]
