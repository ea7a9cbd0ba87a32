"""docs/clients.md names what this package has, and nothing else."""

import inspect
import pathlib
import re

import turnlog

PAGE = pathlib.Path(__file__).resolve().parents[3] / "docs" / "clients.md"
CLASSES = [turnlog.Client, turnlog.Session, turnlog.Hash, turnlog.Transaction]
# What the client's own modules call.
INTERNAL = {
    "Client.dial",
    "Client.failed",
    "Client.from_config",
    "Client.reset_after_fork",
    "Client.run",
    "Client.worked",
    "Transaction.operation",
}


def named():
    """What the tables name in the column of this package."""
    names, at = set(), None
    for line in PAGE.read_text().splitlines():
        cells = [c.strip() for c in line.split("|")]
        if len(cells) < 3:
            at = None
        elif at is None:
            at = cells.index("Python")
        else:
            names |= set(re.findall("`([^`]+)`", cells[at]))
    return names


def members(cls):
    return {n for n in dir(cls) if not n.startswith("_")}


def keywords(function):
    return {p.name for p in inspect.signature(function).parameters.values() if p.kind is p.KEYWORD_ONLY}


def test_what_the_page_names_is_there():
    for name in named():
        owner, _, rest = name.partition(".")
        method, _, option = rest.partition("(")
        found = getattr(turnlog, owner.partition("(")[0])
        if option:
            assert option.removesuffix("=)") in keywords(getattr(found, method)), name
        elif "(" in owner:
            assert owner.partition("(")[2].removesuffix("=)") in inspect.signature(found).parameters, name
        elif method:
            assert hasattr(found, method), name


def test_the_page_names_what_is_there():
    names = named()
    without_options = {n.partition("(")[0] for n in names}
    options = {o for n in names for o in re.findall(r"\((\w+)=\)", n)}
    for cls in CLASSES:
        for member in members(cls):
            name = f"{cls.__name__}.{member}"
            if name not in INTERNAL:
                assert name in without_options
                found = getattr(cls, member)
                assert not callable(found) or keywords(found) <= options, name
    assert {f"Client({p})" for p in list(inspect.signature(turnlog.Client).parameters)} == {
        n.replace("=", "") for n in names if n.startswith("Client(")
    }


def test_asyncio_has_the_same():
    for cls in CLASSES:
        twin = getattr(turnlog, f"Async{cls.__name__}")
        assert members(cls) - {"aio", "close", "failed", "worked"} <= members(twin)
        for member in members(cls) & members(twin):
            if callable(getattr(cls, member)) and f"{cls.__name__}.{member}" not in INTERNAL:
                expected = list(inspect.signature(getattr(cls, member)).parameters)
                assert list(inspect.signature(getattr(twin, member)).parameters) == expected
    assert "aclose" in members(turnlog.AsyncClient)
