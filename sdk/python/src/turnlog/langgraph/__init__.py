"""LangGraph on turnlog: ``pip install turnlog[langgraph]``.

``TurnlogSaver`` keeps the checkpoints of graphs, and ``copy_threads`` fills it from another
checkpointer.
"""

from .moving import copy_threads
from .saver import TurnlogSaver

__all__ = ["TurnlogSaver", "copy_threads"]
