"""Conversations of LlamaIndex: TurnlogChatStore."""

from __future__ import annotations

from .store import TurnlogChatStore

__all__ = ["TurnlogChatStore"]
