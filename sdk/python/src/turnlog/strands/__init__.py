"""Sessions of Strands Agents: TurnlogSessionManager, and the repository behind it."""

from __future__ import annotations

from .repository import TurnlogSessionManager, TurnlogSessionRepository

__all__ = ["TurnlogSessionManager", "TurnlogSessionRepository"]
