"""Holds any memory of agents to turnlog's contract, in pytest or from the command line.

The contract is a suite of more than a hundred cases, each of which guards against a published
incident: turns that vanish, double, tear, or show up in another conversation. In a test module:

    from turnlog.contract import Contract

    contract = Contract("my_app.memory:store")

Each case is a test item, and names the lost message if it fails. ``Contract`` says what a store may
be. ``python -m turnlog.contract my_app.memory:store`` is the adapter that ``turnlog verify`` runs.
"""

from .outcome import Conflict, NotApplied, Refused
from .suite import Contract

__all__ = ["Conflict", "Contract", "NotApplied", "Refused"]
