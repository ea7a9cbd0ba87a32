"""The OpenAI Agents SDK's own tests of sessions, from its source on the package index, on turnlog's sessions."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET

import pytest

from cluster import ROOT

TESTS = (
    "memory/test_session.py",
    "memory/test_session_limit.py",
    "extensions/memory/test_redis_session.py",
    "extensions/memory/test_advanced_sqlite_session.py",
)


def sdist(project, directory):
    """The unpacked source of the installed version of a project, as the package index has it."""
    wanted = f"{project}=={importlib.metadata.version(project)}"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", project, "--dest", str(directory)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True, timeout=300)
    with tarfile.open(next(directory.glob("*.tar.gz"))) as packed:
        packed.extractall(directory, filter="data")
    return next(p for p in directory.iterdir() if p.is_dir())


@pytest.mark.slow
def test_the_sdks_own_tests(cluster, tmp_path):
    source = sdist("openai-agents", tmp_path)
    ours = pathlib.Path(__file__).parent
    environment = os.environ | {
        "TURNLOG_ADDRESSES": cluster.addresses,
        "PYTHONPATH": os.pathsep.join([str(ours), str(ours.parent / "src"), str(source)]),
        "OPENAI_API_KEY": "none",
    }
    report = tmp_path / "report.xml"
    options = ["-q", "-p", "upstream_openai_agents", "-p", "no:cacheprovider", f"--junitxml={report}"]
    tests = [f"tests/{name}" for name in TESTS]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *options, *tests],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    suite = ET.parse(report).getroot().find("testsuite")
    total, failed, skipped = (int(suite.get(name)) for name in ("tests", "failures", "skipped"))
    assert done.returncode == 0, done.stdout[-8000:]
    assert failed == int(suite.get("errors")) == 0
    table = (ROOT / "docs" / "compat.md").read_text()
    row = re.search(r"openai-agents [\d.]+, its tests of sessions.* \| (\d+) \| 0 \| (\d+) \|", table)
    counted = (total - skipped, skipped)
    assert row and counted == (int(row[1]), int(row[2])), f"the table in docs/compat.md is stale: {counted}"
