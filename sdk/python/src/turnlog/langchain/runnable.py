"""A runnable whose turns are saved."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from langchain_core.chat_history import BaseChatMessageHistory
from langchain_core.messages import BaseMessage, BaseMessageChunk, message_chunk_to_message
from langchain_core.runnables import Runnable, RunnableConfig, RunnablePassthrough
from langchain_core.runnables.base import RunnableBinding, coerce_to_runnable
from langchain_core.runnables.history import RunnableWithMessageHistory

SAID = "turnlog_said"  # in a config: what the user says in this run


def _nothing_said(_: RunnableConfig) -> RunnableConfig:
    """What a run begins with."""
    return {"configurable": {SAID: []}}


class RunnableWithTurns(RunnableWithMessageHistory):
    """LangChain's ``RunnableWithMessageHistory``, of which each turn is saved whole, or raises.

    It takes the same arguments. Saving is a step of the run, so a turn that could not be saved is an
    error of ``invoke``, ``stream`` and their kin; LangChain's own logs it and returns the answer. What
    the user said is that of this run; LangChain's own reads the history again to find out, and loses
    it if another turn was added meanwhile.
    """

    def __init__(
        self, runnable: Any, get_session_history: Callable[..., BaseChatMessageHistory], **options: Any
    ) -> None:
        answering: Runnable[Any, Any] = coerce_to_runnable(runnable)
        saving: Runnable[Any, Any] = RunnablePassthrough(self._save, self._asave).with_config(run_name="save_turn")
        super().__init__(answering | saving, get_session_history, **options)
        self.bound: Runnable[Any, Any] = RunnableBinding(bound=self.bound, config_factories=[_nothing_said])

    def _enter_history(self, value: Any, config: RunnableConfig) -> list[BaseMessage]:
        self._note(value, config)
        return super()._enter_history(value, config)

    async def _aenter_history(self, value: dict[str, Any], config: RunnableConfig) -> list[BaseMessage]:
        self._note(value, config)
        return await super()._aenter_history(value, config)

    def _note(self, value: Any, config: RunnableConfig) -> None:
        config["configurable"][SAID].extend(self._get_input_messages(value))

    def _save(self, output: Any, config: RunnableConfig) -> None:
        config["configurable"]["message_history"].add_messages(self._turn(output, config))

    async def _asave(self, output: Any, config: RunnableConfig) -> None:
        await config["configurable"]["message_history"].aadd_messages(self._turn(output, config))

    def _turn(self, output: Any, config: RunnableConfig) -> list[BaseMessage]:
        answer = [
            message_chunk_to_message(m) if isinstance(m, BaseMessageChunk) else m
            for m in self._get_output_messages(output)
        ]
        return [*config["configurable"][SAID], *answer]

    def _exit_history(self, run: Any, config: RunnableConfig) -> None:
        """Do nothing: the turn was saved."""

    async def _aexit_history(self, run: Any, config: RunnableConfig) -> None:
        """Do nothing: the turn was saved."""
