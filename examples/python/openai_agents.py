"""An agent for orders with the OpenAI Agents SDK, whose conversation is in turnlog.

Each line of the input is a question of one conversation; "#ID question" gives the request an id. A service
that is killed gets the same request again: it is answered as before, or what was left of it goes and it runs again.
"""

import asyncio
import re
import sys
import uuid

from agents import Agent, Model, ModelResponse, Runner, Usage, function_tool, set_tracing_disabled
from agents.testing import assistant_message, function_call

from turnlog import AsyncClient, ConflictError, UnknownOutcomeError
from turnlog.openai_agents import TurnlogSession


class StubModel(Model):
    """In place of a model: it looks up the order that a question names, and counts the questions so far."""

    async def get_response(self, system_instructions, input, *args, **kwargs):
        last = input[-1]
        order = re.search(r"order (\w+)", last["content"]) if last.get("role") == "user" else None
        if order:
            output = function_call("look_up", {"order": order[1]}, call_id=f"call-{uuid.uuid4()}")
        else:
            asked = sum(item.get("role") == "user" for item in input)
            output = assistant_message(f"{last.get('output', 'Which order?')} Questions so far: {asked}.")
        return ModelResponse(output=[output], usage=Usage(), response_id=None)

    async def stream_response(self, *args, **kwargs):
        raise NotImplementedError


@function_tool
def look_up(order: str) -> str:
    """Say where an order is."""
    print(f"tool: looking up {order}", flush=True)
    return f"Order {order} is on its way."


class Conversation:
    """A conversation, whose requests are each answered once, however often they are made."""

    def __init__(self, client, name):
        self.agent = Agent("orders", model=StubModel(), tools=[look_up])
        self.session = TurnlogSession(name, client, prefix="agent:")
        self.log = client.session(f"agent:{name}")  # the same items, with seqs and a revision

    async def answer(self, request, question):
        done = await self.begun(request)
        if done:
            return done
        # The SDK keeps provider_data in the session, and does not send it to the model.
        item = {"role": "user", "content": question, "provider_data": {"request": request}}
        return (await Runner.run(self.agent, [item], session=self.session)).final_output

    async def begun(self, request):
        """Return the answer of a request that was made before. What an agent left of it that was killed goes,
        unless another agent has gone on meanwhile.
        """
        while True:
            history = await self.log.last(1000)
            items = [message.json() for message in history.messages]
            of = [item.get("provider_data", {}).get("request") for item in items]
            if request not in of:
                return None
            at = of.index(request)
            for item in items[at:]:
                if item.get("role") == "assistant":
                    return item["content"][0]["text"]
            try:
                await self.log.replace(history.messages[at].seq, expect=history.revision)
            except (ConflictError, UnknownOutcomeError):
                continue  # it has changed, or may have: look again


async def main(addresses, name):
    set_tracing_disabled(True)
    async with AsyncClient(addresses) as client:
        conversation = Conversation(client, name)
        while line := await asyncio.to_thread(sys.stdin.readline):
            request, question = re.fullmatch(r"(?:#(\S+) )?(.*)\n?", line).groups()
            print("agent:", await conversation.answer(request or str(uuid.uuid4()), question), flush=True)


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:]))
