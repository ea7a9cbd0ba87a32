"""LangChain's own tests of histories, and of runs with them, on turnlog's classes in place of LangChain's."""

import os

import pytest

import upstream


@pytest.mark.slow
def test_the_frameworks_own_tests(cluster, tmp_path):
    source = upstream.sdist("langchain-core", tmp_path)
    tests = ["tests/unit_tests/runnables/test_history.py", "tests/unit_tests/chat_history/test_chat_history.py"]
    alone = ["-c", os.devnull, "--rootdir", ".", "--noconftest"]
    row = r"tests of langchain-core [\d.]+, histories"
    upstream.run(cluster, source, "upstream_langchain", tests, row, *alone)
