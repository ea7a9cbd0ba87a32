"""The memory of one conversation, for chains that were written for ConversationBufferMemory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from ..errors import InvalidError
from ..requests import Key
from ..result import Appended
from .schema import Said

if TYPE_CHECKING:
    from .memory import Memory, Remembered

Values = Mapping[str, Any]


class ConversationMemory:
    """Stands in for LangChain's ``ConversationBufferMemory``, without LangChain.

    Make one for each request, by ``Memory.of``. It may be shared all the same: it holds the name of
    its session and nothing that was read.

    Args:
        memory: Saves and loads.
        session: The conversation.
        turn_id: Identifies the turn that this request saves, as in ``Memory.save_context``.
        memory_key: Names the history among the variables of a prompt.
        input_key: Names what the user said among the inputs; None: there is only one.
        output_key: Names the answer among the outputs; None: there is one, or ``"output"``.
        return_messages: Whether the variable is a list of messages, each with a role and a content,
            which prompts and models of LangChain take, or text.
        human_prefix: Who speaks in the text, of a user.
        ai_prefix: Who speaks in the text, of an assistant.
    """

    def __init__(
        self,
        memory: Memory,
        session: Key,
        *,
        turn_id: str | None = None,
        memory_key: str = "history",
        input_key: str | None = None,
        output_key: str | None = None,
        return_messages: bool = False,
        human_prefix: str = "Human",
        ai_prefix: str = "AI",
    ) -> None:
        self._memory = memory
        self._session = session
        self._turn_id = turn_id
        self.memory_key = memory_key
        self.input_key = input_key
        self.output_key = output_key
        self.return_messages = return_messages
        self._speakers = {"user": human_prefix, "assistant": ai_prefix, "system": "System", "tool": "Tool"}

    @property
    def memory_variables(self) -> list[str]:
        """The names of the variables that ``load_memory_variables`` returns."""
        return [self.memory_key]

    def save_context(self, inputs: Values, outputs: Values, *, expect: int | None = None) -> Appended:
        """Save a turn, as ``Memory.save_context`` does."""
        human, ai = self._turn(inputs, outputs)
        return self._memory.save_context(self._session, human, ai, turn_id=self._turn_id, expect=expect)

    async def asave_context(self, inputs: Values, outputs: Values, *, expect: int | None = None) -> Appended:
        """Save a turn, as ``Memory.save_context`` does."""
        human, ai = self._turn(inputs, outputs)
        return await self._memory.asave_context(self._session, human, ai, turn_id=self._turn_id, expect=expect)

    def load_memory_variables(self, inputs: Values | None = None) -> dict[str, Any]:
        """Return the conversation under ``memory_key``, whatever the inputs are."""
        return {self.memory_key: self._shown(self.load_memory())}

    async def aload_memory_variables(self, inputs: Values | None = None) -> dict[str, Any]:
        """Return the conversation under ``memory_key``, whatever the inputs are."""
        return {self.memory_key: self._shown(await self.aload())}

    def load_memory(self) -> Remembered:
        """Return the messages of the conversation, and its revision."""
        return self._memory.load_memory(self._session)

    async def aload(self) -> Remembered:
        """Return the messages of the conversation, and its revision."""
        return await self._memory.aload(self._session)

    def clear(self) -> None:
        """Remove all messages of the conversation."""
        self._memory.clear(self._session)

    async def aclear(self) -> None:
        """Remove all messages of the conversation."""
        await self._memory.aclear(self._session)

    def _turn(self, inputs: Values, outputs: Values) -> tuple[Said, Said | Sequence[Said]]:
        given = [name for name in inputs if name not in (self.memory_key, "stop")]
        human = self._name("input", self.input_key, given)
        ai = self._name("output", self.output_key, ["output"] if "output" in outputs else list(outputs))
        return inputs[human], outputs[ai]

    @staticmethod
    def _name(side: str, chosen: str | None, given: list[str]) -> str:
        if chosen is not None:
            return chosen
        if len(given) != 1:
            raise InvalidError(f"which {side} belongs to the turn? Set {side}_key to one of {given}; nothing was saved")
        return given[0]

    def _shown(self, messages: Remembered) -> Remembered | str:
        if self.return_messages:
            return messages
        return "\n".join(f"{self._speakers.get(m['role'], m['role'])}: {m.get('content', '')}" for m in messages)
