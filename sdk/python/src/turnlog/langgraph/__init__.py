"""LangGraph on turnlog: ``pip install turnlog[langgraph]``.

``TurnlogSaver`` keeps the checkpoints of graphs, and ``copy_threads`` fills it from another
checkpointer. ``TurnlogStore`` keeps what agents remember beyond a thread.
"""

from .moving import copy_threads
from .saver import TurnlogSaver
from .store import TurnlogStore

__all__ = ["TurnlogSaver", "TurnlogStore", "copy_threads"]
