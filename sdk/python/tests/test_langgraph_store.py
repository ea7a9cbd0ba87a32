"""The store for LangGraph, through a real cluster."""

import asyncio
import concurrent.futures
import itertools
import threading

import pytest
from langgraph.graph import START, MessagesState, StateGraph
from langgraph.runtime import Runtime
from langgraph.store.base import GetOp, InvalidNamespaceError, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore

import turnlog
from proxy import Proxy, losing
from turnlog.langgraph import TurnlogStore


@pytest.fixture
def store(client, key):
    return TurnlogStore(client, prefix=f"{key}:")


def test_put_get_delete(store, client, key):
    namespace = ("users", "u1")
    assert store.get(namespace, "prefs") is None
    store.put(namespace, "prefs", {"theme": "dark", "n": [1, None, {"ü": "\ud800"}]})
    first = store.get(namespace, "prefs")
    assert (first.value["theme"], first.namespace, first.key) == ("dark", namespace, "prefs")
    assert first.value["n"] == [1, None, {"ü": "\ud800"}]
    store.put(namespace, "prefs", {"theme": "light"})
    second = store.get(namespace, "prefs")
    assert second.value == {"theme": "light"}
    assert second.created_at == first.created_at < second.updated_at
    store.delete(namespace, "none")
    store.delete(namespace, "prefs")
    assert store.get(namespace, "prefs") is None
    assert store.list_namespaces() == []
    assert list(client.sessions(f"{key}:")) == []


def test_in_asyncio(store):
    async def use():
        await store.aput(("a",), "k", {"x": 1})
        found = await store.asearch(("a",), filter={"x": 1})
        namespaces = await store.alist_namespaces()
        item = await store.aget(("a",), "k")
        await store.adelete(("a",), "k")
        return item.value, [i.key for i in found], namespaces, await store.aget(("a",), "k")

    assert asyncio.run(use()) == ({"x": 1}, ["k"], [("a",)], None)


ITEMS = [
    (("docs",), "1", {"kind": "report", "score": 1, "nested": {"a": [1, 2]}}),
    (("docs", "old"), "2", {"kind": "report", "score": 2.5}),
    (("docs", "old", "v1"), "3", {"kind": "note", "score": 3}),
    (("docsx",), "4", {"kind": "report", "score": 0}),
    (("other", "v1"), "5", {"kind": "note", "score": "7"}),
    (("a:b", "c%3A/ü"), "6:7", {"kind": "x"}),
]


@pytest.fixture
def both(store):
    """Our store and LangGraph's, with the same items."""
    theirs = InMemoryStore()
    for item in ITEMS:
        store.put(*item)
        theirs.put(*item)
    return store, theirs


FILTERS = [
    None,
    {"kind": "report"},
    {"kind": "report", "score": {"$gt": 1}},
    {"kind": {"$ne": "report"}},
    {"nested": {"a": [1, 2]}},
    {"nested": {"a": [1]}},
    {"kind": {"$eq": "note"}},
]


def test_searches_find_what_langgraphs_own_store_finds(both):
    for prefix, filter_ in itertools.product([(), ("docs",), ("docs", "old"), ("a:b",), ("doc",)], FILTERS):
        ours, theirs = ([(i.namespace, i.key, i.value) for i in s.search(prefix, filter=filter_)] for s in both)
        assert sorted(ours) == sorted(theirs), (prefix, filter_)
    ours = both[0]
    assert [i.key for i in ours.search(())] == ["6:7", "5", "4", "3", "2", "1"]  # changed last, first
    assert [i.key for i in ours.search((), limit=2, offset=1)] == ["5", "4"]
    with pytest.raises(turnlog.InvalidError):
        ours.search((), filter={"kind": {"$like": "x"}})


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": ("docs",)},
        {"prefix": ("docs", "*")},
        {"prefix": ("*", "v1")},
        {"suffix": ("v1",)},
        {"suffix": ("old", "*")},
        {"prefix": ("docs",), "suffix": ("v1",)},
        {"max_depth": 1},
        {"max_depth": 2, "limit": 2, "offset": 1},
    ],
)
def test_namespaces_are_listed_as_langgraphs_own_store_does(both, options):
    ours, theirs = (s.list_namespaces(**options) for s in both)
    assert ours == theirs


