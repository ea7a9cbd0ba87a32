"""Google's Agent Development Kit on turnlog: ``pip install turnlog[google-adk]``.

``TurnlogSessionService`` keeps the sessions of a runner, and ``copy_sessions`` fills it from another
service.
"""

from .moving import copy_sessions
from .service import TurnlogSessionService

__all__ = ["TurnlogSessionService", "copy_sessions"]
