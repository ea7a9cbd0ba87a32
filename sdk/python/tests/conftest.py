import contextlib
import importlib.util
import itertools
import pathlib
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(__file__).parent))

import turnlog
from cluster import Cluster
from ports import reserved

# Its framework has an environment of its own: sdk/python/install.sh.
collect_ignore = [] if importlib.util.find_spec("crewai") else ["test_crewai.py"]


@pytest.fixture(scope="session")
def cluster(tmp_path_factory):
    """Three nodes for all tests; those that kill nodes have their own."""
    made = Cluster(tmp_path_factory.mktemp("cluster"))
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def fresh_cluster(tmp_path):
    made = Cluster(tmp_path)
    try:
        made.start()
        yield made
    finally:
        made.stop()


@pytest.fixture
def client(cluster):
    with turnlog.Client(cluster.addresses) as made:
        yield made


@pytest.fixture
def ports():
    """What reserves ports for processes of a test, until it has ended."""
    with contextlib.ExitStack() as held:
        yield lambda n, **how: held.enter_context(reserved(n, **how))


_keys = itertools.count()


@pytest.fixture
def key(request):
    """A session key that no other test uses."""
    return f"{request.node.name[:200]}-{next(_keys)}"
