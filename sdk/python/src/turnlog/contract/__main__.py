"""Holds a Python store to the contract: ``turnlog verify 'exec:python3 -m turnlog.contract STORE'``.

STORE is MODULE:FUNCTION (a file FILE.py in the current directory is the module FILE). A function with
a parameter gets a session's key and returns what an application would use for it: a LangChain
BaseChatMessageHistory or an OpenAI Agents Session. A second parameter is the time to live in seconds,
or None. A function without parameters returns a store of all sessions: an object with add, load and
clear, as the documentation of turnlog.contract.Contract explains. A function corrupt(session) of the
module, if there is one, makes one of the messages unreadable, as another version of the application
would leave it.

Or STORE is one of langchain-memory, langchain-file:DIR, langchain-redis:URL, agents-sqlite:FILE and
agents-redis:URL.
"""

from __future__ import annotations

import argparse
import asyncio

from .opening import open_store
from .serving import serve


def main() -> None:
    """Serve the suite until its requests end."""
    parser = argparse.ArgumentParser(
        prog="python -m turnlog.contract", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("store", metavar="STORE")
    parser.add_argument("--shared", action="store_true", help="other processes that run this command see the same data")
    parser.add_argument(
        "--can", action="append", default=[], metavar="NAME", help='the store promises this too, such as "ids"'
    )
    parser.add_argument("--max-bytes", type=int, default=0, metavar="N", help="longer messages are refused")
    given = parser.parse_args()
    opened = open_store(given.store)
    hello = {
        "name": given.store,
        "can": [*opened.can, *given.can],
        "shared": opened.shared or given.shared,
        "concurrent": True,
        "max_bytes": given.max_bytes or opened.max_bytes,
    }
    asyncio.run(serve(opened.store, hello))


if __name__ == "__main__":
    main()
