"""What happened in the turns of a conversation: the tools that were called, and the tokens that were used."""

from __future__ import annotations

import collections
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from agents.items import TResponseInputItem
from agents.usage import Usage

# Calls that have no name of a tool in them are known by what they are.
NAMED_BY_TYPE = {
    "computer_call": "computer_call",
    "file_search_call": "file_search_call",
    "web_search_call": "web_search_call",
    "code_interpreter_call": "code_interpreter_call",
    "shell_call": "shell_call",
    "apply_patch_call": "apply_patch_call",
    "tool_search_call": "tool_search",
    "tool_search_output": "tool_search",
}
OF_SERVERS = ("mcp_call", "mcp_approval_request")
CALLS = frozenset(NAMED_BY_TYPE) - {"tool_search_output"} | {
    "tool_call",
    "function_call",
    "custom_tool_call",
    *OF_SERVERS,
}
COUNTS = ("requests", "input_tokens", "output_tokens", "total_tokens")
DETAILS = ("input_tokens_details", "output_tokens_details")

Row = dict[str, Any]


def is_users(item: TResponseInputItem) -> bool:
    """Whether a turn begins with the item."""
    return dict(item).get("role") == "user"


def numbered(items: Iterable[TResponseInputItem]) -> list[tuple[int, TResponseInputItem]]:
    """Return each item with the number of its turn, from 1; 0: it was before the first one."""
    turn, found = 0, []
    for item in items:
        turn += is_users(item)
        found.append((turn, item))
    return found


def kind_of(item: Mapping[str, Any]) -> str:
    """Return what an item is: its role, or else its type."""
    role = item.get("role")
    return role if role in ("user", "assistant") else str(item.get("type") or "other")


def tool_of(item: Mapping[str, Any]) -> str | None:
    """Return the name of the tool that an item is about, None if it is about none."""
    kind, name = item.get("type"), item.get("name")
    if kind in OF_SERVERS and "server_label" in item:
        return ".".join(str(part) for part in (item["server_label"], name) if part) or None
    if kind in NAMED_BY_TYPE:
        return NAMED_BY_TYPE[kind]
    if name is None:
        return None
    namespace = item.get("namespace")
    return str(name) if not namespace or namespace == name else f"{namespace}.{name}"


def by_turns(items: Iterable[TResponseInputItem]) -> dict[int, list[dict[str, str | None]]]:
    """Return what the items of each turn are."""
    turns: dict[int, list[dict[str, str | None]]] = {}
    for turn, item in numbered(items):
        turns.setdefault(turn, []).append({"type": kind_of(dict(item)), "tool_name": tool_of(dict(item))})
    return turns


def tools(items: Iterable[TResponseInputItem]) -> list[tuple[str, int, int]]:
    """Return the tools that were called, how often, and in which turn. A search for tools counts once,
    also where its call is not among the items.
    """
    used: collections.Counter[tuple[int, str]] = collections.Counter()
    for turn, found in by_turns(items).items():
        searched = any(item["type"] == "tool_search_call" for item in found)
        for item in found:
            if item["type"] in CALLS or (item["type"] == "tool_search_output" and not searched):
                used[turn, item["tool_name"] or ""] += 1
    return [(name, count, turn) for (turn, name), count in sorted(used.items())]


def row_of(usage: Usage) -> Row:
    """Return what is stored of the tokens that a run has used."""
    row: Row = {name: getattr(usage, name, 0) or 0 for name in COUNTS}
    for name in DETAILS:
        details = getattr(usage, name, None)
        row[name] = dict(vars(details)) if details else None
    return row


def total(rows: Sequence[Row]) -> dict[str, int] | None:
    """Return the sum over turns, None if there are none."""
    if not rows:
        return None
    return {name: sum(row[name] for row in rows) for name in COUNTS} | {"total_turns": len(rows)}
