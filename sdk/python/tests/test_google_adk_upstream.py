"""The ADK's own tests of session services, on turnlog's. They are in no package: ``ADK_PYTHON`` names a
checkout of adk-python.
"""

import os
import pathlib
import re
import subprocess
import sys

import pytest

CHECKOUT = os.environ.get("ADK_PYTHON")
TESTS = "tests/unittests/sessions/test_session_service.py"


@pytest.mark.slow
@pytest.mark.skipif(not CHECKOUT, reason="ADK_PYTHON names no checkout of adk-python, and no package has its tests")
def test_the_adks_own_tests(cluster):
    ours = pathlib.Path(__file__).parent
    environment = os.environ | {
        "TURNLOG_ADDRESSES": cluster.addresses,
        "PYTHONPATH": os.pathsep.join([str(ours), str(ours.parent / "src")]),
    }
    options = ["-q", "--noconftest", "-p", "upstream_google_adk", "-p", "no:cacheprovider"]
    loops = ["-o", "asyncio_mode=auto", "-o", "asyncio_default_fixture_loop_scope=function"]
    command = [sys.executable, "-m", "pytest", *options, *loops, f"--rootdir={CHECKOUT}", TESTS]
    done = subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, timeout=600)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    assert int(re.search(r"(\d+) passed", done.stdout)[1]) >= 100
