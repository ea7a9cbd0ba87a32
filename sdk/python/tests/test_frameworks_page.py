"""What the pages about frameworks print runs: here, and with the wheel in a fresh environment for each."""

import os
import re
import subprocess
import sys

import pytest

from cluster import ROOT
from test_readme import ADDRESSES, install


def sections(name):
    """The sections of a page that install something and print a program."""
    page = (ROOT / "docs" / name).read_text()
    return [part for part in re.split(r"^## ", page, flags=re.MULTILINE) if "```sh\npip" in part]


def run_blocks(python, cluster, section, directory, environment):
    blocks = re.findall(r"```python\n(.*?)```", section, re.DOTALL)
    assert blocks
    for code in blocks:
        assert ADDRESSES in code
        assert code.count("AsyncClient(") == code.count("async with AsyncClient("), "a client is left open"
        script = directory / "block.py"
        script.write_text(code.replace(ADDRESSES, cluster.addresses))
        done = subprocess.run([python, script], capture_output=True, text=True, env=environment, cwd=directory)
        assert done.returncode == 0, f"{code}\n{done.stderr}"


def each(*pages):
    """Run a test with each section of the pages."""
    found = [section for name in pages for section in sections(name)]
    return pytest.mark.parametrize("section", found, ids=lambda section: section.split("\n")[0])


@pytest.mark.slow
@each("python-frameworks.md")
def test_a_section(cluster, tmp_path, section):
    environment = os.environ | {"PYTHONPATH": str(ROOT / "sdk" / "python" / "src")}
    run_blocks(sys.executable, cluster, section, tmp_path, environment)


@pytest.mark.slow
@each("python-frameworks.md", "python-memory.md", "langgraph.md", "crewai.md")
def test_a_section_in_a_fresh_environment(cluster, tmp_path, section):
    (line,) = re.findall(r"```sh\n(pip install .*?)\n```", section)
    python, environment = install(tmp_path, line)
    run_blocks(python, cluster, section, tmp_path, environment)
