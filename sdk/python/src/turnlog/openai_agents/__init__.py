"""The OpenAI Agents SDK on turnlog: ``pip install turnlog[openai-agents]``.

``TurnlogSession`` is a session of a run. ``AdvancedTurnlogSession`` has branches, too.
"""

from .branches import AdvancedTurnlogSession
from .session import TurnlogSession

__all__ = ["AdvancedTurnlogSession", "TurnlogSession"]
