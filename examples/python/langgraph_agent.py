"""An agent for orders with LangGraph, whose threads are in turnlog.

Each line of the input is a question of one conversation; "#ID question" gives the request an id. A service
that is killed gets the same request again: what was done is not done twice, what was begun goes on.
"""

import re
import sys
import uuid

from langchain_core.language_models import BaseChatModel
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.outputs import ChatGeneration, ChatResult
from langchain_core.tools import tool
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode, tools_condition

from turnlog import Client
from turnlog.langgraph import TurnlogSaver


class StubModel(BaseChatModel):
    """In place of a model: it looks up the order that a question names, and counts the questions so far."""

    @property
    def _llm_type(self):
        return "stub"

    def _generate(self, messages, stop=None, run_manager=None, **kwargs):
        last = messages[-1]
        order = re.search(r"order (\w+)", last.content)
        if isinstance(last, HumanMessage) and order:
            call = {"name": "look_up", "args": {"order": order[1]}, "id": f"call-{last.id}"}
            answer = AIMessage("", tool_calls=[call])
        else:
            asked = sum(isinstance(m, HumanMessage) for m in messages)
            found = last.content if isinstance(last, ToolMessage) else "Which order?"
            answer = AIMessage(f"{found} Questions so far: {asked}.")
        return ChatResult(generations=[ChatGeneration(message=answer)])


@tool
def look_up(order: str) -> str:
    """Say where an order is."""
    print(f"tool: looking up {order}", flush=True)
    return f"Order {order} is on its way."


def build(client):
    model = StubModel()
    graph = StateGraph(MessagesState)
    graph.add_node("agent", lambda state: {"messages": [model.invoke(state["messages"])]})
    graph.add_node("tools", ToolNode([look_up]))
    graph.add_edge(START, "agent")
    graph.add_conditional_edges("agent", tools_condition)
    graph.add_edge("tools", "agent")
    return graph.compile(checkpointer=TurnlogSaver(client))


def answer(graph, thread, request, question):
    """Answer a request once, however often it is made."""
    config = {"configurable": {"thread_id": thread}}
    state = graph.get_state(config)
    messages = state.values.get("messages", [])
    said = said_since(request, messages)
    if said is None:
        # A new request; or its agent was killed on the way: then go on. A task that is done, but not yet part of a
        # checkpoint, is in state.tasks and not in state.next.
        begun = state.tasks and any(m.id == request for m in messages)
        new = None if begun else {"messages": [HumanMessage(question, id=request)]}
        said = said_since(request, graph.invoke(new, config, durability="sync")["messages"])
    return said


def said_since(request, messages):
    """Return what was answered to a request; None: nothing yet."""
    at = next((i for i, m in enumerate(messages) if m.id == request), len(messages))
    return next((m.content for m in messages[at:] if isinstance(m, AIMessage) and not m.tool_calls), None)


def main(addresses, thread):
    with Client(addresses) as client:
        graph = build(client)
        for line in sys.stdin:
            request, question = re.fullmatch(r"(?:#(\S+) )?(.*)\n?", line).groups()
            print("agent:", answer(graph, thread, request or str(uuid.uuid4()), question), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
