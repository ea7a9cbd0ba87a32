"""Histories of Microsoft's Agent Framework: TurnlogHistoryProvider."""

from __future__ import annotations

from .provider import TurnlogHistoryProvider

__all__ = ["TurnlogHistoryProvider"]
