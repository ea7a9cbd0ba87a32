"""Strands's own tests of session managers on turnlog's."""

import pytest

import upstream


@pytest.mark.slow
def test_the_frameworks_own_tests(cluster, tmp_path):
    source = upstream.sdist("strands-agents", tmp_path)
    tests = [f"tests/strands/session/test_{name}_session_manager.py" for name in ("repository", "file")]
    # Their conftest.py needs an imitation of AWS, which these tests do not use.
    upstream.run(cluster, source, "upstream_strands", tests, r"tests of strands-agents [\d.]+", "--noconftest")
