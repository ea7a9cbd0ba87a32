"""Items as they are stored, and those of the TypeScript SDK as this SDK has them.

Both SDKs store an item as the JSON that they work with. Here that is the input of the Responses
interface, with names such as ``call_id``; TypeScript has ``callId``, and keeps what else the provider
said in ``providerData``.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, cast

Item = dict[str, Any]

# Where TypeScript keeps what a history transaction was asked for; a message may consist of it alone.
MARK = "$turnlog"
OWN = "providerData"
CAMEL = re.compile(r"(?<=[a-z0-9])([A-Z])")


def item_of(stored: Item) -> Item | None:
    """Return a stored item in this SDK's form, None if the message holds none."""
    item = {name: value for name, value in stored.items() if name != MARK}
    if not item:
        return None
    kind = item.get("type")
    if kind is None or kind == "message":
        return _message(item)
    translate = KINDS.get(kind, _renamed)
    return translate(item) if translate is not _renamed or _is_typescript(item) else item


def _is_typescript(item: Item) -> bool:
    return OWN in item or any(CAMEL.search(name) for name in item)


def _renamed(item: Item) -> Item:
    """Return an item with the names of the Responses interface."""
    own = item.get(OWN)
    renamed = _snake(own) if isinstance(own, Mapping) else {}
    for name, value in item.items():
        if name != OWN and value is not None:
            renamed[_snake_name(name)] = _caller(value) if name == "caller" else value
    return renamed


def _caller(value: Any) -> Any:
    return _snake(value) if isinstance(value, Mapping) else value


def _snake(value: Mapping[str, Any]) -> Item:
    return {_snake_name(name): inner for name, inner in value.items()}


def _snake_name(name: str) -> str:
    return CAMEL.sub(r"_\1", name).lower()


def _message(item: Item) -> Item:
    content = item.get("content")
    if not isinstance(content, list):
        return _renamed(item) if OWN in item else item
    parts = [_part(part) if isinstance(part, dict) else part for part in content]
    if parts == content and OWN not in item:
        return item
    return {**_renamed(item), "content": parts}


def _part(part: Item) -> Item:
    """Return a part of a message in this SDK's form."""
    source = next((part[name] for name in ("image", "file", "audio") if name in part), None)
    if OWN not in part and source is None:
        return part
    made = _renamed({name: value for name, value in part.items() if name not in ("image", "file", "audio")})
    kind = part.get("type")
    if kind == "output_text":
        made.setdefault("annotations", [])
    elif kind == "input_image" and source is not None:
        made |= _source(source, "image_url", "file_id")
        made.setdefault("detail", "auto")
    elif kind == "input_file" and source is not None:
        data = isinstance(source, str) and not source.startswith("https://")
        made |= _source(source, "file_data" if data else "file_url", "file_id")
    elif source is not None:
        made["audio"] = source
    return made


def _source(source: Any, url: str, file_id: str) -> Item:
    if not isinstance(source, Mapping):
        return {url: source}
    return {file_id: source["id"]} if "id" in source else {url: source.get("url")}


def _function_result(item: Item) -> Item:
    made = _renamed({name: value for name, value in item.items() if name not in ("name", "output", "namespace")})
    output = item.get("output")
    if isinstance(output, dict):
        output = output["text"] if output.get("type") == "text" else [_output_part(output)]
    elif isinstance(output, list):
        output = [_output_part(part) if isinstance(part, dict) else part for part in output]
    return {**made, "type": "function_call_output", "output": output}


def _output_part(part: Item) -> Item:
    kinds = {"text": "input_text", "image": "input_image", "file": "input_file"}
    return _part({**part, "type": kinds.get(part.get("type", ""), part.get("type"))})


def _reasoning(item: Item) -> Item:
    if "summary" in item:
        return item
    made = _renamed({name: value for name, value in item.items() if name not in ("content", "rawContent")})
    said = [part for part in item.get("content") or [] if isinstance(part, dict)]
    made["summary"] = [{"type": "summary_text", "text": part.get("text", "")} for part in said]
    if item.get("rawContent"):
        made["content"] = item["rawContent"]
    return made


def _hosted_call(item: Item) -> Item:
    own = item.get(OWN) or {}
    made = _renamed({name: value for name, value in item.items() if name not in ("name", "output", "arguments")})
    for name in ("name", "arguments"):
        if name in own:
            made[name] = own[name]
    made["type"] = own.get("type") or item.get("name")
    if made["type"] == "image_generation_call" and "output" in item:
        made["result"] = item["output"]
    return made


def _computer_result(item: Item) -> Item:
    output = item.get("output")
    made = _renamed({name: value for name, value in item.items() if name != "output"})
    if isinstance(output, dict) and "data" in output:
        output = {"type": "computer_screenshot", "image_url": output["data"]}
    return {**made, "type": "computer_call_output", "output": output}


def _unknown(item: Item) -> Item:
    return cast("Item", item.get(OWN) or item)


KINDS: Mapping[str, Callable[[Item], Item]] = {
    "function_call_result": _function_result,
    "reasoning": _reasoning,
    "hosted_tool_call": _hosted_call,
    "computer_call_result": _computer_result,
    "unknown": _unknown,
}
