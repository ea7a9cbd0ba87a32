#!/usr/bin/env python3
"""Connects to a URL with redis-py, as applications do: handshake.py URL sync|asyncio"""

import asyncio
import sys

import redis
import redis.asyncio


async def main(url, kind):
    if kind == "sync":
        redis.from_url(url).execute_command("ECHO", "connected")
        return
    client = redis.asyncio.from_url(url)
    await client.execute_command("ECHO", "connected")
    await client.aclose()


asyncio.run(main(*sys.argv[1:]))