def test_a_batch_is_read_first_and_changed_at_once(store):
    store.put(("n",), "old", {"v": 1})
    got, _, _, found = store.batch(
        [
            GetOp(("n",), "old"),
            PutOp(("n",), "old", None),
            PutOp(("m",), "new", {"v": 2}),
            SearchOp(()),
        ]
    )
    assert got.value == {"v": 1}
    assert [i.key for i in found] == ["old"]
    assert store.list_namespaces() == [("m",)]
    with pytest.raises(turnlog.TooLargeError):
        store.batch([PutOp(("m",), "small", {"v": 3}), PutOp(("k",), "large", {"v": "x" * (9 << 20)})])
    with pytest.raises(turnlog.InvalidError):
        store.batch([PutOp(("m",), "small", {"v": 3}), PutOp(("m",), "set", {"v": {1}})])
    assert [i.key for i in store.search(())] == ["new"]


def test_a_namespace_of_more_than_a_reply(store):
    for i in range(9):
        store.put(("large",), str(i), {"v": str(i) * (7 << 20)})
    store.put(("large",), "9", {"v": "9" * (7 << 20)})
    found = store.search(("large",), limit=20)
    assert sorted(i.key for i in found) == [str(i) for i in range(10)]
    assert all(i.value["v"] == i.key * (7 << 20) for i in found)


def test_of_writers_that_empty_and_fill_a_namespace_none_is_lost(client, key):
    start = threading.Barrier(8)

    def write(i):
        store = TurnlogStore(client, prefix=f"{key}:")
        start.wait(60)
        for n in range(10):
            store.put(("n",), f"{i}", {"n": n})
            if n < 9 or i % 2:
                store.delete(("n",), f"{i}")

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        list(pool.map(write, range(8)))
    store = TurnlogStore(client, prefix=f"{key}:")
    assert sorted(i.key for i in store.search(("n",))) == ["0", "2", "4", "6"]
    for i in "0246":
        store.delete(("n",), i)
    assert store.list_namespaces() == []


def test_a_put_whose_reply_is_lost_takes_place_once(cluster, client, key):
    proxy = Proxy(cluster.nodes[0].resp)
    proxy.lose = losing(b"TURN.TX")
    store = TurnlogStore(turnlog.Client(proxy.address), prefix=f"{key}:")
    store.put(("n",), "k", {"v": 1})
    assert proxy.lost.is_set()
    store.delete(("n",), "k")
    assert store.list_namespaces() == []
    proxy.close()


def test_labels_that_are_none(store):
    for namespace in ((), ("a.b",), ("",), ("langgraph",)):
        with pytest.raises(InvalidNamespaceError):
            store.put(namespace, "k", {})
    with pytest.raises(InvalidNamespaceError):
        store.batch([PutOp(("a.b",), "k", {})])
    with pytest.raises(NotImplementedError):
        store.put(("a",), "k", {}, ttl=1)


def test_a_graph_remembers(store):
    def remember(state: MessagesState, runtime: Runtime):
        count = len(runtime.store.search(("seen",)))
        runtime.store.put(("seen",), str(count), {"text": state["messages"][-1].content})
        return {"messages": [("ai", f"seen {count} before")]}

    graph = StateGraph(MessagesState).add_node("remember", remember).add_edge(START, "remember").compile(store=store)
    answers = [graph.invoke({"messages": [("user", "hi")]})["messages"][-1].content for _ in range(2)]
    assert answers == ["seen 0 before", "seen 1 before"]
