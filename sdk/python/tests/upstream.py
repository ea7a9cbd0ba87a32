"""Runs a framework's own tests, from its source on the package index, with turnlog's classes in place of its own."""

import importlib.metadata
import os
import pathlib
import re
import subprocess
import sys
import tarfile
import xml.etree.ElementTree as ET

from cluster import ROOT


def sdist(project, directory):
    """The unpacked source of the installed version of a project, as the package index has it."""
    wanted = f"{project}=={importlib.metadata.version(project)}"
    options = ["--quiet", "--no-deps", "--no-build-isolation", "--no-binary", project, "--dest", str(directory)]
    subprocess.run([sys.executable, "-m", "pip", "download", *options, wanted], check=True, timeout=300)
    with tarfile.open(next(directory.glob("*.tar.gz"))) as packed:
        packed.extractall(directory, filter="data")
    return next(p for p in directory.iterdir() if p.is_dir())


def run(cluster, source, plugin, tests, row, *options):
    """Run tests of a source with a plugin of pytest. What passes and is skipped must be what the row of
    docs/compat.md says that matches the pattern.
    """
    ours = pathlib.Path(__file__).parent
    environment = os.environ | {
        "TURNLOG_ADDRESSES": cluster.addresses,
        "PYTHONPATH": os.pathsep.join([str(ours), str(ours.parent / "src"), str(source)]),
        "OPENAI_API_KEY": "none",
    }
    report = source.parent / "report.xml"
    arguments = ["-q", "-p", plugin, "-p", "no:cacheprovider", f"--junitxml={report}", *options, *tests]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", *arguments],
        cwd=source,
        env=environment,
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    suite = ET.parse(report).getroot().find("testsuite")
    total, failed, skipped = (int(suite.get(name)) for name in ("tests", "failures", "skipped"))
    assert failed == int(suite.get("errors")) == 0
    found = re.search(row + r".* \| (\d+) \| 0 \| (\d+) \|", (ROOT / "docs" / "compat.md").read_text())
    counted = (total - skipped, skipped)
    assert found and counted == (int(found[1]), int(found[2])), f"the table in docs/compat.md is stale: {counted}"
