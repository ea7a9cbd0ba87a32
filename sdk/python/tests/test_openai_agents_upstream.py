"""The OpenAI Agents SDK's own tests of sessions on turnlog's sessions."""

import pytest

import upstream

TESTS = (
    "memory/test_session.py",
    "memory/test_session_limit.py",
    "extensions/memory/test_redis_session.py",
    "extensions/memory/test_advanced_sqlite_session.py",
)


@pytest.mark.slow
def test_the_sdks_own_tests(cluster, tmp_path):
    source = upstream.sdist("openai-agents", tmp_path)
    tests = [f"tests/{name}" for name in TESTS]
    upstream.run(cluster, source, "upstream_openai_agents", tests, r"openai-agents [\d.]+, its tests of sessions")
