"""State of CrewAI's flows: TurnlogFlowPersistence."""

from __future__ import annotations

from .persistence import TurnlogFlowPersistence

__all__ = ["TurnlogFlowPersistence"]
