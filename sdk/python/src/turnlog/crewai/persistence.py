"""A persistence of flows."""

from __future__ import annotations

import datetime
import json
import threading
from typing import Any

from crewai.flow.async_feedback.types import PendingFeedbackContext
from crewai.flow.persistence import FlowPersistence
from pydantic import BaseModel, PrivateAttr
from pydantic_core import PydanticSerializationError

from ..client import Client
from ..errors import CorruptError
from ..message import dump
from ..naming import family_key
from ..transaction import Transaction

KNOWN_FLOWS = 10_000  # whose revisions are remembered; one that is forgotten has to be loaded again


class TurnlogFlowPersistence(FlowPersistence):
    """Keeps the state of each flow after its last method, and what a person is asked by one that waits.

    A save takes place once: it is sent again when its reply is lost. It may be shared by threads and flows.

    Args:
        client: The client of the application.
        prefix: What all keys begin with.
        keep: How many states of a flow are kept, from 1; the newest is the one that is loaded.
        conditional: A save is a ConflictError if another process saved the flow since this persistence
            loaded or saved it. A flow that it has not loaded must be new.
    """

    persistence_type: str = "TurnlogFlowPersistence"
    _client: Client = PrivateAttr()
    _prefix: str = PrivateAttr()
    _keep: int = PrivateAttr()
    _conditional: bool = PrivateAttr()
    _known: dict[bytes, int] = PrivateAttr(default_factory=dict)  # key of states → revision, oldest first
    _lock: Any = PrivateAttr(default_factory=threading.Lock)  # of _known

    def __init__(self, client: Client, *, prefix: str = "crewai:", keep: int = 1, conditional: bool = False) -> None:
        if keep < 1:
            raise ValueError(f"keep is {keep}: the newest state cannot be left out")
        super().__init__()
        self._client, self._prefix, self._keep, self._conditional = client, prefix, keep, conditional

    def init_db(self) -> None:
        """Do nothing: keys need not be created."""

    def save_state(self, flow_uuid: str, method_name: str, state_data: dict[str, Any] | BaseModel) -> None:
        """Save the state of a flow after a method. Of a value without a JSON form its ``str()`` is kept.

        Raises:
            ConflictError: Another process was faster, and the persistence is conditional.
        """
        self._save(flow_uuid, self._saving(flow_uuid, method_name, _plain(state_data)))

    def load_state(self, flow_uuid: str) -> dict[str, Any] | None:
        """Return the newest state of a flow, None if there is none."""
        saved = self._newest("state", flow_uuid)
        return None if saved is None else saved["state"]

    def save_pending_feedback(
        self, flow_uuid: str, context: PendingFeedbackContext, state_data: dict[str, Any] | BaseModel
    ) -> None:
        """Save the state of a flow and what it asks a person, both or none; raises what ``save_state`` raises."""
        state = _plain(state_data)
        waiting = dump({"context": _plain(context.to_dict()), "state": state})
        key = self._key("waiting", flow_uuid)
        tx = self._saving(flow_uuid, context.method_name, state)
        self._save(flow_uuid, tx.append(key, waiting).trim(key, keep=1))

    def load_pending_feedback(self, flow_uuid: str) -> tuple[dict[str, Any], PendingFeedbackContext] | None:
        """Return the state of a flow that waits and what it asks, None if it does not wait."""
        if self._conditional:
            self.load_state(flow_uuid)  # what is saved from here on must follow it
        waiting = self._newest("waiting", flow_uuid)
        return None if waiting is None else (waiting["state"], PendingFeedbackContext.from_dict(waiting["context"]))

    def clear_pending_feedback(self, flow_uuid: str) -> None:
        """Let a flow wait no longer; its state stays."""
        self._client.transaction().delete(self._key("waiting", flow_uuid)).commit()

    def _key(self, family: str, flow_uuid: str) -> bytes:
        return family_key(self._prefix, family, flow_uuid)

    def _saving(self, flow_uuid: str, method_name: str, state: Any) -> Transaction:
        """Return a transaction whose first two steps save a state."""
        key = self._key("state", flow_uuid)
        tx = self._client.transaction()
        if self._conditional:
            tx.if_revision(key, self._known.get(key, 0))
        return tx.append(key, dump({"method": method_name, "state": state})).trim(key, keep=self._keep)

    def _save(self, flow_uuid: str, tx: Transaction) -> None:
        done = tx.commit()
        self._remember(self._key("state", flow_uuid), done.steps[1].revision)  # type: ignore[union-attr] # of the trim

    def _remember(self, key: bytes, revision: int) -> None:
        if not self._conditional:
            return
        with self._lock:
            self._known.pop(key, None)
            self._known[key] = revision
            if len(self._known) > KNOWN_FLOWS:
                del self._known[next(iter(self._known))]

    def _newest(self, family: str, flow_uuid: str) -> dict[str, Any] | None:
        """Read what was saved last. What cannot be read must never look as if there was nothing."""
        key = self._key(family, flow_uuid)
        log = self._client.session(key).last(1)
        if family == "state":
            self._remember(key, log.revision)
        if not log.messages:
            return None
        try:
            saved = json.loads(log.messages[0].data)
            if isinstance(saved["state"], dict):
                return saved  # type: ignore[no-any-return]
            raise TypeError("its state is no object")
        except (KeyError, TypeError, ValueError) as e:
            what = f"what is stored is not of a flow: {type(e).__name__}: {e}"
            raise CorruptError(f"{what}. Nothing was loaded, and nothing was changed") from e


def _plain(state: Any) -> Any:
    """Return a state in JSON's types, as CrewAI's own persistence stores them."""
    if isinstance(state, BaseModel):
        try:
            return state.model_dump(mode="json")
        except PydanticSerializationError:
            state = state.model_dump()
    return json.loads(json.dumps(state, default=_simpler))


def _simpler(value: Any) -> Any:
    """Return what stands for a value that JSON does not know."""
    if isinstance(value, BaseModel):
        return _plain(value)
    if isinstance(value, (set, frozenset)):
        return list(value)
    return value.isoformat() if isinstance(value, datetime.date) else str(value)
