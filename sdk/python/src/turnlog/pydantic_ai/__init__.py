"""Pydantic AI on turnlog: ``pip install turnlog[pydantic-ai]``.

``TurnlogConversationStore`` keeps conversations.
"""

from .store import TurnlogConversationStore

__all__ = ["TurnlogConversationStore"]
