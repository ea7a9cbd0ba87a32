"""The adapter's side of the suite's protocol: lines of JSON on standard input and output."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .outcome import Refused, kind_of
from .wire import Wire, text_of

Request = dict[str, Any]

MAX_THREADS = 64
threads: ThreadPoolExecutor = ThreadPoolExecutor(MAX_THREADS)


async def in_thread(f: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call what blocks."""
    return await asyncio.get_running_loop().run_in_executor(threads, lambda: f(*args, **kwargs))


async def answer(store: Any, request: Request) -> Wire:
    """Carry out a request. What the store returns is the answer."""
    op, session = request["op"], text_of(request, "session")
    if op in ("add", "load", "clear"):
        return await getattr(store, op)(session, request) or {}
    if op == "corrupt" and store.corrupt:
        await in_thread(store.corrupt, session)
        return {}
    if op in ("delete", "pop") and hasattr(store, op):
        return await getattr(store, op)(session) or {}
    if op in ("trim", "retain") and hasattr(store, op):
        return await getattr(store, op)(session, request["keep"]) or {}
    if op == "list" and hasattr(store, op):
        return {"sessions": await store.list(text_of(request, "prefix"))}
    if op == "labelled" and hasattr(store, op):
        return {"sessions": await store.labelled(request["label"], request["value"])}
    raise Refused(f"no operation {op!r}")


async def serve(store: Any, hello: Wire) -> None:
    """Answer requests until the input ends."""
    loop = asyncio.get_running_loop()

    async def handle(request: Request) -> None:
        try:
            reply = hello if request["op"] == "hello" else await answer(store, request)
        except Exception as e:  # whatever the store raises
            reply = {"error": {"kind": kind_of(e), "message": f"{type(e).__name__}: {e}"}}
        sys.stdout.buffer.write(json.dumps({"n": request["n"], **reply}).encode() + b"\n")
        sys.stdout.buffer.flush()

    running: set[asyncio.Task[None]] = set()
    while line := await loop.run_in_executor(None, sys.stdin.buffer.readline):
        task = asyncio.create_task(handle(json.loads(line)))
        running.add(task)
        task.add_done_callback(running.discard)
    if running:
        await asyncio.wait(running)
