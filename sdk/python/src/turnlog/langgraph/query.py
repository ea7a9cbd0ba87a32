"""What a search or a list of namespaces selects."""

from __future__ import annotations

import operator
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from langgraph.store.base import Item, ListNamespacesOp, MatchCondition, SearchItem, SearchOp

from ..errors import InvalidError

COMPARISONS: dict[str, Callable[[Any, Any], Any]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}
EQUALITY = ("$eq", "$ne")


def selected(found: Iterable[Item], op: SearchOp) -> list[SearchItem]:
    """Return the items that a search selects, those changed last first."""
    matching = [item for item in found if all(matches(item.value.get(k), v) for k, v in (op.filter or {}).items())]
    matching.sort(key=lambda item: (item.namespace, item.key))
    matching.sort(key=lambda item: item.updated_at, reverse=True)
    return [
        SearchItem(item.namespace, item.key, item.value, item.created_at, item.updated_at)
        for item in matching[op.offset : op.offset + op.limit]
    ]


def matches(value: Any, wanted: Any) -> bool:
    """Whether a value is as a filter wants it: equal, or as its comparisons say."""
    if isinstance(wanted, Mapping):
        if any(name.startswith("$") for name in wanted):
            return all(_holds(value, name, other) for name, other in wanted.items())
        return isinstance(value, Mapping) and all(matches(value.get(k), v) for k, v in wanted.items())
    if isinstance(wanted, (list, tuple)):
        same = isinstance(value, (list, tuple)) and len(value) == len(wanted)
        return same and all(matches(v, w) for v, w in zip(value, wanted, strict=True))
    return bool(value == wanted)


def _holds(value: Any, name: str, other: Any) -> bool:
    if name not in COMPARISONS:
        raise InvalidError(f"the filter has {name}, which is none of {', '.join(COMPARISONS)}")
    if name in EQUALITY:
        return bool(COMPARISONS[name](value, other))
    try:
        return bool(COMPARISONS[name](float(value), float(other)))
    except (TypeError, ValueError):
        return False  # what is no number is neither above nor below one


def common_labels(op: ListNamespacesOp) -> tuple[str, ...]:
    """Return labels with which all namespaces of a list begin, as far as they are known."""
    longest: tuple[str, ...] = ()
    for condition in op.match_conditions or ():
        if condition.match_type == "prefix":
            path = tuple(condition.path)
            end = path.index("*") if "*" in path else len(path)
            longest = max(longest, path[:end], key=len)
    return longest


def listed(found: Iterable[tuple[str, ...]], op: ListNamespacesOp) -> list[tuple[str, ...]]:
    """Return the namespaces that a list selects, in order."""
    matching = [ns for ns in found if all(_fits(ns, condition) for condition in op.match_conditions or ())]
    return sorted({ns[: op.max_depth] for ns in matching})[op.offset : op.offset + op.limit]


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = tuple(condition.path)
    if condition.match_type not in ("prefix", "suffix"):
        raise InvalidError(f"a namespace matches by prefix or suffix, not by {condition.match_type}")
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[len(namespace) - len(path) :]
    return len(namespace) >= len(path) and all(p in ("*", label) for label, p in zip(part, path, strict=True))
