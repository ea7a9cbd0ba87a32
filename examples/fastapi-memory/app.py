"""A chat service whose workers may die at any moment: its conversations are in turnlog.

    uvicorn app:app --workers 2
"""

import os
from typing import Annotated

from fastapi import FastAPI, Header
from pydantic import BaseModel
from turnlog import Client, IDReusedError
from turnlog.memory import Memory, Remembered

ADDRESSES = os.environ.get("TURNLOG_ADDR", "127.0.0.1:7379,127.0.0.1:7389,127.0.0.1:7399")

app = FastAPI()
memory = Memory(Client(ADDRESSES), prefix="chat:")  # one for all requests; it keeps nothing between them


class Question(BaseModel):
    """What a user says."""

    text: str


class Answer(BaseModel):
    """What the agent says, and how much it remembered."""

    text: str
    remembered: int


@app.post("/chats/{chat}")
async def ask(chat: str, question: Question, request_id: Annotated[str, Header()]) -> Answer:
    """Answer a question, once, however often the request is sent under its id."""
    history = await memory.aload(chat)
    if history.turn(request_id):
        return answered(history, request_id)
    text = await model(history, question.text)
    try:
        await memory.asave_context(chat, question.text, text, turn_id=request_id)
    except IDReusedError:  # the same request was answered by another worker meanwhile
        history = await memory.aload(chat)
        return answered(history, request_id)
    return Answer(text=text, remembered=len(history))


@app.get("/chats/{chat}")
async def read(chat: str) -> list[dict]:
    """Return a conversation."""
    return await memory.aload(chat)


@app.get("/health")
async def health() -> dict[str, int]:
    """Say which worker answers."""
    return {"worker": os.getpid()}


def answered(history: Remembered, request_id: str) -> Answer:
    """Return what was answered before."""
    return Answer(text=history.turn(request_id)[-1]["content"], remembered=len(history))


async def model(history: list[dict], question: str) -> str:
    """Stand in for a model, which would not answer the same question in the same way twice."""
    return f"{os.urandom(4).hex()}, after {len(history)} messages: {question}"
